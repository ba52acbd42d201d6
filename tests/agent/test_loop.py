"""The loop on a Node in memory: drift, re-created Nodes, errors, and what may wait."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import Event
from time import monotonic, sleep

import pytest

from agent.aside import Aside
from agent.loop import HEARTBEAT, Identity, Loop
from agent.newest import Newest, Task
from labeler.desired import Policy
from labeler.diff import Cause, Drift
from labeler.facts import Cpu, Data, Gpu, Known, Memory, Probe, Unknown
from labeler.node import NodeError, NodeMissing, NodeMoved, NodeRefused, NodeUnavailable
from labeler.reconcile import Round
from labeler.rules import Operator, Requirement, Rule
from labeler.seen import Condition, Seen
from labeler.vocabulary import EVIDENCE, MAINTENANCE, Effect, Mode, TaintKey, Vocabulary
from tests.fakes import FakeNode

SIZE = Rule("size", "Large", (Requirement("memory-gib", Operator.GT, ("1000",)),))
POLICY = Policy(
    vocabulary=Vocabulary(derived=frozenset({"size"})),
    rules=(SIZE,),
    effects={TaintKey.MAINTENANCE: Effect.NO_SCHEDULE},
)
NODE = Seen(name="n1", uid="u1", version="1")


@dataclass
class Record:
    """An observer that keeps what it saw."""

    drifts: list[Drift] = field(default_factory=list)
    rounds: list[tuple[Round, bool]] = field(default_factory=list)
    errors: list[NodeError] = field(default_factory=list)
    beats: int = 0
    resumes: int = 0

    def resumed(self) -> None:
        self.resumes += 1

    def beat(self) -> None:
        self.beats += 1

    def drifted(self, seen: Seen, drifts: tuple[Drift, ...]) -> None:
        del seen
        self.drifts += drifts

    def ended(self, one: Round, *, confirmed: bool) -> None:
        self.rounds.append((one, confirmed))

    def troubled(self, error: NodeError) -> None:
        self.errors.append(error)


class Machine:
    """A machine of three probes whose answers a test sets."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.answers: dict[Probe, Known | Unknown] = {
            Probe.CPU: Cpu("amd-epyc", 96),
            Probe.MEMORY: Memory(1 << 39),
            Probe.DISK: Unknown("hung"),
            Probe.GPU: Gpu(),
            Probe.DATA: Data({}),
        }
        self.newest = Newest(
            (Task(probe=probe, look=self._look(probe), period=60, deadline=5) for probe in Probe),
            clock=clock,
        )

    def _look(self, probe: Probe) -> Callable[[], Known | Unknown]:
        return lambda: self.answers[probe]

    def ask(self) -> None:
        for probe in Probe:
            self.newest.ask(probe)


def build(node: FakeNode, policy: Policy = POLICY) -> tuple[Loop, Record, Machine]:
    record, machine = Record(), Machine()
    machine.ask()
    loop = Loop(node, machine.newest, policy, Identity("b1", "1"), (record,))
    return loop, record, machine


def test_a_round_labels_the_node_and_the_next_confirms_it() -> None:
    node = FakeNode(NODE)
    loop, record, _ = build(node)

    assert loop.turn() == HEARTBEAT
    assert not loop.confirmed
    loop.turn()

    assert loop.confirmed
    assert [confirmed for _, confirmed in record.rounds] == [False, True]
    assert node.read().labels["cpu"] == "amd-epyc"


def test_nothing_is_confirmed_before_the_watch_has_shown_it() -> None:
    node = FakeNode(NODE, shown=False)
    loop, _, _ = build(node)

    loop.turn()
    loop.turn()

    assert not loop.confirmed


@pytest.mark.parametrize(
    ("key", "value", "cause"),
    [
        ("cpu-cores", "7", Cause.CHANGED),
        ("cpu-cores", None, Cause.REMOVED),
        ("size", "Large", Cause.ADDED),
    ],
)
def test_every_edit_is_put_right_and_counted_once(
    key: str, value: str | None, cause: Cause
) -> None:
    node = FakeNode(NODE)
    loop, record, _ = build(node)
    loop.turn()
    said = node.read().labels

    node.edit(**{key: value})
    loop.turn()
    loop.turn()

    assert record.drifts == [Drift(key, cause)]
    assert node.read().labels == said


