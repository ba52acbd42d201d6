"""What does it cost to start: the interpreter, the agent's modules, the command's help?"""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.node import PYTHON, python
from bench.row import KIB, Row, median
from bench.stage import Stage

TIMES: Final = 5
SECONDS: Final = 10
HELD: Final = """
for line in open("/proc/self/status"):
    if line.startswith("VmRSS:"):
        print(line.split()[1])
"""
"""Prints the process's RSS in KiB; its maximum would count what it was before exec."""
BARE: Final = ("-c", "pass")
AGENT: Final = ("-c", "import agent.run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one process took, from its start to its end."""

    wall: float
    cpu: float
    """Seconds."""


def run(command: Sequence[str]) -> Run:
    """Run a command to its end, its output thrown away."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise OSError(process.returncode, "it should have ended well", command[0])
    return Run(wall=wall, cpu=used.ru_utime + used.ru_stime)


def measure(stage: Stage) -> list[Row]:
    """Start each a few times, in turn, so that a busy moment hits all alike."""
    times = 2 if stage.quick else TIMES
    nodetruth = str(PYTHON.with_name("nodetruth"))
    commands = {
        "a bare interpreter": [*python(), *BARE],
        "importing the agent": [*python(), *AGENT],
        "nodetruth --help": [nodetruth, "--help"],
    }
    for command in commands.values():
        run(command)  # Bytecode is written and files come into memory once.
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            runs[name].append(run(command))
    return [row for name in commands for row in _rows(name, runs[name])] + _held()


def _rows(name: str, runs: list[Run]) -> list[Row]:
    how = f"median of {len(runs)} fresh processes, whole life"
    wall, cpu = median(one.wall for one in runs), median(one.cpu for one in runs)
    return [
        Row(figure=f"{name}: time", value=wall * 1e3, unit="ms", how=how),
        Row(figure=f"{name}: CPU", value=cpu, unit="s", how=how),
    ]


def _held() -> list[Row]:
    how = "VmRSS of a fresh process; a resting agent holds connections, threads and pages besides"
    pairs = {"a bare interpreter": BARE, "importing the agent": AGENT}
    return [
        Row(figure=f"{name}: RSS", value=_rss(code) / KIB, unit="MiB", how=how)
        for name, (_, code) in pairs.items()
    ]


def _rss(code: str) -> int:
    line = [*python(), "-c", f"{code}\n{HELD}"]
    return int(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
