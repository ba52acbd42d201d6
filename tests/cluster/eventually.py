"""Wait for what others do in their own time."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

Answer = TypeVar("Answer")

PAUSE: Final = 0.05
"""Seconds between two looks: short against what is waited for."""


def eventually(look: Callable[[], Answer], what: str, seconds: float = 30) -> Answer:
    """Look until there is something to see, and return it; fail by the name of it."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > deadline:
            message = f"{what}: not after {seconds:g} s; last seen: {seen!r}"
            raise TimeoutError(message)
        time.sleep(PAUSE)
    return seen
