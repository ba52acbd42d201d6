"""Read a dataset's manifest: which shards there are, and how large each is.

``nodetruth.yaml`` names them with their sizes in bytes, or nothing where a size
is not known; its order is the order of the shards:

    shards:
      train-000.tar: 1073741824
      train-001.tar:

``SHA256SUMS`` is what ``sha256sum`` writes; it names no sizes. Where both lie
in a folder, ``nodetruth.yaml`` counts. A manifest comes from anybody: it is
read as a stream, so that one of the largest allowed costs no more memory than
its shards, and YAML is never built into a tree.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final

import yaml

from agent.probes.shards import UNSIZED, Shards
from labeler.datasets import MOST_SHARDS

LIMIT: Final = 16 << 20
"""Bytes of a manifest."""

_NAME: Final = 4096
"""Bytes of a name; the kernel takes no longer path."""
_DEEP: Final = 64
"""Folders within folders; each look at a file walks through all of them."""
_LINE: Final = 2 * _NAME + 128
_SUM: Final = re.compile(r"(\\?)([0-9A-Fa-f]{64}) [ *](.+)", re.DOTALL)
_OF_NOTHING: Final = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_ESCAPED: Final = {"\\": "\\", "n": "\n", "r": "\r"}
_BYTES: Final = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_NOTHING: Final = frozenset({"", "~", "null"})
_UTF16: Final = frozenset({b"\xff\xfe", b"\xfe\xff"})
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_YAML: Final = (yaml.YAMLError, ValueError, OverflowError)
_KINDS: Final[Mapping[type[yaml.Event], str]] = {
    yaml.SequenceStartEvent: "a list",
    yaml.MappingStartEvent: "a mapping",
    yaml.DocumentStartEvent: "a second document",
}
_SHOWN: Final = 80

Shard = tuple[int, str, int]
"""Line, name and size."""


class BadManifest(Exception):
    """A manifest lies or can't be read; the message names line, value and way out."""

    def __init__(self, line: int, why: str, way_out: str) -> None:
        super().__init__(f"line {line}: {why}; {way_out}" if line else f"{why}; {way_out}")
        self.line = line


def read(file: str, stream: BinaryIO) -> Shards:
    """Read a manifest of the format that belongs to its file's name.

    One line that lies makes the whole a lie: a dataset is not complete
    because somebody misspelt what is missing.
    """
    shards = Shards()
    for line, text, size in FORMATS[file](stream):
        name = text.removeprefix("./")
        if why := _wrong(name):
            raise BadManifest(line, f"{_quote(text)} {why}", "name a file below the folder")
        if not shards.add(name, size):
            raise BadManifest(line, f"{_quote(text)} is there twice", "name it once")
        if len(shards) > MOST_SHARDS:
            raise BadManifest(line, f"more than {MOST_SHARDS} shards", "make several datasets")
    if not len(shards):
        raise BadManifest(0, "names no shards", "name one, or take the manifest away")
    return shards


def _quote(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _wrong(name: str) -> str:
    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        return "leads out of the folder"
    if len(parts) > _DEEP:
        return f"lies deeper than {_DEEP} folders"
    try:
        if "\0" in name or len(name.encode()) > _NAME:
            return "can be no file's name"
    except UnicodeEncodeError:  # an escape of YAML's can stand for half a character
        return "is not UTF-8"
    return "names no file" if "" in parts or "." in parts else ""


def _sums(stream: BinaryIO) -> Iterator[Shard]:
    """Yield what ``sha256sum`` wrote; a line that begins with a backslash has escapes."""
    for number, raw in enumerate(iter(lambda: stream.readline(_LINE), b""), 1):
        try:
            text = raw.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as err:
            raise BadManifest(number, "is not UTF-8", "write the names in UTF-8") from err
        if not text.strip() or text.startswith("#"):
            continue
        match = _SUM.fullmatch(text)
        if match is None or len(raw) == _LINE:
            way_out = "write it as `sha256sum NAME` does"
            raise BadManifest(number, f"{_quote(text)} is no sum and name", way_out)
        size = 0 if match[2].lower() == _OF_NOTHING else UNSIZED
        yield number, _unescape(match[3], number) if match[1] else match[3], size


def _unescape(text: str, line: int) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPED:
            way_out = r"there are \\, \n and \r"
            raise BadManifest(line, f"{_quote(match[0])} is no escape", way_out)
        return _ESCAPED[match[1]]

    return _ESCAPE.sub(one, text)


def _yaml(stream: BinaryIO) -> Iterator[Shard]:
    """Yield from the parser's events: no tree, no alias that unfolds, names as they are written."""
    if stream.read(2) in _UTF16:
        raise BadManifest(1, "is not UTF-8", "write it in UTF-8")
    stream.seek(0)
    events = _events(stream)
    _expect(events, yaml.StreamStartEvent, yaml.DocumentStartEvent, yaml.MappingStartEvent)
    (title,) = _expect(events, yaml.ScalarEvent)
    if title.value != "shards":
        raise _misshapen(title)
    _expect(events, yaml.MappingStartEvent)
    while isinstance(key := next(events), yaml.ScalarEvent):
        (size,) = _expect(events, yaml.ScalarEvent)
        yield _line(key.start_mark), key.value, _size(key.value, size)
    if not isinstance(key, yaml.MappingEndEvent):
        raise _misshapen(key)
    _expect(events, yaml.MappingEndEvent, yaml.DocumentEndEvent, yaml.StreamEndEvent)


def _events(stream: BinaryIO) -> Iterator[yaml.Event]:
    try:
        for event in yaml.parse(stream, Loader=_LOADER):
            if getattr(event, "anchor", None) or getattr(event, "tag", None):
                raise BadManifest(
                    _line(event.start_mark), "an anchor, alias or tag has no place here", _FORM
                )
            yield event
    except _NO_YAML as err:
        why = getattr(err, "problem", None) or getattr(err, "reason", None) or "can't be parsed"
        raise BadManifest(
            _line(getattr(err, "problem_mark", None)), f"is no YAML: {why}", _FORM
        ) from err


def _expect(events: Iterator[yaml.Event], *kinds: type[yaml.Event]) -> list[Any]:
    found = []
    for kind in kinds:
        event = next(events)
        if not isinstance(event, kind):
            raise _misshapen(event)
        found.append(event)
    return found


def _misshapen(event: yaml.Event) -> BadManifest:
    what = _quote(event.value) if isinstance(event, yaml.ScalarEvent) else _KINDS.get(type(event))
    return BadManifest(_line(event.start_mark), f"{what or 'the end'} has no place here", _FORM)


def _line(mark: object) -> int:
    return int(getattr(mark, "line", -1)) + 1


def _size(name: str, size: yaml.ScalarEvent) -> int:
    if size.implicit[0] and size.value in _NOTHING:
        return UNSIZED
    if not _BYTES.fullmatch(size.value):
        why = f"{_quote(size.value)} is no size of {_quote(name)}"
        raise BadManifest(
            _line(size.start_mark), why, "write whole bytes such as 1048576, or nothing"
        )
    return int(size.value)


_FORM: Final = "write `shards:` and, indented below it, one `NAME: BYTES` a line"
FORMATS: Final[Mapping[str, Callable[[BinaryIO], Iterator[Shard]]]] = {
    "nodetruth.yaml": _yaml,
    "SHA256SUMS": _sums,
}
"""The manifests by the names of their files; the first that is there counts."""
