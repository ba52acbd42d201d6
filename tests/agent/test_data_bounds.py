"""Folders that are laid so that a look has no end, or so that a name gets out."""

import os
import time
from pathlib import Path

import pytest

from agent.probes.data import DataProbe
from tests.agent.shelf import SUM, Shelf, aged, touch

WHY = "too many links and folders to follow; put the files themselves there"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    touch(shelf.sums("good", "a") / "a")
    return shelf


def test_a_shard_in_folders_without_end_takes_its_dataset_out(shelf: Shelf) -> None:
    """Two hundred of them, a manifest of 700 KiB, kept the probe busy for 40 s."""
    touch(shelf.sums("deep", "a/" * 100 + "x") / ("a/" * 100 + "x"))

    listing = shelf.look()

    assert [one.name for one in listing.datasets.found] == ["good"]
    assert "lies deeper than 64 folders" in listing.faults["deep"]


def test_links_that_lead_round_and_round_take_their_dataset_out(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs what 30,000 files cost, within the forty links that may be followed."""
    monkeypatch.setattr("agent.probes.folder.STEPS", 20_000)
    folder = shelf.sums("links", *(f"s{number}" for number in range(20)))
    (folder / "d").mkdir()
    for number in range(20):
        (folder / f"l{number}").symlink_to("d/../" * 700 + f"l{number + 1}")
        (folder / f"s{number}").symlink_to("l0")
    touch(folder / "l20")

    listing = shelf.look()

    assert [one.name for one in listing.datasets.found] == ["good"]
    assert listing.faults == {"links": WHY}


def test_one_full_folder_under_many_names_takes_its_dataset_out(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.probes.folder.STEPS", 1000)
    folder = shelf.sums("names", *(f"f{number}/x" for number in range(50)))
    for number in range(100):
        touch(shelf.folder(".pool") / f"{number}")
    for number in range(50):
        (folder / f"f{number}").symlink_to("../.pool")

    assert shelf.faults() == {"names": WHY}


def test_a_clock_that_moves_on_during_a_look_calls_no_manifest_old(shelf: Shelf) -> None:
    """Half a manifest would call half a dataset complete, also at the end of a long look."""
    folder = shelf.sums("half", "a")
    touch(folder / "a")
    times = iter([1e9, 1e9 + 40, 1e9 + 40])
    probe = DataProbe(shelf.roots, str(shelf.tree), lambda: next(times))
    aged(folder / "SHA256SUMS", -39)

    assert [one.name for one in probe.look().datasets.found] == ["good"]


def test_a_file_that_comes_with_an_old_time_and_grows_is_not_here(shelf: Shelf) -> None:
    folder = shelf.sums("d", "a", "b")
    aged(folder / "SHA256SUMS", now=time.time())
    touch(folder / "b")
    shelf.clock.now = time.time()
    shelf.look(0)

    aged(touch(folder / "a", size=1), now=time.time())
    assert shelf.here()["d"] == "01"


@pytest.mark.parametrize(
    "manifest", [f"{SUM}  ../secret\n", f"{SUM}  secret.tar\n" * 2, f"{SUM}  it's secret\n" * 2, ""]
)
def test_no_fault_repeats_a_hidden_name(shelf: Shelf, manifest: str) -> None:
    folder = shelf.sums("secret", "a")
    (folder / "SHA256SUMS").write_text(manifest)
    aged(folder / "SHA256SUMS")
    shelf.sums("secret-too", f"{'x' * 300}/a")
    probe = DataProbe(shelf.roots, str(shelf.tree), shelf.clock, hashed=True)

    faults = probe.look().faults

    assert len(faults) == 2
    assert "secret" not in repr(faults)
    assert os.fspath(shelf.tree) not in repr(faults)
