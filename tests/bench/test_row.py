"""What a figure comes to, and how it is written."""

import pytest

from bench.row import Row, Verdict, failed, median, number, quantile


def row(value: float | None, limit: float | None = None, unit: str = "ms") -> Row:
    return Row(figure="f", value=value, unit=unit, limit=limit, how="h")


@pytest.mark.parametrize(
    ("value", "limit", "verdict"),
    [
        (25.0, 25.0, Verdict.PASS),
        (25.1, 25.0, Verdict.FAIL),
        (0, 0, Verdict.PASS),
        (1, 0, Verdict.FAIL),
        (99.0, None, Verdict.REPORTED),
        (None, 25.0, Verdict.FAIL),
        (None, None, Verdict.FAIL),
    ],
)
def test_a_figure_passes_up_to_its_limit(
    value: float | None, limit: float | None, verdict: Verdict
) -> None:
    assert row(value, limit).verdict is verdict


def test_one_figure_that_fails_fails_the_run() -> None:
    assert failed([row(1, 2), row(3, 2)])
    assert not failed([row(1, 2), row(3)])


def test_a_figure_is_written_with_its_unit() -> None:
    one = row(12.345, 25)

    assert (one.measured, one.target) == ("12.3 ms", "≤ 25 ms")
    assert row(0, 0, "").target == "0"
    assert row(7).target == "-"
    assert row(None).measured == "not measured"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (60, "60"),
        (0.3, "0.3"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (123.4, "123"),
        (9580.2, "9,580"),
        (0.01234, "0.0123"),
        (99.96, "100"),
    ],
)
def test_three_digits_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_quantile_is_a_sample() -> None:
    values = list(range(200, 0, -1))

    assert quantile(values, 0.5) == 100
    assert quantile(values, 0.99) == 198
    assert quantile(values, 1) == 200
    assert quantile([7], 0.01) == 7
    assert median([3, 1, 2]) == 2
