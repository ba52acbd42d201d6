"""What lies below the data roots, as the Node says it and as the ConfigMap does."""

import logging
from collections.abc import Iterator

import pytest

from agent.shelf import RISE, Shelf
from labeler import bitmaps
from labeler.datasets import Dataset, Datasets, Listing
from labeler.shards import NOTHING
from tests.agent.clock import Clock


class Looks:
    """A data probe whose answer a test sets."""

    def __init__(self) -> None:
        self.listing = Listing(Datasets(()), {})

    def look(self) -> Listing:
        return self.listing

    def shows(self, **held: int) -> None:
        """Show datasets of twenty shards, the first few of each here."""
        found = [Dataset(name, 20, bits(count)) for name, count in sorted(held.items())]
        self.listing = Listing(Datasets(tuple(found)), {})


def bits(count: int) -> bytes:
    return int("1" * count + "0" * (24 - count), 2).to_bytes(3, "big")


@pytest.fixture
def looks() -> Looks:
    return Looks()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shelf(looks: Looks, clock: Clock) -> Iterator[Shelf]:
    return Shelf(looks, hashed=False, clock=clock)  # type: ignore[arg-type,return-value]


def test_a_copy_that_runs_raises_its_percentage_once_a_minute(
    shelf: Shelf, looks: Looks, clock: Clock
) -> None:
    said = []
    for held in range(1, 11):
        looks.shows(imagenet=held)
        said.append(shelf.look().percents["imagenet"])
        clock.now += RISE / 4

    assert said == [5, 10, 10, 10, 10, 30, 30, 30, 30, 50]


def test_a_shard_that_goes_is_said_at_once_and_so_is_completion(shelf: Shelf, looks: Looks) -> None:
    said = []
    for held in (10, 11, 9, 19, 20):
        looks.shows(imagenet=held)
        said.append(shelf.look().percents["imagenet"])

    assert said == [50, 55, 45, 45, 100]


def test_there_is_no_document_before_the_first_look(shelf: Shelf, looks: Looks) -> None:
    looks.shows(imagenet=1)

    assert shelf.document() is None
    shelf.look()
    assert shelf.document() is not None


def test_where_nothing_lies_the_document_says_so(shelf: Shelf) -> None:
    shelf.look()

    assert shelf.document() == NOTHING
    assert bitmaps.read(NOTHING) == ()


def test_the_document_says_which_shards_are_here_also_between_two_steps(
    shelf: Shelf, looks: Looks
) -> None:
    for held in (10, 11):
        looks.shows(imagenet=held)
        shelf.look()
        document = shelf.document()
        assert document
        (dataset,) = bitmaps.read(document)
        assert dataset.present == bits(held)


def test_the_same_shards_are_the_same_document(shelf: Shelf, looks: Looks) -> None:
    looks.shows(imagenet=3)
    shelf.look()
    before = shelf.document()
    shelf.look()

    assert shelf.document() is before


def test_hidden_names_are_hidden_everywhere(looks: Looks, clock: Clock) -> None:
    shelf = Shelf(looks, hashed=True, clock=clock)  # type: ignore[arg-type]
    looks.shows(secret=20)

    data = shelf.look()

    assert list(data.percents.values()) == [100]
    assert "secret" not in f"{data}{shelf.document()}"


def test_a_dataset_that_is_not_counted_is_named_once(
    shelf: Shelf, looks: Looks, caplog: pytest.LogCaptureFixture
) -> None:
    looks.listing = Listing(Datasets(()), {"imagenet": "SHA256SUMS, line 3: no hash"})

    with caplog.at_level(logging.WARNING):
        shelf.look()
        shelf.look()

    assert caplog.messages == ["dataset imagenet is not counted: SHA256SUMS, line 3: no hash"]
