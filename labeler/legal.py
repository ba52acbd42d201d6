"""Make any text a legal label value or key name, without silent collisions.

A value is at most 63 bytes of ``[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?``
(``k8s.io/apimachinery/pkg/api/validate/content``). Pure.
"""

import re
from hashlib import sha256
from typing import Final

LIMIT: Final = 63
"""Bytes in a label value, and in the name part of a label key."""
PREFIX_LIMIT: Final = 253
DIGEST: Final = 10
"""Hex digits of the hash, 40 bits: among 1,000 names two meet in one site of two million."""

_VALUE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_STRANGE = re.compile(r"[^A-Za-z0-9_.]+", re.ASCII)
_EDGE = "-_."


def is_value(text: str) -> bool:
    """Tell whether Kubernetes takes ``text`` as a label value; empty is one."""
    return text == "" or is_name(text)


def is_name(text: str) -> bool:
    """Tell whether ``text`` can be the part of a label key after the slash."""
    return len(text) <= LIMIT and _VALUE.fullmatch(text) is not None


def is_prefix(text: str) -> bool:
    """Tell whether ``text`` can be the part of a label key before the slash."""
    return len(text) <= PREFIX_LIMIT and _SUBDOMAIN.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Tell whether ``text`` can be a whole label key."""
    prefix, slash, name = text.rpartition("/")
    return is_name(name) and (is_prefix(prefix) if slash else True)


def readable(text: str) -> str:
    """Return a legal value that reads like ``text``; two texts may share one.

    For words of ours and product names, where the reader matters more than
    telling ``a b`` from ``a-b``.
    """
    return _STRANGE.sub("-", text).strip(_EDGE)[:LIMIT].rstrip(_EDGE)


def distinct(text: str, limit: int = LIMIT) -> str:
    """Return ``text`` itself where it is legal, else a readable head plus a hash of the whole.

    For names that people gave: two names that read alike stay two values.
    """
    if len(text) <= limit and is_name(text):
        return text
    digest = sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:DIGEST]
    head = readable(text)[: limit - DIGEST - 1].rstrip(_EDGE)
    return f"{head}-{digest}" if head else digest
