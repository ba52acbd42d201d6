"""Run the figures, show one table, and keep the results of a whole run."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import core, edits, imports, rest, restart, size, table
from bench.neighbours import QUIET, Neighbours
from bench.node import NotInstalledError
from bench.progress import Progress
from bench.row import Row, failed
from bench.stage import Stage
from bench.surroundings import Surroundings
from tests.cluster.api import ApiError
from tests.cluster.build import NoControlPlaneError
from tests.cluster.programs import ProgramError

RESULTS: Final = Path(__file__).with_name("RESULTS.md")
WRONG: Final = (ApiError, NoControlPlaneError, NotInstalledError, OSError, ProgramError)
"""What keeps a figure from being measured; ``TimeoutError`` is an ``OSError``."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing to measure."""

    name: str
    title: str
    seconds: float
    """What it takes, about."""
    measure: Callable[[Stage], list[Row]]


FIGURES: Final = (
    Figure("import", "time and memory of a start", imports.SECONDS, imports.measure),
    Figure("core", "rounds a second of the pure core", core.SECONDS, core.measure),
    Figure("edits", "how long an edit by hand stands", edits.SECONDS, edits.measure),
    Figure("size", "bytes added to a Node", size.SECONDS, size.measure),
    Figure("restart", "what a restart writes", restart.SECONDS, restart.measure),
    Figure("rest", "requests, CPU and memory at rest", rest.SECONDS, rest.measure),
)
_LINES: Final = "\n".join(f"  {one.name:<9} {one.title}, {one.seconds:.0f} s" for one in FIGURES)
MORE: Final = f"""
figures:
{_LINES}

examples:
  python -m bench                      all of it, and writes bench/RESULTS.md
  python -m bench --only edits         one figure; repeat --only for more
  python -m bench --quick --only rest  see that it works; too short to be quoted

The table goes to stdout, progress to stderr. Figures mean something only on a
machine that does nothing else meanwhile.

exit codes: 0 nothing fails; 1 a figure fails or could not be measured;
2 wrong command line; 130 interrupted
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures nodetruth against its promises, on a real API server.",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        choices=[one.name for one in FIGURES],
        help="measure this figure alone; writes no RESULTS.md",
    )
    whole.add_argument(
        "--quick",
        action="store_true",
        help="measure for a tenth of the time; writes no RESULTS.md",
    )
    return whole


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit code."""
    asked = parser().parse_args(arguments)
    chosen = [one for one in FIGURES if not asked.only or one.name in asked.only]
    around = Surroundings.here()
    progress = Progress(sys.stderr)
    rows: list[Row] = []
    others: dict[str, float] = {}
    with Stage(progress, quick=asked.quick) as stage:
        for one in chosen:
            neighbours = Neighbours()
            rows += measure(one, stage)
            others[one.name] = neighbours.cores()
            warn(one, others[one.name], progress)
    table.show(rows, sys.stdout)
    if not asked.quick and not asked.only and all(row.value is not None for row in rows):
        RESULTS.write_text(table.markdown(rows, around, others))
        progress.say(f"written: {RESULTS.name}")
    return 1 if failed(rows) else 0


def warn(figure: Figure, cores: float, progress: Progress) -> None:
    """Say where figures were taken on a machine that was busy with something else."""
    if cores > QUIET:
        progress.say(f"{figure.name}: {cores:.2f} cores were at other work; don't quote its times")


def measure(figure: Figure, stage: Stage) -> list[Row]:
    """Measure one figure; what could not be measured fails, and does not stop the others."""
    about = "" if stage.quick else f", about {figure.seconds:.0f} s"
    stage.progress.say(f"{figure.name}: {figure.title}{about}")
    try:
        return figure.measure(stage)
    except WRONG as err:
        stage.progress.say(f"{figure.name}: {err}")
        return [Row(figure=figure.title, value=None, how="see the error on stderr")]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
