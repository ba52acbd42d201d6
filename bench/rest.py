"""What does an agent cost while nothing changes?

Several agents rest side by side, each on a Node of its own, over one window:
what they ask of the API server, what they compute, what they hold. The first
minute does not count; it is the start.
"""

from contextlib import ExitStack
from typing import Final

from bench import gpus, idle, scraped
from bench.resident import Benched, Memory, Resident, Rest, cpu_seconds, memory
from bench.row import Row
from bench.stage import Stage
from tests.cluster.audit import AuditLine

RESIDENTS: Final[tuple[Resident, ...]] = (idle.RESIDENT, scraped.RESIDENT, gpus.RESIDENT)
"""One more is a module with a ``RESIDENT``, named here."""

START: Final = 60.0
WINDOW: Final = 600.0
"""Seconds."""
SECONDS: Final = START + WINDOW + 10
STEP: Final = 1.0
"""Seconds; those between two scrapes are a multiple."""


def measure(stage: Stage) -> list[Row]:
    """Let every resident rest; return the figures of each."""
    start, window = (15.0, 60.0) if stage.quick else (START, WINDOW)
    agents = [_agent(stage, one) for one in RESIDENTS]
    with ExitStack() as stack:
        for agent in agents:
            stack.enter_context(agent)
        for agent in agents:
            agent.wait_true()
        for _ in stage.progress.ticks(start, start):
            pass
        rests = _window(stage, agents, window)
    return [row for one, rest in zip(RESIDENTS, rests, strict=True) for row in one.rows(rest)]


def _agent(stage: Stage, one: Resident) -> Benched:
    folder = stage.folder / f"{one.node}-given"
    folder.mkdir()
    agent = stage.agent(one.node, *one.given(folder))
    one.plug(agent.folder / "machine")
    return agent


def _window(stage: Stage, agents: list[Benched], seconds: float) -> list[Rest]:
    mark = stage.plane.audit_mark()
    before = [cpu_seconds(agent.pid) for agent in agents]
    for number, _ in enumerate(stage.progress.ticks(seconds, STEP), 1):
        for one, agent in zip(RESIDENTS, agents, strict=True):
            if one.scrape and number % one.scrape == 0:
                agent.ask("/metrics")
    after = [cpu_seconds(agent.pid) for agent in agents]
    held = [memory(agent.pid) for agent in agents]
    spent = [late - early for late, early in zip(after, before, strict=True)]
    asked = [_asked(stage, agent, mark) for agent in agents]
    return [_rest(seconds, *each) for each in zip(spent, held, asked, strict=True)]


def _rest(seconds: float, cpu: float, held: Memory, asked: list[AuditLine]) -> Rest:
    return Rest(seconds=seconds, cpu=cpu, memory=held, asked=asked)


def _asked(stage: Stage, agent: Benched, mark: int) -> list[AuditLine]:
    """List what one agent asked; all share one user's name, but each token has its Node."""
    lines = stage.plane.audit(agent.username, mark)
    return [line for line in lines if line.node == agent.node]
