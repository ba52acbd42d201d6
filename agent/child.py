"""Keep a helper process that answers lines, and may hang, crash or babble.

A question has a deadline, whatever becomes of the process. One that misses it
is ended, but at most ``ENDS`` times an hour: a driver is not served by being
kicked. Whatever happens, the next question finds a process again.
"""

import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Final

ENDS: Final = 3
HOUR: Final = 3600.0
FLOOD: Final = 1 << 20
"""Bytes of one answer, at most."""
PATIENCE: Final = 0.3
"""Seconds that a process has to end when asked to, and then to be ended."""
_CHUNK: Final = 1 << 16


class ChildError(Exception):
    """There is no answer; the message says why, in words that are the same each time."""


class ChildDied(ChildError):
    """The process ended under the question."""


class ChildHung(ChildError):
    """The deadline passed without an answer."""


class Child:
    """A process that is started when it is first asked.

    ``lost`` is told how a process was lost: ``hung``, ``died``, ``garbage``, or
    ``stuck`` for one that nothing could end.
    """

    def __init__(
        self,
        command: Sequence[str],
        lost: Callable[[str], None] = lambda _how: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = command
        self._lost = lost
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._owes = False
        self._ended: deque[float] = deque(maxlen=ENDS)
        self._closed = False
        self._told = False

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Send one line and return the line that answers it.

        A process that was killed answers at the second try; one that crashes
        on the question does not.
        """
        end = time.monotonic() + seconds
        try:
            if self._owes:
                # It missed its deadline and was not ended: its late answer is of another time.
                self._receive(end)
            return self._ask(line, end)
        except ChildDied:
            return self._ask(line, end)

    @property
    def pid(self) -> int | None:
        """The process that runs now, if any."""
        return self._process.pid if self._process else None

    def stop(self) -> None:
        """End the process, if one runs; the next question starts another.

        One that can't be ended is kept: to start others beside it would heap them up.
        """
        if self._process:
            self._process.kill()
            if self._gone() is not None:
                self._forget()

    def close(self) -> None:
        """End the process for good, from any thread, and wait for nothing."""
        self._closed = True
        if process := self._process:
            process.kill()

    def distrust(self, why: str) -> ChildError:
        """End a process whose answer means nothing; return the error that says so."""
        self._end("garbage")
        return ChildError(f"the process that reads the driver babbles: {why}")

    def _ask(self, line: bytes, end: float) -> bytes:
        process = self._running()
        self._owes = True
        try:
            os.write(_fileno(process.stdin), line + b"\n")
        except BrokenPipeError:
            raise self._died() from None
        return self._receive(end)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise ChildError("the agent ends")
        if self._process and self._process.poll() is not None:
            self._died()
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  (a command of the agent's own)
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if self._closed:
                # That came while it started, and found nothing to end.
                self._process.kill()
        return self._process

    def _receive(self, end: float) -> bytes:
        assert self._process
        out = _fileno(self._process.stdout)
        answer = b""
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([out], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise self._hung()
            chunk = os.read(out, _CHUNK)
            if not chunk:
                raise self._died()
            answer += chunk
            if len(answer) > FLOOD:
                raise self.distrust(f"more than {FLOOD} bytes in one answer")
        self._owes = False
        if answer.count(b"\n") > 1:
            raise self.distrust("more than one answer")
        return answer

    def _hung(self) -> ChildHung:
        self._end("hung")
        return ChildHung("no answer within the deadline")

    def _died(self) -> ChildError:
        assert self._process
        code = self._gone()
        if code is None:
            # It closed its end and lives on.
            self._process.kill()
            code = self._gone()
        if code is None:
            # Its files are closed, but the driver does not let go of it.
            self._stuck()
            return ChildError("the process that reads the driver can't be ended")
        self._forget()
        self._lost("died")
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        return ChildDied(f"the process that reads the driver {how}")

    def _end(self, why: str) -> None:
        """End the process; one that can't be or may not be ended stays, and owes its answer."""
        assert self._process
        now = self._clock()
        if len(self._ended) == ENDS and now - self._ended[0] < HOUR:
            return
        self._ended.append(now)
        for stop in (self._process.terminate, self._process.kill):
            stop()
            if self._gone() is not None:
                self._forget()
                self._lost(why)
                return
        # It hangs inside the kernel, where no signal reaches it.
        self._stuck()

    def _stuck(self) -> None:
        """Tell, once for each process, that nothing can end it."""
        if not self._told:
            self._told = True
            self._lost("stuck")

    def _gone(self) -> int | None:
        """Give the process a moment to be gone; return its exit status then."""
        assert self._process
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(PATIENCE)
        return None

    def _forget(self) -> None:
        assert self._process
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process, self._owes, self._told = None, False, False


def _fileno(pipe: IO[bytes] | None) -> int:
    assert pipe
    return pipe.fileno()
