"""S1: where paths are merged, by whom, and what they hold; the gate in front of lasting changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from recollect import Quote
from recollect.contracts.graph import (
    Action,
    Approval,
    Edge,
    FileBackedMemoryGraphStore,
    GraphStore,
    InMemoryGraphStore,
    MemoryPath,
    Node,
    PhaseMemoryRuntime,
    Profile,
    digest_of,
    fixture,
    paths,
)
from recollect.errors import Changed, Conflict, Forbidden, InvalidInput, NotFound, Unsupported
from recollect.model.events import Trust
from recollect.model.validate import Json
from tests.contract.test_s1_paths import compacted, heard
from tests.contract.test_s1_workspace import visible

PROFILE_FILE = {"schema_version": "markitect.memory.profile.v1", "id": "gate", "title": "Open"}
GATE = Profile(id="gate", extra={"policy": {"durable_writes": "review-gated"}})


@pytest.fixture(params=["person", "agent"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    """A store of a person, and one as it is opened by default."""
    with FileBackedMemoryGraphStore(tmp_path / "w", trust=request.param) as store:
        yield store
        assert list(store.differing()) == []


def claim(id: str, text: str) -> Node:
    return Node(id=id, kind="claim", text=text)


def approved(*actions: Action) -> Approval:
    return Approval(by="Ines", digest=digest_of(actions))


def merged(store: GraphStore, id: str, **settled: dict[str, str]) -> MemoryPath:
    """Merges a path with what a merge needs: its digest, and an approval."""
    digest = paths.diff(store, id).digest
    approval = approved(Action(kind="merge", subject=id, digest=digest))
    return paths.merge(store, id, digest, approval=approval, **settled)  # type: ignore[arg-type]


def nested(store: GraphStore) -> None:
    """``b2`` from ``b1``, each with a node and an event."""
    paths.extend(store, "main", heard("e.0"))
    for id, parent in (("b1", "main"), ("b2", "b1")):
        paths.branch(store, id, parent=parent)
        store.on(id).save_node(claim(f"n.{id}", f"On {id}."))
        paths.extend(store, id, heard(f"e.{id}"))


# Nested paths.


def test_a_nested_path_is_merged_into_its_parent(store: GraphStore) -> None:
    # S1-60 S1-95: what is on an unmerged parent does not reach main
    nested(store)
    digest = paths.diff(store, "b2").digest
    done = paths.merge(store, "b2", digest)
    assert (done.is_active, done.merged_into) == (False, "b1")
    assert store.load_path("b1").events == ("e.0", "e.b1", "e.b2")
    assert store.load_path("main").events == ("e.0",)
    assert store.list_nodes() == []
    assert [node.id for node in store.on("b1").list_nodes()] == ["n.b1", "n.b2"]
    (told,) = store.events.list("merged")
    assert (told["into"], told["nodes"]) == ("b1", ["n.b2"])
    merged(store, "b1")
    assert [node.id for node in store.list_nodes()] == ["n.b1", "n.b2"]
    assert store.load_path("main").events == ("e.0", "e.b1", "e.b2")
    assert store.load_path("b2").merged_into == "b1"


def test_what_was_merged_into_a_path_is_abandoned_with_it(store: GraphStore) -> None:
    # S1-60 S1-61
    nested(store)
    paths.merge(store, "b2", paths.diff(store, "b2").digest)
    paths.abandon(store, "b1", "no good")
    assert (store.load_path("main").events, store.list_nodes()) == (("e.0",), [])
    assert store.load_path("b2").merged_into == "b1"


@pytest.mark.parametrize("end", ["abandon", "compact"])
def test_a_path_from_which_another_goes_on_is_not_given_up(store: GraphStore, end: str) -> None:
    # S1-61 S1-62
    nested(store)
    ends: dict[str, Callable[[], MemoryPath]] = {
        "abandon": lambda: paths.abandon(store, "b1", "no good"),
        "compact": lambda: compacted(store, "b1", "It was tried."),
    }
    with pytest.raises(Conflict, match="'b2' goes on from 'b1'"):
        ends[end]()
    assert store.load_path("b1").is_active
    paths.abandon(store, "b2", "no good")
    assert not ends[end]().is_active
    assert store.load_path("main").events == ("e.0",)


def test_a_nested_path_outlives_the_merge_of_its_parent(store: GraphStore) -> None:
    # S1-60 S1-95
    nested(store)
    merged(store, "b1")
    assert store.load_path("main").events == ("e.0", "e.b1")
    assert merged(store, "b2").merged_into == "main"
    assert store.load_path("main").events == ("e.0", "e.b1", "e.b2")


def test_a_path_whose_parent_was_given_up_elsewhere_goes_above_it(tmp_path: Path) -> None:
    # as an earlier release allowed it: what the parent had stays out
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as store:
        nested(store)
        store.memory.branches.abandon("b1", "by another program")
        assert merged(store, "b2").merged_into == "main"
        assert store.load_path("main").events == ("e.0", "e.b2")
        assert [node.id for node in store.list_nodes()] == ["n.b2"]


def test_two_paths_that_change_the_same_are_settled_by_name(store: GraphStore) -> None:
    # S1-60
    store.save_node(claim("n", "It rains."))
    for id, parent in (("b1", "main"), ("b2", "b1"), ("b3", "b1")):
        paths.branch(store, id, parent=parent)
        store.on(id).save_node(claim("n", f"On {id}."))
    digest = paths.diff(store, "b2").digest
    with pytest.raises(Conflict, match="change the same"):
        paths.merge(store, "b2", digest)
    assert store.load_path("b2").is_active
    (change,) = paths.diff(store, "b2").changes
    paths.merge(store, "b2", digest, settle={change.id: "theirs"})
    assert store.on("b1").load_node("n").text == "On b2."
    (change,) = paths.diff(store, "b3").changes
    paths.merge(store, "b3", paths.diff(store, "b3").digest, settle={change.id: "ours"})
    assert store.on("b1").load_node("n").text == "On b2."
    store.save_node(claim("n", "It snows."))
    assert [one.conflict for one in paths.diff(store, "b1").changes] == [True], "still seen"


def test_a_nested_merge_is_of_what_was_shown(store: GraphStore) -> None:
    nested(store)
    digest = paths.diff(store, "b2").digest
    store.on("b2").save_node(claim("n.b2", "Something else."))
    with pytest.raises(Changed):
        paths.merge(store, "b2", digest)
    with pytest.raises(InvalidInput):
        paths.merge(store, "b2", paths.diff(store, "b2").digest, settle={"x": "mine"})  # type: ignore[dict-item]
    assert store.load_path("b2").is_active


def test_where_a_path_goes_is_part_of_what_was_shown(store: GraphStore) -> None:
    nested(store)
    shown = paths.diff(store, "b2")
    assert (shown.into, paths.diff(store, "b1").into) == ("b1", "main")
    merged(store, "b1")
    assert paths.diff(store, "b2").into == "main"
    approval = approved(Action(kind="merge", subject="b2", digest=shown.digest))
    with pytest.raises(Changed):
        paths.merge(store, "b2", shown.digest, approval=approval)


def test_what_rests_on_an_unverified_source_is_not_merged_by_an_agent(tmp_path: Path) -> None:
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        (said,) = agent.memory.scoped(trust="unverified").observe("It rains.")
        paths.branch(agent, "try")
        agent.on("try").memory.remember("It rains there.", id="n", evidence=[said.id])
        with pytest.raises(Forbidden, match="unverified"):
            merged(agent, "try")
        assert agent.load_path("try").is_active


def test_a_nested_change_keeps_its_trust(tmp_path: Path) -> None:
    # decision 70: a person who moves an agent's change between paths does not vouch for it
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        nested(agent)
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        paths.merge(person, "b2", paths.diff(person, "b2").digest)
        assert person.on("b1").memory.get("n.b2").trust == "agent"


# Who merges.


def test_the_default_store_merges_with_an_approval(tmp_path: Path) -> None:
    # S1-60 S1-95 S1-113
    with FileBackedMemoryGraphStore(tmp_path) as store:
        store.save_node(claim("own", "The agent's."))
        paths.branch(store, "try")
        store.on("try").save_node(claim("n", "It rains."))
        store.on("try").save_node(claim("own", "The agent's, revised."))
        paths.extend(store, "try", heard("e.1"))
        digest = paths.diff(store, "try").digest
        merge = Action(kind="merge", subject="try", digest=digest)
        for wrong in (None, Approval(by="", digest=digest_of([merge])), approved()):
            with pytest.raises(Forbidden, match=r"approv|review"):
                paths.merge(store, "try", digest, approval=wrong)
        assert store.load_path("try").is_active
        done = paths.merge(store, "try", digest, approval=approved(merge))
        assert (done.merged_into, done.abandoned_because) == ("main", None)
        assert store.load_node("own").text == "The agent's, revised."
        assert store.memory.get("n").trust == "agent"
        assert store.load_path("main").events == ("e.1",)
        assert not store.memory.branches.show("try").is_open
        with pytest.raises(Conflict, match="was merged"):
            paths.merge(store, "try", digest, approval=approved(merge))
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert store.load_path("try") == done
        assert list(store.differing()) == []


def test_the_runtime_merges_on_the_default_store(tmp_path: Path) -> None:
    # S1-99 S1-101
    with FileBackedMemoryGraphStore(tmp_path) as store:
        paths.branch(store, "try")
        store.on("try").save_node(claim("n", "It rains."))
        actions = [Action(kind="merge", subject="try", digest=paths.diff(store, "try").digest)]
        runtime = PhaseMemoryRuntime(store)
        assert runtime.apply(actions)[0].outcome == "denied"
        assert runtime.apply(actions, approval=approved(*actions))[0].outcome == "applied"
        assert store.load_path("try").merged_into == "main"


def person_revised(root: Path) -> None:
    with FileBackedMemoryGraphStore(root, trust="person") as person:
        person.save_node(claim("n", "A person's word."))


def person_once_vouched(root: Path) -> None:
    """A person's record that an agent changed since, with the words of a person."""
    person_revised(root)
    with FileBackedMemoryGraphStore(root, trust="person") as person:
        (said,) = person.memory.observe("It is the word of an agent now.")
        quote = Quote(said.id, "the word of an agent now")
        agent = person.memory.scoped(trust="agent")
        agent.revise("n", "It is the word of an agent.", evidence=[quote])
        assert agent.get("n").trust == "agent"


