"""A small document may stand for more bytes than a reader has."""

import json

import pytest

from labeler.bitmaps import DocumentError, read


def test_a_document_that_unpacks_to_gigabytes_is_an_error() -> None:
    datasets = [{"label": f"a{n}", "shards": 1_000_000, "held": 0} for n in range(5000)]

    with pytest.raises(DocumentError, match="bytes of bitmaps"):
        read(json.dumps({"version": 1, "datasets": datasets}))
