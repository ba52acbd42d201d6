"""The processor's family and its cores, from what kernels print."""

from pathlib import Path

import psutil
import pytest

from agent.probes import cpu
from labeler.facts import Cpu, Unknown

INTEL = "GenuineIntel"
AMD = "AuthenticAMD"
PRODUCTS = [
    (INTEL, "Intel(R) Xeon(R) Platinum 8480C", "intel-xeon"),
    (INTEL, "Intel(R) Xeon(R) CPU @ 2.30GHz", "intel-xeon"),
    (INTEL, "Intel Xeon Processor (Skylake, IBRS)", "intel-xeon"),
    (INTEL, "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.60GHz", "intel-xeon"),
    (INTEL, "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "intel-core"),
    (INTEL, "Intel(R) Core(TM)2 Duo CPU     E8400  @ 3.00GHz", "intel-core"),
    (INTEL, "Intel(R) Core(TM) Ultra 7 165H", "intel-core"),
    (INTEL, "Intel Core Processor (Haswell, no TSX)", "intel-core"),
    (INTEL, "Intel(R) Atom(TM) CPU C3558 @ 2.20GHz", "intel-atom"),
    (INTEL, "Intel(R) Pentium(R) Gold G6405 CPU @ 4.10GHz", "intel"),
    (INTEL, "Westmere E56xx/L56xx/X56xx (Nehalem-C)", "intel"),
    (INTEL, "Common KVM processor", "intel"),
    (AMD, "AMD EPYC 9654 96-Core Processor", "amd-epyc"),
    (AMD, "AMD EPYC 7B13", "amd-epyc"),
    (AMD, "AMD EPYC-Milan Processor", "amd-epyc"),
    (AMD, "AMD EPYC", "amd-epyc"),
    (AMD, "AMD Ryzen Threadripper PRO 5995WX 64-Cores", "amd-threadripper"),
    (AMD, "AMD Ryzen Threadripper 1950X 16-Core Processor", "amd-threadripper"),
    (AMD, "AMD Ryzen 9 7950X 16-Core Processor", "amd-ryzen"),
    (AMD, "AMD Opteron(tm) Processor 6376", "amd"),
    (AMD, "QEMU Virtual CPU version 2.5+", "amd"),
    ("HygonGenuine", "Hygon C86 7285 32-core Processor", "hygon-dhyana"),
    ("HygonGenuine", "Dhyana Processor", "hygon-dhyana"),
    ("  Shanghai  ", "ZHAOXIN KaiXian KX-U6780A@2.7GHz", "zhaoxin-kaixian"),
    ("  Shanghai  ", "", "zhaoxin-kaixian"),
    ("", "QEMU Virtual CPU version 2.5+", "qemu-virtual"),
    ("", "Common KVM processor", "common-kvm"),
]
ARM_CORES = [
    ("0x41", "0xd0c", "arm-neoverse-n1"),
    ("0x41", "0xd40", "arm-neoverse-v1"),
    ("0x41", "0xd49", "arm-neoverse-n2"),
    ("0x41", "0xd4f", "arm-neoverse-v2"),
    ("0x41", "0xd08", "arm"),
    ("0x48", "0xd01", "huawei-kunpeng"),
    ("0x4e", "0x004", "nvidia"),
    ("0xc0", "0xac3", "ampere-one"),
    ("0xc0", "0xac4", "ampere"),
]
ARM_FIELDS = "CPU implementer\t: {}\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: {}\n"
POWER9 = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2300.000000MHz\n"
LOONGSON = "processor\t\t: 0\nCPU Family\t\t: Loongson-64bit\nModel Name\t\t: Loongson-3C5000\n"


@pytest.mark.parametrize(("vendor", "name", "family"), PRODUCTS)
def test_a_product_name_tells_the_family(vendor: str, name: str, family: str) -> None:
    text = f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: 6\nmodel name\t: {name}\n"

    assert cpu.family(text) == family


@pytest.mark.parametrize(("implementer", "part", "family"), ARM_CORES)
def test_an_arm_core_is_told_by_its_numbers(implementer: str, part: str, family: str) -> None:
    numbers = ARM_FIELDS.format(implementer, part)

    assert cpu.family(f"processor\t: 0\n{numbers}") == family
    assert cpu.family(f"model name\t: ARMv8 Processor rev 1 (v8l)\n{numbers}") == family


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (POWER9, "ibm-power"),
        (LOONGSON, "loongson"),
        ("processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\n", "armv7-processor"),
    ],
)
def test_other_architectures_have_fields_of_their_own(text: str, family: str) -> None:
    assert cpu.family(text) == family


def test_the_first_processor_speaks_for_all() -> None:
    little, big = ARM_FIELDS.format("0x41", "0xd03"), ARM_FIELDS.format("0x41", "0xd4f")

    assert cpu.family(f"processor\t: 0\n{big}\nprocessor\t: 1\n{little}") == "arm-neoverse-v2"


@pytest.mark.parametrize("text", ["", "\n\n", "processor\t: 0\n\n", "model name\t: \n", "::::\n"])
def test_a_nameless_processor_is_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "cpuinfo").write_text(text)

    assert cpu.probe(tmp_path, tmp_path) == Unknown(f"{tmp_path / 'cpuinfo'} names no processor")


def test_a_name_without_a_processor_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("model name\t: AMD EPYC\n")

    assert cpu.probe(tmp_path, tmp_path) == Unknown(f"{tmp_path / 'cpuinfo'} lists no processor")


def test_bytes_that_are_no_text_do_not_hide_the_rest(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_bytes(b"processor\t: 0\nmodel name\t: AMD EPYC \xff\xfe\n")

    assert cpu.probe(tmp_path, tmp_path) == Cpu("amd-epyc", 1)


def test_a_processor_that_is_offline_is_no_core(tmp_path: Path) -> None:
    """The kernel takes the topology of an offline processor out of sysfs."""
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: AMD EPYC\n")
    _online(tmp_path, 0, core=0, siblings="0")
    (tmp_path / "devices/system/cpu/cpu1").mkdir()

    assert cpu.probe(tmp_path, tmp_path) == Cpu("amd-epyc", 1)


def test_folders_beside_the_processors_are_no_cores(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: AMD EPYC\n")
    _online(tmp_path, 0, core=0, siblings="0")
    (tmp_path / "devices/system/cpu/cpufreq/topology").mkdir(parents=True)

    assert cpu.probe(tmp_path, tmp_path) == Cpu("amd-epyc", 1)


def test_this_machine_has_the_cores_that_psutil_counts() -> None:
    found = cpu.probe(Path("/proc"), Path("/sys"))

    assert isinstance(found, Cpu)
    assert found.cores == psutil.cpu_count(logical=False)


def _online(sys: Path, number: int, core: int, siblings: str) -> None:
    topology = sys / f"devices/system/cpu/cpu{number}/topology"
    topology.mkdir(parents=True)
    (topology / "physical_package_id").write_text("0\n")
    (topology / "core_id").write_text(f"{core}\n")
    (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    (topology / "core_cpus_list").write_text(f"{siblings}\n")
