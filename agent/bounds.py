"""Keep the number of series bounded, whatever strangers write. Pure."""

from typing import Final

OTHER: Final = "other"


class Few:
    """The first names that come, up to a number; every later one is ``other``."""

    def __init__(self, most: int, *always: str) -> None:
        self._most = most
        self._always = frozenset(always)
        self._names: set[str] = set()

    def name(self, name: str) -> str:
        """Return the name itself while there is room for it; ``always`` takes none."""
        if name in self._always or name in self._names:
            return name
        if len(self._names) == self._most:
            return OTHER
        self._names.add(name)
        return name
