"""Say on what kind of machine, with what software, a run was made; never which machine."""

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Self

from tests.cluster import build


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What figures depend on besides the code."""

    date: str
    cpu: str
    kernel: str
    python: str
    kubernetes: str
    nodetruth: str

    @classmethod
    def here(cls) -> Self:
        """Look around."""
        cpus = os.cpu_count() or 0
        return cls(
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            cpu=f"{cpus} x {_cpu_model(Path('/proc/cpuinfo'))}",
            kernel=f"{platform.system()} {platform.release()}",
            python=f"{platform.python_implementation()} {platform.python_version()}",
            kubernetes=build.version(),
            nodetruth=f"{version('nodetruth')}, {_commit()}",
        )


def _cpu_model(cpuinfo: Path) -> str:
    """Return what the first processor calls itself; Arm's do not."""
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.machine())


def _commit() -> str:
    """Name the commit that was measured; a run from an archive knows none."""
    line = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "of no commit"
    return f"commit {done.stdout.strip()}"
