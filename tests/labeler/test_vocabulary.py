"""Which keys are ours, and which share one name in what is counted or remembered."""

import pytest

from labeler.vocabulary import Stem, Vocabulary


@pytest.mark.parametrize(
    ("key", "prefix", "name"),
    [
        ("cpu", "", "cpu"),
        ("data", "", "data"),
        ("data.csv", "", "data.csv"),
        ("data/imagenet", "", "data/*"),
        ("data-percent/imagenet", "", "data-percent/*"),
        ("data/accelerator.x", "", "data/*"),
        ("data.example.com/imagenet", "example.com", "data.example.com/*"),
        ("data-percent.example.com/imagenet", "example.com", "data-percent.example.com/*"),
        ("data.old.example/imagenet", "example.com", "data.old.example/imagenet"),
        ("example.com/data", "example.com", "example.com/data"),
        ("data.example.com/cpu", "data.example.com", "data.example.com/cpu"),
        ("data.data.example.com/imagenet", "data.example.com", "data.data.example.com/*"),
        ("database.example.com/cpu", "", "database.example.com/cpu"),
        ("accelerator", "", "accelerator"),
        ("accelerator.nvidia-h100", "", "accelerator.*"),
        ("example.com/accelerator.nvidia-h100", "example.com", "example.com/accelerator.*"),
        ("accelerator.example.com/x", "", "accelerator.example.com/x"),
        ("nodetruth/data-disk", "", "nodetruth/data-disk"),
    ],
)
def test_a_key_whose_rest_is_made_up_is_folded(key: str, prefix: str, name: str) -> None:
    assert Vocabulary(prefix).folded(key) == name


@pytest.mark.parametrize(
    ("key", "stem"),
    [
        ("accelerator.nvidia-h100", Stem.ACCELERATOR),
        ("data/imagenet", Stem.DATA),
        ("data-percent/imagenet", Stem.DATA_PERCENT),
        ("database/imagenet", None),
        ("data", None),
        ("accelerator.example.com/x", None),
    ],
)
def test_a_key_that_begins_as_ours_is_ours(key: str, stem: Stem | None) -> None:
    assert Vocabulary().stem(key) == stem
    assert Vocabulary().owns(key) == (stem is not None or key == "data")


def test_a_key_holds_one_slash_also_under_a_prefix() -> None:
    under = Vocabulary("example.com")

    assert under.key("data/imagenet") == "data.example.com/imagenet"
    assert under.stem("data.example.com/imagenet") == Stem.DATA
    assert under.stem("data/imagenet") is None
