"""Run a real control plane for tests: etcd and kube-apiserver, on request the rest.

It listens on free loopback ports only, keeps all its files in one folder, and
is gone when the tests are.
"""

import shutil
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple, Self

import yaml

from tests.cluster import audit, manifests, place
from tests.cluster.api import Api, ApiError, Json, connections
from tests.cluster.audit import AuditLine
from tests.cluster.eventually import eventually
from tests.cluster.programs import Program, answers, free_port, stop_all, wait_ready

NODES: Final = "/api/v1/nodes"


class Identity(NamedTuple):
    """Who an agent is: what it shows, and as whom the API server knows it."""

    token: str
    username: str


class ControlPlane:
    """One API server with its store, and whatever was started beside it."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.place: Final = place.Place(folder=folder, programs=programs)
        self._etcd: Final = self._program(place.etcd(self.place))
        self._apiserver: Final = self._program(place.apiserver(self.place))
        self._others: Final[list[Program]] = []
        self._pool: Final = connections(str(self.ca_file))
        self.admin: Final = self.api(self.place.tokens[place.ADMIN])

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return self.place.url

    @property
    def ca_file(self) -> Path:
        """The authority by which to know the API server."""
        return self.place.ca_file

    def start(self) -> None:
        """Start etcd and the API server; return when both do their work."""
        place.furnish(self.place)
        self._etcd.start()
        self.start_apiserver()

    def stop(self) -> None:
        """End everything that was started here; keep the logs, drop the data."""
        self._pool.clear()
        stop_all([*self._others, self._apiserver, self._etcd])
        shutil.rmtree(self.place.folder / "etcd", ignore_errors=True)

    def kill_apiserver(self) -> None:
        """End the API server as a power cut would; its data stay."""
        self._apiserver.kill()

    def start_apiserver(self) -> None:
        """Start the API server where it was before; leave one that runs alone."""
        if not self._apiserver.running:
            self._apiserver.start()
        wait_ready(self._apiserver, self._ready)

    def start_controllers(self, *flags: str) -> Program:
        """Start kube-controller-manager; it works until the Program is stopped.

        Whoever shares the control plane should stop it: it gives Nodes whose
        kubelet does not renew its Lease up after 50 s.
        """
        port = free_port()
        return self._beside([*place.controllers(self.place, port), *flags], port, "healthz")

    def start_scheduler(self, *flags: str) -> Program:
        """Start kube-scheduler; it works until the Program is stopped."""
        port = free_port()
        return self._beside([*place.scheduler(self.place, port), *flags], port, "readyz")

    def api(self, token: str) -> Api:
        """Speak to the API server as the bearer of a token."""
        return Api(url=self.url, token=token, pool=self._pool)

    def audit_mark(self) -> int:
        """Mark the end of the audit log as it is now."""
        log = self.place.audit_log
        return log.stat().st_size if log.exists() else 0

    def audit(self, user: str, since: int = 0) -> list[AuditLine]:
        """List what one user asked for after a mark, oldest first."""
        return [line for line in audit.read(self.place.audit_log, since) if line.user == user]

    def kubeconfig(self, user_token: str, path: Path) -> Path:
        """Write a kubeconfig file for the bearer of a token."""
        path.write_text(yaml.safe_dump(place.kubeconfig(self.place, user_token)))
        return path

    def agent_identity(
        self, node: str, namespace: str = "nodetruth", seconds: int = 3600
    ) -> Identity:
        """Give the agent of one Node an account, its rights, a Pod and a token.

        The token dies with the Pod ``nodetruth-NODE``. Called again, it makes
        another token of the same identity. The rights hold when it returns.
        """
        for path, body in manifests.agent(namespace, node):
            self.admin.ensure(path, body)
        account = manifests.ACCOUNT
        username = f"system:serviceaccount:{namespace}:{account}"
        eventually(lambda: self._allowed(namespace, username), f"the rights of {username}")
        answer = self.admin.post(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
            manifests.token_request(f"{account}-{node}", seconds),
        )
        return Identity(answer["status"]["token"], username)

    def make_node(self, name: str, **parts: Json) -> Json:
        """Register a Node as kubelet does, and return it.

        ``parts`` are ``metadata``, ``spec`` and ``status``; their keys replace
        those of a Ready Node with 8 CPUs. Admission adds the taint
        ``node.kubernetes.io/not-ready``, which only the controllers take off.
        """
        return self.admin.post(NODES, manifests.node(name, parts))

    def remove_node(self, name: str) -> None:
        """Delete a Node and the Pods on it, whoever put them there."""
        pods = self.admin.get(f"/api/v1/pods?fieldSelector=spec.nodeName={name}")["items"]
        for pod in (pod["metadata"] for pod in pods):
            self._delete(f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}")
        self._delete(f"{NODES}/{name}")

    def _delete(self, path: str) -> None:
        try:
            self.admin.delete(path)
        except ApiError as err:
            if err.status != HTTPStatus.NOT_FOUND:
                raise

    def _allowed(self, namespace: str, user: str) -> bool:
        # Grants take effect when the API server's own watch has seen them.
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return all(
            self.admin.post(path, question)["status"]["allowed"]
            for question in manifests.questions(namespace, user)
        )

    def _ready(self) -> bool:
        # Readiness does not wait for the namespace in which Events on Nodes lie.
        return answers(f"{self.url}/readyz", self.ca_file) and self._has_namespace("default")

    def _has_namespace(self, name: str) -> bool:
        try:
            self.admin.get(f"/api/v1/namespaces/{name}")
        except ApiError:
            return False
        return True

    def _beside(self, command: list[str], port: int, health: str) -> Program:
        program = self._program(command)
        self._others.append(program)
        program.start()
        certificate = self.ca_file.with_name(f"{program.name}.crt")
        wait_ready(program, lambda: answers(f"https://127.0.0.1:{port}/{health}", certificate))
        return program

    def _program(self, command: list[str]) -> Program:
        name = Path(command[0]).name
        return Program(command, self.place.folder / f"{name}.log")
