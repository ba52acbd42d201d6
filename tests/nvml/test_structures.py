"""That the library and pynvml lay out the same structures, byte for byte."""

from ctypes import byref, create_string_buffer, sizeof
from typing import Any

import pytest

from tests.nvml.conftest import Start
from tests.nvml.products import pynvml

NUMBERS = tuple(range(1, 10))
STRUCTURES: dict[str, tuple[str, tuple[str | int, ...], int | None]] = {
    "nvmlDeviceGetPciInfo_v3": ("nvmlPciInfo_t", ("old", 1, 2, 3, 4, 5, "new"), None),
    "nvmlDeviceGetMemoryInfo": ("c_nvmlMemory_t", (1 << 40, 2, 3), None),
    "nvmlDeviceGetMemoryInfo_v2": ("c_nvmlMemory_v2_t", (1 << 40, 2, 3, 4), 0x2000028),
    "nvmlDeviceGetAttributes_v2": ("c_nvmlDeviceAttributes", (*NUMBERS[:8], 1 << 40), None),
    "nvmlDeviceGetGpuFabricInfoV": (
        "c_nvmlGpuFabricInfo_v3_t",
        ("0123456789abcdef", *NUMBERS[:5]),
        0x3000028,
    ),
}


def fields(struct: Any) -> list[Any]:
    """Read a structure's fields as plain values."""
    values = [getattr(struct, name) for name, _ in struct._fields_]
    return [value if isinstance(value, int | str) else bytes(value).decode() for value in values]


@pytest.mark.parametrize("call", STRUCTURES)
def test_the_library_and_pynvml_agree_on_every_field(start: Start, call: str) -> None:
    """Each field holds what was said for it, and nothing is written behind the last."""
    kind, said, version = STRUCTURES[call]
    start(gpus=[{"product": "NVIDIA A100-SXM4-40GB", "pci": "1b:00.0", "answers": {call: said}}])
    size = sizeof(getattr(pynvml, kind))
    room = create_string_buffer(b"\xaa" * (size + 16), size + 16)
    struct = getattr(pynvml, kind).from_buffer(room)
    if version:
        struct.version = version

    function = pynvml._nvmlGetFunctionPointer(call)

    assert function(pynvml.nvmlDeviceGetHandleByIndex(0), byref(struct)) == 0
    assert fields(struct) == ([version] if version else []) + list(said)
    assert room.raw[size:] == b"\xaa" * 16


@pytest.mark.parametrize("version", [2, 3])
def test_a_driver_answers_in_the_version_it_is_asked_for(start: Start, version: int) -> None:
    start(gpus=[{"product": "NVIDIA GB200", "pci": "1b:00.0", "fabric": {"clique": 4}}])
    kind = getattr(pynvml, f"c_nvmlGpuFabricInfo_v{version}_t")
    room = create_string_buffer(b"\xaa" * 64, 64)
    struct = kind.from_buffer(room)
    struct.version = getattr(pynvml, f"nvmlGpuFabricInfo_v{version}")

    pynvml.nvmlDeviceGetGpuFabricInfoV(pynvml.nvmlDeviceGetHandleByIndex(0), byref(struct))

    assert (struct.cliqueId, struct.state) == (4, pynvml.NVML_GPU_FABRIC_STATE_COMPLETED)
    assert struct.healthMask >> pynvml.NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW & 3 == 2
    if version > 2:
        assert struct.healthSummary == pynvml.NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY
    assert room.raw[sizeof(kind) :] == b"\xaa" * (64 - sizeof(kind))


@pytest.mark.parametrize(("known", "asked"), [(2, 3), (3, 1), (3, 0)])
def test_a_version_that_a_driver_does_not_know_is_a_mismatch(
    start: Start, known: int, asked: int
) -> None:
    fabric = {"version": known}
    start(gpus=[{"product": "NVIDIA GB200", "pci": "1b:00.0", "fabric": fabric}])
    struct = pynvml.c_nvmlGpuFabricInfo_v3_t()
    struct.version = asked << 24 | sizeof(struct)

    with pytest.raises(pynvml.NVMLError_ArgumentVersionMismatch):
        pynvml.nvmlDeviceGetGpuFabricInfoV(pynvml.nvmlDeviceGetHandleByIndex(0), byref(struct))


def test_a_cluster_s_uuid_is_sixteen_bytes_whatever_they_are(start: Start) -> None:
    cluster = "00010203-0025-2000-ff0a-0b09007f8000"
    fabric = {"cluster": cluster, "clique": 7, "state": "in-progress", "status": "Timeout"}
    start(gpus=[{"product": "NVIDIA GB200", "pci": "1b:00.0", "fabric": fabric}])
    struct = pynvml.c_nvmlGpuFabricInfo_v3_t()
    struct.version = pynvml.nvmlGpuFabricInfo_v3

    pynvml.nvmlDeviceGetGpuFabricInfoV(pynvml.nvmlDeviceGetHandleByIndex(0), byref(struct))

    assert bytes(struct.clusterUuid).hex() == cluster.replace("-", "")
    assert (struct.cliqueId, struct.state, struct.status) == (7, 2, pynvml.NVML_ERROR_TIMEOUT)


def test_the_memory_of_a_version_that_is_unknown_is_a_mismatch(start: Start) -> None:
    start(gpus=[{"product": "Tesla T4", "pci": "1b:00.0"}])

    with pytest.raises(pynvml.NVMLError_ArgumentVersionMismatch):
        pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0), version=3 << 24 | 40)
