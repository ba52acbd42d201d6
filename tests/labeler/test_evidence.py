import json
from collections.abc import Mapping

import pytest

from labeler.evidence import LIMIT, Evidence, believe, encode, found, gather
from labeler.facts import Cpu, Disk, Known, Medium, Memory, Probe, Unknown
from labeler.seen import Seen
from labeler.vocabulary import EVIDENCE, FOUND, Vocabulary

NOW = Evidence(boot="b1", uid="u1", agent="2")
FACTS: Mapping[Probe, Known] = {
    Probe.CPU: Cpu("intel-xeon", 64),
    Probe.MEMORY: Memory(1 << 37),
    Probe.DISK: Disk(Medium.HDD, "sata", ("sda", "sdb")),
}
KEPT = Evidence(boot="b1", uid="u1", agent="1", facts=FACTS, unknown={Probe.DISK: "hung"})


def node(**annotations: str) -> Seen:
    names = {"evidence": EVIDENCE, "found": FOUND}
    return Seen(
        name="n",
        uid="u1",
        version="1",
        labels={"disktype": "ssd", "foreign": "x"},
        annotations={names[name]: text for name, text in annotations.items()},
    )


def test_evidence_survives_the_node() -> None:
    believed = believe(node(evidence=encode(KEPT)), NOW)

    assert believed.facts == FACTS
    assert believed.unknown == {Probe.DISK: "hung"}
    assert believed.agent == "1"


def test_two_versions_that_see_the_same_do_not_rewrite_each_other() -> None:
    same = gather({**FACTS, Probe.DISK: Unknown("hung")}, KEPT, "2")
    other = gather({**FACTS, Probe.CPU: Cpu("intel-xeon", 32)}, KEPT, "2")

    assert same == KEPT
    assert other.agent == "2"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"boot": "b1"}',
        '{"boot": "b1", "uid": "u1", "facts": {"cpu": {"family": 3, "cores": "x"}}}',
        '{"boot": "b1", "uid": "u1", "facts": {"disk": {"medium": "cheese"}}}',
        '{"boot": 1, "uid": "u1"}',
        '{"boot": "b1", "uid": "u1", "unknown": {"cpu": 7}}',
        "\ud800",
        "[" * 100_000,
    ],
)
def test_what_cannot_be_read_proves_nothing(text: str) -> None:
    assert believe(node(evidence=text), NOW) == NOW


@pytest.mark.parametrize("now", [Evidence(boot="b2", uid="u1"), Evidence(boot="b1", uid="u2")])
def test_another_boot_or_another_node_proves_nothing(now: Evidence) -> None:
    assert believe(node(evidence=encode(KEPT)), now) == now


def test_a_boot_that_cannot_be_told_proves_nothing() -> None:
    nameless = Evidence(boot="", uid="u1")
    kept = encode(Evidence(boot="", uid="u1", facts=FACTS))

    assert believe(node(evidence=kept), nameless) == nameless


def test_too_long_an_annotation_is_not_read() -> None:
    padded = encode(KEPT) + " " * LIMIT

    assert believe(node(evidence=padded), NOW) == NOW


def test_a_probe_that_fails_keeps_what_it_saw_and_says_why() -> None:
    after = gather({Probe.CPU: Unknown("hung")}, Evidence(boot="b", uid="u", facts=FACTS), "2")

    assert after.facts == FACTS
    assert after.unknown == {Probe.CPU: "hung"}


def test_a_probe_that_sees_again_is_no_longer_unknown() -> None:
    before = Evidence(boot="b", uid="u", unknown={Probe.CPU: "hung"})

    assert gather(FACTS, before, "2").unknown == {}
    assert gather({}, before, "2").unknown == {Probe.CPU: "hung"}


def test_the_annotation_stays_inside_its_limit() -> None:
    worst = gather(
        {probe: Unknown('"\N{GREEK SMALL LETTER PI}' * 5000) for probe in Probe},
        Evidence(boot="b" * 36, uid="u" * 36, facts=FACTS),
        "2",
    )

    assert len(encode(worst).encode()) <= LIMIT


def test_the_same_evidence_is_the_same_text() -> None:
    other = Evidence(
        boot="b1",
        uid="u1",
        agent="1",
        facts=dict(reversed(list(FACTS.items()))),
        unknown=KEPT.unknown,
    )

    assert encode(other) == encode(KEPT)
    assert json.loads(encode(KEPT))["facts"]["disk"]["devices"] == ["sda", "sdb"]


def test_what_others_had_set_is_found_once() -> None:
    words = Vocabulary()

    assert found(node(), words) == {"disktype": "ssd"}
    assert found(node(evidence="{}"), words) == {}
    assert found(node(found='{"cpu": "arm", "foreign": "y"}'), words) == {"cpu": "arm"}
    assert found(node(found="garbage"), words) == {}
