"""How many rounds a second does the pure core decide, on a machine of which all is known?"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from agent.settings import Settings
from bench.row import Row, median
from bench.stage import Stage
from labeler.desired import Desired, Recall, desired
from labeler.diff import diff, drift
from labeler.evidence import Evidence, found
from labeler.facts import GIB, Card, Cpu, Data, Disk, Facts, Gpu, Medium, Memory, Probe, Sharing
from labeler.seen import Seen

REPEATS: Final = 5
SECONDS: Final = 10
H100: Final = Card(
    product="NVIDIA H100 80GB HBM3",
    uuid="GPU-11111111-2222-3333-4444-555555555555",
    memory=80 * GIB,
    sharing=Sharing.NONE,
)
FACTS: Final[Facts] = {
    Probe.CPU: Cpu("intel-xeon", 64),
    Probe.MEMORY: Memory(125 * GIB),
    Probe.DISK: Disk(Medium.SSD, "nvme", ("nvme0n1",)),
    Probe.GPU: Gpu({f"0000:{bus:02x}:00.0": H100 for bus in range(8)}, "580.95.05"),
    Probe.DATA: Data({"imagenet": 100, "laion": 45, "wikipedia": 0}),
}
POLICY: Final = Settings().policy()
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def settled() -> tuple[Seen, Recall]:
    """Return a Node that says all it should, and what its agent remembers."""
    seen = Seen(name="n1", uid="u1", version="1", labels={"kubernetes.io/hostname": "n1"})
    recall = Recall(Evidence(boot="b1", uid="u1"), found(seen, POLICY.vocabulary), "bench")
    want = desired(FACTS, recall, seen, POLICY, NOW)
    patch = diff(seen, want)
    labels = {key: value for key, value in patch.labels.items() if value is not None}
    notes = {key: value for key, value in patch.annotations.items() if value is not None}
    after = replace(seen, labels={**seen.labels, **labels}, annotations=notes)
    return after, replace(recall, evidence=want.evidence)


def measure(stage: Stage) -> list[Row]:
    """Decide again and again."""
    seen, recall = settled()

    def decide() -> Desired:
        want = desired(FACTS, recall, seen, POLICY, NOW)
        assert not diff(seen, want)
        return want

    said = decide()
    seconds = 0.1 if stage.quick else 1.0
    how = f"median of {REPEATS} x {seconds:g} s on one core; 8 GPUs, 3 datasets, a settled Node"
    return [
        _row("rounds of desired and diff", _rate(decide, seconds), how),
        _row("comparisons for drift", _rate(lambda: drift(seen, said), seconds), how),
    ]


def _row(figure: str, rate: float, how: str) -> Row:
    return Row(figure=figure, value=rate, unit="a second", how=how)


def _rate(act: Callable[[], object], seconds: float) -> float:
    return median(_once(act, seconds) for _ in range(REPEATS))


def _once(act: Callable[[], object], seconds: float) -> float:
    start = time.monotonic()
    done = 0
    while time.monotonic() - start < seconds:
        for _ in range(100):
            act()
        done += 100
    return done / (time.monotonic() - start)
