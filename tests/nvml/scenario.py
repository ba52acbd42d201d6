"""Read what a machine's driver is to say, and write it down for the stand-in.

A scenario is a TOML file that people write; README.md says how. What comes out is the
flat file that standin.c describes, which appears whole: a process may be reading it.
"""

import os
import time
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.nvml import answers
from tests.nvml.checks import complaints
from tests.nvml.spelling import Answer, line
from tests.nvml.tables import Fault, Gpu, Scenario

LOST: Final = Fault(call="*", error="GpuIsLost")


class ScenarioError(ValueError):
    """A scenario says what cannot be; the message names the place, the field, the way out."""

    def __init__(self, place: str, complaints: list[str]) -> None:
        super().__init__("\n".join(f"{place}: {said}" for said in complaints))
        self.place = place
        self.complaints = complaints


def compile_scenario(source: Path | Mapping[str, Any], flat: Path) -> tuple[str, ...]:
    """Write a scenario down for the stand-in; return the functions its driver lacks."""
    scenario = read(source)
    replace(flat, "".join(lines(scenario)))
    return scenario.missing


def read(source: Path | Mapping[str, Any]) -> Scenario:
    """Read a TOML file, or a mapping as such a file holds it."""
    place = str(source) if isinstance(source, Path) else "scenario"
    try:
        if isinstance(source, Path):
            scenario = msgspec.toml.decode(source.read_bytes(), type=Scenario)
        else:
            scenario = msgspec.convert(source, type=Scenario)
    except OSError as err:
        raise ScenarioError(place, [f"can't be read: {err.strerror}; check the path"]) from err
    except msgspec.MsgspecError as err:
        raise ScenarioError(place, [f"{err}; README.md lists the fields"]) from err
    if wrong := list(complaints(scenario)):
        raise ScenarioError(place, wrong)
    return scenario


def replace(flat: Path, text: str) -> None:
    """Put a file in the place of another, never with the other's time of change."""
    partial = flat.with_name(f"{flat.name}.{os.getpid()}.partial")
    partial.write_text(text)
    now = time.time_ns()
    os.utime(partial, ns=(now, now))
    partial.rename(flat)


def lines(scenario: Scenario) -> Iterator[str]:
    """Spell the faults, then all that is said when none of them strikes."""
    cards = placed(scenario)
    yield from faulty("*", scenario.errors)
    for at, gpu in cards:
        yield from faulty(at, (LOST, *gpu.errors) if gpu.lost else gpu.errors)
    shown = [at for at, gpu in cards if not gpu.hidden]
    yield from answered("-", answers.system(scenario, shown))
    for minor, (at, gpu) in enumerate(cards):
        if not gpu.hidden:
            yield from whole(gpu, at, shown.index(at), minor)


def placed(scenario: Scenario) -> list[tuple[str, Gpu]]:
    """Return each card with its place; a driver counts them in the order of the bus."""
    cards = ((at, gpu) for gpu in scenario.gpus for at in gpu.addresses())
    return sorted(cards, key=itemgetter(0))


def whole(gpu: Gpu, at: str, index: int, minor: int) -> Iterator[str]:
    """Spell what a card says, and its MIG devices."""
    yield from answered(at, answers.card(gpu, at, index, minor))
    for number, instance in enumerate(gpu.mig.each() if gpu.mig else ()):
        yield from answered(f"{at}/{number}", answers.device(gpu, at, number, instance))


def faulty(card: str, faults: tuple[Fault, ...]) -> Iterator[str]:
    """Spell the faults of a card."""
    for fault in faults:
        outcome = "hang" if fault.hang else "crash" if fault.crash else None
        number = answers.error(fault.error) if fault.error is not None else 0
        yield line(card, fault.call, outcome=outcome or number, after=fault.after)


def answered(card: str, said: Mapping[str, Answer]) -> Iterator[str]:
    """Spell the answers of a card."""
    return (line(card, call, answer) for call, answer in said.items())
