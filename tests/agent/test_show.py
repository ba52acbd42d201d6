"""What a Node says, for people and for programs."""

import json
from datetime import UTC, datetime
from io import StringIO

import pytest
import yaml

from agent.show import FORMATS, Said, of_round
from labeler.desired import Desired, Policy, Recall, desired
from labeler.diff import diff
from labeler.evidence import Evidence
from labeler.facts import GIB, Cpu, Data, Disk, Facts, Gpu, Medium, Memory, Probe, Unknown
from labeler.reconcile import Round
from labeler.rules import Operator, Requirement, Rule
from labeler.seen import Seen
from labeler.vocabulary import Effect, TaintKey, Vocabulary

CPU = Cpu("amd-epyc", 64)
MEMORY = Memory(125 * GIB)
DISK = Disk(Medium.HDD, "sas", ("sda", "sdb"))
NOTHING: Facts = {Probe.GPU: Gpu(), Probe.DATA: Data({})}
BLIND: Facts = {
    **NOTHING,
    Probe.CPU: CPU,
    Probe.MEMORY: MEMORY,
    Probe.DISK: Unknown("/data: no such device"),
}
SEEING: Facts = {**BLIND, Probe.DISK: DISK}
GOLD = Rule("gold", "true", (Requirement("cpu", Operator.EXISTS),))
POLICY = Policy(
    vocabulary=Vocabulary(derived=frozenset({"gold"})),
    rules=(GOLD,),
    required=frozenset({Probe.DISK}),
    effects={TaintKey.UNKNOWN: Effect.PREFER_NO_SCHEDULE},
)
NODE = Seen(name="n1", uid="", version="1")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def decided(facts: Facts, before: Facts | None = None) -> Desired:
    known = {probe: fact for probe, fact in (before or {}).items() if not isinstance(fact, Unknown)}
    recall = Recall(Evidence(boot="", uid="", facts=known))
    return desired(facts, recall, NODE, POLICY, datetime.now(UTC))


def said(facts: Facts, now: dict[str, str] | None = None, *, unwritten: bool = False) -> Said:
    return Said("Node n1 says (in a file)", decided(facts), facts, POLICY, now, unwritten)


def shown(what: Said, form: str, out: StringIO | None = None) -> str:
    out = out or StringIO()
    FORMATS[form](what, out)
    return out.getvalue()


