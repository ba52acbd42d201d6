"""Let a test change what a driver says while a process talks to it."""

import copy
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.nvml.build import library
from tests.nvml.scenario import ScenarioError, compile_scenario
from tests.nvml.spelling import address

VARIABLE = "NVML_STANDIN_SCENARIO"


class Scene:
    """A scenario on its way: a file for the stand-in, and the library that reads it.

    Faults that let calls pass (``after``) count anew with every change.
    """

    def __init__(self, source: Path | Mapping[str, Any], flat: Path) -> None:
        given = source if isinstance(source, Mapping) else tomllib.loads(source.read_text())
        self.tree: dict[str, Any] = copy.deepcopy(dict(given))
        self.flat = flat
        self.missing = compile_scenario(source, flat)

    @property
    def library(self) -> Path:
        """The library to load: without the functions that this driver lacks."""
        return library(self.missing)

    def environ(self) -> dict[str, str]:
        """Return the environment in which a process finds this driver, and no other."""
        found = {VARIABLE: str(self.flat), "LD_LIBRARY_PATH": str(self.library.parent)}
        return {**os.environ, **found}

    def change(self, **fields: Any) -> None:
        """Say something else of the system, e.g. ``errors=[...]`` or ``gpus=[]``."""
        tree = {**self.tree, **fields}
        if tuple(tree.get("missing", ())) != self.missing:
            raise ScenarioError("scene", ["missing can't change in a loaded library; start anew"])
        compile_scenario(tree, self.flat)
        self.tree = tree

    def change_card(self, pci: str, **fields: Any) -> None:
        """Say something else of one card, e.g. ``lost=True``; the others stay as they are."""
        at, gpus = address(pci), []
        for gpu in self.tree.get("gpus", ()):
            alike = [gpu["pci"]] if isinstance(gpu["pci"], str) else gpu["pci"]
            others = [place for place in alike if address(place) != at]
            gpus += [{**gpu, "pci": others}] if others else []
            if len(others) < len(alike):
                gpus.append({**gpu, "pci": at, **fields})
        if not any(gpu["pci"] == at for gpu in gpus):
            raise ScenarioError("scene", [f"there is no card at {pci}; one of the scenario's"])
        self.change(gpus=gpus)
