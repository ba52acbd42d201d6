"""Say what a Node must offer, wherever it is kept, and what can go wrong with it.

NodeError                 base of all; the message names the thing and the way out
├── NodeMissing           there is no such Node (yet)
├── NodeMoved             somebody changed it between our read and our write
├── NodeRefused           the write or the watch is not allowed, or not valid
└── NodeUnavailable       it can't be reached now; try again after ``wait`` seconds
"""

from collections.abc import Callable
from threading import Event
from typing import Protocol

from labeler.diff import Patch
from labeler.seen import Condition, Seen


class NodeError(Exception):
    """Base of every error that a Node raises on purpose."""


class NodeMissing(NodeError):
    """There is no such Node."""

    def __init__(self, node: str, place: str) -> None:
        super().__init__(
            f"Node {node!r} is not in {place}; check the name, or wait for it to register"
        )
        self.node = node


class NodeMoved(NodeError):
    """Somebody changed the Node between our read and our write."""

    def __init__(self, node: str, version: str) -> None:
        super().__init__(f"Node {node!r} has moved past version {version}")
        self.node = node
        self.version = version


class NodeRefused(NodeError):
    """The server or the file refuses, and will go on refusing until somebody acts."""

    def __init__(self, what: str, why: str, way_out: str) -> None:
        super().__init__(f"{what}: {why}; {way_out}")
        self.what = what
        self.why = why


class NodeUnavailable(NodeError):
    """The Node can't be reached now; ``wait`` is the server's own word on when to come back."""

    def __init__(self, what: str, why: str, wait: float | None = None) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.wait = wait


class Node(Protocol):
    """A Node that can be read, written and followed."""

    name: str
    place: str
    """Where it is kept, in words."""

    def seen(self) -> Seen | None:
        """Return the newest state known here, without asking anybody; ``None`` while missing."""

    def read(self) -> Seen:
        """Ask for the Node as it is now."""

    def apply(self, patch: Patch, seen: Seen) -> Seen:
        """Write ``patch`` on the Node that was read as ``seen``; return what it says then."""

    def confirmed(self) -> bool:
        """Tell whether our last write came back by the way others see it."""

    def follow(self, changed: Callable[[], None], stop: Event) -> None:
        """Keep ``seen`` new and call ``changed`` after each change, until ``stop`` or an error."""

    def condition(self, condition: Condition) -> None:
        """Say a condition of ours; every other condition stays as it is."""

    def attest(self) -> None:
        """Renew the word that this Node's labels are looked after."""

    def publish(self, document: str) -> None:
        """Make known, beside the Node, which shards of which datasets lie here."""

    def withdraw(self, condition: str) -> None:
        """Take away the condition of that type and all that is kept beside the Node."""

    def tell(self, reason: str, message: str, *, warning: bool) -> None:
        """Tell people, best effort, that something happened to the Node."""
