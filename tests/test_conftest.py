"""The gate that lets no test go unrun in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import allowed_skips

ROOT = Path(__file__).parent.parent


def test_an_allowed_skip_has_a_reason() -> None:
    assert allowed_skips("# note\n\ntests/a.py::b  no GPU here\n") == ("tests/a.py::b",)
    with pytest.raises(pytest.UsageError, match=r"no reason given for tests/a\.py::b"):
        allowed_skips("tests/a.py::b\n")


@pytest.mark.parametrize(("ci", "outcome"), [("true", "1 failed"), (None, "1 skipped")])
def test_a_skip_fails_in_ci_alone(tmp_path: Path, ci: str | None, outcome: str) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_it.py").write_text("import pytest\ndef test_it(): pytest.skip('no way')\n")
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    environ |= {"PYTHONPATH": str(ROOT)} | ({"CI": ci} if ci else {})

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert outcome in done.stdout.splitlines()[-1]


def test_a_module_that_is_skipped_whole_fails_in_ci_too(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_it.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "CI": "true"}

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert "error" in done.stdout.splitlines()[-1]
