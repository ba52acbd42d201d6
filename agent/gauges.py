"""Show what is the case at the moment of a scrape: facts, labels, datasets.

Nothing is kept for it, and a label that is gone leaves no series behind.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric

from agent.newest import Newest
from labeler.facts import Probe, Unknown
from labeler.reconcile import Round

if TYPE_CHECKING:
    from agent.shelf import Shelf


class Ages:
    """Age and outcome of each probe's newest fact."""

    def __init__(self, newest: Newest, probes: tuple[Probe, ...]) -> None:
        self._newest = newest
        self._probes = probes

    def collect(self) -> Iterator[Metric]:
        """Read them."""
        known = GaugeMetricFamily(
            "nodetruth_probe_known", "1 where the probe's newest fact is known.", labels=["probe"]
        )
        age = GaugeMetricFamily(
            "nodetruth_probe_age_seconds",
            "Seconds since the probe last answered.",
            labels=["probe"],
        )
        facts = self._newest.facts()
        for probe in self._probes:
            fact = facts.get(probe)
            known.add_metric([probe], fact is not None and not isinstance(fact, Unknown))
            seconds = self._newest.age(probe)
            if seconds is not None:
                age.add_metric([probe], seconds)
        yield from (known, age)


class Labels:
    """What the Node should say, as of the last round, but for labels of single datasets."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def ended(self, one: Round) -> None:
        """Take note of a round's labels."""
        stems = one.want.stems
        self._said = {k: v for k, v in one.want.labels.items() if not k.startswith(stems)}

    def collect(self) -> Iterator[Metric]:
        """Read them."""
        family = InfoMetricFamily(
            "nodetruth_label", "1 for each label that the Node should bear.", labels=["key"]
        )
        for key, value in sorted(self._said.items()):
            family.add_metric([key], {"value": value})
        yield family


class Shelves:
    """How many datasets lie here, and how many of them nobody is told of."""

    def __init__(self, shelf: "Shelf") -> None:
        self._shelf = shelf

    def collect(self) -> Iterator[Metric]:
        """Read them."""
        listing = self._shelf.listing
        yield GaugeMetricFamily(
            "nodetruth_datasets",
            "Datasets of which a manifest lies here.",
            value=len(listing.datasets.found),
        )
        yield GaugeMetricFamily(
            "nodetruth_datasets_left_out",
            "Datasets of which shards lie here and that are not labelled: there are too many.",
            value=self._shelf.left_out,
        )
        yield GaugeMetricFamily(
            "nodetruth_datasets_faulty",
            "Datasets that are not counted, since their manifest or folder is wrong.",
            value=len(listing.faults),
        )