def test_an_edit_that_cannot_be_put_right_yet_is_counted_once() -> None:
    node = FakeNode(NODE)
    loop, record, _ = build(node)
    loop.turn()
    down = NodeUnavailable("PATCH", "503")
    node.refuse = lambda _patch: down

    node.edit(cpu="arm")
    for _ in range(3):
        loop.turn()
    node.refuse = lambda _patch: None
    loop.turn()

    assert record.drifts == [Drift("cpu", Cause.CHANGED)]
    assert record.errors == [down] * 3
    assert node.read().labels["cpu"] == "amd-epyc"


def test_the_first_look_counts_nothing_as_drift() -> None:
    node = FakeNode(replace(NODE, labels={"cpu": "by-hand"}))
    loop, record, _ = build(node)

    loop.turn()

    assert record.drifts == []
    assert node.read().labels["cpu"] == "amd-epyc"


def test_a_recreated_node_starts_anew() -> None:
    node = FakeNode(NODE)
    loop, record, machine = build(node)
    loop.turn()
    machine.answers[Probe.CPU] = Unknown("gone blind")
    machine.ask()

    node.node = Seen(name="n1", uid="u2", version="50", labels={"cpu": "by-hand"})
    loop.turn()

    assert record.drifts == []
    # What the old Node was seen to be is no evidence about this one.
    assert "cpu" not in node.read().labels
    assert '"uid":"u2"' in node.read().annotations[EVIDENCE]


def test_a_blind_probe_keeps_its_label_also_over_a_restart() -> None:
    node = FakeNode(NODE)
    loop, _, _ = build(node)
    loop.turn()
    again, record, machine = build(node)
    machine.answers[Probe.CPU] = Unknown("hung")
    machine.ask()

    again.turn()
    node.edit(cpu="forged")
    again.turn()

    assert node.read().labels["cpu"] == "amd-epyc"
    assert record.drifts == [Drift("cpu", Cause.CHANGED)]


def test_a_missing_node_is_waited_for() -> None:
    node = FakeNode(None)
    loop, record, _ = build(node)

    assert loop.turn() == HEARTBEAT
    assert isinstance(record.errors[0], NodeMissing)
    node.node = NODE
    loop.turn()

    assert node.read().labels["cpu"] == "amd-epyc"


def test_the_server_says_when_to_come_back() -> None:
    node = FakeNode(NODE)
    loop, _, _ = build(node)
    node.refuse = lambda _patch: NodeUnavailable("PATCH", "429", wait=7.0)

    assert loop.turn() == 7.0


def test_failures_are_spaced_out() -> None:
    node = FakeNode(NODE)
    loop, _, _ = build(node)
    node.refuse = lambda _patch: NodeRefused("PATCH", "403", "grant it")

    waits = [loop.turn() for _ in range(12)]

    assert waits[0] <= 0.2
    assert 15 <= waits[-1] <= 30


def test_a_crowd_of_writers_does_not_starve_the_loop() -> None:
    """A server that answers is in no trouble: rounds that lost the race are soon tried again."""
    node = FakeNode(NODE)
    loop, _record, _machine = build(node)
    node.refuse = lambda _patch: NodeMoved("n1", "1")

    waits = [loop.turn() for _ in range(20)]

    assert max(waits) <= 1
    assert min(waits) > 0


def test_the_loop_wakes_when_a_maintenance_ends() -> None:
    end = datetime.now(UTC) + timedelta(seconds=5)
    note = f'{{"reason": "fw", "until": "{end.isoformat()}"}}'
    loop, _, _ = build(FakeNode(replace(NODE, annotations={MAINTENANCE: note})))

    assert 4 < loop.turn() <= 5


def test_nothing_is_confirmed_before_every_probe_has_spoken() -> None:
    """Right after a reboot the old labels still stand, and nobody has seen them true."""
    node = FakeNode(replace(NODE, labels={"cpu": "forged", "status": "healthy"}))
    record, machine = Record(), Machine()
    machine.newest.ask(Probe.MEMORY)
    policy = replace(POLICY, required=frozenset({Probe.CPU}))
    loop = Loop(node, machine.newest, policy, Identity("b1", "1"), (record,))

    loop.turn()
    loop.turn()

    assert not loop.confirmed
    assert record.rounds[-1][0].want.status is None
    assert node.read().labels["cpu"] == "forged"


