"""A helper process that hangs, crashes or babbles costs one answer, never the agent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.child import ENDS, HOUR, PATIENCE, Child, ChildError, ChildHung
from tests.agent.clock import Clock

ECHO = "for line in sys.stdin: print(os.getpid(), line, end='', flush=True)"

SLOW = """
for line in sys.stdin:
    if {word!r} in line:
        time.sleep({seconds})
    print(line, end="", flush=True)
"""


@contextmanager
def helper(program: str, *lost: list[str], clock: Clock | None = None) -> Iterator[Child]:
    command = [sys.executable, "-I", "-c", f"import os, signal, sys, time\n{program}"]
    notes = lost[0] if lost else []
    child = Child(command, notes.append, clock or time.monotonic)
    try:
        yield child
    finally:
        child.stop()


def test_a_question_is_answered_by_one_process_for_all() -> None:
    with helper(ECHO) as child:
        first, second = child.ask(b"one", 5).split(), child.ask(b"two", 5).split()

    assert first == [second[0], b"one"]
    assert second[1] == b"two"


def test_nothing_runs_before_the_first_question_and_after_the_end() -> None:
    with helper(ECHO) as child:
        assert child.pid is None
        child.ask(b"one", 5)
        pid = child.pid
        assert pid
        child.stop()
        assert child.pid is None

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_hangs_is_ended_and_the_next_question_finds_another() -> None:
    lost: list[str] = []
    with helper(SLOW.format(word="two", seconds=60), lost) as child:
        child.ask(b"one", 5)
        before = child.pid
        with pytest.raises(ChildError, match=r"^no answer within the deadline$"):
            child.ask(b"two", 0.2)

        assert child.ask(b"three", 5) == b"three\n"
        assert child.pid != before
    assert lost == ["hung"]


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    with helper(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLOW.format(word="two", seconds=60)
    ) as child:
        child.ask(b"one", 5)
        pid = child.pid
        assert pid
        begun = time.monotonic()
        with pytest.raises(ChildError):
            child.ask(b"two", 0.1)

        assert time.monotonic() - begun < 0.1 + 4 * PATIENCE
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_process_is_ended_three_times_an_hour_and_then_left_alone() -> None:
    clock, lost = Clock(), list[str]()
    with helper("time.sleep(60)", lost, clock=clock) as child:
        for _ in range(ENDS):
            with pytest.raises(ChildHung):
                child.ask(b"?", 0.1)
            assert child.pid is None
        for _ in range(2):
            with pytest.raises(ChildHung):
                child.ask(b"?", 0.1)
            assert child.pid
        clock.now += HOUR
        with pytest.raises(ChildHung):
            child.ask(b"?", 0.1)

        assert child.pid is None
    assert lost == ["hung"] * (ENDS + 1)


def test_a_late_answer_is_not_taken_for_that_of_the_next_question() -> None:
    with helper(SLOW.format(word="slow", seconds=0.4), clock=Clock()) as child:
        for _ in range(ENDS):
            with pytest.raises(ChildHung):
                child.ask(b"slow", 0.2)
        with pytest.raises(ChildHung):
            child.ask(b"slow", 0.2)

        assert child.ask(b"fast", 5) == b"fast\n"


def test_a_process_that_was_killed_between_two_questions_comes_back_unnoticed() -> None:
    lost: list[str] = []
    with helper(ECHO, lost) as child:
        child.ask(b"one", 5)
        assert child.pid
        os.kill(child.pid, signal.SIGKILL)

        assert child.ask(b"two", 5).endswith(b"two\n")
    assert lost == ["died"]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
        ("sys.exit(3)", "ended with 3"),
        ("sys.stdin.readline(); os.abort()", "was killed by SIGABRT"),
        ("os.close(1); time.sleep(60)", "was killed by SIGKILL"),
    ],
)
def test_a_process_that_dies_of_every_question_is_asked_twice(program: str, why: str) -> None:
    lost: list[str] = []
    with helper(program, lost) as child:
        with pytest.raises(ChildError, match=f"^the process that reads the driver {why}$"):
            child.ask(b"?", 5)
    assert lost == ["died", "died"]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("while True: os.write(1, b'x' * 65536)", "more than 1048576 bytes in one answer"),
        ("print('a\\nb', flush=True); time.sleep(60)", "more than one answer"),
    ],
)
def test_a_process_that_babbles_is_ended(program: str, why: str) -> None:
    lost: list[str] = []
    with helper(program, lost) as child:
        with pytest.raises(ChildError, match=f"babbles: {why}$"):
            child.ask(b"?", 5)
    assert lost == ["garbage"]


def test_a_closed_child_is_not_started_again() -> None:
    with helper(ECHO) as child:
        child.ask(b"one", 5)
        child.close()

        with pytest.raises(ChildError, match="the agent ends"):
            child.ask(b"two", 5)


def test_a_process_that_dies_while_it_owes_an_answer_is_replaced_for_the_next_question(
    tmp_path: Path,
) -> None:
    lost, flag = list[str](), tmp_path / "well"
    program = f"if os.path.exists({str(flag)!r}):\n {ECHO}\ntime.sleep(60)"
    with helper(program, lost, clock=Clock()) as child:
        for _ in range(ENDS + 1):
            with pytest.raises(ChildHung):
                child.ask(b"?", 0.2)
        flag.touch()
        assert child.pid
        os.kill(child.pid, signal.SIGKILL)

        assert child.ask(b"one", 5).endswith(b"one\n")
    assert lost == [*["hung"] * ENDS, "died"]


def test_a_child_that_is_closed_while_it_starts_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen
    with helper("time.sleep(60)") as child:

        def closing(*args: Any, **more: Any) -> subprocess.Popen[bytes]:
            child.close()
            return start(*args, **more)

        monkeypatch.setattr(subprocess, "Popen", closing)
        begun = time.monotonic()

        with pytest.raises(ChildError, match="the agent ends"):
            child.ask(b"?", 5)
        assert time.monotonic() - begun < 1


@pytest.fixture
def unending(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let no process be gone, as one that the driver does not let go of; until it is undone."""
    monkeypatch.setattr(Child, "_gone", lambda _self: None)
    return monkeypatch


def test_beside_a_process_that_cannot_be_ended_no_other_is_started(
    unending: pytest.MonkeyPatch,
) -> None:
    """Its ends of the pipes are closed before it hangs in closing the driver."""
    lost: list[str] = []
    with helper("os.close(1); time.sleep(60)", lost) as child:
        pids = set()
        for _ in range(3):
            with pytest.raises(ChildError, match="can't be ended"):
                child.ask(b"?", 5)
            pids.add(child.pid)
        unending.undo()

    assert len(pids) == 1
    assert lost == ["stuck"]


def test_a_process_that_cannot_be_stopped_is_kept_until_it_is_gone(
    unending: pytest.MonkeyPatch,
) -> None:
    with helper(ECHO) as child:
        child.ask(b"one", 5)
        before = child.pid
        child.stop()
        assert child.pid == before
        unending.undo()

        assert child.ask(b"two", 5).endswith(b"two\n")
        assert child.pid != before
