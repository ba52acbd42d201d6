"""The newest fact of each probe, by a clock that moves only when told."""

from collections.abc import Callable, Iterator

import pytest

from agent.newest import Newest, Task
from labeler.facts import Known, Probe, Unknown
from tests.agent.clock import AMD, INTEL, PERIOD, Clock, task


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fails(error: Exception) -> Callable[[], Known]:
    def look() -> Known:
        raise error

    return look


def test_an_answer_is_kept(clock: Clock) -> None:
    newest = Newest([task(lambda: INTEL)], clock=clock)

    newest.ask(Probe.CPU)
    clock.now += 3

    assert newest.facts() == {Probe.CPU: INTEL}
    assert newest.complete()
    assert newest.age(Probe.CPU) == 3


def test_only_what_changes_is_told(clock: Clock) -> None:
    blind = Unknown("blind")
    answers: Iterator[Known | Unknown] = iter([INTEL, INTEL, AMD, blind, blind, AMD])
    told: list[Known | Unknown] = []
    newest = Newest(
        [task(lambda: next(answers))], lambda: told.append(newest.facts()[Probe.CPU]), clock=clock
    )

    for _ in range(6):
        newest.ask(Probe.CPU)

    assert told == [INTEL, AMD, blind, AMD]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FileNotFoundError(2, "No such file or directory", "/sys/x"), "/sys/x: No such file"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (OSError("odd"), "OSError: odd"),
        (ValueError("no number"), "ValueError: no number"),
    ],
)
def test_a_probe_that_raises_is_unknown(clock: Clock, error: Exception, reason: str) -> None:
    newest = Newest([task(fails(error))], clock=clock)

    newest.ask(Probe.CPU)
    fact = newest.facts()[Probe.CPU]

    assert isinstance(fact, Unknown)
    assert fact.reason.startswith(reason)


def test_the_same_failure_twice_is_one_change(clock: Clock) -> None:
    """Its reason goes into an annotation; a number that changes would write it each time."""
    told: list[str] = []

    def look() -> Known:
        clock.now += 0.123
        raise PermissionError(13, "Permission denied", "/proc/cpuinfo")

    newest = Newest([task(look)], lambda: told.append("changed"), clock=clock)
    newest.ask(Probe.CPU)
    clock.now += PERIOD
    newest.ask(Probe.CPU)

    assert told == ["changed"]
    assert newest.facts() == {Probe.CPU: Unknown("/proc/cpuinfo: Permission denied")}


def test_an_observer_sees_each_answer_and_the_seconds_it_took(clock: Clock) -> None:
    seen: list[tuple[Probe, Known | Unknown, float]] = []

    def look() -> Known:
        clock.now += 0.25
        return INTEL

    newest = Newest([task(look)], observe=lambda *what: seen.append(what), clock=clock)
    newest.ask(Probe.CPU)

    assert seen == [(Probe.CPU, INTEL, 0.25)]


def test_a_reason_can_always_be_written_down() -> None:
    """A device may be named in bytes that are no text; what can't be sent would end the agent."""
    newest = Newest(
        [Task(probe=Probe.CPU, look=lambda: Unknown("caf\udce9"), period=9, deadline=9)]
    )

    newest.ask(Probe.CPU)

    assert newest.facts() == {Probe.CPU: Unknown("caf\\udce9")}


def test_patience_with_a_probe_that_cannot_look_yet_is_kept() -> None:
    newest = Newest([task(lambda: Unknown("no driver", 1200))])

    newest.ask(Probe.CPU)

    assert newest.facts() == {Probe.CPU: Unknown("no driver", 1200)}
