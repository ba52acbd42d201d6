"""When a fact counts and when no longer, by a clock that moves only when told."""

import pytest

from agent.newest import STALE, Newest
from labeler.facts import Facts, Known, Memory, Probe, Unknown
from tests.agent.clock import AMD, DEADLINE, INTEL, LATE, PERIOD, Clock, task


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_probe_that_may_still_answer_is_absent(clock: Clock) -> None:
    newest = Newest([task(lambda: INTEL)], clock=clock)

    clock.now += DEADLINE - 0.001

    assert newest.facts() == {}
    assert not newest.complete()
    assert newest.age(Probe.CPU) is None


def test_a_probe_that_never_ran_is_unknown_at_its_deadline(clock: Clock) -> None:
    newest = Newest([task(lambda: INTEL)], clock=clock)

    clock.now += DEADLINE

    assert newest.facts() == {Probe.CPU: LATE}
    assert newest.complete()


def test_a_probe_that_hangs_turns_unknown_exactly_at_its_deadline(clock: Clock) -> None:
    """Seen from inside the look, which is how a hung one stays."""
    answers = iter([INTEL, AMD])
    seen: list[Facts] = []

    def look() -> Known:
        answer = next(answers)
        for step in (0.0, DEADLINE - 0.001, 0.001, 1000.0) if answer is AMD else ():
            clock.now += step
            seen.append(newest.facts())
        return answer

    newest = Newest([task(look)], clock=clock)
    newest.ask(Probe.CPU)
    clock.now += PERIOD
    newest.ask(Probe.CPU)

    assert [facts[Probe.CPU] for facts in seen] == [INTEL, INTEL, LATE, LATE]
    assert newest.facts() == {Probe.CPU: AMD}, "a late answer counts again"


def test_a_first_answer_that_is_late_counts_and_is_told(clock: Clock) -> None:
    told: list[Facts] = []

    def look() -> Known:
        clock.now += DEADLINE + 1
        return INTEL

    newest = Newest([task(look)], lambda: told.append(newest.facts()), clock=clock)
    newest.ask(Probe.CPU)

    assert told == [{Probe.CPU: INTEL}]


def test_an_answer_that_nobody_renews_goes_stale_after_three_periods(clock: Clock) -> None:
    newest = Newest([task(lambda: INTEL)], clock=clock)
    newest.ask(Probe.CPU)

    clock.now += STALE * PERIOD
    fresh = newest.facts()
    clock.now += 0.001
    stale = newest.facts()

    assert fresh == {Probe.CPU: INTEL}
    assert stale == {Probe.CPU: Unknown("not looked at for 3 periods of 60 s")}


def test_a_fact_that_had_gone_stale_is_told_when_it_returns(clock: Clock) -> None:
    told: list[str] = []
    newest = Newest([task(lambda: INTEL)], lambda: told.append("changed"), clock=clock)

    newest.ask(Probe.CPU)
    clock.now += STALE * PERIOD + 1
    newest.ask(Probe.CPU)

    assert told == ["changed"] * 2


def test_one_silent_probe_hides_no_other(clock: Clock) -> None:
    memory = Memory(1 << 30)
    tasks = [task(lambda: INTEL), task(lambda: memory, Probe.MEMORY)]
    newest = Newest(tasks, clock=clock)

    newest.ask(Probe.MEMORY)
    waiting = newest.facts()
    clock.now += DEADLINE

    assert waiting == {Probe.MEMORY: memory}
    assert newest.facts() == {Probe.CPU: LATE, Probe.MEMORY: memory}


def test_patience_lasts_to_the_next_deadline_and_no_longer(clock: Clock) -> None:
    patience: list[float] = []

    def look() -> Known:
        for step in (0.0, 2.0, 3.0):
            clock.now += step
            patience.append(newest.patience())
        return INTEL

    newest = Newest([task(look)], clock=clock)
    clock.now += 1
    before = newest.patience()
    newest.ask(Probe.CPU)

    assert before == DEADLINE - 1
    assert patience == [DEADLINE, DEADLINE - 2, float("inf")]
    assert newest.patience() == PERIOD + DEADLINE


def test_a_probe_that_says_itself_that_it_was_late_is_news(clock: Clock) -> None:
    """By then the clock has said so too, but nobody looked at the clock."""
    answers: list[Known | Unknown] = [INTEL, LATE, LATE, INTEL]
    told: list[float] = []

    def look() -> Known | Unknown:
        clock.now += DEADLINE + 1
        return answers.pop(0)

    newest = Newest([task(look)], lambda: told.append(clock.now), clock=clock)
    for _ in range(4):
        newest.ask(Probe.CPU)

    first, step = 1000.0, DEADLINE + 1
    assert told == [first + step, first + 2 * step, first + 4 * step]
