"""Read NVIDIA's driver, in a process of its own that may hang or crash and hurts nobody.

Started by ``agent.probes.gpu`` as a script, and the only module that imports
``pynvml``. Each line on stdin is a JSON list of PCI addresses; each is answered
by one line of JSON, in the shape of ``agent.probes.gpu.Reading``: numbers and
names as the driver gave them, and errors by NVML's own names. Nothing is
judged here.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar
from uuid import UUID

import pynvml

T = TypeVar("T")
Fields = dict[str, Any]

LACKS: Final = frozenset(
    {"NotSupported", "FunctionNotFound", "ArgumentVersionMismatch", "Deprecated"}
)
"""What an older driver or a simpler card answers: no trouble."""
MOST: Final = 64
"""Devices that are read; a driver may claim any number."""


class Session:
    """An open client of the driver, opened anew after every trouble."""

    def __init__(self) -> None:
        self._open = False

    def read(self, addresses: list[str]) -> Fields:
        """Read every card: those at ``addresses``, and whatever else the driver lists."""
        try:
            if not self._open:
                pynvml.nvmlInit()
                self._open = True
            cards = [_card(address) for address in addresses]
            cards += [_card(address) for address in _listed() if address not in addresses]
            reading = {"driver": pynvml.nvmlSystemGetDriverVersion(), "cards": cards}
        except (pynvml.NVMLError, UnicodeDecodeError) as err:
            self.close()
            return {"error": _name(err)}
        if any(set(card["errors"].values()) - LACKS for card in cards):
            # A client that met a lost card goes on seeing it lost, also after its reset. But what
            # a card lacks it lacks for ever, and each client that opens may wake every card.
            self.close()
        return reading

    def close(self) -> None:
        """Let go of the driver."""
        if self._open:
            self._open = False
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()


def _card(address: str) -> Fields:
    """Read one card; what can't be read of it costs nothing else."""
    errors: dict[str, str] = {}

    def ask(what: str, call: Callable[[], T]) -> T | None:
        try:
            return call()
        except (pynvml.NVMLError, UnicodeDecodeError) as err:
            errors[what] = _name(err)
            return None

    card: Fields = {"address": address, "errors": errors}
    handle = ask("handle", lambda: pynvml.nvmlDeviceGetHandleByPciBusId(address))
    if handle is None:
        return card
    card["name"] = ask("name", lambda: pynvml.nvmlDeviceGetName(handle))
    card["uuid"] = ask("uuid", lambda: pynvml.nvmlDeviceGetUUID(handle))
    card["memory"] = ask("memory", lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    card["mig"] = ask("mig", lambda: pynvml.nvmlDeviceGetMigMode(handle)[0])
    if card["mig"]:
        card["instances"] = ask("instances", lambda: [*_instances(handle)])
    card["clique"] = ask("clique", lambda: _clique(handle))
    return card


def _instances(handle: Any) -> Iterator[int]:
    """Yield the memory of each MIG instance; their indexes may have gaps."""
    for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except pynvml.NVMLError as err:
            if _name(err) != "NotFound":
                raise
            continue
        yield pynvml.nvmlDeviceGetMemoryInfo(instance).total


def _clique(handle: Any) -> str:
    """Return cluster and clique of the NVLink fabric that the card has joined."""
    info = pynvml.c_nvmlGpuFabricInfo_v2_t()
    # By reference: pynvml would pass the structure by value, and read nothing back.
    pynvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
    joined = info.state == pynvml.NVML_GPU_FABRIC_STATE_COMPLETED and not info.status
    cluster = bytes(info.clusterUuid)
    # On a machine that is its own fabric the cluster is all zeros.
    return f"{UUID(bytes=cluster)}.{info.cliqueId}" if joined and any(cluster) else ""


def _listed() -> Iterator[str]:
    for index in range(min(pynvml.nvmlDeviceGetCount(), MOST)):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            yield _address(pynvml.nvmlDeviceGetPciInfo(handle).busId)
        except (pynvml.NVMLError, UnicodeDecodeError):
            # A card that can't be named here is met at its own address.
            continue


def _address(bus: str | bytes) -> str:
    """Return NVML's bus id as sysfs writes it: a domain of four digits, where that is enough."""
    text = (bus.decode() if isinstance(bus, bytes) else bus).lower()
    domain, _, rest = text.partition(":")
    return f"{domain.lstrip('0').zfill(4)}:{rest}"


def _name(err: Exception) -> str:
    """Return NVML's own name of an error, or its number."""
    if not isinstance(err, pynvml.NVMLError):
        return "garbled text"
    name = type(err).__name__.removeprefix("NVMLError_")
    return name if name != "NVMLError" else f"error {err.value}"


def main(library: str) -> None:
    """Answer lines until stdin ends."""
    # The agent blocks these for itself, and a child inherits that.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A driver may print; what it prints must not be taken for an answer.
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    session = Session()
    for line in _lines():
        reading = _load(library) or session.read(json.loads(line))
        print(json.dumps(reading), file=out, flush=True)


def _lines() -> Iterator[bytes]:
    """Yield the lines of stdin; end the process when they end, whatever hangs meanwhile.

    An agent that was killed leaves no client on the driver.
    """
    lines: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        os._exit(0)

    Thread(target=read, daemon=True).start()
    while True:
        yield lines.get()


def _load(library: str) -> Fields | None:
    """Load the library that the site named; pynvml itself finds the system's."""
    if library and pynvml.nvmlLib is None:
        try:
            pynvml.nvmlLib = ctypes.CDLL(library)
        except OSError as err:
            return {"error": f"LibraryNotFound ({err})"}
    return None


if __name__ == "__main__":
    main(sys.argv[1])
