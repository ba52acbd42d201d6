"""The command line, in this process: what it prints, where, and its exit codes."""

import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import cli
from tests.agent.machines import FOLDER, configured, expected

MACHINE = FOLDER / "sata-ssd-whole-disk"
COMMANDS = [["probe"], ["agent"], ["config", "check"], ["clean"]]
NODE = "# kept\nkind: Node\nmetadata:\n  name: n1\n"

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command sends the log to stderr, which is another one after the test."""
    monkeypatch.delenv("NODE_NAME", raising=False)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(configured(MACHINE, tmp_path / "config.yaml"))


@pytest.fixture
def node(tmp_path: Path) -> Path:
    path = tmp_path / "node.yaml"
    path.write_text(NODE)
    return path


def test_a_look_as_json_has_what_programs_read(config: str, capsys: Capture) -> None:
    code = cli.run(["probe", "-o", "json", "--config", config])

    tree = json.loads(capsys.readouterr().out)
    assert code == 0
    assert list(tree) == ["labels", "taints", "held", "facts", "unknown", "notes"]
    assert tree["labels"] == expected(MACHINE).labels
    assert set(tree["facts"]) == {"cpu", "memory", "disk", "gpu", "data"}


def test_a_look_is_a_table_unless_asked_otherwise(config: str, capsys: Capture) -> None:
    assert cli.run(["probe", "--config", config]) == 0

    out = capsys.readouterr().out
    assert out.startswith(f"Node {socket.gethostname()} would say\nLABEL")
    assert "\x1b" not in out


def test_a_variable_outranks_the_file(
    config: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODETRUTH_LABEL_PREFIX", "example.com")

    cli.run(["probe", "-o", "json", "--config", config])

    assert json.loads(capsys.readouterr().out)["labels"]["example.com/disktype"] == "ssd"


def test_a_configuration_without_a_fault_is_good(config: str, capsys: Capture) -> None:
    assert cli.run(["config", "check", config]) == 0
    assert capsys.readouterr().out == f"{config}: good\n"


@pytest.mark.parametrize(
    "command", [["config", "check"], ["probe", "--config"], ["clean", "--config"]]
)
def test_a_configuration_with_faults_is_refused_by_every_command(
    command: list[str], tmp_path: Path, capsys: Capture
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("cpu: {period: 0}\nmod: observe\n")

    assert cli.run([*command, str(config)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"nodetruth: configuration {config}:\n"
        "  cpu.period: Expected `float` >= 0.1 (it is 0)\n"
        "  mod: no such setting; did you mean mode?\n"
    )


@pytest.mark.parametrize("content", ["kind: Node\nmetadata: [", "kind: Pod\n", "", "\x00"])
@pytest.mark.parametrize("command", ["agent", "clean"])
def test_a_node_file_that_is_none_stays_as_it_is(
    command: str, content: str, config: str, node: Path, capsys: Capture
) -> None:
    node.write_text(content)

    assert cli.run([command, "--config", config, "--node-file", str(node)]) == 1
    assert capsys.readouterr().err.startswith(f"nodetruth: Node file {node}: is no ")
    assert node.read_bytes() == content.encode()


def test_a_node_file_in_no_folder_is_named(config: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "none/node.yaml"

    assert cli.run(["agent", "--config", config, "--node-file", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"nodetruth: Node file {path}: No such file or directory;"
        " name a file in a folder that can be written\n"
    )


@pytest.mark.parametrize("command", ["agent", "clean"])
def test_without_a_node_name_there_is_a_way_out(command: str, config: str, capsys: Capture) -> None:
    assert cli.run([command, "--config", config]) == 1
    assert capsys.readouterr().err == (
        "nodetruth: Node name: none given; set --node-name or NODE_NAME, or name a --node-file\n"
    )


def test_a_port_that_is_taken_is_named(tmp_path: Path, node: Path, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        config = configured(MACHINE, tmp_path / "config.yaml", listen=listen)

        assert cli.run(["agent", "--config", str(config), "--node-file", str(node)]) == 1

    assert (
        f"can't listen on {listen}: Address already in use; set listen" in capsys.readouterr().err
    )


def test_cleaning_what_was_never_touched_changes_nothing(node: Path, capsys: Capture) -> None:
    assert cli.run(["clean", "--node-file", str(node)]) == 0
    assert capsys.readouterr().out == "Node n1: changed 0 entries\n"
    assert node.read_text() == NODE


def test_cleaning_makes_no_file(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "none.yaml"

    assert cli.run(["clean", "--node-file", str(path)]) == 1
    assert "none.yaml" in capsys.readouterr().err
    assert not path.exists()


def test_a_dry_cleaning_tells_and_changes_nothing(node: Path, capsys: Capture) -> None:
    node.write_text(NODE + "  labels: {cpu: a}\n  annotations: {nodetruth/evidence: '{}'}\n")
    before = node.read_bytes()

    assert cli.run(["clean", "--dry-run", "--node-file", str(node)]) == 0
    assert capsys.readouterr().out == (
        "cpu: removed\nnodetruth/evidence: removed\nNode n1: would change 2 entries\n"
    )
    assert node.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_examples_and_exit_codes(command: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run([*command, "--help"])

    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"\n  nodetruth {' '.join(command)} " in out
    assert "exit code" in out.lower()


@pytest.mark.parametrize(
    "argv",
    [
        *[[], ["prob"], ["config"], ["config", "check"], ["probe", "-o", "xml"], ["probe", "x"]],
        ["agent", "--node-file", "a", "--node-name", "b"],
    ],
)
def test_a_wrong_command_line_is_told_how_it_goes(argv: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run(argv)

    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: nodetruth")


def test_the_version_is_told(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("nodetruth 0.")
