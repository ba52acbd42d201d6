"""What does it cost an agent that Prometheus reads its page each 15 seconds?"""

from typing import Final

from bench.idle import TEN_MINUTES
from bench.resident import Resident, Rest
from bench.row import MIB, Row

SCRAPE: Final = 15
"""Seconds between two scrapes."""
MILLICORES: Final = 3.0


def rows(rest: Rest) -> list[Row]:
    """Return the figures of the agent that is scraped."""
    how = f"/metrics each {SCRAPE} s, over the same window, on another Node"
    return [
        Row(
            figure="CPU at rest, scraped",
            value=rest.cpu / rest.seconds * 1000,
            unit="millicores",
            limit=MILLICORES,
            how=how,
        ),
        Row(
            figure="the same in seconds",
            value=rest.cpu * TEN_MINUTES / rest.seconds,
            unit="s per 10 min",
            how=how,
        ),
        Row(figure="memory, scraped, RSS", value=rest.memory.rss / MIB, unit="MiB", how=how),
    ]


RESIDENT: Final = Resident(node="scraped", rows=rows, scrape=SCRAPE)
