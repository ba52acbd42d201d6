"""A second writer that insists, against the real API server: who it is, and what it costs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Final

import pytest

from tests.cluster.agents import LABELS, Agent
from tests.cluster.api import Json
from tests.cluster.controlplane import ControlPlane
from tests.cluster.eventually import eventually

MINUTE: Final = timedelta(seconds=60)
FIGHT: Final = 65.0
"""Seconds that a writer insists; a Lease that is renewed would be so within them."""
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/nodetruth/leases"
EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.fixture
def agent(control_plane: ControlPlane, node_name: str, tmp_path: Path) -> Agent:
    """An agent for one Node, not started."""
    return Agent(control_plane, node_name, tmp_path)


@contextmanager
def insisting(
    control_plane: ControlPlane,
    agent: Agent,
    label: Callable[[int], dict[str, str | None]],
    pause: float = 0.1,
) -> Iterator[list[int]]:
    """Write a label ten times a second, as a manager with a name; count the writes."""
    stop, written = Event(), [0]
    path = f"/api/v1/nodes/{agent.node}?fieldManager=label-bot"

    def work() -> None:
        while not stop.wait(pause):
            labels = label(written[0])
            control_plane.admin.patch(path, {"metadata": {"labels": labels}})
            written[0] += 1

    thread = Thread(target=work)
    thread.start()
    try:
        yield written
    finally:
        stop.set()
        thread.join()


def patches(control_plane: ControlPlane, agent: Agent, mark: int) -> list[datetime]:
    """When this agent patched its Node since."""
    lines = control_plane.audit(agent.username, mark)
    return [
        datetime.fromisoformat(line.at)
        for line in lines
        if (line.node, line.verb, line.resource) == (agent.node, "patch", "nodes")
        and not line.subresource
    ]


def most(times: list[datetime]) -> int:
    """Return the most of them in any minute."""
    return max(sum(start <= at <= start + MINUTE for at in times) for start in times)


def told(control_plane: ControlPlane, agent: Agent) -> list[str]:
    """The texts of the Events about contested labels of the Node."""
    events = control_plane.admin.get(EVENTS)["items"]
    ours = [event for event in events if event["regarding"].get("name") == agent.node]
    return [str(event["note"]) for event in ours if event["reason"] == "LabelContested"]


def renewed(control_plane: ControlPlane, agent: Agent) -> str:
    """When the Node's Lease was renewed last; empty while there is none."""
    found: list[Json] = control_plane.admin.get(LEASES)["items"]
    ours = [one for one in found if one["metadata"]["name"] == agent.node]
    return str(ours[0]["spec"]["renewTime"]) if ours else ""


@pytest.mark.timeout(300)
def test_a_fight_over_a_label_costs_four_writes_a_minute_and_is_won(
    control_plane: ControlPlane, agent: Agent
) -> None:
    """The writer sets one value after the other, ours too, and takes the label off."""
    values = ("1", "2", None, LABELS["memory-gib"])
    forged = {"metadata": {"labels": {"cpu": "forged"}}}
    mark = control_plane.audit_mark()
    with agent:
        agent.wait_true()
        first = eventually(lambda: renewed(control_plane, agent), "the Lease")
        with insisting(control_plane, agent, lambda n: {"memory-gib": values[n % 4]}) as written:
            eventually(lambda: told(control_plane, agent), "an Event")
            assert agent.metric('nodetruth_contested{key="memory-gib"}') == 1
            control_plane.admin.patch(f"/api/v1/nodes/{agent.node}", forged)
            eventually(lambda: agent.labels()["cpu"] == LABELS["cpu"], "another key", 20)
            sleep(FIGHT)
            assert agent.ready()
            assert renewed(control_plane, agent) > first
        agent.wait_true(seconds=80)
        begun = agent.metric('nodetruth_contentions_total{key="memory-gib",manager="label-bot"}')

    assert written[0] > 5 * FIGHT
    assert most(patches(control_plane, agent, mark)) <= 4
    assert begun == 1
    (note,) = told(control_plane, agent)
    assert note.startswith("label memory-gib is contested: manager 'label-bot' sets it to '")
    assert note.endswith("stop that writer, or set a labelPrefix")


