"""Remember, on the Node itself, what its labels rest on.

One annotation of JSON, under 8 KiB, that changes only when a fact changes.
It outlives the agent, and is believed for the same boot of the same Node only:
what was true before a reboot, or of the Node that bore this name before, is no
evidence. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final, TypeVar

import msgspec

from labeler import datasets, gpus, legal
from labeler.facts import Cpu, Data, Disk, Facts, Gpu, Known, Memory, Probe, Unknown
from labeler.seen import Seen
from labeler.vocabulary import ANNOTATIONS, BESIDE, EVIDENCE, FOUND, Label, Vocabulary

LIMIT: Final = 16 << 10
"""Bytes that are believed: ours stays under half of it, with 16 GPUs and 32 datasets."""

UNREADABLE: Final = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
"""What decoding may raise: JSON can be nested deeper than the stack."""

T = TypeVar("T")

Found = Mapping[str, str | None]
"""Whole label keys, and what other hands had set there; ``None`` for nothing."""

_REASON_LIMIT: Final = 128
_TYPES: Final[Mapping[Probe, type[Known]]] = {
    Probe.CPU: Cpu,
    Probe.MEMORY: Memory,
    Probe.DISK: Disk,
    Probe.GPU: Gpu,
    Probe.DATA: Data,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The last good fact of each probe, and why a probe can't look now."""

    boot: str
    uid: str
    agent: str = ""
    """The version that wrote it."""
    facts: Mapping[Probe, Known] = field(default_factory=dict)
    unknown: Mapping[Probe, str] = field(default_factory=dict)
    due: Mapping[Probe, int] = field(default_factory=dict)
    """When that a probe can't look becomes the machine's own fault, in Unix seconds."""


_Instant = Annotated[int, msgspec.Meta(ge=0, lt=1 << 37)]
"""Unix seconds of a year that ``datetime`` can name."""


class _Raw(msgspec.Struct):
    boot: str
    uid: str
    agent: str = ""
    facts: dict[str, msgspec.Raw] = {}
    unknown: dict[str, str] = {}
    due: dict[str, _Instant] = {}


def gather(facts: Facts, before: Evidence, agent: str, now: datetime) -> Evidence:
    """Return the evidence after ``facts``: a known one replaces what was remembered.

    ``agent`` is noted only with a change: of two versions that see the same,
    neither rewrites the other's word, and an upgrade writes nothing.
    """
    known = {
        probe: _with(before.facts.get(probe), fact)
        for probe, fact in facts.items()
        if not isinstance(fact, Unknown)
    }
    blind = {probe: fact for probe, fact in facts.items() if isinstance(fact, Unknown)}
    unknown = {probe: fact.reason[:_REASON_LIMIT] for probe, fact in blind.items()}
    due = {probe: min(end, before.due.get(probe, end)) for probe, end in _ends(blind, now).items()}
    after = replace(
        before,
        facts={**before.facts, **known},
        unknown={**_of_silent(before.unknown, facts), **unknown},
        due={**_of_silent(before.due, facts), **due},
    )
    return before if after == before else replace(after, agent=agent)


def _with(before: Known | None, now: Known) -> Known:
    """Add to a fact what it alone can't say: what was there, or was said, before."""
    if isinstance(now, Gpu):
        return gpus.remember(before if isinstance(before, Gpu) else None, now)
    if isinstance(now, Data) and len(now.percents) > datasets.MOST:
        # Which of them are labelled must not change with a restart of the agent.
        said = before.percents if isinstance(before, Data) else {}
        return Data({key: now.percents[key] for key in sorted(datasets.choose(now.percents, said))})
    return now


def _ends(blind: Mapping[Probe, Unknown], now: datetime) -> dict[Probe, int]:
    """Return when each grace ends that begins now: none lasts longer, whatever a clock said."""
    start = int(now.timestamp())
    return {p: start + fact.grace for p, fact in blind.items() if fact.grace is not None}


