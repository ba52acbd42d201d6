import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from labeler.evidence import LIMIT, Evidence, believe, encode, encode_found, found, gather
from labeler.facts import Card, Cpu, Data, Disk, Gpu, Known, Medium, Memory, Probe, Unknown
from labeler.seen import Seen
from labeler.vocabulary import EVIDENCE, FOUND, Vocabulary

CLOCK = datetime(2026, 12, 1, tzinfo=UTC)
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
    same = gather({**FACTS, Probe.DISK: Unknown("hung")}, KEPT, "2", CLOCK)
    other = gather({**FACTS, Probe.CPU: Cpu("intel-xeon", 32)}, KEPT, "2", CLOCK)

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
        '{"boot": "b1", "uid": "u1", "facts": ' + '{"x":' * 1500 + "1" + "}" * 1501,
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
    after = gather(
        {Probe.CPU: Unknown("hung")}, Evidence(boot="b", uid="u", facts=FACTS), "2", CLOCK
    )

    assert after.facts == FACTS
    assert after.unknown == {Probe.CPU: "hung"}


def test_a_probe_that_sees_again_is_no_longer_unknown() -> None:
    before = Evidence(boot="b", uid="u", unknown={Probe.CPU: "hung"})

    assert gather(FACTS, before, "2", CLOCK).unknown == {}
    assert gather({}, before, "2", CLOCK).unknown == {Probe.CPU: "hung"}


def test_the_annotation_stays_inside_its_limit() -> None:
    """With 16 GPUs and 32 datasets, of long names, and every probe blind: half at most."""
    card = Card(
        product="NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
        uuid="GPU-11111111-2222-3333-4444-555555555555",
        memory=1 << 60,
        clique="11111111-2222-3333-4444-555555555555.32766",
        fault="gone from the PCI bus",
        blind="NVMLError_LibRmVersionMismatch",
    )
    large: Mapping[Probe, Known] = {
        Probe.GPU: Gpu({f"0000:{bus:02x}:00.0": card for bus in range(16)}, "580.126.09"),
        Probe.DATA: Data({f"{number:063}": 95 for number in range(32)}),
        Probe.DISK: Disk(Medium.HDD, "sata", tuple(f"nvme{number}n1" for number in range(32))),
    }
    worst = gather(
        {probe: Unknown("no answer within 86400 s", 1200) for probe in Probe},
        Evidence(boot="b" * 36, uid="u" * 36, facts={**FACTS, **large}),
        "2",
        CLOCK,
    )
    absurd = gather(
        {probe: Unknown('"\N{GREEK SMALL LETTER PI}' * 5000) for probe in Probe}, worst, "2", CLOCK
    )

    assert len(encode(worst).encode()) <= LIMIT / 2
    assert len(encode(absurd).encode()) <= LIMIT


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


WORDS = Vocabulary(derived=frozenset({"size"}))
NOTHING = dict.fromkeys(WORDS.labels)


def test_what_others_had_set_is_found_at_first_contact() -> None:
    assert found(node(), WORDS) == {**NOTHING, "disktype": "ssd"}


def test_what_was_found_is_believed_ever_after() -> None:
    noted = encode_found({**NOTHING, "cpu": "arm"})

    assert found(node(evidence=encode(KEPT), found=noted), WORDS) == {**NOTHING, "cpu": "arm"}


def test_a_key_that_the_words_gained_is_read_off_the_node() -> None:
    noted = encode_found({key: None for key in NOTHING if key != "disktype"})

    assert found(node(found=noted), WORDS)["disktype"] == "ssd"


def test_a_key_that_the_words_lost_stays_listed() -> None:
    noted = encode_found({**NOTHING, "grade": "A", "example.com/cpu": None})

    assert found(node(found=noted), WORDS) == {**NOTHING, "grade": "A", "example.com/cpu": None}


@pytest.mark.parametrize("key", ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
def test_kubernetes_own_keys_are_never_ours(key: str) -> None:
    """The annotation is input: it must not make us take foreign labels off."""
    assert key not in found(node(found=encode_found({key: None})), WORDS)


@pytest.mark.parametrize("note", [{"evidence": "{}"}, {"found": "garbage"}, {"found": "[" * 9000}])
def test_without_the_note_all_that_stands_there_is_our_own(note: dict[str, str]) -> None:
    assert found(node(**note), WORDS) == NOTHING


@pytest.mark.parametrize("fact", ['"memory": {"total": 0}', '"cpu": {"family": "x", "cores": -3}'])
def test_what_no_machine_has_proves_nothing(fact: str) -> None:
    text = f'{{"boot": "b1", "uid": "u1", "facts": {{{fact}}}}}'

    assert believe(node(evidence=text), NOW) == NOW


@pytest.mark.parametrize("due", [-1, 253402300800, 10**12, 10**17, 10**30])
def test_a_time_that_no_calendar_has_proves_nothing(due: int) -> None:
    text = f'{{"boot": "b1", "uid": "u1", "unknown": {{"gpu": "x"}}, "due": {{"gpu": {due}}}}}'

    assert believe(node(evidence=text), NOW) == NOW


@pytest.mark.parametrize("ahead", [timedelta(minutes=21), timedelta(days=3650)])
def test_patience_is_no_longer_than_it_was_though_the_clock_was_set_back(ahead: timedelta) -> None:
    facts = {Probe.GPU: Unknown("no driver", 1200)}
    before = gather(facts, NOW, "2", CLOCK + ahead)

    after = gather(facts, before, "2", CLOCK)

    assert after.due == {Probe.GPU: int(CLOCK.timestamp()) + 1200}
    assert gather(facts, after, "2", CLOCK + timedelta(minutes=5)) == after


def test_what_no_node_can_have_borne_was_not_found_there() -> None:
    noted = {"a b": "x", "cpu": "!", "example.com/x/y": None, "gone": "-x", "size": "7"}

    kept = found(node(found=encode_found(noted)), Vocabulary())

    assert {key: kept.get(key, "absent") for key in noted} == {
        "a b": "absent",
        "cpu": None,
        "example.com/x/y": "absent",
        "gone": None,
        "size": "7",
    }