def test_an_edit_during_a_round_of_recovery_is_not_missed() -> None:
    node = FakeNode(NODE)
    loop, _, _ = build(node)
    down = NodeUnavailable("PATCH", "503")
    node.refuse = lambda _patch: down
    loop.start()
    until(lambda: node.stirred is not None and bool(loop._holding))

    def hand(node: FakeNode) -> None:
        node.hand = lambda _node: None
        assert node.stirred
        node.stirred()

    node.hand, node.refuse = hand, lambda _patch: None
    until(lambda: loop.confirmed)
    loop.stop()


def test_a_file_that_is_mended_is_taken_up_at_once() -> None:
    """What failed was a look, not a write: the next change is worth another look."""
    node = FakeNode(NODE)
    loop, _, _ = build(node)
    broken = NodeRefused("Node file", "is no YAML", "mend it")

    def seen() -> Seen:
        raise broken

    whole, node.seen = node.seen, seen  # type: ignore[method-assign]
    loop.turn()
    assert not loop._holding
    node.seen = whole  # type: ignore[method-assign]
    loop.turn()

    assert node.read().labels["cpu"] == "amd-epyc"


def test_a_rule_that_is_dropped_gives_its_label_back() -> None:
    large = replace(NODE, labels={"size": "by-hand"})
    node = FakeNode(large)
    rule = replace(SIZE, requirements=(Requirement("memory-gib", Operator.GT, ("1",)),))
    loop, _, _ = build(node, replace(POLICY, rules=(rule,)))
    loop.turn()
    assert node.read().labels["size"] == "Large"

    without = replace(POLICY, vocabulary=Vocabulary(), rules=())
    again, record, _ = build(node, without)
    again.turn()
    again.turn()

    assert node.read().labels["size"] == "by-hand"
    assert record.drifts == []
    node.edit(size="mine")
    again.turn()
    assert node.read().labels["size"] == "mine"


def test_a_new_prefix_leaves_no_old_label_behind() -> None:
    node = FakeNode(NODE)
    loop, _, _ = build(node)
    loop.turn()
    again, _, _ = build(node, replace(POLICY, vocabulary=Vocabulary("example.com")))

    again.turn()

    assert len(node.writes) == 2, "old keys go in the write that brings the new"
    assert all(key.startswith("example.com/") for key in node.read().labels)


def test_running_it_puts_an_edit_right_at_once() -> None:
    node = FakeNode(NODE)
    loop, record, _ = build(node)
    loop.start()

    until(lambda: loop.confirmed)
    node.edit(cpu="arm")
    until(lambda: node.read().labels["cpu"] == "amd-epyc")
    loop.stop()

    assert record.drifts == [Drift("cpu", Cause.CHANGED)]
    assert record.beats >= 2


def until(true: Callable[[], bool]) -> None:
    end = monotonic() + 5
    while not true():
        assert monotonic() < end
        sleep(0.005)


def aside(node: FakeNode, mode: Mode = Mode.ENFORCE) -> tuple[Loop, "Clock", Machine]:
    clock, machine = Clock(), Machine()
    machine.ask()
    policy = replace(POLICY, mode=mode, required=frozenset({Probe.CPU}))
    other = Aside(node, policy, clock)
    return Loop(node, machine.newest, policy, Identity("b1", "1"), (other,)), clock, machine


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_condition_is_said_when_it_changes_and_then_no_more() -> None:
    node = FakeNode(NODE)
    loop, _, machine = aside(node)

    for _ in range(4):
        loop.turn()
        until(lambda: bool(node.said))
    machine.answers[Probe.CPU] = Unknown("hung")
    machine.ask()
    loop.turn()
    until(lambda: len(node.said) == 2)

    assert [one.status for one in node.said] == ["True", "Unknown"]


def test_the_node_is_attested_once_a_minute_and_only_when_confirmed() -> None:
    node = FakeNode(NODE, shown=False)
    loop, clock, _ = aside(node)
    loop.turn()
    loop.turn()
    assert node.attested == 0

    node.shown = True
    for seconds in (0, 1, 58, 60, 61, 119, 121):
        clock.now = 1000.0 + seconds
        loop.turn()
        settle(node)

    assert node.attested == 3


def settle(node: FakeNode) -> None:
    """Give the other thread the time it takes."""
    before = -1
    while before != node.attested:
        before = node.attested
        sleep(0.005)


