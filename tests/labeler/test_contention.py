"""Who keeps writing a key of ours finds no partner for a fight, and no yielding that lasts."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeler.contention import MANY, PACE, PEACE, VITAL_PACE, WINDOW, Contention
from labeler.desired import Desired, Policy, Recall, desired
from labeler.diff import Cause, Drift, Patch, diff, drift, wrong
from labeler.evidence import Evidence
from labeler.facts import Cpu, Data, Disk, Facts, Gpu, Medium, Memory, Probe, Unknown
from labeler.managers import UNKNOWN
from labeler.seen import Seen, Taint
from labeler.vocabulary import EVIDENCE, FOUND, Effect, TaintKey
from tests.fakes import applied

# A hundred fights on a busy machine.
pytestmark = pytest.mark.timeout(60)

HEARTBEAT: Final = 15.0
NODE = Seen(name="n1", uid="u1", version="1")
GOOD: Facts = {
    Probe.CPU: Cpu("amd-epyc", 96),
    Probe.MEMORY: Memory(1 << 39),
    Probe.DISK: Disk(Medium.SSD, "nvme", ("nvme0n1",)),
    Probe.GPU: Gpu(),
    Probe.DATA: Data({}),
}
POLICY = Policy(
    required=frozenset({Probe.DISK}), effects={TaintKey.UNKNOWN: Effect.PREFER_NO_SCHEDULE}
)
TAINT = TaintKey.MAINTENANCE.value


def decide(facts: Facts = GOOD) -> Desired:
    recall = Recall(Evidence(boot="b", uid="u1"), {"cpu": None})
    return desired(facts, recall, NODE, POLICY, datetime(2026, 12, 1, tzinfo=UTC))


@dataclass
class Bout:
    """Rounds on a Node in memory, whose time is given."""

    want: Desired = field(default_factory=decide)
    seen: Seen = NODE
    now: float = 1000.0
    said: Desired | None = None
    contention: Contention = field(default_factory=lambda: Contention(POLICY.vocabulary.vital))
    repairs: list[tuple[float, str]] = field(default_factory=list)
    drifts: list[Drift] = field(default_factory=list)
    writes: list[tuple[float, Patch]] = field(default_factory=list)

    def round(self) -> None:
        """Do what the loop does."""
        drifts = drift(self.seen, self.said) if self.said else ()
        if self.said:
            self.contention = self.contention.drifted(self.seen, self.said, drifts, self.now)
        want = self.contention.rest(self.want, self.now)
        patch = diff(self.seen, want)
        before, self.seen, self.said = self.seen, applied(self.seen, patch), want
        left = wrong(self.seen, want)
        repaired = wrong(before, want) - left
        self.contention = self.contention.settled(want, left, repaired, self.now)
        self.drifts += drifts
        self.repairs += [(self.now, key) for key in repaired]
        self.writes += [(self.now, patch)] if patch else []

    def sleep(self, seconds: float) -> None:
        """Let time pass; do the rounds that are due by themselves."""
        end = self.now + seconds
        while True:
            rest = min(HEARTBEAT, self.contention.patience(self.now))
            if self.now + rest > end:
                break
            self.now += rest
            self.round()
        self.now = end

    def edit(self, key: str, value: str | None) -> None:
        """Write a label by another hand; a round follows at once."""
        self.seen = applied(self.seen, Patch({key: value}))
        self.round()

    def times(self, key: str) -> list[float]:
        """Return when a key was put right."""
        return [at for at, repaired in self.repairs if repaired == key]

    def is_wrong(self, key: str) -> bool:
        return key in wrong(self.seen, self.want)

    def taints(self) -> list[Taint]:
        return list(self.seen.taints)

    def contested(self) -> list[str]:
        return [contest.key for contest in self.contention.contests()]


def started() -> Bout:
    """Begin with a Node that says what it should."""
    bout = Bout()
    bout.round()
    bout.repairs.clear()
    bout.writes.clear()
    bout.sleep(WINDOW + 1)
    return bout


def fight(bout: Bout, seconds: float, edit: Callable[[int], None]) -> None:
    """Edit ten times a second."""
    for number in range(int(seconds * 10)):
        edit(number)
        bout.sleep(0.1)


def test_two_edits_are_put_right_at_once_and_the_third_waits() -> None:
    bout = started()

    for number in range(MANY):
        bout.edit("cpu", f"forged-{number}")
        assert bout.is_wrong("cpu") == (number == MANY - 1)

    assert bout.contested() == ["cpu"]
    assert [one.cause for one in bout.drifts] == [Cause.CHANGED] * MANY


def test_edits_that_are_rare_contest_nothing() -> None:
    bout = started()

    for _ in range(20):
        bout.edit("cpu", "forged")
        assert not bout.is_wrong("cpu")
        bout.sleep(WINDOW / 2 + 0.1)

    assert bout.contested() == []


@pytest.mark.parametrize(("key", "pace"), [("memory-gib", PACE), ("status", VITAL_PACE)])
def test_a_fight_of_two_minutes_costs_three_writes_a_minute(key: str, pace: float) -> None:
    bout = started()

    fight(bout, 120, lambda number: bout.edit(key, str(number)))

    times = bout.times(key)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap == pytest.approx(pace, abs=0.2) for gap in gaps[1:])
    assert most(times) <= 3
    # One is counted for each repair: what rests is no drift.
    assert len(bout.drifts) == len(times) + 1
    bout.sleep(pace)
    assert not bout.is_wrong(key)
    bout.sleep(PEACE)
    assert bout.contested() == []
    bout.sleep(WINDOW)
    assert bout.contention.tracks == {}, "what nobody touches takes no memory"


def most(times: list[float]) -> int:
    """Return the most repairs in any minute."""
    return max((sum(start <= at <= start + 60 for at in times) for start in times), default=0)


def test_another_key_is_put_right_at_once_and_carries_nothing_along() -> None:
    bout = started()
    fight(bout, 5, lambda number: bout.edit("memory-gib", str(number)))
    bout.writes.clear()

    bout.edit("cpu", "forged")

    assert not bout.is_wrong("cpu")
    assert bout.is_wrong("memory-gib")
    assert [dict(patch.labels) for _, patch in bout.writes] == [{"cpu": "amd-epyc"}]


def test_a_writer_that_puts_our_value_back_now_and_then_is_still_one() -> None:
    bout = started()
    ours = bout.want.labels["memory-gib"]

    fight(bout, 120, lambda number: bout.edit("memory-gib", ("1", ours, None)[number % 3]))

    assert bout.contested() == ["memory-gib"]
    assert most(bout.times("memory-gib")) <= 3


def test_a_contested_key_that_reads_right_and_is_edited_waits_for_its_turn() -> None:
    bout = started()
    fight(bout, 1, lambda number: bout.edit("cpu", str(number)))
    bout.sleep(PACE)
    assert not bout.is_wrong("cpu")
    bout.sleep(30)

    bout.edit("cpu", "again")

    assert bout.is_wrong("cpu")
    bout.sleep(30)
    assert not bout.is_wrong("cpu")


def test_what_we_want_anew_waits_for_its_turn_unless_it_is_vital() -> None:
    bout = started()
    fight(bout, 2, lambda number: bout.edit("cpu", str(number)))
    fight(bout, 2, lambda number: bout.edit("status", str(number)))
    labels = {**bout.want.labels, "cpu": "arm", "status": "unhealthy"}

    bout.want = replace(bout.want, labels=labels)
    bout.round()

    assert bout.seen.labels["status"] == "unhealthy"
    assert bout.seen.labels["cpu"] not in {"arm", "amd-epyc"}
    fight(bout, 25, lambda number: bout.edit("status", str(number)))
    assert bout.is_wrong("status"), "but it is written at once only once"
    bout.sleep(PACE)
    assert bout.seen.labels["cpu"] == "arm"


def test_annotations_of_ours_are_contested_like_labels() -> None:
    bout = started()

    def edit(number: int) -> None:
        bout.seen = applied(bout.seen, Patch({}, {FOUND: str(number), EVIDENCE: "x" * 300}))
        bout.round()

    fight(bout, 90, edit)

    assert bout.contested() == [EVIDENCE, FOUND]
    assert most(bout.times(FOUND)) <= 3
    words = str(bout.contention.contests()[0])
    assert f"annotation {EVIDENCE} is contested: an unknown hand sets it to 'xxx" in words
    assert len(words) < 300
    assert words.endswith("stop that writer")


def forge(bout: Bout, *taints: Taint) -> None:
    bout.seen = applied(bout.seen, Patch(taints=taints))
    bout.round()


def test_a_forged_taint_rests_and_the_others_are_kept() -> None:
    foreign = Taint("example.com/x", "NoExecute", "", "2026-01-01T00:00:00Z")
    bout = started()

    fight(bout, 45, lambda number: forge(bout, Taint(TAINT, "NoSchedule", str(number)), foreign))

    assert bout.contested() == [TAINT]
    assert len(bout.times(TAINT)) == 3
    bout.want = decide({**GOOD, Probe.DISK: Unknown("hung")})
    bout.round()
    ours = Taint("nodetruth/unknown", "PreferNoSchedule", "disk-hung")
    assert bout.taints() == [Taint(TAINT, "NoSchedule", "449"), foreign, ours]
    bout.sleep(VITAL_PACE)
    assert bout.taints() == [foreign, ours]


def test_a_taint_that_is_taken_off_comes_back_within_half_a_minute() -> None:
    bout = started()
    bout.want = decide({**GOOD, Probe.DISK: Unknown("hung")})
    bout.round()

    fight(bout, 40, lambda _number: forge(bout))

    assert bout.contested() == ["nodetruth/unknown"]
    assert "an unknown hand takes it off again and again" in str(bout.contention.contests()[0])
    bout.sleep(VITAL_PACE)
    assert bout.taints() == list(bout.want.taints)


def test_a_new_reason_of_a_contested_taint_is_written_at_once() -> None:
    bout = started()
    bout.want = decide({**GOOD, Probe.DISK: Unknown("hung")})
    bout.round()
    fight(bout, 2, lambda _number: forge(bout))

    bout.want = decide({**GOOD, Probe.DISK: Unknown("gone")})
    bout.round()

    assert [taint.value for taint in bout.seen.taints] == ["disk-gone"]


def test_keys_that_are_made_up_share_one_name() -> None:
    """Else a new key in each edit would be a fight without end, and a memory without bound."""
    contention = Contention()
    for number in range(100):
        key = f"data/x{number}"
        drifts = (Drift(key, Cause.ADDED, "kubectl"),)
        contention = contention.drifted(NODE, decide(), drifts, number / 10)
        contention = contention.settled(decide(), (), (key,) if number < 2 else (), number / 10)

    assert [contest.key for contest in contention.contests()] == ["data/*"]
    assert contention.rest(decide(), 10).resting == {"data/*"}
    assert contention.rest(decide(), 61).resting == frozenset()


def test_the_contest_names_who_was_seen_and_not_who_left_no_name() -> None:
    contention = Contention()
    seen = replace(NODE, labels={"cpu": "7"})
    for hand, shown in (("helm", seen), (UNKNOWN, NODE), (UNKNOWN, NODE)):
        drifts = (Drift("cpu", Cause.CHANGED, hand),)
        contention = contention.drifted(shown, decide(), drifts, 1.0)

    (contest,) = contention.contests()

    assert str(contest) == (
        "label cpu is contested: manager 'helm' sets it to '7' again and again, and it is put"
        " right at most once in 60 s; stop that writer, or set a labelPrefix"
    )


KEYS = st.sampled_from(["memory-gib", "status", "cpu"])
GAPS = st.one_of(st.floats(0.01, 0.5), st.floats(0.5, 70), st.sampled_from([20.0, 30.0, 60.0]))
EDITS = st.lists(st.tuples(GAPS, KEYS, st.sampled_from(["1", "2", None, "ours"])), max_size=60)


@given(EDITS)
def test_no_edits_draw_more_than_three_repairs_of_a_key_a_minute(
    edits: list[tuple[float, str, str | None]],
) -> None:
    bout = started()
    for gap, key, value in edits:
        bout.sleep(gap)
        bout.edit(key, bout.want.labels[key] if value == "ours" else value)
    bout.sleep(200)

    for key in ("memory-gib", "status", "cpu"):
        assert most(bout.times(key)) <= 3


@given(EDITS)
def test_no_key_stays_wrong_for_longer_than_its_pace(
    edits: list[tuple[float, str, str | None]],
) -> None:
    """So after the last edit every key is right within a minute, a vital one in half of it."""
    bout = started()
    since: dict[str, float] = {}

    def look() -> None:
        for key in ("memory-gib", "status", "cpu"):
            if not bout.is_wrong(key):
                since.pop(key, None)
            pace = 30 if key == "status" else 60
            assert bout.now - since.setdefault(key, bout.now) <= pace + 1e-6 or key not in since

    for gap, key, value in edits:
        for _ in range(4):
            bout.sleep(gap / 4)
            look()
        bout.edit(key, bout.want.labels[key] if value == "ours" else value)
        look()
    bout.sleep(30)
    assert not bout.is_wrong("status")
    bout.sleep(30)
    assert not wrong(bout.seen, bout.want)


@given(EDITS)
def test_a_key_that_is_not_contested_is_put_right_at_once(
    edits: list[tuple[float, str, str | None]],
) -> None:
    bout = started()
    for gap, key, value in edits:
        bout.sleep(gap)
        bout.edit(key, value)
        assert wrong(bout.seen, bout.want) <= set(bout.contested())
        assert bout.contention.tracks.keys() <= {"memory-gib", "status", "cpu"}
