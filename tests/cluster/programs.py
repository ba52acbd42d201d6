"""Run one server program, and end it for certain.

A program that is started here cannot outlive the tests, whether they end, fail
or are killed: the kernel ends it with the thread that started it.
"""

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Self

import urllib3

GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL; kube-apiserver would linger for a minute."""

LIFELINE: Final = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Becomes the program, after asking the kernel to end it with its parent thread."""

# The parent must be a thread that lasts: a test may start a program from one
# that does not.
_lasting: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="programs")

# Runs side by side begin at different ports, and no port is given twice.
_numbers: Final = itertools.count(os.getpid() * 16)


class ProgramError(RuntimeError):
    """A program ended by itself, or was not ready in time; its log says why."""

    def __init__(self, name: str, code: int | None, log: Path) -> None:
        what = "was not ready in time" if code is None else f"ended by itself with {code}"
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-10:])
        super().__init__(f"{name} {what}; the end of {log}:\n{tail}")
        self.name = name
        self.code = code


class Program:
    """One server: its command, its log and, while it runs, its process."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.name: Final = Path(command[0]).name
        self._command: Final = tuple(command)
        self._log: Final = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Say whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process; its output is appended to the log."""
        # In a session of its own it is spared the Ctrl-C that ends the tests,
        # and lives until they have tidied up.
        self._process = _lasting.submit(
            lambda: spawn((sys.executable, "-ISc", LIFELINE, *self._command), self._log)
        ).result()

    def terminate(self) -> None:
        """Ask the process to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once."""
        self._signal(signal.SIGKILL)
        if self._process:
            self._process.wait()

    def stop(self) -> None:
        """Ask the process to end, and end it when it takes too long."""
        stop_all([self])

    def wait_ended(self, seconds: float) -> None:
        """Wait until the process has ended, but not for ever."""
        if self._process:
            try:
                self._process.wait(timeout=max(seconds, 0))
            except subprocess.TimeoutExpired:
                self.kill()

    def failure(self) -> ProgramError:
        """Make the error that says why it does not do its work."""
        code = self._process.poll() if self._process else None
        return ProgramError(self.name, code, self._log)

    def _signal(self, number: signal.Signals) -> None:
        # Popen knows which processes have ended and signals none of those.
        if self._process:
            self._process.send_signal(number)


def spawn(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a command without input, with its output at the end of a log."""
    with log.open("ab") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )


def stop_all(programs: Iterable[Program]) -> None:
    """End several programs within one grace period."""
    ending = [program for program in programs if program.running]
    for program in ending:
        program.terminate()
    deadline = time.monotonic() + GRACE
    for program in ending:
        program.wait_ended(deadline - time.monotonic())


def wait_ready(program: Program, ready: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until a program does its work; fail when it ends or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not program.running or time.monotonic() > deadline:
            raise program.failure()
        time.sleep(0.05)


def answers(url: str, ca_file: Path) -> bool:
    """Say whether a health endpoint answers 200, to anyone."""
    if not ca_file.exists():
        return False  # The program has not made its certificate yet.
    with urllib3.PoolManager(ca_certs=str(ca_file), retries=False, timeout=5) as pool:
        try:
            return pool.request("GET", url).status == 200
        except urllib3.exceptions.HTTPError:
            return False


def free_port() -> int:
    """Find a loopback port that nobody uses, and that nobody gets by chance.

    The kernel hands out ports above 32767 to whoever connects somewhere. One of
    those could be taken while the API server that owned it is down.
    """
    while True:
        port = 20_000 + next(_numbers) % 12_000
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
