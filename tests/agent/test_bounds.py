"""However many names come, few are kept."""

from agent.bounds import Few


def test_the_first_names_are_kept_and_the_rest_is_other() -> None:
    few = Few(2, "unknown")

    names = [few.name(name) for name in ("a", "unknown", "b", "c", "a", "d", "unknown")]

    assert names == ["a", "unknown", "b", "other", "a", "other", "unknown"]
