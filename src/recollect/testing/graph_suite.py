"""The conformance suite of graph stores, event logs and audit sinks (S1).

Subclass ``GraphSuite`` and define the fixtures ``store``, ``log`` and ``sink``, each empty.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.contracts.graph import (
    AuditSink,
    Edge,
    MemoryEventLog,
    MemoryGraphStore,
    MemoryPath,
    Node,
    Profile,
    fixture,
)
from recollect.contracts.graph.protocols import Recorded
from recollect.errors import Conflict, InvalidInput, NotFound, Unsupported
from recollect.model.validate import Json

ONE = Node(id="decision.one", kind="decision", text="Use one journal.", extra={"phase": "fluid"})
TWO = Node(id="constraint.two", kind="constraint", text="No hidden compaction.")
BECAUSE = Edge(
    id="edge.1",
    kind="supports",
    source=TWO.id,
    target=ONE.id,
    weight=0.25,
    extra={"metadata": {"by": ["Ines"]}},
)
# Ids that are also names of files, of parts of other ids, or of something in a shell.
ODD_IDS = ("../../escape", "/etc/passwd", ".", "..", ".hidden", "A", "a", "a/b", "con", "x" * 110)


class GraphSuite:
    """Every adapter passes this, in memory or in files."""

    @pytest.fixture
    def store(self) -> MemoryGraphStore:
        """An empty store; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def log(self) -> MemoryEventLog:
        """An empty log; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def sink(self) -> AuditSink:
        """An empty sink; defined by subclasses."""
        raise NotImplementedError

    def test_each_has_the_calls_of_its_protocol(
        self, store: MemoryGraphStore, log: MemoryEventLog, sink: AuditSink
    ) -> None:
        # S1-49 S1-75 S1-84 S1-111: the same protocols for all adapters
        assert isinstance(store, MemoryGraphStore)
        assert isinstance(log, MemoryEventLog)
        assert isinstance(sink, AuditSink)
        assert not isinstance(log, MemoryGraphStore)
        assert not isinstance(sink, MemoryEventLog)

    # Profiles, nodes and edges.

    def test_a_profile_is_saved_and_loaded(self, store: MemoryGraphStore) -> None:
        # S1-76 S1-104
        first = Profile(id="p", extra={"title": "Sample", "limits": {"max_nodes": 40}})
        other = Profile(id="o", extra={})
        for profile in (first, other, first):
            store.save_profile(profile)
        assert store.load_profile("p") == first
        assert list(store.list_profiles()) == [other, first]
        changed = Profile(id="p", extra={"title": "Other"})
        store.save_profile(changed)
        assert store.load_profile("p") == changed

    def test_a_node_is_saved_and_loaded(self, store: MemoryGraphStore) -> None:
        # S1-77: with the fields that this release does not know
        for node in (ONE, TWO, ONE):
            store.save_node(node)
        assert store.load_node(ONE.id) == ONE
        assert store.load_node(TWO.id) == TWO
        changed = Node(id=ONE.id, kind="decision", text="Use two.", extra={"phase": "rigid"})
        store.save_node(changed)
        assert store.load_node(ONE.id) == changed
        assert list(store.list_nodes()) == [TWO, changed]

    def test_nodes_are_listed_by_kind(self, store: MemoryGraphStore) -> None:  # S1-79
        third = Node(id="constraint.one", kind="constraint", text="Nothing is deleted.")
        for node in (ONE, TWO, third):
            store.save_node(node)
        assert list(store.list_nodes("constraint")) == [third, TWO]
        assert list(store.list_nodes("decision")) == [ONE]
        assert list(store.list_nodes("none")) == []
        assert list(store.list_nodes()) == [third, TWO, ONE]

    def test_a_node_keeps_its_kind(self, store: MemoryGraphStore) -> None:
        store.save_node(ONE)
        with pytest.raises(Conflict):
            store.save_node(Node(id=ONE.id, kind="claim", text=ONE.text))
        assert store.load_node(ONE.id) == ONE

    def test_nodes_with_the_same_text_are_two(self, store: MemoryGraphStore) -> None:
        same = [Node(id=id, kind="claim", text="It rains.") for id in ("n.a", "n.b")]
        for node in same:
            store.save_node(node)
        assert list(store.list_nodes()) == same

    def test_any_id_is_one_of_its_own(self, store: MemoryGraphStore) -> None:
        # S1-50: no id is another one's, whatever it would be in a path or as a beginning
        nodes = [Node(id=id, kind="claim", text=f"About {n}.") for n, id in enumerate(ODD_IDS)]
        for node in nodes:
            store.save_node(node)
        assert [store.load_node(id) for id in ODD_IDS] == nodes
        edges = [Edge(id=id, kind=f"k{n}", source="A", target="a") for n, id in enumerate(ODD_IDS)]
        for edge in edges:
            store.save_edge(edge)
            store.save_profile(Profile(id=edge.id, extra={"of": edge.id}))
        assert [store.load_edge(id) for id in ODD_IDS] == edges
        assert [store.load_profile(id).extra["of"] for id in ODD_IDS] == list(ODD_IDS)
        for beginning in ("xxxx", "../../", "/etc"):
            with pytest.raises(NotFound):
                store.load_node(beginning)

    def test_an_id_that_cannot_be_kept_is_refused(self, store: MemoryGraphStore) -> None:
        for id in ("", " ", "a b", "ü", "a\n", "a\0", "x" * 500):
            with pytest.raises(InvalidInput):
                store.save_node(Node(id=id, kind="claim", text="It rains."))
            with pytest.raises(InvalidInput):
                store.save_profile(Profile(id=id))
        assert list(store.list_nodes()) == []

    def test_an_edge_is_saved_and_loaded(self, store: MemoryGraphStore) -> None:
        # S1-78: with its weight and the fields that this release does not know
        for node in (ONE, TWO):
            store.save_node(node)
        for _ in range(2):
            store.save_edge(BECAUSE)
        assert store.load_edge("edge.1") == BECAUSE
        assert list(store.list_edges()) == [BECAUSE]
        turned = Edge(id="edge.1", kind="refines", source=ONE.id, target=TWO.id)
        store.save_edge(turned)
        assert list(store.list_edges()) == [store.load_edge("edge.1")] == [turned]

    def test_edges_are_listed_by_source_and_target(self, store: MemoryGraphStore) -> None:
        # S1-80 S1-81
        third = Node(id="claim.three", kind="claim", text="It rains.")
        for node in (ONE, TWO, third):
            store.save_node(node)
        back = Edge(id="edge.0", kind="affects", source=ONE.id, target=TWO.id)
        far = Edge(id="edge.2", kind="affects", source=third.id, target=ONE.id)
        for edge in (far, BECAUSE, back):
            store.save_edge(edge)
        assert list(store.list_edges(source=TWO.id)) == [BECAUSE]
        assert list(store.list_edges(target=ONE.id)) == [BECAUSE, far]
        assert list(store.list_edges(source=TWO.id, target=ONE.id)) == [BECAUSE]
        assert list(store.list_edges(source=TWO.id, target=third.id)) == []
        assert list(store.list_edges()) == [back, BECAUSE, far]
        assert list(store.list_edges(source="nowhere")) == []
        assert list(store.list_edges(source="decision")) == [], "the beginning of an id"

    def test_an_edge_needs_its_nodes(self, store: MemoryGraphStore) -> None:
        store.save_node(ONE)
        with pytest.raises(NotFound):
            store.save_edge(BECAUSE)
        assert list(store.list_edges()) == []

    def test_an_edge_is_never_lost_to_another(self, store: MemoryGraphStore) -> None:
        for node in (ONE, TWO):
            store.save_node(node)
        store.save_edge(BECAUSE)
        with pytest.raises(Conflict):
            store.save_edge(Edge(id="edge.9", kind="supports", source=TWO.id, target=ONE.id))
        assert list(store.list_edges()) == [BECAUSE]

    def test_what_is_not_there_is_not_found(self, store: MemoryGraphStore) -> None:
        loads: list[Callable[[str], object]] = [
            store.load_profile, store.load_node, store.load_edge, store.load_path,
        ]  # fmt: skip
        for load in loads:
            with pytest.raises(NotFound):
                load("none")
        assert store.load_path("main") == MemoryPath(id="main")

    # Envelopes.

    def test_an_envelope_comes_back_as_it_was(self, store: MemoryGraphStore) -> None:
        # S1-82 S1-83 S1-103 S1-105: Markitect's fields, and those of the graph itself
        given = fixture("graph")
        for _ in range(2):
            assert list(store.import_graph(given)) == []
            assert store.export_graph() == given

    def test_an_empty_store_gives_an_empty_envelope(self, store: MemoryGraphStore) -> None:
        nothing: dict[str, Json] = {"nodes": [], "edges": []}
        assert store.export_graph() == {"schema_version": "markitect.memory.graph.v1", **nothing}

    def test_an_edge_without_a_node_is_left_out_and_named(self, store: MemoryGraphStore) -> None:
        # S1-106
        nodes: list[Json] = [ONE.to_dict()]
        edges: list[Json] = [BECAUSE.to_dict()]
        given = {**fixture("graph"), "nodes": nodes, "edges": edges, "events": []}
        (found,) = store.import_graph(given)
        assert "'edge.1'" in found.detail
        assert found.fix
        assert (list(store.list_nodes()), list(store.list_edges())) == ([ONE], [])

    @pytest.mark.parametrize(
        "broken",
        [
            {"schema_version": "markitect.memory.graph.v2"},
            {"schema_version": None},
            {"nodes": "all of them"},
            {"nodes": [{"id": "a", "kind": "claim"}]},
            {"nodes": [ONE.to_dict(), {**ONE.to_dict(), "text": "Other."}]},
            {"edges": [{**BECAUSE.to_dict(), "weight": "heavy"}]},
            {"edges": ["edge"]},
            {"events": [{"kind": "recorded"}]},
        ],
    )
    def test_an_envelope_that_cannot_be_read_is_refused_whole(
        self, store: MemoryGraphStore, broken: dict[str, Json]
    ) -> None:
        # S1-108: among others, one of an unknown schema version
        with pytest.raises((InvalidInput, Unsupported)):
            store.import_graph({**fixture("graph"), **broken})
        assert list(store.list_nodes()) == []

    # Events.

    def test_events_are_listed_in_their_order(self, log: MemoryEventLog) -> None:
        # S1-84 S1-86
        events = [_event(f"e{n % 7}.{n}", "recorded") for n in range(20)]
        for event in events:
            log.append(event)
        assert list(log.list()) == events
        assert list(log.diagnostics()) == []

    def test_events_are_listed_by_kind(self, log: MemoryEventLog) -> None:
        # S1-54 S1-87
        for id, kind in (("a", "recorded"), ("b", "merged"), ("c", "recorded")):
            log.append(_event(id, kind))
        assert [event["id"] for event in log.list("recorded")] == ["a", "c"]
        assert [event["id"] for event in log.list("merged")] == ["b"]
        assert list(log.list("none")) == []

    def test_an_id_is_appended_once(self, log: MemoryEventLog) -> None:
        # S1-53 S1-85
        log.append(_event("a", "recorded"))
        for kind in ("recorded", "merged"):
            with pytest.raises(Conflict, match="'a'"):
                log.append(_event("a", kind))
        assert list(log.list()) == [_event("a", "recorded")]

    def test_an_event_needs_an_id_and_a_kind(self, log: MemoryEventLog) -> None:
        bad: list[dict[str, Json]] = [
            {}, {"id": "a"}, {"kind": "recorded"}, {"id": 1, "kind": "recorded"},
            {"id": "a b", "kind": "recorded"}, {"id": "a", "kind": ""},
            {"id": "a", "kind": "recorded", "n": float("nan")},
            {"id": "a", "kind": "recorded", "schema_version": "recollect.event.v9"},
        ]  # fmt: skip
        for event in bad:
            with pytest.raises(InvalidInput):
                log.append(event)
        assert list(log.list()) == []

    def test_what_is_listed_is_a_copy(self, log: MemoryEventLog) -> None:
        log.append({**_event("a", "recorded"), "node_updates": [{"node_id": "n"}]})
        before = list(log.list())
        for event in log.list():
            dict.clear(event["node_updates"][0])  # type: ignore[index, arg-type]
        assert list(log.list()) == before

    def test_events_are_replayed_into_a_graph(self, log: MemoryEventLog) -> None:
        # S1-55 S1-88 S1-90: what they carry
        gone = Node(id="n.gone", kind="claim", text="It rains.")
        log.append(_event("a", "recorded", nodes=[_put(ONE), _put(TWO), _put(gone)]))
        log.append(_event("b", "recorded", edges=[_edge_put(BECAUSE)]))
        log.append(_event("c", "forgotten", nodes=[{"node_id": gone.id, "operation": "delete"}]))
        done = log.replay()
        assert done.graph["nodes"] == [TWO.to_dict(), ONE.to_dict()]
        assert done.graph["edges"] == [BECAUSE.to_dict()]
        assert done.skipped == ()
        assert log.replay() == done

    def test_what_events_only_name_comes_from_a_store(
        self, log: MemoryEventLog, store: MemoryGraphStore
    ) -> None:
        # S1-88: where possible; the rest is named
        given = fixture("graph")
        store.import_graph(given)
        events = given["events"]
        assert isinstance(events, list)
        for event in events:
            assert isinstance(event, dict)
            log.append({**event, "id": f"again.{event['id']}"})
        found = log.replay(store)
        assert found.graph["nodes"] == given["nodes"]
        named = [one for one in store.list_edges() if one.id == "edge.because"]
        edges = list(store.list_edges()) if isinstance(store, Recorded) else named
        assert found.graph["edges"] == [edge.to_dict() for edge in edges]
        assert found.skipped == ()
        alone = log.replay()
        assert alone.graph["nodes"] == []
        assert {text.partition("only names the ")[2] for text in alone.skipped} == {
            "node 'constraint.load'",
            "node 'decision.crane'",
            "node 'question.wind'",
            "edge 'edge.because'",
        }

    # Audit.

    def test_audit_records_are_kept_in_their_order(self, sink: AuditSink) -> None:
        records: list[dict[str, Json]] = [{"action": "forget", "n": n} for n in range(3)]
        for record in records:
            sink.write(record)
        assert list(sink.list()) == records
        assert list(sink.diagnostics()) == []
        with pytest.raises(InvalidInput):
            sink.write({"n": float("inf")})


def _event(id: str, kind: str, **updates: list[Json]) -> dict[str, Json]:
    every: dict[str, Json] = {f"{name[:-1]}_updates": made for name, made in updates.items()}
    return {"id": id, "kind": kind, **every}


def _put(node: Node) -> dict[str, Json]:
    return {"node_id": node.id, "operation": "create", "node": node.to_dict()}


def _edge_put(edge: Edge) -> dict[str, Json]:
    return {"edge_id": edge.id, "operation": "create", "edge": edge.to_dict()}
