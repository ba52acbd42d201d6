"""Decide which derived labels hold: a site's rules over the labels of this Node.

A requirement means what it means to kube-scheduler
(``k8s.io/apimachinery/pkg/labels``, ``Requirement.Matches``). Pure.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from labeler.vocabulary import origin

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII)
"""Never more digits than 64 bits hold: Python refuses to convert thousands of them."""


class Operator(StrEnum):
    """The operators of node affinity."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One matchExpression, its key without the site's prefix."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """``label`` gets ``value`` on a Node that fulfils every requirement."""

    label: str
    value: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Derived:
    """The derived labels, and those of which nothing can be said."""

    labels: Mapping[str, str]
    undecided: frozenset[str]


def derive(rules: Iterable[Rule], labels: Mapping[str, str], unseen: frozenset[str]) -> Derived:
    """Return the derived labels; the first rule that holds gives a label its value.

    A rule sees what the rules above it gave, so a rule may build on another.
    A rule over an unseen key decides nothing, not even by ``DoesNotExist``:
    what could not be seen is not absent. ``unseen`` holds keys and stems of keys.
    """
    known = dict(labels)
    given: dict[str, str] = {}
    undecided: set[str] = set()
    for rule in rules:
        if rule.label in given or rule.label in undecided:
            continue
        if any(origin(need.key) in unseen | undecided for need in rule.requirements):
            undecided.add(rule.label)
        elif all(holds(need, known) for need in rule.requirements):
            given[rule.label] = known[rule.label] = rule.value
    return Derived(given, frozenset(undecided))


def holds(need: Requirement, labels: Mapping[str, str]) -> bool:
    """Tell whether ``labels`` fulfil ``need``, as Kubernetes would."""
    value = labels.get(need.key)
    match need.operator:
        case Operator.IN:
            return value is not None and value in need.values
        case Operator.NOT_IN:
            return value not in need.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.GT | Operator.LT:
            return _compares(value, need)


def fault(need: Requirement) -> str | None:
    """Say why Kubernetes would refuse this requirement; ``None`` when it would not."""
    count = len(need.values)
    match need.operator:
        case Operator.IN | Operator.NOT_IN:
            return None if count else f"{need.operator} needs at least one value"
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            return f"{need.operator} takes no values" if count else None
        case Operator.GT | Operator.LT:
            whole = count == 1 and integer(need.values[0]) is not None
            return None if whole else f"{need.operator} needs one whole number"


def _compares(value: str | None, need: Requirement) -> bool:
    left, right = integer(value), integer(need.values[0])
    if left is None or right is None:
        return False
    return left > right if need.operator is Operator.GT else left < right


def integer(text: str | None) -> int | None:
    """Read a number as Go's ``strconv.ParseInt(text, 10, 64)`` does; ``None`` where it fails."""
    match = _INTEGER.fullmatch(text or "")
    if match is None:
        return None
    number = int(match[1] + match[2])
    return number if -(1 << 63) <= number < 1 << 63 else None
