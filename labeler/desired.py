"""Decide what a Node should say, from what was seen of its machine.

A fact that is known gives labels. A probe that can't look keeps what it last
saw in this boot: its labels are *held* at that value, and what no evidence of
this boot supports is not held but goes. A probe that has not answered yet
holds whatever stands there. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from labeler import legal
from labeler.evidence import Evidence, Found, gather
from labeler.facts import KEYS, Facts, Probe
from labeler.maintenance import Maintenance, maintenance
from labeler.rules import Rule, derive
from labeler.seen import Condition, Seen, Taint
from labeler.spelling import spell
from labeler.vocabulary import Effect, Label, Mode, Status, TaintKey, Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a site decided: words, rules, and how much the agent may do."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    mode: Mode = Mode.ENFORCE
    required: frozenset[Probe] = frozenset()
    """Probes whose blindness makes the status unknown."""
    rules: tuple[Rule, ...] = ()
    effects: Mapping[TaintKey, Effect] = field(default_factory=dict)
    cordon: bool = False
    """Whether a cordoned Node counts as in maintenance."""
    condition: str = "HardwareHealthy"
    """Type of the Node condition; empty for none."""
    healthy: str = "True"
    """What the condition says on a healthy Node."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What is known of this Node from before: evidence of this boot, and what had been found."""

    evidence: Evidence
    found: Found = field(default_factory=dict)
    agent: str = ""
    """Which version of the agent is looking now."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The status, and in words why it is not healthy."""

    status: Status
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """What the Node should say."""

    labels: Mapping[str, str]
    held: frozenset[str]
    """Whole label keys that rest on a probe which does not answer now."""
    untouched: frozenset[str]
    """Those of them that stay as they stand, whatever stands there."""
    taints: tuple[Taint, ...]
    complete: bool
    """Every probe has answered or missed its deadline; until then no taint of ours is taken off."""
    judgement: Judgement
    condition: Condition | None
    evidence: Evidence
    owned: frozenset[str]
    """Whole label keys that are ours to set and remove, those of former words included."""
    found: Found
    """What other hands had set on our keys before us."""
    status: Status | None
    """What the status label says; ``None`` while that is open."""
    ends: datetime | None = None
    """When the maintenance under way ends by itself."""
    resting: frozenset[str] = frozenset()
    """Contested keys and taints whose turn has not come: they are left as they stand."""


def desired(facts: Facts, memory: Recall, seen: Seen, policy: Policy, now: datetime) -> Desired:
    """Decide, for a machine that shows ``facts`` and a Node that says ``seen``."""
    evidence = gather(facts, memory.evidence, memory.agent)
    silent = frozenset(probe for probe in Probe if probe not in facts)
    asked = maintenance(seen, now, cordon=policy.cordon)
    hardware = judge(evidence, policy.required)
    judgement = overrule(hardware, asked)
    words = _words(evidence, silent, judgement, policy)
    ours = policy.vocabulary.labels
    # A key that the site's words lost is given back as it was found, and forgotten.
    lost = {key: value for key, value in memory.found.items() if key not in ours}
    given_back = {key: value for key, value in lost.items() if value is not None}
    status = policy.vocabulary.key(Label.STATUS)
    return Desired(
        labels={**given_back, **words.labels},
        held=words.held,
        untouched=words.untouched,
        owned=ours | lost.keys(),
        taints=_taints(judgement, policy),
        complete=not silent,
        judgement=judgement,
        status=judgement.status if status in words.labels else None,
        condition=None if silent else _condition(hardware, policy),
        evidence=evidence,
        found={key: value for key, value in memory.found.items() if key in ours},
        ends=asked.until if asked else None,
    )


def judge(evidence: Evidence, required: frozenset[Probe]) -> Judgement:
    """Judge the hardware: a required probe that can't look makes it unknown."""
    blind = tuple(
        f"{probe}: {reason}"
        for probe, reason in sorted(evidence.unknown.items())
        if probe in required
    )
    return Judgement(Status.UNKNOWN, blind) if blind else Judgement(Status.HEALTHY)


def overrule(hardware: Judgement, asked: Maintenance | None) -> Judgement:
    """Return the gravest of what the hardware shows and what people asked for."""
    found = [hardware]
    if asked:
        found.append(Judgement(Status.MAINTENANCE, (asked.reason,)))
    return min(found, key=lambda judgement: list(Status).index(judgement.status))


@dataclass(frozen=True, slots=True)
class _Words:
    labels: Mapping[str, str]
    held: frozenset[str]
    untouched: frozenset[str]


def _words(
    evidence: Evidence, silent: frozenset[Probe], judgement: Judgement, policy: Policy
) -> _Words:
    unsure = silent - evidence.facts.keys()
    labels: dict[str, str] = {}
    for fact in evidence.facts.values():
        labels |= spell(fact)
    unseen = _resting_on(frozenset(Probe) - evidence.facts.keys())
    open_status = judgement.status is not Status.MAINTENANCE and unsure & policy.required
    if open_status:
        unseen |= {Label.STATUS}
    else:
        labels[Label.STATUS] = judgement.status.value
    derived = derive(policy.rules, labels, unseen)
    untouched = _resting_on(unsure) | ({Label.STATUS} if open_status else set())
    blind = _resting_on(silent | evidence.unknown.keys())
    key = policy.vocabulary.key
    return _Words(
        labels={key(name): value for name, value in {**labels, **derived.labels}.items()},
        held=frozenset(map(key, blind | derived.undecided)),
        untouched=frozenset(map(key, untouched | (derived.undecided if unsure else set()))),
    )


def _resting_on(probes: frozenset[Probe]) -> frozenset[str]:
    return frozenset(label for probe in probes for label in KEYS[probe])


def _taints(judgement: Judgement, policy: Policy) -> tuple[Taint, ...]:
    keys = {Status.MAINTENANCE: TaintKey.MAINTENANCE, Status.UNKNOWN: TaintKey.UNKNOWN}
    key = keys.get(judgement.status)
    effect = policy.effects.get(key, Effect.NONE) if key else Effect.NONE
    if key is None or effect is Effect.NONE or policy.mode is not Mode.ENFORCE:
        return ()
    return (Taint(key.value, effect.value, legal.readable(judgement.reasons[0]).lower()),)


def _condition(hardware: Judgement, policy: Policy) -> Condition | None:
    if not policy.condition:
        return None
    opposite = {"True": "False", "False": "True"}
    answers = {Status.UNKNOWN: "Unknown", Status.UNHEALTHY: opposite[policy.healthy]}
    return Condition(
        type=policy.condition,
        status=answers.get(hardware.status, policy.healthy),
        reason=hardware.status.capitalize(),
        message="; ".join(hardware.reasons) or "no fault seen",
    )
