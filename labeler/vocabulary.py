"""Name every label, taint and annotation that is ours.

This is the contract with whoever reads a Node: the scorer, the guard policy
and the people. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

EVIDENCE: Final = "nodetruth/evidence"
FOUND: Final = "nodetruth/found"
MAINTENANCE: Final = "nodetruth/maintenance"
ANNOTATIONS: Final = frozenset({EVIDENCE, FOUND})
"""Annotations the agent writes; ``MAINTENANCE`` is written by people and only read."""

FIELD_MANAGER: Final = "nodetruth"


class Label(StrEnum):
    """Label keys as they are without a site's prefix."""

    CPU = "cpu"
    CPU_CORES = "cpu-cores"
    MEMORY = "memory"
    MEMORY_GIB = "memory-gib"
    DISKTYPE = "disktype"
    DISK_INTERFACE = "disk-interface"
    STATUS = "status"


VITAL: Final = frozenset({Label.STATUS})
"""Labels that are sent alone, with the taints, when the API refuses the whole."""


class Status(StrEnum):
    """Values of the status label, the gravest first: the first that applies is said."""

    MAINTENANCE = "maintenance"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"
    DEGRADED = "degraded"
    HEALTHY = "healthy"


class TaintKey(StrEnum):
    """Taint keys; no site prefix applies to them."""

    MAINTENANCE = "nodetruth/maintenance"
    UNKNOWN = "nodetruth/unknown"
    UNATTESTED = "nodetruth/unattested"
    """Put on by whoever registers the Node; taken off in the first complete round."""


class Effect(StrEnum):
    """What a taint does; ``NONE`` is our word for putting no taint on."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"
    NONE = "None"


class Mode(StrEnum):
    """How much of a Node the agent may write."""

    OBSERVE = "observe"
    LABELS = "labels"
    ENFORCE = "enforce"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The label keys one site uses: the fixed ones and its derived ones, under its prefix."""

    prefix: str = ""
    derived: frozenset[str] = frozenset()

    def key(self, name: str) -> str:
        """Return the whole label key: ``cpu``, or ``example.com/cpu`` under a prefix."""
        return f"{self.prefix}/{name}" if self.prefix else str(name)

    @property
    def labels(self) -> frozenset[str]:
        """Every whole label key that is ours."""
        return frozenset(self.key(name) for name in {*Label, *self.derived})

    @property
    def vital(self) -> frozenset[str]:
        """The whole keys of the labels that outrank all others."""
        return frozenset(self.key(name) for name in VITAL)


def is_our_taint(key: str) -> bool:
    """Tell whether a taint key is one that the agent puts on or takes off."""
    return key in set(TaintKey)
