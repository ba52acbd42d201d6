import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeler import legal

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)

KUBERNETES = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?\Z")
"""As in k8s.io/apimachinery/pkg/util/validation, written independently of ours."""


@given(st.text())
def test_readable_and_distinct_are_always_legal_values(text: str) -> None:
    for made in (legal.readable(text), legal.distinct(text)):
        assert KUBERNETES.match(made)
        assert len(made.encode()) <= 63


@given(st.text(st.characters(max_codepoint=0x2FF), max_size=80))
def test_is_value_says_what_kubernetes_says(text: str) -> None:
    assert legal.is_value(text) == bool(KUBERNETES.match(text) and len(text.encode()) <= 63)


@given(st.text(max_size=100), st.text(max_size=100))
def test_two_names_stay_two_values(one: str, other: str) -> None:
    assert (one == other) == (legal.distinct(one) == legal.distinct(other))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"),
        ("Tesla V100-SXM2-32GB", "Tesla-V100-SXM2-32GB"),
        ("  spaced  out ", "spaced-out"),
        ("-_.", ""),
        ("x" * 100, "x" * 63),
        ("", ""),
        ("a/b:c", "a-b-c"),
    ],
)
def test_what_people_read_stays_readable(text: str, value: str) -> None:
    assert legal.readable(text) == value


def test_a_name_that_had_to_change_carries_a_hash_of_the_whole() -> None:
    long = "imagenet-" + "x" * 200

    assert legal.distinct("imagenet") == "imagenet"
    assert legal.distinct(long).startswith("imagenet-xxx")
    assert len(legal.distinct(long)) == 63
    assert legal.distinct(long) != legal.distinct(long + "y")
    assert re.fullmatch(r"[0-9a-f]{10}", legal.distinct("\N{CJK UNIFIED IDEOGRAPH-4E2D}"))


def test_a_name_that_is_not_utf8_still_gets_a_value() -> None:
    assert legal.is_name(legal.distinct(b"\xff\xfe".decode(errors="surrogateescape")))


@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("cpu", True),
        ("example.com/cpu", True),
        ("data.example.com/imagenet", True),
        ("/cpu", False),
        ("example.com/", False),
        ("Example.com/cpu", False),
        ("a/b/c", False),
        ("x" * 253 + "/cpu", True),
        ("x" * 254 + "/cpu", False),
        ("-cpu", False),
        ("cpu\n", False),
    ],
)
def test_a_key_is_a_name_after_an_optional_subdomain(key: str, good: bool) -> None:
    assert legal.is_key(key) is good
