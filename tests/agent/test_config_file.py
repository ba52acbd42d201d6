"""Whatever a file or a variable holds: settings that can be worked with, or a fault in words."""

import datetime as dt
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent import settings as sections
from agent.config import ConfigError, load
from agent.settings import Section, Settings

SECTIONS = [
    kind
    for kind in vars(sections).values()
    if isinstance(kind, type) and issubclass(kind, Section) and kind is not Section
]
NAMES = sorted({field.encode_name for s in SECTIONS for field in msgspec.structs.fields(s)})
WORDS = ["/data", "ssd", "observe", "cpu", "gold", "In", "Gt", "1", "a.b:1", "example.com"]
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.dates(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.sampled_from(WORDS),
)

# A hundred examples on a busy machine.
pytestmark = pytest.mark.timeout(60)
KEYS: st.SearchStrategy[Any] = st.sampled_from(NAMES) | st.text(max_size=3) | st.integers()
TREES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=4),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config") / "config.yaml"


def read(path: Path, content: bytes) -> None:
    """Load and use the settings; an error of any other kind is a bug."""
    path.write_bytes(content)
    with suppress(ConfigError):
        found = load(path, {})
        found.policy()
        found.address()


def faults(path: Path, text: str | bytes) -> list[str]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    return caught.value.faults


@given(st.dictionaries(st.sampled_from(sorted(NAMES)) | KEYS, TREES, max_size=4))
@settings(deadline=None, max_examples=150)
def test_any_tree_is_settings_or_a_configuration_error(file: Path, tree: dict[Any, Any]) -> None:
    read(file, yaml.safe_dump(tree).encode())


@given(st.text(max_size=20).map(str.encode) | st.binary(max_size=20))
@settings(deadline=None)
def test_any_bytes_are_settings_or_a_configuration_error(file: Path, content: bytes) -> None:
    read(file, content)


@given(st.sampled_from(["NODETRUTH_MODE", "NODETRUTH_DISK_PATHS"]), st.text(max_size=20))
@settings(deadline=None)
def test_any_variable_is_a_setting_or_a_configuration_error(name: str, value: str) -> None:
    with suppress(ConfigError):
        load(None, {name: value})


@pytest.mark.parametrize(
    "text",
    [
        *["a: [1", "a:\tb: c", "!!python/object:os.system 1", "a: 1\n---\nb: 2", "[" * 500],
        *[b"\xff\xfe\x00", b"mode: \xe4"],
        *["a: 2026-13-45", "a: 0b_", "a: !!int x", "a: " + "9" * 5000],
    ],
)
def test_what_is_no_yaml_is_said_to_be_none(file: Path, text: str | bytes) -> None:
    (fault,) = faults(file, text)

    assert fault.startswith("is no YAML: ")
    assert "\n" not in fault


@pytest.mark.parametrize("text", ["- 1", "5", "mode", "''", "[]", "false"])
def test_a_file_must_be_a_mapping(file: Path, text: str) -> None:
    assert faults(file, text) == ["must be a mapping of settings"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "none.yaml", {})

    assert caught.value.faults == ["can't be read: No such file or directory; check the path"]
    assert str(tmp_path / "none.yaml") in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {})

    assert caught.value.faults == ["can't be read: Is a directory; check the path"]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "~", "{}", "---\n"])
def test_an_empty_file_leaves_every_default(file: Path, text: str) -> None:
    file.write_text(text)

    assert load(file, {}) == Settings()


def test_the_example_shows_every_default() -> None:
    """Of every setting, or an operator would not know that it is there."""
    example = Path(sections.__file__).parents[1] / "config.example.yaml"

    assert load(example, {}) == Settings()
    assert set(yaml.safe_load(example.read_text())) == {
        field.encode_name for field in msgspec.structs.fields(Settings)
    }
