"""The agent while things go wrong around it: each ends with the right labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import mkfifo
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.cluster.agents import LABELS, Agent
from tests.cluster.api import ApiError, Json
from tests.cluster.cable import Cable
from tests.cluster.controlplane import ControlPlane
from tests.cluster.eventually import eventually
from tests.cluster.storm import Storm

MAINTENANCE = {"metadata": {"annotations": {"nodetruth/maintenance": "swap"}}}
MOVED = 'nodetruth_patches_total{result="moved"}'
OURS = {"key": "nodetruth/maintenance", "value": "swap", "effect": "NoSchedule"}


@pytest.fixture
def agent(control_plane: ControlPlane, node_name: str, tmp_path: Path) -> Agent:
    """An agent for one Node, not started."""
    return Agent(control_plane, node_name, tmp_path)


def path(agent: Agent) -> str:
    return f"/api/v1/nodes/{agent.node}"


def forge(control_plane: ControlPlane, agent: Agent, key: str = "cpu") -> None:
    """Edit a label by hand."""
    control_plane.admin.patch(path(agent), {"metadata": {"labels": {key: "forged"}}})


def test_a_killed_api_server_is_come_back_to(control_plane: ControlPlane, agent: Agent) -> None:
    with agent:
        agent.wait_true()
        control_plane.kill_apiserver()
        eventually(lambda: not agent.ready(), "the agent notices")
        assert "NodeUnavailable" in agent.ask("/metrics")[1]
        assert agent.ask("/healthz")[0] == 200
        control_plane.start_apiserver()
        forge(control_plane, agent)
        agent.wait_true()


def test_a_cut_watch_is_taken_up_where_it_ended(control_plane: ControlPlane, agent: Agent) -> None:
    assert agent.server
    with Cable(agent.server) as cable:
        agent.server = cable.port
        with agent:
            agent.wait_true()
            mark = control_plane.audit_mark()
            for key in ("cpu", "memory", "disktype"):
                cable.cut()
                forge(control_plane, agent, key)
                agent.wait_true()
            lines = control_plane.audit(agent.username, mark)

    verbs = [line.verb for line in lines if line.node == agent.node]
    assert verbs.count("watch") >= 3
    assert "list" not in verbs
    assert "get" not in verbs


@pytest.mark.timeout(180)
def test_a_watch_that_is_too_old_is_begun_anew(control_plane: ControlPlane, agent: Agent) -> None:
    """A real 410: the server was restarted, and has forgotten where we were."""
    assert agent.server
    with Cable(agent.server) as cable:
        agent.server = cable.port
        with agent:
            agent.wait_true()
            mark = control_plane.audit_mark()
            cable.unplug()
            for number in range(50):
                label = {"metadata": {"labels": {"beat": str(number)}}}
                control_plane.admin.patch(path(agent), label)
            forge(control_plane, agent)
            control_plane.kill_apiserver()
            control_plane.start_apiserver()
            cable.plug()
            agent.wait_true(seconds=60)
            lines = control_plane.audit(agent.username, mark)

    assert "410 too old resource version" in agent.log.read_text()
    assert [line.verb for line in lines if line.node == agent.node].count("list") == 1


def test_a_storm_of_conflicts_loses_nobodys_taint(
    control_plane: ControlPlane, agent: Agent
) -> None:
    with agent:
        agent.wait_true()
        with Storm(control_plane.admin, path(agent)) as storm:
            eventually(lambda: storm.written > 5, "the storm has begun")
            rounds = 0
            # A conflict is a matter of luck: go on until there were some.
            while rounds < 10 or not agent.metric(MOVED):
                rounds += 1
                control_plane.admin.patch(path(agent), MAINTENANCE)
                eventually(lambda: OURS in taints(agent), "our taint", 20)
                off = {"metadata": {"annotations": {"nodetruth/maintenance": None}}}
                control_plane.admin.patch(path(agent), off)
                eventually(lambda: OURS not in taints(agent), "our taint is off", 20)
        agent.wait_true()
        assert agent.metric(MOVED) > 0

    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert taints(agent) == [storm.taint, not_ready]


def taints(agent: Agent) -> list[Json]:
    found: list[Json] = agent.seen()["spec"].get("taints", [])
    return found


ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"


@contextmanager
def refusal(control_plane: ControlPlane, agent: Agent) -> Iterator[None]:
    """Have the API server refuse one label of ours: a policy that does not know the site's key."""
    name = f"refuse-{agent.node}"
    rules = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["nodes"],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rules]},
        "matchConditions": [
            {"name": "it", "expression": f"object.metadata.name == '{agent.node}'"}
        ],
        "validations": [
            {"expression": "!('memory' in object.metadata.labels)", "message": "no such key here"}
        ],
    }
    bind = {"policyName": name, "validationActions": ["Deny"]}
    control_plane.admin.post(POLICIES, {"metadata": {"name": name}, "spec": spec})
    control_plane.admin.post(BINDINGS, {"metadata": {"name": name}, "spec": bind})
    eventually(lambda: refuses(control_plane, agent), "the policy holds")
    try:
        yield
    finally:
        control_plane.admin.delete(f"{POLICIES}/{name}")
        control_plane.admin.delete(f"{BINDINGS}/{name}")


