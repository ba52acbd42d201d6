"""The README and the page name the same metrics."""

import re
from pathlib import Path

from agent.metrics import Metrics
from agent.newest import Newest
from agent.probes.data import DataProbe
from agent.shelf import Shelf
from labeler.vocabulary import Mode

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_names_every_metric_and_how_many_there_are() -> None:
    metrics = Metrics("1", Mode.ENFORCE)
    metrics.watch(Newest(()), (), Shelf(DataProbe(()), hashed=False))
    page = metrics.page().decode()
    families = set(re.findall(r"^# TYPE (nodetruth_\w+)", page, re.MULTILINE))
    text = README.read_text()
    section = text.partition("## Metrics")[2].partition("\n## ")[0]

    assert set(re.findall(r"`(nodetruth_\w+)`", section)) == families
    assert f"{len(families)} families" in section
