"""What the agent sees of GPUs and data, as the real API server has it."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import psutil
import pytest

from labeler import bitmaps
from labeler.shards import KEY
from tests.cluster.agents import LABELS, Agent
from tests.cluster.api import ApiError, Json
from tests.cluster.controlplane import ControlPlane
from tests.cluster.driven import CARDS, PRODUCT, WELL, Driven
from tests.cluster.eventually import eventually
from tests.cluster.promtool import NoPromtoolError, promtool
from tests.cluster.test_contention import FIGHT, insisting, most, patches, renewed, told

MAPS = "/api/v1/namespaces/nodetruth/configmaps"
LOOKS = 'nodetruth_probe_runs_total{outcome="known",probe="gpu"}'
FAST = {"period": 0.5, "deadline": 5, "roots": ["/data"]}


@pytest.fixture
def driven(control_plane: ControlPlane, node_name: str, tmp_path: Path) -> Driven:
    """An agent of a machine with GPUs, not started."""
    return Driven(control_plane, node_name, tmp_path)


@pytest.fixture
def shelved(control_plane: ControlPlane, node_name: str, tmp_path: Path) -> Driven:
    """The same with a root for datasets."""
    return Driven(control_plane, node_name, tmp_path, data=FAST)


def test_a_gpu_that_is_lost_loses_its_label_and_gets_it_back(driven: Driven) -> None:
    degraded = {**WELL, "gpu-count": "1", "status": "degraded"}
    none = {**LABELS, "gpu-count": "0", "gpu-total": "2", "status": "unhealthy"}
    with driven:
        driven.wait_true(WELL)
        driven.scene.change_card(CARDS[1], lost=True)
        driven.wait_true(degraded)
        driven.scene.change_card(CARDS[0], lost=True)
        driven.wait_true(none)
        driven.scene.change(gpus=[{"product": PRODUCT, "pci": list(CARDS)}])
        driven.wait_true(WELL)


def test_over_a_driver_that_hangs_the_labels_are_held_and_a_restart_changes_none(
    control_plane: ControlPlane, driven: Driven
) -> None:
    held = {**WELL, "status": "unknown"}
    with driven:
        driven.wait_true(WELL)
        driven.scene.change(errors=[{"call": "*", "hang": True}])
        driven.wait_true(held)
        (driven.folder / "machine/sys/devices/nvme0n1/queue/rotational").write_text("1\n")
        driven.wait_true({**held, "disktype": "unknown"})
    mark = control_plane.audit_mark()
    with driven:
        eventually(driven.ready, "the agent is back")
        assert patches(control_plane, driven, mark) == []
        driven.scene.change(errors=[])
        driven.wait_true({**WELL, "disktype": "unknown"})


def test_a_child_that_is_killed_comes_back_and_no_label_moves(
    control_plane: ControlPlane, driven: Driven
) -> None:
    with driven:
        driven.wait_true(WELL)
        mark = control_plane.audit_mark()
        for _ in range(3):
            (child,) = eventually(lambda: children(driven), "a child")
            os.kill(child, signal.SIGKILL)
            eventually(partial(another, driven, child), "another child")
            eventually(partial(looked, driven, driven.metric(LOOKS)), "its answer")
        assert driven.metric('nodetruth_child_lost_total{how="died"}') == 3
        assert patches(control_plane, driven, mark) == []


def looked(agent: Agent, before: float) -> bool:
    return agent.metric(LOOKS) > before


def another(agent: Agent, than: int) -> bool:
    return bool(children(agent)) and than not in children(agent)


def children(agent: Agent) -> list[int]:
    assert agent._process
    return [child.pid for child in psutil.Process(agent._process.pid).children()]


def test_a_forged_model_or_dataset_is_taken_off_and_counted(
    control_plane: ControlPlane, driven: Driven
) -> None:
    forged = {"accelerator.nvidia-b200": "8", "data/imagenet": "complete"}
    with driven:
        driven.wait_true(WELL)
        path = f"/api/v1/nodes/{driven.node}"
        control_plane.admin.patch(path, {"metadata": {"labels": forged}})
        driven.wait_true(WELL)
        counted = [
            driven.metric(f'nodetruth_drift_total{{cause="added",key="{key}"')
            for key in ("accelerator.*", "data/*")
        ]
    assert counted == [1, 1]


@pytest.mark.timeout(300)
def test_a_fight_over_the_gpus_costs_four_writes_a_minute_and_is_won(
    control_plane: ControlPlane, driven: Driven
) -> None:
    """Somebody calls a machine whose GPUs are lost one that has some, ten times a second."""
    lost = {**LABELS, "gpu-count": "0", "gpu-total": "2", "status": "unhealthy"}
    mark = control_plane.audit_mark()
    with driven:
        driven.scene.change(gpus=[{"product": PRODUCT, "pci": list(CARDS), "lost": True}])
        driven.wait_true(lost)
        first = eventually(lambda: renewed(control_plane, driven), "the Lease")
        with insisting(control_plane, driven, lambda _: {"gpu": "true"}) as written:
            (note,) = eventually(lambda: told(control_plane, driven), "an Event")
            eventually(lambda: driven.metric('nodetruth_contested{key="gpu"}'), "the metric", 60)
            eventually(lambda: written[0] > 5 * FIGHT, "a minute of it", 2 * FIGHT)
            assert renewed(control_plane, driven) == first
            assert not driven.ready()
        driven.wait_true(lost, seconds=100)
        named = driven.metric('nodetruth_contentions_total{key="gpu",manager="label-bot"}')

    assert note.startswith("label gpu is contested: manager 'label-bot' sets it to 'true'")
    assert named == 1
    assert most(patches(control_plane, driven, mark)) <= 4


def test_datasets_are_labelled_and_their_shards_published(
    control_plane: ControlPlane, shelved: Driven
) -> None:
    path = f"{MAPS}/{shelved.node}"
    here = {
        "data": "multiple",
        "data/imagenet": "complete",
        "data-percent/imagenet": "100",
        "data/laion": "partial",
        "data-percent/laion": "50",
    }
    imagenet = shelved.dataset("imagenet", "a.tar", "b.tar")
    shelved.dataset("laion", "a.tar", absent=("b.tar",))
    with shelved:
        shelved.wait_true({**WELL, **here})
        found: Json = eventually(lambda: maybe(control_plane, path), "the ConfigMap")
        (imagenet / "b.tar").unlink()
        fewer = {"data/imagenet": "partial", "data-percent/imagenet": "50"}
        shelved.wait_true({**WELL, **here, **fewer})
        mark = control_plane.audit_mark()

    assert [(one.name, one.present) for one in bitmaps.read(found["data"][KEY])] == [
        ("imagenet", bytes([0b11000000])),
        ("laion", bytes([0b10000000])),
    ]
    assert found["metadata"]["ownerReferences"][0]["uid"] == shelved.seen()["metadata"]["uid"]
    with shelved:
        eventually(shelved.ready, "the agent is back")
        eventually(lambda: bitmaps.read(maybe(control_plane, path)["data"][KEY])[0].held == 1, "it")
        assert patches(control_plane, shelved, mark) == []


def maybe(control_plane: ControlPlane, path: str) -> Json:
    """Return an object; empty where there is none."""
    try:
        return control_plane.admin.get(path)
    except ApiError as err:
        assert err.status == 404
        return {}


def test_cleaning_leaves_nothing_of_data_and_gpus(
    control_plane: ControlPlane, shelved: Driven, tmp_path: Path
) -> None:
    path = f"/api/v1/nodes/{shelved.node}"
    theirs = {"gpu": "maybe", "data/mine": "complete"}
    control_plane.admin.patch(path, {"metadata": {"labels": theirs}})
    shelved.dataset("imagenet", "a.tar")
    with shelved:
        eventually(lambda: shelved.labels().get("data/imagenet"), "a dataset")
        eventually(lambda: maybe(control_plane, f"{MAPS}/{shelved.node}"), "the ConfigMap")
        assert "data/mine" not in shelved.labels()
    admin = control_plane.place.tokens["admin"]
    kubeconfig = control_plane.kubeconfig(admin, tmp_path / "admin.kubeconfig")

    arguments = ("clean", "--node-name", shelved.node, "--kubeconfig", str(kubeconfig))
    ended = shelved.run(*arguments)

    assert ended.returncode == 0, ended.stderr
    assert shelved.labels() == theirs
    assert maybe(control_plane, f"{MAPS}/{shelved.node}") == {}


def test_prometheus_finds_no_fault_with_the_page(shelved: Driven) -> None:
    try:
        program = promtool()
    except NoPromtoolError as err:
        pytest.skip(str(err))
    shelved.dataset("imagenet", "a.tar")
    with shelved:
        eventually(shelved.ready, "ready")
        _, page = shelved.ask("/metrics")

    done = subprocess.run(
        [program, "check", "metrics"],
        input=page,
        text=True,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert 'nodetruth_label_info{key="gpu",value="true"} 1.0' in page
