"""Speak JSON to the API server as the tests' own hand.

It shares nothing with the product's client, so that a fault there cannot hide
behind the same fault here. It never tries again: a test wants the first answer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias

import urllib3

Json: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["merge", "strategic", "json"]

PATCHES: Final[dict[Kind, str]] = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}
TIMEOUT: Final = 30.0
"""Seconds for one answer; far above what a sound API server needs."""


class ApiError(Exception):
    """The API server refused; ``status`` and ``message`` are its own."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path}: {status} {message}")
        self.method = method
        self.path = path
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One user's view of an API server."""

    url: str
    token: str
    pool: urllib3.PoolManager
    """Shared by the users of a control plane, which closes it."""

    def get(self, path: str) -> Json:
        """Read an object, a list or a review."""
        return self._ask("GET", path)

    def post(self, path: str, body: Json) -> Json:
        """Create an object."""
        return self._ask("POST", path, body)

    def put(self, path: str, body: Json) -> Json:
        """Replace an object."""
        return self._ask("PUT", path, body)

    def patch(self, path: str, body: Json | Sequence[Json], kind: Kind = "merge") -> Json:
        """Change an object; a patch of kind ``json`` is a list of operations."""
        return self._ask("PATCH", path, body, PATCHES[kind])

    def delete(self, path: str) -> Json:
        """Delete an object; a Pod goes at once, since no kubelet will confirm it."""
        return self._ask("DELETE", path, {"gracePeriodSeconds": 0})

    def ensure(self, path: str, body: Json) -> None:
        """Create an object, unless one of that name is there."""
        try:
            self.post(path, body)
        except ApiError as err:
            if err.status != HTTPStatus.CONFLICT:
                raise

    def _ask(
        self,
        method: str,
        path: str,
        body: Json | Sequence[Json] | None = None,
        content: str = "application/json",
    ) -> Json:
        response = self.pool.request(
            method,
            self.url + path,
            body=None if body is None else json.dumps(body),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/json",
                "Content-Type": content,
                "User-Agent": "nodetruth-tests",
            },
        )
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise ApiError(method, path, response.status, reason(response.data))
        answer: Json = json.loads(response.data)
        return answer


def connections(ca_file: str) -> urllib3.PoolManager:
    """Open a pool that trusts one authority and hides no failure behind a retry."""
    return urllib3.PoolManager(ca_certs=ca_file, retries=False, timeout=TIMEOUT)


def reason(body: bytes) -> str:
    """Take the message out of a Status; take the text where there is none."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip()
