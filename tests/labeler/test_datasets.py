"""Which datasets are labelled, under which name and with which percentage."""

import re
from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeler import legal
from labeler.datasets import MOST, MOST_SHARDS, Dataset, Datasets, label, labelled
from tests.labeler.strategies import datasets, folder_names

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)

BEFORE = st.dictionaries(st.sampled_from(["a", "b", "x"]), st.integers(-7, 120))


def part(name: str, held: int, shards: int) -> Dataset:
    ones = ((1 << held) - 1) << (-(-shards // 8) * 8 - held)
    return Dataset(name, shards, ones.to_bytes(-(-shards // 8), "big"))


def said(
    *found: Dataset, before: Mapping[str, int] | None = None, rise: bool = True
) -> Mapping[str, int]:
    return labelled(found, before or {}, rise=rise, hashed=False)[0]


@given(datasets())
def test_a_dataset_is_complete_at_100_per_cent_and_at_no_other(dataset: Dataset) -> None:
    assert (dataset.percent == 100) == dataset.complete == (dataset.held == dataset.shards)
    assert dataset.percent <= Fraction(100 * dataset.held, dataset.shards) < dataset.percent + 1


@given(st.lists(datasets(), max_size=50), BEFORE, st.booleans(), st.booleans())
def test_what_is_labelled_is_always_legal_and_bounded(
    found: list[Dataset], before: Mapping[str, int], rise: bool, hashed: bool
) -> None:
    percents, left_out = labelled(found, before, rise=rise, hashed=hashed)

    assert all(legal.is_name(key) for key in percents)
    assert all(value in range(0, 101, 5) for value in percents.values())
    assert len(percents) <= MOST
    assert len(percents) + left_out == sum(one.held > 0 for one in found)


@given(st.data(), BEFORE, st.booleans(), st.booleans())
def test_the_order_in_which_datasets_are_found_changes_nothing(
    data: st.DataObject, before: Mapping[str, int], rise: bool, hashed: bool
) -> None:
    found = data.draw(st.lists(datasets(), max_size=40))
    other = data.draw(st.permutations(found))

    one = labelled(found, before, rise=rise, hashed=hashed)

    assert one == labelled(other, before, rise=rise, hashed=hashed)
    assert list(one[0]) == sorted(one[0])


@given(st.integers(0, 100), st.integers(1, 100), st.booleans())
def test_a_percentage_falls_at_once_and_rises_when_it_may(
    before: int, held: int, rise: bool
) -> None:
    before -= before % 5
    now = held - held % 5

    after = said(part("a", held, 100), before={"a": before}, rise=rise)["a"]

    assert after == (now if rise or now <= before or held == 100 else before)


@given(st.integers(0, 100), st.booleans())
def test_100_is_said_of_the_complete_alone_and_at_once(before: int, rise: bool) -> None:
    for held in (999, 1000):
        after = said(part("a", held, 1000), before={"a": before}, rise=rise)["a"]
        assert (after == 100) == (held == 1000)


def test_one_shard_of_a_thousand_is_labelled_and_none_is_not() -> None:
    assert said(part("a", 1, 1000), part("b", 0, 1000)) == {"a": 0}


def test_a_remembered_percentage_that_nobody_wrote_does_no_harm() -> None:
    assert said(part("a", 98, 100), before={"a": -3}, rise=False) == {"a": 0}
    assert said(part("a", 98, 100), before={"a": 93}, rise=False) == {"a": 90}
    assert said(part("a", 98, 100), before={"a": 1000}, rise=False) == {"a": 95}


def test_of_500_datasets_32_are_labelled_and_the_rest_are_counted() -> None:
    found = [part(f"block-{n:03d}", 1, 1) for n in range(500)]

    percents, left_out = labelled(found, {}, rise=True, hashed=False)

    assert list(percents) == [f"block-{n:03d}" for n in range(32)]
    assert left_out == 468


def test_what_was_labelled_stays_when_others_come() -> None:
    found = [part(f"block-{n:03d}", 1, 1) for n in range(500)]
    before = {f"block-{n:03d}": 100 for n in range(480, 500)}

    percents, _ = labelled(found, before, rise=True, hashed=False)

    assert before.keys() <= percents.keys()
    assert sorted(percents.keys() - before.keys()) == [f"block-{n:03d}" for n in range(12)]
    assert labelled(found, percents, rise=True, hashed=False)[0] == percents


@pytest.mark.parametrize("held", [0, 1])
def test_two_names_of_one_label_are_both_left_out(held: int) -> None:
    """Also while of one of them nothing is here yet, or the label would change its meaning."""
    strange = "a b"
    copycat = legal.distinct(strange)

    percents, left_out = labelled(
        [part(strange, held, 1), part(copycat, 1, 1), part("c", 1, 1)],
        {},
        rise=True,
        hashed=False,
    )

    assert percents == {"c": 100}
    assert left_out == 1 + held


@given(folder_names(), folder_names())
def test_two_hidden_names_stay_two(one: str, other: str) -> None:
    hidden = [label(name, hashed=True) for name in (one, other)]

    assert all(re.fullmatch(r"[0-9a-f]{16}", each) for each in hidden)
    assert (one == other) == (hidden[0] == hidden[1])


@pytest.mark.parametrize(
    ("name", "labelled_as"),
    [
        ("imagenet", "imagenet"),
        ("x" * 200, "x" * 52 + "-aa20c23e32"),
        ("\N{CJK UNIFIED IDEOGRAPH-6570}", "a8df40502f"),
        ("caf\udce9", "caf-dafd66c0b9"),
    ],
)
def test_a_name_is_labelled_as_itself_where_that_is_legal(name: str, labelled_as: str) -> None:
    assert label(name) == labelled_as


def test_a_hidden_name_is_what_the_shell_computes() -> None:
    """``printf imagenet | sha256sum | cut -c1-16``."""
    assert label("imagenet", hashed=True) == "0afd7c2a84f4f66e"


@pytest.mark.parametrize(
    ("name", "shards", "present"),
    [
        ("", 1, b"\x80"),
        ("a", 0, b""),
        ("a", MOST_SHARDS + 1, b"\0" * 125_001),
        ("a", 8, b""),
        ("a", 8, b"\0\0"),
        ("a", 9, b"\xff\x40"),
        ("\ud800", 1, b"\x80"),
    ],
)
def test_what_no_dataset_can_be_is_refused(name: str, shards: int, present: bytes) -> None:
    with pytest.raises(ValueError, match=r"shards of|surrogates"):
        Dataset(name, shards, present)


def test_datasets_are_in_the_order_of_their_names_each_once() -> None:
    a, b = part("a", 1, 1), part("b", 1, 1)

    assert Datasets((a, b)).found == (a, b)
    for wrong in ((b, a), (a, a)):
        with pytest.raises(ValueError, match="order of their names"):
            Datasets(wrong)
