"""Mounts as the kernel writes them down, and which of them carries a path."""

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.probes import mounts
from agent.probes.mounts import Mount

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)

ESCAPED = b" \t\n\\#"
"""What ``mangle_path`` of the kernel writes as an octal escape; it leaves every other byte."""
NAMES = st.binary(min_size=1, max_size=8).filter(lambda name: not {0, 0x2F} & set(name))
SMALL = st.sampled_from(["a", "b", "ab"])
POINTS = st.lists(SMALL, max_size=3).map(lambda parts: "/" + "/".join(parts))
ROOT = "29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"


def escape(name: bytes) -> bytes:
    return b"".join(b"\\%03o" % byte if byte in ESCAPED else bytes([byte]) for byte in name)


def line(point: bytes, *, source: bytes = b"/dev/sdb1", options: bytes = b"rw") -> bytes:
    fields = b"36 29 8:17 / %b rw,noatime master:1 - ext4 %b %b\n"
    return fields % (escape(point), escape(source), options)


@pytest.fixture(scope="module")
def proc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proc")
    (folder / "1").mkdir()
    return folder


@given(name=NAMES)
def test_a_mount_point_of_any_bytes_is_read_back(proc: Path, name: bytes) -> None:
    """Also of carriage returns and of what Unicode, but not the kernel, calls a line's end."""
    point = b"/data/" + name
    (proc / "1/mountinfo").write_bytes(line(point) + ROOT.encode())

    found = mounts.parse(mounts.read(proc))

    assert [mount.point for mount in found] == [point.decode(errors="surrogateescape"), "/"]


@given(st.lists(POINTS, max_size=6), POINTS)
def test_the_mount_nearest_above_a_path_carries_it(points: list[str], path: str) -> None:
    """Of two on the same point it is the one that was mounted last."""
    table = tuple(Mount(f"8:{n}", point, "ext4", "x", ()) for n, point in enumerate(points))
    above = [m for m in table if PurePosixPath(path).is_relative_to(m.point)]
    depth = {mount: len(PurePosixPath(mount.point).parts) for mount in above}
    nearest = [mount for mount in above if depth[mount] == max(depth.values())]

    assert mounts.carrier(table, path) == (nearest[-1] if nearest else None)


def test_every_field_of_a_line_has_its_place() -> None:
    text = (
        "36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 propagate_from:2"
        " - ext3 /dev/root\\134x rw,errors=continue\n"
    )

    assert mounts.parse(text) == (
        Mount("98:0", "/mnt two", "ext3", "/dev/root\\x", ("rw", "errors=continue")),
    )


def test_a_comma_in_an_overlays_folder_is_no_end_of_an_option() -> None:
    """The kernel escapes it in the value of an option."""
    options = b"rw,lowerdir=/low,upperdir=/var/a\\054b\\040c,workdir=/work"

    (mount,) = mounts.parse(line(b"/data", options=options).decode())

    assert mount.options[2] == "upperdir=/var/a,b c"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "29 1 8:1 / / rw,relatime shared:1 ext4 /dev/sda1 rw\n",
        "29 1 8:1 / - ext4 /dev/sda1 rw\n",
        "29 1 8:1 / / rw,relatime - ext4 /dev/sda1\n",
        "29 1 8:1 / / rw,relatime - \n",
    ],
)
def test_a_line_of_another_shape_is_left_out(text: str) -> None:
    assert mounts.parse(text) == ()
    assert len(mounts.parse(text + ROOT)) == 1


def test_the_hosts_mounts_are_read_where_they_can_be(tmp_path: Path) -> None:
    _mountinfo(tmp_path, "self", "own\n")
    _mountinfo(tmp_path, "1", "host's\n")

    assert mounts.read(tmp_path) == "host's\n"


def test_this_process_sees_its_own_mounts_where_the_hosts_are_hidden(tmp_path: Path) -> None:
    _mountinfo(tmp_path, "self", "own\n")

    assert mounts.read(tmp_path) == "own\n"


def _mountinfo(proc: Path, process: str, content: str) -> None:
    (proc / process).mkdir()
    (proc / process / "mountinfo").write_text(content)
