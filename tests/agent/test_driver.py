"""The whole agent over a driver that hangs, crashes and changes: the real pynvml in a child."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import urllib3

from tests.agent.machines import FOLDER, configured
from tests.agent.test_process import NODETRUTH, labels
from tests.nvml.bus import plug
from tests.nvml.scene import Scene

MACHINE = FOLDER / "sata-ssd-whole-disk"
FIRST, SECOND = "0000:1b:00.0", "0000:5d:00.0"
H100 = "NVIDIA H100 80GB HBM3"
WELL = {"gpu": "true", "gpu-count": "2", "gpu-total": "2", "accelerator": "nvidia-h100"}
DEADLINE = 0.5

# The agent looks, a driver hangs, a child is ended and started: seconds each.
pytestmark = pytest.mark.timeout(30)


@dataclass
class Driven:
    """An agent on a Node in a file, on a machine of two GPUs."""

    folder: Path
    scene: Scene
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def node(self) -> Path:
        return self.folder / "node.yaml"

    @property
    def log(self) -> str:
        return (self.folder / "agent.log").read_text()

    def start(self) -> None:
        words = ["agent", "--config", f"{self.folder}/config.yaml", "--node-file", f"{self.node}"]
        with (self.folder / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [NODETRUTH, *words], env=self.scene.environ(), stderr=log
            )

    def says(self, **wanted: str | None) -> None:
        """Wait until the Node says this."""
        keys = {key.replace("_", "-"): value for key, value in wanted.items()}
        self.wait(lambda: all(labels(self.node).get(k) == v for k, v in keys.items()), str(keys))

    def wait(self, look: Callable[[], object], what: str) -> None:
        end = time.monotonic() + 8
        while not look():
            assert time.monotonic() < end, f"{what}; {labels(self.node)}; {self.log[-1500:]}"
            time.sleep(0.02)

    def children(self) -> list[int]:
        task = Path(f"/proc/{self.process.pid}/task")
        return [int(pid) for one in task.glob("*/children") for pid in one.read_text().split()]

    def metric(self, start: str) -> float:
        port = next(line.split("port ")[1][:5] for line in self.log.splitlines() if "port " in line)
        page = urllib3.request("GET", f"http://127.0.0.1:{int(port)}/metrics").data.decode()
        return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith(start))


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    machine = tmp_path / "machine"
    shutil.copytree(MACHINE, machine, symlinks=True)
    plug(machine, (FIRST, SECOND))
    scene = Scene({"gpus": [{"product": H100, "pci": [FIRST, SECOND]}]}, tmp_path / "nvml.flat")
    look = {"period": 0.3, "deadline": DEADLINE, "library": str(scene.library)}
    configured(machine, tmp_path / "config.yaml", gpu=look)
    agent = Driven(tmp_path, scene)
    agent.start()
    try:
        agent.wait(lambda: WELL.items() <= labels(agent.node).items(), "both GPUs")
        agent.wait(lambda: "HardwareHealthy" in agent.node.read_text(), "all of a first round")
        yield agent
    finally:
        agent.process.kill()
        agent.process.wait()


def test_a_gpu_that_is_lost_loses_its_label_and_comes_back(driven: Driven) -> None:
    driven.scene.change_card(SECOND, lost=True)
    driven.says(gpu_count="1", gpu_total="2", gpu="true", status="degraded")

    driven.scene.change_card(FIRST, lost=True)
    driven.says(gpu_count="0", gpu=None, accelerator=None, status="unhealthy")

    driven.scene.change(gpus=[{"product": H100, "pci": [FIRST, SECOND]}])
    driven.says(**{key.replace("-", "_"): value for key, value in WELL.items()}, status="healthy")


@pytest.mark.parametrize("call", ["nvmlDeviceGetMemoryInfo", "nvmlDeviceGetCount_v2"])
def test_a_driver_that_hangs_is_unknown_in_time_and_its_labels_are_held(
    driven: Driven, call: str
) -> None:
    begun = time.monotonic()
    driven.scene.change(errors=[{"call": call, "hang": True}])
    driven.says(status="unknown", **{key.replace("-", "_"): value for key, value in WELL.items()})

    assert time.monotonic() - begun < DEADLINE + 3
    assert "no answer within 0.5 s" in driven.node.read_text()
    assert labels(driven.node)["disktype"] == "ssd"
    assert driven.metric('nodetruth_probe_known{probe="disk"}') == 1

    driven.scene.change(errors=[])
    driven.says(status="healthy")
    assert driven.metric('nodetruth_child_lost_total{how="hung"}') >= 1


def test_a_child_that_was_killed_comes_back_and_nothing_changes(driven: Driven) -> None:
    before = driven.node.read_bytes()
    (child,) = driven.children()
    os.kill(child, signal.SIGKILL)
    driven.wait(lambda: driven.children() not in ([], [child]), "another child")

    driven.wait(lambda: driven.metric('nodetruth_child_lost_total{how="died"}') == 1, "the loss")
    assert driven.node.read_bytes() == before


def test_a_driver_that_crashes_its_reader_is_unknown_and_its_labels_are_held(
    driven: Driven,
) -> None:
    driven.scene.change(errors=[{"call": "nvmlDeviceGetName", "crash": True}])
    driven.says(status="unknown", **{key.replace("-", "_"): value for key, value in WELL.items()})

    assert "was killed by SIGSEGV" in driven.node.read_text()

    driven.scene.change(errors=[])
    driven.says(status="healthy")


def test_a_signal_ends_the_agent_within_a_second_though_the_driver_hangs(driven: Driven) -> None:
    driven.scene.change(errors=[{"call": "*", "hang": True}])
    driven.says(status="unknown")
    driven.wait(driven.children, "a child that hangs")
    children = driven.children()
    begun = time.monotonic()

    driven.process.send_signal(signal.SIGTERM)

    assert driven.process.wait(5) == 0
    assert time.monotonic() - begun < 1
    left = [Path(f"/proc/{child}") for child in children]
    driven.wait(lambda: not any(path.exists() for path in left), "no child is left")


def test_an_agent_that_was_killed_leaves_no_client_on_the_driver(driven: Driven) -> None:
    (child,) = driven.children()

    driven.process.kill()

    driven.wait(lambda: not Path(f"/proc/{child}").exists(), "no child is left")


def test_a_restart_over_a_driver_that_hangs_changes_no_gpu_label(driven: Driven) -> None:
    driven.scene.change(errors=[{"call": "*", "hang": True}])
    driven.says(status="unknown")
    driven.process.send_signal(signal.SIGTERM)
    driven.process.wait(5)
    before = driven.node.read_bytes()

    driven.start()

    driven.wait(lambda: "the Node says what it should" in driven.log.split("listening")[-1], "it")
    assert driven.node.read_bytes() == before
