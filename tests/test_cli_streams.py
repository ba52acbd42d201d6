"""The command where its streams are odd: full, closed, or of a small alphabet."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.agent.machines import FOLDER, configured

NAME = "na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve"
COMMAND = [sys.executable, "-c", "import cli; cli.main()"]


@pytest.fixture
def config(tmp_path: Path) -> str:
    folder = tmp_path / "data" / NAME
    folder.mkdir(parents=True)
    (folder / "SHA256SUMS").touch()
    os.utime(folder / "SHA256SUMS", (0, 0))
    machine = FOLDER / "sata-ssd-whole-disk"
    return str(configured(machine, tmp_path / "c.yaml", data={"roots": [str(tmp_path / "data")]}))


def shell(line: str, config: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ: Mapping[str, str] = {**os.environ, **variables, "CONFIG": config}
    return subprocess.run(
        ["/bin/sh", "-c", line, "sh", *COMMAND],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("command", ["probe --config", "probe -o json --config", "config check"])
def test_a_full_disk_is_said_in_a_line(command: str, config: str) -> None:
    done = shell(f'"$@" {command} "$CONFIG" > /dev/full', config)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr


def test_a_closed_stdout_is_no_bug(config: str) -> None:
    assert "Traceback" not in shell('"$@" probe --config "$CONFIG" >&-', config).stderr


def test_a_name_that_no_terminal_here_can_print_is_escaped(config: str) -> None:
    done = shell(
        '"$@" probe --config "$CONFIG"', config, PYTHONIOENCODING="ascii", NODETRUTH_ROOTS_ROOT="/"
    )

    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "dataset na\\xefve: not counted" in done.stdout


@pytest.mark.parametrize("proc", ["/x\\0", "/binary"])
def test_a_boot_that_cannot_be_told_is_no_bug(proc: str, config: str, tmp_path: Path) -> None:
    boot = tmp_path / "binary/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_bytes(b"\xff\xfe")
    proc = proc.replace("/binary", str(tmp_path / "binary"))

    done = shell('"$@" probe --config "$CONFIG"', config, NODETRUTH_ROOTS_PROC=f'"{proc}"')

    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_a_hidden_name_is_in_no_stream(config: str) -> None:
    done = shell(
        '"$@" probe --config "$CONFIG"',
        config,
        NODETRUTH_ROOTS_ROOT="/",
        NODETRUTH_DATA_NAMES="hashed",
    )

    assert "not counted" in done.stdout
    assert "not counted" in done.stderr
    assert NAME not in done.stdout
    assert json.dumps(NAME).strip('"') not in done.stderr
