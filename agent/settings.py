"""Say what a site can decide.

Every field has its unit, its default and the reason for it beside it;
``config.example.yaml`` is the same in the words of an operator.
"""

from typing import Annotated, Literal

import msgspec

from labeler.desired import Policy
from labeler.facts import Medium, Probe
from labeler.rules import Operator, Requirement, Rule
from labeler.spelling import GpuWords
from labeler.vocabulary import Effect, Mode, TaintKey, Vocabulary

Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=86400)]
Where = Annotated[str, msgspec.Meta(pattern="^/")]


class Section(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """Base of every part of the configuration."""


class Roots(Section, frozen=True, kw_only=True):
    """Where the machine's own trees are mounted; a Pod mounts the host's elsewhere."""

    proc: Where = "/proc"
    sys: Where = "/sys"
    root: Where = "/"
    """The tree in which the data paths exist."""


class Look(Section, frozen=True, kw_only=True):
    """How often a probe looks, and how long it may take, in seconds."""

    period: Seconds = 300
    """Processors and memory change with a reboot; once in five minutes sees a hot-plug."""
    deadline: Seconds = 5
    """A read of /proc takes milliseconds; after this the probe counts as hung."""


class Override(Section, frozen=True, kw_only=True):
    """A site's own word on a disk that the kernel describes wrongly."""

    path: str | None = None
    """A data path."""
    device: str | None = None
    """A kernel name such as ``vda``."""
    disktype: Literal["ssd", "hdd"]
    interface: str | None = None

    @property
    def medium(self) -> Medium:
        """The disk's medium, as the site says."""
        return Medium(self.disktype)


class DiskLook(Look, frozen=True, kw_only=True):
    """How the disk probe looks."""

    period: Seconds = 60
    """A remount or a swapped disk shows within the minute."""
    deadline: Seconds = 10
    """The data path may lie on a disk that is busy, and a stat waits for it."""
    paths: tuple[Where, ...] = ()
    """Where the data lies; empty looks at ``/``, and then blindness is no fault."""
    overrides: tuple[Override, ...] = ()


class GpuLook(Look, frozen=True, kw_only=True):
    """How the GPU probe looks."""

    period: Seconds = 15
    """A broken GPU must lose its label in seconds; a sweep of eight costs a few milliseconds."""
    deadline: Seconds = 30
    """The first look attaches to every card: a second or two each without a persistence daemon."""
    library: str = ""
    """Path of ``libnvidia-ml.so.1``; empty takes the one that the dynamic loader finds."""
    aliases: dict[str, str] = {}
    """The site's own names of models, by product name or by the name that would be said."""
    expected: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0
    """GPUs that every machine of this configuration has; 0 takes what was seen."""


class DataLook(Look, frozen=True, kw_only=True):
    """How the dataset probe looks."""

    period: Seconds = 60
    """A percentage rises once a minute at most."""
    deadline: Seconds = 30
    """A root may hold 100,000 shards, on a disk that is busy copying them."""
    roots: tuple[Where, ...] = ()
    """Folders whose folders are datasets; empty looks nowhere."""
    names: Literal["plain", "hashed"] = "plain"
    """``hashed`` where a dataset's name is a secret."""


class Expression(Section, frozen=True, kw_only=True):
    """One matchExpression of a derived label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class DerivedLabel(Section, frozen=True, kw_only=True):
    """A label of the site's own, given by the first rule that holds."""

    label: str
    value: str
    match_expressions: tuple[Expression, ...] = ()


class Taints(Section, frozen=True, kw_only=True):
    """What each taint does; ``None`` puts none on."""

    maintenance: Effect = Effect.NO_SCHEDULE
    """Work that runs may end; none begins on a machine that somebody opened."""
    unknown: Effect = Effect.PREFER_NO_SCHEDULE
    """A machine that can't be seen is a worse choice, not a bad machine."""


class ConditionSetting(Section, frozen=True, kw_only=True):
    """The Node condition, for node auto-repair and for people."""

    type: str = "HardwareHealthy"
    """Empty says none."""
    healthy: Literal["True", "False"] = "True"
    """Status on a healthy Node; ``False`` for a condition named after the fault."""


class MaintenanceSetting(Section, frozen=True, kw_only=True):
    """What counts as maintenance besides the annotation."""

    cordon: bool = False
    """Off: a cordon is also how autoscalers and upgrades work."""


class Settings(Section, frozen=True, kw_only=True):
    """Everything a site can decide."""

    mode: Mode = Mode.ENFORCE
    """``observe`` writes nothing; ``labels`` puts no taint on, and takes ours off."""
    label_prefix: str = ""
    """Put before every label key; empty keeps the plain keys that rules in the field use."""
    listen: str = "127.0.0.1:9808"
    """Address of /metrics, /healthz and /readyz; a Pod wants ``0.0.0.0:9808``."""
    roots: Roots = Roots()
    cpu: Look = Look()
    memory: Look = Look()
    disk: DiskLook = DiskLook()
    gpu: GpuLook = GpuLook()
    data: DataLook = DataLook()
    required: tuple[Probe, ...] | None = None
    """Probes whose blindness makes the status unknown; unset: those of what is there.

    A machine without GPUs is never blind to them; disk and data where paths are named.
    """
    derived: tuple[DerivedLabel, ...] = ()
    taints: Taints = Taints()
    condition: ConditionSetting = ConditionSetting()
    maintenance: MaintenanceSetting = MaintenanceSetting()

    def policy(self) -> Policy:
        """Return what of this the labeler needs."""
        by_default: list[Probe] = [Probe.GPU]
        by_default += [Probe.DISK] if self.disk.paths else []
        by_default += [Probe.DATA] if self.data.roots else []
        return Policy(
            vocabulary=Vocabulary(self.label_prefix, frozenset(d.label for d in self.derived)),
            mode=self.mode,
            required=frozenset(by_default if self.required is None else self.required),
            gpus=GpuWords(self.gpu.aliases, self.gpu.expected),
            rules=tuple(_rule(d) for d in self.derived),
            effects={
                TaintKey.MAINTENANCE: self.taints.maintenance,
                TaintKey.UNKNOWN: self.taints.unknown,
            },
            cordon=self.maintenance.cordon,
            condition=self.condition.type,
            healthy=self.condition.healthy,
        )

    def observing(self) -> "Settings":
        """Return the settings of a dry run: the same, but nothing is written."""
        return msgspec.structs.replace(self, mode=Mode.OBSERVE)

    def address(self) -> tuple[str, int]:
        """Return host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def _rule(derived: DerivedLabel) -> Rule:
    return Rule(derived.label, derived.value, tuple(map(requirement, derived.match_expressions)))


def requirement(one: Expression) -> Requirement:
    """Return the requirement that an expression stands for."""
    return Requirement(one.key, one.operator, one.values)
