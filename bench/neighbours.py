"""Say how much else the machine did while we measured: figures are worth little beside others."""

import os
import time
from typing import Final

import psutil

from bench.resident import cpu_seconds

QUIET: Final = 0.1
"""Cores at other work up to which times can be trusted."""
IDLE: Final = frozenset({"idle", "iowait", "guest", "guest_nice"})
"""What is no work, and what the kernel counts as user time already."""


class Neighbours:
    """The processor time of all others since a moment, the host's other guests (steal) included."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._before = _others()

    def cores(self) -> float:
        """Return how many cores were at other work, on average; ours is what we started, too."""
        spent = _others() - self._before
        return max(0.0, spent / (time.monotonic() - self._start))


def _others() -> float:
    times: dict[str, float] = psutil.cpu_times()._asdict()
    busy = sum(seconds for kind, seconds in times.items() if kind not in IDLE)
    return busy - cpu_seconds(os.getpid())
