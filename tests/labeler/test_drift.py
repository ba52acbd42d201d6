"""Which edits are drift, of what cause and by whom; more of labels is in ``test_laws``."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from labeler.desired import Desired, Policy, Recall, desired
from labeler.diff import Cause, Drift, cleaned, diff, drift, wrong
from labeler.evidence import Evidence, encode, encode_found, found
from labeler.facts import Facts, Probe, Unknown
from labeler.managers import UNKNOWN
from labeler.seen import Seen, Taint
from labeler.vocabulary import EVIDENCE, FOUND, Effect, TaintKey, Vocabulary

OURS = Taint("nodetruth/unknown", "PreferNoSchedule", "disk-hung")
FOREIGN = Taint("example.com/x", "NoExecute", "", "2026-01-01T00:00:00Z")
POLICY = Policy(
    required=frozenset({Probe.DISK}), effects={TaintKey.UNKNOWN: Effect.PREFER_NO_SCHEDULE}
)


def said(*, complete: bool = True) -> Desired:
    others: Facts = {probe: Unknown("x") for probe in Probe} if complete else {}
    facts: Facts = {**others, Probe.DISK: Unknown("hung")}
    bare = Seen(name="n", uid="u", version="1")
    recall = Recall(Evidence(boot="b", uid="u"))
    return desired(facts, recall, bare, POLICY, datetime.now(UTC))


def node(want: Desired, *taints: Taint) -> Seen:
    notes = {EVIDENCE: encode(want.evidence), FOUND: encode_found(want.found)}
    return Seen(
        name="n", uid="u", version="2", labels=want.labels, annotations=notes, taints=taints
    )


@pytest.mark.parametrize(
    ("taints", "causes"),
    [
        ((FOREIGN, OURS), []),
        ((OURS, FOREIGN), []),
        ((FOREIGN,), [Cause.REMOVED]),
        ((FOREIGN, Taint(OURS.key, "NoExecute", OURS.value)), [Cause.CHANGED]),
        ((FOREIGN, Taint(OURS.key, "NoExecute"), OURS), [Cause.CHANGED]),
        ((FOREIGN, OURS, Taint("nodetruth/maintenance", "NoSchedule")), [Cause.ADDED]),
    ],
)
def test_an_edit_of_our_taints_is_drift(taints: tuple[Taint, ...], causes: list[Cause]) -> None:
    want = said()

    assert [one.cause for one in drift(node(want, *taints), want)] == causes


def test_a_taint_that_is_left_open_is_no_drift() -> None:
    """Until every probe has spoken the startup taint stays, and nobody added it."""
    want = said(complete=False)
    kept = Taint("nodetruth/unattested", "NoSchedule")

    assert drift(node(want, OURS, kept), want) == ()
    assert drift(node(said(), OURS, kept), said()) == (Drift(kept.key, Cause.ADDED),)


def test_an_edit_of_what_we_remember_is_drift() -> None:
    want = said()
    notes = {FOUND: encode_found(want.found), EVIDENCE: "forged"}
    forged = replace(node(want, OURS), annotations=notes)

    assert drift(forged, want) == (Drift(EVIDENCE, Cause.CHANGED),)


def test_an_edit_is_put_down_to_whom_the_server_names() -> None:
    """Who took a key off left no name; a list of taints is whose last word it is."""
    want = said()
    meta: dict[str, object] = {"f:labels": {"f:status": {}}, "f:annotations": {f"f:{EVIDENCE}": {}}}
    edits = {"manager": "kubectl-edit", "fieldsV1": {"f:metadata": meta}}
    taints = {"manager": "kubectl-taint", "fieldsV1": {"f:spec": {"f:taints": {}}}}
    named = node(want, FOREIGN)
    forged = replace(
        named,
        labels={"status": "healthy", "size": "Large"},
        annotations={**named.annotations, EVIDENCE: "forged", FOUND: "{}"},
        fields=json.dumps([edits, taints]).encode(),
    )
    less = replace(want, labels={**want.labels, "cpu": "x"}, owned=want.owned | {"size"})

    assert drift(forged, less) == (
        Drift("cpu", Cause.REMOVED, UNKNOWN),
        Drift("size", Cause.ADDED, UNKNOWN),
        Drift("status", Cause.CHANGED, "kubectl-edit"),
        Drift(EVIDENCE, Cause.CHANGED, "kubectl-edit"),
        Drift(OURS.key, Cause.REMOVED, "kubectl-taint"),
    )


def test_what_rests_is_no_drift_and_in_no_patch() -> None:
    want = replace(said(), resting=frozenset({"status", FOUND, OURS.key, "nodetruth/maintenance"}))
    theirs = Taint("nodetruth/maintenance", "NoSchedule", "forged")
    named = node(want, FOREIGN, theirs)
    forged = replace(named, labels={"status": "healthy"}, annotations={EVIDENCE: "forged"})

    patch = diff(forged, want)

    assert list(patch.annotations) == [EVIDENCE]
    assert (patch.labels, patch.taints) == ({}, None)
    assert [one.key for one in drift(forged, want)] == [EVIDENCE]
    assert wrong(forged, want) == want.resting | {EVIDENCE}


def test_a_label_under_another_s_prefix_is_left_alone() -> None:
    """``accelerator.example.com`` is a prefix of theirs, and no model of ours."""
    theirs = {"accelerator.example.com/model": "x"}
    before = Seen(name="n", uid="u", version="1", labels={**theirs, "accelerator.forged": "1"})
    recall = Recall(Evidence(boot="b", uid="u"), found(before, Vocabulary()))
    shown: Facts = {probe: Unknown("x") for probe in Probe}

    patch = diff(before, desired(shown, recall, before, POLICY, datetime.now(UTC)))

    assert patch.labels["accelerator.forged"] is None
    assert not theirs.keys() & patch.labels.keys()
    assert not theirs.keys() & recall.found.keys()


@pytest.mark.parametrize(("old", "new"), [("", "example.com"), ("example.com", "")])
def test_clean_takes_off_what_was_said_under_a_former_prefix(old: str, new: str) -> None:
    words = Vocabulary(old)
    noted = encode_found(dict.fromkeys(words.labels))
    said = {words.key(name): "1" for name in ("data/x", "data-percent/x", "accelerator.x", "gpu")}
    labels = {**said, "foreign": "y"}
    seen = Seen(name="n", uid="u", version="1", labels=labels, annotations={FOUND: noted})

    assert cleaned(seen, Vocabulary(new)).labels == dict.fromkeys(said)
