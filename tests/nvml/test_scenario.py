"""That a mistake in a scenario is named with its place and its way out."""

from pathlib import Path
from typing import Any

import pytest

from tests.nvml import tables
from tests.nvml.build import functions
from tests.nvml.conftest import Start
from tests.nvml.products import pynvml
from tests.nvml.scenario import ScenarioError, compile_scenario, read
from tests.nvml.scene import Scene
from tests.nvml.spelling import word

T4 = {"product": "Tesla T4", "pci": "03:00.0"}
A30 = {"product": "NVIDIA A30", "pci": "04:00.0"}
INSTANCE = {"profile": "1g.6gb", "memory": 5952}


def fault(**fields: Any) -> dict[str, Any]:
    return {"errors": [{"call": "nvmlDeviceGetName", **fields}]}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field": ({"gpu": []}, "unknown field `gpu`; README.md lists the fields"),
    "a field of a wrong type": ({"gpus": [{**T4, "lost": 1}]}, "`$.gpus[0].lost`; README.md"),
    "no product": ({"gpus": [{"pci": "03:00.0"}]}, "missing required field `product`"),
    "a product we have no facts of": (
        {"gpus": [{**T4, "product": "T4"}]},
        "gpus[0].product 'T4' is not in products.toml; add it there, or take another",
    ),
    "no address": (
        {"gpus": [T4, {**T4, "pci": "3"}]},
        "gpus[1].pci '3' is no PCI address; write it as lspci does, e.g. 0000:1b:00.0",
    ),
    "two cards in one place": (
        {"gpus": [T4, {**T4, "pci": "0000:03:00.0"}]},
        "gpus[].pci 00000000:03:00.0 is given more than once; a place holds one card",
    ),
    "two cards with one UUID": (
        {"gpus": [{**T4, "pci": ["03:00.0", "04:00.0"], "uuid": "GPU-1"}]},
        "would be shared by several cards; give the card a table of its own",
    ),
    "a card that can't be cut": (
        {"gpus": [{**T4, "mig": {"enabled": True}}]},
        "gpus[0].mig: Tesla T4 can't be cut; remove it, or take a product that can",
    ),
    "more instances than fit": (
        {"gpus": [{**A30, "mig": {"enabled": True, "instances": [{**INSTANCE, "count": 5}]}}]},
        "gpus[0].mig.instances are too many; NVIDIA A30 has at most 4",
    ),
    "instances while the mode is off": (
        {"gpus": [{**A30, "mig": {"enabled": False, "instances": [INSTANCE]}}]},
        "gpus[0].mig.instances while the mode is off; say enabled = true, or remove them",
    ),
    "a fabric for a card that joins none": (
        {"gpus": [{**T4, "fabric": {}}]},
        "gpus[0].fabric: Tesla T4 joins none; remove it",
    ),
    "an unknown call": (
        {"errors": [{"call": "nvmlDeviceGetNam", "hang": True}]},
        "errors[0].call 'nvmlDeviceGetNam' is no function of the stand-in; add a row to",
    ),
    "an answer to an unknown call": (
        {"gpus": [{**T4, "answers": {"name": "x"}}]},
        "gpus[0].answers 'name' is no function",
    ),
    "an answer that is no bytes": (
        {"answers": {"nvmlSystemGetDriverVersion": "∞"}},
        "answers.nvmlSystemGetDriverVersion has a character that is no byte",
    ),
    "a version that is no bytes": ({"driver": "∞"}, "- at `$.driver`; README.md"),
    "a missing function that never was": (
        {"missing": ["nvml"]},
        "missing[0] 'nvml' is no function",
    ),
    "an unknown error": (
        {"gpus": [{**T4, **fault(error="Lost")}]},
        "gpus[0].errors[0].error 'Lost' is no NVML error; one of AlreadyInitialized, ",
    ),
    "a success that is an error": (fault(error=0), "errors[0].error 0 is no NVML error"),
    "a fault without a fault": (fault(), "give one of error, hang = true, crash = true"),
    "a fault with two": (fault(hang=True, crash=True), "give one of error, hang = true"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_way_out(tmp_path: Path, mistake: str) -> None:
    tree, said = MISTAKES[mistake]

    with pytest.raises(ScenarioError) as caught:
        compile_scenario(tree, tmp_path / "flat")

    assert said in str(caught.value)
    assert str(caught.value).startswith("scenario: ")
    assert list(tmp_path.iterdir()) == []


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "nvml.toml"
    file.write_text('[[gpus]]\nproduct = "T5"\npci = "x"\nfabric = { status = "Bad" }\n')

    with pytest.raises(ScenarioError) as caught:
        read(file)

    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{file}: gpus[0].product 'T5'")
    assert second.startswith(f"{file}: gpus[0].pci 'x'")


@pytest.mark.parametrize(("text", "said"), [("a = [", "nvml.toml: "), (None, "check the path")])
def test_a_file_that_holds_no_scenario_is_named(
    tmp_path: Path, text: str | None, said: str
) -> None:
    file = tmp_path / "nvml.toml"
    if text is not None:
        file.write_text(text)

    with pytest.raises(ScenarioError, match=str(file)) as caught:
        read(file)

    assert said in str(caught.value)


def test_the_example_of_the_readme_is_a_scenario(load: Start, tmp_path: Path) -> None:
    readme = Path(__file__).with_name("README.md").read_text()
    file = tmp_path / "nvml.toml"
    file.write_text(readme.split("```toml\n")[1].split("```")[0])
    tree = Scene(file, tmp_path / "flat").tree
    load(**{**tree, "errors": []})

    pynvml.nvmlInit()

    assert pynvml.nvmlDeviceGetCount() == 10


def test_the_readme_names_every_field() -> None:
    readme = Path(__file__).with_name("README.md").read_text()
    fields = {
        field for table in tables.Strict.__subclasses__() for field in table.__struct_fields__
    }

    assert {field for field in fields if f"`{field}`" not in readme} == set()


def test_every_function_is_one_that_pynvml_asks_for_or_its_old_name() -> None:
    asked = set(Path(str(pynvml.__file__)).read_text().split('"'))

    assert functions() - asked == {"nvmlInit_v2"}


def test_any_byte_can_be_in_a_word() -> None:
    spelt = word("".join(map(chr, range(256))))

    assert not set(spelt) & set(" \t\n")
    assert spelt[:6] == "%00%01"
    assert word("%25 é") == "%2525%20%E9"


def test_only_a_card_that_there_is_can_change(load: Start) -> None:
    scene = load(gpus=[T4])

    with pytest.raises(ScenarioError, match=r"there is no card at 09:00\.0"):
        scene.change_card("09:00.0", lost=True)
    scene.change_card("0000:03:00.0", lost=True)

    assert scene.tree["gpus"] == [{**T4, "pci": "00000000:03:00.0", "lost": True}]
