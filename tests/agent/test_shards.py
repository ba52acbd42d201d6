"""Which shards of a dataset are here: whole, at rest, and the dataset's own."""

import os
import socket
from pathlib import Path

import pytest

from tests.agent.shelf import Meddler, Shelf, aged, touch


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_a_dataset_is_here_shard_by_shard(shelf: Shelf) -> None:
    folder = shelf.sums("imagenet", *(f"{n}.tar" for n in range(10)))
    for n in (0, 1, 3, 9):
        touch(folder / f"{n}.tar")

    assert shelf.here() == {"imagenet": "1101000001"}


def test_a_complete_dataset_is_complete_at_the_first_look(shelf: Shelf) -> None:
    folder = shelf.sums("imagenet", "a.tar", "sub/b.tar", "sub/deep/c.tar")
    for shard in ("a.tar", "sub/b.tar", "sub/deep/c.tar"):
        touch(folder / shard)

    (dataset,) = shelf.look().datasets.found
    assert dataset.complete


def test_where_the_size_is_named_the_file_has_it(shelf: Shelf) -> None:
    folder = shelf.sized("d", whole=3, half=6, longer=2, empty=0, missing=3)
    for shard in ("whole", "half", "longer"):
        touch(folder / shard)
    touch(folder / "empty", size=0)

    assert shelf.here() == {"d": "10010"}


@pytest.mark.parametrize(("age", "here"), [(0, "0"), (29, "0"), (-29, "0"), (31, "1"), (-31, "1")])
def test_a_file_of_the_named_size_may_still_be_being_filled(
    shelf: Shelf, age: float, here: str
) -> None:
    """Who writes in several places at once makes it as long as it will be."""
    touch(shelf.sized("d", a=3) / "a", age=age)

    assert shelf.here() == {"d": here}


def test_without_a_named_size_an_empty_file_is_none(shelf: Shelf) -> None:
    touch(shelf.sums("d", "a") / "a", size=0)

    assert shelf.here() == {"d": "0"}


@pytest.mark.parametrize("age", [0, 29, -29])
def test_without_a_named_size_a_file_must_have_rested(shelf: Shelf, age: float) -> None:
    touch(shelf.sums("d", "a") / "a", age=age)

    assert shelf.here() == {"d": "0"}
    assert shelf.here() == {"d": "1"}


@pytest.mark.parametrize(("size", "age"), [(4, 100), (3, 200)])
def test_a_file_that_changed_since_the_last_look_is_growing(
    shelf: Shelf, size: int, age: float
) -> None:
    """Also where its time is set back while it grows, as some copiers do."""
    shard = touch(shelf.sums("d", "a") / "a", age=100)
    assert shelf.here() == {"d": "1"}

    touch(shard, size=size, age=age)
    assert shelf.here() == {"d": "0"}
    assert shelf.here() == {"d": "1"}


def test_a_file_from_the_future_is_at_rest_when_it_looks_the_same_twice(shelf: Shelf) -> None:
    """A clock that was set back must not take datasets away, nor one that is ahead for ever."""
    shard = touch(shelf.sums("d", "a") / "a", age=-90_000)
    assert shelf.here() == {"d": "0"}
    assert shelf.here() == {"d": "1"}

    touch(shard, size=4, age=-90_000)
    assert shelf.here() == {"d": "0"}


def test_a_clock_that_was_set_back_takes_nothing_away(shelf: Shelf) -> None:
    touch(shelf.sums("d", "a") / "a", age=100)
    assert shelf.here() == {"d": "1"}

    shelf.clock.now -= 7200
    assert shelf.here() == {"d": "1"}


