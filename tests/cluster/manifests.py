"""Say what the objects look like that tests create. Pure."""

from datetime import UTC, datetime
from typing import Final

from tests.cluster import build
from tests.cluster.api import Json

ACCOUNT: Final = "nodetruth"
RBAC: Final = "rbac.authorization.k8s.io"

Rule = tuple[str, str, tuple[str, ...]]
"""API group, resource, verbs."""

ON_NODES: Final[tuple[Rule, ...]] = (
    ("", "nodes", ("get", "list", "watch", "patch")),
    ("", "nodes/status", ("patch",)),
)
IN_OWN_NAMESPACE: Final[tuple[Rule, ...]] = (
    ("coordination.k8s.io", "leases", ("get", "create", "update")),
    ("", "configmaps", ("create", "patch")),
)
IN_DEFAULT: Final[tuple[Rule, ...]] = (("events.k8s.io", "events", ("create",)),)
"""Events about a Node, which has no namespace, lie in this one."""

CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)


def node(name: str, parts: Json) -> Json:
    """Describe a Node as kubelet registers it; ``parts`` replace keys of a section."""
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    given = parts.get("metadata", {})
    metadata = {**given, "name": name, "labels": labels | given.get("labels", {})}
    status = {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "conditions": conditions(datetime.now(UTC)),
        "nodeInfo": {"kubeletVersion": build.version(), "operatingSystem": "linux"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": parts.get("spec", {}),
        "status": status | parts.get("status", {}),
    }


def conditions(now: datetime, ready: str = "True") -> list[Json]:
    """List what kubelet says of itself."""
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return [
        {
            "type": kind,
            "status": ready if kind == "Ready" else status,
            "reason": reason,
            "message": reason,
            "lastHeartbeatTime": stamp,
            "lastTransitionTime": stamp,
        }
        for kind, status, reason in CONDITIONS
    ]


def pod(name: str, *, account: str = "default", **spec: object) -> Json:
    """Describe a Pod of one container that never runs."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "serviceAccountName": account,
            "containers": [{"name": "main", "image": "none"}],
            **spec,
        },
    }


def agent(namespace: str, node: str) -> list[tuple[str, Json]]:
    """List what an agent on a Node needs, each with the path to create it at."""
    inside = f"/api/v1/namespaces/{namespace}"
    on_node = pod(f"{ACCOUNT}-{node}", account=ACCOUNT, nodeName=node)
    return [
        ("/api/v1/namespaces", {"metadata": {"name": namespace}}),
        (f"{inside}/serviceaccounts", {"metadata": {"name": ACCOUNT}}),
        *grant(namespace, "", ON_NODES),
        *grant(namespace, namespace, IN_OWN_NAMESPACE),
        *grant(namespace, "default", IN_DEFAULT),
        (f"{inside}/pods", on_node),
    ]


def grant(account_in: str, scope: str, rules: tuple[Rule, ...]) -> list[tuple[str, Json]]:
    """Let the agent's account do something in one namespace or, for "", everywhere."""
    kind = "Role" if scope else "ClusterRole"
    base = f"/apis/{RBAC}/v1" + (f"/namespaces/{scope}" if scope else "")
    name = {"metadata": {"name": f"{ACCOUNT}-{account_in}"}}
    role = {
        **name,
        "rules": [
            {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
            for group, resource, verbs in rules
        ],
    }
    binding = {
        **name,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": f"{ACCOUNT}-{account_in}"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": account_in}],
    }
    plural = kind.lower() + "s"
    return [(f"{base}/{plural}", role), (f"{base}/{kind.lower()}bindings", binding)]


def questions(namespace: str, user: str) -> list[Json]:
    """Ask, as SubjectAccessReviews, whether the last rule of each grant holds."""
    asked = ((ON_NODES, ""), (IN_OWN_NAMESPACE, namespace), (IN_DEFAULT, "default"))
    return [review(user, rules[-1], scope) for rules, scope in asked]


def review(user: str, rule: Rule, namespace: str) -> Json:
    """Ask whether a user may do the last thing that a rule allows."""
    group, path, verbs = rule
    resource, _, subresource = path.partition("/")
    attributes = {
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "verb": verbs[-1],
        "namespace": namespace,
    }
    return {"spec": {"user": user, "resourceAttributes": attributes}}


def token_request(pod_name: str, seconds: int) -> Json:
    """Ask for a token that lives as long as a Pod does."""
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod_name}
    return {"spec": {"boundObjectRef": bound, "expirationSeconds": seconds}}
