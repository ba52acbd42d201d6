"""Say on stderr what is being measured and how long it takes; a quarter of an hour is long.

On a terminal a bar moves; elsewhere a line comes each minute.
"""

import time
from collections.abc import Iterator
from typing import Final, TextIO

CLEAR: Final = "\r\x1b[K"
"""Takes the bar off its line."""
WIDTH: Final = 30
"""Characters of the bar."""
SAY_EVERY: Final = 60.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """What a run tells people while it runs."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._bar = out.isatty()
        self._told = time.monotonic()

    def say(self, text: str) -> None:
        """Write a line of its own."""
        self._out.write(f"{CLEAR if self._bar else ''}{text}\n")
        self._out.flush()
        self._told = time.monotonic()

    def done(self, part: float, whole: float, unit: str) -> None:
        """Show how far the figure under way has come."""
        if self._bar:
            self._out.write(f"{CLEAR}{bar(part, whole)} {part:.0f} of {whole:.0f} {unit}")
            self._out.flush()
        elif time.monotonic() - self._told >= SAY_EVERY:
            self.say(f"  {part:.0f} of {whole:.0f} {unit}")

    def ticks(self, seconds: float, step: float) -> Iterator[None]:
        """Yield each ``step`` seconds, counted from now so that no delay adds up, and wait out."""
        start = time.monotonic()
        for number in range(1, int(seconds // step) + 1):
            self._wait(start, number * step, seconds)
            yield
        self._wait(start, seconds, seconds)

    def _wait(self, start: float, until: float, whole: float) -> None:
        while (left := start + until - time.monotonic()) > 0:
            self.done(time.monotonic() - start, whole, "s")
            time.sleep(min(left, 1))


def bar(part: float, whole: float) -> str:
    """Draw how much of the whole is done. Pure."""
    full = round(WIDTH * min(1, part / whole)) if whole else WIDTH
    return f"[{'#' * full}{'.' * (WIDTH - full)}]"
