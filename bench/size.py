"""How many bytes does the agent add to a Node, which travels to every watcher?"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench import gpus
from bench.edits import derived
from bench.row import KIB, Row
from bench.stage import Stage
from tests.cluster.api import Json
from tests.cluster.eventually import eventually

MOST: Final = 12.0
"""KiB."""
SECONDS: Final = 20
DATASETS: Final = 32
Plug = Callable[[Path], None]
"""Puts more into the machine that is a folder."""
MAINTENANCE: Final = {"metadata": {"annotations": {"nodetruth/maintenance": "swap a disk"}}}
PARTS: Final[Mapping[str, Callable[[Json], object]]] = {
    "labels": lambda node: node["metadata"].get("labels"),
    "annotations": lambda node: node["metadata"].get("annotations"),
    "taints": lambda node: node["spec"].get("taints"),
    "the condition": lambda node: node["status"].get("conditions"),
    "managedFields": lambda node: node["metadata"].get("managedFields"),
}


def size(value: object) -> int:
    """Return the bytes of JSON as the API server writes it. Pure."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return 0 if value is None else len(text.encode())


def added(before: Json, after: Json) -> dict[str, int]:
    """Return the bytes that each part of a Node has gained. Pure."""
    return {name: size(part(after)) - size(part(before)) for name, part in PARTS.items()}


def measure(stage: Stage) -> list[Row]:
    """Compare a Node in maintenance before and after; that adds a taint, a healthy one has none."""
    before, after = _grow(stage, "grown")
    many = _grow(stage, "grown-much", {"derived": derived()})
    how = "JSON of the Node with us, less before; in maintenance, so that a taint is among it"
    parts = [
        Row(figure=f"of these, {name}", value=gain / KIB, unit="KiB", how="the same, this part")
        for name, gain in added(before, after).items()
    ]
    full = _grow(stage, "grown-full", *gpus_and_data(stage))
    more = f"the same with {len(derived())} derived labels, far more than a site has"
    return [
        _row("bytes added to a Node", (before, after), how),
        *parts,
        _row("bytes added by many labels", many, more),
        _row("bytes added with 8 GPUs and 32 datasets", full, "the same on such a machine"),
    ]


def _row(figure: str, pair: tuple[Json, Json], how: str) -> Row:
    gained = size(pair[1]) - size(pair[0])
    return Row(figure=figure, value=gained / KIB, unit="KiB", limit=MOST, how=how)


def gpus_and_data(stage: Stage) -> tuple[Mapping[str, object], Mapping[str, str], Plug]:
    """Return the settings, the environment and the machine of a Node that has much to say."""
    folder = stage.folder / "full"
    folder.mkdir()
    config, environ = gpus.given(folder)

    def plug(machine: Path) -> None:
        gpus.plug(machine)
        for number in range(DATASETS):
            _dataset(machine / f"root/data/dataset-{number:02}-of-tokenised-text")

    return {**config, "data": {"roots": ["/data"]}}, environ, plug


def _dataset(folder: Path) -> None:
    """Make a dataset of which half is here, as if it had been so for a while."""
    folder.mkdir()
    (folder / "nodetruth.yaml").write_text("shards:\n  a.tar: 1\n  b.tar: 1\n")
    (folder / "a.tar").write_text("x")
    for path in folder.iterdir():
        os.utime(path, (0, 0))


def _grow(
    stage: Stage,
    node: str,
    config: Mapping[str, object] = {},
    environ: Mapping[str, str] = {},
    plug: Plug = lambda _machine: None,
) -> tuple[Json, Json]:
    agent = stage.agent(node, config, environ)
    plug(agent.folder / "machine")
    stage.plane.admin.patch(f"/api/v1/nodes/{node}", MAINTENANCE)
    before = agent.seen()
    with agent:
        eventually(agent.ready, "ready")
        eventually(lambda: _has_condition(agent.seen()), "the condition")
    return before, agent.seen()


def _has_condition(node: Json) -> bool:
    return any(one["type"] == "HardwareHealthy" for one in node["status"]["conditions"])