def test_the_list_of_shards_is_published_when_it_changes_and_once_a_minute() -> None:
    node = FakeNode(NODE)
    clock, machine, documents = Clock(), Machine(), ["one"]
    machine.ask()
    other = Aside(node, POLICY, clock, document=lambda: documents[-1])
    loop = Loop(node, machine.newest, POLICY, Identity("b1", "1"), (other,))
    loop.turn()
    until(lambda: node.published == ["one"])
    documents.append("two")
    for _ in range(3):
        loop.turn()
    assert node.published == ["one"]

    clock.now += 61
    loop.turn()
    until(lambda: node.published == ["one", "two"])
    clock.now += 61
    loop.turn()
    assert node.published == ["one", "two"]


def test_another_node_of_the_same_name_has_no_list_of_shards_yet() -> None:
    node = FakeNode(NODE)
    clock, machine = Clock(), Machine()
    machine.ask()
    other = Aside(node, POLICY, clock, document=lambda: "one")
    loop = Loop(node, machine.newest, POLICY, Identity("b1", "1"), (other,))
    loop.turn()
    until(lambda: len(node.published) == 1)
    node.node = replace(NODE, uid="u2")
    clock.now += 61

    loop.turn()

    until(lambda: node.published == ["one", "one"])


def test_a_transition_is_told_once_and_a_restart_is_none() -> None:
    node = FakeNode(NODE)
    loop, _, machine = aside(node)
    loop.turn()
    machine.answers[Probe.CPU] = Unknown("hung")
    machine.ask()
    loop.turn()
    loop.turn()
    until(lambda: bool(node.told))
    again, _, blind = aside(node)
    blind.answers[Probe.CPU] = Unknown("hung")
    blind.ask()
    again.turn()
    sleep(0.05)

    assert node.told == [("StatusUnknown", "status is unknown: cpu: hung", True)]


def test_a_status_set_by_hand_is_answered_with_the_way_to_do_it() -> None:
    node = FakeNode(NODE)
    loop, clock, _ = aside(node)
    loop.turn()
    for _ in range(2):
        node.edit(status="maintenance")
        loop.turn()
    until(lambda: bool(node.told))
    sleep(0.05)
    clock.now += 61
    node.edit(status=None)
    loop.turn()
    until(lambda: len(node.told) >= 2)

    text = (
        "label status was set to 'maintenance' by another hand and is put right; to take the"
        " Node out of use: kubectl annotate node n1 nodetruth/maintenance=REASON"
    )
    assert node.told[0] == ("LabelPutRight", text, True)
    assert "label status was removed by another hand" in node.told[1][1]


def test_an_observer_says_nothing() -> None:
    node = FakeNode(NODE)
    loop, _, _ = aside(node, Mode.OBSERVE)

    loop.turn()
    loop.turn()
    sleep(0.05)

    assert (node.writes, node.said, node.told, node.attested) == ([], [], [], 0)


def test_what_cannot_be_said_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    node = FakeNode(NODE)
    loop, clock, _ = aside(node)
    failed = Event()
    say = node.condition

    def fail(condition: Condition) -> None:
        del condition
        failed.set()
        raise NodeUnavailable("PATCH", "503")

    node.condition = fail  # type: ignore[method-assign]
    loop.turn()
    assert failed.wait(2)
    node.condition = say  # type: ignore[method-assign]
    loop.turn()
    sleep(0.05)
    assert node.said == [], "it is not tried at once"
    clock.now += 2
    until(lambda: bool(loop.turn() and node.said))

    assert "the condition was not written: PATCH: 503" in caplog.text


def test_a_bug_aside_is_not_kept_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode(NODE)
    loop, _, _ = aside(node)
    bugs: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: bugs.append(args.exc_type))

    def fail(condition: Condition) -> None:
        raise ZeroDivisionError(condition.type)

    node.condition = fail  # type: ignore[method-assign]
    loop.turn()
    until(lambda: bool(bugs))

    assert bugs == [ZeroDivisionError]


def test_a_success_elsewhere_hastens_no_refused_condition(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The Lease is renewed each minute; a condition that is refused waits longer and longer."""
    node = FakeNode(NODE)
    loop, clock, _ = aside(node)
    tries: list[float] = []

    def fail(condition: Condition) -> None:
        tries.append(clock.now)
        raise NodeRefused("PATCH", condition.type, "grant it")

    node.condition = fail  # type: ignore[method-assign]
    for _ in range(120):
        loop.turn()
        settle(node)
        clock.now += 15

    assert node.attested >= 29
    # Were every pause the shortest it can be, half an hour would see 14.
    assert len(tries) <= 14
    assert caplog.text.count("the condition was not written") == 1
