"""A Node in a file: what is not ours survives, what is broken is left alone."""

import os
from pathlib import Path
from threading import Event, Thread

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from labeler.diff import Patch
from labeler.manifest import ManifestNode, create
from labeler.node import NodeError, NodeMissing, NodeMoved, NodeRefused
from labeler.seen import Condition, Taint

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)

NODE = """\
# A machine in rack 7.
apiVersion: v1
kind: Node
metadata:
  name: n1   # its name
  labels:
    zone: 'a'  # by hand
    count: 7
    on: yes
spec:
  podCIDR: 10.0.0.0/24
  taints:
    # why: see ticket 12
  - {key: example.com/x, value: "no", effect: NoExecute, timeAdded: 2026-01-01T00:00:00Z}
  - key: nodetruth/unknown
    effect: PreferNoSchedule
status:
  conditions:
  - type: Ready
    status: "True"
"""
FOREIGN = Taint("example.com/x", "NoExecute", "no", "2026-01-01T00:00:00Z")
OURS = Taint("nodetruth/maintenance", "NoSchedule", "swap")
CONDITION = Condition(type="HardwareHealthy", status="Unknown", reason="Unknown", message="hung")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "node.yaml"
    path.write_text(NODE)
    return path


def test_a_file_is_read_as_a_node(path: Path) -> None:
    seen = ManifestNode(path).read()

    assert seen.name == "n1"
    assert seen.taints == (FOREIGN, Taint("nodetruth/unknown", "PreferNoSchedule"))
    assert set(seen.conditions) == {"Ready"}
    assert seen.labels["zone"] == "a"


def test_a_value_that_is_no_text_equals_no_text_of_ours(path: Path) -> None:
    labels = ManifestNode(path).read().labels

    assert labels["count"] != "7"


def test_a_write_changes_nothing_but_what_is_ours(path: Path) -> None:
    node = ManifestNode(path)

    node.apply(Patch({"gpu": "true", "count": "8"}, {"note": "x: y"}, (FOREIGN, OURS)), node.read())

    text = path.read_text()
    for line in ("# A machine in rack 7.", "name: n1   # its name", "zone: 'a'  # by hand"):
        assert line in text
    assert "on: yes" in text
    assert "podCIDR: 10.0.0.0/24" in text
    assert '{key: example.com/x, value: "no", effect: NoExecute' in text
    assert 'gpu: "true"' in text
    assert 'count: "8"' in text
    assert node.read().taints == (FOREIGN, OURS)


def test_what_is_removed_leaves_no_empty_shell(tmp_path: Path) -> None:
    create(tmp_path / "n.yaml", "n1")
    node = ManifestNode(tmp_path / "n.yaml")
    before = node.path.read_text()

    node.apply(Patch({"cpu": "x"}, {"a": "b"}, (OURS,)), node.read())
    node.condition(CONDITION)
    node.apply(Patch({"cpu": None}, {"a": None}, ()), node.read())
    node.withdraw(CONDITION.type)

    assert node.path.read_text() == before


def test_a_condition_is_said_beside_the_others(path: Path) -> None:
    node = ManifestNode(path)

    node.condition(CONDITION)
    first = yaml.safe_load(path.read_text())["status"]["conditions"]
    node.condition(CONDITION)
    second = yaml.safe_load(path.read_text())["status"]["conditions"]

    assert [one["type"] for one in second] == ["Ready", "HardwareHealthy"]
    assert node.read().conditions["HardwareHealthy"] == CONDITION
    assert first[1]["lastTransitionTime"] == second[1]["lastTransitionTime"]


def test_an_edit_in_between_is_not_overwritten(path: Path) -> None:
    node = ManifestNode(path)
    seen = node.read()
    path.write_text(NODE.replace("rack 7", "rack 8"))

    with pytest.raises(NodeMoved):
        node.apply(Patch({"gpu": "true"}), seen)
    assert "rack 8" in path.read_text()


