"""Draw Nodes, facts and policies for the laws."""

from hypothesis import strategies as st

from labeler.datasets import Dataset
from labeler.desired import Policy
from labeler.facts import (
    Card,
    Cpu,
    Data,
    Disk,
    Facts,
    Gpu,
    Known,
    Medium,
    Memory,
    Probe,
    Sharing,
    Unknown,
)
from labeler.rules import Operator, Requirement, Rule
from labeler.seen import Seen, Taint
from labeler.spelling import GpuWords
from labeler.vocabulary import ANNOTATIONS, Effect, Label, Mode, TaintKey, Vocabulary

PREFIXES = st.sampled_from(["", "example.com"])
DERIVED = ("size", "grade")
STEMMED = ("accelerator.nvidia-h100", "accelerator.x", "data/imagenet", "data-percent/block1")
WORDS = st.sampled_from(["a", "b-c", "ssd", "healthy", "true", "0", "7", "64", "x.y", "9" * 63])
TEXTS = st.sampled_from(
    [
        *("", "plain", "{}", '{"size": "7"}', "[1", "[" * 2000, "\ud800"),
        '{"boot": "b1", "uid": "u1", "facts": {"memory": {"total": 1}}, "unknown": {"cpu": "x"}}',
        '{"boot": "b1", "uid": "u1", "facts": {"memory": {"total": 0}}}',
        '{"boot": "b1", "uid": "u1", "facts": {"cpu": {"family": "", "cores": 7}}}',
    ]
)
EFFECTS = st.sampled_from([Effect.NO_SCHEDULE, Effect.PREFER_NO_SCHEDULE, Effect.NO_EXECUTE])


def requirements(keys: list[str]) -> st.SearchStrategy[Requirement]:
    """Draw a matchExpression that Kubernetes would take, over one of the keys."""
    key = st.sampled_from(keys)
    lists = st.sampled_from([Operator.IN, Operator.NOT_IN])
    bare = st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])
    bounds = st.sampled_from([Operator.GT, Operator.LT])
    return st.one_of(
        st.builds(Requirement, key, lists, st.tuples(WORDS)),
        st.builds(Requirement, key, bare),
        st.builds(Requirement, key, bounds, st.tuples(st.integers(0, 99).map(str))),
    )


@st.composite
def rulebooks(draw: st.DrawFn) -> tuple[Rule, ...]:
    """Draw rules of which each builds on labels of ours and of the rules above it alone."""
    rules: list[Rule] = []
    for label in draw(st.lists(st.sampled_from(DERIVED), max_size=4)):
        keys = [*map(str, Label), *STEMMED, *(rule.label for rule in rules)]
        needs = draw(st.lists(requirements(keys), min_size=1, max_size=3))
        rules.append(Rule(label, draw(WORDS), tuple(needs)))
    return tuple(rules)


CPUS = st.builds(Cpu, WORDS, st.integers(1, 512))
MEMORIES = st.builds(Memory, st.integers(1 << 28, 1 << 45))
DISKS = st.builds(Disk, st.sampled_from(Medium), WORDS, st.lists(WORDS, max_size=3).map(tuple))
PRODUCTS = st.sampled_from(
    ["", "NVIDIA H100 80GB HBM3", "Tesla T4", "NVIDIA A100-SXM4-80GB", "\ufffd", "x" * 300]
)
CARDS = st.builds(
    Card,
    product=PRODUCTS,
    memory=st.sampled_from([0, 1, 85520809984]),
    sharing=st.sampled_from(Sharing),
    clique=st.sampled_from(["", "c0ffee.1", "/"]),
    fault=st.sampled_from(["", "", "lost"]),
    blind=st.sampled_from(["", "", "NoPermission"]),
)
ADDRESSES = st.sampled_from([f"0000:{bus:02x}:00.0" for bus in range(4)])
GPUS = st.builds(
    Gpu,
    st.dictionaries(ADDRESSES, CARDS, max_size=4),
    st.sampled_from(["", "570.1"]),
    st.lists(ADDRESSES, max_size=1).map(tuple),
)
NAMES = st.sampled_from(["imagenet", "block1", "n" * 63])
DATASETS = st.builds(Data, st.dictionaries(NAMES, st.sampled_from([0, 5, 95, 100])))
UNKNOWNS = st.builds(
    Unknown,
    st.sampled_from(["hung", "no such file", "\N{GREEK SMALL LETTER PI}" * 300]),
    st.sampled_from([None, 0, 1200]),
)


