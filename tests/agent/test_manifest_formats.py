"""What a manifest says, and what is said of one that lies."""

import io

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent.probes import manifest_formats
from agent.probes.manifest_formats import BadManifest, read
from agent.probes.shards import UNSIZED, Shards

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)

SUM = "9F86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
YAML, SUMS = "nodetruth.yaml", "SHA256SUMS"
FORM = "write `shards:` and, indented below it, one `NAME: BYTES` a line"
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=30)
GOOD = NAMES.filter(lambda name: name not in {".", ".."})


def shards(file: str, text: str | bytes) -> Shards:
    return read(file, io.BytesIO(text.encode() if isinstance(text, str) else text))


def fault(file: str, text: str | bytes) -> str:
    with pytest.raises(BadManifest) as caught:
        shards(file, text)
    return str(caught.value)


def in_order(found: Shards, *names: str) -> bool:
    return len(found) == len(names) and [found.find(name) for name in names] == list(
        range(len(names))
    )


def test_what_sha256sum_writes_is_read() -> None:
    found = shards(
        SUMS,
        f"# made by hand\n\n{SUM}  a.tar\n{SUM} *b.tar\r\n{SUM}  ./c/d e.tar\n"
        f"\\{SUM}  new\\nline\\\\\n{SUM}   *star",
    )

    assert in_order(found, "a.tar", "b.tar", "c/d e.tar", "new\nline\\", " *star")
    assert list(found.sizes) == [UNSIZED] * 5
    assert list(found.folders) == ["", "c"]
    assert not found.sized


@given(st.lists(GOOD, min_size=1, max_size=20, unique=True))
def test_every_name_that_sha256sum_escapes_is_read_back(names: list[str]) -> None:
    def line(name: str) -> str:
        escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        return f"{'' if escaped == name else chr(92)}{SUM}  {escaped}\n"

    assert in_order(shards(SUMS, "".join(map(line, names))), *names)


@pytest.mark.parametrize(
    "text",
    [
        "shards:\n  a.tar: 123\n  b/c.tar:\n  007: ~\n  yes: null\n  d: 0\n",
        '{"shards": {"a.tar": 123, "b/c.tar": null, "007": null, "yes": null, "d": 0}}',
        "# ours\n---\nshards: {a.tar: 123, ./b/c.tar: , 007: , 'yes': ~, ? d : 0}\n...\n",
    ],
)
def test_our_own_form_keeps_names_as_they_are_written(text: str) -> None:
    found = shards(YAML, text)

    assert in_order(found, "a.tar", "b/c.tar", "007", "yes", "d")
    assert list(found.sizes) == [123, UNSIZED, UNSIZED, UNSIZED, 0]


def test_a_manifest_of_which_every_size_is_named_is_sized() -> None:
    assert shards(YAML, "shards: {a: 1, b: 2}").sized


@given(st.dictionaries(GOOD, st.integers(0, 10**18 - 1), min_size=1, max_size=20))
def test_what_a_yaml_writer_writes_is_read_back(sizes: dict[str, int]) -> None:
    text = yaml.safe_dump({"shards": sizes}, sort_keys=False)

    found = shards(YAML, text)

    assert in_order(found, *sizes)
    assert list(found.sizes) == list(sizes.values())


