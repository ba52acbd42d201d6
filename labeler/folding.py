"""Fold the keys whose rest the machine or a stranger makes up into one name each. Pure.

A Node may bear any number of ``data/<name>``; what is remembered or counted per
key must not.
"""

from typing import Final

_DATA: Final = ("data", "data-percent")
_FAMILY: Final = "accelerator."


def folded(key: str, prefix: str = "") -> str:
    """Return ``data/*`` for ``data/x`` and for ``data.<prefix>/x``; most keys are their own name.

    ``prefix`` is the site's own: with ``data.example.com`` as the prefix,
    ``data.example.com/cpu`` is no dataset.
    """
    head, slash, name = key.rpartition("/")
    stem = head.partition(".")[0]
    if slash and stem in _DATA and head != prefix:
        return f"{stem}/*"
    return f"{head}{slash}{_FAMILY}*" if name.startswith(_FAMILY) else key
