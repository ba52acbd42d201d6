"""Say how a machine's cards and its driver answer when nothing is wrong.

Pure. A call that is not answered here is one that the card does not support.
"""

import uuid
from collections.abc import Mapping
from typing import Final

from tests.nvml.products import PRODUCTS, Product, pynvml
from tests.nvml.spelling import Answer, parts
from tests.nvml.tables import Fabric, Gpu, Instance, Mig, Scenario

Answers = dict[str, Answer]

MIB: Final = 1 << 20
RESERVED: Final = 512 * MIB
"""What a driver keeps of a card's memory: each release another share, so one for all."""
NVIDIA: Final = 0x10DE
HEALTHY_FABRIC: Final = 0x1AA
"""Each fault of a link's health mask said to be absent, not merely unsaid."""
ERRORS: Final[Mapping[str, int]] = {
    kind.__name__.removeprefix("NVMLError_"): number
    for number, kind in pynvml.NVMLError._valClassMapping.items()
}


def system(scenario: Scenario, shown: list[str]) -> Answers:
    """Answer what is asked of no card; ``shown`` are the cards in their order."""
    major, minor = (int(part) for part in scenario.cuda.split("."))
    return {
        "nvmlSystemGetDriverVersion": scenario.driver,
        "nvmlSystemGetNVMLVersion": scenario.nvml or f"{major}.{scenario.driver}",
        "nvmlSystemGetCudaDriverVersion": 1000 * major + 10 * minor,
        "nvmlSystemGetCudaDriverVersion_v2": 1000 * major + 10 * minor,
        "nvmlDeviceGetCount_v2": len(shown),
        "nvmlDeviceGetHandleByIndex_v2": tuple(shown),
        **scenario.answers,
    }


def card(gpu: Gpu, at: str, index: int, minor: int) -> Answers:
    """Answer for a whole card."""
    product = PRODUCTS[gpu.product]
    return {
        **identity(gpu, at),
        "nvmlDeviceGetIndex": index,
        "nvmlDeviceGetMinorNumber": minor,
        **place(product, at),
        **memory(product.memory * MIB),
        **idle(),
        **links(product),
        **(mig(gpu.mig or Mig(enabled=False), at) if product.mig else {}),
        **(fabric(gpu.fabric or Fabric()) if product.fabric else {}),
        "nvmlDeviceIsMigDeviceHandle": 0,
        "nvmlDeviceGetMaxMigDeviceCount": maximum(gpu, product),
        **gpu.answers,
    }


def identity(gpu: Gpu, at: str) -> Answers:
    """Answer which card it is; one that has no given UUID or serial gets its own."""
    product = PRODUCTS[gpu.product]
    own = uuid.uuid5(uuid.NAMESPACE_OID, f"{gpu.product} {at}")
    major, minor = (int(part) for part in product.compute.split("."))
    return {
        "nvmlDeviceGetName": gpu.product,
        "nvmlDeviceGetUUID": gpu.uuid or f"GPU-{own}",
        "nvmlDeviceGetSerial": gpu.serial or f"{own.int % 10**13:013}",
        "nvmlDeviceGetBrand": product.constant("BRAND"),
        "nvmlDeviceGetArchitecture": product.constant("DEVICE_ARCH"),
        "nvmlDeviceGetCudaComputeCapability": (major, minor),
    }


def place(product: Product, at: str) -> Answers:
    """Answer where the card is; the subsystem differs by board vendor and is left at 0."""
    device = product.pci << 16 | NVIDIA
    answers: Answers = {"nvmlDeviceGetPciInfo_v3": (at[4:], *parts(at), device, 0, at)}
    for name, value in zip(("Generation", "Width"), product.pcie or (), strict=False):
        answers[f"nvmlDeviceGetCurrPcieLink{name}"] = value
        answers[f"nvmlDeviceGetMaxPcieLink{name}"] = value
    return answers


def memory(total: int) -> Answers:
    """Answer how much memory there is; the old call counts what is reserved as used."""
    return {
        "nvmlDeviceGetMemoryInfo": (total, total - RESERVED, RESERVED),
        "nvmlDeviceGetMemoryInfo_v2": (total, RESERVED, total - RESERVED, 0),
    }


def idle() -> Answers:
    """Answer for the state of a card that has nothing to do."""
    return {
        "nvmlDeviceGetEccMode": (1, 1),
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetTemperature": (35,),
        "nvmlDeviceGetPowerUsage": 70_000,
        "nvmlDeviceGetComputeRunningProcesses_v3": 0,
    }


def links(product: Product) -> Answers:
    """Answer for the NVLinks, all of them up."""
    return {"nvmlDeviceGetNvLinkState": (1,) * product.nvlinks} if product.nvlinks else {}


def fabric(said: Fabric) -> Answers:
    """Answer how far the card has joined its fabric."""
    state = getattr(pynvml, f"NVML_GPU_FABRIC_STATE_{capitals(said.state)}")
    health = getattr(pynvml, f"NVML_GPU_FABRIC_HEALTH_SUMMARY_{capitals(said.health)}")
    cluster = said.cluster.bytes.decode("latin-1")
    known = (cluster, error(said.status), said.clique, state, HEALTHY_FABRIC)
    return {"nvmlDeviceGetGpuFabricInfoV": known if said.version < 3 else (*known, health)}


def capitals(word: str) -> str:
    """Spell a word as the constants of NVML do."""
    return word.upper().replace("-", "_")


def error(name: str | int) -> int:
    """Return the number of an NVML error."""
    return name if isinstance(name, int) else ERRORS[name]


def maximum(gpu: Gpu, product: Product) -> int:
    """Return how many MIG devices the card can have: none while the mode is off."""
    return product.mig.instances if product.mig and gpu.mig and gpu.mig.enabled else 0


def mig(said: Mig, at: str) -> Answers:
    """Answer for the MIG mode; a pending one waits for a reset of the card."""
    pending = said.enabled if said.pending is None else said.pending
    return {
        "nvmlDeviceGetMigMode": (int(said.enabled), int(pending)),
        "nvmlDeviceGetMigDeviceHandleByIndex": tuple(
            f"{at}/{number}" for number, _ in enumerate(said.each())
        ),
    }


def device(gpu: Gpu, at: str, number: int, instance: Instance) -> Answers:
    """Answer for a MIG device of a card."""
    slices = PRODUCTS[gpu.product].mig
    assert slices is not None, "checked before"
    own = uuid.uuid5(uuid.NAMESPACE_OID, f"{gpu.product} {at} {number} {instance.profile}")
    size = int(instance.profile[0])
    units = (size * slices.multiprocessors, size, 0, 0, 0, 0, size, size)
    return {
        "nvmlDeviceGetName": f"{gpu.product} MIG {instance.profile}",
        "nvmlDeviceGetUUID": f"MIG-{own}",
        "nvmlDeviceIsMigDeviceHandle": 1,
        "nvmlDeviceGetGpuInstanceId": 7 + number,
        "nvmlDeviceGetComputeInstanceId": 0,
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": (at,),
        "nvmlDeviceGetAttributes_v2": (*units, instance.memory),
        "nvmlDeviceGetMemoryInfo": (instance.memory * MIB, instance.memory * MIB, 0),
        "nvmlDeviceGetMemoryInfo_v2": (instance.memory * MIB, 0, instance.memory * MIB, 0),
    }
