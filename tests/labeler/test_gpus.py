"""What GPUs are called, what is remembered of them, and how bad it is."""

import pytest
from hypothesis import given

from labeler import legal
from labeler.facts import GIB, Card, Gpu, Sharing
from labeler.gpus import GONE, family, judge, remember, spell
from labeler.vocabulary import Status
from tests.labeler.strategies import GPUS

MIB = 1 << 20
H100 = Card(product="NVIDIA H100 80GB HBM3", memory=81559 * MIB, sharing=Sharing.NONE)
T4 = Card(product="Tesla T4", memory=15360 * MIB, sharing=Sharing.NONE)
LOST = Card(fault="lost")
FIRST, SECOND = "0000:1b:00.0", "0000:5d:00.0"


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("Tesla T4", "nvidia-tesla-t4"),
        ("Tesla V100-SXM2-32GB", "nvidia-tesla-v100"),
        ("Tesla V100-DGXS-32GB", "nvidia-tesla-v100"),
        ("Tesla P100-PCIE-16GB", "nvidia-tesla-p100"),
        ("A100-SXM4-40GB", "nvidia-a100"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100"),
        ("NVIDIA A100 80GB PCIe", "nvidia-a100"),
        ("NVIDIA A10G", "nvidia-a10g"),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100"),
        ("NVIDIA H100 PCIe", "nvidia-h100"),
        ("NVIDIA H100 NVL", "nvidia-h100"),
        ("NVIDIA H200", "nvidia-h200"),
        ("NVIDIA GH200 480GB", "nvidia-gh200"),
        ("NVIDIA B200", "nvidia-b200"),
        ("NVIDIA GB200", "nvidia-gb200"),
        ("NVIDIA L40S", "nvidia-l40s"),
        ("NVIDIA RTX 6000 Ada Generation", "nvidia-rtx-6000-ada"),
        ("NVIDIA RTX A6000", "nvidia-rtx-a6000"),
        ("NVIDIA GeForce RTX 3080 Ti", "nvidia-geforce-rtx-3080-ti"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "nvidia-rtx-pro-6000-blackwell"),
        ("\N{REPLACEMENT CHARACTER}", "nvidia"),
    ],
)
def test_a_product_has_a_family(product: str, name: str) -> None:
    assert family(product, {}) == name


def test_a_site_keeps_its_own_names() -> None:
    aliases = {"nvidia-a100": "nvidia-tesla-a100", "NVIDIA H100 NVL": "h100-nvl"}

    assert family("NVIDIA A100-SXM4-40GB", aliases) == "nvidia-tesla-a100"
    assert family("NVIDIA H100 NVL", aliases) == "h100-nvl"
    assert family("NVIDIA H100 PCIe", aliases) == "nvidia-h100"


def test_a_very_long_product_still_makes_a_legal_key() -> None:
    name = family("NVIDIA " + "very " * 40, {})

    assert legal.is_key(f"accelerator.{name}")


def test_one_model_is_named_and_counted() -> None:
    assert spell(Gpu({FIRST: H100, SECOND: H100}), {}, 0) == {
        "gpu": "true",
        "gpu-count": "2",
        "gpu-total": "2",
        "gpu-memory-gib": "79",
        "gpu-sharing": "none",
        "accelerator": "nvidia-h100",
        "accelerator-product": "NVIDIA-H100-80GB-HBM3",
    }


def test_mixed_models_are_mixed_in_either_order_and_each_counted() -> None:
    one = spell(Gpu({FIRST: H100, SECOND: T4}), {}, 0)
    other = spell(Gpu({FIRST: T4, SECOND: H100}), {}, 0)

    assert one == other
    assert one["accelerator"] == one["accelerator-product"] == "mixed"
    assert one["accelerator.nvidia-h100"] == one["accelerator.nvidia-tesla-t4"] == "1"
    assert one["gpu-memory-gib"] == "15"


def test_a_machine_without_gpus_says_nothing_of_them() -> None:
    assert spell(Gpu(), {}, 0) == {}
    assert [*judge(Gpu(), 0, required=True)] == []


