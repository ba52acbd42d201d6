"""A manifest on a disk: one that lies, one that is no file, one that is being written."""

import os
from pathlib import Path
from typing import BinaryIO

import pytest

from agent.probes.manifest_formats import read
from agent.probes.shards import Shards
from tests.agent.shelf import Shelf, aged, touch

RAW = os.fsdecode(b"caf\xe9")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_a_manifest_that_lies_takes_its_own_dataset_out_and_no_other(shelf: Shelf) -> None:
    touch(shelf.sums("good", "a") / "a")
    shelf.sums("lies", "a", "../b")
    shelf.sized("size", a=-1)
    shelf.sums(RAW)

    listing = shelf.look()

    assert [one.name for one in listing.datasets.found] == ["good"]
    assert listing.faults == {
        "lies": "SHA256SUMS: line 2: '../b' leads out of the folder; name a file below the folder",
        "size": "nodetruth.yaml: line 2: '-1' is no size of 'a'; write whole bytes such as"
        " 1048576, or nothing",
        "caf\\udce9": "SHA256SUMS: names no shards; name one, or take the manifest away",
    }


def test_a_fault_that_was_mended_is_gone(shelf: Shelf) -> None:
    touch(shelf.sums("d", "../a") / "a")
    assert shelf.faults() == shelf.faults() != {}

    shelf.sums("d", "a")
    assert shelf.here() == {"d": "1"}
    assert shelf.faults() == {}


def test_a_manifest_that_is_too_large_is_not_read(shelf: Shelf) -> None:
    manifest = shelf.sums("d", "a") / "SHA256SUMS"
    os.truncate(manifest, (16 << 20) + 1)
    aged(manifest)

    assert shelf.faults() == {"d": "SHA256SUMS: is larger than 16 MiB; make several datasets"}


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_manifest_that_is_no_file_is_a_fault_and_hangs_nothing(shelf: Shelf, kind: str) -> None:
    manifest = shelf.folder("d") / "SHA256SUMS"
    manifest.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(manifest)
    else:
        manifest.mkdir()
    aged(manifest)
    opened = len(list(Path("/proc/self/fd").iterdir()))

    assert shelf.faults() == {"d": "SHA256SUMS: is no regular file; put the manifest itself there"}
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


def test_a_manifest_that_was_written_just_now_waits_until_it_rests(shelf: Shelf) -> None:
    """Half a manifest would call half a dataset complete."""
    folder = shelf.sums("d", "a")
    touch(folder / "a")
    aged(folder / "SHA256SUMS", 10)

    assert shelf.faults() == {
        "d": "SHA256SUMS: was written less than 30 s ago; it counts once it is at rest"
    }
    assert shelf.here() == {"d": "1"}


def test_while_a_manifest_is_written_anew_the_old_one_counts(shelf: Shelf) -> None:
    folder = shelf.sums("d", "a", "b")
    touch(folder / "a")
    assert shelf.here() == {"d": "10"}

    shelf.sums("d", "a")
    aged(folder / "SHA256SUMS", 10, shelf.clock.now)
    assert shelf.here() == {"d": "10"}
    assert shelf.here() == {"d": "1"}


def test_a_manifest_that_changes_while_it_is_read_waits_for_the_next_look(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shelf.sums("d", "a")
    touch(folder / "a")

    def meddled(file: str, stream: BinaryIO) -> Shards:
        (folder / file).chmod(0o600)
        return read(file, stream)

    monkeypatch.setattr("agent.probes.folder.read", meddled)
    assert shelf.faults() == {"d": "SHA256SUMS: changed while it was read; let it rest"}

    monkeypatch.undo()
    assert shelf.here() == {"d": "1"}
