"""Tell which GPUs the machine has and which of them can be used: the bus and the driver, judged.

Three outcomes for a card: it is well, it has a fault, or it can't be looked
at. What tells the last two apart is who is to blame: an error that NVML gives
for a card is the card's, one that a process without rights or a driver in
change gives is ours.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from agent.child import Child, ChildError, ChildHung
from agent.newest import late
from agent.probes import pci
from agent.probes.pci import Slot
from labeler import legal
from labeler.facts import MOST_BYTES, Card, Gpu, Sharing, Unknown

INSTALLING: Final = 1200
"""Seconds that a missing driver may take to come: an operator compiles or pulls it after boot."""

_FAULTS: Final = {
    "GpuIsLost": "lost: the driver can no longer reach it",
    "NotFound": "on the bus, but not seen by the driver",
    "GpuNotFound": "on the bus, but not seen by the driver",
    "ResetRequired": "needs a reset",
    "CorruptedInforom": "its InfoROM is corrupted",
    "InsufficientPower": "its power cables are not connected",
    "IrqIssue": "its interrupts do not arrive",
}
"""Errors that NVML gives for the card itself (nvml.h, ``nvmlReturn_t``)."""
_MISSING: Final = frozenset({"NotFound", "GpuNotFound"})
_LACKS: Final = frozenset(
    {"NotSupported", "FunctionNotFound", "ArgumentVersionMismatch", "Deprecated"}
)
"""What an older driver or a simpler card answers: neither a fault nor blindness."""
_WAYS_OUT: Final = {
    "LibraryNotFound": "mount the driver's library, or set gpu.library",
    "DriverNotLoaded": "let the Pod see /dev/nvidia*",
    "NoPermission": "let the Pod see /dev/nvidia*",
    "LibRmVersionMismatch": "the library is not the loaded driver's; reload the driver or reboot",
}
_TEXT: Final = 64
"""Characters of a name that are kept; NVML's own are shorter."""


class CardReading(msgspec.Struct):
    """What the driver says of one card; ``errors`` by what was asked."""

    address: str
    errors: dict[str, str]
    name: str | None = None
    uuid: str | None = None
    memory: int | None = None
    mig: int | None = None
    instances: list[int] | None = None
    clique: str | None = None


class Reading(msgspec.Struct):
    """What the driver says; ``error`` where it can't be asked at all."""

    error: str = ""
    driver: str = ""
    cards: list[CardReading] = []


class GpuProbe:
    """Looks at the bus, and through a process of its own at the driver."""

    def __init__(
        self,
        sys_root: Path,
        library: str,
        deadline: float,
        lost: Callable[[str], None] = lambda _how: None,
    ) -> None:
        self._sys = sys_root
        self._deadline = deadline
        script = Path(__file__).with_name("nvml.py")
        self.child = Child([sys.executable, "-I", str(script), library], lost)

    def look(self) -> Gpu | Unknown:
        """Return the GPUs; a machine that has none runs no process for them."""
        slots = pci.scan(self._sys)
        ours = [slot for slot in slots if not slot.away]
        if not ours:
            self.child.stop()
            return Gpu(away=tuple(slot.address for slot in slots))
        if not pci.has_module(self._sys):
            self.child.stop()
            return Unknown("no driver: the kernel module nvidia is not loaded", INSTALLING)
        try:
            reading = self._read([slot.address for slot in ours])
        except ChildHung:
            # In the words of every probe's deadline: whichever ends first, it is one reason.
            return Unknown(late(self._deadline))
        except ChildError as err:
            return Unknown(str(err))
        if reading.error:
            # The next process takes whatever library there is by then: it may be a new one.
            self.child.stop()
        return judge(slots, reading)

    def _read(self, addresses: list[str]) -> Reading:
        answer = self.child.ask(msgspec.json.encode(addresses), self._deadline)
        try:
            return msgspec.json.decode(answer, type=Reading)
        except (msgspec.DecodeError, RecursionError) as err:
            raise self.child.distrust("an answer that can't be read") from err


def judge(slots: tuple[Slot, ...], reading: Reading) -> Gpu | Unknown:
    """Judge what the bus and the driver say of the same cards."""
    if reading.error:
        return _no_access(reading.error)
    away = {slot.address for slot in slots if slot.away}
    cards = {card.address: _card(card) for card in reading.cards if card.address not in away}
    unseen = [card.errors.get("handle", "") for card in reading.cards]
    if all(error in _MISSING for error in unseen):
        # A container that lost its devices sees exactly this; so many cards do not break at once.
        return Unknown(f"NVML sees none of {len(cards)} GPUs; let the Pod see /dev/nvidia*")
    if all(error and (error in _MISSING or error not in _FAULTS) for error in unseen):
        return _no_access(next(error for error in unseen if error not in _MISSING))
    return Gpu(dict(sorted(cards.items())), reading.driver[:_TEXT], tuple(sorted(away)))


def _no_access(error: str) -> Unknown:
    way_out = _WAYS_OUT.get(error.partition(" ")[0], "")
    return Unknown("; ".join(filter(None, [f"NVML: {error}", way_out])))


def _card(reading: CardReading) -> Card:
    product = (reading.name or "")[:_TEXT]
    product = product if legal.readable(product) else ""
    errors = {what: error for what, error in reading.errors.items() if error not in _LACKS}
    faults = [_FAULTS[error] for what, error in errors.items() if _is_fault(what, error)]
    blind = [f"NVML: {error}" for error in errors.values()] or (
        [] if product else ["NVML gives no name"]
    )
    return Card(
        product=product,
        uuid=(reading.uuid or "")[:_TEXT],
        memory=_memory(reading),
        sharing=_sharing(reading),
        clique=(reading.clique or "")[:_TEXT],
        fault=faults[0] if faults else "",
        blind=blind[0][:_TEXT] if blind and not faults else "",
    )


def _is_fault(what: str, error: str) -> bool:
    """Tell whether an error is the card's own: what else was not found is not the card."""
    return error in _FAULTS and (what == "handle" or error not in _MISSING)


def _memory(reading: CardReading) -> int:
    """Return the bytes that can be had in one piece; 0 where none can, or none that is possible."""
    pieces = reading.instances if reading.mig else [reading.memory or 0]
    return min((piece for piece in pieces or () if 0 < piece <= MOST_BYTES), default=0)


def _sharing(reading: CardReading) -> Sharing:
    if reading.mig == 1:
        # What it is cut into could not be read: that is not the same as into nothing.
        return Sharing.UNKNOWN if "instances" in reading.errors else Sharing.MIG
    cannot = reading.errors.get("mig") in _LACKS
    return Sharing.NONE if reading.mig == 0 or cannot else Sharing.UNKNOWN
