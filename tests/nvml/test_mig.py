"""What pynvml hears of cards that are cut into MIG devices, or could be."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.nvml.conftest import Start
from tests.nvml.products import pynvml

SEVENTH = {"profile": "1g.5gb", "memory": 4864, "count": 7}
MIB = 1 << 20


def card(**mig: Any) -> list[dict[str, Any]]:
    return [{"product": "NVIDIA A100-SXM4-40GB", "pci": "1b:00.0", "mig": mig}]


def devices(handle: Any) -> list[Any]:
    """Walk the MIG devices of a card as NVIDIA's own tools do."""
    found = []
    for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            found.append(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index))
        except pynvml.NVMLError_NotFound:
            break
    return found


def test_the_mode_is_off_unless_said(start: Start) -> None:
    start(gpus=[{"product": "NVIDIA A100-SXM4-40GB", "pci": "1b:00.0"}])
    whole = pynvml.nvmlDeviceGetHandleByIndex(0)

    assert pynvml.nvmlDeviceGetMigMode(whole) == [0, 0]
    assert pynvml.nvmlDeviceGetMaxMigDeviceCount(whole) == 0
    assert not pynvml.nvmlDeviceIsMigDeviceHandle(whole)


def test_a_mode_may_wait_for_a_reset(start: Start) -> None:
    start(gpus=card(enabled=False, pending=True))

    assert pynvml.nvmlDeviceGetMigMode(pynvml.nvmlDeviceGetHandleByIndex(0)) == [0, 1]


def test_a_card_in_the_mode_may_have_no_devices(start: Start) -> None:
    start(gpus=card(enabled=True))
    whole = pynvml.nvmlDeviceGetHandleByIndex(0)

    assert pynvml.nvmlDeviceGetMigMode(whole) == [1, 1]
    assert pynvml.nvmlDeviceGetMaxMigDeviceCount(whole) == 7
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(whole, 0)


def test_a_card_has_seven_devices_at_most(start: Start) -> None:
    start(gpus=card(enabled=True, instances=[SEVENTH]))
    whole = pynvml.nvmlDeviceGetHandleByIndex(0)

    found = devices(whole)

    assert len(found) == 7
    assert len(set(map(pynvml.nvmlDeviceGetUUID, found))) == 7
    assert len(set(map(pynvml.nvmlDeviceGetGpuInstanceId, found))) == 7
    assert set(map(pynvml.nvmlDeviceGetComputeInstanceId, found)) == {0}
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(whole, 7)


def test_a_device_says_what_it_is_and_whose(start: Start) -> None:
    start(gpus=card(enabled=True, instances=[{"profile": "3g.20gb", "memory": 19968}]))
    whole = pynvml.nvmlDeviceGetHandleByIndex(0)
    (device,) = devices(whole)

    attributes = pynvml.nvmlDeviceGetAttributes(device)
    parent = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device)

    assert pynvml.nvmlDeviceIsMigDeviceHandle(device)
    assert pynvml.nvmlDeviceGetName(device) == "NVIDIA A100-SXM4-40GB MIG 3g.20gb"
    assert pynvml.nvmlDeviceGetUUID(device).startswith("MIG-")
    assert pynvml.nvmlDeviceGetMemoryInfo(device).total == 19968 * MIB
    assert (attributes.memorySizeMB, attributes.multiprocessorCount) == (19968, 42)
    assert (attributes.gpuInstanceSliceCount, attributes.computeInstanceSliceCount) == (3, 3)
    assert pynvml.nvmlDeviceGetUUID(parent) == pynvml.nvmlDeviceGetUUID(whole)


def test_the_devices_of_a_lost_card_are_lost(start: Start) -> None:
    scene = start(gpus=card(enabled=True, instances=[SEVENTH]))
    whole = pynvml.nvmlDeviceGetHandleByIndex(0)
    device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(whole, 0)

    scene.change_card("1b:00.0", lost=True)
    calls: list[Callable[[], Any]] = [
        lambda: pynvml.nvmlDeviceGetUUID(device),
        lambda: pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device),
        lambda: pynvml.nvmlDeviceGetMigDeviceHandleByIndex(whole, 0),
        lambda: pynvml.nvmlDeviceGetMigDeviceHandleByIndex(whole, 9),
    ]

    for call in calls:
        with pytest.raises(pynvml.NVMLError_GpuIsLost):
            call()
