"""Say what was measured, what it must not exceed, and whether it passes. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MIB: Final = 1 << 20
KIB: Final = 1 << 10


class Verdict(StrEnum):
    """What a figure comes to; one without a target is only reported."""

    PASS = "PASS"
    FAIL = "FAIL"
    REPORTED = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure."""

    figure: str
    value: float | None
    """In ``unit``; ``None`` where it could not be measured, which fails."""
    unit: str = ""
    limit: float | None = None
    """The most it may be; ``None`` for a figure that is only reported."""
    how: str
    """How it was measured, for one who would repeat it."""

    @property
    def verdict(self) -> Verdict:
        """Judge it."""
        if self.value is None:
            return Verdict.FAIL
        if self.limit is None:
            return Verdict.REPORTED
        return Verdict.PASS if self.value <= self.limit else Verdict.FAIL

    @property
    def measured(self) -> str:
        """The value with its unit."""
        return "not measured" if self.value is None else _text(self.value, self.unit)

    @property
    def target(self) -> str:
        """The limit with its unit."""
        if self.limit is None:
            return "-"
        most = _text(self.limit, self.unit)
        return f"≤ {most}" if self.limit else most


def _text(value: float, unit: str) -> str:
    return f"{number(value)} {unit}".rstrip()


def number(value: float) -> str:
    """Write a value with three digits that count, and whole ones from 100 on."""
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(values: Iterable[float]) -> float:
    """Return the middle one, the lower of two."""
    return quantile(values, 0.5)


def failed(rows: Sequence[Row]) -> bool:
    """Tell whether any figure fails."""
    return any(row.verdict is Verdict.FAIL for row in rows)
