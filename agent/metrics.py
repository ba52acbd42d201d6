"""Count and show what happened; only this, ``drifts`` and ``gauges`` import ``prometheus_client``.

Every label has a bounded set of values: names of the vocabulary, of the site's
derived labels, of probes, of verbs and codes, and of the first few managers.
"""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from agent.drifts import Drifts
from agent.gauges import Ages, Labels, Shelves
from agent.newest import Newest
from labeler.diff import Drift
from labeler.facts import Known, Probe, Unknown
from labeler.node import NodeError, NodeMoved
from labeler.reconcile import TRIES, Round
from labeler.seen import Seen
from labeler.vocabulary import ANNOTATIONS, Mode, Status, Vocabulary

if TYPE_CHECKING:
    from agent.shelf import Shelf

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PROBE_SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10)
_LAG_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)


class Metrics:
    """An observer of rounds, of probes and of requests."""

    def __init__(self, version: str, mode: Mode, words: Vocabulary | None = None) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self._drifts = Drifts(registry, words or Vocabulary())
        self._wrong = Gauge(
            "nodetruth_labels_wrong",
            "Labels and taints that differ from what the Node should say, after the last round.",
            registry=registry,
        )
        self._status = Gauge(
            "nodetruth_status",
            "1 for the status that the Node should say, 0 for every other; all 0 while it is open.",
            ["status"],
            registry=registry,
        )
        self._confirmed = Gauge(
            "nodetruth_last_confirmed_timestamp_seconds",
            "When the Node was last known to say all that it should; 0 before the first time.",
            registry=registry,
        )
        self._patches = Counter(
            "nodetruth_patches",
            "Writes of labels and taints, by result.",
            ["result"],
            registry=registry,
        )
        self._errors = Counter(
            "nodetruth_errors",
            "Rounds and watches that came to nothing, by kind.",
            ["kind"],
            registry=registry,
        )
        self._requests = Counter(
            "nodetruth_api_requests",
            "Requests to the API server, by verb and status code; code 0 is no answer.",
            ["verb", "code"],
            registry=registry,
        )
        self._probes = Counter(
            "nodetruth_probe_runs",
            "Runs of a probe that ended, by outcome.",
            ["probe", "outcome"],
            registry=registry,
        )
        self._seconds = Histogram(
            "nodetruth_probe_duration_seconds",
            "How long a probe took.",
            ["probe"],
            registry=registry,
            buckets=_PROBE_SECONDS,
        )
        self._lag = Histogram(
            "nodetruth_fault_to_label_seconds",
            "From a fact's change to the server's answer to the write that says it.",
            registry=registry,
            buckets=_LAG_SECONDS,
        )
        self._restarts = Counter(
            "nodetruth_watch_restarts",
            "Times that the Node was followed anew, since the watch had ended or failed.",
            registry=registry,
        )
        self._missed = Counter(
            "nodetruth_probe_skipped",
            "Runs of a probe that did not start, since the one before had not ended.",
            ["probe"],
            registry=registry,
        )
        self._lost = Counter(
            "nodetruth_child_lost",
            "Times the process that reads the GPU driver was lost, by how; it comes back.",
            ["how"],
            registry=registry,
        )
        self._labels = Labels()
        registry.register(self._labels)
        Gauge("nodetruth_build_info", "Always 1.", ["version", "mode"], registry=registry).labels(
            version, mode
        ).set(1)

    def watch(self, newest: Newest, probes: Iterable[Probe], shelf: "Shelf | None" = None) -> None:
        """Show each probe's newest fact and what lies on the shelf, read at each scrape."""
        self.registry.register(Ages(newest, tuple(probes)))
        if shelf:
            self.registry.register(Shelves(shelf))

    def page(self) -> bytes:
        """Return the page that Prometheus reads."""
        return generate_latest(self.registry)

    def beat(self) -> None:
        """Do nothing."""

    def drifted(self, _seen: Seen, drifts: tuple[Drift, ...]) -> None:
        """Count each key that another hand touched."""
        self._drifts.drifted(drifts)

    def resumed(self) -> None:
        """Count a watch that was begun anew."""
        self._restarts.inc()

    def ended(self, one: Round, *, confirmed: bool) -> None:
        """Count the write and show the status."""
        for status in Status:
            self._status.labels(status).set(status == one.want.status)
        self._drifts.ended(one)
        self._labels.ended(one)
        self._wrong.set(len(one.left - ANNOTATIONS))
        if one.lag is not None:
            self._lag.observe(one.lag)
        self._patches.labels("applied").inc(one.written is not None)
        self._patches.labels("moved").inc(one.moves)
        self._patches.labels("refused").inc(one.refused is not None)
        if confirmed:
            self._confirmed.set(time.time())

    def troubled(self, error: NodeError) -> None:
        """Count an error by its kind."""
        self._errors.labels(type(error).__name__).inc()
        if isinstance(error, NodeMoved):
            self._patches.labels("moved").inc(TRIES)

    def probed(self, probe: Probe, fact: Known | Unknown, seconds: float) -> None:
        """Count a probe's run and its time."""
        outcome = "unknown" if isinstance(fact, Unknown) else "known"
        self._probes.labels(probe, outcome).inc()
        self._seconds.labels(probe).observe(seconds)

    def skipped(self, probe: str) -> None:
        """Count a run that did not start."""
        self._missed.labels(probe).inc()

    def child_lost(self, how: str) -> None:
        """Count a loss of the process that reads the GPU driver: hung, died or garbage."""
        self._lost.labels(how).inc()

    def requested(self, verb: str, code: int) -> None:
        """Count a request."""
        self._requests.labels(verb, str(code)).inc()
