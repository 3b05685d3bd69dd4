"""S1: the published suite on both adapters, on every engine, and on a store that it must refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.contracts.graph import (
    Edge,
    FileBackedMemoryGraphStore,
    InMemoryAuditSink,
    InMemoryEventLog,
    InMemoryGraphStore,
    JsonlAuditSink,
    JsonlMemoryEventLog,
    Node,
)
from recollect.errors import NotFound
from recollect.testing.graph_suite import GraphSuite
from tests.contract.conftest import memory

__all__ = ["memory"]


class TestInMemory(GraphSuite):
    @pytest.fixture
    def store(self) -> Iterator[InMemoryGraphStore]:
        with InMemoryGraphStore() as store:
            yield store

    @pytest.fixture
    def log(self) -> InMemoryEventLog:
        return InMemoryEventLog()

    @pytest.fixture
    def sink(self) -> InMemoryAuditSink:
        return InMemoryAuditSink()


class TestInFiles(GraphSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[FileBackedMemoryGraphStore]:
        with FileBackedMemoryGraphStore(tmp_path / "graph") as store:
            yield store
            assert list(store.differing()) == [], "the files show what the memory has"

    @pytest.fixture
    def log(self, tmp_path: Path) -> JsonlMemoryEventLog:
        return JsonlMemoryEventLog(tmp_path / "events.jsonl")

    @pytest.fixture
    def sink(self, tmp_path: Path) -> JsonlAuditSink:
        return JsonlAuditSink(tmp_path / "audit.jsonl")


class TestOverEveryEngine(TestInMemory):
    @pytest.fixture
    def store(self, memory: Memory) -> InMemoryGraphStore:
        return InMemoryGraphStore(memory.scoped(trust="agent"))


class Naive:
    """A store in dictionaries, as one is written in five minutes."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, Edge] = {}

    def save_node(self, node: Node) -> None:
        self.nodes[node.id] = node

    def load_node(self, id: str) -> Node:
        return next(node for key, node in self.nodes.items() if key.startswith(id))

    def list_nodes(self, kind: str | None = None) -> list[Node]:
        return [node for node in self.nodes.values() if kind in (None, node.kind)]

    def save_edge(self, edge: Edge) -> None:
        self.edges[f"{edge.source}{edge.target}"] = edge

    def load_edge(self, id: str) -> Edge:
        for edge in self.edges.values():
            if edge.id == id:
                return edge
        raise NotFound(id)

    def list_edges(self, source: str | None = None, target: str | None = None) -> list[Edge]:
        return [edge for edge in self.edges.values() if source in (None, edge.source)]


@pytest.mark.parametrize(
    "name",
    [
        "test_nodes_are_listed_by_kind",
        "test_a_node_keeps_its_kind",
        "test_an_id_that_cannot_be_kept_is_refused",
        "test_an_edge_is_saved_and_loaded",
        "test_edges_are_listed_by_source_and_target",
        "test_an_edge_needs_its_nodes",
        "test_an_edge_is_never_lost_to_another",
    ],
)
def test_the_suite_finds_what_such_a_store_gets_wrong(name: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, AttributeError)):
        getattr(GraphSuite(), name)(Naive())


def test_the_suite_takes_what_it_does_right() -> None:
    """The control of the control."""
    GraphSuite().test_nodes_with_the_same_text_are_two(Naive())  # type: ignore[arg-type]
