"""Remember, on the Node itself, what its labels rest on.

One annotation of JSON, at most 8 KiB, that changes only when a fact changes.
It outlives the agent, and is believed for the same boot of the same Node only:
what was true before a reboot, or of the Node that bore this name before, is no
evidence. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from labeler.facts import Cpu, Disk, Facts, Known, Memory, Probe, Unknown
from labeler.seen import Seen
from labeler.vocabulary import ANNOTATIONS, EVIDENCE, FOUND, Vocabulary

LIMIT: Final = 8 << 10
"""Bytes of the annotation, at most."""

UNREADABLE: Final = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
"""What decoding may raise: JSON can be nested deeper than the stack."""

Found = Mapping[str, str | None]
"""Whole label keys, and what other hands had set there; ``None`` for nothing."""

_REASON_LIMIT: Final = 256
_TYPES: Final[Mapping[Probe, type[Known]]] = {
    Probe.CPU: Cpu,
    Probe.MEMORY: Memory,
    Probe.DISK: Disk,
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


class _Raw(msgspec.Struct):
    boot: str
    uid: str
    agent: str = ""
    facts: dict[str, msgspec.Raw] = {}
    unknown: dict[str, str] = {}


def gather(facts: Facts, before: Evidence, agent: str) -> Evidence:
    """Return the evidence after ``facts``: a known one replaces what was remembered.

    ``agent`` is noted only with a change: of two versions that see the same,
    neither rewrites the other's word, and an upgrade writes nothing.
    """
    known = {probe: fact for probe, fact in facts.items() if not isinstance(fact, Unknown)}
    unknown = {
        probe: fact.reason[:_REASON_LIMIT]
        for probe, fact in facts.items()
        if isinstance(fact, Unknown)
    }
    silent = {probe: why for probe, why in before.unknown.items() if probe not in facts}
    after = replace(before, facts={**before.facts, **known}, unknown={**silent, **unknown})
    return before if after == before else replace(after, agent=agent)


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
    return replace(now, agent=raw.agent, facts=facts, unknown=unknown)


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
    kept = {key: value for key, value in noted.items() if _can_be_ours(key)}
    return {**fresh, **kept}


def _can_be_ours(key: str) -> bool:
    """Refuse Kubernetes' own keys: the annotation is input, and no site's words hold them."""
    prefix = key.rpartition("/")[0]
    own = prefix.endswith(("kubernetes.io", "k8s.io"))
    return not own or prefix.endswith("node-restriction.kubernetes.io")


def encode_found(labels: Found) -> str:
    """Return the value of the annotation that keeps what had been found."""
    return msgspec.json.encode(labels, order="sorted").decode()
