"""Let the real pynvml of this process talk to a driver that a test makes up."""

import _ctypes
from collections.abc import Callable, Iterator
from ctypes import CDLL
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.nvml.products import pynvml
from tests.nvml.scene import VARIABLE, Scene

Start: TypeAlias = Callable[..., Scene]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return what loads a driver into pynvml; nothing is initialised yet.

    The library is closed again: by its name, a later test's CDLL would find it.
    """
    loaded: list[CDLL] = []

    def started(**tree: Any) -> Scene:
        scene = Scene(tree, tmp_path / "nvml.flat")
        monkeypatch.setenv(VARIABLE, str(scene.flat))
        loaded.append(CDLL(str(scene.library)))
        monkeypatch.setattr(pynvml, "nvmlLib", loaded[-1])
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        return scene

    yield started
    for library in loaded:
        _ctypes.dlclose(library._handle)


@pytest.fixture
def start(load: Start) -> Start:
    """Return what loads a driver and initialises it."""

    def started(**tree: Any) -> Scene:
        scene = load(**tree)
        pynvml.nvmlInit()
        return scene

    return started
