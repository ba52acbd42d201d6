"""Tell how much memory the machine has: the host's, also from inside a limited Pod."""

import re
from pathlib import Path
from typing import Final

from labeler.facts import Memory, Unknown

_TOTAL: Final = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def probe(proc: Path) -> Memory | Unknown:
    """Read MemTotal, which is in KiB whatever the kernel prints."""
    path = proc / "meminfo"
    total = _TOTAL.search(path.read_text())
    if total is None or int(total[1]) == 0:
        return Unknown(f"{path} has no MemTotal")
    return Memory(int(total[1]) << 10)
