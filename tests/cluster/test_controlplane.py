"""Check that the control plane is a real one, so that other tests may rely on it."""

import os
from pathlib import Path

import pytest
from urllib3.exceptions import HTTPError

from tests.cluster import build, manifests
from tests.cluster.api import ApiError, Json
from tests.cluster.controlplane import ControlPlane
from tests.cluster.eventually import eventually
from tests.cluster.programs import answers

NOT_READY = "node.kubernetes.io/not-ready"


def taints(control_plane: ControlPlane, node: str) -> list[Json]:
    """List the taints of a Node."""
    spec: Json = control_plane.admin.get(f"/api/v1/nodes/{node}")["spec"]
    found: list[Json] = spec.get("taints", [])
    return found


def where(control_plane: ControlPlane, pod: str) -> str:
    """Say on which Node a Pod is; on none, say so by nothing."""
    return str(control_plane.admin.get(pod)["spec"].get("nodeName", ""))


def test_it_is_ready(control_plane: ControlPlane) -> None:
    """Every check of the API server passes."""
    assert answers(f"{control_plane.url}/readyz", control_plane.ca_file)


def test_it_is_the_version_we_ask_for(control_plane: ControlPlane, programs: Path) -> None:
    """What go.mod requires is what runs, unless other programs were given."""
    built = programs.parent == build.cache(os.environ)
    said = control_plane.admin.get("/version")["gitVersion"]

    assert said == build.version() or not built


def test_a_node_is_read_back(control_plane: ControlPlane, node_name: str) -> None:
    """A Node is what kubelet would have registered, with the taint of admission."""
    node = control_plane.admin.get(f"/api/v1/nodes/{node_name}")

    assert node["status"]["allocatable"] == manifests.CAPACITY
    said = [(c["type"], c["status"]) for c in node["status"]["conditions"]]
    assert said == [c[:2] for c in manifests.CONDITIONS]
    assert node["spec"]["taints"] == [{"key": NOT_READY, "effect": "NoSchedule"}]


def test_one_request_is_one_line(control_plane: ControlPlane, node_name: str) -> None:
    """The audit log has a request when the answer is there, and nothing else."""
    mark = control_plane.audit_mark()

    control_plane.admin.get(f"/api/v1/nodes/{node_name}")

    (line,) = control_plane.audit("admin", mark)
    assert (line.verb, line.resource, line.name, line.code) == ("get", "nodes", node_name, 200)
    assert (line.stage, line.user_agent) == ("ResponseComplete", "nodetruth-tests")


def test_an_agent_is_known_with_its_node(control_plane: ControlPlane, node_name: str) -> None:
    """A token says on which Node its Pod is, and another one says the same."""
    tokens = {control_plane.agent_identity(node_name) for _ in range(2)}

    assert len(tokens) == 2
    for token, username in tokens:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        user = control_plane.api(token).post(path, {})["status"]["userInfo"]
        assert user["username"] == username
        assert user["extra"]["authentication.kubernetes.io/node-name"] == [node_name]


def test_an_agent_may_do_its_work_only(control_plane: ControlPlane, node_name: str) -> None:
    """The rights hold as soon as the identity is there, and end where they should."""
    agent = control_plane.api(control_plane.agent_identity(node_name).token)
    path = f"/api/v1/nodes/{node_name}"
    mark = control_plane.audit_mark()

    patched = agent.patch(path, {"metadata": {"labels": {"a": "1"}}})
    with pytest.raises(ApiError, match="cannot delete resource") as refused:
        agent.delete(path)

    assert patched["metadata"]["labels"]["a"] == "1"
    assert refused.value.status == 403
    lines = control_plane.audit("system:serviceaccount:nodetruth:nodetruth", mark)
    assert [(line.node, line.code) for line in lines] == [(node_name, 200), (node_name, 403)]


def test_a_token_dies_with_its_pod(control_plane: ControlPlane, node_name: str) -> None:
    """An agent whose Pod is gone is nobody."""
    agent = control_plane.api(control_plane.agent_identity(node_name).token)

    control_plane.admin.delete(f"/api/v1/namespaces/nodetruth/pods/nodetruth-{node_name}")

    with pytest.raises(ApiError, match="401"):
        eventually(lambda: not agent.get(f"/api/v1/nodes/{node_name}"), "a refusal")


def test_a_cut_keeps_the_data(control_plane: ControlPlane, node_name: str) -> None:
    """An API server that was killed comes back at its place, with what it had."""
    path = f"/api/v1/nodes/{node_name}"
    before = control_plane.admin.get(path)

    control_plane.kill_apiserver()
    with pytest.raises(HTTPError, match="refused"):
        control_plane.admin.get(path)
    control_plane.start_apiserver()

    assert control_plane.admin.get(path) == before


def test_controllers_keep_a_taint_true(control_plane: ControlPlane, node_name: str) -> None:
    """The taint of a new Node goes once it is Ready, and comes back when it is not."""
    said = {"conditions": [{"type": "Ready", "status": "False"}]}
    path = f"/api/v1/nodes/{node_name}"

    with control_plane.start_controllers():
        eventually(lambda: not taints(control_plane, node_name), "a Node without taints")
        control_plane.admin.patch(f"{path}/status", {"status": said}, "strategic")
        seen = eventually(lambda: taints(control_plane, node_name), "a Node with a taint")

    assert (seen[0]["key"], seen[0]["effect"]) == (NOT_READY, "NoSchedule")


def test_the_scheduler_binds_a_pod(control_plane: ControlPlane, node_name: str) -> None:
    """A Pod finds its Node without a kubelet, but not past a taint."""
    control_plane.agent_identity(node_name)
    pods = "/api/v1/namespaces/nodetruth/pods"
    for name, past in (("kept", []), ("bound", [{"key": NOT_READY, "operator": "Exists"}])):
        pod = manifests.pod(
            f"{name}-{node_name}",
            account=manifests.ACCOUNT,
            nodeSelector={"kubernetes.io/hostname": node_name},
            tolerations=past,
        )
        control_plane.admin.post(pods, pod)

    with control_plane.start_scheduler():
        bound = eventually(
            lambda: where(control_plane, f"{pods}/bound-{node_name}"), "a Pod on its Node"
        )

    assert bound == node_name
    assert not where(control_plane, f"{pods}/kept-{node_name}")
    control_plane.admin.delete(f"{pods}/kept-{node_name}")
