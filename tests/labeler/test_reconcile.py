"""The straight line, on a Node as strict as the real one."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from labeler.desired import Desired, Policy, Recall, desired
from labeler.diff import Patch
from labeler.evidence import Evidence, believe, found
from labeler.facts import Cpu, Facts, Memory, Probe, Unknown
from labeler.node import NodeError, NodeMoved, NodeRefused
from labeler.reconcile import TRIES, Decide, Round, reconcile
from labeler.seen import Seen, Taint
from labeler.vocabulary import FOUND, Effect, Mode, TaintKey
from tests.fakes import FakeNode, applied

FACTS: Facts = {
    Probe.CPU: Cpu("amd-epyc", 96),
    Probe.MEMORY: Memory(1 << 39),
    Probe.DISK: Unknown("hung"),
}
POLICY = Policy(
    required=frozenset({Probe.DISK}), effects={TaintKey.UNKNOWN: Effect.PREFER_NO_SCHEDULE}
)
FOREIGN = Taint("node.kubernetes.io/not-ready", "NoExecute", "", "2026-01-01T00:00:00Z")
NODE = Seen(name="n1", uid="u1", version="1", labels={"zone": "a"}, taints=(FOREIGN,))


def decision(facts: Facts = FACTS) -> Decide:
    def decide(seen: Seen) -> Desired:
        now = Evidence(boot="b", uid=seen.uid)
        recall = Recall(believe(seen, now), found(seen, POLICY.vocabulary))
        return desired(facts, recall, seen, POLICY, datetime.now(UTC))

    return decide


def run(node: FakeNode, mode: Mode = Mode.ENFORCE) -> Round:
    return reconcile(node, node.read(), decision(), POLICY.vocabulary, mode)


def test_a_round_writes_once_and_a_second_writes_nothing() -> None:
    node = FakeNode(NODE)

    first, second = run(node), run(node)

    assert first.settled
    assert second.settled
    assert len(node.writes) == 1
    assert not second.patch
    assert node.read().taints == (
        FOREIGN,
        Taint("nodetruth/unknown", "PreferNoSchedule", "disk-hung"),
    )


def test_observing_writes_nothing_and_says_what_it_would() -> None:
    node = FakeNode(NODE)

    one = run(node, Mode.OBSERVE)

    assert node.writes == []
    assert one.patch.labels["cpu"] == "amd-epyc"
    assert not one.settled


def test_a_node_that_moves_is_read_again_and_nobodys_taint_is_lost() -> None:
    late = Taint("example.com/late", "NoSchedule")

    def hand(node: FakeNode) -> None:
        if not node.writes and late not in node.read().taints:
            node.node = applied(node.read(), Patch(taints=(late, *node.read().taints)))

    node = FakeNode(NODE, hand=hand)

    one = run(node)

    assert one.moves == 1
    assert node.read().taints[:2] == (late, FOREIGN)
    assert node.read().labels["status"] == "unknown"


def test_a_node_that_never_rests_is_given_up_for_this_round() -> None:
    tries = []

    def hand(node: FakeNode) -> None:
        tries.append(1)
        node.node = applied(node.read(), Patch(labels={"beat": str(len(tries))}))

    with pytest.raises(NodeMoved, match="Node 'n1' has moved past version 5"):
        run(FakeNode(NODE, hand=hand))
    assert len(tries) == TRIES


def test_foreign_writes_starve_no_labels() -> None:
    """Where no taint changes, no version is asked for, so no storm can win against us."""
    node = FakeNode(NODE)
    run(node)
    node.edit(cpu="forged")

    def hand(node: FakeNode) -> None:
        node.node = applied(node.read(), Patch(labels={"beat": node.read().version}))

    node.hand = hand

    assert run(node).moves == 0
    assert node.read().labels["cpu"] == "amd-epyc"


def test_another_node_of_that_name_is_not_written_by_mistake() -> None:
    node = FakeNode(NODE)
    stale = node.read()
    node.node = replace(NODE, uid="u2", version="9")

    one = reconcile(node, stale, decision(), POLICY.vocabulary, Mode.ENFORCE)

    assert one.moves == 1
    assert one.want.evidence.uid == "u2"


def refusing(*keys: str) -> FakeNode:
    def refuse(patch: Patch) -> NodeError | None:
        wrong = [key for key in keys if key in patch.labels]
        return NodeRefused("PATCH", f"422 {wrong}", "mend it") if wrong else None

    return FakeNode(NODE, refuse=refuse)


def test_a_refused_label_does_not_take_the_taint_down_with_it() -> None:
    node = refusing("memory")

    one = run(node)

    assert not one.settled
    assert str(one.refused) == "PATCH: 422 ['memory']; mend it"
    (write,) = node.writes
    assert write.labels == {"status": "unknown"}
    assert write.annotations.keys() == {FOUND}
    assert write.taints == node.read().taints
    assert "memory" not in node.read().labels


def test_what_is_sent_alone_still_notes_what_was_found() -> None:
    """Else the next agent would take our own status for another's, and clean would leave it."""
    node = refusing("memory")
    node.edit(status="by-hand")

    run(node)

    assert node.read().labels["status"] == "unknown"
    assert found(node.read(), POLICY.vocabulary)["status"] == "by-hand"


def test_a_note_that_is_refused_keeps_no_taint_off() -> None:
    def refuse(patch: Patch) -> NodeError | None:
        wrong = "memory" in patch.labels or patch.annotations
        return NodeRefused("PATCH", "403", "grant it") if wrong else None

    node = FakeNode(NODE, refuse=refuse)

    one = run(node)

    assert one.refused is not None
    assert node.read().labels["status"] == "unknown"
    assert [taint.key for taint in node.read().taints][-1] == "nodetruth/unknown"


def test_a_refusal_of_all_is_reported_and_leaves_the_node() -> None:
    node = refusing("memory", "status")

    one = run(node)

    assert one.refused is not None
    assert one.written is None
    assert node.read() == NODE


def test_a_refusal_of_the_rest_alone_is_not_tried_in_part() -> None:
    node = refusing("memory")
    run(node)

    again = run(node)

    assert again.refused is not None
    assert again.written is None
    assert len(node.writes) == 1


def test_a_write_that_did_not_come_out_is_no_success() -> None:
    """A mutating webhook may drop a key; writing it again and again would not help."""

    class Dropping(FakeNode):
        def apply(self, patch: Patch, seen: Seen) -> Seen:
            super().apply(patch, seen)
            self.node = applied(self.read(), Patch({"memory": None}))
            return self.node

    one = run(Dropping(NODE))

    assert not one.settled
    assert "memory did not come out as written; look for a webhook" in str(one.refused)


def test_what_another_wrote_in_the_same_moment_is_no_refusal() -> None:
    """The answer shows a label that was not in our write; the next round puts it right."""
    node = FakeNode(NODE)
    run(node)
    node.edit(cpu="forged")
    node.hand = lambda node: setattr(node, "node", applied(node.read(), Patch({"memory": "7"})))

    one = run(node)

    assert one.settled
    assert one.repaired == {"cpu"}
    assert one.left == {"memory"}
