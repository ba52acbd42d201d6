"""Read the configuration: one YAML file, overridable by environment, all errors at once."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import msgspec
import yaml

from agent.settings import DerivedLabel, Section, Settings, requirement
from labeler import legal
from labeler.rules import fault
from labeler.vocabulary import Label, Stem, Vocabulary, origin

ENV: Final = "NODETRUTH_"
"""Start of the environment variables that override the file: ``disk.paths`` is
``NODETRUTH_DISK_PATHS``, its value YAML. An empty one overrides nothing."""

_SERVICE_LINK: Final = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?)$")
"""What kubelet adds to every Pod beside a Service called nodetruth or nodetruth-something."""


_NO_YAML: Final = (
    *(yaml.YAMLError, ValueError, LookupError),
    *(TypeError, AttributeError, RecursionError),
)
"""What the parser raises: a tag such as ``!!bool maybe`` is a KeyError."""
_LONGEST: Final = f"{Stem.DATA_PERCENT}x"
_KUBELETS: Final = frozenset(
    {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}
)


class ConfigError(Exception):
    """The configuration can't be used; the message names every fault with its path."""

    def __init__(self, source: str, faults: list[str]) -> None:
        super().__init__("\n".join([f"configuration {source}:", *(f"  {f}" for f in faults)]))
        self.faults = faults


def load(path: Path | None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of a file and the environment; ``ConfigError`` names every fault."""
    source = str(path) if path else "from the environment"
    tree = _read(path) if path else {}
    unknown = _override(tree, environ)
    misfits = {name: list(_misfits({name: value}, Settings, "")) for name, value in tree.items()}
    sound = {name: value for name, value in tree.items() if not misfits[name]}
    settings = msgspec.convert(sound, Settings)
    faults = [*unknown, *(f for found in misfits.values() for f in found)]
    faults += _contradictions(settings)
    if faults:
        raise ConfigError(source, faults)
    return settings


def _read(path: Path) -> dict[str, object]:
    try:
        tree = _yaml(path.read_bytes())
    except OSError as err:
        raise ConfigError(str(path), [f"can't be read: {err.strerror}; check the path"]) from err
    except ValueError as err:
        raise ConfigError(str(path), [str(err)]) from err
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(str(path), ["must be a mapping of settings"])
    return tree


def _yaml(text: str | bytes) -> object:
    """Parse YAML; whatever the parser raises is a ``ValueError`` of one line."""
    try:
        return yaml.load(text, _Strict)  # noqa: S506  (a safe loader)
    except _NO_YAML as err:
        raise ValueError(f"is no YAML: {' '.join(str(err).split())}") from err


class _Strict(yaml.SafeLoader):
    """A safe loader that refuses a key given twice: YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = sorted({key for key in keys if keys.count(key) > 1 and key != "<<"})
        if twice:
            raise ValueError(f"{twice[0]!r} is given twice, at line {node.start_mark.line + 1}")
        return super().construct_mapping(node, deep)


def _override(tree: dict[str, object], environ: Mapping[str, str]) -> list[str]:
    """Put the environment's values into the tree; return what can't be placed."""
    places = dict(_places(Settings, (), ""))
    faults = []
    ours = (name for name, value in environ.items() if name.startswith(ENV) and value.strip())
    for name in sorted(name for name in ours if not _SERVICE_LINK.search(name)):
        where = places.get(name.removeprefix(ENV))
        if where is None:
            faults.append(f"{name}: no such setting{_nearest(name, [ENV + p for p in places])}")
            continue
        try:
            _put(tree, where, _yaml(environ[name]))
        except ValueError as err:
            faults.append(f"{name}: {err}")
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
            unquoted = "Expected `str`" in str(err) and isinstance(value, bool | int | float)
            hint = "; put it in quotes" if unquoted else _words(kind)
            yield f"{where}: {err} (it is {value!r}){hint}"


def _words(kind: object) -> str:
    """Return the words that would fit, where there are but a few."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"; there are {', '.join(str(one.value) for one in kind)}"
    args = get_args(kind)
    if args and all(isinstance(arg, str) for arg in args):
        return f"; there are {', '.join(args)}"
    return next((words for words in map(_words, args) if words), "")


def _element(kind: object) -> type[Section] | None:
    first = getattr(kind, "__args__", (None,))[0]
    return first if isinstance(first, type) and issubclass(first, Section) else None


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(names))}"


def _contradictions(settings: Settings) -> Iterator[str]:
    # The longest key that is made of the prefix must be legal.
    if settings.label_prefix and not legal.is_key(Vocabulary(settings.label_prefix).key(_LONGEST)):
        yield f"labelPrefix: {settings.label_prefix!r} is no DNS subdomain such as example.com"
    host, _, port = settings.listen.rpartition(":")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:  # noqa: PLR2004
        yield f"listen: {settings.listen!r} is no host:port such as 0.0.0.0:9808"
    kind = settings.condition.type
    if kind in _KUBELETS or not (kind == "" or legal.is_key(kind)):
        yield f"condition.type: {kind!r} is kubelet's or no legal name; choose another"
    yield from _probe_faults(settings)
    known: set[str] = {*Label, *Stem}
    for index, derived in enumerate(settings.derived):
        yield from _derived_faults(derived, f"derived[{index}]", known)
        known.add(derived.label)


def _probe_faults(settings: Settings) -> Iterator[str]:
    for index, override in enumerate(settings.disk.overrides):
        if (override.path is None) == (override.device is None):
            yield f"disk.overrides[{index}]: name either a path or a device"
    for product, alias in settings.gpu.aliases.items():
        if not (legal.is_name(alias) and legal.is_name(Stem.ACCELERATOR + alias)):
            yield f"gpu.aliases[{product!r}]: {alias!r} is no legal label value"


def _derived_faults(derived: DerivedLabel, where: str, known: set[str]) -> Iterator[str]:
    label, value = derived.label, derived.value
    checks = {
        f".label: {label!r} is no legal label key without a prefix": legal.is_name(label),
        f".label: {label!r} is nodetruth's own; choose another": not Vocabulary().owns(label),
        f".value: {value!r} is no legal label value": legal.is_value(value),
        ": matchExpressions is empty; it would say nothing": bool(derived.match_expressions),
    }
    yield from (where + text for text, good in checks.items() if not good)
    for index, one in enumerate(derived.match_expressions):
        path = f"{where}.matchExpressions[{index}]"
        if origin(one.key) not in known or not legal.is_key(one.key):
            near = _nearest(one.key, [*known - set(Stem)])
            yield f"{path}.key: {one.key!r} is no label here{near}"
        wrong = fault(requirement(one))
        if wrong:
            yield f"{path}: {wrong}"
