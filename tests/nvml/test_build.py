"""That the stand-in is built once, whole, and says so where it can't be."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.nvml import build
from tests.nvml.build import NAME, NoLibraryError, cache, library


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "nodetruth" / "nvml"


def test_the_cache_is_where_the_user_wants_it() -> None:
    assert cache({"XDG_CACHE_HOME": "/c"}) == Path("/c/nodetruth/nvml")
    assert cache({}) == Path.home() / ".cache/nodetruth/nvml"


def test_the_library_is_built_once(home: Path) -> None:
    first = library()
    made = first.stat()
    second = library()

    assert first == second == home / first.parent.name / NAME
    assert second.stat().st_mtime_ns == made.st_mtime_ns
    assert list(home.iterdir()) == [first.parent], "no leftovers"


def test_each_set_of_missing_functions_has_its_library() -> None:
    one, two = "nvmlDeviceGetName", "nvmlDeviceGetUUID"

    assert library([one, two]) == library([two, one, two])
    assert len({library(), library([one]), library([one, two])}) == 3


def test_runs_that_build_at_once_agree(home: Path) -> None:
    code = "from tests.nvml.build import library; print(library())"
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[2]
    runs = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) for _ in range(2)]

    said = {run.communicate()[0] for run in runs}

    assert [run.returncode for run in runs] == [0, 0]
    assert said == {f"{library()}\n".encode()}
    assert len(list(home.iterdir())) == 1


def test_without_a_compiler_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.version.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NoLibraryError, match="no `cc` on PATH; install a C compiler"):
        library()


def test_what_the_compiler_says_is_passed_on(home: Path) -> None:
    with pytest.raises(NoLibraryError, match=r"cc ended with 1:\n(.*\n)*.*nonsense"):
        build.build(home / "digest" / NAME, ["-fnonsense"])

    assert list(home.iterdir()) == []


def test_a_place_that_is_taken_is_named(home: Path) -> None:
    (home / "digest").mkdir(parents=True)
    (home / "digest" / "something").touch()

    with pytest.raises(NoLibraryError, match=f"{home}/digest can't be made; remove what is there"):
        build.build(home / "digest" / NAME, build.FLAGS)
