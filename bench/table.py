"""Write figures as a table: coloured for people, plain for programs, Markdown for the repository.

All but ``show`` is pure.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.row import Row, Verdict
from bench.surroundings import Surroundings

HEAD: Final = ("FIGURE", "MEASURED", "TARGET", "VERDICT", "HOW")
COLOURS: Final = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.REPORTED: "dim"}
COMMAND: Final = "make bench"
NOTES: Final = """\
- Real processes: etcd, kube-apiserver and each agent, as the cluster tests run them, over TLS on loopback.
  etcd does not fsync; the audit log is on.
  They share the processors with each other.
- Where other programs were at work meanwhile, times are worse than they would be: nothing above 0.1 cores should be quoted.
- Times are differences of the monotonic clock; a quantile is the smallest value that so many samples do not exceed.
- The agents look at the small machine of the tests (2 cores, 1 NVMe drive), with the default settings where nothing else is said.
- A watch is asked for 55 minutes: about one an hour, and in ten minutes mostly none.
- CPU is what the kernel counts for the process, to 10 ms.
- A figure without a target is reported, and fails nothing.
"""  # noqa: E501  (Markdown: a sentence a line)


def cells(row: Row) -> tuple[str, str, str, str, str]:
    """Return a row's texts."""
    return row.figure, row.measured, row.target, row.verdict.value, row.how


def plain(rows: Sequence[Row]) -> str:
    """Return a table without colour, one figure a line."""
    lines = [HEAD, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def markdown(rows: Sequence[Row], around: Surroundings, others: Mapping[str, float]) -> str:
    """Return the whole of RESULTS.md; ``others`` is the cores at other work, by figure."""
    table = ["| figure | measured | target | | how measured |", "|---|---|---|---|---|"]
    table += ["| " + " | ".join(map(_cell, cells(row))) + " |" for row in rows]
    facts = {
        "date": around.date,
        "command": f"`{COMMAND}`",
        "nodetruth": around.nodetruth,
        "Kubernetes": around.kubernetes,
        "Python": around.python,
        "kernel": around.kernel,
        "CPU": around.cpu,
        "cores at other work meanwhile": ", ".join(f"{k} {v:.2f}" for k, v in others.items()),
    }
    return "\n".join(
        [
            "# Figures",
            "",
            f"Written by `{COMMAND}`; not edited by hand.",
            "",
            *(f"- {name}: {text}" for name, text in facts.items()),
            "",
            *table,
            "",
            "## Notes",
            "",
            NOTES,
        ]
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def show(rows: Sequence[Row], out: TextIO) -> None:
    """Write the table; colour only on a terminal, and never where NO_COLOR is set."""
    if not out.isatty():
        out.write(plain(rows))
        return
    console = Console(file=out, no_color=bool(os.environ.get("NO_COLOR")), highlight=False)
    table = Table(box=None, pad_edge=False)
    for name in HEAD:
        table.add_column(name, overflow="fold")
    for row in rows:
        figure, measured, target, verdict, how = cells(row)
        coloured = Text(verdict, COLOURS[row.verdict])
        table.add_row(*map(Text, (figure, measured, target)), coloured, Text(how, "dim"))
    console.print(table)
