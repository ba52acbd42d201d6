"""One table a question; what holds for all is in ``test_laws``."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from labeler.desired import Desired, Policy, Recall, desired
from labeler.evidence import Evidence
from labeler.facts import GIB, Card, Cpu, Data, Disk, Facts, Gpu, Medium, Memory, Probe, Unknown
from labeler.judgement import Judgement, overrule
from labeler.maintenance import Maintenance
from labeler.rules import Operator, Requirement, Rule
from labeler.seen import Condition, Seen, Taint
from labeler.spelling import nominal
from labeler.vocabulary import MAINTENANCE, Effect, Mode, Status, TaintKey, Vocabulary

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BLANK = Recall(Evidence(boot="b", uid="u"))
NODE = Seen(name="n", uid="u", version="1")
HEALTHY: Facts = {
    Probe.CPU: Cpu("intel-xeon", 64),
    Probe.MEMORY: Memory(int(125.6 * GIB)),
    Probe.DISK: Disk(Medium.SSD, "nvme", ("nvme0n1",)),
    Probe.GPU: Gpu(),
    Probe.DATA: Data({}),
}
BLIND: Facts = {**HEALTHY, Probe.DISK: Unknown("no answer within 10 s")}
EFFECTS = {
    TaintKey.MAINTENANCE: Effect.NO_SCHEDULE,
    TaintKey.UNKNOWN: Effect.PREFER_NO_SCHEDULE,
}
STRICT = Policy(required=frozenset({Probe.DISK}), effects=EFFECTS)
REASON = "disk: no answer within 10 s"


def decide(facts: Facts, policy: Policy = STRICT, seen: Seen = NODE) -> Desired:
    return desired(facts, BLANK, seen, policy, NOW)


def test_a_healthy_machine_says_all_it_is() -> None:
    want = decide(HEALTHY)

    assert want.labels == {
        "cpu": "intel-xeon",
        "cpu-cores": "64",
        "memory": "128gb",
        "memory-gib": "125",
        "disktype": "ssd",
        "disk-interface": "nvme",
        "status": "healthy",
    }
    assert want.taints == ()
    assert want.held == frozenset()
    assert want.complete
    assert want.condition == Condition(
        type="HardwareHealthy", status="True", reason="Healthy", message="no fault seen"
    )


def test_a_prefix_stands_before_every_key() -> None:
    want = decide(HEALTHY, Policy(vocabulary=Vocabulary("example.com")))

    assert set(want.labels) == {f"example.com/{label}" for label in decide(HEALTHY).labels}


@pytest.mark.parametrize(
    ("medium", "interface", "disktype"),
    [
        (Medium.SSD, "nvme", "ssd"),
        (Medium.HDD, "sata", "hdd"),
        (Medium.VIRTUAL, "virtio", "unknown"),
        (Medium.NETWORK, "network", None),
        (Medium.RAM, "memory", None),
    ],
)
def test_disktype_is_said_of_disks_alone(
    medium: Medium, interface: str, disktype: str | None
) -> None:
    want = decide({**HEALTHY, Probe.DISK: Disk(medium, interface, ())})

    assert want.labels.get("disktype") == disktype
    assert want.labels["disk-interface"] == interface


def test_only_a_required_probe_makes_the_status_unknown() -> None:
    assert decide(BLIND, Policy()).judgement == Judgement(Status.HEALTHY)
    assert decide(BLIND).judgement == Judgement(Status.UNKNOWN, (REASON,))


def test_blindness_is_told_in_every_way_there_is() -> None:
    want = decide(BLIND)

    assert want.labels["status"] == "unknown"
    assert want.held == {"disktype", "disk-interface"}
    assert want.taints == (
        Taint("nodetruth/unknown", "PreferNoSchedule", "disk-no-answer-within-10-s"),
    )
    assert want.condition == Condition(
        type="HardwareHealthy", status="Unknown", reason="Unknown", message=REASON
    )


def test_maintenance_outranks_blindness() -> None:
    node = Seen(name="n", uid="u", version="1", annotations={MAINTENANCE: "swap disk"})

    want = decide(BLIND, seen=node)

    assert want.labels["status"] == "maintenance"
    assert want.taints == (Taint("nodetruth/maintenance", "NoSchedule", "swap-disk"),)
    # The condition is about the hardware, which nobody can see.
    assert want.condition is not None
    assert want.condition.status == "Unknown"


def test_the_gravest_status_is_said() -> None:
    order = list(Status)
    asked = Maintenance("x")

    assert order == ["maintenance", "unhealthy", "unknown", "degraded", "healthy"]
    for graver, lighter in pairwise(order[1:]):
        assert overrule(Judgement(graver), None).status is graver
        assert overrule(Judgement(lighter), asked).status is Status.MAINTENANCE


def test_a_site_may_put_no_taint_on() -> None:
    quiet = Policy(required=STRICT.required, effects={TaintKey.UNKNOWN: Effect.NONE})
    labels = Policy(required=STRICT.required, effects=EFFECTS, mode=Mode.LABELS)

    assert decide(BLIND, quiet).taints == ()
    assert decide(BLIND, labels).taints == ()


def test_a_condition_may_be_named_after_the_fault() -> None:
    inverted = Policy(condition="HardwareFault", healthy="False")

    condition = decide(HEALTHY, inverted).condition

    assert condition is not None
    assert (condition.type, condition.status) == ("HardwareFault", "False")
    assert decide(HEALTHY, Policy(condition="")).condition is None


def test_a_required_probe_that_has_not_answered_leaves_the_status_open() -> None:
    waiting: Facts = {probe: fact for probe, fact in HEALTHY.items() if probe is not Probe.DISK}

    want = decide(waiting)

    assert not want.complete
    assert "status" not in want.labels
    assert want.untouched == {"status", "disktype", "disk-interface"}
    assert want.condition is None
    assert want.labels["cpu"] == "intel-xeon"


def test_a_derived_label_waits_for_what_it_rests_on() -> None:
    rules = (
        Rule("size", "Large", (Requirement("memory-gib", Operator.GT, ("100",)),)),
        Rule("scratch", "none", (Requirement("disktype", Operator.DOES_NOT_EXIST),)),
        Rule("usable", "yes", (Requirement("status", Operator.IN, ("healthy",)),)),
    )
    names = frozenset({"size", "scratch", "usable"})
    policy = Policy(vocabulary=Vocabulary(derived=names), rules=rules, required=STRICT.required)

    blind, waiting = decide(BLIND, policy), decide({Probe.MEMORY: Memory(200 * GIB)}, policy)

    assert {k: v for k, v in blind.labels.items() if k in names} == {"size": "Large"}
    assert {k: v for k, v in waiting.labels.items() if k in names} == {"size": "Large"}
    assert waiting.untouched >= {"scratch", "usable"}


def test_the_end_of_a_maintenance_is_known_beforehand() -> None:
    end = NOW + timedelta(hours=1)
    note = f'{{"reason": "fw", "until": "{end.isoformat()}"}}'

    assert (
        decide(
            HEALTHY, seen=Seen(name="n", uid="u", version="1", annotations={MAINTENANCE: note})
        ).ends
        == end
    )
    assert decide(HEALTHY).ends is None


@pytest.mark.parametrize(
    ("gib", "sold_as"),
    [
        (0.4, 1), (0.96, 1), (1.9, 2), (3.7, 4), (7.6, 8), (11.7, 12), (15.5, 16), (23.5, 24),
        (30.9, 32), (47.0, 48), (61.8, 64), (94.2, 96), (125.6, 128), (157.0, 160), (187.5, 192),
        (251.5, 256), (376.4, 384), (503.5, 512), (754.6, 768), (1007.3, 1024), (1121.8, 1152),
        (1511.0, 1536), (2015.4, 2048), (4031.0, 4096), (64.0, 64), (128.0, 128),
    ],
)  # fmt: skip
def test_memory_is_named_by_the_size_it_was_sold_as(gib: float, sold_as: int) -> None:
    assert nominal(int(gib * GIB)) == sold_as


def test_a_key_that_the_words_lost_is_given_back_and_forgotten() -> None:
    recall = Recall(BLANK.evidence, {"cpu": None, "size": "by-hand", "grade": None})

    want = desired(HEALTHY, recall, NODE, STRICT, NOW)

    assert want.labels["size"] == "by-hand"
    assert "grade" not in want.labels
    assert want.owned >= {"size", "grade", "cpu"}
    assert want.found == {"cpu": None}


def test_a_card_that_could_not_be_read_before_locks_out_no_driver_that_is_being_installed() -> None:
    policy = Policy(required=frozenset({Probe.GPU}), effects={TaintKey.UNKNOWN: Effect.NO_SCHEDULE})
    cards = {"0000:1b:00.0": Card(product="x"), "0000:5d:00.0": Card(blind="NVML: NoPermission")}
    before = Recall(Evidence(boot="b", uid="u", facts={Probe.GPU: Gpu(cards)}))
    facts = {**HEALTHY, Probe.GPU: Unknown("no driver", 1200)}

    now = desired(facts, before, NODE, policy, NOW)
    late = desired(facts, Recall(now.evidence), NODE, policy, NOW + timedelta(minutes=21))

    assert [taint.effect for taint in now.taints] == ["PreferNoSchedule"]
    assert (late.status, late.taints) == (Status.DEGRADED, ())
