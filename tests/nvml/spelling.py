"""Spell addresses and answers as the stand-in reads them. Pure."""

import re
from typing import Final, TypeAlias

Answer: TypeAlias = str | int | tuple[str | int, ...]

ADDRESS: Final = re.compile(
    r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])", re.IGNORECASE
)
PLAIN: Final = frozenset(range(0x21, 0x7F)) - {ord("%")}


def address(pci: str) -> str:
    """Spell a PCI address as NVML does: eight digits of domain, in capitals."""
    found = ADDRESS.fullmatch(pci)
    if found is None:
        raise ValueError(f"{pci!r} is no PCI address; write it as lspci does, e.g. 0000:1b:00.0")
    domain, bus, device, function = (int(part or "0", 16) for part in found.groups())
    return f"{domain:08X}:{bus:02X}:{device:02X}.{function:X}"


def parts(pci: str) -> tuple[int, int, int]:
    """Return domain, bus and device of an address that NVML spells."""
    domain, bus, device = pci.partition(".")[0].split(":")
    return int(domain, 16), int(bus, 16), int(device, 16)


def word(value: str | int) -> str:
    """Spell one word of an answer; a character is the byte of its number."""
    return "".join(
        chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in str(value).encode("latin-1")
    )


def line(card: str, call: str, answer: Answer = (), outcome: int | str = 0, after: int = 0) -> str:
    """Spell a line of the flat file; a fault is one whose outcome is not 0."""
    words = answer if isinstance(answer, tuple) else (answer,)
    return "\t".join([card, call, str(outcome), str(after), " ".join(map(word, words))]) + "\n"
