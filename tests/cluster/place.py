"""Say where one control plane keeps its files, and by which flags its programs find them.

Pure but for ``furnish``, which writes the files that must be there before the
API server starts.
"""

import json
import secrets
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from tests.cluster import audit
from tests.cluster.api import Json
from tests.cluster.programs import free_port

ADMIN: Final = "admin"
USERS: Final = {
    ADMIN: "system:masters",
    # kube-apiserver brings the rights of these two along.
    "system:kube-scheduler": "",
    "system:kube-controller-manager": "",
}

# An elliptic-curve private key is a number below the curve's order, here in its
# shortest DER form (RFC 5915), in which readers work out the public half.
KEY_HEAD: Final = bytes.fromhex("30310201010420")
KEY_TAIL: Final = bytes.fromhex("a00a06082a8648ce3d030107")
ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder, three ports and a token per user."""

    folder: Path
    programs: Path
    port: int = field(default_factory=free_port)
    etcd_port: int = field(default_factory=free_port)
    peer_port: int = field(default_factory=free_port)
    tokens: dict[str, str] = field(
        default_factory=lambda: {user: secrets.token_hex(16) for user in USERS}
    )

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> Path:
        """The certificate that the API server makes for itself, with its authority."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def audit_log(self) -> Path:
        """Where the API server writes who asked for what."""
        return self.folder / "audit.log"

    @property
    def key(self) -> Path:
        """The key that signs the tokens of service accounts."""
        return self.folder / "service-accounts.key"


def furnish(place: Place) -> None:
    """Write the files that must be there before the API server starts."""
    rows = [f'{place.tokens[name]},{name},{name},"{USERS[name]}"\n' for name in USERS]
    (place.folder / "tokens.csv").write_text("".join(rows))
    (place.folder / "audit-policy.json").write_text(json.dumps(audit.POLICY))
    place.key.write_text(private_key(secrets.randbelow(ORDER - 1) + 1))
    for user in USERS:
        config = kubeconfig(place, place.tokens[user])
        kubeconfig_path(place, user).write_text(yaml.safe_dump(config))


def kubeconfig_path(place: Place, user: str) -> Path:
    """Name the kubeconfig file of one of the control plane's own users."""
    return place.folder / f"{user.removeprefix('system:')}.kubeconfig"


def private_key(scalar: int) -> str:
    """Write a P-256 private key as PEM, with nothing but arithmetic. Pure."""
    der = KEY_HEAD + scalar.to_bytes(32, "big") + KEY_TAIL
    text = b64encode(der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}\n-----END EC PRIVATE KEY-----\n"


def kubeconfig(place: Place, token: str) -> Json:
    """Make a kubeconfig for the bearer of a token. Pure."""
    cluster = {"server": place.url, "certificate-authority": str(place.ca_file)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "user"}}],
        "current-context": "tests",
    }


def etcd(place: Place) -> list[str]:
    """Say how etcd is called: one member that trusts its disk to last the tests."""
    client = f"http://127.0.0.1:{place.etcd_port}"
    peer = f"http://127.0.0.1:{place.peer_port}"
    return [
        str(place.programs / "etcd"),
        f"--data-dir={place.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    ]


def apiserver(place: Place) -> list[str]:
    """Say how kube-apiserver is called: as a cluster's is, with an audit log of all."""
    return [
        str(place.programs / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{place.etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={place.port}",
        f"--cert-dir={place.ca_file.parent}",
        # Without these two it looks for the address of an outward interface,
        # which a machine without a network does not have.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={place.key}",
        f"--service-account-signing-key-file={place.key}",
        f"--token-auth-file={place.folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--audit-policy-file={place.folder / 'audit-policy.json'}",
        f"--audit-log-path={place.audit_log}",
        "--audit-log-mode=blocking",
        # A log that is rotated would move lines away from under their offsets.
        "--audit-log-maxsize=10000",
    ]


def scheduler(place: Place, port: int) -> list[str]:
    """Say how kube-scheduler is called."""
    return controller(place, port, "kube-scheduler")


def controllers(place: Place, port: int) -> list[str]:
    """Say how kube-controller-manager is called."""
    return [
        *controller(place, port, "kube-controller-manager"),
        f"--service-account-private-key-file={place.key}",
        f"--root-ca-file={place.ca_file}",
        "--use-service-account-credentials",
    ]


def controller(place: Place, port: int, name: str) -> list[str]:
    """Say what the clients of the API server have in common; there is one of each."""
    return [
        str(place.programs / name),
        f"--kubeconfig={kubeconfig_path(place, f'system:{name}')}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={place.ca_file.parent}",
    ]
