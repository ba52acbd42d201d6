"""Find promtool, which says what Prometheus thinks of a page; fetch it where it is not.

Debian's package ``prometheus`` holds it. It is unpacked into the user's cache,
not installed: no server is wanted here.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PACKAGE: Final = "prometheus"
WAY_OUT: Final = f"install promtool (Debian: apt-get install {PACKAGE}), or run apt-get update"


class NoPromtoolError(RuntimeError):
    """There is no promtool and no way to fetch it; the message says why."""


def promtool() -> Path:
    """Return the program, after fetching it if need be."""
    installed = shutil.which("promtool")
    if installed:
        return Path(installed)
    program = cache(os.environ) / "usr/bin/promtool"
    if not program.exists():
        fetch(program)
    return program


def cache(environ: Mapping[str, str]) -> Path:
    """Find the folder that it is unpacked into, by the XDG rules."""
    home = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "nodetruth" / "promtool"


def fetch(program: Path) -> None:
    """Download Debian's package and unpack it; it appears whole or not at all."""
    root = program.parents[2]
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent) as folder:
        try:
            download(folder)
            (package,) = Path(folder).glob("*.deb")
            run("dpkg-deb", "--extract", package.name, "root", folder=folder)
        except (OSError, subprocess.CalledProcessError, ValueError) as err:
            message = f"can't fetch promtool: {err}; {WAY_OUT}"
            raise NoPromtoolError(message) from err
        Path(folder, "root").rename(root)


def download(folder: str) -> None:
    """Download the package; a machine that never asked Debian what there is asks now."""
    try:
        run("apt-get", "download", PACKAGE, folder=folder)
    except subprocess.CalledProcessError:
        run("apt-get", "update", folder=folder)
        run("apt-get", "download", PACKAGE, folder=folder)


def run(*line: str, folder: str) -> None:
    subprocess.run(line, cwd=folder, check=True, capture_output=True, timeout=120)
