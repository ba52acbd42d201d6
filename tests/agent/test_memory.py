"""The memory of a machine, and the size it was sold as."""

from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.probes import memory
from labeler.facts import GIB, Memory, Unknown
from labeler.spelling import nominal

SOLD = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 72, 96, 128, 144, 160, 192, 224, 256, 320, 384)
SOLD_TO_DATA_CENTRES = (448, 512, 640, 768, 1024, 1152, 1280, 1536, 2048, 3072, 4096, 6144, 24576)
PRINTED = [
    # What /proc/meminfo prints, in KiB, on machines of that size.
    (980_408, 1),
    (3_935_276, 4),
    (7_937_052, 8),
    (16_092_588, 16),
    (24_683_584, 24),
    (32_657_564, 32),
    (65_716_288, 64),
    (131_701_768, 128),
    (263_862_140, 256),
    (527_862_016, 512),
    (1_056_439_216, 1024),
    (1_176_248_880, 1152),
    (2_113_448_752, 2048),
]


@pytest.mark.parametrize(("kib", "size"), PRINTED)
def test_a_machine_has_the_size_it_was_sold_as(kib: int, size: int) -> None:
    assert nominal(kib << 10) == size


@pytest.mark.parametrize("size", SOLD + SOLD_TO_DATA_CENTRES)
@pytest.mark.parametrize("kept", [0, 1, 2, 3, 4, 5])
def test_what_the_kernel_keeps_does_not_count(size: int, kept: int) -> None:
    """In per cent; crash kernels, page tables and firmware take between one and five."""
    assert nominal(size * GIB * (100 - kept) // 100) == size


@given(st.integers(1, 1 << 50))
def test_a_size_is_never_less_than_there_is_nor_an_eighth_more(total: int) -> None:
    assert total <= nominal(total) * GIB < total * 9 / 8 + GIB


@given(st.integers(1, 1 << 50), st.integers(0, 1 << 50))
def test_more_memory_never_has_a_smaller_size(total: int, more: int) -> None:
    assert nominal(total) <= nominal(total + more)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MemFree:        20714372 kB\n",
        "MemTotal:              0 kB\n",
        "MemTotal:              - kB\n",
        "MemTotal:       20714372\n",
        "NotMemTotal:    20714372 kB\n",
    ],
)
def test_a_meminfo_without_a_total_is_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "meminfo").write_text(text)

    assert memory.probe(tmp_path) == Unknown(f"{tmp_path / 'meminfo'} has no MemTotal")


def test_the_total_is_in_kib_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text(
        "MemFree:  1 kB\nMemTotal:       131701768 kB\nCached: 2 kB\n"
    )

    assert memory.probe(tmp_path) == Memory(131_701_768 * 1024)


def test_this_machine_has_the_memory_that_psutil_finds() -> None:
    assert memory.probe(Path("/proc")) == Memory(psutil.virtual_memory().total)
