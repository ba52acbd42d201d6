"""Tell the processor's family and its physical cores."""

import re
from pathlib import Path
from typing import Final

from labeler.facts import Cpu, Unknown

# What marketing prints, most telling first. A hypervisor often shows less than
# the whole name ("AMD EPYC"), so the patterns ask for the family alone.
_FAMILIES: Final = (
    (re.compile(r"\bxeon\b", re.IGNORECASE), "intel-xeon"),
    (re.compile(r"\bintel\b.*\bcore\b", re.IGNORECASE), "intel-core"),
    (re.compile(r"\batom\b", re.IGNORECASE), "intel-atom"),
    (re.compile(r"\bepyc\b", re.IGNORECASE), "amd-epyc"),
    (re.compile(r"\bthreadripper\b", re.IGNORECASE), "amd-threadripper"),
    (re.compile(r"\bryzen\b", re.IGNORECASE), "amd-ryzen"),
    (re.compile(r"\bhygon\b", re.IGNORECASE), "hygon-dhyana"),
    (re.compile(r"\bzhaoxin\b|\bkaixian\b", re.IGNORECASE), "zhaoxin-kaixian"),
    (re.compile(r"\bpower\d+", re.IGNORECASE), "ibm-power"),
    (re.compile(r"\bloongson\b", re.IGNORECASE), "loongson"),
)
_VENDORS: Final = {
    "GenuineIntel": "intel",
    "AuthenticAMD": "amd",
    "HygonGenuine": "hygon-dhyana",
    "  Shanghai  ": "zhaoxin-kaixian",
    "CentaurHauls": "zhaoxin-kaixian",
}
_ARM: Final = {
    ("0x41", "0xd0c"): "arm-neoverse-n1",
    ("0x41", "0xd40"): "arm-neoverse-v1",
    ("0x41", "0xd49"): "arm-neoverse-n2",
    ("0x41", "0xd4f"): "arm-neoverse-v2",
    ("0x48", "0xd01"): "huawei-kunpeng",
    ("0xc0", "0xac3"): "ampere-one",
}
"""Implementer and part of an Arm core: the vendors' technical reference manuals (MIDR_EL1)."""
_ARM_MAKERS: Final = {
    "0x41": "arm",
    "0x48": "huawei",
    "0x4e": "nvidia",
    "0x61": "apple",
    "0xc0": "ampere",
}

_PROCESSOR: Final = re.compile(r"^processor\s*:", re.MULTILINE)
_PACKAGE: Final = re.compile(r"^physical id\s*: (\d+)", re.MULTILINE)
_CORE: Final = re.compile(r"^core id\s*: (\d+)", re.MULTILINE)


def probe(proc: Path, sys: Path) -> Cpu | Unknown:
    """Read ``cpuinfo`` for the family and sysfs for the cores that are online."""
    text = (proc / "cpuinfo").read_text(errors="replace")
    named = family(text)
    if named is None:
        return Unknown(f"{proc / 'cpuinfo'} names no processor")
    cores = _cores(sys / "devices/system/cpu") or _listed(text)
    return Cpu(named, cores) if cores else Unknown(f"{proc / 'cpuinfo'} lists no processor")


def family(cpuinfo: str) -> str | None:
    """Return the family as it is labelled; ``None`` when the text names no processor."""
    fields = _first_processor(cpuinfo)
    name = fields.get("model name") or fields.get("cpu") or fields.get("Model Name", "")
    for pattern, label in _FAMILIES:
        if pattern.search(name):
            return label
    maker, part = fields.get("CPU implementer", ""), fields.get("CPU part", "")
    arm = _ARM.get((maker, part)) or _ARM_MAKERS.get(maker)
    return arm or _VENDORS.get(fields.get("vendor_id", "")) or _plain(name)


def _first_processor(cpuinfo: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.removeprefix(" "))
    return fields


def _plain(name: str) -> str | None:
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "-".join(words[:2]) or None


def _cores(folder: Path) -> int:
    """Count the distinct sets of threads that share a core; an offline processor has none.

    Not pairs of package and core: a device tree numbers the cores of each cluster anew.
    """
    lists = folder.glob("cpu[0-9]*/topology/thread_siblings_list")
    return len({threads.read_text().strip() for threads in lists})


def _listed(cpuinfo: str) -> int:
    """Count the cores that cpuinfo lists; where it tells none apart, its processors."""
    pairs = set(zip(_PACKAGE.findall(cpuinfo), _CORE.findall(cpuinfo), strict=False))
    return len(pairs) or len(_PROCESSOR.findall(cpuinfo))
