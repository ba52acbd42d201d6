"""The command as a process of its own: signals, hung probes, pipes."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
import yaml

from tests.agent.machines import FOLDER, configured

NODETRUTH = Path(sysconfig.get_path("scripts"), "nodetruth")
LOOK = {"period": 60, "deadline": 0.3}
SILENT = "no answer within 0.3 s"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return configured(FOLDER / "sata-ssd-whole-disk", tmp_path / "config.yaml")


@pytest.fixture
def hung(tmp_path: Path) -> Path:
    """Make a machine whose cpuinfo never answers: a pipe that nobody writes to."""
    machine = tmp_path / "machine"
    shutil.copytree(FOLDER / "sata-ssd-whole-disk", machine, symlinks=True)
    (machine / "proc/cpuinfo").unlink()
    os.mkfifo(machine / "proc/cpuinfo")
    return configured(machine, tmp_path / "config.yaml", cpu=LOOK)


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NODETRUTH, *words], check=False, capture_output=True, text=True, timeout=8
    )


@contextmanager
def running(*words: str | Path) -> Iterator[subprocess.Popen[str]]:
    quiet = subprocess.DEVNULL
    with subprocess.Popen([NODETRUTH, *words], text=True, stdout=quiet, stderr=quiet) as process:
        try:
            yield process
        finally:
            process.kill()


def settled(node: Path) -> bool:
    """Wait until the last part of a first round is written: the condition."""
    end = time.monotonic() + 6
    while time.monotonic() < end:
        if node.exists() and "HardwareHealthy" in node.read_text():
            return True
        time.sleep(0.02)
    return False


def labels(node: Path) -> dict[str, str]:
    # It is empty for a moment after it was made.
    tree = (yaml.safe_load(node.read_text()) if node.exists() else None) or {}
    found: dict[str, str] = tree.get("metadata", {}).get("labels", {})
    return found


def said(node: Path, key: str) -> str:
    """Wait until a Node says anything under a key."""
    end = time.monotonic() + 6
    while key not in labels(node) and time.monotonic() < end:
        time.sleep(0.02)
    return labels(node)[key]


def test_a_look_ends_though_a_probe_hangs(hung: Path) -> None:
    ended = run("probe", "-o", "json", "--config", hung)

    tree = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert tree["unknown"] == {"cpu": SILENT}
    assert tree["held"] == ["cpu", "cpu-cores"]
    assert tree["labels"]["disktype"] == "ssd"


def test_once_ends_with_the_first_confirmed_round(config: Path, tmp_path: Path) -> None:
    node = tmp_path / "node.yaml"

    ended = run("agent", "--once", "--config", config, "--node-file", node, "-o", "json")

    assert ended.returncode == 0
    assert labels(node) == json.loads(ended.stdout)["labels"]
    assert labels(node)["status"] == "healthy"
    assert all(json.loads(line)["level"] for line in ended.stderr.splitlines())


def test_once_ends_though_a_probe_hangs(hung: Path, tmp_path: Path) -> None:
    node = tmp_path / "node.yaml"

    ended = run("agent", "--once", "--config", hung, "--node-file", node, "-o", "json")

    assert ended.returncode == 0
    assert json.loads(ended.stdout)["unknown"] == {"cpu": SILENT}
    assert labels(node)["disktype"] == "ssd"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_agent_within_a_second_though_a_probe_hangs(
    hung: Path, tmp_path: Path, number: signal.Signals
) -> None:
    node = tmp_path / "node.yaml"

    with running("agent", "--config", hung, "--node-file", node) as process:
        assert said(node, "disktype") == "ssd"
        began = time.monotonic()
        process.send_signal(number)
        code = process.wait(5)

    assert code == 0
    assert time.monotonic() - began < 1


def test_a_second_signal_changes_nothing(config: Path, tmp_path: Path) -> None:
    node = tmp_path / "node.yaml"

    with running("agent", "--config", config, "--node-file", node) as process:
        assert settled(node)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)

        assert process.wait(5) == 0


def test_a_dry_run_makes_no_file(config: Path, tmp_path: Path) -> None:
    node = tmp_path / "node.yaml"

    ended = run("agent", "--once", "--dry-run", "--config", config, "--node-file", node)

    assert ended.returncode == 1
    assert "no such file" in ended.stderr
    assert not node.exists()


def test_an_agent_puts_right_what_another_hand_writes(config: Path, tmp_path: Path) -> None:
    node = tmp_path / "node.yaml"

    with running("agent", "--config", config, "--node-file", node):
        assert settled(node)
        fresh = node.with_suffix(".new")
        fresh.write_text(node.read_text().replace('disktype: "ssd"', "disktyp: mine"))
        fresh.rename(node)
        assert said(node, "disktype") == "ssd"

    assert labels(node)["disktyp"] == "mine"


def test_an_edit_is_right_within_a_second_and_counted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    machine = FOLDER / "sata-ssd-whole-disk"
    config = configured(machine, tmp_path / "config.yaml", listen=f"127.0.0.1:{port}")
    node = tmp_path / "node.yaml"

    with running("agent", "--config", config, "--node-file", node):
        assert settled(node)
        text = node.read_text()
        node.write_text(text.replace('disktype: "ssd"', "disktype: hdd"))
        time.sleep(1)
        after = node.read_text()
        page = urllib3.request("GET", f"http://127.0.0.1:{port}/metrics").data.decode()

    assert after == text
    counted = 'nodetruth_drift_total{cause="changed",key="disktype",manager="unknown"} 1.0'
    assert counted in page


def test_a_dry_run_shows_what_it_would_write_and_writes_nothing(
    config: Path, tmp_path: Path
) -> None:
    node = tmp_path / "node.yaml"
    node.write_text("kind: Node\nmetadata: {name: n1, labels: {cpu: mine}}\n")
    before = node.read_bytes()

    ended = run("agent", "--once", "--dry-run", "--config", config, "--node-file", node)

    assert ended.returncode == 0
    assert f"Node n1 would say ({node})" in ended.stdout
    assert "would be written, now 'mine'" in ended.stdout
    assert node.read_bytes() == before


def test_cleaning_puts_back_what_had_been_found_and_a_second_time_nothing(
    config: Path, tmp_path: Path
) -> None:
    node = tmp_path / "node.yaml"
    node.write_text("# ours\nkind: Node\nmetadata:\n  name: n1\n  labels:\n    cpu: mine\n")
    before = yaml.safe_load(node.read_text())
    run("agent", "--once", "--config", config, "--node-file", node)
    assert labels(node)["cpu"] == "intel-xeon"

    first = run("clean", "--node-file", node)
    after = node.read_bytes()
    second = run("clean", "--node-file", node)

    assert (first.returncode, second.returncode) == (0, 0)
    assert "cpu: restored to 'mine'\n" in first.stdout
    assert "disktype: removed\n" in first.stdout
    assert second.stdout == "Node n1: changed 0 entries\n"
    assert yaml.safe_load(after) == before
    assert after.startswith(b"# ours\n")
    assert node.read_bytes() == after


def test_a_reader_that_goes_away_leaves_no_traceback(config: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        words: list[str | Path] = [NODETRUTH, "probe", "--config", config]
        ended = subprocess.run(
            words, check=False, stdout=writing, stderr=subprocess.PIPE, timeout=8
        )
    finally:
        os.close(writing)

    assert ended.returncode == 1
    assert ended.stderr == b""


def test_a_thread_that_dies_of_a_bug_ends_the_agent(config: Path, tmp_path: Path) -> None:
    """An agent that answers on its port while nobody looks after the Node would be a lie."""
    bug = "import agent.loop, cli; agent.loop.desired = lambda *_: 1 / 0; cli.main()"
    words = ["agent", "--config", str(config), "--node-file", str(tmp_path / "node.yaml")]

    ended = subprocess.run(
        [sys.executable, "-c", bug, *words], check=False, capture_output=True, text=True, timeout=8
    )

    assert ended.returncode == 1
    last = json.loads(ended.stderr.splitlines()[-1])
    assert last["message"] == "a bug ended the agent, in settle_for_ever; please report it"
    assert "ZeroDivisionError" in last["exception"]
