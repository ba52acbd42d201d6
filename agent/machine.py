"""Make the probes of this machine from the settings, and tell its boot from others."""

from pathlib import Path

from agent.newest import Task
from agent.probes import cpu, disk, memory
from agent.settings import Roots, Settings
from labeler.facts import Probe


def tasks(settings: Settings) -> tuple[Task, ...]:
    """Return every probe with its period and deadline."""
    proc, sys, root = (Path(getattr(settings.roots, name)) for name in ("proc", "sys", "root"))
    paths = settings.disk.paths or ("/",)
    looks = {
        Probe.CPU: (settings.cpu, lambda: cpu.probe(proc, sys)),
        Probe.MEMORY: (settings.memory, lambda: memory.probe(proc)),
        Probe.DISK: (
            settings.disk,
            lambda: disk.probe(paths, proc, sys, root, settings.disk.overrides),
        ),
    }
    return tuple(
        Task(probe=probe, look=look, period=section.period, deadline=section.deadline)
        for probe, (section, look) in looks.items()
    )


def boot_id(roots: Roots) -> str:
    """Return the kernel's name for this boot; empty, which proves nothing, if unreadable."""
    try:
        return Path(roots.proc, "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
