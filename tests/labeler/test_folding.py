"""Which keys share one name in what is counted or remembered."""

import pytest

from labeler.folding import folded


@pytest.mark.parametrize(
    ("key", "prefix", "name"),
    [
        ("cpu", "", "cpu"),
        ("data", "", "data"),
        ("data.csv", "", "data.csv"),
        ("data/imagenet", "", "data/*"),
        ("data-percent/imagenet", "", "data-percent/*"),
        ("data/accelerator.x", "", "data/*"),
        ("data.example.com/imagenet", "example.com", "data/*"),
        ("data-percent.example.com/imagenet", "example.com", "data-percent/*"),
        ("data.old.example/imagenet", "example.com", "data/*"),
        ("example.com/data", "example.com", "example.com/data"),
        ("data.example.com/cpu", "data.example.com", "data.example.com/cpu"),
        ("data.data.example.com/imagenet", "data.example.com", "data/*"),
        ("database.example.com/cpu", "", "database.example.com/cpu"),
        ("accelerator", "", "accelerator"),
        ("accelerator.nvidia-h100", "", "accelerator.*"),
        ("example.com/accelerator.nvidia-h100", "example.com", "example.com/accelerator.*"),
        ("nodetruth/data-disk", "", "nodetruth/data-disk"),
    ],
)
def test_a_key_whose_rest_is_made_up_is_folded(key: str, prefix: str, name: str) -> None:
    assert folded(key, prefix) == name
