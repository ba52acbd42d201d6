"""What the environment of a Pod holds beside what a site put there."""

from pathlib import Path

import pytest

from agent.config import ConfigError, load
from agent.settings import Settings


def test_the_links_of_a_service_are_no_settings() -> None:
    """kubelet adds these to every Pod where a Service is called nodetruth."""
    links = {
        "NODETRUTH_SERVICE_HOST": "10.0.0.7",
        "NODETRUTH_SERVICE_PORT": "9808",
        "NODETRUTH_SERVICE_PORT_METRICS": "9808",
        "NODETRUTH_PORT": "tcp://10.0.0.7:9808",
        "NODETRUTH_PORT_9808_TCP": "tcp://10.0.0.7:9808",
        "NODETRUTH_PORT_9808_TCP_ADDR": "10.0.0.7",
        "NODETRUTH_SCORER_SERVICE_HOST": "10.0.0.8",
    }

    assert load(None, links) == Settings()


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_variable_overrides_nothing(value: str) -> None:
    assert load(None, {"NODETRUTH_MODE": value, "NODETRUTH_DISK_PATHS": value}) == Settings()


def test_a_key_given_twice_is_a_fault(tmp_path: Path) -> None:
    """YAML itself would drop the first without a word."""
    file = tmp_path / "config.yaml"
    file.write_text("mode: labels\ndisk: {period: 5}\ndisk: {paths: [/data]}\n")

    with pytest.raises(ConfigError, match="is no YAML: 'disk' is given twice, at line 1"):
        load(file, {})


def test_a_value_that_wants_quotes_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("condition: {healthy: True}\n")

    with pytest.raises(ConfigError, match=r"condition\.healthy: .*it is True\); put it in quotes"):
        load(file, {})


@pytest.mark.parametrize("kind", ["Ready", "DiskPressure", "two words"])
def test_a_condition_of_kubelets_own_is_refused(kind: str) -> None:
    """We would say that a machine is Ready whose kubelet is not."""
    with pytest.raises(ConfigError, match=rf"condition\.type: '{kind}' is kubelet's or no legal"):
        load(None, {"NODETRUTH_CONDITION_TYPE": kind})


def test_a_period_of_no_time_is_refused() -> None:
    """APScheduler would run for ever through the runs of one instant."""
    with pytest.raises(ConfigError, match=r"memory\.period: Expected `float` >= 0\.1"):
        load(None, {"NODETRUTH_MEMORY_PERIOD": "1.0e-9"})
