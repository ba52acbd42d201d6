"""Edits of many keys at once: one edit is one drift, and its cost grows with its keys alone."""

from time import perf_counter

import pytest

from labeler.contention import Contention
from labeler.diff import Patch, drift
from tests.fakes import applied
from tests.labeler.test_contention import Bout, started

FEW = {f"data/x{number}": "complete" for number in range(3)}


def forge(bout: Bout, labels: dict[str, str]) -> None:
    bout.seen = applied(bout.seen, Patch(dict(labels)))
    bout.round()


def test_keys_that_are_made_up_in_one_edit_are_one_drift() -> None:
    bout = started()

    forge(bout, FEW)
    assert bout.contested() == []

    forge(bout, FEW)
    assert FEW.keys().isdisjoint(bout.seen.labels), "a second edit, too, is put right at once"
    assert bout.contested() == []

    forge(bout, FEW)
    assert bout.contested() == ["data/*"]


@pytest.mark.timeout(60)
def test_what_an_edit_costs_grows_with_its_keys_and_not_with_their_square() -> None:
    def seconds(count: int) -> float:
        bout = started()
        bout.seen = applied(
            bout.seen, Patch({f"data/x{number}": "complete" for number in range(count)})
        )
        assert bout.said
        drifts = drift(bout.seen, bout.said)
        start = perf_counter()
        Contention().drifted(bout.seen, bout.said, drifts, bout.now)
        return perf_counter() - start

    # Ten thousand took six seconds when each made a dictionary of all.
    assert seconds(10_000) < 1