def test_a_save_during_the_write_is_not_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync takes a while; an editor does not wait for it."""
    node = ManifestNode(path)
    seen = node.read()
    sync = os.fsync

    def save(file: int) -> None:
        sync(file)
        path.write_text(NODE.replace("rack 7", "rack 8"))

    monkeypatch.setattr(os, "fsync", save)
    with pytest.raises(NodeMoved):
        node.apply(Patch({"gpu": "true"}), seen)

    assert path.read_text() == NODE.replace("rack 7", "rack 8")
    assert [file.name for file in path.parent.iterdir()] == ["node.yaml"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kind: [", "is no YAML"),
        ("kind: Node\nkind: Node\n", "is no YAML"),
        ("\x00", "is no YAML"),
        ("", "it must say kind: Node"),
        ("- kind: Node", "it must say kind: Node"),
        ("kind: Pod\nmetadata: {name: x}", "it must say kind: Node"),
        ("kind: Node", "it must have a metadata.name"),
        ("kind: Node\nmetadata: {name: 7}", "it must have a metadata.name"),
        ("kind: Node\nmetadata: {name: n, labels: [x]}", "metadata.labels is no mapping"),
        ("kind: Node\nmetadata: {name: n}\nspec: 7", "spec is no mapping"),
        (
            "kind: Node\nmetadata: {name: n}\nspec: {taints: [x]}",
            "spec.taints is no list of mappings",
        ),
        ("kind: Node\nmetadata: {name: n}\n---\nkind: Node\n", "is no YAML"),
        ("kind: Node\nmetadata: {name: n, x: !!bool maybe}", "is no YAML"),
        ("kind: Node\nmetadata: {name: n, x: !!int ''}", "is no YAML"),
        (
            "b: &b {x: y}\nkind: Node\nmetadata: {name: n, labels: {<<: *b}}",
            "metadata.labels is shared with another part by a YAML alias",
        ),
        (
            "kind: Node\nmetadata: {name: n, labels: &l {x: y}}\nspec: {other: *l}",
            "metadata.labels is shared with another part by a YAML alias",
        ),
    ],
)
def test_a_file_that_is_no_node_is_reported_and_left_alone(path: Path, text: str, why: str) -> None:
    node = ManifestNode(path)
    seen = node.read()
    path.write_text(text)

    with pytest.raises(NodeRefused) as caught:
        node.read()
    with pytest.raises(NodeError):
        node.apply(Patch({"gpu": "true"}), seen)

    assert f"Node file {path}: " in str(caught.value)
    assert why in str(caught.value)
    assert path.read_text() == text


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_node_error(content: bytes) -> None:
    import tempfile  # noqa: PLC0415  (a fixture would live through all examples)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "node.yaml")
        path.write_bytes(content)
        with pytest.raises(NodeError):
            ManifestNode(path)


def test_a_missing_file_is_a_missing_node(path: Path) -> None:
    node = ManifestNode(path)
    path.unlink()

    assert node.seen() is None
    with pytest.raises(NodeMissing, match=r"Node 'node.yaml' is not in .*no such file"):
        node.read()


def test_the_files_mode_and_link_survive_a_write(path: Path) -> None:
    path.chmod(0o640)
    link = path.with_name("link.yaml")
    link.symlink_to(path)
    node = ManifestNode(link)

    node.apply(Patch({"gpu": "true"}), node.read())

    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in sorted(path.parent.iterdir())] == ["link.yaml", "node.yaml"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(NodeRefused, match="No such file or directory; name a file in a folder"):
        create(tmp_path / "missing" / "node.yaml", "n1")


def test_a_new_file_does_not_replace_one_that_is_there(path: Path) -> None:
    create(path, "other")

    assert path.read_text() == NODE


def test_every_way_of_saving_is_noticed(path: Path) -> None:
    node = ManifestNode(path)
    stirred, stop = Event(), Event()
    thread = Thread(target=node.follow, args=(stirred.set, stop))
    thread.start()

    def replace() -> None:
        path.with_name("new").write_text(NODE + "# new\n")
        path.with_name("new").replace(path)

    for save in (lambda: None, lambda: path.write_text(NODE + "# x\n"), replace, path.unlink):
        save()
        assert stirred.wait(2)
        stirred.clear()
    stop.set()
    thread.join(2)
    assert not thread.is_alive()
