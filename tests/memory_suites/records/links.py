"""The part of ``MemorySuite`` about links: the graph, neighbours, paths, names."""

from __future__ import annotations

import pytest

from recollect.errors import Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.values import Graph
from tests.memory_suites.behind import BehindSuite


def _facts(memory: Memory, *ids: str) -> None:
    for id in ids:
        memory.remember(f"What {id} says.", id=id)


def _ids(graph: Graph) -> list[str]:
    return [record.id for record in graph.records]


def _ends(graph: Graph) -> list[tuple[str, str]]:
    return [(link.source, link.target) for link in graph.links]


def _chain(memory: Memory) -> None:
    """r-one → r-two → r-three ← r-four, and r-five apart."""
    _facts(memory, "r-one", "r-two", "r-three", "r-four", "r-five")
    memory.graph.link("r-one", "r-two", "cites")
    memory.graph.link("r-two", "r-three", "supports")
    memory.graph.link("r-four", "r-three", "cites")


class LinksSuite(BehindSuite):
    """Links are followed from record to record, as far as a caller may see."""

    def test_neighbours_are_the_records_within_so_many_links(self, memory: Memory) -> None:
        _chain(memory)
        assert _ids(memory.graph.neighbours("r-one")) == ["r-one", "r-two"]
        two = memory.graph.neighbours("r-one", hops=2)
        assert _ids(two) == ["r-one", "r-two", "r-three"]
        assert _ends(two) == [("r-one", "r-two"), ("r-two", "r-three")]
        assert _ids(memory.graph.neighbours("r-one", hops=16)) == [
            "r-one",
            "r-two",
            "r-three",
            "r-four",
        ]
        assert memory.graph.neighbours("r-five") == Graph(records=(memory.list(limit=1)[0],))

    def test_neighbours_keep_to_a_direction_and_to_kinds(self, memory: Memory) -> None:
        _chain(memory)
        near = memory.graph.neighbours
        assert _ids(near("r-three", direction="out")) == ["r-three"]
        assert _ids(near("r-three", direction="in")) == ["r-three", "r-four", "r-two"]
        assert _ids(near("r-one", direction="out", hops=9)) == ["r-one", "r-two", "r-three"]
        assert _ids(near("r-three", kinds=["cites"])) == ["r-three", "r-four"]
        assert _ids(near("r-three", kinds=["cites", "supports"], direction="in", hops=3)) == [
            "r-three",
            "r-four",
            "r-two",
            "r-one",
        ]

    def test_a_limit_on_neighbours_is_told(self, memory: Memory) -> None:
        _facts(memory, "r-hub", *(f"r-{number}" for number in range(5)))
        for number in range(5):
            memory.graph.link("r-hub", f"r-{number}")
        some = memory.graph.neighbours("r-hub", limit=3)
        assert _ids(some) == ["r-hub", "r-4", "r-3"]
        assert some.more
        assert not memory.graph.neighbours("r-hub", limit=6).more
        assert memory.graph.neighbours("r-hub", limit=1).more
        for number in range(12):  # more links than a limit of one allows to read
            memory.graph.link("r-0", "r-1", f"kind-{number}")
        assert memory.graph.neighbours("r-1", kinds=[f"kind-{n}" for n in range(12)], limit=1).more

    def test_exactly_as_many_links_as_are_read_are_not_more(self, memory: Memory) -> None:
        _facts(memory, "r-one", "r-two")
        for number in range(20):
            memory.graph.link("r-one", "r-two", f"kind-{number}")
        whole = memory.graph.neighbours("r-one", limit=2)
        assert (len(whole.links), whole.more) == (20, False)
        memory.graph.link("r-one", "r-two", "kind-20")
        cut = memory.graph.neighbours("r-one", limit=2)
        assert (len(cut.links), cut.more) == (20, True)

    def test_links_to_what_is_hidden_use_up_no_limit(self, memory: Memory) -> None:
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        _facts(ann, "a-one", "a-two", "a-gone")
        ann.graph.link("a-one", "a-two")
        before = ann.graph.neighbours("a-one", limit=2)
        assert (_ids(before), before.more) == (["a-one", "a-two"], False)
        _facts(ben, *(f"b-{number}" for number in range(21)))
        for number in range(21):
            memory.graph.link("a-one", f"b-{number}")
            memory.graph.link(f"b-{number}", "a-one")
            ann.graph.link("a-one", "a-gone", f"kind-{number}")
        assert memory.graph.neighbours("a-one", limit=2).more  # the control
        assert ann.graph.neighbours("a-one", limit=2).more
        ann.forget("a-gone")
        assert ann.graph.neighbours("a-one", limit=2) == before
        assert ann.graph.neighbours("a-one", limit=2, include=["forgotten"]).more

    def test_a_path_is_the_shortest(self, memory: Memory) -> None:
        _chain(memory)
        way = memory.graph.path("r-one", "r-four")
        assert _ids(way) == ["r-one", "r-two", "r-three", "r-four"]
        assert _ends(way) == [
            ("r-one", "r-two"),
            ("r-two", "r-three"),
            ("r-four", "r-three"),
        ]
        memory.graph.link("r-four", "r-one", "cites")
        assert _ids(memory.graph.path("r-one", "r-four")) == ["r-one", "r-four"]
        assert _ids(memory.graph.path("r-one", "r-one")) == ["r-one"]

    def test_no_path_is_an_empty_graph(self, memory: Memory) -> None:
        _chain(memory)
        assert memory.graph.path("r-one", "r-five") == Graph()
        assert memory.graph.path("r-one", "r-four", direction="out") == Graph()
        assert memory.graph.path("r-one", "r-three", kinds=["cites"]) == Graph()
        assert _ids(memory.graph.path("r-three", "r-one", direction="in")) == [
            "r-three",
            "r-two",
            "r-one",
        ]

    def test_the_whole_graph_comes_in_pages(self, memory: Memory) -> None:
        _chain(memory)
        whole = memory.graph.list()
        assert _ids(whole) == ["r-five", "r-four", "r-three", "r-two", "r-one"]
        assert sorted(_ends(whole)) == [
            ("r-four", "r-three"),
            ("r-one", "r-two"),
            ("r-two", "r-three"),
        ]
        assert not whole.more
        pages = [memory.graph.list(limit=2)]
        while pages[-1].more:
            pages.append(memory.graph.list(limit=2, after=pages[-1].records[-1].id))
        assert [_ids(page) for page in pages] == [
            ["r-five", "r-four"],
            ["r-three", "r-two"],
            ["r-one"],
        ]
        assert [end for page in pages for end in _ends(page)] == _ends(whole)
        assert _ends(memory.graph.list(kinds=["supports"])) == [("r-two", "r-three")]
        assert memory.at(0).graph.list() == Graph()

    def test_what_is_hidden_is_not_walked_through(self, memory: Memory) -> None:
        _chain(memory)
        before = memory.events.position
        memory.forget("r-two")
        assert _ids(memory.graph.neighbours("r-one", hops=3)) == ["r-one"]
        assert memory.graph.path("r-one", "r-three") == Graph()
        assert "r-two" not in str(memory.graph.list().links)
        seen = memory.graph.neighbours("r-one", hops=2, include=["forgotten"])
        assert _ids(seen) == ["r-one", "r-two", "r-three"]
        with pytest.raises(NotFound, match="forgotten"):
            memory.graph.neighbours("r-two")
        past = memory.at(before)
        assert _ids(past.graph.path("r-one", "r-three")) == ["r-one", "r-two", "r-three"]

    def test_unverified_links_are_not_followed(self, memory: Memory) -> None:
        _facts(memory, "r-one", "r-two")
        memory.scoped(trust="unverified").graph.link("r-one", "r-two")
        assert _ids(memory.graph.neighbours("r-one")) == ["r-one"]
        assert memory.graph.list().links == ()
        assert memory.graph.path("r-one", "r-two") == Graph()
        assert _ids(memory.graph.neighbours("r-one", include=["waiting"])) == ["r-one", "r-two"]
        assert _ids(memory.graph.path("r-one", "r-two", include=["waiting"])) == ["r-one", "r-two"]

    def test_the_graph_of_the_past_is_as_it_was(self, memory: Memory) -> None:
        _chain(memory)
        then = memory.at(memory.events.position)
        whole, near = then.graph.list(), then.graph.neighbours("r-one", hops=9)
        memory.graph.unlink("r-two", "r-three", "supports")
        memory.graph.link("r-five", "r-one")
        memory.revise("r-one", "Something else.")
        assert (then.graph.list(), then.graph.neighbours("r-one", hops=9)) == (whole, near)
        assert _ids(then.graph.path("r-one", "r-four"))[2] == "r-three"
        assert memory.graph.path("r-one", "r-four") == Graph()
        assert _ids(memory.graph.neighbours("r-one")) == ["r-one", "r-five", "r-two"]

    def test_another_users_records_are_not_walked_through(self, memory: Memory) -> None:
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        _facts(ann, "a-one", "a-two", "a-three")
        _facts(ben, "b-one")
        memory.graph.link("a-one", "b-one")
        memory.graph.link("b-one", "a-two")
        ann.graph.link("a-two", "a-three")
        assert _ids(ann.graph.neighbours("a-one", hops=9)) == ["a-one"]
        assert ann.graph.path("a-one", "a-two") == Graph()
        assert _ids(ann.graph.list()) == ["a-three", "a-two", "a-one"]
        assert _ends(ann.graph.list()) == [("a-two", "a-three")]
        every = ["a-one", "b-one", "a-two", "a-three"]  # the control
        assert _ids(memory.graph.neighbours("a-one", hops=9)) == every
        assert _ids(memory.graph.path("a-one", "a-two")) == every[:3]
        with pytest.raises(NotFound):
            ann.graph.neighbours("b-one")
        with pytest.raises(NotFound):
            ben.graph.path("b-one", "a-one")

    def test_a_link_keeps_the_name_that_another_system_gave_it(self, memory: Memory) -> None:
        _facts(memory, "r-one", "r-two")
        assert memory.graph.link("r-one", "r-two", name="edge-7").name == "edge-7"
        (link,) = memory.why("r-one").links
        assert link.name == "edge-7"
        again = memory.graph.link("r-one", "r-two", weight=0.5)
        assert (again.name, again.weight) == ("edge-7", 0.5)
        assert memory.graph.link("r-one", "r-two", weight=0.5, name="edge-8").name == "edge-8"
        memory.undo()
        assert memory.graph.list().links[0].name == "edge-7"
        assert memory.at(link.seq).graph.list().links[0].name == "edge-7"
        unnamed = memory.graph.link("r-two", "r-one")
        assert unnamed.name is None
        memory.graph.link("r-two", "r-one", name="new")
        memory.undo()
        assert memory.graph.neighbours("r-two", direction="out").links[0].name is None

    def test_check_finds_nothing_in_what_was_written_here(
        self, memory: Memory, engine: Memory
    ) -> None:
        _chain(memory)
        memory.graph.unlink("r-one", "r-two", "cites")
        memory.forget("r-two")
        memory.erase("r-three")
        assert memory.admin.check() == []
        assert not {"links", "events"} & {finding.what for finding in engine.admin.doctor()}
        with pytest.raises(Forbidden):
            memory.scoped(user="ann").admin.check()

    def test_wrong_arguments_are_refused(self, memory: Memory) -> None:
        _facts(memory, "r-one")
        (episode,) = memory.observe("Said.")
        for wrong in ({"hops": 0}, {"hops": 17}, {"limit": 0}, {"direction": "up"}):
            with pytest.raises(InvalidInput):
                memory.graph.neighbours("r-one", **wrong)
        for kinds in ("cites", 3, [""]):
            with pytest.raises(InvalidInput):
                memory.graph.path("r-one", "r-one", kinds=kinds)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="episode"):
            memory.graph.neighbours(episode.id)
        with pytest.raises(NotFound):
            memory.graph.list(after="r-none")
