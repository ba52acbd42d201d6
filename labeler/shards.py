"""Publish which shards lie on a Node, in a ConfigMap of its own beside its Lease.

On the Node itself the bitmaps would travel to every watcher of Nodes.
"""

from http import HTTPStatus
from typing import Final

from labeler.api import MERGE, Answer, Api
from labeler.seen import Seen
from labeler.vocabulary import FIELD_MANAGER

KEY: Final = "datasets.json"
"""Where in the ConfigMap the document lies; its form is ``labeler.bitmaps``'."""
NOTHING: Final = '{"version":1,"leftOut":0,"datasets":[]}'
"""The document that says that no shard lies here: most nodes need no module to make it."""


class NodeShards:
    """The ConfigMap of one Node, in the agent's namespace, under the Node's name."""

    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{api.namespace}/configmaps"
        self._mine = f"{self._path}/{node}"

    def write(self, seen: Seen, document: str) -> None:
        """Write the document; the Node owns it, so it goes when the Node goes.

        Nothing is written where nothing lies and nothing was ever said.
        """
        owner = {"apiVersion": "v1", "kind": "Node", "name": seen.name, "uid": seen.uid}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": seen.name, "ownerReferences": [owner]},
            "data": {KEY: document},
        }
        try:
            self._api.request("PATCH", self._mine, body, kind=MERGE, fieldManager=FIELD_MANAGER)
        except Answer as err:
            if err.code != HTTPStatus.NOT_FOUND:
                raise
            if document != NOTHING:
                self._api.request("POST", self._path, body, fieldManager=FIELD_MANAGER)

    def end(self) -> None:
        """Delete it; nothing happens where there is none."""
        self._api.delete(self._mine)
