"""Without one of the data roots there is no telling what lies here."""

import os
from pathlib import Path

import pytest

from agent.probes.data import DataProbe
from tests.agent.shelf import Meddler, Shelf, bits, touch


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path, ("/data", "/more"))
    touch(shelf.sums("d", "a") / "a")
    return shelf


@pytest.fixture
def two(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path, ("/data", "/more"))


def why_not(shelf: Shelf) -> str:
    with pytest.raises(OSError, match="/more") as caught:
        shelf.look()
    return f"{caught.value.filename}: {caught.value.strerror}"


def test_a_root_that_is_missing_is_named(shelf: Shelf) -> None:
    (shelf.tree / "more").rmdir()

    assert why_not(shelf) == why_not(shelf) == "/more: No such file or directory"


def test_a_root_that_is_no_folder_is_named(shelf: Shelf) -> None:
    (shelf.tree / "more").rmdir()
    touch(shelf.tree / "more")

    assert why_not(shelf) == "/more: Not a directory"


def test_a_root_of_links_without_an_end_is_named(shelf: Shelf) -> None:
    (shelf.tree / "more").rmdir()
    (shelf.tree / "more").symlink_to("more")

    assert why_not(shelf) == "/more: Too many levels of symbolic links"


def test_a_root_that_is_mounted_over_under_the_look_is_named(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = shelf.tree / "more"

    def mount() -> None:
        more.rename(shelf.tree / "before")
        more.mkdir()

    monkeypatch.setattr(os, "scandir", Meddler(more, mount))

    assert why_not(shelf) == "/more: Stale file handle"


def test_a_look_that_failed_forgets_nothing(shelf: Shelf) -> None:
    shard = touch(shelf.folder("d") / "a", age=100)
    assert shelf.here() == {"d": "1"}
    (shelf.tree / "more").rmdir()
    why_not(shelf)
    (shelf.tree / "more").mkdir()

    touch(shard, size=4, age=100)
    assert shelf.here() == {"d": "0"}


@pytest.mark.parametrize("target", ["disks/nvme", "/disks/nvme", "../../../disks/./nvme/"])
def test_a_root_may_be_a_link_and_is_followed_in_the_machines_own_tree(
    shelf: Shelf, target: str
) -> None:
    (shelf.tree / "disks").mkdir()
    (shelf.tree / "data").rename(shelf.tree / "disks/nvme")
    (shelf.tree / "data").symlink_to(target)

    assert shelf.here() == {"d": "1"}


def test_the_machines_whole_tree_may_be_a_root(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, ("/",))
    touch(shelf.sums("d", "a", root="") / "a")

    assert shelf.here() == {"d": "1"}


def test_without_a_tree_of_its_own_a_root_is_where_it_is_named(shelf: Shelf) -> None:
    probe = DataProbe((str(shelf.tree / "data"),), clock=shelf.clock)

    assert [one.name for one in probe.look().datasets.found] == ["d"]


def test_no_roots_hold_no_datasets() -> None:
    assert DataProbe(()).look().datasets.found == ()


def test_of_two_copies_the_fuller_counts_and_of_equals_the_first(two: Shelf) -> None:
    for root, held in (("data", "a"), ("more", "b")):
        touch(two.sums("equal", "a", "b", root=root) / held)
        touch(two.sums("fuller", "a", "b", root=root) / held)
    touch(two.folder("fuller", "more") / "a")
    touch(two.sums("only", "a", root="more") / "a")

    assert two.here() == {"equal": "10", "fuller": "11", "only": "1"}


def test_a_copy_that_lies_does_not_hide_one_that_is_sound(two: Shelf) -> None:
    two.sums("d", "..")
    touch(two.sums("d", "a", root="more") / "a")

    listing = two.look()

    assert [bits(one) for one in listing.datasets.found] == ["1"]
    assert listing.faults.keys() == {"d"}
