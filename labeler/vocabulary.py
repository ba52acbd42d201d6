"""Name every label, taint and annotation that is ours.

This is the contract with whoever reads a Node: the scorer, the guard policy
and the people. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

EVIDENCE: Final = "nodetruth/evidence"
FOUND: Final = "nodetruth/found"
MAINTENANCE: Final = "nodetruth/maintenance"
ANNOTATIONS: Final = frozenset({EVIDENCE, FOUND})
"""Annotations the agent writes; ``MAINTENANCE`` is written by people and only read."""

FIELD_MANAGER: Final = "nodetruth"


class Label(StrEnum):
    """Label keys as they are without a site's prefix."""

    ACCELERATOR = "accelerator"
    ACCELERATOR_PRODUCT = "accelerator-product"
    GPU = "gpu"
    GPU_COUNT = "gpu-count"
    GPU_TOTAL = "gpu-total"
    GPU_MEMORY_GIB = "gpu-memory-gib"
    GPU_SHARING = "gpu-sharing"
    GPU_CLIQUE = "gpu-clique"
    CPU = "cpu"
    CPU_CORES = "cpu-cores"
    MEMORY = "memory"
    MEMORY_GIB = "memory-gib"
    DISKTYPE = "disktype"
    DISK_INTERFACE = "disk-interface"
    DATA = "data"
    STATUS = "status"


class Stem(StrEnum):
    """Beginnings of label keys whose rest the machine gives: one key for each model or dataset."""

    ACCELERATOR = "accelerator."
    DATA = "data/"
    DATA_PERCENT = "data-percent/"


BESIDE: Final = {
    Stem.ACCELERATOR: Label.ACCELERATOR,
    Stem.DATA: Label.DATA,
    Stem.DATA_PERCENT: Label.DATA,
}
"""The fixed label that is always ours where the keys of a stem are."""

VITAL: Final = frozenset({Label.STATUS, *(label for label in Label if label.startswith("gpu"))})
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


@dataclass(frozen=True)
class Vocabulary:
    """The label keys one site uses: the fixed ones and its derived ones, under its prefix."""

    prefix: str = ""
    derived: frozenset[str] = frozenset()

    def key(self, name: str) -> str:
        """Return the whole label key: under a prefix ``example.com/cpu``, ``data.example.com/x``.

        A key holds one slash.
        """
        if not self.prefix:
            return str(name)
        stem, slash, rest = name.partition("/")
        return f"{stem}.{self.prefix}/{rest}" if slash else f"{self.prefix}/{name}"

    @cached_property
    def labels(self) -> frozenset[str]:
        """Every whole label key of fixed name that is ours."""
        return frozenset(self.key(name) for name in {*Label, *self.derived})

    def stem(self, key: str) -> Stem | None:
        """Return the stem that a whole key begins with; ``None`` for every other."""
        if not key.startswith(tuple(self._stems)):
            return None
        return next((stem for whole, stem in self._stems.items() if begins(key, whole)), None)

    @cached_property
    def _stems(self) -> dict[str, Stem]:
        return {self.key(stem): stem for stem in Stem}

    def folded(self, key: str) -> str:
        """Return ``data/*`` for each key that begins so; every other key is its own name.

        A Node may bear any number of them; what is counted per key must not.
        """
        stem = self.stem(key)
        return f"{self.key(stem)}*" if stem else key

    def owns(self, key: str) -> bool:
        """Tell whether a whole label key is ours."""
        return key in self.labels or self.stem(key) is not None

    @property
    def vital(self) -> frozenset[str]:
        """The whole keys of the labels that outrank all others."""
        return frozenset(self.key(name) for name in VITAL)


def begins(key: str, stem: str) -> bool:
    """Tell whether a whole key is a whole stem and a name.

    ``accelerator.example.com/x`` is not: it lies under a prefix that is another's.
    """
    return key.startswith(stem) and "/" not in key[len(stem) :]


_PLAIN: Final = Vocabulary()


def origin(name: str) -> str:
    """Return the stem of a key without prefix, or the key itself: what a fact can be asked for."""
    return _PLAIN.stem(name) or name


def is_our_taint(key: str) -> bool:
    """Tell whether a taint key is one that the agent puts on or takes off."""
    return key in set(TaintKey)
