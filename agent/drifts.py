"""Count what other hands do to keys of ours: by key, by cause, by manager.

Keys come from the Node and managers from whoever writes it, so both are bounded:
keys that are made up are folded into one name, and of the rest the first few
are named.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from agent.bounds import Few
from labeler.diff import Drift
from labeler.managers import UNKNOWN
from labeler.reconcile import Round
from labeler.vocabulary import Vocabulary

MANAGERS: Final = 10
KEYS: Final = 256


class Drifts:
    """Four families: edits, keys that are wrong now, and contests."""

    def __init__(self, registry: CollectorRegistry, words: Vocabulary) -> None:
        self._words = words
        self._keys = Few(KEYS)
        self._managers = Few(MANAGERS, UNKNOWN)
        self._begun: frozenset[tuple[str, float]] = frozenset()
        self._drift = Counter(
            "nodetruth_drift",
            "Edits of keys of ours by other hands, by key, cause and field manager.",
            ["key", "cause", "manager"],
            registry=registry,
        )
        self._current = Gauge(
            "nodetruth_drift_current",
            "1 while a key of ours differs from what the Node should say, after the last round.",
            ["key"],
            registry=registry,
        )
        self._contested = Gauge(
            "nodetruth_contested",
            "1 while another hand keeps writing a key of ours.",
            ["key"],
            registry=registry,
        )
        self._contentions = Counter(
            "nodetruth_contentions",
            "Times that a key of ours became contested, by key and field manager.",
            ["key", "manager"],
            registry=registry,
        )
        self._shown: dict[Gauge, set[str]] = {self._current: set(), self._contested: set()}

    def drifted(self, drifts: tuple[Drift, ...]) -> None:
        """Count each key that another hand touched."""
        for one in drifts:
            self._drift.labels(
                self._key(one.key), one.cause, self._managers.name(one.manager)
            ).inc()

    def ended(self, one: Round) -> None:
        """Show which keys a round left wrong, and which are contested."""
        self._show(self._current, {self._key(key) for key in one.left})
        self._show(self._contested, {self._key(contest.key) for contest in one.contests})
        for contest in one.contests:
            if (contest.key, contest.since) not in self._begun:
                manager = self._managers.name(contest.manager)
                self._contentions.labels(self._key(contest.key), manager).inc()
        self._begun = frozenset((contest.key, contest.since) for contest in one.contests)

    def _key(self, key: str) -> str:
        return self._keys.name(self._words.folded(key))

    def _show(self, gauge: Gauge, keys: set[str]) -> None:
        """Set 1 for these keys, and 0 for every other that ever had a 1."""
        self._shown[gauge] |= keys
        for key in self._shown[gauge]:
            gauge.labels(key).set(key in keys)
