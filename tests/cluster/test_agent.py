"""The agent on a real API server: labels, edits by hand, rest, and restarts."""

import json
import random
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.cluster import manifests
from tests.cluster.agents import LABELS, Agent
from tests.cluster.api import Json
from tests.cluster.audit import AuditLine
from tests.cluster.controlplane import ControlPlane
from tests.cluster.eventually import eventually

FOREIGN = [
    {
        "key": "example.com/b",
        "value": "x",
        "effect": "NoExecute",
        "timeAdded": "2026-01-02T03:04:05Z",
    },
    {"key": "example.com/a", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
]


@pytest.fixture
def agent(control_plane: ControlPlane, node_name: str, tmp_path: Path) -> Agent:
    """An agent for one Node, not started."""
    return Agent(control_plane, node_name, tmp_path)


def asked(control_plane: ControlPlane, agent: Agent, mark: int) -> list[AuditLine]:
    """What this agent asked since; that a watch of before has ended is nothing asked."""
    lines = control_plane.audit(agent.username, mark)
    begun = [line for line in lines if (line.verb, line.stage) != ("watch", "ResponseComplete")]
    return [line for line in begun if line.node == agent.node]


def test_a_node_gets_its_labels_and_keeps_the_rest(
    control_plane: ControlPlane, agent: Agent
) -> None:
    before = agent.seen()
    with agent:
        agent.wait_true()
        eventually(lambda: "HardwareHealthy" in conditions(agent), "our condition")
        lease = eventually(lambda: leased(control_plane, agent), "the Lease")

    after = agent.seen()
    assert after["metadata"]["labels"] == {**before["metadata"]["labels"], **LABELS}
    assert after["spec"] == before["spec"]
    ours = conditions(agent).pop("HardwareHealthy")
    assert (ours["status"], ours["reason"]) == ("True", "Healthy")
    kubelets = [one for one in after["status"]["conditions"] if one["type"] != "HardwareHealthy"]
    assert kubelets == before["status"]["conditions"]
    assert lease["spec"]["holderIdentity"] == f"nodetruth-{agent.node}"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == after["metadata"]["uid"]


def conditions(agent: Agent) -> dict[str, Json]:
    """The Node's conditions by type."""
    return {one["type"]: one for one in agent.seen()["status"]["conditions"]}


def leased(control_plane: ControlPlane, agent: Agent) -> Json:
    """The Node's Lease, empty while there is none."""
    path = "/apis/coordination.k8s.io/v1/namespaces/nodetruth/leases"
    found = control_plane.admin.get(path)["items"]
    return next((one for one in found if one["metadata"]["name"] == agent.node), {})


THERE = [f"there-{number}" for number in range(70)]
ABSENT = [f"absent-{number}" for number in range(27)]


def derived(name: str, operator: str) -> Json:
    """A label of the site's own, by whether there is a processor."""
    return {
        "label": name,
        "value": "yes",
        "matchExpressions": [{"key": "cpu", "operator": operator}],
    }


def test_200_edits_by_hand_are_put_right_and_nothing_else_is_touched(
    control_plane: ControlPlane, node_name: str, tmp_path: Path
) -> None:
    """Each key is edited twice at most: more within a minute would be a contest."""
    rules = [derived(name, "Exists") for name in THERE]
    rules += [derived(name, "DoesNotExist") for name in ABSENT]
    agent = Agent(control_plane, node_name, tmp_path, derived=rules)
    path = f"/api/v1/nodes/{agent.node}"
    metadata = {"labels": {"zone": "a"}, "annotations": {"example.com/note": "keep"}}
    control_plane.admin.patch(path, {"metadata": metadata, "spec": {"taints": FOREIGN}})
    with agent:
        agent.wait_true()
        before = agent.seen()
        for number, body in enumerate(edits(random.Random(7))):
            control_plane.admin.patch(path, body)
            eventually(lambda: says(agent, before), f"edit {number} put right", 10)
        eventually(lambda: agent.metric("nodetruth_drift_total") == 200, "200 edits counted")

        causes = {
            cause: agent.metric(f'nodetruth_drift_total{{cause="{cause}"')
            for cause in ("changed", "removed", "added")
        }

    assert causes == {"changed": 70, "removed": 70, "added": 60}
    assert agent.seen()["status"]["conditions"] == before["status"]["conditions"]
    assert {"there-0", "absent-0"} & before["metadata"]["labels"].keys() == {"there-0"}


def edits(chance: random.Random) -> list[Json]:
    """Change, remove and forge keys of ours, and forge taints of ours, in no order."""
    labels = [{key: value} for key in THERE for value in ("forged", None)]
    labels += [{key: value} for key in ABSENT for value in ("yes", "forged")]
    taints = []
    for name in ("maintenance", "unknown", "unattested"):
        for effect in ("NoSchedule", "PreferNoSchedule"):
            forged = {"key": f"nodetruth/{name}", "value": "forged", "effect": effect}
            place = chance.randrange(len(FOREIGN) + 1)
            taints.append([*FOREIGN[:place], forged, *FOREIGN[place:]])
    bodies: list[Json] = [{"metadata": {"labels": one}} for one in labels]
    bodies += [{"spec": {"taints": one}} for one in taints]
    chance.shuffle(bodies)
    return bodies


def says(agent: Agent, before: Json) -> bool:
    """Say whether the Node says exactly what it said, foreign things and their order included."""
    after = agent.seen()
    parts = ("labels", "annotations")
    same = all(after["metadata"][part] == before["metadata"][part] for part in parts)
    return same and after["spec"] == before["spec"]


@pytest.mark.timeout(180)
def test_a_restart_writes_nothing_and_a_rest_asks_nothing(
    control_plane: ControlPlane, agent: Agent
) -> None:
    with agent:
        agent.wait_true()
        eventually(lambda: "HardwareHealthy" in conditions(agent), "our condition")
        eventually(lambda: leased(control_plane, agent), "the Lease")
    mark = control_plane.audit_mark()
    version = agent.seen()["metadata"]["resourceVersion"]

    renewed = leased(control_plane, agent)["spec"]["renewTime"]
    with agent:
        agent.wait_true()
        eventually(
            lambda: leased(control_plane, agent)["spec"]["renewTime"] != renewed, "a renewal"
        )
        started = control_plane.audit_mark()
        sleep(60)
        resting = asked(control_plane, agent, started)
        whole = asked(control_plane, agent, mark)
        assert agent.seen()["metadata"]["resourceVersion"] == version
        control_plane.admin.patch(
            f"/api/v1/nodes/{agent.node}", {"metadata": {"labels": {"cpu": "forged"}}}
        )
        agent.wait_true()

    assert [line for line in whole if line.verb == "patch"] == []
    assert [line.verb for line in whole if line.resource == "nodes"] == ["list", "watch"]
    assert {(line.verb, line.resource) for line in resting} <= {("update", "leases")}
    assert len(resting) <= 2


def test_a_node_that_does_not_exist_yet_is_waited_for(
    control_plane: ControlPlane, node_name: str, tmp_path: Path
) -> None:
    agent = Agent(control_plane, node_name, tmp_path)
    path = f"/api/v1/nodes/{node_name}"
    control_plane.admin.delete(path)
    with agent:
        eventually(lambda: "check the name" in agent.ask("/readyz")[1], "the agent says why")
        control_plane.make_node(node_name)
        agent.wait_true()


def test_a_recreated_node_starts_anew(control_plane: ControlPlane, agent: Agent) -> None:
    path = f"/api/v1/nodes/{agent.node}"
    with agent:
        agent.wait_true()
        control_plane.admin.delete(path)
        control_plane.make_node(agent.node, metadata={"labels": {"disktype": "by-hand"}})
        agent.wait_true()

        assert agent.metric("nodetruth_drift_total") == 0
    notes = agent.seen()["metadata"]["annotations"]
    assert json.loads(notes["nodetruth/found"])["disktype"] == "by-hand"
    assert agent.seen()["metadata"]["uid"] in notes["nodetruth/evidence"]


def test_clean_leaves_the_node_as_it_was_found(control_plane: ControlPlane, agent: Agent) -> None:
    path = f"/api/v1/nodes/{agent.node}"
    found = {"labels": {"disktype": "by-hand", "zone": "a"}}
    control_plane.admin.patch(path, {"metadata": found, "spec": {"taints": FOREIGN}})
    before = agent.seen()
    with agent:
        agent.wait_true()
        eventually(lambda: "HardwareHealthy" in conditions(agent), "our condition")
        eventually(lambda: leased(control_plane, agent), "the Lease")
    kubeconfig = control_plane.kubeconfig(
        control_plane.place.tokens["admin"], agent.folder / "admin.kubeconfig"
    )
    arguments = ("clean", "--node-name", agent.node, "--kubeconfig", str(kubeconfig))

    rehearsed = agent.run(*arguments, "--dry-run")
    first, second = agent.run(*arguments), agent.run(*arguments)

    assert (rehearsed.returncode, first.returncode, second.returncode) == (0, 0, 0), first.stderr
    assert (
        "disktype: restored to 'by-hand'"
        in rehearsed.stdout
        == first.stdout.replace("changed 9", "would change 9")
    )
    assert f"Node {agent.node}: changed 0 entries" in second.stdout
    after = agent.seen()
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert after["metadata"].get("annotations") == before["metadata"].get("annotations")
    assert after["spec"] == before["spec"]
    assert after["status"]["conditions"] == before["status"]["conditions"]
    assert leased(control_plane, agent) == {}


def test_a_pod_that_asks_for_an_ssd_finds_the_node(
    control_plane: ControlPlane, agent: Agent
) -> None:
    """The label is put to work by the real scheduler."""
    pods = "/api/v1/namespaces/nodetruth/pods"
    selector = {"disktype": "ssd", "kubernetes.io/hostname": agent.node}
    pod = manifests.pod(
        f"trainer-{agent.node}",
        account=manifests.ACCOUNT,
        nodeSelector=selector,
        tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
    )
    control_plane.admin.post(pods, pod)
    where = f"{pods}/trainer-{agent.node}"
    with control_plane.start_scheduler():
        sleep(1)
        assert "nodeName" not in control_plane.admin.get(where)["spec"]
        with agent:
            eventually(lambda: control_plane.admin.get(where)["spec"].get("nodeName"), "a Node")


def test_maintenance_is_asked_for_by_annotation_and_not_by_label(
    control_plane: ControlPlane, agent: Agent
) -> None:
    path = f"/api/v1/nodes/{agent.node}"
    control_plane.admin.patch(path, {"spec": {"taints": FOREIGN}})
    with agent:
        agent.wait_true()
        control_plane.admin.patch(path, {"metadata": {"labels": {"status": "maintenance"}}})
        agent.wait_true()
        note = eventually(lambda: told(control_plane, agent, "LabelPutRight"), "an Event")
        control_plane.admin.patch(
            path, {"metadata": {"annotations": {"nodetruth/maintenance": "swap GPU 3"}}}
        )
        agent.wait_true({**LABELS, "status": "maintenance"})
        ours = {"key": "nodetruth/maintenance", "value": "swap-gpu-3", "effect": "NoSchedule"}
        assert agent.seen()["spec"]["taints"] == [*FOREIGN, ours]
        control_plane.admin.patch(
            path, {"metadata": {"annotations": {"nodetruth/maintenance": None}}}
        )
        agent.wait_true()
        eventually(lambda: told(control_plane, agent, "StatusHealthy"), "the last transition")

    assert f"kubectl annotate node {agent.node} nodetruth/maintenance=REASON" in note
    assert agent.seen()["spec"]["taints"] == FOREIGN


def told(control_plane: ControlPlane, agent: Agent, reason: str) -> str:
    """The text of an Event about the Node."""
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    events = control_plane.admin.get(path)["items"]
    ours = [e for e in events if e["regarding"].get("name") == agent.node and e["reason"] == reason]
    return str(ours[0]["note"]) if ours else ""


def test_the_agent_ends_within_a_second(agent: Agent) -> None:
    with agent:
        agent.wait_true()
        start = monotonic()
        code = agent.stop()
        took = monotonic() - start

    assert code == 0
    assert took < 1
