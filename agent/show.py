"""Render what a Node says, or would say: a table for people, JSON and YAML for programs."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TextIO

import msgspec
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from labeler.desired import Desired, Policy
from labeler.facts import KEYS, Facts, Unknown
from labeler.reconcile import Round
from labeler.wire import taint

Tree = dict[str, object]
_WIDE: Final = 4096
"""Columns where no terminal sets a limit: a row that a program reads is one line."""


@dataclass(frozen=True, slots=True)
class Said:
    """What there is to show of one look or one round."""

    title: str
    want: Desired
    facts: Facts
    policy: Policy
    now: Mapping[str, str] | None = None
    """The labels the Node has, where there is a Node."""
    unwritten: bool = False
    """Whether this would be said, but is not: observe mode, or a dry run."""
    notes: tuple[str, ...] = ()
    """What else people should know."""


def of_round(one: Round, facts: Facts, policy: Policy, place: str) -> Said:
    """Return what a round has to show."""
    said = "would say" if one.written is None and one.patch else "says"
    title = f"Node {one.after.name} {said} ({place})"
    return Said(title, one.want, facts, policy, one.after.labels, unwritten=said == "would say")


def tree(said: Said) -> Tree:
    """Return the whole as plain data."""
    facts: Tree = {}
    unknown: Tree = {}
    for probe, fact in said.facts.items():
        if isinstance(fact, Unknown):
            unknown[probe.value] = fact.reason
        else:
            facts[probe.value] = msgspec.to_builtins(fact)
    return {
        "labels": dict(sorted((key, str(value)) for key, value in said.want.labels.items())),
        "taints": [taint(one) for one in said.want.taints],
        "held": sorted(said.want.held),
        "facts": facts,
        "unknown": unknown,
        "notes": list(said.notes),
    }


def as_json(said: Said, out: TextIO) -> None:
    """Write JSON."""
    json.dump(tree(said), out, indent=2)
    out.write("\n")


def as_yaml(said: Said, out: TextIO) -> None:
    """Write YAML."""
    yaml.safe_dump(tree(said), out, sort_keys=False)


def as_table(said: Said, out: TextIO) -> None:
    """Write a table; colour only on a terminal, and never where NO_COLOR is set."""
    terminal = out.isatty()
    # What others wrote may look like markup or an emoji's name; it is shown as it stands.
    console = Console(
        file=out,
        force_terminal=terminal and not os.environ.get("NO_COLOR"),
        width=None if terminal else _WIDE,
        soft_wrap=True,
        highlight=False,
        markup=False,
        emoji=False,
    )
    table = Table(title=Text(said.title, "bold"), title_justify="left", box=None, pad_edge=False)
    rows = _rows(said)
    noted = any(row[-1] for row in rows)
    for column in ("LABEL", "VALUE", "FROM", "NOTE")[: 4 if noted else 3]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row[: len(table.columns)]))
    console.print(table)
    for line in _lines(said):
        console.print(line)


def _rows(said: Said) -> list[tuple[str, ...]]:
    words = said.policy.vocabulary
    sources = {words.key(label): probe.value for probe, labels in KEYS.items() for label in labels}
    sources |= {words.key(label): "rule" for label in words.derived}
    rows: list[tuple[str, ...]] = []
    going = {key for key in said.now or () if said.want.owns(key)} if said.unwritten else set()
    for label in sorted({*said.want.labels, *said.want.held, *going}):
        value = said.want.labels.get(label, "-")
        source = sources.get(words.key(words.stem(label) or ""), sources.get(label, "all of it"))
        rows.append((label, value, source, _note(said, label)))
    return rows


def _note(said: Said, label: str) -> str:
    if label in said.want.held:
        kept = "held" if label in said.want.labels else "not said"
        return f"{kept}: its probe can't look now"
    has = None if said.now is None else said.now.get(label)
    wanted = said.want.labels.get(label)
    if not said.unwritten or has == wanted:
        return ""
    verb = "removed" if wanted is None else "written"
    return f"would be {verb}" + ("" if has is None else f", now {has!r}")


def _lines(said: Said) -> list[str]:
    lines = [f"taint {one}" for one in said.want.taints]
    lines += [f"status: {reason}" for reason in said.want.judgement.reasons]
    lines += [
        f"probe {probe}: unknown, {fact.reason}"
        for probe, fact in said.facts.items()
        if isinstance(fact, Unknown)
    ]
    return [*lines, *said.notes]


FORMATS: Final[Mapping[str, Callable[[Said, TextIO], None]]] = {
    "table": as_table,
    "json": as_json,
    "yaml": as_yaml,
}


def show(said: Said, form: str) -> None:
    """Write to stdout in one of ``FORMATS``."""
    FORMATS[form](said, sys.stdout)
    sys.stdout.flush()
