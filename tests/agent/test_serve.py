"""The port: what a kubelet, a Prometheus and an operator see."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import urllib3
from prometheus_client.parser import text_string_to_metric_families

from agent.metrics import Metrics
from agent.newest import Newest, Task
from agent.serve import DOUBT, LIFE, Health, Server
from labeler.desired import Policy, Recall, desired
from labeler.diff import Cause, Drift, Patch
from labeler.evidence import Evidence
from labeler.facts import Memory, Probe, Unknown
from labeler.node import NodeUnavailable
from labeler.reconcile import Round
from labeler.seen import Seen
from labeler.vocabulary import Mode

NODE = Seen(name="n", uid="u", version="1")


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Port:
    url: str
    health: Health
    metrics: Metrics
    clock: Clock

    def get(self, path: str) -> tuple[int, str]:
        answer = urllib3.request("GET", self.url + path, retries=False)
        return answer.status, answer.data.decode()


@pytest.fixture
def port() -> Iterator[Port]:
    clock = Clock()
    health, metrics = Health(Mode.ENFORCE, clock), Metrics("1.2.3", Mode.ENFORCE)
    server = Server(("127.0.0.1", 0), health, metrics.page)
    server.start()
    yield Port(f"http://127.0.0.1:{server.port}", health, metrics, clock)
    server.stop()


def test_it_ends_when_it_is_told_to_and_not_an_hour_later() -> None:
    """It looks for nothing while it is silent, so the end must wake it."""
    server = Server(("127.0.0.1", 0), Health(Mode.ENFORCE), lambda: b"")
    server.start()

    server.stop()

    with pytest.raises(urllib3.exceptions.HTTPError):
        urllib3.request("GET", f"http://127.0.0.1:{server.port}/healthz", retries=False)


def test_the_loop_is_alive_while_it_beats(port: Port) -> None:
    assert port.get("/healthz") == (200, "ok\n")
    port.clock.now = LIFE + 1
    assert port.get("/healthz") == (503, "the loop has been silent for 91 s\n")
    port.health.beat()
    assert port.get("/healthz") == (200, "ok\n")


def test_readiness_says_why_not(port: Port) -> None:
    assert port.get("/readyz") == (503, "no round has ended yet\n")
    port.health.troubled(NodeUnavailable("GET", "503"))
    assert port.get("/readyz") == (503, "GET: 503\n")


def test_a_state_that_stays_unconfirmed_ends_readiness(port: Port) -> None:
    seen = Seen(name="n", uid="u", version="1")
    want = desired({}, Recall(Evidence(boot="b", uid="u")), seen, Policy(), datetime.now(UTC))
    one = Round(seen=seen, want=want, patch=Patch(), after=seen)
    port.health.ended(one, confirmed=True)
    port.clock.now = DOUBT - 1
    port.health.ended(one, confirmed=False)
    assert port.get("/readyz") == (200, "ok\n")

    port.clock.now = DOUBT + 1
    port.health.ended(one, confirmed=False)

    assert port.get("/readyz") == (503, "the watch has not confirmed the Node's last state\n")


def test_an_unknown_path_says_which_there_are(port: Port) -> None:
    assert port.get("/") == (404, "/metrics, /healthz, /readyz\n")


def test_the_page_is_what_prometheus_reads(port: Port) -> None:
    newest = Newest(
        [
            Task(probe=Probe.MEMORY, look=lambda: Memory(1), period=9, deadline=9),
            Task(probe=Probe.DISK, look=lambda: Unknown("x"), period=9, deadline=9),
        ],
        observe=port.metrics.probed,
    )
    port.metrics.watch(newest, [Probe.MEMORY, Probe.DISK])
    for probe in (Probe.MEMORY, Probe.DISK):
        newest.ask(probe)
    port.metrics.drifted(NODE, (Drift("cpu", Cause.CHANGED), Drift("cpu", Cause.CHANGED)))
    port.metrics.requested("PATCH", 409)
    port.metrics.skipped("disk")
    port.metrics.resumed()
    port.metrics.troubled(NodeUnavailable("x", "y"))

    status, page = port.get("/metrics")

    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
    assert status == 200
    drift = (("cause", "changed"), ("key", "cpu"), ("manager", "unknown"))
    assert samples[("nodetruth_drift_total", drift)] == 2
    assert samples[("nodetruth_watch_restarts_total", ())] == 1
    assert samples[("nodetruth_api_requests_total", (("code", "409"), ("verb", "PATCH")))] == 1
    assert samples[("nodetruth_probe_known", (("probe", "memory"),))] == 1
    assert samples[("nodetruth_probe_known", (("probe", "disk"),))] == 0
    assert samples[("nodetruth_probe_runs_total", (("outcome", "unknown"), ("probe", "disk")))] == 1
    assert samples[("nodetruth_probe_skipped_total", (("probe", "disk"),))] == 1
    assert samples[("nodetruth_errors_total", (("kind", "NodeUnavailable"),))] == 1
    assert samples[("nodetruth_build_info", (("mode", "enforce"), ("version", "1.2.3")))] == 1
    assert ("process_resident_memory_bytes", ()) in samples
    assert not [name for name, _ in samples if name.endswith("_created")]


def test_a_client_that_breaks_off_leaves_no_trace(
    port: Port, capfd: pytest.CaptureFixture[str]
) -> None:
    host, number = port.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(number))) as client:
        client.sendall(b"GET /metr")
        # Closed so, the kernel resets the connection instead of ending it in peace.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    assert port.get("/healthz") == (200, "ok\n")
    assert capfd.readouterr().err == ""
