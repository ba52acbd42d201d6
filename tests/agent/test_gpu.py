"""The bus and the driver, judged: a fault of the card, of the driver, or of our own eyes."""

import sys
from pathlib import Path

import pytest

from agent.child import Child
from agent.probes import pci
from agent.probes.gpu import INSTALLING, CardReading, GpuProbe, Reading, judge
from agent.probes.pci import Slot
from labeler import gpus
from labeler.facts import Gpu, Sharing, Unknown
from tests.nvml.scene import VARIABLE, Scene

FIRST, SECOND = "0000:1b:00.0", "0000:5d:00.0"
SLOTS = (Slot(FIRST, "nvidia"), Slot(SECOND, "nvidia"))
GIB = 1 << 30


def well(address: str = FIRST, **changes: object) -> CardReading:
    fields: dict[str, object] = {
        "address": address,
        "errors": {},
        "name": "NVIDIA H200",
        "uuid": "GPU-1",
        "memory": 141 * GIB,
        "mig": 0,
        "clique": "",
    }
    return CardReading(**(fields | changes))  # type: ignore[arg-type]


def ill(address: str, **errors: str) -> CardReading:
    return CardReading(address, errors)


def judged(*cards: CardReading, slots: tuple[Slot, ...] = SLOTS) -> Gpu:
    gpu = judge(slots, Reading(driver="570.1", cards=[*cards]))
    assert isinstance(gpu, Gpu)
    return gpu


def test_a_card_that_is_well_is_what_the_driver_says() -> None:
    gpu = judged(well())

    card = gpu.cards[FIRST]
    assert gpu.driver == "570.1"
    assert card.usable
    assert (card.product, card.memory, card.sharing) == ("NVIDIA H200", 141 * GIB, Sharing.NONE)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ("GpuIsLost", "lost: the driver can no longer reach it"),
        ("NotFound", "on the bus, but not seen by the driver"),
        ("ResetRequired", "needs a reset"),
        ("CorruptedInforom", "its InfoROM is corrupted"),
        ("InsufficientPower", "its power cables are not connected"),
    ],
)
def test_an_error_of_the_card_is_its_fault(error: str, fault: str) -> None:
    gpu = judged(well(), ill(SECOND, handle=error))

    assert gpu.cards[FIRST].usable
    assert gpu.cards[SECOND].fault == fault
    assert not gpu.cards[SECOND].blind


@pytest.mark.parametrize("error", ["NoPermission", "Unknown", "Timeout", "Memory", "error 77"])
def test_an_error_that_may_be_ours_is_nobodys_fault(error: str) -> None:
    card = judged(well(), ill(SECOND, handle=error)).cards[SECOND]

    assert (card.fault, card.blind) == ("", f"NVML: {error}")


@pytest.mark.parametrize("error", ["NotSupported", "FunctionNotFound", "ArgumentVersionMismatch"])
def test_what_an_older_driver_lacks_is_neither(error: str) -> None:
    card = judged(well(errors={"mig": error, "clique": error}, mig=None, clique=None)).cards[FIRST]

    assert card.usable
    assert card.sharing is Sharing.NONE
    assert not card.blind


def test_a_mode_that_could_not_be_read_is_unknown() -> None:
    card = judged(well(errors={"mig": "Unknown"}, mig=None)).cards[FIRST]

    assert card.sharing is Sharing.UNKNOWN
    assert card.blind == "NVML: Unknown"


def test_under_mig_the_smallest_instance_counts() -> None:
    cut = judged(well(mig=1, instances=[40 * GIB, 10 * GIB, 20 * GIB])).cards[FIRST]
    empty = judged(well(mig=1, instances=[])).cards[FIRST]

    assert (cut.sharing, cut.memory) == (Sharing.MIG, 10 * GIB)
    assert empty.usable
    assert (empty.sharing, empty.memory) == (Sharing.MIG, 0)


@pytest.mark.parametrize("memory", [None, 0, (1 << 64) - 1])
def test_memory_that_no_card_has_is_not_said(memory: int | None) -> None:
    assert judged(well(memory=memory)).cards[FIRST].memory == 0


def test_a_card_without_a_name_was_not_seen() -> None:
    card = judged(well(name="")).cards[FIRST]

    assert not card.usable
    assert card.blind == "NVML gives no name"


def test_a_card_that_was_handed_away_is_not_ours() -> None:
    gpu = judged(well(), slots=(SLOTS[0], Slot(SECOND, "vfio-pci")))

    assert gpu.cards.keys() == {FIRST}
    assert gpu.away == (SECOND,)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            "LibRmVersionMismatch",
            (
                "NVML: LibRmVersionMismatch; the library is not the loaded driver's;"
                " reload the driver or reboot"
            ),
        ),
        (
            "LibraryNotFound",
            "NVML: LibraryNotFound; mount the driver's library, or set gpu.library",
        ),
        ("DriverNotLoaded", "NVML: DriverNotLoaded; let the Pod see /dev/nvidia*"),
        ("Unknown", "NVML: Unknown"),
    ],
)
def test_a_driver_that_cannot_be_asked_is_unknown_not_zero_gpus(error: str, reason: str) -> None:
    assert judge(SLOTS, Reading(error=error)) == Unknown(reason)


def test_a_container_that_lost_its_devices_slanders_no_card() -> None:
    cards = [ill(FIRST, handle="NotFound"), ill(SECOND, handle="NotFound")]

    assert judge(SLOTS, Reading(cards=cards)) == Unknown(
        "NVML sees none of 2 GPUs; let the Pod see /dev/nvidia*"
    )


def device(sys: Path, address: str, kind: str = "0x030200", **files: str) -> Path:
    folder = sys / "bus/pci/devices" / address
    folder.mkdir(parents=True)
    for name, text in {"vendor": "0x10de", "class": kind, **files}.items():
        (folder / name).write_text(f"{text}\n")
    return folder


