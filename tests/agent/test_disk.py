"""What a disk is, where a folder of ``tests/machines`` could not say it."""

import itertools
from pathlib import Path

import pytest

from agent.settings import Override
from labeler.facts import Disk, Medium
from tests.agent.box import SATA, Box

SAS = "pci0000:3a/0000:3a:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0"
OTHER = "pci0000:17/0000:17:00.0/host0/target0:0:0/0:0:0:0"
USB = "pci0000:00/0000:00:14.0/usb2/2-3/2-3:1.0/host0/target0:0:0/0:0:0:0"
MEDIA = ["hdd", "virtual", "network", "ssd", "memory"]
ON_DISKS = {
    Medium.HDD: ("sda", SATA, "8:0"),
    Medium.VIRTUAL: ("vda", "pci0000:00/virtio1", "254:0"),
    Medium.SSD: ("nvme0n1", "pci0000:00/nvme/nvme0", "259:0"),
}


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.mark.parametrize("vendor", ["QEMU", "VMware", "Msft", "Virtual", "Google", "VBOX", "XEN"])
def test_a_hypervisors_disk_is_no_hdd_whatever_it_claims(box: Box, vendor: str) -> None:
    box.disk("sda", OTHER, "8:0", 1, vendor=vendor, model="Disk")
    box.mount("8:0", "/data")

    assert box.medium() is Medium.VIRTUAL


@pytest.mark.parametrize("model", ["QEMU HARDDISK", "VBOX HARDDISK", "VMware Virtual S"])
def test_an_emulated_sata_disk_is_known_by_its_model(box: Box, model: str) -> None:
    box.disk("sda", SATA, "8:0", 1, vendor="ATA", model=model)
    box.mount("8:0", "/data")

    assert box.medium() is Medium.VIRTUAL


@pytest.mark.parametrize(
    "product",
    ["DELL PERC H740P Mini", "HPE LOGICAL VOLUME", "AVAGO MR9361-8i", "Adaptec ASR8805"],
)
def test_the_volume_of_a_raid_controller_is_no_hdd(box: Box, product: str) -> None:
    vendor, model = product.split(" ", 1)
    box.disk("sda", OTHER, "8:0", 1, vendor=vendor, model=model)
    box.mount("8:0", "/data")

    assert box.medium() is Medium.VIRTUAL


def test_a_disk_without_a_model_is_no_hdd(box: Box) -> None:
    box.disk("sda", SAS, "8:0", 1)
    box.mount("8:0", "/data")

    assert box.medium() is Medium.VIRTUAL


def test_a_usb_disk_that_says_it_does_not_rotate_is_believed(box: Box) -> None:
    box.disk("sda", USB, "8:0", 0, vendor="Samsung", model="Portable SSD T7")
    box.mount("8:0", "/data")

    assert box.look() == Disk(Medium.SSD, "usb", ("sda",))


@pytest.mark.parametrize("name", ["sr0", "zd0", "loop0"])
def test_what_is_no_disk_is_no_ssd_either(box: Box, name: str) -> None:
    """Newer kernels say of such devices that they do not rotate, which means nothing."""
    box.disk(name, SATA, "11:0", 0, vendor="HL-DT-ST", model="DVDRAM GUD0N")
    box.mount("11:0", "/data", "iso9660")

    assert box.medium() is Medium.VIRTUAL


@pytest.mark.parametrize(
    ("name", "number", "interface", "medium"),
    [
        ("mmcblk0", "179:0", "mmc", Medium.SSD),
        ("pmem0", "259:0", "pmem", Medium.SSD),
        ("zram0", "253:0", "memory", Medium.RAM),
        ("ram0", "1:0", "memory", Medium.RAM),
        ("nbd0", "43:0", "network", Medium.NETWORK),
        ("drbd0", "147:0", "network", Medium.NETWORK),
    ],
)
def test_some_devices_are_known_by_their_names(
    box: Box, name: str, number: str, interface: str, medium: Medium
) -> None:
    box.disk(name, "virtual", number, 0)
    box.mount(number, "/data")

    assert box.look() == Disk(medium, interface, (name,))


@pytest.mark.parametrize("folder", ["usb", "ata", "session", "virtio", "rport-1"])
def test_the_folder_that_sysfs_is_mounted_in_says_nothing(tmp_path: Path, folder: str) -> None:
    box = Box(tmp_path / folder)
    box.disk("sda", OTHER, "8:0", 0, vendor="SEAGATE", model="ST16000NM002G")
    box.mount("8:0", "/data")

    assert box.look() == Disk(Medium.SSD, "scsi", ("sda",))


@pytest.mark.parametrize(("worse", "better"), list(itertools.combinations(MEDIA, 2)))
def test_of_two_paths_the_slower_counts(box: Box, worse: str, better: str) -> None:
    for point, medium in (("/a", Medium(worse)), ("/b", Medium(better))):
        _mounted_on(box, point, medium)

    for paths in (("/a", "/b"), ("/b", "/a")):
        found = box.look(*paths)
        assert isinstance(found, Disk)
        assert found.medium is Medium(worse)


def test_a_disk_under_two_paths_is_named_once(box: Box) -> None:
    _mounted_on(box, "/a", Medium.SSD)
    _mounted_on(box, "/b", Medium.HDD)
    (box.folder / "root/a/deeper").mkdir()

    found = box.look("/a", "/b", "/a/deeper")

    assert found == Disk(Medium.HDD, "sata", ("nvme0n1", "sda"))


def test_a_word_on_a_device_keeps_the_interface_unless_it_names_one(box: Box) -> None:
    _mounted_on(box, "/data", Medium.VIRTUAL)

    kept = box.look(words=(Override(device="vda", disktype="ssd"),))
    named = box.look(words=(Override(device="vda", disktype="hdd", interface="nvme"),))

    assert kept == Disk(Medium.SSD, "virtio", ("vda",))
    assert named == Disk(Medium.HDD, "nvme", ("vda",))


def test_a_word_on_a_path_needs_no_disk_and_no_interface(box: Box) -> None:
    _mounted_on(box, "/", Medium.SSD)

    found = box.look("/none", words=(Override(path="/none", disktype="hdd"),))

    assert found == Disk(Medium.HDD, "unknown", ())


def _mounted_on(box: Box, point: str, medium: Medium) -> None:
    if medium in ON_DISKS:
        name, below, number = ON_DISKS[medium]
        rotational = int(medium is not Medium.SSD)
        box.disk(name, below, number, rotational, vendor="ATA", model="ST1000NX0423")
        box.mount(number, point)
    else:
        box.mount("0:50", point, "nfs4" if medium is Medium.NETWORK else "tmpfs")