@pytest.mark.parametrize("before", [person_revised, person_once_vouched])
@pytest.mark.parametrize("what", ["revise", "forget", "edge"])
def test_no_path_of_an_agent_reaches_what_a_person_vouched_for(
    tmp_path: Path, before: Callable[[Path], None], what: str
) -> None:
    # S1-115: nor of trust; decisions 44 and 70
    before(tmp_path)
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        paths.branch(agent, "try")
        on = agent.on("try")
        on.save_node(claim("new", "It rains."))
        if what == "forget":
            on.memory.forget("n")
        elif what == "revise":
            on.save_node(claim("n", "The agent's word."))
        else:
            on.save_edge(Edge(id="e", kind="cites", source="new", target="n"))
        position, graph = agent.memory.events.position, agent.export_graph()
        if what == "edge":  # it says nothing of the person's node, and has an agent's trust
            merged(agent, "try")
            assert [link.trust for link in agent.memory.graph.neighbours("n").links] == ["agent"]
            return
        with pytest.raises(Forbidden, match="person"):
            merged(agent, "try")
        actions = [Action(kind="merge", subject="try", digest=paths.diff(agent, "try").digest)]
        done = PhaseMemoryRuntime(agent).apply(actions, approval=approved(*actions))
        assert done[0].outcome == "failed"
        assert (agent.memory.events.position, agent.export_graph()) == (position, graph)
        assert agent.load_path("try").is_active
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        paths.merge(person, "try", paths.diff(person, "try").digest)
        assert person.load_node("new").text == "It rains."


