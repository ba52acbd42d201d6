"""What a process of its own suffers from a driver: it hangs, it dies, it finds none."""

import signal
import subprocess
import sys

import pytest

from tests.nvml.conftest import Start
from tests.nvml.scene import Scene

TWO = [{"product": "Tesla T4", "pci": ["03:00.0", "04:00.0"]}]
INIT = "import pynvml as n; n.nvmlInit(); "
ASKS = """
import signal, pynvml as n
signal.signal(signal.SIGUSR1, print)
print("ready", flush=True)
n.nvmlInit()
n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(0))
"""


def run(scene: Scene, code: str) -> subprocess.CompletedProcess[str]:
    """Run Python with this driver, which it finds as it would find a real one."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=scene.environ(), capture_output=True, text=True, timeout=8, check=False
    )


def test_a_process_finds_the_library_as_it_finds_a_driver_s(load: Start) -> None:
    scene = load(gpus=TWO)

    done = run(scene, INIT + "print(n.nvmlDeviceGetCount())")

    assert (done.stdout, done.stderr) == ("2\n", "")


@pytest.mark.parametrize("call", ["nvmlInitWithFlags", "nvmlDeviceGetName"])
def test_a_call_may_hang_for_ever(load: Start, call: str) -> None:
    """A signal that the process handles does not end it."""
    scene = load(gpus=TWO, errors=[{"call": call, "hang": True}])
    command = [sys.executable, "-c", ASKS]

    with subprocess.Popen(
        command, env=scene.environ(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            for _ in range(2):
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.3)
                process.send_signal(signal.SIGUSR1)
        finally:
            process.kill()


def test_a_call_may_crash_the_process(load: Start) -> None:
    scene = load(gpus=TWO, errors=[{"call": "nvmlDeviceGetName", "crash": True}])

    done = run(scene, INIT + "n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(0))")

    assert done.returncode == -signal.SIGSEGV


def test_a_library_without_a_scenario_says_so(load: Start) -> None:
    scene = load()
    scene.flat.unlink()

    done = run(scene, INIT)

    assert "NVMLError_OperatingSystem" in done.stderr
    assert f"NVML_STANDIN_SCENARIO={scene.flat} can't be read" in done.stderr
