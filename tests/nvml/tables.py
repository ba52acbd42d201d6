"""The tables of a scenario: what its TOML file may say.

Pure. Whether what they say can be is checked in ``checks``.
"""

import uuid
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from tests.nvml.spelling import Answer, address

NO_CLUSTER: Final = uuid.UUID(int=0)
Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Bytes: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[\x00-\xff]*$")]
"""A string in which each character is one byte."""


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table whose every key is known."""


class Fault(Strict, frozen=True, kw_only=True):
    """A call that does not work: one of ``error``, ``hang``, ``crash``."""

    call: str
    error: str | int | None = None
    hang: bool = False
    crash: bool = False
    after: Natural = 0


class Instance(Strict, frozen=True, kw_only=True):
    """MIG instances that are alike; ``memory`` in MiB."""

    profile: Annotated[str, msgspec.Meta(pattern=r"^[1-7]g\.\d+gb")]
    memory: Natural
    count: Natural = 1


class Mig(Strict, frozen=True, kw_only=True):
    """The MIG mode of a card, and what it is cut into."""

    enabled: bool
    pending: bool | None = None
    instances: tuple[Instance, ...] = ()

    def each(self) -> tuple[Instance, ...]:
        """Return one instance for each MIG device."""
        return tuple(one for kind in self.instances for one in [kind] * kind.count)


class Fabric(Strict, frozen=True, kw_only=True):
    """How far a card has joined its NVLink fabric; older drivers know version 2 alone."""

    cluster: uuid.UUID = NO_CLUSTER
    clique: Natural = 0
    state: Literal["not-started", "in-progress", "completed"] = "completed"
    status: str | int = 0
    health: Literal["healthy", "unhealthy", "limited-capacity"] = "healthy"
    version: Literal[2, 3] = 3


class Gpu(Strict, frozen=True, kw_only=True):
    """One card, or as many alike as there are addresses."""

    product: str
    pci: str | tuple[str, ...]
    uuid: Bytes | None = None
    serial: Bytes | None = None
    lost: bool = False
    hidden: bool = False
    mig: Mig | None = None
    fabric: Fabric | None = None
    errors: tuple[Fault, ...] = ()
    answers: dict[str, Answer] = {}

    def addresses(self) -> tuple[str, ...]:
        """Return where the cards are, spelt as NVML spells it."""
        return tuple(address(at) for at in ([self.pci] if isinstance(self.pci, str) else self.pci))


class Scenario(Strict, frozen=True, kw_only=True):
    """What the driver of one machine says."""

    driver: Bytes = "580.95.05"
    cuda: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d$")] = "13.0"
    nvml: Bytes | None = None
    gpus: tuple[Gpu, ...] = ()
    errors: tuple[Fault, ...] = ()
    answers: dict[str, Answer] = {}
    missing: tuple[str, ...] = ()
