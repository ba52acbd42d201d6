"""How long does an edit by hand stand?

From sending the edit to the watch event that shows it put right. Before each
edit a bare PATCH is sent to another Node of the same size, and timed to its
watch event: the floor of the same API server at the same moment. An edit and
its repair are two such PATCHes, so the ratio can't be below two.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench.resident import Benched
from bench.row import Row, quantile
from bench.stage import Stage
from bench.watcher import Sighting, Watcher
from tests.cluster.api import Api, Json

EDITS: Final = 200
SECONDS: Final = 100
PAUSE: Final = 0.42
"""Seconds between what was put right and the next edit: each meets an agent at rest."""
P50: Final = 25.0
P99: Final = 150.0
"""Milliseconds."""
EDITED: Final = "edited"
FLOOR: Final = "floor"
VALUE: Final = "Yes"

# So many that at this pace no key is edited three times a minute: an agent yields
# to an insistent second writer, which is another matter. And no more, since the
# API server needs longer for a longer Node: 120 labels cost it 4 ms a PATCH.
SAID: Final = [f"bench-{number:03}" for number in range(48)]
UNSAID: Final = [f"bench-{number:03}" for number in range(48, 72)]


@dataclass(frozen=True, slots=True)
class Edit:
    """What a hand sets a label to, and what it must say again; ``None`` is no label."""

    key: str
    wrong: str | None
    right: str | None


def derived() -> list[Json]:
    """Return derived labels to edit: some that the Node says, some that are ours but unsaid."""
    rules = [(key, "Exists") for key in SAID] + [(key, "DoesNotExist") for key in UNSAID]
    return [
        {"label": key, "value": VALUE, "matchExpressions": [{"key": "cpu", "operator": operator}]}
        for key, operator in rules
    ]


def plan(count: int) -> Iterator[Edit]:
    """Change, remove and forge in turn; no key comes again before half of them were edited."""
    half = len(SAID) // 2
    for turn in range(count):
        number, kind = divmod(turn, 3)
        if kind == 0:
            yield Edit(SAID[number % len(SAID)], "forged", VALUE)
        elif kind == 1:
            yield Edit(SAID[(number + half) % len(SAID)], None, VALUE)
        else:
            yield Edit(UNSAID[number % len(UNSAID)], "forged", None)


def measure(stage: Stage) -> list[Row]:
    """Edit a Node by hand and see each edit put right."""
    count = EDITS // 20 if stage.quick else EDITS
    agent = stage.agent(EDITED, {"derived": derived()})
    with agent, Watcher(stage.plane) as watcher:
        agent.wait_true()
        _twin(stage, agent)
        floor, mended = _sample(stage, watcher, count)
    return rows(floor, mended)


def rows(floor: list[float], mended: list[float]) -> list[Row]:
    """Return the figures of samples in milliseconds. Pure."""
    how = f"{len(mended)} changes, removals and forgeries; from sending to the watch event"
    least = f"a bare PATCH of a Node of the same size to its watch event; {len(floor)}, interleaved"
    what = "hand edit put right"
    ratio = "of the two in this run; 2 is the least, an edit and its repair"
    return [
        _row(f"{what}, p50", quantile(mended, 0.5), how, P50),
        _row(f"{what}, p99", quantile(mended, 0.99), how, P99),
        _row("the API server's floor, p50", quantile(floor, 0.5), least),
        _row("the API server's floor, p99", quantile(floor, 0.99), least),
        Row(
            figure=f"{what}, over the floor, p50",
            value=quantile(mended, 0.5) / quantile(floor, 0.5),
            unit="x",
            how=ratio,
        ),
    ]


def _row(figure: str, value: float, how: str, limit: float | None = None) -> Row:
    return Row(figure=figure, value=value, unit="ms", limit=limit, how=how)


def _twin(stage: Stage, agent: Benched) -> None:
    """Register a Node that says the same, and that nobody keeps."""
    there = agent.seen()["metadata"]
    labels = {**there["labels"], "kubernetes.io/hostname": FLOOR}
    stage.plane.make_node(FLOOR, metadata={"labels": labels, "annotations": there["annotations"]})


def _sample(stage: Stage, watcher: Watcher, count: int) -> tuple[list[float], list[float]]:
    floor: list[float] = []
    mended: list[float] = []
    admin = stage.plane.admin
    for number, edit in enumerate(plan(count)):
        bare = Edit("bench-beat", str(number), str(number))
        floor.append(_time(watcher, partial(_write, admin, FLOOR, bare), _shown(FLOOR, bare)))
        written = partial(_write, admin, EDITED, edit)
        mended.append(_time(watcher, written, _shown(EDITED, edit, later=1)))
        stage.progress.done(number + 1, count, "edits")
        time.sleep(PAUSE)
    return floor, mended


def _write(admin: Api, node: str, edit: Edit) -> int:
    """Write a label by hand; return the version that the write made."""
    body = {"metadata": {"labels": {edit.key: edit.wrong}}}
    return int(admin.patch(f"/api/v1/nodes/{node}", body)["metadata"]["resourceVersion"])


Fits = Callable[[int, Sighting], bool]


def _shown(node: str, edit: Edit, later: int = 0) -> Fits:
    """Return the test for a sighting of what must come of an edit, at its version or later."""

    def fits(version: int, one: Sighting) -> bool:
        there = one.node == node and one.version >= version + later
        return there and one.labels.get(edit.key) == edit.right

    return fits


def _time(watcher: Watcher, write: Callable[[], int], fits: Fits) -> float:
    """Return the milliseconds from sending a write to the sighting of what comes of it."""
    watcher.forget()
    start = time.monotonic()
    version = write()
    return (watcher.first(partial(fits, version)).at - start) * 1e3
