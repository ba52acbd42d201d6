"""Open the Node where it is kept: in a cluster or in a file."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from labeler import legal
from labeler.api import Api, Observer
from labeler.cluster import ClusterNode
from labeler.credentials import Credentials, in_cluster
from labeler.node import Node, NodeRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the Node is kept."""

    file: Path | None = None
    name: str | None = None
    kubeconfig: str | None = None


def open_node(place: Place, observe: Observer, *, make: bool = True) -> Node:
    """Return the Node at ``place``; raise ``NodeError`` in words where it can't be had."""
    if place.file:
        # Only here: a Pod never keeps its Node in a file, and ruamel.yaml costs it memory.
        from labeler.manifest import ManifestNode, create  # noqa: PLC0415

        if make:
            create(place.file, place.name or socket.gethostname())
        return ManifestNode(place.file)
    if not place.name:
        raise NodeRefused(
            "Node name", "none given", "set --node-name or NODE_NAME, or name a --node-file"
        )
    if not legal.is_prefix(place.name):
        raise NodeRefused(
            f"Node name {place.name!r}",
            "no Node can have it",
            "kubectl get nodes lists those there are",
        )
    api = Api(_credentials(place), observe)
    return ClusterNode(api, place.name, os.environ.get("POD_NAME", "nodetruth"))


def _credentials(place: Place) -> Credentials:
    if place.kubeconfig is None:
        return in_cluster(os.environ)
    from labeler.kubeconfig import from_kubeconfig  # noqa: PLC0415  (33 MiB that no Pod needs)

    return from_kubeconfig(place.kubeconfig)
