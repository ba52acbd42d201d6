"""Run a real agent process as a Pod would, against the real API server."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

import urllib3

from tests.cluster.api import Json
from tests.cluster.controlplane import ControlPlane
from tests.cluster.eventually import eventually
from tests.cluster.programs import free_port

IN_POD: Final = """
import pathlib, sys
from labeler import credentials
credentials.ACCOUNT = pathlib.Path(sys.argv.pop(1))
import cli
cli.main()
"""
"""The command, but for where a Pod's service account is mounted: only a Pod has that folder."""

CONFIG: Final[Json] = {
    "derived": [
        {
            "label": "size",
            "value": "Large",
            "matchExpressions": [{"key": "memory-gib", "operator": "Gt", "values": ["100"]}],
        }
    ],
    "disk": {"paths": ["/data"], "period": 1, "deadline": 2},
    "memory": {"period": 1, "deadline": 2},
}
LABELS: Final = {
    "cpu": "intel-xeon",
    "cpu-cores": "2",
    "memory": "64gb",
    "memory-gib": "62",
    "disktype": "ssd",
    "disk-interface": "nvme",
    "status": "healthy",
}
"""What the machine of ``machine`` is; ``size`` is not given."""


def machine(folder: Path) -> dict[str, str]:
    """Make a small machine on disk; return where its trees are."""
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\n",
        "proc/meminfo": "MemTotal:       65011712 kB\n",
        "proc/sys/kernel/random/boot_id": "b1791361-7bca-48e0-a152-ecbf10f4ef71\n",
        "proc/1/mountinfo": "31 1 259:2 / /data rw - ext4 /dev/nvme0n1p2 rw\n",
        "sys/devices/nvme0n1/queue/rotational": "0\n",
        "sys/devices/nvme0n1/nvme0n1p2/partition": "2\n",
        "sys/bus/pci/devices/.keep": "",
        "root/data/shard": "",
    }
    for cpu in (0, 1):
        topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{topology}/thread_siblings_list"] = f"{cpu}\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    block = folder / "sys/dev/block"
    block.mkdir(parents=True)
    (block / "259:2").symlink_to("../../devices/nvme0n1/nvme0n1p2")
    return {name: str(folder / name) for name in ("proc", "sys", "root")}


class Agent:
    """One agent of one Node, and what it says of itself."""

    def __init__(self, plane: ControlPlane, node: str, folder: Path, **config: object) -> None:
        self.node: Final = node
        self.folder: Final = folder
        self.account: Final = folder / "serviceaccount"
        self.log: Final = folder / "agent.log"
        self._plane: Final = plane
        self._port: Final = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.server = urlsplit(plane.url).port
        self.roots = machine(folder / "machine")
        listen = f"127.0.0.1:{self._port}"
        settings = {**CONFIG, "roots": self.roots, "listen": listen, **config}
        (folder / "config.yaml").write_text(json.dumps(settings))
        self.account.mkdir()
        (self.account / "ca.crt").write_bytes(plane.ca_file.read_bytes())
        (self.account / "namespace").write_text("nodetruth")
        self.username = self.renew_token()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def renew_token(self) -> str:
        """Put a new token where kubelet would, in one step; return the user's name."""
        token, username = self._plane.agent_identity(self.node)
        fresh = self.account / "fresh"
        fresh.write_text(token + "\n")
        fresh.replace(self.account / "token")
        return username

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Return the command line and the environment of a Pod of the agent's."""
        where = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.server),
            "NODE_NAME": self.node,
            "POD_NAME": f"nodetruth-{self.node}",
        }
        config = str(self.folder / "config.yaml")
        line = [sys.executable, "-c", IN_POD, str(self.account), *arguments, "--config", config]
        return line, {**os.environ, **where}

    def start(self) -> None:
        """Start the agent."""
        line, environ = self.command("agent")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(line, env=environ, stdout=log, stderr=log)

    def stop(self) -> int:
        """End the agent as kubelet does; return its exit code."""
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(timeout=5)
        finally:
            self._process.kill()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command of the product as this agent's Pod would."""
        line, environ = self.command(*arguments)
        return subprocess.run(
            line, env=environ, capture_output=True, text=True, timeout=90, check=False
        )

    def ask(self, path: str) -> tuple[int, str]:
        """Ask the agent's own port; 0 while it does not listen."""
        try:
            answer = urllib3.request("GET", f"http://127.0.0.1:{self._port}{path}", retries=False)
        except urllib3.exceptions.HTTPError:
            return 0, ""
        return answer.status, answer.data.decode()

    def metric(self, start: str) -> float:
        """Sum the samples whose name and labels begin so."""
        _, page = self.ask("/metrics")
        return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith(start))

    def ready(self) -> bool:
        """Say whether the agent calls its Node true."""
        return self.ask("/readyz")[0] == 200

    def seen(self) -> Json:
        """Read the Node as the tests' own hand."""
        return self._plane.admin.get(f"/api/v1/nodes/{self.node}")

    def labels(self) -> dict[str, str]:
        """Return the labels of ours that the Node has."""
        found: dict[str, str] = self.seen()["metadata"].get("labels", {})
        return {key: value for key, value in found.items() if key in {*LABELS, "size"}}

    def wait_true(self, labels: dict[str, str] = LABELS, seconds: float = 30) -> None:
        """Wait until the Node says this, and the agent knows that it does."""
        eventually(
            lambda: self.ready() and self.labels() == labels,
            f"labels of {self.node}; {self.log.read_text()[-2000:]}",
            seconds,
        )