@pytest.mark.parametrize(
    "sign",
    [
        *("a.tar.part", "a.tar.partial", "a.tar.tmp", "a.tar.crdownload", "a.tar.aria2"),
        *("a.tar.download", "a.tar.incomplete", ".a.tar.Xy12zQ"),
    ],
)
@pytest.mark.parametrize("below", ["", "sub/"])
def test_an_unfinished_copy_beside_a_shard_outweighs_it(
    shelf: Shelf, sign: str, below: str
) -> None:
    folder = shelf.sums("d", f"{below}a.tar", f"{below}b.tar")
    for name in ("a.tar", "b.tar", sign):
        touch(folder / f"{below}{name}")

    assert shelf.here() == {"d": "01"}
    (folder / f"{below}{sign}").unlink()
    assert shelf.here() == {"d": "11"}


def test_a_manifests_own_temporary_names_are_taken_at_their_word(shelf: Shelf) -> None:
    folder = shelf.sums("d", "a", "a.part", "b.tmp")
    for name in ("a", "a.part", "b.tmp"):
        touch(folder / name)

    assert shelf.here() == {"d": "111"}


@pytest.mark.parametrize("name", ["other.part", ".part", ".Xy12zQ", "a.tar.old", ".a.tar.toolong"])
def test_foreign_files_mean_nothing(shelf: Shelf, name: str) -> None:
    folder = shelf.sums("d", "a.tar")
    touch(folder / "a.tar")
    touch(folder / name)

    assert shelf.here() == {"d": "1"}


def test_what_is_no_regular_file_is_no_shard(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shelf.sums("d", "pipe", "folder", "socket", "file")
    os.mkfifo(folder / "pipe")
    touch(folder / "folder/x")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as endpoint:
        endpoint.bind("socket")
        touch(folder / "file")
        for name in ("pipe", "folder", "socket"):
            aged(folder / name)

        assert shelf.here() == {"d": "0001"}


def test_a_link_is_followed_inside_the_root_alone(shelf: Shelf) -> None:
    folder = shelf.sums("d", "near", "far", "up", "broken", "round", "host", "above")
    touch(shelf.tree / "data/.pool/1")
    touch(shelf.tree / "elsewhere/1")
    for name, target in {
        "near": "../.pool/1",
        "far": str(shelf.tree / "data/.pool/1"),
        "up": "../../elsewhere/1",
        "broken": "../.pool/2",
        "round": "round",
        "host": "/data/.pool/1",
        "above": "../..",
    }.items():
        (folder / name).symlink_to(target)

    assert shelf.here() == {"d": "1000010"}


def test_a_folder_of_shards_may_be_a_link_inside_the_root(shelf: Shelf) -> None:
    folder = shelf.sums("d", "sub/a")
    touch(shelf.tree / "data/.pool/a")
    (folder / "sub").symlink_to("../.pool")

    assert shelf.here() == {"d": "1"}


def test_a_file_in_the_place_of_a_folder_holds_no_shards(shelf: Shelf) -> None:
    folder = shelf.sums("d", "sub/a", "b")
    touch(folder / "sub")
    touch(folder / "b")

    assert shelf.here() == {"d": "01"}


def test_a_file_that_vanishes_under_the_look_is_not_here(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shelf.sums("d", "a", "b")
    touch(folder / "a")
    touch(folder / "b")
    monkeypatch.setattr(os, "scandir", Meddler(folder, (folder / "b").unlink))

    assert shelf.here() == {"d": "10"}


def test_names_that_are_not_ascii_are_found(shelf: Shelf) -> None:
    names = ["\N{CJK UNIFIED IDEOGRAPH-6570}.tar", "with space", "a\\b", "new\nline"]
    lines = {name: name.replace("\\", "\\\\").replace("\n", "\\n") for name in names}
    folder = shelf.sums("d", "x")
    text = "".join(
        f"{'' if line == name else chr(92)}{'0' * 64}  {line}\n" for name, line in lines.items()
    )
    (folder / "SHA256SUMS").write_text(text)
    aged(folder / "SHA256SUMS")
    for name in names:
        touch(folder / name)
    touch(folder / os.fsdecode(b"\xff.tar"))

    assert shelf.here() == {"d": "1111"}