def refuses(control_plane: ControlPlane, agent: Agent) -> bool:
    body = {"metadata": {"labels": {"memory": "probe"}}}
    try:
        control_plane.admin.patch(f"{path(agent)}?dryRun=All", body)
    except ApiError as err:
        return err.status == 422
    return False


def test_a_refused_label_costs_only_itself(control_plane: ControlPlane, agent: Agent) -> None:
    """The taint and the status land although another key is refused; it heals by itself."""
    control_plane.admin.patch(path(agent), MAINTENANCE)
    with agent_under(control_plane, agent):
        eventually(lambda: OURS in taints(agent), "our taint")
        assert agent.labels() == {"status": "maintenance"}
        status, why = agent.ask("/readyz")
        assert status == 503
        assert "no such key here" in why
    with agent:
        agent.wait_true({**LABELS, "status": "maintenance"}, 60)


@contextmanager
def agent_under(control_plane: ControlPlane, agent: Agent) -> Iterator[None]:
    with refusal(control_plane, agent), agent:
        yield


def test_a_refusal_that_ends_is_noticed(control_plane: ControlPlane, agent: Agent) -> None:
    with refusal(control_plane, agent):
        agent.start()
        eventually(lambda: agent.ask("/readyz")[0] == 503, "the agent says so")
        eventually(lambda: agent.labels() == {"status": "healthy"}, "the vital label")
    try:
        agent.wait_true(seconds=60)
    finally:
        agent.stop()


def test_a_rotated_token_is_taken_up(control_plane: ControlPlane, agent: Agent) -> None:
    """The old token dies with its Pod; nothing can be written until the new one is there."""
    with agent:
        agent.wait_true()
        pod = f"/api/v1/namespaces/nodetruth/pods/nodetruth-{agent.node}"
        control_plane.admin.delete(pod)
        # The server goes on believing a token for ten seconds, also a dead one.
        eventually(lambda: is_refused(control_plane, agent), "the old token is refused")
        agent.renew_token()
        off = {"metadata": {"annotations": {"nodetruth/maintenance": None}}}
        control_plane.admin.patch(path(agent), off)
        agent.wait_true(seconds=60)


def is_refused(control_plane: ControlPlane, agent: Agent) -> bool:
    """Have the agent write; say whether it was told 401."""
    # Its own word that changes: a key that was edited so often would have to wait for its turn.
    why = {"nodetruth/maintenance": f"swap {monotonic()}"}
    control_plane.admin.patch(path(agent), {"metadata": {"annotations": why}})
    sleep(0.5)
    return "401" in agent.ask("/readyz")[1]


def test_a_hung_probe_delays_nothing_else(
    control_plane: ControlPlane, node_name: str, tmp_path: Path
) -> None:
    """The disk's mount table is a pipe that nobody fills: open() hangs, as a dead mount would."""
    patient = {"paths": ["/data"], "period": 1, "deadline": 8}
    agent = Agent(control_plane, node_name, tmp_path, disk=patient)
    table = agent.folder / "machine/proc/1/mountinfo"
    table.unlink()
    mkfifo(table)
    with agent:
        others = {"cpu", "cpu-cores", "memory", "memory-gib"}
        eventually(lambda: others <= agent.labels().keys(), "the other labels")
        assert "status" not in agent.labels(), "they waited for no deadline"
        known = {key: value for key, value in LABELS.items() if key in others}
        agent.wait_true({**known, "status": "unknown"})
        taint = {"key": "nodetruth/unknown", "effect": "PreferNoSchedule"}
        assert taint | {"value": "disk-no-answer-within-8-s"} in taints(agent)
        forge(control_plane, agent)
        agent.wait_true({**known, "status": "unknown"})
        assert agent.metric('nodetruth_probe_known{probe="disk"}') == 0
        assert agent.metric('nodetruth_probe_known{probe="cpu"}') == 1
        end = monotonic()
        assert agent.stop() == 0
        assert monotonic() - end < 1


