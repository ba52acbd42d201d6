from datetime import UTC, datetime

import pytest

from labeler.maintenance import Maintenance, maintenance
from labeler.seen import Seen
from labeler.vocabulary import MAINTENANCE

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
END = datetime(2026, 12, 1, 14, 0, tzinfo=UTC)


def node(text: str | None, *, cordoned: bool = False) -> Seen:
    annotations = {} if text is None else {MAINTENANCE: text}
    return Seen(name="n", uid="u", version="1", annotations=annotations, cordoned=cordoned)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (None, None),
        ("replace GPU 3", Maintenance("replace GPU 3")),
        ("", Maintenance("no reason given")),
        ("12", Maintenance("12")),
        ('{"reason": "firmware"}', Maintenance("firmware")),
        ('{"reason": "fw", "until": "2026-12-01T14:00:00Z"}', Maintenance("fw", END)),
        ('{"reason": "fw", "until": "2026-12-01T16:00:00+02:00"}', Maintenance("fw", END)),
        ('{"reason": "fw", "until": "2026-12-01T12:00:00Z"}', None),
        ('{"until": "2026-12-01T14:00:00Z"}', Maintenance("no reason given", END)),
        (
            '{"reason": "fw", "until": "tomorrow"}',
            Maintenance("fw (until 'tomorrow' is not an RFC 3339 time with a zone)"),
        ),
        (
            '{"reason": "fw", "until": "2026-12-01T11:00:00"}',
            Maintenance("fw (until '2026-12-01T11:00:00' is not an RFC 3339 time with a zone)"),
        ),
        ("[" * 3000, Maintenance("[" * 3000)),
        ('{"reason": "\\ud800"}', Maintenance("?")),
        ('{"reason": "torn', Maintenance('{"reason": "torn')),
    ],
)
def test_the_annotation_is_read_as_people_mean_it(text: str, asked: Maintenance | None) -> None:
    got = maintenance(node(text), NOW, cordon=False)

    assert (got.reason, got.until) == (asked.reason, asked.until) if asked and got else got == asked


def test_a_cordon_counts_only_where_the_site_says_so() -> None:
    cordoned = node(None, cordoned=True)

    assert maintenance(cordoned, NOW, cordon=False) is None
    assert maintenance(cordoned, NOW, cordon=True) == Maintenance("cordoned")
    assert maintenance(node(None), NOW, cordon=True) is None
    over = node('{"until": "2026-01-01T00:00:00Z"}', cordoned=True)
    assert maintenance(over, NOW, cordon=True) == Maintenance("cordoned")
