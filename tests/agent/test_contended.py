"""The loop while somebody keeps writing a key of ours: turns, words, and whom it vouches for."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event
from time import sleep

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent.aside import AGAIN, Aside
from agent.drifts import MANAGERS
from agent.log import Log
from agent.loop import HEARTBEAT, Identity, Loop
from agent.metrics import Metrics
from agent.serve import Health
from labeler.contention import PACE, PEACE, VITAL_PACE
from labeler.desired import Policy
from labeler.diff import Cause, Drift, Patch
from labeler.facts import Cpu, Memory, Probe
from labeler.node import NodeUnavailable
from labeler.seen import Seen, Taint
from labeler.vocabulary import Effect, Mode, TaintKey, Vocabulary
from tests.agent.clock import Clock
from tests.agent.test_loop import Machine, Record, until
from tests.fakes import FakeNode, applied

NODE = Seen(name="n1", uid="u1", version="1")
POLICY = Policy(effects={TaintKey.MAINTENANCE: Effect.NO_SCHEDULE})


def fields(manager: str, *keys: str) -> bytes:
    """Write managedFields as the server does."""
    labels: dict[str, object] = {f"f:{key}": {} for key in keys}
    entry = {"manager": manager, "fieldsV1": {"f:metadata": {"f:labels": labels}}}
    return json.dumps([entry]).encode()


@dataclass
class Scene:
    """A loop with all its observers, on a clock that moves only when told."""

    node: FakeNode = field(default_factory=lambda: FakeNode(NODE))
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        before = self.node.attested
        self.machine = Machine(self.clock)
        self.machine.ask()
        self.record = Record()
        self.health = Health(Mode.ENFORCE, self.clock)
        self.metrics = Metrics("1", Mode.ENFORCE)
        aside = Aside(self.node, POLICY, self.clock)
        observers = (Log(), self.metrics, self.health, aside, self.record)
        self.loop = Loop(self.node, self.machine.newest, POLICY, Identity("b1", "1"), observers)
        for _ in range(2):
            self.loop.turn()
        until(lambda: self.node.attested == before + 1)
        self.clock.now += 61
        self.node.writes.clear()

    def edit(self, manager: str = "kubectl-edit", **changes: str | None) -> float:
        """Write labels by another hand; return what the loop means to rest."""
        self.node.edit(**changes)
        self.node.node = replace(self.node.read(), fields=fields(manager, *changes))
        return self.loop.turn()

    def sleep(self, seconds: float) -> None:
        """Let time pass, with a round at each moment that the loop itself asked for."""
        end = self.clock.now + seconds
        while True:
            rest = self.loop.turn()
            if self.clock.now + rest > end:
                break
            self.clock.now += rest
        self.clock.now = end

    def fight(self, seconds: int, key: str) -> None:
        """Edit ten times a second."""
        for number in range(seconds * 10):
            self.edit(**{key: f"forged-{number}"})
            self.clock.now += 0.1

    def sample(self, name: str, **labels: str) -> float | None:
        """Read one sample of the page, as Prometheus does."""
        families = text_string_to_metric_families(self.metrics.page().decode())
        found = [
            s.value for f in families for s in f.samples if (s.name, s.labels) == (name, labels)
        ]
        return found[0] if found else None


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_an_insistent_writer_draws_no_more_than_four_writes_a_minute(scene: Scene) -> None:
    scene.fight(60, "memory-gib")

    assert len(scene.node.writes) == 2
    assert scene.node.read().labels["memory-gib"] == "forged-599"
    assert scene.edit(**{"memory-gib": "7"}) <= 2, "the loop wakes by itself when the turn comes"
    scene.sleep(3)
    assert scene.node.read().labels["memory-gib"] == "512"
    assert len(scene.node.writes) == 3


def test_a_vital_key_is_put_right_twice_a_minute(scene: Scene) -> None:
    scene.fight(60, "status")

    assert 3 <= len(scene.node.writes) <= 4
    scene.sleep(VITAL_PACE)
    assert scene.node.read().labels["status"] == "healthy"


def test_an_ordinary_fight_costs_no_attestation(scene: Scene) -> None:
    before = scene.node.attested

    for _ in range(5):
        scene.edit(cpu="forged")

    assert scene.loop.confirmed
    assert scene.health.ready()[0]
    until(lambda: scene.node.attested == before + 1)


def test_a_fight_over_a_vital_key_ends_the_attestation_until_there_is_peace(scene: Scene) -> None:
    before = scene.node.attested

    for _ in range(5):
        scene.edit(status="degraded")
    ready, why = scene.health.ready()
    scene.sleep(VITAL_PACE + PEACE - 1)
    still = scene.node.attested

    assert not ready
    assert why == (
        "label status is contested: manager 'kubectl-edit' sets it to 'degraded' again and again,"
        " and it is put right at most once in 30 s; stop that writer, or set a labelPrefix"
    )
    assert still == before
    assert scene.node.read().labels["status"] == "healthy"
    scene.sleep(HEARTBEAT)
    assert scene.loop.confirmed
    assert scene.health.ready()[0]
    until(lambda: scene.node.attested == before + 1)


def test_a_fight_over_a_taint_ends_the_attestation(scene: Scene) -> None:
    for number in range(5):
        taint = Taint("nodetruth/unknown", "NoExecute", str(number))
        scene.node.node = applied(scene.node.read(), Patch(taints=(taint,)))
        scene.loop.turn()

    assert not scene.loop.confirmed
    assert "taint nodetruth/unknown is contested: an unknown hand" in scene.health.ready()[1]
    until(lambda: bool(scene.node.told))
    assert [reason for reason, _, _ in scene.node.told] == ["TaintContested"]


def test_a_contest_is_told_once_and_again_after_ten_minutes(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(int(AGAIN) + 30):
        scene.edit(cpu="forged")
        scene.clock.now += 1
    until(lambda: len(scene.node.told) == 2)
    scene.sleep(PACE + PEACE + HEARTBEAT)
    sleep(0.05)

    assert [(reason, warning) for reason, _, warning in scene.node.told] == [
        ("LabelContested", True)
    ] * 2
    assert scene.node.told[0][1].startswith(
        "label cpu is contested: manager 'kubectl-edit' sets it to 'forged' again and again"
    )
    assert caplog.text.count("label cpu is contested: manager 'kubectl-edit'") == 1
    assert caplog.text.count("label cpu is contested no more") == 1
    assert caplog.text.count("cpu was changed by kubectl-edit") <= 14


def test_a_new_contest_is_told_anew(scene: Scene) -> None:
    for number in (1, 2):
        for _ in range(3):
            scene.edit(cpu="forged")
        until(lambda number=number: len(scene.node.told) == number)  # type: ignore[misc]
        scene.sleep(PACE + PEACE + HEARTBEAT)

    assert scene.sample("nodetruth_contentions_total", key="cpu", manager="kubectl-edit") == 2


def test_the_page_shows_what_is_contested_and_what_is_wrong(scene: Scene) -> None:
    for _ in range(3):
        scene.edit(cpu="forged")
    during = [
        scene.sample("nodetruth_contested", key="cpu"),
        scene.sample("nodetruth_drift_current", key="cpu"),
        scene.sample("nodetruth_labels_wrong"),
    ]
    scene.sleep(PACE + PEACE + HEARTBEAT)
    after = [
        scene.sample("nodetruth_contested", key="cpu"),
        scene.sample("nodetruth_drift_current", key="cpu"),
        scene.sample("nodetruth_labels_wrong"),
    ]

    assert (during, after) == ([1, 1, 1], [0, 0, 0])
    drift = {"key": "cpu", "cause": "changed", "manager": "kubectl-edit"}
    assert scene.sample("nodetruth_drift_total", **drift) == 3


def test_a_broken_part_is_said_at_once_during_a_fight(scene: Scene) -> None:
    """What changed is our own word on a vital key: it waits for no turn."""
    for _ in range(5):
        scene.edit(status="healthy-honestly")
    scene.loop._policy = replace(POLICY, required=frozenset({Probe.DISK}))

    scene.loop.turn()

    assert scene.node.read().labels["status"] == "unknown"


def test_a_repair_that_fails_takes_no_turn(scene: Scene) -> None:
    for _ in range(3):
        scene.edit(cpu="forged")
    scene.node.refuse = lambda _patch: NodeUnavailable("PATCH", "503")
    scene.clock.now += PACE
    scene.loop.turn()
    scene.node.refuse = lambda _patch: None
    scene.loop.turn()

    assert scene.node.read().labels["cpu"] == "amd-epyc"


@pytest.mark.parametrize("gone", [True, False])
def test_another_node_of_that_name_inherits_no_contest(scene: Scene, *, gone: bool) -> None:
    for _ in range(3):
        scene.edit(cpu="forged")
    if gone:
        scene.node.node = None
        scene.loop.turn()
    scene.node.node = replace(NODE, uid="u2", version="50", labels={"cpu": "forged"})

    scene.loop.turn()

    assert scene.node.read().labels["cpu"] == "amd-epyc"
    assert scene.record.rounds[-1][0].contests == ()


def test_a_fact_that_changes_is_timed_until_its_write_is_answered(scene: Scene) -> None:
    count, total = "nodetruth_fault_to_label_seconds_count", "nodetruth_fault_to_label_seconds_sum"
    assert scene.sample(count) == 1, "the first answers, too, had to be said"
    start = scene.sample(total) or 0.0

    scene.machine.answers[Probe.MEMORY] = Memory(1 << 40)
    scene.machine.ask()
    scene.node.refuse = lambda _patch: NodeUnavailable("PATCH", "503")
    scene.loop.turn()
    scene.clock.now += 2
    scene.machine.answers[Probe.CPU] = Cpu("amd-epyc", 64)
    scene.machine.ask()
    scene.node.refuse = lambda _patch: None
    scene.node.hand = lambda _node: setattr(scene.clock, "now", scene.clock.now + 1)
    scene.loop.turn()
    scene.node.hand = lambda _node: None
    scene.edit(cpu="forged")

    assert scene.sample(count) == 2
    assert scene.sample(total) == pytest.approx(start + 3)


def test_a_fact_that_is_nothing_new_to_the_node_is_not_timed(scene: Scene) -> None:
    again = Scene(scene.node)

    assert again.node.writes == []
    assert again.sample("nodetruth_fault_to_label_seconds_count") == 0


def test_a_watch_that_ends_and_begins_again_is_counted() -> None:
    node = FakeNode(NODE)
    record, machine = Record(), Machine()
    machine.ask()
    loop = Loop(node, machine.newest, POLICY, Identity("b1", "1"), (record,))
    stay = node.follow

    def follow(changed: Callable[[], None], stop: Event) -> None:
        del changed, stop
        node.follow = stay  # type: ignore[method-assign]
        raise NodeUnavailable("watch", "cut")

    node.follow = follow  # type: ignore[method-assign]
    loop.start()
    until(lambda: node.stirred is not None)
    loop.stop()

    assert record.resumes == 1


def test_names_from_strangers_make_no_series_without_end() -> None:
    metrics = Metrics("1", Mode.ENFORCE, Vocabulary("example.com"))
    for number in range(1000):
        keys = (f"data.example.com/x{number}", f"data-percent.example.com/x{number}", f"k{number}")
        drifts = tuple(Drift(key, Cause.ADDED, f"manager-{number}") for key in keys)
        metrics.drifted(NODE, drifts)

    families = text_string_to_metric_families(metrics.page().decode())
    samples = [s.labels for f in families for s in f.samples if s.name == "nodetruth_drift_total"]
    managers = {labels["manager"] for labels in samples}
    named = {labels["key"] for labels in samples}
    assert managers == {f"manager-{number}" for number in range(MANAGERS)} | {"other"}
    assert {"data.example.com/*", "data-percent.example.com/*", "other"} < named
    assert len(samples) < 400