def test_a_policy_holds_for_a_merge_of_an_agent(tmp_path: Path) -> None:
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        person.memory.settings.documents.set("policy", "agents", {"add": "review"})
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        paths.branch(agent, "try")
        agent.on("try").save_node(claim("n", "It rains."))
        with pytest.raises(Forbidden, match="policy"):
            merged(agent, "try")
        assert agent.load_path("try").is_active
        assert agent.memory.review.list() == []


def test_what_a_person_wrote_on_a_path_is_not_merged_by_an_agent(tmp_path: Path) -> None:
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        paths.branch(agent, "try")
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        person.on("try").save_node(claim("n", "A person's."))
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        with pytest.raises(Forbidden):
            merged(agent, "try")
        with pytest.raises(Forbidden):
            paths.abandon(agent, "try", "no")


def test_a_conflict_on_the_default_store_is_a_persons(tmp_path: Path) -> None:
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        agent.save_node(claim("n", "One."))
        paths.branch(agent, "try")
        agent.on("try").save_node(claim("n", "Two."))
        agent.save_node(claim("n", "Three."))
        (change,) = paths.diff(agent, "try").conflicts
        with pytest.raises(Conflict, match="decide"):
            merged(agent, "try", settle={change.id: "theirs"})
        merged_path = merged(agent, "try", settle={change.id: "ours"})
        assert merged_path.merged_into == "main"
        assert agent.load_node("n").text == "Three."


