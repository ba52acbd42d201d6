"""Judge a machine: the gravest of what was found is its status, and every reason for it is said.

Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from labeler import gpus
from labeler.evidence import Evidence
from labeler.facts import Gpu, Probe
from labeler.maintenance import Maintenance
from labeler.vocabulary import Status


@dataclass(frozen=True, slots=True)
class Judgement:
    """The status, and in words why it is not healthy."""

    status: Status
    reasons: tuple[str, ...] = ()
    excused: bool = False
    """Whether all that is unknown may yet come by itself: no work is locked out for that."""


def judge(
    evidence: Evidence, required: frozenset[Probe], expected: int, now: datetime
) -> Judgement:
    """Judge the hardware; a required probe that can't look makes it unknown."""
    blind = [(_blindness(evidence, probe, now), probe) for probe in sorted(required)]
    found = [(status, _words(evidence, probe)) for status, probe in blind if status]
    gpu = evidence.facts.get(Probe.GPU)
    if isinstance(gpu, Gpu):
        # A card's own blindness is what was seen of it; when nobody can look, that says it all.
        looked = Probe.GPU in required and Probe.GPU not in evidence.unknown
        found += gpus.judge(gpu, expected, required=looked)
    gravest = _gravest(status for status, _ in found)
    reasons = tuple(reason for status, reason in found if status is gravest)
    excuses = {_words(evidence, probe) for probe in evidence.due}
    return Judgement(gravest, reasons, excused=bool(reasons) and excuses.issuperset(reasons))


def overrule(hardware: Judgement, asked: Maintenance | None) -> Judgement:
    """Return what people asked for, where they did: nothing is graver."""
    return Judgement(Status.MAINTENANCE, (asked.reason,)) if asked else hardware


def _blindness(evidence: Evidence, probe: Probe, now: datetime) -> Status | None:
    if probe not in evidence.unknown:
        return None
    late = probe in evidence.due and evidence.due[probe] <= now.timestamp()
    return Status.DEGRADED if late else Status.UNKNOWN


def _words(evidence: Evidence, probe: Probe) -> str:
    return f"{probe}: {evidence.unknown[probe]}"


def _gravest(found: Iterable[Status]) -> Status:
    return min(found, key=list(Status).index, default=Status.HEALTHY)
