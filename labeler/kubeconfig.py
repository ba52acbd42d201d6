"""Read a kubeconfig file, by the ``kubernetes`` package.

Imported only where a kubeconfig is named: the package costs 33 MiB, and no Pod
of the agent needs it. It is an extra, so that a node installs without it.
"""

import os
from pathlib import Path

from labeler.credentials import Credentials
from labeler.node import NodeRefused

try:
    from kubernetes import client, config
except ImportError as err:
    raise NodeRefused(
        "kubeconfig", "the kubernetes package is not installed", "install nodetruth[cluster]"
    ) from err


def from_kubeconfig(path: str | None, namespace: str = "nodetruth") -> Credentials:
    """Return what a kubeconfig file says; ``None`` means ``$KUBECONFIG`` or ``~/.kube/config``."""
    shown = path or os.environ.get("KUBECONFIG") or "~/.kube/config"
    configuration = client.Configuration()
    try:
        _load(path, configuration)
    except (config.ConfigException, OSError, ValueError, TypeError) as err:
        why = " ".join(str(err).split())
        raise NodeRefused(
            f"kubeconfig {shown}", why, "it must name a cluster, a user and a current context"
        ) from err
    return _translated(configuration, shown, namespace)


def _load(path: str | None, configuration: client.Configuration) -> None:
    load = config.load_kube_config
    load(path, client_configuration=configuration, persist_config=False)  # type: ignore[no-untyped-call]


def _translated(configuration: client.Configuration, shown: str, namespace: str) -> Credentials:
    if not configuration.verify_ssl:
        raise NodeRefused(
            f"kubeconfig {shown}",
            "insecure-skip-tls-verify is set",
            "give the cluster's certificate-authority: a label written to an impostor is no label",
        )
    pair = (configuration.cert_file, configuration.key_file)
    return Credentials(
        url=configuration.host,
        authority=Path(configuration.ssl_ca_cert) if configuration.ssl_ca_cert else None,
        certificate=(Path(pair[0]), Path(pair[1])) if pair[0] and pair[1] else None,
        server_name=configuration.tls_server_name or None,
        bearer=lambda: _bearer(configuration),
        namespace=namespace,
    )


def _bearer(configuration: client.Configuration) -> str | None:
    key = configuration.get_api_key_with_prefix("BearerToken")
    return key.removeprefix("Bearer ").strip() if key else None
