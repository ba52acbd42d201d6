"""The document of shard bitmaps: written, bounded, read back, and not believed blindly."""

import base64
import json
import random
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeler import legal
from labeler.bitmaps import LIMIT, DocumentError, entries, publish, read
from labeler.datasets import Dataset, label
from tests.labeler.strategies import datasets

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)

SOME = st.lists(datasets(), max_size=12, unique_by=lambda one: label(one.name))


def noisy(name: str, shards: int = 80_000) -> Dataset:
    """Make a dataset whose bitmap can't be compressed."""
    return Dataset(name, shards, random.Random(name).randbytes(shards // 8))


def document(**entry: Any) -> str:
    return json.dumps({"version": 1, "datasets": [entry]})


@given(SOME)
def test_what_is_published_is_read_back(found: list[Dataset]) -> None:
    assert read(publish(found)) == tuple(sorted(found, key=lambda one: one.name))


@given(SOME)
def test_hidden_names_are_not_in_the_document(found: list[Dataset]) -> None:
    hidden = [Dataset(label(one.name, hashed=True), one.shards, one.present) for one in found]
    text = publish(found, hashed=True)

    assert set(read(text)) == set(hidden)
    assert all("name" not in entry for entry in json.loads(text)["datasets"])


@given(st.data())
def test_equal_datasets_are_equal_text(data: st.DataObject) -> None:
    found = data.draw(SOME)

    assert publish(found) == publish(data.draw(st.permutations(found)))


@given(SOME, st.integers(128, 2000))
def test_the_document_stays_inside_its_limit_and_says_what_is_missing(
    found: list[Dataset], limit: int
) -> None:
    text = publish(found, limit)

    assert len(text.encode()) <= limit
    assert set(read(text)) <= set(found)
    assert len(entries(text)) + json.loads(text)["leftOut"] == len(found)


def test_the_largest_bitmaps_are_left_out_first() -> None:
    found = [noisy("large", 800_000), *(noisy(f"small-{n}") for n in range(8))]

    text = publish(found, 150_000)

    assert [entry.label for entry in entries(text) if entry.omitted] == ["large"]
    assert {one.name for one in read(text)} == {f"small-{n}" for n in range(8)}
    (large,) = (entry for entry in entries(text) if entry.omitted)
    assert (large.held, large.shards) == (found[0].held, 800_000)


def test_a_node_full_of_the_largest_datasets_still_fits_a_configmap() -> None:
    text = publish(noisy(f"d{n}", 1_000_000) for n in range(10))

    assert len(text.encode()) <= LIMIT
    assert len(entries(text)) == 10
    assert len(read(text)) == 5


def test_a_bitmap_that_says_nothing_is_not_written() -> None:
    text = publish([Dataset("all", 9, b"\xff\x80"), Dataset("none", 9, b"\0\0")])

    assert json.loads(text)["datasets"] == [
        {"label": "all", "name": "all", "shards": 9, "held": 9},
        {"label": "none", "name": "none", "shards": 9, "held": 0},
    ]


def test_a_name_that_is_not_utf8_is_written_so_that_all_can_read_it() -> None:
    text = publish([Dataset("caf\udce9", 1, b"\x80")])

    assert text.encode()
    assert json.loads(text)["datasets"][0]["name"] == "caf\\xe9"
    assert read(text)[0].name == "caf\udce9"


def test_two_names_of_one_label_are_left_out_and_counted() -> None:
    pair = [Dataset("a b", 1, b"\x80"), Dataset(legal.distinct("a b"), 1, b"\x80")]

    assert json.loads(publish(pair)) == {"version": 1, "leftOut": 2, "datasets": []}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("[]", "Expected `object`"),
        ("[" * 100_000, "Expected|recursion|depth"),
        ("\ud800", "surrogates"),
        (" " * (1 << 20) + "{}", "more than 1048576"),
        ('{"version": 2, "datasets": []}', "version 2"),
        (document(label="a", shards=0, held=0), "shards"),
        (document(label="a", shards=10**9, held=0), "shards"),
        (document(label="a", shards=9, held=-1), "held"),
        (document(label="a", shards=9, held=10), "10 of 9 shards"),
        (document(label="a", shards=9, held=4), "contradicts itself"),
        (document(label="a/b", shards=9, held=9), "label 'a/b'"),
        (document(label="a", name="b", shards=9, held=9), "contradicts itself"),
        (document(label="a", name="", shards=9, held=9), "shards of ''"),
        (document(label="a", shards=9, held=4, bitmap="!"), "base64"),
        (document(label="a", shards=9, held=4, bitmap="AAAA"), "decompressing"),
        (document(label="a", shards=9, held=2, bitmap="eJxrAAAAgQCB"), "1 bytes for 9 shards"),
    ],
)
def test_garbage_is_an_error_with_a_way_out(text: str, why: str) -> None:
    with pytest.raises(DocumentError, match=why) as caught:
        read(text)

    assert str(caught.value).endswith("; the node's agent must write them anew")


def test_a_label_that_is_there_twice_is_an_error() -> None:
    one = {"label": "a", "shards": 1, "held": 1}

    with pytest.raises(DocumentError, match="twice"):
        read(json.dumps({"version": 1, "datasets": [one, one]}))


def test_a_bitmap_that_unpacks_to_far_more_is_cut_off() -> None:

    bomb = base64.b64encode(zlib.compress(bytes(100 << 20), 9)).decode()

    with pytest.raises(DocumentError, match="3 bytes for 9 shards"):
        read(document(label="a", shards=9, held=2, bitmap=bomb))


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")))
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(DocumentError):
        read(text)