def bind(folder: Path, driver: str) -> None:
    (folder / "driver").symlink_to(f"../../drivers/{driver}")


def test_the_bus_lists_gpus_and_nothing_else(tmp_path: Path) -> None:
    bind(device(tmp_path, SECOND), "nvidia")
    bind(device(tmp_path, FIRST, "0x030000"), "vfio-pci")
    device(tmp_path, "0000:1b:00.1", "0x040300")
    device(tmp_path, "0000:05:00.0", "0x068000")
    device(tmp_path, "0000:02:00.0", vendor="0x1002")
    (device(tmp_path, "0000:5d:00.4") / "physfn").symlink_to(f"../{SECOND}")

    assert pci.scan(tmp_path) == (Slot(FIRST, "vfio-pci"), Slot(SECOND, "nvidia"))


def test_a_machine_without_pci_has_no_gpus_but_one_without_sysfs_is_unseen(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        pci.scan(tmp_path)

    (tmp_path / "bus").mkdir()

    assert pci.scan(tmp_path) == ()


def test_a_hostile_sysfs_costs_the_devices_it_spoils(tmp_path: Path) -> None:
    device(tmp_path, FIRST)
    folder = tmp_path / "bus/pci/devices"
    (folder / "0000:02:00.0").mkdir()  # It vanished while we looked.
    (folder / "0000:03:00.0").write_text("no folder")
    (folder / "0000:04:00.0").symlink_to("0000:04:00.0")
    (device(tmp_path, "0000:05:00.0") / "class").write_bytes(b"\xff\xfe" * 4000)
    (device(tmp_path, "0000:06:00.0") / "vendor").unlink()
    (folder / "0000:06:00.0/vendor").mkdir()

    assert pci.scan(tmp_path) == (Slot(FIRST, ""),)


def test_without_gpus_no_process_runs(tmp_path: Path) -> None:
    (tmp_path / "bus").mkdir()
    probe = GpuProbe(tmp_path, "/no/such/library.so", 5)

    assert probe.look() == Gpu()
    assert probe.child.pid is None


def test_a_driver_that_may_be_installing_is_given_time(tmp_path: Path) -> None:
    device(tmp_path, FIRST)
    probe = GpuProbe(tmp_path, "/no/such/library.so", 5)

    assert probe.look() == Unknown("no driver: the kernel module nvidia is not loaded", INSTALLING)
    assert probe.child.pid is None


@pytest.mark.parametrize(
    "answer", ["no JSON", "[" * 100_000, '{"cards": 7}', '{"cards": [{"address": 1}]}', ""]
)
def test_an_answer_that_means_nothing_is_unknown_and_ends_its_process(
    tmp_path: Path, answer: str
) -> None:
    device(tmp_path, FIRST)
    (tmp_path / "module/nvidia").mkdir(parents=True)
    probe = GpuProbe(tmp_path, "", 5)
    babble = f"input(); print({answer!r}, flush=True); input()"
    probe.child = Child([sys.executable, "-I", "-c", babble])

    assert probe.look() == Unknown(
        "the process that reads the driver babbles: an answer that can't be read"
    )
    assert probe.child.pid is None


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    device(tmp_path, FIRST)
    (tmp_path / "module/nvidia").mkdir(parents=True)

    fact = GpuProbe(tmp_path, "/no/such/library.so", 5).look()

    assert isinstance(fact, Unknown)
    assert fact.reason.startswith("NVML: LibraryNotFound (/no/such/library.so: ")
    assert fact.reason.endswith("; mount the driver's library, or set gpu.library")


@pytest.mark.parametrize("call", ["name", "uuid", "memory", "mig", "instances", "clique"])
@pytest.mark.parametrize("error", ["NotFound", "GpuNotFound"])
def test_what_a_card_that_was_found_lacks_is_no_fault_of_it(call: str, error: str) -> None:
    """An instance that goes while it is asked for is not found; its card is there."""
    card = judged(well(mig=1, instances=None, errors={call: error})).cards[FIRST]

    assert (card.fault, card.blind) == ("", f"NVML: {error}")


@pytest.mark.parametrize("error", ["Unknown", "FunctionNotFound"])
def test_instances_that_could_not_be_read_are_not_none(error: str) -> None:
    whole, cut = well(), well(SECOND, mig=1, instances=None, errors={"instances": error})

    gpu = judged(whole, cut)

    assert gpu.cards[SECOND].sharing is Sharing.UNKNOWN
    assert "gpu-memory-gib" not in gpus.spell(gpu, {}, 0)


def test_a_device_that_may_not_be_looked_at_is_not_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device(tmp_path, FIRST)

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)

    with pytest.raises(PermissionError):
        pci.scan(tmp_path)


@pytest.mark.parametrize("missing", [(), ("nvmlDeviceGetGpuFabricInfoV",)])
def test_a_client_stays_open_on_a_card_that_merely_lacks_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    """A T4 has neither MIG nor a fabric; opening a driver anew may wake every card."""
    device(tmp_path, FIRST)
    (tmp_path / "module/nvidia").mkdir(parents=True)
    once = {"call": "nvmlInitWithFlags", "error": "Unknown", "after": 1}
    card = {"product": "Tesla T4", "pci": FIRST}
    scene = Scene({"gpus": [card], "errors": [once], "missing": missing}, tmp_path / "flat")
    monkeypatch.setenv(VARIABLE, str(scene.flat))
    probe = GpuProbe(tmp_path, str(scene.library), 5)
    try:
        first, second = probe.look(), probe.look()
    finally:
        probe.child.stop()

    assert isinstance(first, Gpu)
    assert second == first
