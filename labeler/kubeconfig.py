"""Read a kubeconfig file, by the ``kubernetes`` package.

Imported only where a kubeconfig is named: the package costs 33 MiB, and no Pod
of the agent needs it. It is an extra, so that a node installs without it.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from labeler.credentials import Credentials
from labeler.node import NodeRefused

try:
    from kubernetes import client, config
except ImportError as err:
    raise NodeRefused(
        "kubeconfig", "the kubernetes package is not installed", "install nodetruth[cluster]"
    ) from err

_UNREADABLE = (
    *(config.ConfigException, yaml.YAMLError, OSError),
    *(ValueError, TypeError, LookupError, AttributeError, RecursionError),
)


def from_kubeconfig(path: str | None, namespace: str = "nodetruth") -> Credentials:
    """Return what a kubeconfig file says; ``None`` means ``$KUBECONFIG`` or ``~/.kube/config``."""
    shown = path or os.environ.get("KUBECONFIG") or "~/.kube/config"
    found = client.Configuration()
    _load(path, shown, found)
    if not found.verify_ssl:
        raise NodeRefused(
            f"kubeconfig {shown}",
            "insecure-skip-tls-verify is set",
            "give the cluster's certificate-authority: a label written to an impostor is no label",
        )
    server = _server(found.host, shown)
    pair = (found.cert_file, found.key_file)
    return Credentials(
        url=server,
        authority=Path(found.ssl_ca_cert) if found.ssl_ca_cert else None,
        certificate=(Path(pair[0]), Path(pair[1])) if pair[0] and pair[1] else None,
        server_name=found.tls_server_name or None,
        bearer=lambda: _bearer(found),
        rejected=lambda: _load(path, shown, found),
        namespace=namespace,
    )


def _server(url: str, shown: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise NodeRefused(
            f"kubeconfig {shown}", f"server {url!r} is no address", "it must be https://host:port"
        )
    return url


def _load(path: str | None, shown: str, into: client.Configuration) -> None:
    load = config.load_kube_config
    try:
        load(path, client_configuration=into, persist_config=False)  # type: ignore[no-untyped-call]
    except _UNREADABLE as err:
        raise NodeRefused(
            f"kubeconfig {shown}",
            " ".join(str(err).split()),
            "it must name a cluster, a user and a current context",
        ) from err


def _bearer(found: client.Configuration) -> str | None:
    key = found.get_api_key_with_prefix("BearerToken")
    return key.removeprefix("Bearer ").strip() if key else None
