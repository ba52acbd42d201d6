"""What a machine shows is what its Node says; each folder of ``tests/machines`` is one."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from labeler.desired import Desired, Recall, desired
from labeler.evidence import Evidence
from labeler.facts import KEYS, Facts, Probe, Unknown
from labeler.seen import Seen
from labeler.vocabulary import Stem
from tests.agent.machines import (
    FOLDER,
    MACHINES,
    SCENARIO,
    TREES,
    expected,
    look,
    reasons,
    running,
    settings,
)

every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)


def decided(facts: Facts, machine: Path) -> Desired:
    before = Recall(Evidence(boot="", uid=""))
    seen = Seen(name="n1", uid="", version="")
    return desired(facts, before, seen, settings(machine).policy(), datetime.now(UTC))


@every_machine
def test_what_a_machine_shows_is_what_its_node_says(machine: Path) -> None:
    want = expected(machine)
    with running(machine) as here:
        facts = look(here)

    said = decided(facts, machine)

    unknown = {probe: fact.reason for probe, fact in facts.items() if isinstance(fact, Unknown)}
    assert dict(said.labels) == want.labels
    assert unknown == reasons(machine)
    assert said.held == set(want.held)
    assert said.complete
    assert (dict(here.shelf.listing.faults) if here.shelf else {}) == want.faults
    if not unknown:
        assert said.judgement.reasons == want.reasons


@every_machine
def test_a_second_look_says_the_same(machine: Path) -> None:
    with running(machine) as here:
        assert look(here) == look(here)


@every_machine
def test_a_machine_is_a_whole_folder(machine: Path) -> None:
    want = expected(machine)

    assert {path.name for path in machine.iterdir()} - {SCENARIO} == {"node.toml", *TREES}
    assert want.disk
    assert set(want.held) == fixed_keys(want.unknown.keys())
    for link in (path for path in machine.rglob("*") if path.is_symlink()):
        assert not link.readlink().is_absolute(), link
        assert link.resolve(strict=True).is_relative_to(machine), link


def fixed_keys(probes: Iterable[Probe]) -> set[str]:
    return {str(key) for probe in probes for key in KEYS[probe] if key not in set(Stem)}


@every_machine
def test_every_block_device_of_a_machine_can_be_judged(machine: Path) -> None:
    """A folder that lacks a file by oversight would test that and nothing else."""
    rotational = Probe.DISK in expected(machine).unknown or all(
        (disk / "queue/rotational").exists()
        for link in (machine / "sys/dev/block").glob("*")
        if not ((disk := link.resolve()) / "partition").exists()
    )
    assert rotational


def test_there_are_machines() -> None:
    """An empty parameter list passes in silence."""
    assert len(MACHINES) > 140, FOLDER
