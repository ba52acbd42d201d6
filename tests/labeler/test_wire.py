"""What goes over the wire, byte for byte where the server is particular."""

import json
from datetime import UTC, datetime

from labeler import wire
from labeler.diff import Patch
from labeler.seen import Condition, Seen, Taint

NOW = datetime(2026, 12, 1, 12, 0, 3, 0, tzinfo=UTC)
NODE = Seen(name="n1", uid="u1", version="7")
BODY = {
    "metadata": {"name": "n1", "uid": "u1", "resourceVersion": "7", "labels": {"a": "b"}},
    "spec": {
        "unschedulable": True,
        "taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}],
    },
    "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": None}]},
}


def test_a_node_is_read_for_what_we_need() -> None:
    seen = wire.node(json.dumps(BODY).encode())

    assert seen.labels == {"a": "b"}
    assert seen.annotations == {}
    assert seen.taints == (Taint("k", "NoExecute", "", "2026-01-01T00:00:00Z"),)
    assert seen.cordoned
    assert seen.conditions["Ready"].status == "True"


def test_a_list_holds_one_node_or_none() -> None:
    meta = {"resourceVersion": "9"}

    assert wire.listed(json.dumps({"metadata": meta, "items": None}).encode()) == ("9", None)
    assert wire.listed(json.dumps({"metadata": meta, "items": [BODY]}).encode())[1] is not None


def test_the_lines_of_a_watch_are_told_apart() -> None:
    lines = {
        kind: wire.event(json.dumps({"type": kind, "object": BODY}).encode())
        for kind in ("ADDED", "MODIFIED", "DELETED")
    }
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}}
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}

    assert lines["MODIFIED"].seen == lines["ADDED"].seen is not None
    assert lines["DELETED"].seen is None
    assert wire.event(json.dumps(bookmark).encode()).version == "12"
    assert wire.event(json.dumps(gone).encode()).code == 410


def test_only_taints_make_the_version_a_precondition() -> None:
    labels = wire.merge_patch(Patch({"a": None, "b": "c"}, {"n": "m"}), NODE)
    taints = wire.merge_patch(Patch(taints=(Taint("k", "NoSchedule"),)), NODE)
    none = wire.merge_patch(Patch(taints=()), NODE)

    assert labels == {
        "metadata": {"uid": "u1", "labels": {"a": None, "b": "c"}, "annotations": {"n": "m"}}
    }
    assert taints == {
        "metadata": {"uid": "u1", "resourceVersion": "7"},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
    }
    assert none["spec"] == {"taints": None}


def test_a_time_always_has_six_digits() -> None:
    assert wire.stamp(NOW) == "2026-12-01T12:00:03.000000Z"


def test_a_transition_is_stamped_only_when_the_status_changes() -> None:
    new = Condition(type="H", status="True", reason="Healthy", message="m")
    old = Condition(type="H", status="False", reason="Unhealthy", message="m")
    said = Seen(name="n", uid="u", version="1", conditions={"H": new})
    was = Seen(name="n", uid="u", version="1", conditions={"H": old})

    assert "lastTransitionTime" not in wire.condition(new, NOW, said)
    assert wire.condition(new, NOW, was)["lastTransitionTime"] == "2026-12-01T12:00:03Z"
    assert wire.condition(new, NOW, None)["lastTransitionTime"] == "2026-12-01T12:00:03Z"


def test_the_notes_of_who_wrote_what_are_kept_as_they_came() -> None:
    notes = [{"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}}]
    noted = {**BODY, "metadata": {"name": "n1", "managedFields": notes}}

    assert json.loads(wire.node(json.dumps(noted).encode()).fields) == notes
    assert wire.node(json.dumps(BODY).encode()).fields == b""
