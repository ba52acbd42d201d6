"""What holds for every machine, every Node and every site."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeler import legal
from labeler.desired import Desired, Policy, Recall, desired
from labeler.diff import Cause, cleaned, diff, drift
from labeler.evidence import Evidence, believe, found
from labeler.facts import Facts, Probe
from labeler.seen import Seen
from labeler.vocabulary import ANNOTATIONS, Label, is_our_taint
from tests.fakes import applied
from tests.labeler.strategies import STEMMED, UNKNOWNS, facts, nodes, policies

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BLANK = Evidence(boot="b1", uid="u1", agent="1")


def decide(shown: Facts, seen: Seen, policy: Policy) -> Desired:
    recall = Recall(believe(seen, BLANK), found(seen, policy.vocabulary))
    return desired(shown, recall, seen, policy, NOW)


def owned(seen: Seen, policy: Policy) -> frozenset[str]:
    """Return the keys of ours on a Node, written down apart from how the labeler finds them."""
    noted = found(seen, policy.vocabulary)
    prefixes = {policy.vocabulary.prefix}
    prefixes |= {key.removesuffix("status").rstrip("/") for key in noted if key.endswith("status")}
    starts = [start for prefix in prefixes for start in stems(prefix)]
    stemmed = {key for key in seen.labels if key.startswith(tuple(starts))}
    return policy.vocabulary.labels | noted.keys() | stemmed


def stems(prefix: str) -> tuple[str, str, str]:
    if not prefix:
        return "accelerator.", "data/", "data-percent/"
    return f"{prefix}/accelerator.", f"data.{prefix}/", f"data-percent.{prefix}/"


def settled(shown: Facts, seen: Seen, policy: Policy) -> Seen:
    want = decide(shown, seen, policy)
    return applied(seen, diff(seen, want))


@given(facts(), nodes(), policies())
def test_applying_a_diff_leaves_no_diff(shown: Facts, seen: Seen, policy: Policy) -> None:
    want = decide(shown, seen, policy)

    after = applied(seen, diff(seen, want))

    assert not diff(after, want)
    assert not drift(after, want)


@given(facts(), nodes(), policies())
def test_a_second_decision_is_the_first(shown: Facts, seen: Seen, policy: Policy) -> None:
    """Deciding from what was written gives the same: a restart writes nothing."""
    after = settled(shown, seen, policy)

    assert settled(shown, after, policy) == after


@given(facts(), nodes(), policies())
def test_a_restarted_agent_writes_nothing_before_its_probes_answer(
    shown: Facts, seen: Seen, policy: Policy
) -> None:
    after = settled(shown, seen, policy)

    assert settled({}, after, policy) == after


@given(facts(), nodes(), policies())
def test_what_is_not_ours_is_never_touched(shown: Facts, seen: Seen, policy: Policy) -> None:
    after = settled(shown, seen, policy)

    # What the site's words lost is given back as it was found.
    want = decide(shown, seen, policy)
    assert want.owned <= owned(seen, policy) | {*want.labels}
    ours = owned(seen, policy)
    assert {k: v for k, v in seen.labels.items() if k not in ours} == {
        k: v for k, v in after.labels.items() if k not in ours | {*want.labels}
    }
    assert {k: v for k, v in seen.annotations.items() if k not in ANNOTATIONS} == {
        k: v for k, v in after.annotations.items() if k not in ANNOTATIONS
    }
    assert [t for t in seen.taints if not is_our_taint(t.key)] == [
        t for t in after.taints if not is_our_taint(t.key)
    ]


@given(facts(unknown=False), nodes(), policies(), st.data())
def test_a_blind_agent_changes_no_label_but_the_status(
    shown: Facts, seen: Seen, policy: Policy, data: st.DataObject
) -> None:
    """What this boot has seen stays said, whatever becomes of the eyes."""
    before = settled(shown, seen, policy)
    blind = {probe: data.draw(UNKNOWNS) for probe in shown}

    after = settled(blind, before, policy)

    status = policy.vocabulary.key(Label.STATUS)
    derived = {policy.vocabulary.key(name) for name in policy.vocabulary.derived}
    changing = {status} | {
        policy.vocabulary.key(rule.label)
        for rule in policy.rules
        if any(need.key in {Label.STATUS, *policy.vocabulary.derived} for need in rule.requirements)
    } & derived
    assert {k: v for k, v in before.labels.items() if k not in changing} == {
        k: v for k, v in after.labels.items() if k not in changing
    }


@given(nodes(), policies(), st.data())
def test_what_no_evidence_supports_is_not_said(
    seen: Seen, policy: Policy, data: st.DataObject
) -> None:
    """After a reboot that left the agent blind, the old labels go: nobody has seen them true."""
    blind = {probe: data.draw(UNKNOWNS) for probe in Probe}
    rebooted = replace(seen, annotations={})

    after = settled(blind, rebooted, policy)

    said = after.labels.keys() & policy.vocabulary.labels
    claims = {policy.vocabulary.key(name) for name in Label if name is not Label.STATUS}
    assert not said & claims


@given(nodes(), policies())
def test_before_the_first_answer_nothing_of_ours_changes(seen: Seen, policy: Policy) -> None:
    policy = replace(policy, required=frozenset(Probe), cordon=False)

    after = settled({}, replace(seen, annotations={}), policy)

    assert after.labels == seen.labels
    assert after.taints == seen.taints


@given(facts(), nodes(), policies())
def test_every_label_is_legal(shown: Facts, seen: Seen, policy: Policy) -> None:
    want = decide(shown, seen, policy)

    for key, value in want.labels.items():
        assert legal.is_key(key)
        assert legal.is_value(value)
    for taint in want.taints:
        assert legal.is_value(taint.value)


@given(facts(), nodes(), policies(), st.data())
def test_every_edit_of_ours_is_drift_and_none_of_others(
    shown: Facts, seen: Seen, policy: Policy, data: st.DataObject
) -> None:
    want = decide(shown, seen, policy)
    said = settled(shown, seen, policy)
    stemmed = {
        key for name in STEMMED if (key := policy.vocabulary.key(name)).startswith(want.stems)
    }
    keys = sorted((policy.vocabulary.labels | stemmed) - want.untouched)
    key = data.draw(st.sampled_from([*keys, "foreign"]))
    value = data.draw(st.sampled_from([None, "forged"]))
    labels = {k: v for k, v in {**said.labels, key: value}.items() if v is not None}
    edited = replace(said, labels=labels)

    drifts = drift(edited, want)

    ours = key != "foreign" and edited.labels.get(key) != said.labels.get(key)
    assert [one.key for one in drifts] == ([key] if ours else [])
    if ours:
        had, has = key in said.labels, key in edited.labels
        cause = {(True, True): Cause.CHANGED, (True, False): Cause.REMOVED}
        assert drifts[0].cause == cause.get((had, has), Cause.ADDED)


@given(facts(), nodes(), policies())
def test_cleaning_brings_back_what_was_found(shown: Facts, seen: Seen, policy: Policy) -> None:
    fresh = replace(
        seen,
        annotations={k: v for k, v in seen.annotations.items() if k not in ANNOTATIONS},
        taints=tuple(taint for taint in seen.taints if not is_our_taint(taint.key)),
    )
    after = settled(shown, fresh, policy)

    clean = applied(after, cleaned(after, policy.vocabulary))

    assert replace(clean, version=fresh.version) == fresh
    assert not cleaned(clean, policy.vocabulary)
