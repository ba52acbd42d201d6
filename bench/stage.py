"""Give every figure a folder, a control plane when it first asks for one, and agents.

Everything that was started here has ended when the stage is left.
"""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Self

from bench.progress import Progress
from bench.resident import Benched
from tests.cluster.build import binaries
from tests.cluster.controlplane import ControlPlane


class Stage:
    """Where the figures of one run are measured."""

    def __init__(self, progress: Progress, *, quick: bool = False) -> None:
        self.progress = progress
        self.quick = quick
        """Whether to measure for less time, to see that the bench itself works."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def folder(self) -> Path:
        """A folder that is gone afterwards."""
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))

    @cached_property
    def plane(self) -> ControlPlane:
        """A real etcd and kube-apiserver, as the tests' are, and nothing else."""
        self.progress.say("  starting etcd and kube-apiserver")
        folder = self.folder / "control-plane"
        folder.mkdir()
        return self._stack.enter_context(ControlPlane(folder, binaries()))

    def agent(
        self, node: str, config: Mapping[str, object] = {}, environ: Mapping[str, str] = {}
    ) -> Benched:
        """Register a Node and return its agent, not started."""
        self.plane.make_node(node)
        folder = self.folder / node
        folder.mkdir()
        return Benched(self.plane, node, folder, config, environ)
