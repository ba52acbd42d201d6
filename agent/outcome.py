"""Wait for the first round that counts, and show what each new one says."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

from labeler.diff import Drift
from labeler.node import NodeError, NodeMissing, NodeRefused
from labeler.reconcile import Round
from labeler.seen import Seen
from labeler.vocabulary import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for beside the settings."""

    once: bool = False
    output: str | None = None


class Outcome:
    """An observer that waits for the first round that counts, and shows what it says."""

    def __init__(self, mode: Mode, wish: Wish, shown: Callable[[Round], None]) -> None:
        self.done = Event()
        self.error: NodeError | None = None
        self._mode = mode
        self._wish = wish
        self._shown = shown
        self._last: object = None

    def beat(self) -> None:
        """Do nothing."""

    def drifted(self, seen: Seen, drifts: tuple[Drift, ...]) -> None:
        """Do nothing."""

    def resumed(self) -> None:
        """Do nothing."""

    def ended(self, one: Round, *, confirmed: bool) -> None:
        """Show a complete round whenever it says something new."""
        if not one.want.complete or not (confirmed or self._mode is Mode.OBSERVE):
            return
        said = one.want.labels, one.want.taints, one.want.held
        if said != self._last:
            self._last = said
            self._shown(one)
        self.error = None
        self.done.set()

    def troubled(self, error: NodeError) -> None:
        """Give up at once on what waiting can't mend, if one round was all that was asked."""
        if self._wish.once and self.done.is_set():
            return
        self.error = error
        if self._wish.once and isinstance(error, NodeMissing | NodeRefused):
            self.done.set()
