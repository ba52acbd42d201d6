"""Turn what lies below the data roots into the fact, and into the document beside the Node.

Keeps what was said last, so that a copy that runs for hours moves a percentage
once a minute at most.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from agent.probes.data import DataProbe
from labeler import bitmaps
from labeler.datasets import MOST, Datasets, Listing, labelled
from labeler.facts import Data

RISE: Final = 60.0
"""Seconds between two rises of a percentage: each is a write that every watcher of Nodes gets."""
SHOWN: Final = 32
"""Faults of datasets that are logged at a time; the metric counts them all."""

_log = logging.getLogger(__name__)


class Shelf:
    """The datasets of this machine."""

    def __init__(
        self, probe: DataProbe, *, hashed: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._probe = probe
        self._hashed = hashed
        self._clock = clock
        self._risen = float("-inf")
        self._said = Data({})
        self._written: tuple[Datasets, str] | None = None
        self._looked = False
        self.listing = Listing(Datasets(()), {})
        """What the last look that succeeded found."""
        self.left_out = 0
        """Datasets that lie here and are not labelled, for there are too many."""

    def look(self) -> Data:
        """Look at the roots, and say what is to be labelled."""
        self.listing = self._listed()
        self._looked = True
        now = self._clock()
        before = self._said.percents
        found = self.listing.datasets.found
        percents, shared = labelled(
            found, before, rise=now - self._risen >= RISE, hashed=self._hashed, most=len(found)
        )
        self.left_out = shared + max(0, len(percents) - MOST)
        if any(percent > before.get(name, percent) for name, percent in percents.items()):
            self._risen = now
        self._said = Data(percents)
        return self._said

    def _listed(self) -> Listing:
        listing = self._probe.look()
        if listing.faults != self.listing.faults:
            for name, why in sorted(listing.faults.items())[:SHOWN]:
                _log.warning("dataset %s is not counted: %s", name, why)
        return listing

    def document(self) -> str | None:
        """Return the shard bitmaps to publish; ``None`` before the first look.

        Where nothing lies here that is said too: an agent before this one may
        have said otherwise.
        """
        found = self.listing.datasets
        if self._looked and (self._written is None or self._written[0] != found):
            self._written = found, bitmaps.publish(found.found, hashed=self._hashed)
        return self._written[1] if self._written else None
