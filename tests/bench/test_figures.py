"""The parts of the figures that decide something, without a cluster."""

from collections import Counter
from dataclasses import replace

import pytest

from bench import core, edits, idle, restart, scraped, size
from bench.resident import Memory, Rest, alone
from bench.row import MIB, Verdict
from labeler.desired import desired
from labeler.diff import diff
from tests.cluster.audit import AuditLine

LINE = AuditLine(
    at="2026-12-01T12:00:00.000000Z",
    verb="get",
    uri="/api/v1/nodes/n1",
    user="u",
    node="n1",
    code=200,
    resource="nodes",
    subresource="",
    name="n1",
    stage="ResponseComplete",
    user_agent="nodetruth",
)
RENEWAL = replace(LINE, verb="update", resource="leases")
REST = Rest(
    seconds=600,
    cpu=0.3,
    memory=Memory(rss=35 * MIB, tree_pss=30 * MIB, tree_alone=36 * MIB),
    asked=[RENEWAL] * 10,
)


def test_no_key_is_edited_so_often_that_the_agent_would_yield() -> None:
    """Three edits of a key within a minute make it contested."""
    planned = list(edits.plan(edits.EDITS))
    turns: dict[str, list[int]] = {}
    for turn, edit in enumerate(planned):
        turns.setdefault(edit.key, []).append(turn)

    nearest = min(c - a for at in turns.values() for a, c in zip(at, at[2:], strict=False))
    assert nearest * edits.PAUSE > 60
    kinds = Counter((edit.wrong, edit.right) for edit in planned)
    assert kinds == {("forged", "Yes"): 67, (None, "Yes"): 67, ("forged", None): 66}
    assert all((edit.key in edits.UNSAID) == (edit.right is None) for edit in planned)


def test_every_key_that_is_edited_has_its_rule() -> None:
    assert [rule["label"] for rule in edits.derived()] == [*edits.SAID, *edits.UNSAID]


def test_edits_are_judged_by_their_quantiles() -> None:
    found = edits.rows([5.0] * 200, [*[20.0] * 197, *[160.0] * 3])

    assert [row.value for row in found] == [20.0, 160.0, 5.0, 5.0, 4.0]
    assert [row.verdict.value for row in found] == ["PASS", "FAIL", "-", "-", "-"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (RENEWAL, idle.Kind.LEASE),
        (replace(LINE, verb="create", resource="leases"), idle.Kind.LEASE),
        (replace(LINE, verb="get", resource="leases"), idle.Kind.GET),
        (LINE, idle.Kind.GET),
        (replace(LINE, verb="list"), idle.Kind.GET),
        (replace(LINE, verb="patch"), idle.Kind.PATCH),
        (replace(LINE, verb="create", resource="events"), idle.Kind.OTHER),
        (replace(LINE, verb="watch", stage="ResponseStarted"), idle.Kind.WATCH),
        (replace(LINE, verb="watch"), None),
    ],
)
def test_a_request_counts_once_as_what_it_is(line: AuditLine, kind: idle.Kind | None) -> None:
    assert idle.kind(line) is kind


def test_memory_shared_within_a_tree_counts_once_and_with_others_in_full() -> None:
    parent = [("[heap]", 9, 9), ("/lib/libc", 10, 3)]
    child = [("[heap]", 4, 4), ("/lib/libc", 6, 1), ("/lib/nvml", 5, 5)]

    assert alone([parent]) == 9 + 10
    assert alone([parent, child]) == (9 + 3) + (4 + 1 + 5) + max(7, 5)


def test_requests_are_counted_by_the_hour() -> None:
    found = {row.figure.rpartition(": ")[2]: row for row in idle.requests(REST)}

    assert found["Lease writes"].value == 60
    assert found["Lease writes"].verdict is Verdict.PASS
    assert found["PATCH"].value == 0
    more = idle.requests(replace(REST, asked=[*REST.asked, replace(LINE, verb="patch")]))
    assert [row.figure for row in more if row.verdict is Verdict.FAIL] == [
        "requests an hour at rest: PATCH"
    ]


def test_cpu_is_counted_by_ten_minutes_and_in_millicores() -> None:
    short = replace(REST, seconds=60, cpu=0.04)
    cpu = {row.unit: row.value for row in (*idle.rows(short), *scraped.rows(short))}

    assert cpu["s per 10 min"] == pytest.approx(0.4)
    assert cpu["millicores"] == pytest.approx(0.667, abs=0.001)


def test_a_write_of_the_node_by_a_restart_fails() -> None:
    seen = [RENEWAL, replace(LINE, verb="list"), replace(LINE, verb="watch")]
    labels = replace(LINE, verb="patch")
    status = replace(labels, subresource="status")

    quiet = restart.rows(seen, [0.5])
    loud = restart.rows([*seen, labels, status], [0.5, 0.7, 0.6])

    assert [row.value for row in quiet] == [0, 0, 500]
    assert [row.value for row in loud] == [1, 1, 600]
    assert [row.verdict.value for row in loud] == ["FAIL", "FAIL", "-"]


def test_bytes_are_those_of_the_api_servers_json() -> None:
    before = {"metadata": {"labels": {"a": "b"}}, "spec": {}, "status": {}}
    after = {
        "metadata": {"labels": {"a": "b", "c": "é"}, "annotations": {}},
        "spec": {"taints": [1]},
        "status": {},
    }

    assert size.size({"a": "é"}) == len('{"a":"é"}'.encode())
    assert size.added(before, after) == {
        "labels": len(',"c":"é"'.encode()),
        "annotations": 2,
        "taints": 3,
        "the condition": 0,
        "managedFields": 0,
    }


def test_the_core_is_measured_on_a_node_that_is_settled() -> None:
    seen, recall = core.settled()
    want = desired(core.FACTS, recall, seen, core.POLICY, core.NOW)

    assert want.complete
    assert not diff(seen, want)
