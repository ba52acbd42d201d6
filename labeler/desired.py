"""Decide what a Node should say, from what was seen of its machine.

A fact that is known gives labels. A probe that can't look keeps what it last
saw in this boot: its labels are *held* at that value, and what no evidence of
this boot supports is not held but goes. A probe that has not answered yet
holds whatever stands there. Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from labeler import legal
from labeler.evidence import Evidence, Found, gather, lost
from labeler.facts import KEYS, Facts, Probe
from labeler.judgement import Judgement, judge, overrule
from labeler.maintenance import Maintenance, maintenance
from labeler.rules import Rule, derive
from labeler.seen import Condition, Seen, Taint
from labeler.spelling import GpuWords, spell
from labeler.vocabulary import Effect, Label, Mode, Status, Stem, TaintKey, Vocabulary, begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a site decided: words, rules, and how much the agent may do."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    mode: Mode = Mode.ENFORCE
    required: frozenset[Probe] = frozenset()
    """Probes whose blindness makes the status unknown."""
    gpus: GpuWords = field(default_factory=GpuWords)
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
    stems: tuple[str, ...]
    """Beginnings of further ones: whatever else begins so is a forgery."""
    found: Found
    """What other hands had set on our keys before us."""
    status: Status | None
    """What the status label says; ``None`` while that is open."""
    ends: datetime | None = None
    """When this changes by itself: a maintenance ends, or patience with a blind probe."""
    resting: frozenset[str] = frozenset()
    """Contested keys and taints whose turn has not come: they are left as they stand."""

    def owns(self, key: str) -> bool:
        """Tell whether a whole label key is ours to set and remove, or a forgery."""
        return (key in self.owned or self._stem(key) is not None) and key not in self.untouched

    def folded(self, key: str) -> str:
        """Return one name for all forged keys of a stem: who invents many contests as one."""
        stem = None if key in self.owned else self._stem(key)
        return key if stem is None else f"{stem}*"

    def _stem(self, key: str) -> str | None:
        if not key.startswith(self.stems):
            # Nearly every key, and this is asked of each in every comparison.
            return None
        return next((stem for stem in self.stems if begins(key, stem)), None)


def desired(facts: Facts, memory: Recall, seen: Seen, policy: Policy, now: datetime) -> Desired:
    """Decide, for a machine that shows ``facts`` and a Node that says ``seen``."""
    evidence = gather(facts, memory.evidence, memory.agent, now)
    silent = frozenset(probe for probe in Probe if probe not in facts)
    asked = maintenance(seen, now, cordon=policy.cordon)
    hardware = judge(evidence, policy.required, policy.gpus.expected, now)
    judgement = overrule(hardware, asked)
    words = _words(_Known(evidence, silent, seen.labels), judgement, policy)
    former = lost(memory.found, seen, policy.vocabulary)
    given_back = {key: value for key, value in former.items() if value is not None}
    status = policy.vocabulary.key(Label.STATUS)
    return Desired(
        labels={**given_back, **words.labels},
        held=words.held,
        untouched=words.untouched,
        owned=policy.vocabulary.labels | words.labels.keys() | former.keys(),
        stems=words.stems,
        taints=_taints(judgement, policy),
        complete=not silent,
        judgement=judgement,
        status=judgement.status if status in words.labels else None,
        condition=None if silent else _condition(hardware, policy),
        evidence=evidence,
        found={k: v for k, v in memory.found.items() if policy.vocabulary.owns(k)},
        ends=min(_ends(asked, evidence, now), default=None),
    )


def _ends(asked: Maintenance | None, evidence: Evidence, now: datetime) -> Iterator[datetime]:
    if asked and asked.until:
        yield asked.until
    for due in evidence.due.values():
        if due > now.timestamp():
            yield datetime.fromtimestamp(due, UTC)


@dataclass(frozen=True, slots=True)
class _Known:
    evidence: Evidence
    silent: frozenset[Probe]
    has: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Words:
    labels: Mapping[str, str]
    held: frozenset[str]
    untouched: frozenset[str]
    stems: tuple[str, ...]


def _words(known: _Known, judgement: Judgement, policy: Policy) -> _Words:
    evidence = known.evidence
    unsure = known.silent - evidence.facts.keys()
    short: dict[str, str] = {}
    for fact in evidence.facts.values():
        short |= spell(fact, policy.gpus)
    unseen = _resting_on(frozenset(Probe) - evidence.facts.keys())
    open_status = judgement.status is not Status.MAINTENANCE and unsure & policy.required
    if open_status:
        unseen |= {Label.STATUS}
    else:
        short[Label.STATUS] = judgement.status.value
    derived = derive(policy.rules, short, unseen)
    untouched = _resting_on(unsure) | ({Label.STATUS} if open_status else set())
    untouched |= derived.undecided if unsure else frozenset()
    blind = _resting_on(known.silent | evidence.unknown.keys()) | derived.undecided
    words = policy.vocabulary
    labels = {words.key(name): value for name, value in {**short, **derived.labels}.items()}
    return _Words(
        labels=labels,
        held=_whole(blind, labels.keys() | known.has.keys(), words),
        untouched=_whole(untouched, (), words),
        stems=tuple(words.key(stem) for stem in Stem if stem not in untouched),
    )


def _resting_on(probes: frozenset[Probe]) -> frozenset[str]:
    return frozenset(label for probe in probes for label in KEYS[probe])


def _whole(names: frozenset[str], keys: Collection[str], words: Vocabulary) -> frozenset[str]:
    """Return the whole keys of ``names``: of a stem, those of ``keys`` that begin with it."""
    fixed = {words.key(name) for name in names if name not in set(Stem)}
    return frozenset(fixed | {key for key in keys if words.stem(key) in names})


def _taints(judgement: Judgement, policy: Policy) -> tuple[Taint, ...]:
    keys = {Status.MAINTENANCE: TaintKey.MAINTENANCE, Status.UNKNOWN: TaintKey.UNKNOWN}
    key = keys.get(judgement.status)
    effect = policy.effects.get(key, Effect.NONE) if key else Effect.NONE
    if judgement.excused and effect is not Effect.NONE:
        # A driver that is being installed comes by a Pod, which must find its way here.
        effect = Effect.PREFER_NO_SCHEDULE
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
