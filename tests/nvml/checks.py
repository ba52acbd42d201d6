"""Say what a scenario asks for that cannot be. Pure.

Each complaint names the field, what is wrong with it, and the way out.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from tests.nvml.answers import ERRORS
from tests.nvml.build import functions
from tests.nvml.products import PRODUCTS
from tests.nvml.spelling import Answer, address
from tests.nvml.tables import Fault, Gpu, Scenario


def complaints(scenario: Scenario) -> Iterator[str]:
    """Return every complaint; none means that the scenario can be written down."""
    yield from in_common("", scenario.errors, scenario.answers)
    for number, name in enumerate(scenario.missing):
        yield from unknown_call(f"missing[{number}]", name)
    for number, gpu in enumerate(scenario.gpus):
        for check in CHECKS:
            yield from (f"gpus[{number}].{said}" for said in check(gpu))
    yield from doubled(scenario)


def in_common(before: str, faults: tuple[Fault, ...], answers: dict[str, Answer]) -> Iterator[str]:
    """Check what the system and a card both have."""
    for number, fault in enumerate(faults):
        yield from (f"{before}errors[{number}].{said}" for said in misfault(fault))
    for call, answer in answers.items():
        yield from unknown_call(f"{before}answers", call)
        if any(ord(character) > 0xFF for character in str(answer)):
            yield f"{before}answers.{call} has a character that is no byte; write bytes as \\u00XX"


def misfault(fault: Fault) -> Iterator[str]:
    """Check a fault: a call that there is, and one thing that goes wrong with it."""
    if fault.call != "*":
        yield from unknown_call("call", fault.call)
    if (fault.error is not None) + fault.hang + fault.crash != 1:
        yield "call goes wrong in no way or in two; give one of error, hang = true, crash = true"
    yield from misnamed("error", fault.error)


def misnamed(field: str, error: str | int | None) -> Iterator[str]:
    """Check the name or number of an NVML error; success is none."""
    if isinstance(error, str) and error not in ERRORS:
        yield f"{field} {error!r} is no NVML error; one of {', '.join(sorted(ERRORS))}"
    if isinstance(error, int) and error <= 0:
        yield f"{field} {error} is no NVML error; give a number above 0"


def unknown_call(field: str, call: str) -> Iterator[str]:
    """Check that the stand-in has a function."""
    if call not in functions():
        yield f"{field} {call!r} is no function of the stand-in; add a row to functions.h"


def product(gpu: Gpu) -> Iterator[str]:
    """Check that the product is one that we have facts about."""
    if gpu.product not in PRODUCTS:
        yield f"product {gpu.product!r} is not in products.toml; add it there, or take another"


def places(gpu: Gpu) -> Iterator[str]:
    """Check the addresses, and that what can be one card's alone is said of one."""
    for at in [gpu.pci] if isinstance(gpu.pci, str) else gpu.pci:
        try:
            address(at)
        except ValueError as err:
            yield f"pci {err}"
    if isinstance(gpu.pci, tuple) and len(gpu.pci) != 1 and (gpu.uuid or gpu.serial):
        yield "uuid or serial would be shared by several cards; give the card a table of its own"


def capable(gpu: Gpu) -> Iterator[str]:
    """Check that the product can do what its card does."""
    known = PRODUCTS.get(gpu.product)
    if known is None:
        return
    if gpu.fabric and not known.fabric:
        yield f"fabric: {gpu.product} joins none; remove it"
    if gpu.fabric and gpu.fabric.status:
        yield from misnamed("fabric.status", gpu.fabric.status)
    if gpu.mig and not known.mig:
        yield f"mig: {gpu.product} can't be cut; remove it, or take a product that can"
    elif gpu.mig and known.mig and len(gpu.mig.each()) > known.mig.instances:
        yield f"mig.instances are too many; {gpu.product} has at most {known.mig.instances}"
    if gpu.mig and gpu.mig.instances and not gpu.mig.enabled:
        yield "mig.instances while the mode is off; say enabled = true, or remove them"


def scripts(gpu: Gpu) -> Iterator[str]:
    """Check a card's faults and answers."""
    return in_common("", gpu.errors, gpu.answers)


CHECKS: Final[tuple[Callable[[Gpu], Iterator[str]], ...]] = (product, places, capable, scripts)


def doubled(scenario: Scenario) -> Iterator[str]:
    """Check that no two cards are in one place."""
    try:
        places = Counter(chain.from_iterable(gpu.addresses() for gpu in scenario.gpus))
    except ValueError:
        return  # Said already.
    for at in sorted(place for place, cards in places.items() if cards > 1):
        yield f"gpus[].pci {at} is given more than once; a place holds one card"