@st.composite
def facts(draw: st.DrawFn, *, known: bool = True, unknown: bool = True) -> Facts:
    """Draw the newest fact of some probes."""
    kinds: dict[Probe, st.SearchStrategy[Known]] = {
        Probe.CPU: CPUS,
        Probe.MEMORY: MEMORIES,
        Probe.DISK: DISKS,
        Probe.GPU: GPUS,
        Probe.DATA: DATASETS,
    }
    found: dict[Probe, Known | Unknown] = {}
    for probe, kind in kinds.items():
        choices: list[st.SearchStrategy[Known | Unknown | None]] = [st.none()]
        choices += [kind] if known else []
        choices += [UNKNOWNS] if unknown else []
        fact = draw(st.one_of(choices))
        if fact is not None:
            found[probe] = fact
    return found


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Draw a site's decisions."""
    rules = draw(rulebooks())
    return Policy(
        vocabulary=Vocabulary(draw(PREFIXES), frozenset(rule.label for rule in rules)),
        mode=draw(st.sampled_from([Mode.LABELS, Mode.ENFORCE])),
        required=draw(st.frozensets(st.sampled_from(Probe))),
        gpus=GpuWords(
            draw(st.sampled_from([{}, {"nvidia-h100": "h100"}])), draw(st.integers(0, 5))
        ),
        rules=rules,
        effects={
            TaintKey.MAINTENANCE: draw(st.sampled_from(Effect)),
            TaintKey.UNKNOWN: draw(st.sampled_from(Effect)),
        },
        cordon=draw(st.booleans()),
    )


def _unique(taints: list[Taint]) -> tuple[Taint, ...]:
    return tuple({(taint.key, taint.effect): taint for taint in taints}.values())


TAINTS = st.lists(
    st.builds(
        Taint,
        st.one_of(st.sampled_from(TaintKey).map(str), WORDS),
        EFFECTS.map(str),
        WORDS,
        st.one_of(st.none(), st.just("2026-01-01T00:00:00Z")),
    ),
    max_size=5,
).map(_unique)


@st.composite
def nodes(draw: st.DrawFn) -> Seen:
    """Draw a Node that carries keys of ours and of others."""
    under = Vocabulary("example.com")
    ours = [*Label, *STEMMED, *DERIVED, *map(under.key, [*Label, *STEMMED])]
    keys = st.one_of(st.sampled_from(ours), WORDS)
    return Seen(
        name="n1",
        uid="u1",
        version="1",
        labels=draw(st.dictionaries(keys.map(str), WORDS, max_size=8)),
        annotations=draw(
            st.dictionaries(st.one_of(st.sampled_from(sorted(ANNOTATIONS)), WORDS), TEXTS)
        ),
        taints=draw(TAINTS),
        cordoned=draw(st.booleans()),
    )


def folder_names() -> st.SearchStrategy[str]:
    """Draw the names of folders as they come from a disk, of any bytes."""
    raw = st.binary(min_size=1, max_size=255).filter(lambda name: not {0, 0x2F} & set(name))
    plain = st.sampled_from(["a", "b", "x", "imagenet", "x" * 200, "\N{GREEK SMALL LETTER PI}"])
    return raw.map(lambda name: name.decode("utf-8", "surrogateescape")) | plain


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Draw a dataset of which all, some or none is here."""
    shards = draw(st.integers(1, 40) | st.sampled_from([99, 100, 1000]))
    ones = (1 << shards) - 1
    bits = draw(st.integers(0, ones) | st.sampled_from([0, 1, ones]))
    size = -(-shards // 8)
    present = (bits << (size * 8 - shards)).to_bytes(size, "big")
    return Dataset(draw(folder_names()), shards, present)
