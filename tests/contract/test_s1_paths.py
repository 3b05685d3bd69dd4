"""S1: paths of a conversation, as branches of the memory, and the events that tell them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.contracts.graph import (
    Action,
    Approval,
    FileBackedMemoryGraphStore,
    GraphStore,
    InMemoryGraphStore,
    MemoryPath,
    Node,
    digest_of,
    paths,
)
from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.model.validate import Json

WORDS = "Ines said that she would rather move the crane on Monday."


@pytest.fixture(params=["files", pytest.param("memory", marks=pytest.mark.nightly)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    if request.param == "memory":
        opened: GraphStore = InMemoryGraphStore()
    else:
        opened = FileBackedMemoryGraphStore(tmp_path, trust="person")
    with opened as store:
        store.save_node(Node(id="n.one", kind="decision", text="Use one journal."))
        yield store
        assert list(store.differing()) == []


def compacted(store: GraphStore, id: str, text: str, reason: str | None = None) -> MemoryPath:
    """Compacts a path with the approval that this needs."""
    action = Action(kind="compact", subject=id, text=text, reason=reason)
    approval = Approval(by="Ines", digest=digest_of([action]))
    return paths.compact(store, id, text, reason=reason, approval=approval)


def heard(id: str, **said: Json) -> dict[str, Json]:
    return {"id": id, "kind": "recorded", **said}


def test_a_path_has_all_its_fields(store: GraphStore) -> None:
    # S1-59 S1-91 S1-92 S1-93 S1-94 S1-114: id, parent, events in their order, whether it is active
    paths.extend(store, "main", heard("e.1"))
    made = paths.branch(store, "try", reason="to compare")
    assert made == MemoryPath(id="try", parent="main", events=("e.1",), is_active=True)
    for id in ("e.9", "e.2"):
        paths.extend(store, "try", heard(id))
    paths.branch(store, "deeper", parent="try")
    assert store.load_path("try").events == ("e.1", "e.9", "e.2")
    assert store.load_path("deeper") == MemoryPath(
        id="deeper", parent="try", events=("e.1", "e.9", "e.2")
    )
    assert store.load_path("main").events == ("e.1",)
    assert [path.id for path in store.list_paths()] == ["deeper", "main", "try"]
    assert [event["path"] for event in store.events.list("recorded")] == ["main", "try", "try"]
    assert store.events.list("branched") == [
        {
            "id": "path:try:branched", "kind": "branched", "path": "try", "parent": "main",
            "reason": "to compare",
        },
        {"id": "path:deeper:branched", "kind": "branched", "path": "deeper", "parent": "try"},
    ]  # fmt: skip


def test_what_is_saved_on_a_path_waits_there(store: GraphStore) -> None:
    # S1-59
    paths.branch(store, "try")
    on = store.on("try")
    on.save_node(Node(id="n.two", kind="claim", text="Two are better."))
    on.save_node(Node(id="n.one", kind="decision", text="Use two journals."))
    assert [node.id for node in store.list_nodes()] == ["n.one"]
    assert store.load_node("n.one").text == "Use one journal."
    assert [node.id for node in on.list_nodes()] == ["n.one", "n.two"]
    assert on.load_node("n.one").text == "Use two journals."


def test_a_merge_makes_the_changes_and_hands_on_the_events(store: GraphStore) -> None:
    # S1-60 S1-94 S1-95 S1-98 S1-114
    paths.extend(store, "main", heard("e.1"))
    paths.branch(store, "try")
    store.on("try").save_node(Node(id="n.two", kind="claim", text="Two are better."))
    paths.extend(store, "try", heard("e.2", nodes=["n.two"]))
    paths.extend(store, "main", heard("e.3"))
    shown = paths.diff(store, "try")
    assert [change.record for change in shown.changes] == ["n.two"]
    with pytest.raises(Conflict):
        paths.merge(store, "try", "0" * 64)
    merged = paths.merge(store, "try", shown.digest)
    assert (merged.is_active, merged.merged_into) == (False, "main")
    assert store.load_path("main").events == ("e.1", "e.3", "e.2")
    assert store.load_node("n.two").text == "Two are better."
    (told,) = store.events.list("merged")
    assert told == {
        "id": "path:try:merged", "kind": "merged", "path": "try", "into": "main",
        "nodes": ["n.two"],
    }  # fmt: skip


def test_a_conflict_is_settled_by_name(store: GraphStore) -> None:  # S1-60
    paths.branch(store, "try")
    store.on("try").save_node(Node(id="n.one", kind="decision", text="Use two journals."))
    store.save_node(Node(id="n.one", kind="decision", text="Use no journal."))
    shown = paths.diff(store, "try")
    (conflict,) = shown.conflicts
    with pytest.raises(Conflict):
        paths.merge(store, "try", shown.digest)
    assert store.load_path("try").is_active
    paths.merge(store, "try", shown.digest, settle={conflict.id: "theirs"})
    assert store.load_node("n.one").text == "Use two journals."


def test_an_abandoned_path_says_why(store: GraphStore) -> None:
    # S1-61 S1-94 S1-96 S1-98
    paths.branch(store, "try")
    store.on("try").save_node(Node(id="n.two", kind="claim", text="Two are better."))
    with pytest.raises(InvalidInput):
        paths.abandon(store, "try", " ")
    left = paths.abandon(store, "try", "a dead end")
    assert left == MemoryPath(
        id="try", parent="main", is_active=False, abandoned_because="a dead end"
    )
    with pytest.raises(NotFound):
        store.load_node("n.two")
    assert store.events.list("abandoned") == [
        {"id": "path:try:abandoned", "kind": "abandoned", "path": "try", "reason": "a dead end"}
    ]


def test_a_compacted_path_is_a_node_with_what_it_rests_on(store: GraphStore) -> None:
    # S1-62 S1-94 S1-97
    paths.branch(store, "try")
    store.on("try").save_node(Node(id="n.one", kind="decision", text="Use two journals."))
    paths.extend(store, "try", heard("e.1"))
    short = compacted(store, "try", "Two journals were tried.", "it was long")
    assert (short.compaction, short.is_active, short.events) == ("compacted", False, ("e.1",))
    assert short.summary is not None
    assert store.load_node(short.summary).text == "Two journals were tried."
    assert store.load_node("n.one").text == "Use one journal."
    assert store.memory.get(short.summary).evidence == ("n.one",)  # type: ignore[union-attr]
    (told,) = store.events.list("compacted")
    assert told["summary"] == short.summary


@pytest.mark.parametrize("how", ["merge", "abandon", "compact"])
def test_what_has_ended_stays_so(store: GraphStore, how: str) -> None:
    # S1-94: active before, and not after
    assert paths.branch(store, "try").is_active
    assert store.load_path("try").is_active
    ends: dict[str, Callable[[], MemoryPath]] = {
        "merge": lambda: paths.merge(store, "try", paths.diff(store, "try").digest),
        "abandon": lambda: paths.abandon(store, "try", "no"),
        "compact": lambda: compacted(store, "try", "It was tried."),
    }
    ends[how]()
    ended = store.load_path("try")
    assert not ended.is_active
    for end in ends.values():
        with pytest.raises(Conflict):
            end()
    with pytest.raises(Conflict):
        paths.extend(store, "try", heard("e.1"))
    with pytest.raises(Conflict):
        paths.branch(store, "next", parent="try")
    with pytest.raises(Conflict):
        paths.branch(store, "try")
    with pytest.raises(Conflict):
        store.on("try")
    assert store.load_path("try") == ended
    assert len(store.events.list()) == 2


def test_no_path_holds_what_was_said(tmp_path: Path) -> None:
    # S1-63 S1-98 S1-114: events name nodes and reasons; the words are in the memory alone
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as store:
        for number, end in enumerate(("merge", "abandon", "compact")):
            id = f"try.{number}"
            paths.branch(store, id)
            store.memory.observe(WORDS, id=f"said.{number}")
            store.on(id).save_node(Node(id=f"n.{number}", kind="claim", text=WORDS + str(number)))
            paths.extend(store, id, heard(f"e.{number}", node_updates=[{"node_id": f"n.{number}"}]))
            if end == "merge":
                paths.merge(store, id, paths.diff(store, id).digest)
            elif end == "abandon":
                paths.abandon(store, id, "a dead end")
            else:
                compacted(store, id, "It was tried.")
        told, summary = store.events.list(), store.load_path("try.2").summary
    assert summary is not None
    assert [event for event in told if event["kind"] != "recorded"] == [
        {"id": "path:try.0:branched", "kind": "branched", "path": "try.0", "parent": "main"},
        {
            "id": "path:try.0:merged", "kind": "merged", "path": "try.0", "into": "main",
            "nodes": ["n.0"],
        },
        {"id": "path:try.1:branched", "kind": "branched", "path": "try.1", "parent": "main"},
        {
            "id": "path:try.1:abandoned", "kind": "abandoned", "path": "try.1",
            "reason": "a dead end",
        },
        {"id": "path:try.2:branched", "kind": "branched", "path": "try.2", "parent": "main"},
        {"id": "path:try.2:compacted", "kind": "compacted", "path": "try.2", "summary": summary},
    ]  # fmt: skip
    for name in ("events.jsonl", "paths"):
        files = [tmp_path / name] if name.endswith("l") else list((tmp_path / name).iterdir())
        assert files
        assert not any(b"Ines" in file.read_bytes() for file in files)
    assert b"Ines" in (tmp_path / "nodes" / "n.0.json").read_bytes(), "the control"


def test_only_a_person_merges(tmp_path: Path) -> None:
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        paths.branch(agent, "try")
        agent.on("try").save_node(Node(id="n.two", kind="claim", text="Two are better."))
        with pytest.raises(Forbidden):
            paths.merge(agent, "try", paths.diff(agent, "try").digest)
        assert agent.load_path("try").is_active
        assert agent.events.list("merged") == []
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        paths.merge(person, "try", paths.diff(person, "try").digest)
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        assert agent.load_node("n.two").kind == "claim"
        paths.extend(agent, "main", heard("e.1"))
        assert agent.load_path("main").events == ("e.1",), "what a person listed can be extended"


def test_names_that_cannot_be_a_path_are_refused(store: GraphStore) -> None:
    for id in ("", "a b", "x" * 119):
        with pytest.raises(InvalidInput):
            paths.branch(store, id)
    with pytest.raises(Conflict):
        paths.branch(store, "main")
    with pytest.raises(NotFound):
        paths.branch(store, "try", parent="none")
    for call in (paths.diff, lambda store, id: paths.abandon(store, id, "no")):
        with pytest.raises(NotFound):
            call(store, "none")
        with pytest.raises(InvalidInput):
            call(store, "main")
    assert store.memory.branches.list(closed=True) == []
    assert store.events.list() == []


def test_a_path_is_finished_that_a_stopped_call_began(store: GraphStore) -> None:
    store.memory.branches.open("try")  # and then the process was stopped
    assert paths.branch(store, "try").is_active
    assert len(store.memory.branches.list()) == 1
