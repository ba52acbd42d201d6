"""Say what a Node says: the part of it that we compare or must leave alone.

Pure values, made by the doors (``cluster``, ``manifest``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint, as it is written; a foreign one is carried verbatim, ``added`` included."""

    key: str
    effect: str
    value: str = ""
    added: str | None = None
    """``timeAdded`` as the server wrote it; eviction timers count from it."""

    def __str__(self) -> str:
        """Write it as kubectl does."""
        return f"{self.key}={self.value}:{self.effect}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One entry of ``status.conditions``, without its times."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A Node at one version."""

    name: str
    uid: str
    version: str
    """``metadata.resourceVersion``, or a hash of the file."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    fields: bytes = field(default=b"", repr=False, compare=False)
    """``metadata.managedFields`` as it came; read only when somebody asks who set a key."""
