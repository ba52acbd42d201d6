"""Write down which shards lie here, for the node's ConfigMap, and read it back.

On the Node itself the bitmaps would travel to every watcher. The document is
bounded, and what had to be left out of it says so. Pure.

    {"version": 1, "leftOut": 0, "datasets": [
      {"label": "imagenet", "name": "imagenet", "shards": 9, "held": 4, "bitmap": "eNpbxQAA…"}]}

``bitmap`` is base64 of zlib; it is absent where ``held`` says it all, and where
it would not fit: then ``omitted`` is true. ``name`` is absent where names are
hidden, and ``nameBytes``, in base64, stands beside one that is not UTF-8.
"""

import zlib
from collections.abc import Iterable
from itertools import accumulate
from typing import Annotated, Final

import msgspec

from labeler import legal
from labeler.datasets import MOST_SHARDS, Dataset, apart, label, spell

VERSION: Final = 1
LIMIT: Final = 900 << 10
"""Bytes of the document; a ConfigMap holds 1 MiB."""

_FRAME: Final = 128
"""Bytes of the document around its datasets, at most."""
_READ_LIMIT: Final = 1 << 20
_UNPACKED: Final = 64 << 20
"""Bytes of bitmaps that are read; five hundred datasets of the largest kind."""


class DocumentError(Exception):
    """The document can't be read; its writer must write it anew."""

    def __init__(self, why: str) -> None:
        super().__init__(f"shard bitmaps: {why}; the node's agent must write them anew")
        self.why = why


class Entry(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False
):
    """A dataset in the document."""

    label: str
    name: str | None = None
    name_bytes: bytes | None = None
    shards: Annotated[int, msgspec.Meta(ge=1, le=MOST_SHARDS)]
    held: Annotated[int, msgspec.Meta(ge=0)]
    bitmap: bytes | None = None
    omitted: bool = False

    def __post_init__(self) -> None:
        """Refuse what no agent writes."""
        if not legal.is_name(self.label) or self.held > self.shards:
            raise ValueError(f"{self.held} of {self.shards} shards at the label {self.label!r}")

    def dataset(self) -> Dataset:
        """Return the dataset; where its name is hidden it goes by its label."""
        name = self.label if self.name is None else self.name
        if self.name_bytes is not None:
            name = self.name_bytes.decode("utf-8", "surrogateescape")
        dataset = Dataset(name, self.shards, self._present())
        if dataset.held != self.held or (self.name is not None and self.label != label(name)):
            raise ValueError(f"{self.label!r} contradicts itself")
        return dataset

    def _present(self) -> bytes:
        size = -(-self.shards // 8)
        if self.bitmap is None:
            ones = (1 << self.shards) - 1 if self.held else 0
            return (ones << (size * 8 - self.shards)).to_bytes(size, "big")
        # Some bytes may stand for many more.
        return zlib.decompressobj().decompress(self.bitmap, size + 1)


class _Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: int
    left_out: Annotated[int, msgspec.Meta(ge=0)] = 0
    datasets: tuple[Entry, ...]


def publish(found: Iterable[Dataset], limit: int = LIMIT, *, hashed: bool = False) -> str:
    """Return the document of at most ``limit`` bytes; equal datasets give equal text.

    Over the limit the largest bitmaps are left out, and if that does not do,
    the last datasets. ``leftOut`` counts these and those whose labels meet.
    """
    alone, shared = apart(found, hashed=hashed)
    whole = [_entry(key, one, hashed=hashed) for key, one in alone.items()]
    bounded = _without_the_largest(whole, limit - _FRAME)
    kept = _fitting(bounded, limit - _FRAME)
    left_out = len(shared) + len(whole) - len(kept)
    document = _Document(version=VERSION, left_out=left_out, datasets=kept)
    return msgspec.json.encode(document).decode()


def _without_the_largest(entries: list[Entry], room: int) -> list[Entry]:
    slim, excess = list(entries), sum(map(_size, entries)) - room
    sizes = [len(entry.bitmap or b"") for entry in entries]
    for index in sorted(range(len(entries)), key=lambda index: -sizes[index]):
        if excess <= 0 or not sizes[index]:
            break
        slim[index] = msgspec.structs.replace(entries[index], bitmap=None, omitted=True)
        excess -= _size(entries[index]) - _size(slim[index])
    return slim


def _fitting(entries: list[Entry], room: int) -> tuple[Entry, ...]:
    ends = accumulate(map(_size, entries))
    return tuple(entry for entry, end in zip(entries, ends, strict=True) if end <= room)


def _size(entry: Entry) -> int:
    return len(msgspec.json.encode(entry)) + len(",")


def _entry(key: str, one: Dataset, *, hashed: bool) -> Entry:
    text, raw = spell(one.name).decode(errors="backslashreplace"), spell(one.name)
    mixed = 0 < one.held < one.shards
    return Entry(
        label=key,
        name=None if hashed else text,
        name_bytes=raw if not hashed and text.encode() != raw else None,
        shards=one.shards,
        held=one.held,
        bitmap=zlib.compress(one.present, 9) if mixed else None,
    )


def entries(text: str) -> tuple[Entry, ...]:
    """Return every dataset of a document, also those whose bitmap did not fit."""
    if len(text) > _READ_LIMIT:
        raise DocumentError(f"more than {_READ_LIMIT} characters")
    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as err:
        raise DocumentError(str(err)) from err
    if document.version != VERSION:
        raise DocumentError(f"version {document.version}, where {VERSION} is understood")
    if len({entry.label for entry in document.datasets}) != len(document.datasets):
        raise DocumentError("a label is there twice")
    return document.datasets


def read(text: str) -> tuple[Dataset, ...]:
    """Return the datasets whose shards are known; ``DocumentError`` where nothing can be."""
    known = [entry for entry in entries(text) if not entry.omitted]
    if sum(-(-entry.shards // 8) for entry in known) > _UNPACKED:
        raise DocumentError(f"more than {_UNPACKED} bytes of bitmaps")
    try:
        return tuple(entry.dataset() for entry in known)
    except (ValueError, zlib.error) as err:
        raise DocumentError(str(err)) from err