def test_an_agents_merge_keeps_everything_that_a_change_says(tmp_path: Path) -> None:
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        memory = agent.memory
        (said,) = memory.observe("The crane is slow.")
        memory.remember("The seat is 4A.", id="old", key="seat")
        memory.remember("It goes.", id="gone")
        memory.remember("It is replaced.", id="replaced")
        paths.branch(agent, "try")
        on = agent.on("try").memory
        on.remember("The crane is slow.", id="n", kind="claim", about="crane", tags=["slow"],
            data={"a": 1}, confidence=0.5, evidence=[said.id],
            valid_from="2026-01-01T00:00:00Z")  # fmt: skip
        on.remember("The seat is 12B.", key="seat")
        on.remember("It is new.", id="newer", replaces="replaced")
        on.forget("gone", reason="over")
        shown = {
            one.record: on.get(one.record, include=["forgotten"])
            for one in paths.diff(agent, "try").changes
        }
        merged(agent, "try")
        for id, wanted in shown.items():
            found = memory.get(id, include=["forgotten"])
            if id == "gone":
                assert found is not None
                assert found.status == "forgotten"
                continue
            assert found is not None
            assert wanted is not None
            for name in ("text", "kind", "key", "about", "tags", "data", "confidence", "evidence",
                         "valid_from", "trust", "status", "replaces"):  # fmt: skip
                assert getattr(found, name) == getattr(wanted, name), (id, name)


@pytest.mark.parametrize("origin", ["person", "agent"])
def test_a_path_is_compacted_through_one_gate(tmp_path: Path, origin: Trust) -> None:
    # S1-62 S1-100 S1-113: the call and the runtime ask for the same approval
    with FileBackedMemoryGraphStore(tmp_path, trust=origin) as store:
        runtime = PhaseMemoryRuntime(store)
        for id in ("one", "two"):
            paths.branch(store, id)
        position = store.memory.events.position
        actions = {
            id: Action(kind="compact", subject=id, text=f"About {id}.") for id in ("one", "two")
        }
        for wrong in (None, approved(actions["two"]), approved(*actions.values())):
            with pytest.raises(Forbidden):
                paths.compact(store, "one", "About one.", approval=wrong)
            assert runtime.apply([actions["one"]], approval=wrong)[0].outcome == "denied"
        with pytest.raises(Forbidden, match="of other actions") as refused:
            paths.compact(store, "one", "Another text.", approval=approved(actions["one"]))
        wanted = "Action(kind='compact', subject='one', text='Another text.')"
        assert wanted in str(refused.value), "what to approve"
        assert store.memory.events.position == position
        marker = approved(actions["one"])
        assert paths.compact(store, "one", "About one.", approval=marker).summary is not None
        marker = approved(actions["two"])
        assert runtime.apply([actions["two"]], approval=marker)[0].outcome == "applied"


