"""What the metrics count, where a round comes to nothing or a probe comes late."""

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent.metrics import Metrics
from agent.newest import Newest
from labeler.facts import Known, Memory, Probe, Unknown
from labeler.node import NodeMoved
from labeler.reconcile import TRIES
from labeler.vocabulary import Mode
from tests.agent.clock import INTEL, LATE, Clock, task
from tests.agent.test_contended import NODE, Scene
from tests.fakes import FakeNode


def test_a_round_in_which_the_node_moved_to_the_end_counts_every_write() -> None:
    metrics = Metrics("1", Mode.ENFORCE)

    metrics.troubled(NodeMoved("n1", "7"))

    families = text_string_to_metric_families(metrics.page().decode())
    moved = [s.value for f in families for s in f.samples if s.labels == {"result": "moved"}]
    assert moved == [TRIES]


def test_a_node_that_registers_late_is_no_lag() -> None:
    scene = Scene(FakeNode(NODE))
    total = "nodetruth_fault_to_label_seconds_sum"
    before = scene.sample(total)
    scene.node.node = None
    scene.machine.answers[Probe.MEMORY] = Memory(1 << 40)
    scene.machine.ask()
    scene.loop.turn()

    scene.clock.now += 600
    scene.node.node = replace(NODE, uid="u2", version="50")
    scene.loop.turn()

    assert scene.sample(total) == before


@pytest.mark.parametrize("late", [True, False])
def test_an_answer_that_comes_late_is_news_also_if_it_is_the_old_one(*, late: bool) -> None:
    clock = Clock()
    told: list[Known | Unknown] = []
    wait = [0.0]

    def look() -> Known:
        clock.now += wait[0]
        if wait[0] > 5:
            assert newest.facts()[Probe.CPU] == LATE
        return INTEL

    newest = Newest([task(look)], lambda: told.append(newest.facts()[Probe.CPU]), clock=clock)
    newest.ask(Probe.CPU)
    newest.since()
    wait[0] = 7 if late else 3

    newest.ask(Probe.CPU)

    assert told == [INTEL] * (1 + late)
    assert (newest.since() is not None) == late
