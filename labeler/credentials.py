"""Say where the API server is and how to speak to it, as a Pod's service account says.

Anywhere else a kubeconfig says it: see ``kubeconfig``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from labeler.node import NodeRefused

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Where the server is, whom to trust, and who we are."""

    url: str
    authority: Path | None = None
    """The one CA that is trusted; ``None`` trusts the system's."""
    certificate: tuple[Path, Path] | None = None
    """A client certificate and its key."""
    server_name: str | None = None
    bearer: Callable[[], str | None] = lambda: None
    """Asked at every request: kubelet replaces the token in its file each hour."""
    rejected: Callable[[], None] = lambda: None
    """Called when the server refuses the bearer, so that the next one may be another."""
    namespace: str = "nodetruth"
    """Where the Lease of this Node lies."""


def in_cluster(environ: Mapping[str, str]) -> Credentials:
    """Return what a Pod's service account says."""
    account = ACCOUNT
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token = account / "token"
    if not host or not port or not token.exists():
        raise NodeRefused(
            "in-cluster credentials",
            f"not in a Pod: KUBERNETES_SERVICE_HOST or {token} is missing",
            "run in a Pod with a service account, or name a --kubeconfig or a --node-file",
        )
    where = f"[{host}]" if ":" in host else host
    return Credentials(
        url=f"https://{where}:{port}",
        authority=account / "ca.crt",
        bearer=lambda: token.read_text().strip(),
        namespace=_namespace(account / "namespace"),
    )


def _namespace(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as err:
        raise NodeRefused(
            "in-cluster credentials", f"{path}: {err.strerror}", "mount the service account"
        ) from err
