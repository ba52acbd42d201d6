"""Build the stand-in for ``libnvidia-ml.so.1``, once for each set of missing functions.

The outcome lies in the user's cache, under a name made from everything that goes into
it; it appears there complete or not at all, however many runs build at once.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
SOURCES: Final = (HERE / "standin.c", HERE / "functions.h")
NAME: Final = "libnvidia-ml.so.1"
FLAGS: Final = (
    *("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"),
    *("-shared", "-fPIC", "-fvisibility=hidden", "-pthread", f"-Wl,-soname,{NAME}"),
)
ROW: Final = re.compile(r"^[A-Z_]+\((nvml\w+)", re.MULTILINE)


class NoLibraryError(RuntimeError):
    """There is no stand-in and no way to make it; the message says why."""


@functools.cache
def functions() -> frozenset[str]:
    """Name every function of the stand-in, as its table does."""
    return frozenset(ROW.findall(SOURCES[1].read_text()))


def library(missing: Iterable[str] = ()) -> Path:
    """Return the library, without the ``missing`` functions, after building it if need be."""
    flags = (*FLAGS, *(f"-D{name}=without_{name}" for name in sorted(set(missing))))
    made = cache(os.environ) / digest(flags) / NAME
    if not made.exists():
        build(made, flags)
    return made


def cache(environ: Mapping[str, str]) -> Path:
    """Find the folder of all builds, by the XDG rules."""
    home = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "nodetruth" / "nvml"


def digest(flags: Iterable[str]) -> str:
    """Name a build by everything that goes into it."""
    parts = [*(source.read_bytes() for source in SOURCES), "\0".join(flags).encode(), version()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@functools.cache
def version() -> bytes:
    """Let the compiler say which it is."""
    return run("--version")


def build(made: Path, flags: Iterable[str]) -> None:
    """Compile beside the library's folder, then move the folder into its place."""
    made.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent.parent, prefix="partial-") as name:
        partial = Path(name) / made.parent.name
        partial.mkdir()
        run(*flags, "-o", str(partial / made.name), str(SOURCES[0]))
        # Another run may have built the same meanwhile: then its folder stands.
        with suppress(OSError):
            partial.rename(made.parent)
    if not made.exists():
        raise NoLibraryError(f"nvml stand-in: {made.parent} can't be made; remove what is there")


def run(*arguments: str) -> bytes:
    """Run the compiler and return what it prints."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoLibraryError(
            "nvml stand-in: no `cc` on PATH; install a C compiler, e.g. `apt-get install gcc`"
        )
    done = subprocess.run([compiler, *arguments], capture_output=True, check=False)
    if done.returncode:
        raise NoLibraryError(f"nvml stand-in: cc ended with {done.returncode}:\n{said(done)}")
    return done.stdout


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the end of what a compiler complains of."""
    return "\n".join(done.stderr.decode(errors="replace").splitlines()[-20:])
