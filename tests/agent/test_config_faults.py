"""Every fault of a configuration, in the words that an operator reads."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent.config import ConfigError, load

SETTINGS = (
    "condition, cpu, data, derived, disk, gpu, labelPrefix, listen, maintenance, memory, mode,"
    " required, roots, taints"
)
LABELS = (
    "accelerator, accelerator-product, cpu, cpu-cores, data, disk-interface, disktype, gpu,"
    " gpu-clique, gpu-count, gpu-memory-gib, gpu-sharing, gpu-total, memory, memory-gib, status"
)
NO_HOST_AND_PORT = "is no host:port such as 0.0.0.0:9808"
NO_SUBDOMAIN = "is no DNS subdomain such as example.com"
SETTING_FAULTS = [
    ("mod: observe", "mod: no such setting; did you mean mode?"),
    ("xyz: 1", f"xyz: no such setting; there are {SETTINGS}"),
    ("1: 2", f"1: no such setting; there are {SETTINGS}"),
    ("null: 2", f"None: no such setting; there are {SETTINGS}"),
    ("disk: {path: [/data]}", "disk.path: no such setting; did you mean paths?"),
    ("cpu: fast", "cpu: expected a mapping, got 'fast'"),
    ("cpu: [period]", "cpu: expected a mapping, got ['period']"),
    ("cpu: null", "cpu: expected a mapping, got None"),
    ("cpu: {period: 0}", "cpu.period: Expected `float` >= 0.1 (it is 0)"),
    ("cpu: {period: .nan}", "cpu.period: Expected `float` >= 0.1 (it is nan)"),
    ("disk: {deadline: 86401}", "disk.deadline: Expected `float` <= 86400.0 (it is 86401)"),
    ("memory: {period: soon}", "memory.period: Expected `float`, got `str` (it is 'soon')"),
    ("roots: {proc: proc}", "roots.proc: Expected `str` matching regex '^/' (it is 'proc')"),
    ("disk: {paths: /data}", "disk.paths: Expected `array`, got `str` (it is '/data')"),
    (
        "maintenance: {cordon: 'yes'}",
        "maintenance.cordon: Expected `bool`, got `str` (it is 'yes')",
    ),
    ("listen: 9808", "listen: Expected `str`, got `int` (it is 9808); put it in quotes"),
    ("derived: {label: a}", "derived: Expected `array`, got `object` (it is {'label': 'a'})"),
    ("derived: [gold]", "derived[0]: expected a mapping, got 'gold'"),
    ("derived: [{label: gold}]", "derived[0]: value is missing"),
    ("disk: {overrides: [{path: /data}]}", "disk.overrides[0]: disktype is missing"),
]
CONTRADICTIONS = [
    *[
        (f"listen: {value!r}", f"listen: {value!r} {NO_HOST_AND_PORT}")
        for value in ("9808", ":9808", "host:", "host:http", "host:65536", "host:-1", "host:²")
    ],
    *[
        (f"labelPrefix: {value!r}", f"labelPrefix: {value!r} {NO_SUBDOMAIN}")
        for value in ("Example.com", "example.com/", "-a.com", "a..com", "a_b.com", "ä.com", "/")
    ],
    *[
        (f"disk: {{overrides: [{{disktype: ssd{who}}}]}}", text)
        for text in ["disk.overrides[0]: name either a path or a device"]
        for who in ("", ", path: /data, device: vda")
    ],
]
RULE_FAULTS = [
    ("{label: a/b}", ".label: 'a/b' is no legal label key without a prefix"),
    ("{label: ''}", ".label: '' is no legal label key without a prefix"),
    ("{label: status}", ".label: 'status' is nodetruth's own; choose another"),
    ("{value: a b}", ".value: 'a b' is no legal label value"),
    ("{value: '" + "x" * 64 + "'}", f".value: '{'x' * 64}' is no legal label value"),
    ("{matchExpressions: []}", ": matchExpressions is empty; it would say nothing"),
]
EXPRESSION_FAULTS = [
    ("{key: cpus, operator: Exists}", ".key: 'cpus' is no label here; did you mean cpu?"),
    ("{key: zone, operator: Exists}", f".key: 'zone' is no label here; there are {LABELS}"),
    ("{key: cpu, operator: In}", ": In needs at least one value"),
    ("{key: cpu, operator: NotIn}", ": NotIn needs at least one value"),
    ("{key: cpu, operator: Exists, values: [a]}", ": Exists takes no values"),
    ("{key: cpu, operator: DoesNotExist, values: [a]}", ": DoesNotExist takes no values"),
    ("{key: cpu-cores, operator: Gt, values: [many]}", ": Gt needs one whole number"),
    ("{key: cpu-cores, operator: Lt, values: ['1', '2']}", ": Lt needs one whole number"),
    ("{key: data/, operator: Exists}", ".key: 'data/' is no label here; did you mean data?"),
    ("{key: data/a b, operator: Exists}", ".key: 'data/a b' is no label here; did you mean data?"),
    ("{operator: Exists}", ": key is missing"),
    ("{key: cpu}", ": operator is missing"),
]
RULE = {"label": "gold", "value": "yes-sir", "matchExpressions": "[{key: cpu, operator: Exists}]"}

Faults = Callable[..., list[str]]


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    """Return what tells the faults of a text, after checking that they head the message."""

    def of(text: str | bytes, environ: Mapping[str, str] | None = None) -> list[str]:
        path = tmp_path / "config.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ConfigError) as caught:
            load(path, environ or {})
        lines = [f"configuration {path}:", *(f"  {fault}" for fault in caught.value.faults)]
        assert str(caught.value) == "\n".join(lines)
        return caught.value.faults

    return of


@pytest.mark.parametrize(("text", "fault"), SETTING_FAULTS + CONTRADICTIONS)
def test_a_fault_is_named_with_its_path_and_its_value(
    faults: Faults, text: str, fault: str
) -> None:
    assert faults(text) == [fault]


@pytest.mark.parametrize(("part", "fault"), RULE_FAULTS)
def test_a_rule_that_can_not_be_is_named(faults: Faults, part: str, fault: str) -> None:
    name, value = part.strip("{}").split(": ", 1)
    rule = ", ".join(f"{key}: {text}" for key, text in {**RULE, name: value}.items())

    assert faults(f"derived: [{{{rule}}}]") == [f"derived[0]{fault}"]


@pytest.mark.parametrize(("expression", "fault"), EXPRESSION_FAULTS)
def test_an_expression_that_kubernetes_would_refuse_is_named(
    faults: Faults, expression: str, fault: str
) -> None:
    text = f"derived: [{{label: gold, value: x, matchExpressions: [{expression}]}}]"

    assert faults(text) == [f"derived[0].matchExpressions[0]{fault}"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("gpu: {aliases: {nvidia-a100: 'A 100'}}", "'A 100' is no legal label value"),
        ("gpu: {aliases: {nvidia-a100: ''}}", "'' is no legal label value"),
        ("gpu: {aliases: {nvidia-a100: -a100}}", "'-a100' is no legal label value"),
        (f"gpu: {{aliases: {{nvidia-a100: {'x' * 52}}}}}", f"'{'x' * 52}' is no legal label value"),
    ],
)
def test_an_alias_that_no_label_can_hold_is_named(faults: Faults, text: str, fault: str) -> None:
    assert faults(text) == [f"gpu.aliases['nvidia-a100']: {fault}"]


@pytest.mark.parametrize("label", ["gpu", "data", "accelerator.nvidia-h100"])
def test_a_derived_label_does_not_take_a_key_of_ours(faults: Faults, label: str) -> None:
    rule = "value: x, matchExpressions: [{key: cpu, operator: Exists}]"
    text = f"derived: [{{label: {label}, {rule}}}]"

    assert faults(text) == [f"derived[0].label: {label!r} is nodetruth's own; choose another"]


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("mode: loud", "mode", ["observe", "labels", "enforce"]),
        ("required: [tpu]", "required", ["cpu", "memory", "disk", "gpu", "data"]),
        ("taints: {unknown: Evict}", "taints.unknown", ["NoSchedule", "NoExecute", "None"]),
        ("condition: {healthy: 'yes'}", "condition.healthy", ["True", "False"]),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_ones(
    faults: Faults, text: str, where: str, words: list[str]
) -> None:
    (fault,) = faults(text)

    assert fault.startswith(f"{where}: ")
    assert all(word in fault for word in words), fault


def test_a_rule_builds_on_those_above_it_alone(faults: Faults) -> None:
    above = "{label: gold, value: x, matchExpressions: [{key: silver, operator: Exists}]}"
    below = "{label: silver, value: x, matchExpressions: [{key: cpu, operator: Exists}]}"

    assert faults(f"mod: 1\nderived: [{below}, {above}]") == [
        "mod: no such setting; did you mean mode?"
    ]
    (fault,) = faults(f"derived: [{above}, {below}]")

    assert fault.startswith("derived[0].matchExpressions[0].key: 'silver' is no label here")


def test_all_faults_are_told_at_once(faults: Faults) -> None:
    """Those of a value alone and those of values that do not go together."""
    found = faults(
        "mod: 1\ncpu: {period: 0, dead: 1}\nlabelPrefix: /\nderived: [{label: cpu}]\n"
        "disk: {overrides: [{disktype: ssd}]}\n",
        {"NODETRUTH_MEMORY_PERIOD": "-1", "NODETRUTH_CPUS": "1"},
    )

    lone = {"NODETRUTH_CPUS", "mod", "cpu.period", "cpu.dead", "memory.period", "derived[0]"}
    assert {fault.split(": ")[0] for fault in found} == {*lone, "labelPrefix", "disk.overrides[0]"}
