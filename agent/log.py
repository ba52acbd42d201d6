"""Write the log: JSON lines for machines, plain lines on a terminal."""

import json
import logging
import sys
from datetime import UTC, datetime

from labeler.contention import Contest
from labeler.diff import Drift
from labeler.managers import UNKNOWN
from labeler.node import NodeError, NodeMoved
from labeler.reconcile import Round
from labeler.seen import Seen

_log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON; ``extra={"fields": {...}}`` adds to it."""
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry | getattr(record, "fields", {}), default=str)


def set_up(level: int = logging.INFO) -> None:
    """Send every record to stderr; stdout is for what was asked for."""
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    handler.setFormatter(plain if sys.stderr.isatty() else JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # It says twice whenever a probe runs, and warns each time a hung one is not started again.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    # Every problem it warns of reaches us as an exception.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


class Log:
    """An observer that logs what changed; a rest leaves no line."""

    def __init__(self) -> None:
        self._trouble = ""
        self._told = False
        self._contests: tuple[Contest, ...] = ()

    def beat(self) -> None:
        """Do nothing."""

    def drifted(self, seen: Seen, drifts: tuple[Drift, ...]) -> None:
        """Log every key that another hand touched."""
        for one in drifts:
            fields = {
                "node": seen.name,
                "key": one.key,
                "cause": one.cause,
                "manager": one.manager,
            }
            hand = "another hand" if one.manager == UNKNOWN else one.manager
            _log.warning("%s was %s by %s", one.key, one.cause, hand, extra={"fields": fields})

    def resumed(self) -> None:
        """Do nothing: why the watch ended was logged."""

    def ended(self, one: Round, *, confirmed: bool) -> None:
        """Log what was written, who contests what, and the first time that all is as it should."""
        self._contended(one)
        if one.written:
            fields = {
                "node": one.after.name,
                "labels": dict(one.written.labels),
                "taints": None if one.written.taints is None else [*map(str, one.written.taints)],
                "status": one.want.status,
                "reasons": one.want.judgement.reasons,
            }
            keys = ", ".join(
                f"{key}={value}" if value is not None else f"{key} removed"
                for key, value in one.written.labels.items()
            )
            _log.info("wrote %s", keys or "annotations or taints", extra={"fields": fields})
        if confirmed and (self._trouble or not self._told):
            self._trouble, self._told = "", True
            _log.info("the Node says what it should; status is %s", one.want.status)

    def _contended(self, one: Round) -> None:
        """Log each contest once when it begins, and once when it is over."""
        before = {(contest.key, contest.since) for contest in self._contests}
        for contest in one.contests:
            if (contest.key, contest.since) not in before:
                fields = {"node": one.after.name, "key": contest.key, "manager": contest.manager}
                _log.warning("%s", contest, extra={"fields": fields})
        lasting = {contest.key for contest in one.contests}
        for contest in self._contests:
            if contest.key not in lasting:
                _log.info("%s %s is contested no more", contest.part, contest.key)
        self._contests = one.contests

    def troubled(self, error: NodeError) -> None:
        """Log an error once, however often it comes in a row."""
        # Its version is another each time.
        text = type(error).__name__ if isinstance(error, NodeMoved) else str(error)
        if text != self._trouble:
            self._trouble = text
            _log.error("%s", error, extra={"fields": {"error": type(error).__name__}})