def rows(text: str) -> dict[str, list[str]]:
    """Return the words of each row after its first."""
    return {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_json_holds_the_whole_its_labels_in_order() -> None:
    tree = json.loads(shown(said(SEEING), "json"))

    assert list(tree["labels"]) == sorted(tree["labels"])
    assert tree == {
        "labels": {
            "cpu": "amd-epyc",
            "cpu-cores": "64",
            "disk-interface": "sas",
            "disktype": "hdd",
            "gold": "true",
            "memory": "128gb",
            "memory-gib": "125",
            "status": "healthy",
        },
        "taints": [],
        "held": [],
        "facts": {
            "cpu": {"family": "amd-epyc", "cores": 64},
            "memory": {"total": 125 * GIB},
            "disk": {"medium": "hdd", "interface": "sas", "devices": ["sda", "sdb"]},
            "gpu": {"cards": {}, "driver": "", "away": []},
            "data": {"percents": {}},
        },
        "unknown": {},
        "notes": [],
    }


def test_json_says_what_is_held_and_why() -> None:
    tree = json.loads(shown(said(BLIND), "json"))
    assert tree["held"] == ["disk-interface", "disktype"]
    assert tree["unknown"] == {"disk": "/data: no such device"}
    assert "disk" not in tree["facts"]
    assert [taint["key"] for taint in tree["taints"]] == ["nodetruth/unknown"]


@pytest.mark.parametrize("facts", [SEEING, BLIND, {}])
def test_yaml_says_what_json_says(facts: Facts) -> None:
    text = shown(said(facts), "yaml")

    assert yaml.safe_load(text) == json.loads(shown(said(facts), "json"))


def test_a_table_tells_where_each_label_comes_from() -> None:
    table = rows(shown(said(SEEING), "table"))

    # Without a note there is no column for one.
    assert table["LABEL"] == ["VALUE", "FROM"]
    assert table["cpu-cores"] == ["64", "cpu"]
    assert table["disktype"] == ["hdd", "disk"]
    assert table["gold"] == ["true", "rule"]
    assert table["status"] == ["healthy", "all", "of", "it"]


def test_a_table_shows_what_can_not_be_said_and_what_follows() -> None:
    text = shown(said(BLIND), "table")

    assert rows(text)["LABEL"] == ["VALUE", "FROM", "NOTE"]
    assert " ".join(rows(text)["disktype"]) == "- disk not said: its probe can't look now"
    assert "taint nodetruth/unknown=disk-data-no-such-device:PreferNoSchedule\n" in text
    assert "status: disk: /data: no such device\n" in text
    assert "probe disk: unknown, /data: no such device\n" in text


def test_a_table_shows_at_what_value_a_label_is_held() -> None:
    what = Said("n1", decided(BLIND, before=SEEING), BLIND, POLICY)

    words = rows(shown(what, "table"))["disktype"]

    assert " ".join(words) == "hdd disk held: its probe can't look now"


def test_a_table_shows_what_would_be_written_over_what() -> None:
    now = {"cpu": "amd-epyc", "memory": "64gb"}

    table = rows(shown(said(SEEING, now, unwritten=True), "table"))

    assert table["cpu"] == ["amd-epyc", "cpu"]
    assert table["memory"] == ["128gb", "memory", "would", "be", "written,", "now", "'64gb'"]
    assert table["disktype"] == ["hdd", "disk", "would", "be", "written"]


def test_a_table_shows_what_would_be_removed() -> None:
    """A forged key of ours goes; a foreign one is none of our business."""
    facts = {**SEEING, Probe.DISK: Disk(Medium.NETWORK, "network", ())}
    what = said(facts, {"zone": "a", "disktype": "ssd"}, unwritten=True)

    table = rows(shown(what, "table"))

    assert "zone" not in table
    assert " ".join(table["disktype"]) == "- disk would be removed, now 'ssd'"
    assert "disktype" not in rows(shown(said(facts, {"disktype": "ssd"}), "table"))


def test_text_of_other_hands_is_shown_as_it_stands() -> None:
    """Square brackets are markup to the library that draws the table; one can be a fault."""
    what = said(SEEING, {"cpu": "[/bold]"}, unwritten=True)

    assert "now '[/bold]'" in shown(what, "table")


def test_a_path_is_shown_as_it_is() -> None:
    what = Said("Node n1 says (/srv/[b]/:warning:/n.yaml)", decided(SEEING), SEEING, POLICY)

    assert "(/srv/[b]/:warning:/n.yaml)" in shown(what, "table")


def test_a_long_row_stays_on_one_line_where_no_terminal_is() -> None:
    what = said(SEEING, {"disktype": "y" * 63}, unwritten=True)

    assert rows(shown(what, "table"))["disktype"][-1] == f"'{'y' * 63}'"


def test_a_long_reason_stays_on_one_line_where_no_terminal_is() -> None:
    facts = {**SEEING, Probe.DISK: Unknown("word " * 60)}

    assert f"probe disk: unknown, {'word ' * 60}\n" in shown(said(facts), "table")


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_no_escape_code_goes_where_no_terminal_is(form: str) -> None:
    assert "\x1b" not in shown(said(BLIND), form)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_no_escape_code_goes_where_no_color_is_wanted(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert "\x1b" not in shown(said(BLIND), form, Terminal())


def test_a_terminal_gets_a_title_in_bold() -> None:
    assert "\x1b[1m" in shown(said(BLIND), "table", Terminal())


@pytest.mark.parametrize(("written", "word"), [(True, "says"), (False, "would say")])
def test_a_title_says_whether_the_node_says_it(written: bool, word: str) -> None:
    want = decided(SEEING)
    patch = diff(NODE, want)
    one = Round(seen=NODE, want=want, patch=patch, after=NODE, written=patch if written else None)

    found = of_round(one, SEEING, POLICY, "in a file")

    assert found.title == f"Node n1 {word} (in a file)"
    assert found.unwritten is not written
