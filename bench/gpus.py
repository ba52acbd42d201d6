"""What does an agent cost on a machine of eight GPUs, with the process that reads their driver?

The driver is the stand-in of the tests behind the real pynvml: what NVIDIA's
own library holds and computes comes on top, and is measured by nobody here.
"""

from pathlib import Path
from typing import Final

from bench import idle
from bench.resident import Given, Resident, Rest
from bench.row import MIB, Row
from bench.scraped import MILLICORES, SCRAPE
from tests.nvml import bus
from tests.nvml.scene import VARIABLE, Scene

CARDS: Final = tuple(f"0000:{bus:02x}:00.0" for bus in range(8))
PRODUCT: Final = "NVIDIA H100 80GB HBM3"
MILLI: Final = 1000.0


def given(folder: Path) -> Given:
    """Make the driver; return the settings and the environment in which the agent finds it."""
    scene = Scene({"gpus": [{"product": PRODUCT, "pci": list(CARDS)}]}, folder / "nvml.flat")
    return {"gpu": {"library": str(scene.library)}}, {VARIABLE: str(scene.flat)}


def plug(machine: Path) -> None:
    """Put the cards on the bus of a machine that is a folder."""
    bus.plug(machine, CARDS)


def rows(rest: Rest) -> list[Row]:
    """Return what the agent and its child hold and compute, and that they ask no more."""
    window = f"{rest.seconds:.0f} s, /metrics each {SCRAPE} s, stand-in driver"
    polled = [
        Row(figure=f"8 GPUs, {row.figure}", value=row.value, limit=row.limit, how=row.how)
        for row in idle.requests(rest)
        if row.limit == 0
    ]
    return [
        Row(
            figure="8 GPUs: memory of agent and child, PSS",
            value=rest.memory.tree_alone / MIB,
            unit="MiB",
            limit=55,
            how="each page once, as on a node without other Pythons",
        ),
        Row(
            figure="8 GPUs: memory of the agent alone, RSS",
            value=rest.memory.rss / MIB,
            unit="MiB",
            limit=36,
            how="smaps_rollup at the end of the same window",
        ),
        Row(
            figure="8 GPUs: CPU of agent and child",
            value=rest.cpu / rest.seconds * MILLI,
            unit="millicores",
            limit=MILLICORES,
            how=window,
        ),
        *polled,
    ]


RESIDENT: Final = Resident(node="gpus", rows=rows, scrape=SCRAPE, given=given, plug=plug)
