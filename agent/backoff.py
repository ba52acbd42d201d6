"""Wait longer after each failure, each agent a little differently."""

import random


class Backoff:
    """Seconds to wait: doubling from ``first`` to ``most``, spread over the upper half.

    A fleet that lost its API server at one moment must not come back at one.
    """

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self._step = first

    def next(self) -> float:
        """Return how long to wait now."""
        step, self._step = self._step, min(self._step * 2, self._most)
        return random.uniform(step / 2, step)  # noqa: S311  (spread, not secrecy)

    def reset(self) -> None:
        """Start over: it worked."""
        self._step = self._first
