"""The verbs that follow links."""

from __future__ import annotations

from time import process_time

import pytest
from msgspec.structs import replace

from recollect import Memory
from recollect.interfaces.cli.graph import _drawn
from recollect.model.values import Graph
from tests.cli.running import Shell


def chain(store: Shell) -> None:
    for name in ("one", "two", "three", "four", "five"):
        store.run("remember", f"What {name} says.", "--id", f"r-{name}")
    store.run("graph", "link", "r-one", "r-two", "--kind", "cites", "--name", "edge-7")
    store.run("graph", "link", "r-two", "r-three", "--kind", "supports", "--weight", "0.5")
    store.run("graph", "link", "r-four", "r-one")
    store.run("graph", "link", "r-three", "r-one")


def test_graph_draws_what_is_around_a_record(store: Shell) -> None:
    chain(store)
    said = store.run("graph", "show", "r-one", "--hops", "2")
    assert said.code == 0
    assert said.out.splitlines() == [
        "r-one  What one says.",
        "├─ relates_to ← r-three  What three says.",
        "│  └─ supports 0.5 ← r-two (see there)",
        "├─ relates_to ← r-four  What four says.",
        "└─ cites → r-two  What two says.",
    ]
    found = store.run("graph", "show", "r-one", "--kind", "cites", "--json").json
    assert [one["id"] for one in found["records"]] == ["r-one", "r-two"]
    assert (found["links"][0]["name"], found["more"]) == ("edge-7", False)
    some = store.run("graph", "show", "r-one", "--limit", "2", "--direction", "in")
    assert some.out.splitlines()[-1] == "there is more: raise --limit, or ask for one --kind"
    assert store.run("graph", "show", "r-none").code != 0


def test_graph_lists_all(store: Shell) -> None:
    chain(store)
    lines = store.run("graph", "--limit", "4").out.splitlines()
    assert lines == [
        "r-five  What five says.",
        "r-four  What four says.",
        "└─ relates_to → r-one",
        "r-three  What three says.",
        "└─ relates_to → r-one",
        "r-two  What two says.",
        "└─ supports 0.5 → r-three",
        "there is more: --after r-two",
    ]
    rest = store.run("graph", "--after", "r-two").out.splitlines()
    assert rest == ["r-one  What one says.", "└─ cites → r-two"]
    empty = store.run("graph", "--at", "0")
    assert (empty.code, empty.out) == (1, "Nothing is kept here yet.\n")


def test_after_the_last_record_there_is_nothing_more(store: Shell) -> None:
    chain(store)
    end = store.run("graph", "--after", "r-one")
    assert (end.code, end.out) == (0, "Nothing comes after r-one.\n")


def test_options_of_the_other_form_are_refused(store: Shell) -> None:
    chain(store)
    for words, hint in (
        (("--hops", "2"), "recollect graph show ID --hops 2"),
        (("--direction", "in"), "recollect graph show ID --hops 2"),
        (("r-one", "--after", "r-two"), "leave out the id"),
    ):
        said = store.run("graph", "show", *words)
        assert said.code == 2
        assert hint in said.err


def test_path_draws_each_link(store: Shell) -> None:
    chain(store)
    said = store.run("graph", "path", "r-four", "r-two")
    assert said.out.splitlines() == [
        "r-four  What four says.",
        "  ↓ relates_to",
        "r-one  What one says.",
        "  ↓ cites",
        "r-two  What two says.",
    ]
    back = store.run("graph", "path", "r-two", "r-four")
    assert back.out.splitlines()[1] == "  ↑ cites"
    none = store.run("graph", "path", "r-one", "r-five")
    assert (none.code, none.out) == (1, "No path leads from r-one to r-five.\n")
    assert store.run("graph", "path", "r-one", "r-five", "--json").json["records"] == []


def test_a_hostile_text_or_kind_cannot_draw(store: Shell) -> None:
    store.run("remember", "one\n├─ fake → r-x\x1b[31m", "--id", "r-one")
    store.run("remember", "two", "--id", "r-two")
    store.run("graph", "link", "r-one", "r-two", "--kind", "a\nb")
    for said in (
        store.run("graph", "show", "r-one"),
        store.run("graph"),
        store.run("graph", "path", "r-one", "r-two"),
    ):
        assert "\x1b[31m" not in said.out
        assert not any(line.startswith("├─ fake") for line in said.out.splitlines())


@pytest.mark.timing
def test_drawing_many_records_takes_time_in_proportion() -> None:
    def seconds(leaves: int) -> float:
        with Memory.open(":memory:", embedder="none") as memory:
            record = memory.remember("One.", id="r")
            memory.remember("Two.", id="s")
            link = memory.graph.link("r", "s")
        ids = [f"r{number}" for number in range(leaves)]
        found = Graph(
            records=(record, *(replace(record, id=id) for id in ids)),
            links=tuple(replace(link, target=id) for id in ids),
        )
        began = process_time()
        assert sum(1 for _ in _drawn(found)) == leaves + 1
        return process_time() - began

    few = min(seconds(1_000) for _ in range(3))
    assert min(seconds(10_000) for _ in range(3)) < 30 * few
