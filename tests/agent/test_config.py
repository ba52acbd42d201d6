"""What the settings say, where they come from, and that nothing else can happen."""

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent import settings
from agent.config import ConfigError, load
from agent.settings import DiskLook, Settings
from labeler.facts import Probe
from labeler.rules import Operator, Requirement, Rule
from labeler.vocabulary import Effect, Mode, TaintKey

SERVICE_LINKS = {
    "NODETRUTH_SERVICE_HOST": "10.96.7.7",
    "NODETRUTH_SERVICE_PORT": "9808",
    "NODETRUTH_SERVICE_PORT_METRICS": "9808",
    "NODETRUTH_PORT": "tcp://10.96.7.7:9808",
    "NODETRUTH_PORT_9808_TCP": "tcp://10.96.7.7:9808",
    "NODETRUTH_PORT_9808_TCP_PROTO": "tcp",
    "NODETRUTH_PORT_9808_TCP_PORT": "9808",
    "NODETRUTH_PORT_9808_TCP_ADDR": "10.96.7.7",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config") / "config.yaml"


@pytest.mark.parametrize("value", ["[" * 500, "2026-13-45", "0b_", "[", "\ud800", "a: b: c"])
def test_a_variable_that_is_no_yaml_is_named(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {"NODETRUTH_DISK_PATHS": value})

    assert caught.value.faults[0].startswith("NODETRUTH_DISK_PATHS: is no YAML: ")


def test_a_variable_outranks_the_file(file: Path) -> None:
    file.write_text("mode: observe\ndisk: {period: 5, paths: [/a]}\n")

    found = load(file, {"NODETRUTH_DISK_PATHS": "[/b, /c]", "NODETRUTH_CPU_DEADLINE": "0.5"})

    assert found.mode is Mode.OBSERVE
    assert found.disk == DiskLook(period=5, paths=("/b", "/c"))
    assert found.cpu.deadline == 0.5


def test_a_variable_needs_no_file() -> None:
    overrides = "[{device: vda, disktype: ssd}]"

    found = load(None, {"NODETRUTH_LABEL_PREFIX": "x.io", "NODETRUTH_DISK_OVERRIDES": overrides})

    assert found.label_prefix == "x.io"
    assert [(one.device, one.disktype) for one in found.disk.overrides] == [("vda", "ssd")]


def test_other_variables_are_no_settings() -> None:
    assert load(None, {"NODE_NAME": "n1", "MODE": "observe", "nodetruth_mode": "x"}) == Settings()


def test_the_links_of_a_service_called_nodetruth_are_no_settings() -> None:
    """The kubelet puts them into every Pod beside such a Service, unasked."""
    assert load(None, SERVICE_LINKS) == Settings()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NODETRUTH_DISK_PATH", "did you mean NODETRUTH_DISK_PATHS?"),
        ("NODETRUTH_LABELPREFIX", "did you mean NODETRUTH_LABEL_PREFIX?"),
    ],
)
def test_a_variable_with_a_typing_error_is_told_the_nearest(name: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {name: "1"})

    assert caught.value.faults == [f"{name}: no such setting; {text}"]
    assert str(caught.value).startswith("configuration from the environment:\n  NODETRUTH_")


@pytest.mark.parametrize(
    ("given", "required"),
    [
        ({}, {Probe.GPU}),
        ({"disk": {"paths": ["/data"]}}, {Probe.DISK, Probe.GPU}),
        ({"data": {"roots": ["/data"]}}, {Probe.DATA, Probe.GPU}),
        ({"disk": {"paths": ["/data"]}, "required": []}, frozenset()),
        ({"required": ["cpu", "memory"]}, {Probe.CPU, Probe.MEMORY}),
    ],
)
def test_blindness_is_a_fault_for_what_is_there_or_as_the_site_says(
    given: dict[str, Any], required: frozenset[Probe]
) -> None:
    assert msgspec.convert(given, Settings).policy().required == required


def test_the_policy_says_what_the_settings_say(file: Path) -> None:
    file.write_text(
        "mode: labels\nlabelPrefix: example.com\nmaintenance: {cordon: true}\n"
        "taints: {maintenance: NoExecute, unknown: None}\n"
        "condition: {type: Broken, healthy: 'False'}\n"
        "derived: [{label: gold, value: 'true', matchExpressions:"
        " [{key: cpu-cores, operator: Gt, values: ['8']}]}]\n"
    )

    policy = load(file, {}).policy()

    assert policy.vocabulary.key("gold") in policy.vocabulary.labels
    assert policy.vocabulary.key("cpu") == "example.com/cpu"
    assert (policy.mode, policy.cordon) == (Mode.LABELS, True)
    assert (policy.condition, policy.healthy) == ("Broken", "False")
    assert policy.effects == {TaintKey.MAINTENANCE: Effect.NO_EXECUTE, TaintKey.UNKNOWN: "None"}
    need = Requirement("cpu-cores", Operator.GT, ("8",))
    assert policy.rules == (Rule("gold", "true", (need,)),)


@pytest.mark.parametrize(
    ("listen", "address"),
    [("127.0.0.1:9808", ("127.0.0.1", 9808)), ("[::1]:0", ("::1", 0)), ("n1:65535", ("n1", 65535))],
)
def test_an_address_is_a_host_and_a_port(listen: str, address: tuple[str, int]) -> None:
    assert load(None, {"NODETRUTH_LISTEN": f"'{listen}'"}).address() == address


def test_a_dry_run_differs_in_its_mode_alone() -> None:
    found = load(None, {"NODETRUTH_LABEL_PREFIX": "x.io"})

    assert found.observing() == msgspec.structs.replace(found, mode=Mode.OBSERVE)


def test_every_number_and_switch_has_its_reason_beside_it() -> None:
    source = ast.parse(Path(settings.__file__).read_text())
    bare = [
        f"{section.name}.{ast.unparse(field.target)}"
        for section in source.body
        if isinstance(section, ast.ClassDef)
        for field, after in zip(section.body, [*section.body[1:], ast.Pass()], strict=True)
        if isinstance(field, ast.AnnAssign)
        and ast.unparse(field.annotation) in {"Seconds", "bool", "Mode", "Effect"}
        and not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]

    assert bare == []