@pytest.mark.parametrize("origin", ["person", "agent"])
def test_a_gate_is_in_front_of_every_lasting_change(tmp_path: Path, origin: Trust) -> None:
    # S1-45 S1-113: save_node as much as the runtime; what waits on a path is not lasting yet
    with FileBackedMemoryGraphStore(tmp_path, trust=origin) as store:
        store.save_nodes([claim("a", "One."), claim("b", "Two.")])
        store.save_profile(GATE)
        before, position = visible(tmp_path), store.memory.events.position
        direct: list[Callable[[], object]] = [
            lambda: store.save_node(claim("a", "Changed.")),
            lambda: store.save_node(claim("c", "New.")),
            lambda: store.save_nodes([claim("c", "New.")]),
            lambda: store.save_edge(Edge(id="e", kind="cites", source="a", target="b")),
            lambda: store.save_about({"title": "New"}),
            lambda: store.import_graph(fixture("graph")),
            store.import_workspace,
        ]
        for call in direct:
            with pytest.raises(Forbidden, match="'gate' lets every lasting change wait"):
                call()
        assert (visible(tmp_path), store.memory.events.position) == (before, position)
        paths.branch(store, "try")
        store.on("try").save_node(claim("a", "Changed."))
        store.on("try").save_node(claim("c", "New."))
        store.on("try").save_edge(Edge(id="e", kind="cites", source="c", target="a"))
        abandon = Action(kind="abandon", subject="try", reason="no")
        with pytest.raises(Forbidden):
            paths.abandon(store, "try", "no")
        shown, position = paths.diff(store, "try").digest, store.memory.events.position
        with pytest.raises((Changed, Forbidden)):  # what was shown is what a person merges
            paths.merge(store, "try", "0" * 64)
        if origin == "agent":
            with pytest.raises(Forbidden):
                paths.merge(store, "try", shown)
        assert store.memory.events.position == position
        merged(store, "try")
        assert (store.load_node("a").text, store.load_edge("e").source) == ("Changed.", "c")
        paths.branch(store, "try.2")
        abandon = Action(kind="abandon", subject="try.2", reason="no")
        paths.abandon(store, "try.2", "no", approval=approved(abandon))
        revise = [Action(kind="revise", subject="a", text="Again.")]
        runtime = PhaseMemoryRuntime(store)
        assert runtime.apply(revise)[0].outcome == "denied"
        assert runtime.apply(revise, approval=approved(*revise))[0].outcome == "applied"
        opened = Profile(id="gate", extra={})
        if origin == "agent":
            with pytest.raises(Forbidden):
                store.save_profile(opened)
        else:
            store.save_profile(opened)
            store.save_node(claim("c", "Directly."))


@pytest.mark.parametrize("origin", ["person", "agent"])
def test_a_gate_is_in_front_of_files_that_were_changed(tmp_path: Path, origin: Trust) -> None:
    # S1-45 S1-113: import_workspace as much as save_node, until a person changes the profile
    with FileBackedMemoryGraphStore(tmp_path, trust=origin) as store:
        store.save_node(claim("a", "One."))
        store.save_profile(GATE)
        file = tmp_path / "nodes" / "a.json"
        file.write_text(file.read_text().replace("One.", "By hand."))
        before, position = visible(tmp_path), store.memory.events.position
        with pytest.raises(Forbidden, match="'gate' lets every lasting change wait"):
            store.import_workspace()
        assert (visible(tmp_path), store.memory.events.position) == (before, position)
        assert store.load_node("a").text == "One."
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        person.save_profile(Profile(id="gate", extra={}))
        assert person.import_workspace() == []
        person.save_profile(GATE)
        assert person.load_node("a").text == "By hand."


# Edges on a path.


def with_edge(store: GraphStore) -> Edge:
    store.save_node(claim("old", "It was."))
    paths.branch(store, "try")
    edge = Edge(id="e", kind="cites", source="new", target="old", weight=0.5, extra={"by": "Ines"})
    store.on("try").save_node(claim("new", "It is."))
    store.on("try").save_edge(edge)
    return edge


