"""Look once, and show what the Node would say; nothing is written anywhere."""

import socket
from datetime import UTC, datetime
from threading import Event
from typing import Final

from agent.machine import Machine, boot_id
from agent.newest import Newest, Task
from agent.schedule import Schedule
from agent.settings import Settings
from agent.show import Said, show
from labeler.desired import Recall, desired
from labeler.evidence import Evidence
from labeler.seen import Seen

TICK: Final = 2.0
"""Seconds between two looks at whether every probe has answered."""


def probe(settings: Settings, output: str) -> int:
    """Look once and show what the Node would say; nothing is written anywhere."""
    machine = Machine(settings)
    newest = look(machine.tasks)
    machine.close()
    now = Evidence(boot=boot_id(settings.roots), uid="")
    seen = Seen(name=socket.gethostname(), uid="", version="")
    facts = newest.facts()
    policy = settings.policy()
    want = desired(facts, Recall(now), seen, policy, datetime.now(UTC))
    faults = machine.shelf.listing.faults if machine.shelf else {}
    notes = tuple(f"dataset {name}: not counted, {why}" for name, why in sorted(faults.items()))
    show(Said(f"Node {seen.name} would say", want, facts, policy, notes=notes), output)
    return 0


def look(jobs: tuple[Task, ...]) -> Newest:
    """Run every probe once, side by side, and wait for answers or deadlines."""
    changed = Event()
    newest = Newest(jobs, changed.set)
    schedule = Schedule(newest, jobs, lambda _probe: None)
    schedule.start()
    while not newest.complete():
        changed.wait(min(newest.patience(), TICK))
        changed.clear()
    schedule.stop()
    return newest
