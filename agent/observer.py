"""Say what may be seen of the agent's work: log, metrics, readiness and the rest look at that."""

from typing import Protocol

from labeler.diff import Drift
from labeler.node import NodeError
from labeler.reconcile import Round
from labeler.seen import Seen


class Observer(Protocol):
    """Looks at what happens; log, metrics, readiness and what may wait are observers."""

    def beat(self) -> None:
        """See that the loop lives."""

    def drifted(self, seen: Seen, drifts: tuple[Drift, ...]) -> None:
        """See that other hands touched keys of ours."""

    def ended(self, one: Round, *, confirmed: bool) -> None:
        """See a round that ended."""

    def troubled(self, error: NodeError) -> None:
        """See why a round or a watch came to nothing."""

    def resumed(self) -> None:
        """See that the Node is followed anew, since the watch before ended or failed."""
