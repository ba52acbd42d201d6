import pytest

from labeler.rules import Operator, Requirement, Rule, derive, fault, holds, integer

HAS = {"memory-gib": "125", "disktype": "ssd", "empty": "", "word": "24Gi", "padded": "007"}


@pytest.mark.parametrize(
    ("key", "operator", "values", "holds_"),
    [
        ("disktype", Operator.IN, ("ssd", "hdd"), True),
        ("disktype", Operator.IN, ("hdd",), False),
        ("none", Operator.IN, ("ssd",), False),
        ("empty", Operator.IN, ("",), True),
        ("disktype", Operator.NOT_IN, ("hdd",), True),
        ("disktype", Operator.NOT_IN, ("ssd",), False),
        ("none", Operator.NOT_IN, ("ssd",), True),
        ("empty", Operator.EXISTS, (), True),
        ("none", Operator.EXISTS, (), False),
        ("none", Operator.DOES_NOT_EXIST, (), True),
        ("empty", Operator.DOES_NOT_EXIST, (), False),
        ("memory-gib", Operator.GT, ("124",), True),
        ("memory-gib", Operator.GT, ("125",), False),
        ("memory-gib", Operator.LT, ("126",), True),
        ("memory-gib", Operator.LT, ("125",), False),
        ("padded", Operator.GT, ("6",), True),
        ("word", Operator.GT, ("1",), False),
        ("word", Operator.LT, ("99",), False),
        ("none", Operator.LT, ("99",), False),
        ("empty", Operator.GT, ("-1",), False),
    ],
)
def test_a_requirement_means_what_it_means_to_kubernetes(
    key: str, operator: Operator, values: tuple[str, ...], holds_: bool
) -> None:
    assert holds(Requirement(key, operator, values), HAS) is holds_


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("9223372036854775807", (1 << 63) - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(1 << 63)),
        ("0" * 5000 + "1", 1),
        ("1" * 5000, None),
        (" 7", None),
        ("7\n", None),
        ("1_0", None),
        ("\N{ARABIC-INDIC DIGIT ONE}", None),
        ("7.0", None),
        ("", None),
        (None, None),
    ],
)
def test_numbers_are_read_as_go_reads_them(text: str | None, number: int | None) -> None:
    assert integer(text) == number


@pytest.mark.parametrize(
    ("operator", "values", "message"),
    [
        (Operator.IN, (), "In needs at least one value"),
        (Operator.NOT_IN, (), "NotIn needs at least one value"),
        (Operator.EXISTS, ("x",), "Exists takes no values"),
        (Operator.DOES_NOT_EXIST, ("x",), "DoesNotExist takes no values"),
        (Operator.GT, ("24Gi",), "Gt needs one whole number"),
        (Operator.LT, ("1", "2"), "Lt needs one whole number"),
        (Operator.IN, ("x",), None),
        (Operator.GT, ("1",), None),
        (Operator.EXISTS, (), None),
    ],
)
def test_a_requirement_that_kubernetes_refuses_is_named(
    operator: Operator, values: tuple[str, ...], message: str | None
) -> None:
    assert fault(Requirement("k", operator, values)) == message


LARGE = Rule("size", "Large", (Requirement("memory-gib", Operator.GT, ("100",)),))
SMALL = Rule("size", "Small", (Requirement("memory-gib", Operator.EXISTS),))
FAST = Rule("grade", "fast", (Requirement("size", Operator.IN, ("Large",)),))
DISKLESS = Rule("size", "Diskless", (Requirement("disktype", Operator.DOES_NOT_EXIST),))
NOTHING: frozenset[str] = frozenset()


def test_the_first_rule_that_holds_gives_the_value() -> None:
    assert derive([LARGE, SMALL], {"memory-gib": "125"}, NOTHING).labels == {"size": "Large"}
    assert derive([LARGE, SMALL], {"memory-gib": "16"}, NOTHING).labels == {"size": "Small"}
    assert derive([LARGE, SMALL], {}, NOTHING).labels == {}


def test_a_rule_may_build_on_the_one_above() -> None:
    derived = derive([LARGE, FAST], {"memory-gib": "125"}, NOTHING)

    assert derived.labels == {"size": "Large", "grade": "fast"}


def test_what_could_not_be_seen_is_not_absent() -> None:
    derived = derive([DISKLESS, SMALL, FAST], {"memory-gib": "16"}, frozenset({"disktype"}))

    assert derived.labels == {}
    assert derived.undecided == {"size", "grade"}
