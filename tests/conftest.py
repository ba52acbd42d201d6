"""What every test shares: how laws are tried, and that CI lets no test go unrun."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

# The time of one example says more about the machine's other work than about ours.
settings.register_profile(
    "nodetruth", deadline=None, max_examples=100 if "CI" in os.environ else 50
)
settings.load_profile("nodetruth")

ALLOWED: Final = Path(__file__).parent.parent / ".ci/allowed-skips"


def allowed_skips(text: str) -> tuple[str, ...]:
    """Return the starts of node ids that may be skipped; each must have a reason."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pairs = [line.partition("  ") for line in lines]
    bare = [start for start, _, reason in pairs if not reason.strip()]
    if bare:
        message = f"{ALLOWED.name}: no reason given for {', '.join(bare)}"
        raise pytest.UsageError(message)
    return tuple(start for start, _, _ in pairs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, turn a skip that nobody allowed into a failure that says so."""
    del call
    report = yield
    unexpected = report.skipped and not hasattr(report, "wasxfail") and "CI" in os.environ
    if unexpected and not item.nodeid.startswith(allowed_skips(ALLOWED.read_text())):
        report.outcome = "failed"
        report.longrepr = f"skipped, which {ALLOWED.name} does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In CI, let no whole module be skipped either."""
    report = yield
    if report.skipped and "CI" in os.environ:
        report.outcome = "failed"
    return report