def test_100_000_names_are_told_apart() -> None:
    names = [f"{n}.tar" for n in range(100_000)]

    found = shards(SUMS, "".join(f"{SUM}  {name}\n" for name in names))

    assert in_order(found, *names)
    assert found.find("100000.tar") is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "leads out of the folder; name a file below the folder"),
        ("a/../../b", "leads out of the folder; name a file below the folder"),
        ("..", "leads out of the folder; name a file below the folder"),
        ("a/", "names no file; name a file below the folder"),
        ("a//b", "names no file; name a file below the folder"),
        ("././a", "names no file; name a file below the folder"),
        ("./", "names no file; name a file below the folder"),
    ],
)
def test_a_name_that_is_no_file_below_the_folder_is_a_lie(name: str, why: str) -> None:
    assert fault(SUMS, f"{SUM}  b\n{SUM}  {name}\n") == f"line 2: '{name}' {why}"
    assert fault(YAML, f"shards:\n  {name}: 1\n") == f"line 2: '{name}' {why}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{SUM[1:]}  a", f"line 1: '{SUM[1:]}  a' is no sum and name; write it as `sha256sum"),
        (f"{SUM} a", "is no sum and name"),
        (f"SHA256 (a) = {SUM}", "is no sum and name"),
        (f"{SUM}  ", "is no sum and name"),
        (f"{SUM}  a\n\n{SUM}  ./a", "line 3: './a' is there twice; name it once"),
        (f"{SUM}  a\0", "line 1: 'a\\x00' can be no file's name"),
        (f"{SUM}  {'x' * 5000}", "can be no file's name"),
        (f"{SUM}  {'x' * 10_000}", "is no sum and name"),
        (f"\\{SUM}  a\\t", "line 1: '\\\\t' is no escape; there are \\\\, \\n and \\r"),
        (f"\\{SUM}  a\\", "is no escape"),
        (b"%b  \xff" % SUM.encode(), "line 1: is not UTF-8; write the names in UTF-8"),
        ("", "names no shards; name one, or take the manifest away"),
        ("# nothing\n", "names no shards"),
    ],
)
def test_sums_that_lie_are_a_fault_with_words(text: str | bytes, words: str) -> None:
    assert words in fault(SUMS, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", f"line 1: the end has no place here; {FORM}"),
        ("shards:", "has no place here"),
        ("shards: {}", "names no shards"),
        ("shards: [a, b]", "line 1: a list has no place here"),
        ("shards: {a: {size: 1}}", "a mapping has no place here"),
        ("shards: {[a]: 1}", "a list has no place here"),
        ("files: {a: 1}", "line 1: 'files' has no place here"),
        ("shards: {a: 1}\nversion: 2", "line 2: 'version' has no place here"),
        ("shards: {a: 1}\n---\nshards: {b: 1}", "a second document has no place here"),
        ("shards:\n  a: -5", "line 2: '-5' is no size of 'a'; write whole bytes such as 1048576"),
        ("shards: {a: 0x10}", "'0x10' is no size"),
        ("shards: {a: 010}", "'010' is no size"),
        ("shards: {a: 1e3}", "'1e3' is no size"),
        ("shards: {a: 1000000000000000000}", "is no size"),
        ("shards: {a: '~'}", "'~' is no size"),
        ("shards: {a: \N{ARABIC-INDIC DIGIT ONE}}", "is no size"),
        ("shards:\n  a: 1\n  a: 2", "line 3: 'a' is there twice"),
        ("shards: {a: 1", "is no YAML: did not find expected ',' or '}'"),
        ("a: &a [x, x]\nshards: *a", "'a' has no place here"),
        ("shards: &a {a: 1}", "an anchor, alias or tag has no place here"),
        ("shards: {a: *a}", "an anchor, alias or tag has no place here"),
        ("shards: {a: !!int 5}", "an anchor, alias or tag has no place here"),
        ("!!python/object/apply:os.system [id]", "an anchor, alias or tag has no place here"),
        ("[" * 100_000, "is no YAML"),
        ('shards: {"a\\0": 1}', "'a\\x00' can be no file's name"),
        (b"shards: {\xff: 1}", "is no YAML"),
        ("shards: {a: 1}".encode("utf-16"), "line 1: is not UTF-8; write it in UTF-8"),
    ],
)
def test_yaml_of_another_form_is_a_fault_with_words(text: str | bytes, words: str) -> None:
    assert words in fault(YAML, text)


@given(st.binary(max_size=200), st.sampled_from([YAML, SUMS]))
def test_no_bytes_break_the_reader(raw: bytes, file: str) -> None:
    with pytest.raises(BadManifest):
        shards(file, raw)


def test_a_manifest_of_too_many_shards_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_formats, "MOST_SHARDS", 3)

    assert len(shards(YAML, "shards: {a: , b: , c: }")) == 3
    words = fault(YAML, "shards:\n  a:\n  b:\n  c:\n  d:\n")
    assert words == "line 5: more than 3 shards; make several datasets"


@pytest.mark.parametrize("text", ['shards: {"\\ud800": 1}', 'shards: {"a": \\ud800}', "\ufffe"])
def test_the_parser_written_in_python_serves_as_well(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """PyYAML comes without its own in C where there is no wheel of it."""
    monkeypatch.setattr(manifest_formats, "_LOADER", yaml.SafeLoader)

    assert in_order(shards(YAML, "shards: {a: 1, b: 2}"), "a", "b")
    assert fault(YAML, text)