def test_a_probe_that_goes_blind_holds_its_labels(
    control_plane: ControlPlane, agent: Agent
) -> None:
    with agent:
        agent.wait_true()
        table = agent.folder / "machine/proc/1/mountinfo"
        text = table.read_text()
        table.unlink()
        agent.wait_true({**LABELS, "status": "unknown"})
        forge(control_plane, agent, "disktype")
        agent.wait_true({**LABELS, "status": "unknown"})
        table.write_text(text)
        agent.wait_true()


def test_a_reboot_that_leaves_it_blind_ends_old_claims(agent: Agent) -> None:
    with agent:
        agent.wait_true()
    machine = agent.folder / "machine/proc"
    (machine / "1/mountinfo").unlink()
    (machine / "sys/kernel/random/boot_id").write_text("another-boot\n")
    with agent:
        blind = {k: v for k, v in LABELS.items() if k not in {"disktype", "disk-interface"}}
        agent.wait_true({**blind, "status": "unknown"})


def test_controllers_and_the_agent_keep_each_others_taints(
    control_plane: ControlPlane, agent: Agent
) -> None:
    """kube-controller-manager writes taints on the same list, timeAdded and all."""
    control_plane.make_node(f"{agent.node}-healthy")
    with agent, control_plane.start_controllers():
        agent.wait_true()
        eventually(lambda: not taints(agent), "a Node without taints")
        control_plane.admin.patch(path(agent), MAINTENANCE)
        down = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        control_plane.admin.patch(f"{path(agent)}/status", down, "strategic")
        eventually(lambda: len(taints(agent)) >= 2 and OURS in taints(agent), "both taints")
        sleep(1)
        assert OURS in taints(agent)
        agent.wait_true({**LABELS, "status": "maintenance"})
    control_plane.remove_node(f"{agent.node}-healthy")


def test_no_right_to_patch_is_said_in_words(control_plane: ControlPlane, agent: Agent) -> None:
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nodetruth-nodetruth"
    before = control_plane.admin.get(role)["rules"]
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    control_plane.admin.patch(role, {"rules": rules})
    try:
        eventually(lambda: cannot_patch(control_plane, agent), "the right is gone")
        done = agent.run("agent", "--once")
    finally:
        control_plane.admin.patch(role, {"rules": before})
        eventually(lambda: not cannot_patch(control_plane, agent), "the right is back")

    assert done.returncode == 1
    assert 'cannot patch resource \\"nodes\\"' in done.stderr
    assert "apply the RBAC of deploy/daemonset" in done.stderr
    assert "Traceback" not in done.stderr
    assert agent.labels() == {}


def cannot_patch(control_plane: ControlPlane, agent: Agent) -> bool:
    token = (agent.account / "token").read_text().strip()
    try:
        control_plane.api(token).patch(f"{path(agent)}?dryRun=All", {"metadata": {"labels": {}}})
    except ApiError as err:
        return err.status == 403
    return False


def test_a_wrong_node_name_is_said_in_words(agent: Agent) -> None:
    done = agent.run("agent", "--once", "--node-name", "no-such-node")

    assert done.returncode == 1
    assert "Node 'no-such-node' is not in" in done.stderr
    assert "check the name, or wait for it to register" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_kubeconfig_works_as_well(control_plane: ControlPlane, agent: Agent) -> None:
    token = control_plane.place.tokens["admin"]
    file = control_plane.kubeconfig(token, agent.folder / "kubeconfig")

    rehearsed = agent.run("agent", "--once", "--dry-run", "--kubeconfig", str(file))
    untouched = agent.labels()
    done = agent.run("agent", "--once", "-o", "json", "--kubeconfig", str(file))

    assert rehearsed.returncode == 0, rehearsed.stderr
    assert "would be written" in rehearsed.stdout
    assert untouched == {}
    assert done.returncode == 0, done.stderr
    assert agent.labels() == LABELS


def test_an_observer_writes_nothing(
    control_plane: ControlPlane, node_name: str, tmp_path: Path
) -> None:
    agent = Agent(control_plane, node_name, tmp_path, mode="observe")
    before = agent.seen()
    with agent:
        eventually(agent.ready, "a round")
        sleep(1)
        assert agent.metric("nodetruth_labels_wrong") > 0

    assert agent.seen() == before