def test_a_broken_card_hides_no_other() -> None:
    gpu = Gpu({FIRST: H100, SECOND: LOST})

    labels = spell(gpu, {}, 0)

    assert labels["gpu"] == "true"
    assert (labels["gpu-count"], labels["gpu-total"]) == ("1", "2")
    assert [*judge(gpu, 0, required=True)] == [(Status.DEGRADED, f"GPU {SECOND}: lost")]


def test_without_a_usable_card_there_is_no_gpu() -> None:
    gpu = Gpu({FIRST: LOST})

    assert spell(gpu, {}, 0) == {"gpu-count": "0", "gpu-total": "1"}
    assert [*judge(gpu, 0, required=True)] == [(Status.UNHEALTHY, f"GPU {FIRST}: lost")]


def test_what_was_bought_and_is_not_there_is_missed() -> None:
    seven = Gpu({FIRST: H100})

    assert spell(seven, {}, 8)["gpu-total"] == "8"
    assert [*judge(seven, 8, required=True)] == [(Status.DEGRADED, "1 of 8 GPUs are there")]
    assert [*judge(Gpu(), 8, required=True)] == [(Status.UNHEALTHY, "0 of 8 GPUs are there")]


def test_a_card_that_lost_its_name_keeps_the_one_it_had() -> None:
    now = remember(Gpu({FIRST: H100}), Gpu({FIRST: LOST}))

    assert now.cards[FIRST].product == H100.product
    assert not now.cards[FIRST].usable


def test_a_card_that_cannot_be_looked_at_is_what_it_was() -> None:
    blind = Gpu({FIRST: Card(blind="NVML: NoPermission")})

    well, ill = remember(Gpu({FIRST: H100}), blind), remember(Gpu({FIRST: LOST}), blind)

    assert well.cards[FIRST].usable
    assert not ill.cards[FIRST].usable
    assert [*judge(well, 0, required=True)] == [
        (Status.UNKNOWN, f"GPU {FIRST}: NVML: NoPermission")
    ]
    assert [*judge(well, 0, required=False)] == []
    assert not remember(None, blind).cards[FIRST].usable


def test_a_card_that_fell_off_the_bus_is_missed_but_not_one_that_was_handed_away() -> None:
    before = Gpu({FIRST: H100, SECOND: H100})

    gone = remember(before, Gpu({FIRST: H100}))
    handed = remember(before, Gpu({FIRST: H100}, away=(SECOND,)))

    assert gone.cards[SECOND].fault == GONE
    assert spell(gone, {}, 0)["gpu-total"] == "2"
    assert handed.cards.keys() == {FIRST}


def test_a_card_that_came_back_is_well() -> None:
    before = Gpu({FIRST: H100, SECOND: H100})
    gone = remember(before, Gpu({FIRST: H100}))

    assert remember(gone, before) == before


def test_sharing_that_nobody_saw_is_unknown_not_mixed() -> None:
    cut = Card(product="x", sharing=Sharing.MIG, memory=GIB)
    unseen = Card(product="x", sharing=Sharing.UNKNOWN, memory=GIB)

    assert spell(Gpu({FIRST: cut, SECOND: cut}), {}, 0)["gpu-sharing"] == "mig"
    assert spell(Gpu({FIRST: cut, SECOND: H100}), {}, 0)["gpu-sharing"] == "mixed"
    assert spell(Gpu({FIRST: cut, SECOND: unseen}), {}, 0)["gpu-sharing"] == "unknown"


def test_a_clique_is_said_where_all_share_it() -> None:
    fabric = Card(product="x", clique="c0ffee.7")

    assert spell(Gpu({FIRST: fabric, SECOND: fabric}), {}, 0)["gpu-clique"] == "c0ffee.7"
    assert "gpu-clique" not in spell(Gpu({FIRST: fabric, SECOND: H100}), {}, 0)


@given(GPUS, GPUS)
def test_remembering_twice_is_remembering_once(before: Gpu, now: Gpu) -> None:
    once = remember(before, now)

    assert remember(once, now) == once


@given(GPUS, GPUS)
def test_memory_makes_no_card_well(before: Gpu, now: Gpu) -> None:
    """A card is called usable only if it is seen so now, or was and can't be looked at."""
    for address, card in remember(before, now).cards.items():
        if card.usable:
            assert now.cards[address].usable or now.cards[address].blind
