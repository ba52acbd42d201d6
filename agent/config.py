"""Read the configuration: one YAML file, overridable by environment, all errors at once.

Every field has its unit, its default and the reason for it beside it;
``config.example.yaml`` is the same in the words of an operator.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, get_type_hints

import msgspec
import yaml

from labeler import legal
from labeler.desired import Policy
from labeler.facts import Medium, Probe
from labeler.rules import Operator, Requirement, Rule, fault
from labeler.vocabulary import Effect, Label, Mode, TaintKey, Vocabulary

ENV: Final = "NODETRUTH_"
"""Start of the environment variables that override the file: ``disk.paths`` is
``NODETRUTH_DISK_PATHS``, its value YAML."""

_SERVICE_LINK: Final = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?)$")
"""What kubelet adds to every Pod beside a Service called nodetruth or nodetruth-something."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86400)]
Where = Annotated[str, msgspec.Meta(pattern="^/")]


class ConfigError(Exception):
    """The configuration can't be used; the message names every fault with its path."""

    def __init__(self, source: str, faults: list[str]) -> None:
        super().__init__("\n".join([f"configuration {source}:", *(f"  {f}" for f in faults)]))
        self.faults = faults


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
    """``observe`` writes nothing, ``labels`` no taints."""
    label_prefix: str = ""
    """Put before every label key; empty keeps the plain keys that rules in the field use."""
    listen: str = "127.0.0.1:9808"
    """Address of /metrics, /healthz and /readyz; a Pod wants ``0.0.0.0:9808``."""
    roots: Roots = Roots()
    cpu: Look = Look()
    memory: Look = Look()
    disk: DiskLook = DiskLook()
    required: tuple[Probe, ...] | None = None
    """Probes whose blindness makes the status unknown; unset: the disk, where paths are named."""
    derived: tuple[DerivedLabel, ...] = ()
    taints: Taints = Taints()
    condition: ConditionSetting = ConditionSetting()
    maintenance: MaintenanceSetting = MaintenanceSetting()

    def policy(self) -> Policy:
        """Return what of this the labeler needs."""
        seen_by_default = (Probe.DISK,) if self.disk.paths else ()
        return Policy(
            vocabulary=Vocabulary(self.label_prefix, frozenset(d.label for d in self.derived)),
            mode=self.mode,
            required=frozenset(seen_by_default if self.required is None else self.required),
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


def load(path: Path | None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of a file and the environment; ``ConfigError`` names every fault."""
    source = str(path) if path else "from the environment"
    tree = _read(path) if path else {}
    unknown = _override(tree, environ)
    faults = [*unknown, *_misfits(tree, Settings, "")]
    if faults:
        raise ConfigError(source, faults)
    settings = msgspec.convert(tree, Settings)
    faults = list(_contradictions(settings))
    if faults:
        raise ConfigError(source, faults)
    return settings


def _read(path: Path) -> dict[str, object]:
    try:
        tree = yaml.safe_load(path.read_bytes())
    except OSError as err:
        raise ConfigError(str(path), [f"can't be read: {err.strerror}; check the path"]) from err
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as err:
        raise ConfigError(str(path), [f"is no YAML: {' '.join(str(err).split())}"]) from err
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(str(path), ["must be a mapping of settings"])
    return tree


def _override(tree: dict[str, object], environ: Mapping[str, str]) -> list[str]:
    """Put the environment's values into the tree; return what can't be placed."""
    places = dict(_places(Settings, (), ""))
    faults = []
    for name in sorted(n for n in environ if n.startswith(ENV) and not _SERVICE_LINK.search(n)):
        where = places.get(name.removeprefix(ENV))
        if where is None:
            faults.append(f"{name}: no such setting{_nearest(name, [ENV + p for p in places])}")
            continue
        try:
            _put(tree, where, yaml.safe_load(environ[name]))
        except yaml.YAMLError as err:
            faults.append(f"{name}: is no YAML: {' '.join(str(err).split())}")
    return faults


def _places(kind: type, path: tuple[str, ...], name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for field in msgspec.structs.fields(kind):
        where, full = (*path, field.encode_name), f"{name}_{field.name}".strip("_").upper()
        if isinstance(field.type, type) and issubclass(field.type, Section):
            yield from _places(field.type, where, full)
        else:
            yield full, where


def _put(tree: dict[str, object], where: tuple[str, ...], value: object) -> None:
    for part in where[:-1]:
        below = tree.get(part)
        if not isinstance(below, dict):
            below = tree[part] = {}
        tree = below
    tree[where[-1]] = value


def _misfits(tree: object, kind: type[Section], path: str) -> Iterator[str]:
    """Yield every fault; msgspec itself would stop at the first."""
    if not isinstance(tree, dict):
        yield f"{path}: expected a mapping, got {tree!r}"
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    hints = get_type_hints(kind, include_extras=True)
    for name, value in tree.items():
        where = f"{path}.{name}" if path else str(name)
        if name not in fields:
            yield f"{where}: no such setting{_nearest(str(name), list(fields))}"
        else:
            yield from _misfit(value, hints[fields[name].name], where)
    for name, field in fields.items():
        if field.required and name not in tree:
            yield f"{path}: {name} is missing"


def _misfit(value: object, kind: object, where: str) -> Iterator[str]:
    element = _element(kind)
    if isinstance(kind, type) and issubclass(kind, Section):
        yield from _misfits(value, kind, where)
    elif element and isinstance(value, list):
        for index, one in enumerate(value):
            yield from _misfits(one, element, f"{where}[{index}]")
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as err:
            yield f"{where}: {err} (it is {value!r})"


def _element(kind: object) -> type[Section] | None:
    first = getattr(kind, "__args__", (None,))[0]
    return first if isinstance(first, type) and issubclass(first, Section) else None


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(names))}"


def _contradictions(settings: Settings) -> Iterator[str]:
    if settings.label_prefix and not legal.is_prefix(settings.label_prefix):
        yield f"labelPrefix: {settings.label_prefix!r} is no DNS subdomain such as example.com"
    host, _, port = settings.listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004
        yield f"listen: {settings.listen!r} is no host:port such as 0.0.0.0:9808"
    known: set[str] = set(Label)
    for index, derived in enumerate(settings.derived):
        where = f"derived[{index}]"
        yield from _derived_faults(derived, where, known)
        known.add(derived.label)
    for index, override in enumerate(settings.disk.overrides):
        if (override.path is None) == (override.device is None):
            yield f"disk.overrides[{index}]: name either a path or a device"


def _derived_faults(derived: DerivedLabel, where: str, known: set[str]) -> Iterator[str]:
    label, value = derived.label, derived.value
    checks = {
        f".label: {label!r} is no legal label key without a prefix": legal.is_name(label),
        f".label: {label!r} is nodetruth's own; choose another": label not in set(Label),
        f".value: {value!r} is no legal label value": legal.is_value(value),
        ": matchExpressions is empty; it would say nothing": bool(derived.match_expressions),
    }
    yield from (where + text for text, good in checks.items() if not good)
    for index, one in enumerate(derived.match_expressions):
        path = f"{where}.matchExpressions[{index}]"
        if one.key not in known:
            yield f"{path}.key: {one.key!r} is no label here{_nearest(one.key, list(known))}"
        wrong = fault(_requirement(one))
        if wrong:
            yield f"{path}: {wrong}"


def _rule(derived: DerivedLabel) -> Rule:
    return Rule(derived.label, derived.value, tuple(map(_requirement, derived.match_expressions)))


def _requirement(one: Expression) -> Requirement:
    return Requirement(one.key, one.operator, one.values)
