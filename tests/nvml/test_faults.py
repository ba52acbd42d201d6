"""What pynvml hears when something is wrong: with a call, a card, a driver."""

from collections.abc import Callable
from ctypes import c_void_p, cast
from typing import Any

import pytest

from tests.nvml.conftest import Start
from tests.nvml.products import pynvml
from tests.nvml.scenario import ScenarioError

TWO = [{"product": "Tesla T4", "pci": ["03:00.0", "04:00.0"]}]


def name(index: int) -> str:
    return str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index)))


@pytest.mark.parametrize(
    "error", ["DriverNotLoaded", "LibRmVersionMismatch", "NoPermission", "Unknown", 42]
)
def test_a_driver_may_refuse_to_start(load: Start, error: str | int) -> None:
    load(errors=[{"call": "nvmlInitWithFlags", "error": error}])

    with pytest.raises(pynvml.NVMLError) as caught:
        pynvml.nvmlInit()

    assert type(caught.value).__name__ in {f"NVMLError_{error}", "NVMLError"}
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()


def test_nothing_is_said_before_init_and_after_shutdown(load: Start) -> None:
    load(gpus=TWO)
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()

    pynvml.nvmlInit()
    pynvml.nvmlInit()
    pynvml.nvmlShutdown()
    counted = pynvml.nvmlDeviceGetCount()
    pynvml.nvmlShutdown()

    assert counted == 2, "init is counted"
    for call in (pynvml.nvmlDeviceGetCount, pynvml.nvmlShutdown):
        with pytest.raises(pynvml.NVMLError_Uninitialized):
            call()


@pytest.mark.parametrize("handle", [None, 1, 0xDEAD0000])
def test_what_is_no_handle_is_refused(start: Start, handle: int | None) -> None:
    start(gpus=TWO)

    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetName(c_void_p(handle))


@pytest.mark.parametrize("step", [-1, 1, 1 << 12])
def test_what_is_near_a_handle_is_none(start: Start, step: int) -> None:
    start(gpus=[{**TWO[0], "pci": "03:00.0"}])
    near = cast(pynvml.nvmlDeviceGetHandleByIndex(0), c_void_p).value or 0

    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetName(c_void_p(near + step))


CALLS: dict[str, Callable[[Any], Any]] = {
    "a name": pynvml.nvmlDeviceGetName,
    "what it does not support": pynvml.nvmlDeviceGetMigMode,
    "a structure": pynvml.nvmlDeviceGetMemoryInfo,
    "a handle by index": lambda _: pynvml.nvmlDeviceGetHandleByIndex(0),
    "a handle by address": lambda _: pynvml.nvmlDeviceGetHandleByPciBusId("03:00.0"),
    "a handle by UUID": lambda _: pynvml.nvmlDeviceGetHandleByUUID("GPU-1"),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_call_of_a_lost_card_says_that_it_is_lost(start: Start, call: str) -> None:
    lost = {"product": "Tesla T4", "pci": "03:00.0", "uuid": "GPU-1"}
    scene = start(gpus=[lost, {"product": "NVIDIA L4", "pci": "04:00.0"}])
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    CALLS["a name"](handle)

    scene.change_card("03:00.0", lost=True)

    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        CALLS[call](handle)
    assert pynvml.nvmlDeviceGetCount() == 2
    assert name(1) == "NVIDIA L4"


def test_a_hidden_card_is_on_the_bus_alone(start: Start) -> None:
    hidden = {"product": "NVIDIA L4", "pci": "03:00.0", "hidden": True}
    start(gpus=[hidden, {"product": "Tesla T4", "pci": "04:00.0"}])

    assert pynvml.nvmlDeviceGetCount() == 1
    assert name(0) == "Tesla T4"
    assert pynvml.nvmlDeviceGetMinorNumber(pynvml.nvmlDeviceGetHandleByIndex(0)) == 1
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByPciBusId("03:00.0")


def test_a_handle_of_a_card_that_is_gone_says_that_it_is_lost(start: Start) -> None:
    scene = start(gpus=TWO)
    handle = pynvml.nvmlDeviceGetHandleByIndex(1)

    scene.change(gpus=[{"product": "Tesla T4", "pci": "03:00.0"}])

    assert pynvml.nvmlDeviceGetCount() == 1
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetName(handle)


def test_a_fault_waits_for_its_turn(start: Start) -> None:
    fault = {"call": "nvmlDeviceGetName", "error": "ResetRequired", "after": 2}
    start(gpus=[{**TWO[0], "pci": "03:00.0", "errors": [fault]}, {**TWO[0], "pci": "04:00.0"}])

    assert [name(0), name(1), name(0), name(1)] == ["Tesla T4"] * 4
    for _ in range(2):
        with pytest.raises(pynvml.NVMLError_ResetRequired):
            name(0)
    assert name(1) == "Tesla T4"


def test_a_fault_of_the_system_strikes_every_card(start: Start) -> None:
    scene = start(gpus=TWO)
    assert name(0) == name(1) == "Tesla T4"

    scene.change(errors=[{"call": "nvmlDeviceGetName", "error": "NoPermission"}])
    for index in range(2):
        with pytest.raises(pynvml.NVMLError_NoPermission):
            name(index)
    scene.change(errors=[])

    assert name(0) == name(1) == "Tesla T4"


def test_a_change_is_heard_at_once(start: Start) -> None:
    """However soon it comes after another of the same size."""
    scene = start(gpus=[{**TWO[0], "pci": "03:00.0"}])
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    said = [f"GPU-{number:03}" for number in range(100)]

    def heard(uuid: str) -> str:
        scene.change_card("03:00.0", uuid=uuid)
        return str(pynvml.nvmlDeviceGetUUID(handle))

    assert [heard(uuid) for uuid in said] == said


def test_a_driver_s_words_may_be_no_text(start: Start) -> None:
    """And pynvml lets out what is no error of NVML at all."""
    start(gpus=[{**TWO[0], "pci": "03:00.0", "answers": {"nvmlDeviceGetName": "T4 \xff\x01%\t"}}])
    function = pynvml._nvmlGetFunctionPointer("nvmlDeviceGetName")
    buffer = bytes(range(16)) + b"\0"

    assert function(pynvml.nvmlDeviceGetHandleByIndex(0), buffer, len(buffer)) == 0
    assert buffer.startswith(b"T4 \xff\x01%\t\0")
    with pytest.raises(UnicodeDecodeError):
        name(0)


def test_an_older_driver_lacks_a_function(start: Start) -> None:
    scene = start(gpus=TWO, missing=["nvmlDeviceGetName", "nvmlDeviceGetGpuFabricInfoV"])
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)

    with pytest.raises(pynvml.NVMLError_FunctionNotFound):
        pynvml.nvmlDeviceGetName(handle)
    assert pynvml.nvmlDeviceGetIndex(handle) == 0
    with pytest.raises(ScenarioError, match="missing can't change in a loaded library"):
        scene.change(missing=[])


def test_the_library_puts_every_error_into_words(start: Start) -> None:
    start()
    wording = [pynvml.nvmlErrorString(number) for number in (*range(31), 999)]

    assert len(set(wording)) == 32
    assert (wording[15], wording[-1]) == ("GPU is lost", "Unknown Error")