def test_edges_wait_on_a_path(store: GraphStore) -> None:
    # S1-59 S1-60
    edge = with_edge(store)
    on = store.on("try")
    assert (on.list_edges(), on.load_edge("e")) == ([edge], edge)
    assert on.list_edges(source="new") == on.list_edges(target="old") == [edge]
    assert on.list_edges(source="old") == []
    assert store.list_edges() == []
    with pytest.raises(NotFound):
        store.load_edge("e")
    with pytest.raises(NotFound):
        on.load_edge("none")
    shown = paths.diff(store, "try")
    assert shown.edges == (edge,)
    merged(store, "try")
    assert (store.list_edges(), store.load_edge("e")) == ([edge], edge)
    (told,) = store.events.list("merged")
    assert told["edges"] == ["e"]
    assert PhaseMemoryRuntime(store).diagnostics() == []


def test_an_edge_is_covered_by_the_digest_of_a_path(store: GraphStore) -> None:
    edge = with_edge(store)
    digest = paths.diff(store, "try").digest
    changed = Edge(id="e", kind="cites", source="new", target="old", weight=1.0)
    store.on("try").save_edge(changed)
    approval = approved(Action(kind="merge", subject="try", digest=digest))
    with pytest.raises(Changed):
        paths.merge(store, "try", digest, approval=approval)
    store.on("try").save_edge(edge)
    assert paths.diff(store, "try").digest == digest


def test_an_edge_goes_with_a_nested_path(store: GraphStore) -> None:
    edge = with_edge(store)
    paths.branch(store, "deep", parent="try")
    deeper = Edge(id="f", kind="cites", source="deep", target="old")
    store.on("deep").save_node(claim("deep", "It is deep."))
    store.on("deep").save_edge(deeper)
    paths.merge(store, "deep", paths.diff(store, "deep").digest)
    assert store.on("try").list_edges() == [edge, deeper]
    assert store.list_edges() == []
    merged(store, "try")
    assert store.list_edges() == [edge, deeper]


def test_an_edge_of_a_node_that_is_not_taken_stays_out(store: GraphStore) -> None:
    with_edge(store)
    (change,) = paths.diff(store, "try").changes
    merged(store, "try", settle={change.id: "ours"})
    assert (store.list_edges(), [node.id for node in store.list_nodes()]) == ([], ["old"])
    (told,) = store.events.list("merged")
    assert "edges" not in told


def test_an_edge_that_could_not_be_merged_is_refused_on_the_path(store: GraphStore) -> None:
    edge = with_edge(store)
    on = store.on("try")
    with pytest.raises(NotFound):
        on.save_edge(Edge(id="x", kind="cites", source="new", target="none"))
    for other in (Edge(id="x", kind="cites", source="new", target="old"),):
        with pytest.raises(Conflict):
            on.save_edge(other)
    with pytest.raises(InvalidInput):
        on.save_edge(Edge(id="a b", kind="refines", source="new", target="old"))
    with pytest.raises(InvalidInput):
        on.save_edge(Edge(id="y", kind="refines", source="new", target="old", weight=2.0))
    with pytest.raises(Unsupported):
        on.save_profile(Profile(id="p"))
    with pytest.raises(Unsupported):
        on.save_about({"title": "x"})
    assert on.list_edges() == [edge]


def test_an_abandoned_path_leaves_no_edge(store: GraphStore) -> None:
    # S1-61
    with_edge(store)
    paths.abandon(store, "try", "no")
    assert store.list_edges() == []
    assert [node.id for node in store.list_nodes()] == ["old"]


# Replaying.


