"""The table, as programs, people and the repository read it."""

from io import StringIO

import pytest

from bench import table
from bench.row import Row
from bench.surroundings import Surroundings

ROWS = (
    Row(figure="edit", value=12.3, unit="ms", limit=25, how="watch"),
    Row(figure="size | all", value=13, unit="KiB", limit=12, how="JSON"),
    Row(figure="start", value=500, unit="ms", how="median of 5"),
)
AROUND = Surroundings(
    date="2026-01-02",
    cpu="2 x AMD EPYC",
    kernel="Linux 6.18",
    python="CPython 3.11.7",
    kubernetes="v1.37.2",
    nodetruth="0.1.0, commit abc",
)


class Terminal(StringIO):
    """Takes colour."""

    def isatty(self) -> bool:
        return True


def test_programs_read_one_figure_a_line() -> None:
    assert table.plain(ROWS) == (
        "FIGURE      MEASURED  TARGET    VERDICT  HOW\n"
        "edit        12.3 ms   ≤ 25 ms   PASS     watch\n"
        "size | all  13 KiB    ≤ 12 KiB  FAIL     JSON\n"
        "start       500 ms    -         -        median of 5\n"
    )


def test_no_terminal_gets_the_plain_table() -> None:
    out = StringIO()

    table.show(ROWS, out)

    assert out.getvalue() == table.plain(ROWS)


def test_a_terminal_gets_colour_unless_nobody_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, grey = Terminal(), Terminal()
    table.show(ROWS, coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    table.show(ROWS, grey)

    assert "\x1b[32mPASS" in coloured.getvalue()
    assert "\x1b[3" not in grey.getvalue()
    assert "FAIL" in grey.getvalue()


def test_results_say_what_was_measured_on_what_and_how_it_came_out() -> None:
    lines = table.markdown(ROWS, AROUND, {"edits": 0.5, "rest": 0.01}).splitlines()

    assert lines[0] == "# Figures"
    assert "- date: 2026-01-02" in lines
    assert "- command: `make bench`" in lines
    assert "- nodetruth: 0.1.0, commit abc" in lines
    assert "- Kubernetes: v1.37.2" in lines
    assert "- Python: CPython 3.11.7" in lines
    assert "- kernel: Linux 6.18" in lines
    assert "- CPU: 2 x AMD EPYC" in lines
    assert "- cores at other work meanwhile: edits 0.50, rest 0.01" in lines
    assert "| edit | 12.3 ms | ≤ 25 ms | PASS | watch |" in lines
    assert "| size \\| all | 13 KiB | ≤ 12 KiB | FAIL | JSON |" in lines
    assert "| start | 500 ms | - | - | median of 5 |" in lines
    assert "## Notes" in lines
