"""The way from a data path to a mount to a device, and where it ends."""

from pathlib import Path

import pytest

from labeler.facts import Disk, Medium, Unknown
from tests.agent.box import SATA, Box

HDD = Disk(Medium.HDD, "sata", ("sda",))
NETWORK_KINDS = [
    "nfs",
    "nfs4",
    "ceph",
    "cifs",
    "smb3",
    "9p",
    "lustre",
    "gpfs",
    "virtiofs",
    "fuse.sshfs",
    "fuse.juicefs",
    "fuse.alluxio-fuse",
]
NO_OVERLAY = "{} lies on an overlay whose upper folder is not visible here"


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """Make a machine whose data lies on a hard disk and all else on another."""
    box = Box(tmp_path)
    box.disk("sda", SATA, "8:0", 1, vendor="ATA", model="ST1000NX0423")
    box.disk("nvme0n1", "pci0000:00/nvme/nvme0", "259:0", 0)
    box.mount("259:0", "/")
    return box


def overlay(upper: str) -> str:
    return f"overlay rw,lowerdir=/low,upperdir={upper},workdir=/work"


def test_a_link_is_followed_in_the_machines_own_tree(box: Box) -> None:
    """In a Pod the machine's tree is mounted elsewhere, and its links do not know that."""
    box.mount("8:0", "/mnt/big")
    (box.folder / "root/data").symlink_to("/mnt/big")

    assert box.look() == HDD


def test_a_link_that_leads_out_of_the_tree_ends_at_its_root(box: Box) -> None:
    box.mount("8:0", "/mnt/big")
    (box.folder / "root/data").symlink_to("../../../../mnt/big")

    assert box.look() == HDD


def test_a_relative_link_starts_from_the_folder_it_lies_in(box: Box) -> None:
    box.mount("8:0", "/srv/big")
    (box.folder / "root/srv/data").symlink_to("big")

    assert box.look("/srv/data") == HDD


def test_a_loop_of_links_is_unknown(box: Box) -> None:
    (box.folder / "root/data").symlink_to("data")

    found = box.look()

    assert isinstance(found, Unknown)
    assert found.reason.startswith("data path /data: ")


def test_a_file_can_be_a_data_path(box: Box) -> None:
    box.mount("8:0", "/data")
    (box.folder / "root/data/set.tar").touch()

    assert box.look("/data/set.tar") == HDD


def test_a_path_may_end_in_a_slash(box: Box) -> None:
    box.mount("8:0", "/data")

    assert box.look("/data/") == HDD


def test_the_root_itself_can_be_a_data_path(box: Box) -> None:
    assert box.look("/") == Disk(Medium.SSD, "nvme", ("nvme0n1",))


def test_this_process_own_mounts_are_asked_for_the_path_as_it_sees_it(box: Box) -> None:
    """Where the host's mounts can't be read, ours hold the machine's tree below its mount."""
    (box.folder / "proc/1/mountinfo").unlink()
    (box.folder / "root/data").mkdir()
    box.mounted("self", "40 29 259:0 / / rw - ext4 /dev/nvme0n1 rw\n")
    box.mounted("self", f"41 40 8:0 / {box.folder}/root/data rw - ext4 /dev/sda rw\n")

    assert box.look() == HDD


@pytest.mark.parametrize("kind", NETWORK_KINDS)
def test_a_file_system_across_the_network_is_known_by_its_kind(box: Box, kind: str) -> None:
    box.mount("0:50", "/data", kind, "server:/export rw")

    assert box.look() == Disk(Medium.NETWORK, "network", ())


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs", "hugetlbfs"])
def test_a_file_system_in_memory_is_known_by_its_kind(box: Box, kind: str) -> None:
    box.mount("0:50", "/data", kind, "none rw")

    assert box.look() == Disk(Medium.RAM, "memory", ())


def test_a_file_system_of_fuse_may_be_local(box: Box) -> None:
    box.mount("0:50", "/data", "fuse.mergerfs", "a:b rw")

    assert box.look() == Unknown("a:b (fuse.mergerfs on /data) has no device in sysfs")


def test_a_kind_that_nobody_knows_is_unknown(box: Box) -> None:
    box.mount("0:50", "/data", "bcachefs", "/dev/sda:/dev/sdb rw")

    assert box.look() == Unknown("/dev/sda:/dev/sdb (bcachefs on /data) has no device in sysfs")


def test_an_overlay_on_an_overlay_is_followed(box: Box) -> None:
    box.mount("8:0", "/disk")
    box.mount("0:60", "/lower", "overlay", overlay("/disk/upper"))
    box.mount("0:61", "/data", "overlay", overlay("/lower/upper"))

    assert box.look() == HDD


def test_a_read_only_overlay_is_unknown(box: Box) -> None:
    box.mount("0:60", "/data", "overlay", "overlay ro,lowerdir=/a:/b")

    assert box.look() == Unknown(NO_OVERLAY.format("/data"))


def test_two_overlays_on_each_other_are_unknown(box: Box) -> None:
    box.mount("0:60", "/data", "overlay", overlay("/b/upper"))
    box.mount("0:61", "/b", "overlay", overlay("/data/upper"))

    assert isinstance(box.look(), Unknown)


def test_a_table_without_any_mount_is_unknown(box: Box) -> None:
    (box.folder / "proc/1/mountinfo").write_text("")
    (box.folder / "root/data").mkdir()

    assert box.look() == Unknown("/data lies on no mount that is visible here")


@pytest.mark.parametrize(("layers", "followed"), [(12, True), (40, False)])
def test_layers_are_followed_but_not_for_ever(box: Box, layers: int, followed: bool) -> None:
    below = box.folder / "sys/dev/block/8:0"
    for layer in range(layers):
        block = box.disk(f"dm-{layer}", f"virtual/{layer}", f"253:{layer}", 1)
        (block / "slaves").mkdir()
        (block / "slaves" / below.resolve().name).symlink_to(below.resolve())
        below = block
    box.mount(f"253:{layers - 1}", "/data")

    found = box.look()

    assert (found == HDD) is followed
    assert followed or isinstance(found, Unknown)