def test_the_log_is_replayed_to_the_graph_also_if_nobody_wrote_events(store: GraphStore) -> None:
    # S1-55 S1-88 S1-112: the ledger has the events
    store.save_nodes([claim("a", "One."), claim("b", "Two."), claim("c", "Three.")])
    store.save_node(claim("a", "One, revised."))
    store.save_edge(Edge(id="e", kind="cites", source="a", target="b", extra={"by": "Ines"}))
    store.save_edge(Edge(id="f", kind="cites", source="c", target="b"))
    store.memory.forget("c")
    assert store.events.list() == []
    snapshot = store.events.replay(store)
    assert snapshot.skipped == ()
    graph = store.export_graph()
    assert snapshot.graph == graph
    assert [node["text"] for node in graph["nodes"]] == ["One, revised.", "Two."]  # type: ignore[union-attr, index, call-overload]
    told = list(store.history())
    assert [event["id"] for event in told] == sorted(
        (str(event["id"]) for event in told), key=lambda id: int(id.partition(":")[2])
    )
    store.events.append(
        {"id": "x", "kind": "recorded", "node_updates": [{"node_id": "b", "operation": "delete"}]}
    )
    lost = claim("lost", "Only the log has it.").to_dict()
    store.events.append({"id": "y", "kind": "recorded", "node_updates": [{"node": lost}]})
    nodes = store.events.replay(store).graph["nodes"]
    assert nodes == [*graph["nodes"], lost], "the ledger counts; what it lacks is the log's"  # type: ignore[misc]
    assert isinstance(store, FileBackedMemoryGraphStore)
    store.render()


def test_a_replay_of_a_path_has_what_waits_on_it(store: GraphStore) -> None:
    edge = with_edge(store)
    found = store.events.replay(store.on("try")).graph
    assert [node["id"] for node in found["nodes"]] == ["new", "old"]  # type: ignore[union-attr, index, call-overload]
    assert found["edges"] == [edge.to_dict()]


def test_what_was_erased_is_not_replayed() -> None:
    with InMemoryGraphStore() as store:
        store.save_nodes([claim("a", "A secret."), claim("b", "Two.")])
        store.memory.erase("a")
        assert "secret" not in repr(list(store.history()))
        assert store.events.replay(store).graph["nodes"] == [claim("b", "Two.").to_dict()]


def test_an_agent_does_not_open_its_gate(tmp_path: Path) -> None:
    # S1-113: not by another call of the store, nor by a document of its memory
    with FileBackedMemoryGraphStore(tmp_path) as store:
        store.save_node(claim("a", "One."))
        store.save_profile(GATE)
        before, position = visible(tmp_path), store.memory.events.position
        documents, opened = store.memory.settings.documents, Profile(id="gate", extra={})
        weak: list[dict[str, Json]] = [
            {},
            {"policy": {}},
            {"policy": "review-gated"},
            {"policy": {"durable_writes": "Review-gated"}},
            {"durable_writes": "review-gated"},
        ]
        attacks: list[Callable[[], object]] = [
            lambda: store._put_profile(opened),
            lambda: store.import_profile(opened.to_dict()),
            lambda: store.put_profile(opened),  # type: ignore[attr-defined]
            lambda: store.put_nodes([claim("a", "Two.")]),  # type: ignore[attr-defined]
            lambda: store.put_edges([]),  # type: ignore[attr-defined]
            lambda: store.put_about({"title": "Mine"}),  # type: ignore[attr-defined]
            lambda: store.on("main").save_node(claim("a", "Two.")),
            lambda: documents.drop("profile", "gate"),
            lambda: documents.drop("profile", "gate", erase=True),
            *(partial(documents.set, "profile", "gate", data) for data in weak),
            *(partial(store.memory.scoped(trust=origin).settings.documents.set, "profile", "gate",
                      {}) for origin in ("agent", "unverified")),
        ]  # fmt: skip
        for attack in attacks:
            with pytest.raises((Forbidden, NotFound, AttributeError)):
                attack()
        export = tmp_path / "gate.json"
        export.write_text(json.dumps(PROFILE_FILE))
        assert store.memory.admin.import_(export, "markitect").changed == 0
        export.unlink()
        assert store.list_profiles() == [GATE]
        with pytest.raises(Forbidden):
            store.save_node(claim("a", "Two."))
        assert (visible(tmp_path), store.memory.events.position) == (before, position)
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        person.save_profile(opened)
        person.save_node(claim("a", "Two."))
    with FileBackedMemoryGraphStore(tmp_path) as store:
        store.save_node(claim("b", "Three."))  # the control
