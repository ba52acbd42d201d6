"""What lies below the data roots, as the next agent finds it said by the one before."""

from dataclasses import replace

from agent.loop import Identity, Loop
from agent.newest import Newest, Task
from agent.shelf import Shelf
from labeler import bitmaps
from labeler.api import Api
from labeler.credentials import Credentials
from labeler.datasets import MOST
from labeler.desired import Policy
from labeler.facts import Gpu, Memory, Probe
from labeler.seen import Seen
from labeler.shards import NOTHING, NodeShards
from tests.agent.clock import INTEL, Clock
from tests.agent.test_loop import Record
from tests.agent.test_shelf import Looks
from tests.fakes import FakeNode
from tests.labeler.scripted import reply, serving

NODE = Seen(name="n1", uid="u1", version="1")


class Agent:
    """An agent that has just started: a shelf without memory, and a loop."""

    def __init__(self, node: FakeNode, looks: Looks) -> None:
        self.shelf = Shelf(looks, hashed=False, clock=Clock())  # type: ignore[arg-type]
        probes = {Probe.CPU: lambda: INTEL, Probe.MEMORY: lambda: Memory(1 << 39), Probe.GPU: Gpu}
        answers = {**probes, Probe.DATA: self.shelf.look}
        tasks = [self._task(probe, answers[probe]) for probe in answers]
        self.newest = Newest(tasks)
        policy, identity = Policy(), Identity("b1", "1")
        self.loop = Loop(node, self.newest, policy, identity, (Record(),))

    @staticmethod
    def _task(probe: Probe, look: object) -> Task:
        return Task(probe=probe, look=look, period=60, deadline=5)  # type: ignore[arg-type]

    def round(self) -> None:
        for probe in (Probe.CPU, Probe.MEMORY, Probe.GPU, Probe.DATA):
            self.newest.ask(probe)
        self.loop.turn()


def labelled(node: FakeNode) -> set[str]:
    return {key for key in node.read().labels if key.startswith("data/")}


def test_the_33rd_dataset_stays_out_also_over_a_restart() -> None:
    node, looks = FakeNode(NODE), Looks()
    before = Agent(node, looks)
    looks.shows(**{f"d{number:02d}": 20 for number in range(1, MOST + 1)})
    before.round()
    said = labelled(node)
    looks.shows(**{f"d{number:02d}": 20 for number in range(MOST + 1)})
    before.round()
    assert labelled(node) == said
    assert before.shelf.left_out == 1
    node.writes.clear()

    after = Agent(node, looks)
    after.round()

    assert labelled(node) == said
    assert node.writes == [], "a restart writes nothing"
    assert after.shelf.left_out == 1


def test_what_another_agent_said_of_shards_is_taken_back_where_nothing_lies() -> None:
    looks = Looks()
    shelf = Shelf(looks, hashed=False, clock=Clock())  # type: ignore[arg-type]
    assert shelf.document() is None, "before the first look nobody knows"

    shelf.look()

    word = shelf.document()
    assert word is not None
    assert bitmaps.read(word) == ()


def test_where_nothing_was_ever_said_nothing_is_written() -> None:
    missing = reply("404 Not Found", '{"message": "configmaps not found"}')
    with serving(missing) as (url, asked):
        NodeShards(Api(Credentials(url=url)), "n1").write(NODE, NOTHING)

    assert [request.split(" ", 1)[0] for request in asked] == ["PATCH"]


def test_what_was_said_is_overwritten() -> None:
    with serving(reply("200 OK")) as (url, asked):
        NodeShards(Api(Credentials(url=url)), "n1").write(replace(NODE, uid="u2"), NOTHING)

    assert len(asked) == 1
    assert '\\"datasets\\":[]' in asked[0]
