"""What the real pynvml hears from the stand-in of a driver that works."""

from collections.abc import Callable
from ctypes import byref, c_uint, create_string_buffer
from typing import Any

import pytest

from tests.nvml.conftest import Start
from tests.nvml.products import PRODUCTS, pynvml

H100 = "NVIDIA H100 80GB HBM3"
MIB = 1 << 20


def names() -> list[str]:
    handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
    return [pynvml.nvmlDeviceGetName(handle) for handle in handles]


def buses(count: int) -> list[str]:
    return [f"0000:{bus:02x}:00.0" for bus in range(1, 1 + count)]


@pytest.mark.parametrize("name", PRODUCTS)
def test_every_product_says_what_its_table_says(start: Start, name: str) -> None:
    product = PRODUCTS[name]
    start(gpus=[{"product": name, "pci": "1b:00.0"}])

    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    place = pynvml.nvmlDeviceGetPciInfo(card)
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(card)

    assert pynvml.nvmlDeviceGetName(card) == name
    assert pynvml.nvmlDeviceGetMemoryInfo(card).total == product.memory * MIB
    assert pynvml.nvmlDeviceGetArchitecture(card) == product.constant("DEVICE_ARCH")
    assert pynvml.nvmlDeviceGetBrand(card) == product.constant("BRAND")
    assert f"{major}.{minor}" == product.compute
    assert place.pciDeviceId == product.pci << 16 | 0x10DE
    assert (place.busId, place.busIdLegacy) == ("00000000:1B:00.0", "0000:1B:00.0")
    assert (place.domain, place.bus, place.device) == (0, 0x1B, 0)


@pytest.mark.parametrize("count", [0, 1, 8, 16])
def test_a_machine_has_as_many_cards_as_it_has_addresses(start: Start, count: int) -> None:
    start(gpus=[{"product": H100, "pci": buses(count)}])

    cards = list(map(pynvml.nvmlDeviceGetHandleByIndex, range(count)))

    assert pynvml.nvmlDeviceGetCount() == count
    assert names() == [H100] * count
    assert len(set(map(pynvml.nvmlDeviceGetUUID, cards))) == count
    assert len(set(map(pynvml.nvmlDeviceGetSerial, cards))) == count
    assert list(map(pynvml.nvmlDeviceGetIndex, cards)) == list(range(count))
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetHandleByIndex(count)


def test_cards_are_counted_in_the_order_of_the_bus(start: Start) -> None:
    start(
        gpus=[
            {"product": H100, "pci": ["0000:c1:00.0", "0000:03:00.0"]},
            {"product": "Tesla T4", "pci": "0000:21:00.0"},
        ]
    )

    assert names() == [H100, "Tesla T4", H100]


def test_the_system_says_its_versions(start: Start) -> None:
    start(driver="550.54.15", cuda="12.4")

    assert pynvml.nvmlSystemGetDriverVersion() == "550.54.15"
    assert pynvml.nvmlSystemGetNVMLVersion() == "12.550.54.15"
    assert pynvml.nvmlSystemGetCudaDriverVersion_v2() == 12040


@pytest.mark.parametrize("said", ["0000:1b:00.0", "00000000:1B:00.0", "1b:00.0", "0:1b:0"])
def test_a_card_is_found_by_each_spelling_of_its_address(start: Start, said: str) -> None:
    start(gpus=[{"product": H100, "pci": "1b:00.0", "uuid": "GPU-1"}])

    assert pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByPciBusId(said)) == "GPU-1"


@pytest.mark.parametrize(
    ("said", "error"),
    [("1c:00.0", "NotFound"), ("0001:1b:00.0", "NotFound"), ("1b:00.0!", "InvalidArgument")],
)
def test_what_is_no_card_s_address_is_refused(start: Start, said: str, error: str) -> None:
    start(gpus=[{"product": H100, "pci": "1b:00.0"}])

    with pytest.raises(getattr(pynvml, f"NVMLError_{error}")):
        pynvml.nvmlDeviceGetHandleByPciBusId(said)


def test_a_card_is_found_by_its_uuid(start: Start) -> None:
    start(gpus=[{"product": H100, "pci": "1b:00.0", "uuid": "GPU-1", "serial": "42"}])

    assert pynvml.nvmlDeviceGetSerial(pynvml.nvmlDeviceGetHandleByUUID("GPU-1")) == "42"
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID("GPU-2")


def test_an_idle_card_says_so(start: Start) -> None:
    start(gpus=[{"product": H100, "pci": "1b:00.0"}])
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    memory = pynvml.nvmlDeviceGetMemoryInfo(card, version=pynvml.nvmlMemory_v2)

    assert memory.total == memory.free + memory.reserved
    assert pynvml.nvmlDeviceGetMemoryInfo(card).used == memory.reserved, "the old call's trap"
    assert pynvml.nvmlDeviceGetComputeRunningProcesses(card) == []
    assert pynvml.nvmlDeviceGetEccMode(card) == [1, 1]
    assert pynvml.nvmlDeviceGetPersistenceMode(card) == 1
    assert pynvml.nvmlDeviceGetTemperature(card, pynvml.NVML_TEMPERATURE_GPU) == 35
    assert pynvml.nvmlDeviceGetCurrPcieLinkGeneration(card) == 5
    assert pynvml.nvmlDeviceGetMaxPcieLinkWidth(card) == 16
    assert pynvml.nvmlDeviceGetNvLinkState(card, 17) == 1
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetNvLinkState(card, 18)


def test_a_card_without_mig_fabric_or_nvlink_supports_none_of_them(start: Start) -> None:
    start(gpus=[{"product": "Tesla T4", "pci": "1b:00.0"}])
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    calls: list[Callable[[], Any]] = [
        lambda: pynvml.nvmlDeviceGetMigMode(card),
        lambda: pynvml.nvmlDeviceGetNvLinkState(card, 0),
        lambda: pynvml.nvmlDeviceGetGpuFabricInfoV(card, byref(pynvml.c_nvmlGpuFabricInfo_v3_t())),
    ]

    for call in calls:
        with pytest.raises(pynvml.NVMLError_NotSupported):
            call()
    assert pynvml.nvmlDeviceGetMaxMigDeviceCount(card) == 0


def test_an_address_is_spelt_with_all_its_digits(start: Start) -> None:
    start(gpus=[{"product": H100, "pci": "10000:1b:1f.0"}])

    place = pynvml.nvmlDeviceGetPciInfo(pynvml.nvmlDeviceGetHandleByIndex(0))

    assert place.busId == "00010000:1B:1F.0"
    assert (place.domain, place.device) == (0x10000, 0x1F)


def test_a_buffer_that_is_too_short_is_left_alone(start: Start) -> None:
    start(gpus=[{"product": "Tesla T4", "pci": "1b:00.0"}])
    function = pynvml._nvmlGetFunctionPointer("nvmlDeviceGetName")
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    buffer = create_string_buffer(b"........")

    short = function(card, buffer, c_uint(8))
    enough = function(card, create_string_buffer(9), c_uint(9))

    assert (short, enough) == (pynvml.NVML_ERROR_INSUFFICIENT_SIZE, pynvml.NVML_SUCCESS)
    assert buffer.value == b"........"
