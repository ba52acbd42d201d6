"""Wire the parts together and run them: the agent, one look, or a farewell.

The one module that knows every part. Returns exit codes; prints nothing that
was not asked for.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Final

from agent.aside import Aside
from agent.config import Settings
from agent.log import Log
from agent.loop import Identity, Loop
from agent.machine import boot_id, tasks
from agent.metrics import Metrics
from agent.newest import Newest, Task
from agent.schedule import Schedule
from agent.serve import Health, Server
from labeler import legal
from labeler.api import Api
from labeler.cluster import ClusterNode
from labeler.credentials import Credentials, in_cluster
from labeler.desired import Recall, desired
from labeler.diff import Drift, cleaned
from labeler.evidence import Evidence
from labeler.node import Node, NodeError, NodeMissing, NodeMoved, NodeRefused
from labeler.reconcile import TRIES, Round
from labeler.seen import Seen
from labeler.vocabulary import Mode

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
PATIENCE: Final = 60.0
"""Seconds that ``--once`` waits for a confirmed round."""
TICK: Final = 2.0
"""Seconds between two looks at the wall clock."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the Node is kept."""

    file: Path | None = None
    name: str | None = None
    kubeconfig: str | None = None

    @property
    def shown(self) -> str:
        """The place in words."""
        return str(self.file) if self.file else "in the cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for beside the settings."""

    once: bool = False
    output: str | None = None


def open_node(place: Place, metrics: Metrics | None, *, make: bool = True) -> Node:
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
    api = Api(_credentials(place), metrics.requested if metrics else lambda _verb, _code: None)
    return ClusterNode(api, place.name, os.environ.get("POD_NAME", "nodetruth"))


def _credentials(place: Place) -> Credentials:
    if place.kubeconfig is None:
        return in_cluster(os.environ)
    from labeler.kubeconfig import from_kubeconfig  # noqa: PLC0415  (33 MiB that no Pod needs)

    return from_kubeconfig(place.kubeconfig)


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
        self.error = error
        if self._wish.once and isinstance(error, NodeMissing | NodeRefused):
            self.done.set()


class Agent:
    """The whole agent, ready to run."""

    def __init__(self, settings: Settings, place: Place, wish: Wish) -> None:
        self._wish = wish
        self._code = OK
        self._policy = settings.policy()
        self._metrics = Metrics(version("nodetruth"), settings.mode)
        self._health = Health(settings.mode)
        jobs = tasks(settings)
        self._newest = Newest(jobs, lambda: self._loop.wake(), self._metrics.probed)  # noqa: PLW0108
        self._metrics.watch(self._newest, [job.probe for job in jobs])
        self._schedule = Schedule(self._newest, jobs, self._metrics.skipped)
        self._node = open_node(place, self._metrics)
        self._place = place
        self._server = (
            None if wish.once else Server(settings.address(), self._health, self._metrics.page)
        )
        self._outcome = Outcome(settings.mode, wish, self._show)
        identity = Identity(boot_id(settings.roots), version("nodetruth"))
        observers = (Log(), self._metrics, self._health, self._outcome)
        aside = Aside(self._node, self._policy)
        self._loop = Loop(self._node, self._newest, self._policy, identity, (*observers, aside))

    def run(self) -> int:
        """Run until a signal, or with ``once`` until the first confirmed round."""
        stop = Event()
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, lambda _number, _frame: stop.set())
        threading.excepthook = lambda args: self._crash(args, stop)
        if self._server:
            self._server.start()
            _log.info("listening on port %s", self._server.port)
        self._schedule.start()
        self._loop.start()
        return self._once(stop) if self._wish.once else self._for_ever(stop)

    def _crash(self, args: threading.ExceptHookArgs, stop: Event) -> None:
        """End the agent when one of its threads dies of a bug: half an agent is worse than none."""
        thread = args.thread.name if args.thread else "a thread"
        cause = (args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)
        _log.critical("a bug ended the agent, in %s; please report it", thread, exc_info=cause)
        self._code = FAILED
        stop.set()

    def _for_ever(self, stop: Event) -> int:
        while not stop.wait(TICK):
            if self._schedule.mind_the_clock():
                _log.warning("the wall clock was set; every probe looks again now")
        self._loop.stop()
        self._schedule.stop()
        return self._code

    def _once(self, stop: Event) -> int:
        waited = 0.0
        while not self._outcome.done.wait(0.1) and not stop.is_set() and waited < PATIENCE:
            waited += 0.1
        self._loop.stop()
        if self._outcome.error is not None or not self._outcome.done.is_set():
            why = self._outcome.error or f"no round was confirmed within {PATIENCE:.0f} s"
            _log.error("gave up: %s", why)
            return FAILED
        return self._code

    def _show(self, one: Round) -> None:
        if self._wish.output:
            from agent.show import of_round, show  # noqa: PLC0415  (rich is for people)

            facts = self._newest.facts()
            show(of_round(one, facts, self._policy, self._place.shown), self._wish.output)


def agent(settings: Settings, place: Place, wish: Wish) -> int:
    """Run the agent; return its exit code."""
    try:
        return Agent(settings, place, wish).run()
    except OSError as err:
        _log.error("can't listen on %s: %s; set listen", settings.listen, err.strerror)
        return FAILED


def probe(settings: Settings, output: str) -> int:
    """Look once and show what the Node would say; nothing is written anywhere."""
    from agent.show import Said, show  # noqa: PLC0415  (rich is for people)

    newest = look(tasks(settings))
    now = Evidence(boot=boot_id(settings.roots), uid="")
    seen = Seen(name=socket.gethostname(), uid="", version="")
    facts = newest.facts()
    policy = settings.policy()
    want = desired(facts, Recall(now), seen, policy, datetime.now(UTC))
    show(Said(f"Node {seen.name} would say", want, facts, policy), output)
    return OK


def look(jobs: tuple[Task, ...]) -> Newest:
    """Run every probe once, side by side, and wait for answers or deadlines."""
    changed = Event()
    newest = Newest(jobs, changed.set)
    schedule = Schedule(newest, jobs, lambda _probe: None)
    schedule.start()
    while not newest.complete():
        changed.wait(min(newest.patience(), TICK))
        changed.clear()
    schedule.stop()
    return newest


def clean(settings: Settings, place: Place, *, dry_run: bool) -> int:
    """Take everything of ours off a Node and put back what we had found there."""
    node = open_node(place, None, make=False)
    policy = settings.policy()
    for _ in range(TRIES):
        seen = node.read()
        patch = cleaned(seen, policy.vocabulary)
        if dry_run:
            break
        try:
            if patch:
                node.apply(patch, seen)
            node.withdraw(policy.condition)
        except NodeMoved:
            continue
        break
    else:
        raise NodeMoved(node.name, seen.version)
    word = "would change" if dry_run else "changed"
    changes = [*patch.labels.items(), *patch.annotations.items()]
    for key, value in changes:
        print(f"{key}: {'removed' if value is None else f'restored to {value!r}'}")
    if patch.taints is not None:
        print(f"taints: {len(seen.taints)} before, {len(patch.taints)} after")
    print(f"Node {node.name}: {word} {len(changes) + (patch.taints is not None)} entries")
    return OK
