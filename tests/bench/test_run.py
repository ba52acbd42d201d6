"""The command line of the bench, and what it leaves behind."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench import node
from bench.progress import Progress, bar
from bench.row import Row
from bench.stage import Stage

GOOD = Row(figure="edit", value=12.3, unit="ms", limit=25, how="watch")
BAD = Row(figure="size", value=13, unit="KiB", limit=12, how="JSON")

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "RESULTS.md"
    monkeypatch.setattr(bench, "RESULTS", path)
    return path


def figures(monkeypatch: pytest.MonkeyPatch, **rows: Row | OSError) -> None:
    """Have these figures and no others, each of one row or one error."""

    def figure(name: str, row: Row | OSError) -> bench.Figure:
        def measure(_stage: Stage) -> list[Row]:
            if isinstance(row, OSError):
                raise row
            return [row]

        return bench.Figure(name, f"the {name}", 7, measure)

    monkeypatch.setattr(bench, "FIGURES", tuple(figure(*pair) for pair in rows.items()))


def test_without_the_agent_as_a_node_has_it_its_figures_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(node, "PYTHON", Path("/no/such/python"))

    assert bench.main(["--only", "import", "--quick"]) == 1
    words = "import: /no/such/python is not there; run `make bench`, which makes it\n"
    assert words in capsys.readouterr().err


def test_a_whole_run_shows_and_keeps_its_results(
    monkeypatch: pytest.MonkeyPatch, results: Path, capsys: Capture
) -> None:
    figures(monkeypatch, edit=GOOD)

    assert bench.main([]) == 0
    shown = capsys.readouterr()
    assert "edit    12.3 ms   ≤ 25 ms  PASS" in shown.out
    assert "edit: the edit, about 7 s" in shown.err
    assert "written: RESULTS.md" in shown.err
    assert "| edit | 12.3 ms | ≤ 25 ms | PASS | watch |" in results.read_text()


def test_a_figure_that_fails_is_kept_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    figures(monkeypatch, edit=GOOD, size=BAD)

    assert bench.main([]) == 1
    assert "| size | 13 KiB | ≤ 12 KiB | FAIL | JSON |" in results.read_text()


@pytest.mark.parametrize("arguments", [["--quick"], ["--only", "edit"]])
def test_a_part_of_a_run_keeps_nothing(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    figures(monkeypatch, edit=GOOD, size=BAD)

    assert bench.main(arguments) == (1 if "--quick" in arguments else 0)
    assert not results.exists()


def test_what_could_not_be_measured_fails_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, results: Path, capsys: Capture
) -> None:
    figures(monkeypatch, size=TimeoutError("ready: not after 30 s"), edit=GOOD)

    assert bench.main([]) == 1
    shown = capsys.readouterr()
    assert "size: ready: not after 30 s" in shown.err
    assert "the size  not measured  -        FAIL" in shown.out
    assert "edit      12.3 ms" in shown.out
    assert not results.exists()


def test_the_help_teaches(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        bench.main(["--help"])

    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "python -m bench --only edits" in text
    assert "exit codes: 0 nothing fails; 1 a figure fails" in text
    for figure in bench.FIGURES:
        assert f"  {figure.name} " in text


def test_a_busy_machine_is_told_of(capsys: Capture) -> None:
    progress = Progress(sys.stderr)

    bench.warn(bench.FIGURES[0], 0.1, progress)
    bench.warn(bench.FIGURES[0], 0.55, progress)

    told = capsys.readouterr().err
    assert told == "import: 0.55 cores were at other work; don't quote its times\n"


def test_a_figure_that_is_none_is_refused(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        bench.main(["--only", "speed"])

    assert end.value.code == 2
    assert "choose from" in capsys.readouterr().err


def test_it_is_a_module_to_run() -> None:
    command = [sys.executable, "-m", "bench", "--only", "core", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "rounds of desired and diff" in done.stdout
    assert "core: rounds a second of the pure core" in done.stderr


def test_ticks_come_and_the_rest_is_waited_out() -> None:
    out = StringIO()

    assert len(list(Progress(out).ticks(1 / 32, 1 / 128))) == 4
    assert out.getvalue() == ""


def test_a_bar_fills() -> None:
    assert bar(0, 10) == f"[{'.' * 30}]"
    assert bar(5, 10) == f"[{'#' * 15}{'.' * 15}]"
    assert bar(11, 10) == f"[{'#' * 30}]"
