"""The gate that lets no test go unrun in CI."""

import pytest

from tests.conftest import allowed_skips

pytest_plugins = "pytester"


def test_an_allowed_skip_has_a_reason() -> None:
    assert allowed_skips("# note\n\ntests/a.py::b  no GPU here\n") == ("tests/a.py::b",)
    with pytest.raises(pytest.UsageError, match=r"no reason given for tests/a\.py::b"):
        allowed_skips("tests/a.py::b\n")


@pytest.mark.parametrize(("ci", "outcomes"), [(True, {"failed": 1}), (False, {"skipped": 1})])
def test_a_skip_fails_in_ci_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: bool, outcomes: dict[str, int]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyfile("import pytest\ndef test_it():\n    pytest.skip('no way')\n")

    result = pytester.runpytest_inprocess("-p", "no:randomly")

    result.assert_outcomes(**outcomes)