def _of_silent(before: Mapping[Probe, T], facts: Facts) -> dict[Probe, T]:
    return {probe: value for probe, value in before.items() if probe not in facts}


def encode(evidence: Evidence) -> str:
    """Return the annotation's value; equal evidence gives equal text."""
    return msgspec.json.encode(evidence, order="sorted").decode()


def believe(seen: Seen, now: Evidence) -> Evidence:
    """Return what a Node's annotation proves for the boot and Node of ``now``; else ``now`` itself.

    The annotation is input like any other: what can't be decoded, or is of
    another boot or Node, proves nothing.
    """
    text = seen.annotations.get(EVIDENCE, "")
    if not now.boot or len(text) > LIMIT:
        return now
    try:
        raw = msgspec.json.decode(text, type=_Raw)
        facts = {
            probe: msgspec.json.decode(raw.facts[probe], type=kind)
            for probe, kind in _TYPES.items()
            if probe in raw.facts
        }
    except UNREADABLE:
        return now
    if (raw.boot, raw.uid) != (now.boot, now.uid):
        return now
    unknown = {probe: raw.unknown[probe] for probe in Probe if probe in raw.unknown}
    due = {probe: raw.due[probe] for probe in unknown if probe in raw.due}
    return replace(now, agent=raw.agent, facts=facts, unknown=unknown, due=due)


def found(seen: Seen, vocabulary: Vocabulary) -> Found:
    """Return what stood at each key of ours before the agent first said it.

    At first contact that is read off the Node; from then on it stands in an
    annotation of its own. A key that the site's words gained since is read off
    the Node now, and one that they lost stays listed, so that it can be given
    back.
    """
    noted: Found = {}
    if ANNOTATIONS & seen.annotations.keys():
        try:
            noted = msgspec.json.decode(seen.annotations[FOUND], type=dict[str, str | None])
        except (*UNREADABLE, KeyError):
            # Somebody took the note away: what stands there now is our own.
            noted = dict.fromkeys(vocabulary.labels)
    fresh = {key: seen.labels.get(key) for key in vocabulary.labels - noted.keys()}
    kept = {key: _value(value) for key, value in noted.items() if _can_be_ours(key)}
    return {**fresh, **_fresh_stems(seen, vocabulary, noted), **kept}


def lost(found: Found, seen: Seen, vocabulary: Vocabulary) -> Found:
    """Return the keys that the site's words lost: each is given back as found, and forgotten."""
    gone = {key: value for key, value in found.items() if not vocabulary.owns(key)}
    status = str(Label.STATUS)
    former = [
        Vocabulary(key.removesuffix(status).rstrip("/"))
        for key in gone
        if key.rpartition("/")[2] == status
    ]
    stemmed = [key for key in seen.labels if any(words.stem(key) for words in former)]
    ours = [key for key in stemmed if not vocabulary.owns(key)]
    return {**dict.fromkeys(ours), **gone}


def _fresh_stems(seen: Seen, vocabulary: Vocabulary, noted: Found) -> Found:
    """Return what others had set under our stems; noted once, with the label beside the stem."""
    stems = {key: vocabulary.stem(key) for key in seen.labels}
    return {
        key: seen.labels[key]
        for key, stem in stems.items()
        if stem and vocabulary.key(BESIDE[stem]) not in noted
    }


def _can_be_ours(key: str) -> bool:
    """Refuse Kubernetes' own keys: the annotation is input, and no site's words hold them.

    What is no key at all is refused too: the server would refuse all that is written with it.
    """
    prefix = key.rpartition("/")[0]
    own = prefix.endswith(("kubernetes.io", "k8s.io"))
    return legal.is_key(key) and (not own or prefix.endswith("node-restriction.kubernetes.io"))


def _value(text: str | None) -> str | None:
    """Return what may have stood on a Node; nothing can have that the server does not take."""
    return text if text is None or legal.is_value(text) else None


def encode_found(labels: Found) -> str:
    """Return the value of the annotation that keeps what had been found."""
    return msgspec.json.encode(labels, order="sorted").decode()
