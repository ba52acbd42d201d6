"""What does a restart of the agent write to its Node, and how long until it is ready?"""

import time
from typing import Final

from bench.resident import Benched
from bench.row import Row, median
from bench.stage import Stage
from tests.cluster.api import Json
from tests.cluster.audit import AuditLine
from tests.cluster.eventually import eventually

TIMES: Final = 3
SECONDS: Final = 60
SETTLE: Final = 5.0
"""Seconds after the Lease was renewed: what a restart writes late, it writes by then."""
WRITES: Final = frozenset({"patch", "update", "create", "delete"})
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/nodetruth/leases"


def measure(stage: Stage) -> list[Row]:
    """Restart an agent on a Node that is true."""
    times = 1 if stage.quick else TIMES
    agent = stage.agent("restarted")
    with agent:
        agent.wait_true()
        eventually(lambda: _renewed(stage, agent), "the first Lease")
        _rest(stage)
    mark = stage.plane.audit_mark()
    ready = [_restart(stage, agent) for _ in range(times)]
    lines = [line for line in stage.plane.audit(agent.username, mark) if line.node == agent.node]
    return rows(lines, ready)


def rows(lines: list[AuditLine], ready: list[float]) -> list[Row]:
    """Return the figures of some restarts. Pure."""
    how = f"audit log; restarts: {len(ready)}, each until {SETTLE:g} s after its Lease was renewed"
    written = [line for line in lines if line.resource == "nodes" and line.verb in WRITES]
    status = [line for line in written if line.subresource == "status"]
    return [
        Row(
            figure="restart: writes of labels, annotations and taints",
            value=len(written) - len(status),
            limit=0,
            how=how,
        ),
        Row(figure="restart: writes of the condition", value=len(status), limit=0, how=how),
        Row(
            figure="restart: from the start to ready",
            value=median(ready) * 1e3,
            unit="ms",
            how=f"median of {len(ready)}; /readyz, asked each 50 ms",
        ),
    ]


def _restart(stage: Stage, agent: Benched) -> float:
    """Start the agent again; return the seconds until it was ready; end it."""
    before = _renewed(stage, agent)
    start = time.monotonic()
    with agent:
        eventually(agent.ready, "ready")
        took = time.monotonic() - start
        eventually(lambda: _renewed(stage, agent) != before, "a renewal of the Lease")
        _rest(stage)
    return took


def _rest(stage: Stage) -> None:
    for _ in stage.progress.ticks(SETTLE, SETTLE):
        pass


def _renewed(stage: Stage, agent: Benched) -> str:
    """Return when the Node was last vouched for; empty while it never was."""
    found: list[Json] = stage.plane.admin.get(LEASES)["items"]
    ours = [one["spec"]["renewTime"] for one in found if one["metadata"]["name"] == agent.node]
    return str(ours[0]) if ours else ""
