"""Give every test in this folder a control plane and, where it asks, a Node."""

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.build import NoControlPlaneError, binaries
from tests.cluster.controlplane import ControlPlane

HERE: Final = Path(__file__).parent
TIMEOUT: Final = 120
"""Seconds for the body of one test."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, before ``-m`` chooses by the marks."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("cluster")
            if item.get_closest_marker("timeout") is None:
                # Not the fixtures: the first one may have to build for 20 minutes.
                item.add_marker(pytest.mark.timeout(TIMEOUT, func_only=True))


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> Path:
    """Return the folder of the four programs; skip where there is none."""
    with uncaptured(pytestconfig):
        try:
            return binaries()
        except NoControlPlaneError as err:
            reason = str(err)
    pytest.skip(reason)


def uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """Let the progress of a long build through to the terminal.

    pytest captures the file descriptor, so that ``sys.__stderr__`` alone is no
    way out.
    """
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return nullcontext()
    disabled: AbstractContextManager[None] = capture.global_and_fixture_disabled()
    return disabled


@pytest.fixture(scope="session")
def control_plane(
    programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Run one control plane for all tests."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), programs) as plane:
        yield plane


@pytest.fixture
def node_name(control_plane: ControlPlane) -> Iterator[str]:
    """Register a Node for one test; remove it and its Pods afterwards."""
    name = f"node-{secrets.token_hex(4)}"
    # A test that failed between cutting and restoring must not fail the others.
    control_plane.start_apiserver()
    control_plane.make_node(name)
    yield name
    control_plane.start_apiserver()
    control_plane.remove_node(name)
