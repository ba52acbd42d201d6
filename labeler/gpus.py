"""Say what GPUs mean: which model they are, which can be used, and how bad the rest is.

One broken card hides no other, and what was seen of a card in this boot is
not forgotten when the driver can no longer name it. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from labeler import legal
from labeler.facts import GIB, Card, Gpu, Sharing
from labeler.vocabulary import Label, Status, Stem

GONE: Final = "gone from the PCI bus"
MIXED: Final = "mixed"

_DETAIL: Final = re.compile(
    r"\d+(?:\.\d+)?g[bi]*|sxm\d*|pci[ex]?|hbm\w*|nvl\w*|dgxs|fhhl|generation|server|workstation"
    r"|edition|max|laptop|with"
)
"""Where the model's name ends and form, memory and marketing begin."""
_MAKER: Final = "nvidia"
_MODEL_LIMIT: Final = legal.LIMIT - len(Stem.ACCELERATOR)


def family(product: str, aliases: Mapping[str, str]) -> str:
    """Return the model family of a product: ``nvidia-h100`` of ``NVIDIA H100 80GB HBM3``.

    ``aliases`` are the site's own names, by the whole product name or by the
    family that would be said without them.
    """
    words = re.findall(r"[a-z0-9.]+", product.lower())
    words = words[1:] if words[:1] == [_MAKER] else words
    model = words[:1]
    for word in words[1:]:
        if _DETAIL.fullmatch(word):
            break
        model.append(word)
    plain = legal.distinct("-".join([_MAKER, *model]), _MODEL_LIMIT)
    return aliases.get(product) or aliases.get(plain) or plain


def remember(before: Gpu | None, now: Gpu) -> Gpu:
    """Return ``now`` with what ``before`` saw in this boot of cards that can't be seen now."""
    before = before or Gpu()
    missing = before.cards.keys() - now.cards.keys() - set(now.away)
    kept = {
        address: msgspec.structs.replace(before.cards[address], fault=GONE, blind="")
        for address in missing
    }
    cards = {
        address: _merge(before.cards.get(address), card) for address, card in now.cards.items()
    }
    return Gpu(dict(sorted({**kept, **cards}.items())), now.driver or before.driver, now.away)


def _merge(before: Card | None, now: Card) -> Card:
    if before is None:
        return now
    if now.blind:
        return msgspec.structs.replace(before, blind=now.blind)
    if now.fault and not now.product:
        return msgspec.structs.replace(before, fault=now.fault, blind="")
    return now


def spell(gpu: Gpu, aliases: Mapping[str, str], expected: int) -> dict[str, str]:
    """Put the GPUs into labels; a machine without any gets none."""
    total = max(len(gpu.cards), expected - len(gpu.away))
    if not total:
        return {}
    usable = [card for card in gpu.cards.values() if card.usable]
    # Of a card that nobody could look at yet, nobody can say that it does not count.
    open_yet = any(card.blind and not card.product for card in gpu.cards.values())
    return {
        Label.GPU_TOTAL: str(total),
        **({} if open_yet else {Label.GPU_COUNT: str(len(usable))}),
        **(_spell_usable(usable, aliases) if usable else {}),
    }


def _spell_usable(usable: list[Card], aliases: Mapping[str, str]) -> dict[str, str]:
    models = Counter(family(card.product, aliases) for card in usable)
    each = {f"{Stem.ACCELERATOR}{model}": str(count) for model, count in models.items()}
    cliques = {card.clique for card in usable}
    clique = cliques.pop() if len(cliques) == 1 else ""
    return {
        Label.GPU: "true",
        Label.ACCELERATOR: _one(models),
        Label.ACCELERATOR_PRODUCT: _one(legal.readable(card.product) for card in usable),
        Label.GPU_SHARING: _sharing({card.sharing for card in usable}),
        **(each if len(models) > 1 else {}),
        **({Label.GPU_MEMORY_GIB: str(memory // GIB)} if (memory := _memory(usable)) else {}),
        **({Label.GPU_CLIQUE: legal.distinct(clique)} if clique else {}),
    }


def _memory(usable: list[Card]) -> int:
    """Return the smallest piece of memory; 0 where that of one card could not be read."""
    # A card that is cut up and has no instance yet has no piece, and is known to have none.
    pieces = [card.memory for card in usable if card.memory or card.sharing is not Sharing.MIG]
    return min(pieces, default=0)


def _one(values: Iterable[str]) -> str:
    """Return the value that all share, or ``mixed``: never one of several."""
    found = set(values)
    return found.pop() if len(found) == 1 else MIXED


def _sharing(found: set[Sharing]) -> str:
    return Sharing.UNKNOWN.value if Sharing.UNKNOWN in found else _one(found)


def judge(gpu: Gpu, expected: int, *, required: bool) -> Iterator[tuple[Status, str]]:
    """Yield a status and a reason for each card that is not well, and for those that lack."""
    expected -= len(gpu.away)
    lacking = expected - len(gpu.cards)
    none_left = all(card.fault for card in gpu.cards.values())
    grave = Status.UNHEALTHY if none_left else Status.DEGRADED
    for address, card in gpu.cards.items():
        if card.fault:
            yield grave, f"GPU {address}: {card.fault}"
        if card.blind and required:
            yield Status.UNKNOWN, f"GPU {address}: {card.blind}"
    if lacking > 0:
        yield grave, f"{len(gpu.cards)} of {expected} GPUs are there"
