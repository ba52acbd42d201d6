"""Who set a key, by the server's own notes, and never by a guess."""

import json

import pytest

from labeler.managers import UNKNOWN, Managers, Part
from labeler.vocabulary import FIELD_MANAGER


def entry(manager: str, time: str = "2026-12-01T00:00:00Z", **parts: object) -> dict[str, object]:
    fields = {
        "f:metadata": {
            "f:labels": {".": {}, **{f"f:{key}": {} for key in [parts.get("label")] if key}},
            "f:annotations": {f"f:{key}": {} for key in [parts.get("annotation")] if key},
        },
        "f:spec": {"f:unschedulable": {}} | ({"f:taints": {}} if "taints" in parts else {}),
        "f:status": {"f:conditions": {'k:{"type":"Ready"}': {"f:status": {}}}},
    }
    kind = {"apiVersion": "v1", "operation": "Update", "fieldsType": "FieldsV1"}
    return {**kind, "manager": manager, "time": time, "fieldsV1": fields}


def managers(*entries: object) -> Managers:
    return Managers(json.dumps(entries).encode())


def test_the_holder_of_a_key_is_named() -> None:
    who = managers(entry("helm", label="cpu"), entry("kubectl-edit", annotation="cpu"))

    assert who.of(Part.LABEL, "cpu") == "helm"
    assert who.of(Part.ANNOTATION, "cpu") == "kubectl-edit"
    assert who.of(Part.LABEL, "status") == UNKNOWN
    assert who.of(Part.TAINT, "nodetruth/unknown") == UNKNOWN


def test_the_list_of_taints_has_one_holder() -> None:
    who = managers(entry("kubelet"), entry("kubectl-taint", taints=True))

    assert who.of(Part.TAINT, "nodetruth/unknown") == "kubectl-taint"


@pytest.mark.parametrize(
    ("times", "newest"),
    [
        (("2026-12-01T00:00:00Z", "2026-12-01T00:00:01Z"), "b"),
        (("2026-12-01T00:00:02Z", "2026-12-01T00:00:01Z"), "a"),
    ],
)
def test_of_several_holders_the_newest_but_us_is_named(times: tuple[str, str], newest: str) -> None:
    ours = entry(FIELD_MANAGER, "2027-01-01T00:00:00Z", label="cpu")
    named = [entry(name, time, label="cpu") for name, time in zip("ab", times, strict=True)]

    assert managers(named[0], ours, named[1]).of(Part.LABEL, "cpu") == newest


def test_our_own_name_and_no_name_say_nothing() -> None:
    """Whoever writes in our name leaves none."""
    who = managers(entry(FIELD_MANAGER, label="cpu"), entry("", label="cpu"))

    assert who.of(Part.LABEL, "cpu") == UNKNOWN


@pytest.mark.parametrize(
    "fields",
    [
        b"",
        b"null",
        b"{}",
        b"7",
        b"[7]",
        b"\xff\xfe",
        b'[{"manager": 7}]',
        b'[{"manager": "a", "fieldsV1": null}]',
        b'[{"manager": "a", "fieldsV1": {"f:metadata": {"f:labels": ["f:cpu"]}}}]',
        b'[{"manager": "a", "fieldsV1": {"f:metadata": {"f:labels": {"f:cpu": ' + b"[" * 200_000,
        b'[{"manager": "a", "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}]",
    ],
)
def test_what_cannot_be_read_proves_nothing(fields: bytes) -> None:
    who = Managers(fields)

    assert {who.of(part, "cpu") for part in Part} == {UNKNOWN}


def test_an_entry_without_a_time_or_fields_is_no_trouble() -> None:
    bare = {"manager": "old"}
    timeless = {"manager": "b", "fieldsV1": {"f:metadata": {"f:labels": {"f:cpu": {}}}}}

    assert managers(bare, timeless).of(Part.LABEL, "cpu") == "b"
