"""Find the agent as a node has it: installed from its wheel, with nothing beside it.

The environment of the tests holds more: packages that ours look for, and files
that every interpreter reads at its start. ``make bench`` makes this one.
"""

import sys
from pathlib import Path
from typing import Final

PYTHON: Final = Path(sys.prefix, "node/bin/python")


class NotInstalledError(Exception):
    """There is no such environment; the message says how to make it."""

    def __init__(self) -> None:
        super().__init__(f"{PYTHON} is not there; run `make bench`, which makes it")


def python() -> tuple[str, str]:
    """Return its interpreter, isolated: nothing may put other code in the place of the wheel's."""
    if not PYTHON.exists():
        raise NotInstalledError
    return str(PYTHON), "-I"
