"""Random workspaces go out and come in, and every field is the same or named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random, random
from typing import Any, Final

import pytest

from recollect import Memory
from recollect.contracts.graph import (
    Action,
    Approval,
    Edge,
    FileBackedMemoryGraphStore,
    InMemoryGraphStore,
    Node,
    PhaseMemoryRuntime,
    Profile,
    digest_of,
    paths,
)
from recollect.errors import RecollectError
from recollect.model.validate import Json
from tests.contract.test_s1_workspace import visible

FEW, MANY = 4, 200
_WORDS: Final = ("crane", "quay", "night", "wind", "tonnes", "Ü", "“low”", "\t", "0°C", "日本")
_IDS: Final = ("a", "B", "a/b", "con", ".x", "..", "a:b@c", "~", "x" * 80, "n.1", "n-1", "n_1")
_STEPS: Final = 24


class Made:
    """A workspace that is filled at random, through the calls of its store."""

    def __init__(self, root: Path, seed: str) -> None:
        self.chance, self.number = Random(seed), 0
        self.store = FileBackedMemoryGraphStore(root, trust="person")
        self.open: list[str] = []
        steps = (self.node, self.edge, self.edge, self.profile, self.about, self.event)
        more = (self.branch, self.branch, self.on_path, self.on_path, self.end, self.said)
        for step in (
            self.node,
            self.node,
            *self.chance.choices((*steps, *more, self.forget), k=_STEPS),
        ):
            try:
                step()
            except RecollectError:  # such as a second edge of one kind: refused, not lost
                continue
        self.store.save_node(Node(id="last", kind="claim", text=self.text()))
        assert self.store.activate(self.store.load_node("last").text) is not None
        self.store.render()

    def any(self) -> str:
        self.number += 1
        return f"{self.chance.choice(_IDS)}{self.number if self.chance.random() < 0.8 else ''}"

    def text(self) -> str:
        self.number += 1
        words = " ".join(self.chance.choices(_WORDS, k=self.chance.randrange(1, 9)))
        return f"The {words} {self.number}."

    def fields(self) -> dict[str, Json]:
        values: list[Json] = [
            None, True, 0, -1, 0.1, 2**53 - 1, "", self.text(), [], {}, [1, [2, {"a": None}]],
            {"project-local": [self.text()], "Ü": {"a": {"b": [0.5]}}},
        ]  # fmt: skip
        names = ("phase", "metadata", "policy", "source_spans", "title", "Ü x", "weight_of")
        return {name: self.chance.choice(values) for name in self.chance.sample(names, k=2)}

    def some_node(self) -> str:
        return self.chance.choice(self.store.list_nodes() or [self.made_node()]).id

    def made_node(self) -> Node:
        kind = self.chance.choice(("claim", "decision", "a longer kind"))
        return Node(id=self.any(), kind=kind, text=self.text(), extra=self.fields())

    def made_edge(self) -> Edge:
        return Edge(
            id=self.any(),
            kind=self.chance.choice(("cites", "supports", "is about")),
            source=self.some_node(),
            target=self.some_node(),
            weight=self.chance.choice((1.0, 0.0, 0.3)),
            extra=self.fields() if self.chance.random() < 0.5 else {},
        )

    def node(self) -> None:
        self.store.save_node(self.made_node())

    def edge(self) -> None:
        self.store.save_edge(self.made_edge())

    def profile(self) -> None:
        self.store.save_profile(Profile(id=self.any(), extra=self.fields()))

    def about(self) -> None:
        self.store.save_about({"id": self.any(), "namespace": {"a": "b"}, **self.fields()})

    def made_event(self) -> dict[str, Json]:
        node: Json = self.made_node().to_dict()
        updates: list[list[Json]] = [[], [{"node_id": self.some_node()}], [{"node": node}]]
        return {
            "id": self.any(),
            "kind": self.chance.choice(("recorded", "policy_decision")),
            "node_updates": self.chance.choice(updates),
            **self.fields(),
        }

    def event(self) -> None:
        self.store.events.append(self.made_event())

    def branch(self) -> None:
        id = f"path.{self.number}"
        parent = self.chance.choice(["main", *self.open[-1:]])
        paths.branch(self.store, id, parent=parent, reason=self.text())
        self.open.append(id)

    def said(self) -> None:
        paths.extend(self.store, self.chance.choice(["main", *self.open]), self.made_event())

    def on_path(self) -> None:
        if not self.open:
            self.branch()
        on = self.store.on(self.chance.choice(self.open))
        on.save_node(self.made_node())
        on.save_edge(self.made_edge())

    def end(self) -> None:
        if not self.open:
            self.branch()
        id = self.chance.choice([*self.open, *self.open[-1:]])
        how = self.chance.choice(("merge", "merge", "abandon", "compact"))
        if how == "merge":
            paths.merge(self.store, id, paths.diff(self.store, id).digest)
        elif how == "abandon":
            paths.abandon(self.store, id, self.text())
        else:
            action = Action(kind="compact", subject=id, text=self.text())
            approval = Approval(by="Ines", digest=digest_of([action]))
            paths.compact(self.store, id, str(action.text), approval=approval)
        self.open.remove(id)

    def forget(self) -> None:
        actions = [Action(kind="forget", subject=self.some_node())]
        approval = Approval(by="Ines", digest=digest_of(actions))
        PhaseMemoryRuntime(self.store).apply(actions, approval=approval)


def whole(store: FileBackedMemoryGraphStore | InMemoryGraphStore) -> dict[str, Any]:
    """Everything that a store lists."""
    return {
        "graph": store.export_graph(),
        "profiles": store.list_profiles(),
        "paths": store.list_paths(),
        "activations": store.list_activations(),
    }


def through_an_envelope(root: Path, to: Path) -> None:
    """Into an empty store, by its calls: what an envelope has no place for is known."""
    with FileBackedMemoryGraphStore(root) as store:
        wanted = whole(store)
        profiles = [profile.to_dict() for profile in wanted["profiles"]]
    raw = json.dumps([wanted["graph"], profiles])
    graph, profiles = json.loads(raw)
    with FileBackedMemoryGraphStore(to) as store:
        for _ in range(2):
            assert store.import_graph(graph) == []
            for profile in profiles:
                store.import_profile(profile)
            assert whole(store) == {**wanted, "activations": []}
            assert list(store.differing()) == []


def through_the_commands(root: Path, to: Path) -> None:
    """Into a memory without files, as ``recollect import`` does."""
    with FileBackedMemoryGraphStore(root) as store:
        wanted = whole(store)
    to.mkdir()
    files = {"graph.json": wanted["graph"]}
    for number, profile in enumerate(wanted["profiles"]):
        schema = {"schema_version": "markitect.memory.profile.v1"}
        files[f"profile-{number}.json"] = {**profile.to_dict(), **schema}
    for name, given in files.items():
        (to / name).write_text(json.dumps(given))
    memory = Memory.open(to / "m", embedder="none")
    with InMemoryGraphStore(memory) as store:
        for _ in range(2):
            for name in files:
                done = memory.admin.import_(to / name)
                assert done.problems == (), done.problems
            found = whole(store)
            assert found["graph"] == wanted["graph"]
            schemas = [one.extra.pop("schema_version") for one in found["profiles"]]
            assert len(schemas) == len(wanted["profiles"])
            assert found["profiles"] == wanted["profiles"]


def through_a_clone(root: Path, to: Path) -> None:
    """As git copies it: everything but the folder of the memory."""
    shutil.copytree(root, to, ignore=shutil.ignore_patterns(".recollect"))
    with FileBackedMemoryGraphStore(root) as store:
        wanted = whole(store)
    before = visible(to)
    with FileBackedMemoryGraphStore(to) as store:
        assert store.findings == ()
        assert whole(store) == wanted
        assert list(store.differing()) == []
        assert (store.render(), store.import_workspace()) == (0, [])
    with FileBackedMemoryGraphStore(to, trust="person") as store:
        assert whole(store) == wanted
        snapshot = store.events.replay(store).graph
        kept = {node["id"]: node for node in snapshot["nodes"]}  # type: ignore[union-attr, index, call-overload]
        graph = wanted["graph"]
        assert [kept[node["id"]] for node in graph["nodes"]] == graph["nodes"]
    assert visible(to) == before


WAYS: Final[tuple[Callable[[Path, Path], None], ...]] = (
    through_an_envelope, through_the_commands, through_a_clone,
)  # fmt: skip


def round_trip(place: Path, way: Callable[[Path, Path], None], seed: str) -> None:
    root = place / f"{way.__name__}-{seed}"
    Made(root / "made", seed).store.close()
    way(root / "made", root / "copy")
    shutil.rmtree(root)


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(FEW))
def test_a_workspace_comes_back_as_it_was(
    tmp_path: Path, way: Callable[[Path, Path], None], seed: int
) -> None:
    round_trip(tmp_path, way, str(seed))


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
def test_many_workspaces_come_back_as_they_were(
    tmp_path: Path, way: Callable[[Path, Path], None]
) -> None:
    night = random()  # pytest-randomly seeds it with that of the run
    for number in range(MANY):
        round_trip(tmp_path, way, f"{night} {number}")
