"""Run an agent on a machine that has GPUs, data and the driver's stand-in."""

import os
from pathlib import Path
from typing import Any, Final

from tests.cluster.agents import LABELS, Agent
from tests.cluster.controlplane import ControlPlane
from tests.nvml.bus import plug
from tests.nvml.scene import Scene

CARDS: Final = ("0000:1b:00.0", "0000:5d:00.0")
PRODUCT: Final = "NVIDIA H100 80GB HBM3"
WELL: Final = {
    **LABELS,
    "accelerator": "nvidia-h100",
    "accelerator-product": "NVIDIA-H100-80GB-HBM3",
    "gpu": "true",
    "gpu-count": "2",
    "gpu-memory-gib": "79",
    "gpu-sharing": "none",
    "gpu-total": "2",
}


class Driven(Agent):
    """An agent of a machine of two GPUs, whose driver says what a test has it say."""

    def __init__(self, plane: ControlPlane, node: str, folder: Path, **config: object) -> None:
        self.scene: Final = Scene(
            {"gpus": [{"product": PRODUCT, "pci": list(CARDS)}]}, folder / "nvml.flat"
        )
        look: dict[str, Any] = {"period": 0.5, "deadline": 1, "library": str(self.scene.library)}
        super().__init__(plane, node, folder, gpu=look, **config)
        plug(folder / "machine", CARDS)

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Return the command line and the environment of a Pod of the agent's."""
        line, environ = super().command(*arguments)
        return line, {**environ, **self.scene.environ()}

    def labels(self) -> dict[str, str]:
        """Return the labels that the Node has, but for kubelet's."""
        found: dict[str, str] = self.seen()["metadata"].get("labels", {})
        return {k: v for k, v in found.items() if not k.startswith("kubernetes.io/")}

    def dataset(self, name: str, *present: str, absent: tuple[str, ...] = ()) -> Path:
        """Put a dataset below /data, as if it had lain there for an hour."""
        folder = self.folder / "machine/root/data" / name
        folder.mkdir()
        for shard in present:
            (folder / shard).write_text("x")
        shards = "".join(f"  {shard}: 1\n" for shard in sorted({*present, *absent}))
        (folder / "nodetruth.yaml").write_text(f"shards:\n{shards}")
        for path in folder.iterdir():
            os.utime(path, (0, 0))
        return folder
