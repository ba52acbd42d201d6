"""Which datasets lie below the data roots, and what takes one, or all, out."""

import errno
import os
from pathlib import Path

import pytest

from labeler.datasets import labelled
from tests.agent.shelf import Shelf, touch

LONG = "x" * 200
CJK = "\N{CJK UNIFIED IDEOGRAPH-6570}"
RAW = os.fsdecode(b"caf\xe9")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.mark.parametrize("name", [LONG, CJK, RAW, "a b", "line\nline"])
def test_a_dataset_may_have_any_name(shelf: Shelf, name: str) -> None:
    touch(shelf.sums(name, "a") / "a")

    found = shelf.look().datasets.found

    assert [one.name for one in found] == [name]
    (key,) = labelled(found, {}, rise=True, hashed=False)[0]
    assert key.isascii()


def test_a_folder_without_a_manifest_is_no_dataset(shelf: Shelf) -> None:
    touch(shelf.folder("plain") / "a")
    touch(shelf.folder("SHA256SUMS"))
    touch(shelf.folder("outer/inner") / "SHA256SUMS")

    assert shelf.look().datasets.found == ()
    assert shelf.faults() == {}


@pytest.mark.parametrize("name", [".snapshot", "lost+found"])
def test_a_hidden_folder_is_no_dataset(shelf: Shelf, name: str) -> None:
    touch(shelf.sums(name, "a") / "a")

    assert shelf.here() == {}


def test_where_both_manifests_lie_our_own_counts(shelf: Shelf) -> None:
    shelf.sums("d", "a", "b")
    touch(shelf.sized("d", a=3) / "a")

    assert shelf.here() == {"d": "1"}


def test_a_dataset_that_was_taken_away_is_gone_at_the_next_look(shelf: Shelf) -> None:
    folder = shelf.sums("d", "a")
    touch(folder / "a")
    assert shelf.here() == {"d": "1"}

    folder.rename(shelf.tree / "elsewhere")
    assert shelf.here() == {}


def test_links_are_followed_inside_the_root_alone(shelf: Shelf) -> None:
    touch(shelf.sums("v2", "a") / "a")
    touch(shelf.sums("out", "a", root="elsewhere") / "a")
    touch(shelf.sums("manifest", "a") / "a")
    (shelf.folder("manifest") / "nodetruth.yaml").symlink_to("/elsewhere/out/SHA256SUMS")
    for name, target in {"current": "v2", "out": "../elsewhere/out", "broken": "v3"}.items():
        shelf.folder(name).symlink_to(target)

    listing = shelf.look()

    assert [one.name for one in listing.datasets.found] == ["current", "v2"]
    why = "leads out of /data; put the files themselves there"
    assert listing.faults == {"manifest": why, "out": why}


def test_what_cannot_be_opened_is_a_fault_of_its_dataset(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(shelf.sums("good", "a") / "a")
    shelf.sums("closed", "a")
    shelf.sums("long", f"{'x' * 300}/a")
    opened = os.open

    def refuse(path: str, flags: int) -> int:
        if "closed" in path:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return opened(path, flags)

    monkeypatch.setattr(os, "open", refuse)
    listing = shelf.look()

    assert [one.name for one in listing.datasets.found] == ["good"]
    assert listing.faults["closed"] == "/data/closed/SHA256SUMS: Permission denied"
    assert listing.faults["long"].endswith("xxx: File name too long")


def test_a_shard_that_cannot_be_looked_at_is_a_fault_of_its_dataset(shelf: Shelf) -> None:
    folder = shelf.sized("d", a=3)
    (folder / "a").symlink_to(f"{'x' * 300}")

    assert shelf.faults()["d"].endswith("xxx: File name too long")


def test_500_datasets_are_found_and_32_of_them_labelled(shelf: Shelf) -> None:
    for n in range(500):
        touch(shelf.sums(f"block-{n:03d}", "a") / "a")

    found = shelf.look().datasets.found

    percents, left_out = labelled(found, {}, rise=True, hashed=False)
    assert (len(found), len(percents), left_out) == (500, 32, 468)