@pytest.mark.timeout(300)
def test_a_fight_over_the_status_ends_belief_until_there_is_peace(
    control_plane: ControlPlane, agent: Agent
) -> None:
    mark = control_plane.audit_mark()
    with agent:
        agent.wait_true()
        first = eventually(lambda: renewed(control_plane, agent), "the Lease")
        with insisting(control_plane, agent, lambda _: {"status": "degraded"}) as written:
            eventually(lambda: told(control_plane, agent), "an Event")
            sleep(FIGHT)
            status, why = agent.ask("/readyz")
            assert renewed(control_plane, agent) == first
        eventually(lambda: agent.labels() == LABELS, "labels put right", 45)
        assert not agent.ready(), "nor is it believed before it has stood for a while"
        agent.wait_true(seconds=90)
        eventually(lambda: renewed(control_plane, agent) > first, "the Lease once more")

    assert written[0] > 5 * FIGHT
    assert most(patches(control_plane, agent, mark)) <= 4
    assert status == 503
    assert told(control_plane, agent) == [why.strip()]
    assert "label status is contested: manager 'label-bot' sets it to 'degraded'" in why


def test_a_broken_disk_shows_at_once_during_a_fight(
    control_plane: ControlPlane, agent: Agent
) -> None:
    """What changed is our own word on a vital key; only the writer's has to wait."""
    with agent:
        agent.wait_true()
        # A pause in which the label can be read before it is written over.
        with insisting(control_plane, agent, lambda _: {"status": "fine"}, pause=1):
            eventually(lambda: told(control_plane, agent), "an Event")
            (agent.folder / "machine/proc/1/mountinfo").unlink()
            eventually(lambda: agent.labels()["status"] == "unknown", "our own word", 20)


def test_each_edit_is_put_down_to_its_manager(control_plane: ControlPlane, agent: Agent) -> None:
    path = f"/api/v1/nodes/{agent.node}"
    taint = {"key": "nodetruth/unknown", "value": "forged", "effect": "NoSchedule"}
    edits: list[tuple[str, Json]] = [
        ("kubectl-label", {"metadata": {"labels": {"cpu": "forged"}}}),
        ("kubectl-edit", {"metadata": {"labels": {"size": "Large"}}}),
        ("helm", {"metadata": {"annotations": {"nodetruth/found": "{}"}}}),
        ("kubectl-taint", {"spec": {"taints": [taint, *agent.seen()["spec"]["taints"]]}}),
        # Whoever takes a key off, or writes in our name, leaves no name.
        ("kubectl-label", {"metadata": {"labels": {"memory": None}}}),
        ("nodetruth", {"metadata": {"labels": {"disktype": "forged"}}}),
    ]
    with agent:
        agent.wait_true()
        before = said(agent)
        for manager, body in edits:
            control_plane.admin.patch(f"{path}?fieldManager={manager}", body)
            eventually(lambda: said(agent) == before, f"the edit of {manager} put right")
        samples = {
            (cause, key, manager): agent.metric(
                f'nodetruth_drift_total{{cause="{cause}",key="{key}",manager="{manager}"}}'
            )
            for cause, key, manager in [
                ("changed", "cpu", "kubectl-label"),
                ("added", "size", "kubectl-edit"),
                ("changed", "nodetruth/found", "helm"),
                ("added", "nodetruth/unknown", "kubectl-taint"),
                ("removed", "memory", "unknown"),
                ("changed", "disktype", "unknown"),
            ]
        }

    assert samples == dict.fromkeys(samples, 1)


def said(agent: Agent) -> tuple[Json, Json, Json]:
    """All that the Node says in which keys of ours may lie."""
    seen = agent.seen()
    return seen["metadata"]["labels"], seen["metadata"]["annotations"], seen["spec"]
