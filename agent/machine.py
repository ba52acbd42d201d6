"""Make the probes of this machine from the settings, and tell its boot from others."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.newest import Task
from agent.probes import cpu, disk, memory
from agent.probes.gpu import GpuProbe
from agent.settings import Roots, Settings
from labeler.facts import Data, Probe

if TYPE_CHECKING:
    from agent.shelf import Shelf


class Machine:
    """The probes, and the process that one of them keeps.

    ``lost`` is told how that process was lost, each time.
    """

    def __init__(self, settings: Settings, lost: Callable[[str], None] = lambda _how: None) -> None:
        proc, sys, root = (Path(getattr(settings.roots, name)) for name in ("proc", "sys", "root"))
        paths = settings.disk.paths or ("/",)
        self.gpu = GpuProbe(sys, settings.gpu.library, settings.gpu.deadline, lost)
        self.shelf = _shelf(settings) if settings.data.roots else None
        """What lies below the data roots, where there are any."""
        looks = {
            Probe.CPU: (settings.cpu, lambda: cpu.probe(proc, sys)),
            Probe.MEMORY: (settings.memory, lambda: memory.probe(proc)),
            Probe.DISK: (
                settings.disk,
                lambda: disk.probe(paths, proc, sys, root, settings.disk.overrides),
            ),
            Probe.GPU: (settings.gpu, self.gpu.look),
            Probe.DATA: (settings.data, self.shelf.look if self.shelf else lambda: Data({})),
        }
        self.tasks = tuple(
            Task(probe=probe, look=look, period=section.period, deadline=section.deadline)
            for probe, (section, look) in looks.items()
        )
        """Every probe with its period and deadline."""

    def close(self) -> None:
        """Let go of the driver, for good."""
        self.gpu.child.close()


def _shelf(settings: Settings) -> "Shelf":
    # Only here: most nodes hold no datasets, and these modules cost each of them memory.
    from agent.probes.data import DataProbe  # noqa: PLC0415
    from agent.shelf import Shelf  # noqa: PLC0415

    hashed = settings.data.names == "hashed"
    data = DataProbe(settings.data.roots, settings.roots.root, hashed=hashed)
    return Shelf(data, hashed=hashed)


def boot_id(roots: Roots) -> str:
    """Return the kernel's name for this boot; empty, which proves nothing, if unreadable."""
    try:
        return Path(roots.proc, "sys/kernel/random/boot_id").read_text().strip()
    except (OSError, ValueError):
        return ""
