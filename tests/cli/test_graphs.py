"""S1: graphs and profiles on the command line: what goes in comes out, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from recollect import Memory
from recollect.contracts.graph import (
    FIXTURES,
    Edge,
    FileBackedMemoryGraphStore,
    InMemoryGraphStore,
    Node,
    PhaseMemoryRuntime,
    Profile,
    fixture,
    paths,
)
from recollect.errors import Forbidden
from recollect.model.validate import Json
from tests.cli.running import Shell
from tests.contract.test_s1_workspace import visible

Graph = dict[str, Any]


def given() -> Graph:
    """A graph with a field of every kind that an envelope may have."""
    return {
        "schema_version": "markitect.memory.graph.v1",
        "id": "quay",
        "title": "The quay",
        "intent": "What the night shift relies on",
        "namespace": {"project": "harbour", "task": "T-7"},
        "metadata": {"by": ["Ines", None], "ratio": 0.5},
        "nodes": [
            {"id": "a.old", "kind": "claim", "text": "The crane is slow.", "phase": "stale"},
            {
                "id": "b.new",
                "kind": "decision",
                "text": "Use the new crane.",
                "phase": "fluid",
                "policy": {"labels": ["project-local"], "trust_zone": "local"},
                "source_spans": [{"path": "docs/a.md", "selector": "h2"}],
                "metadata": {"title": "Crane"},
            },
            {"id": "c", "kind": "constraint", "text": "12 tonnes at most.", "phase": "compacted"},
        ],
        "edges": [
            {"id": "a.old|cites|c", "kind": "cites", "source": "a.old", "target": "c"},
            {
                "id": "e.because",
                "kind": "supports",
                "source": "c",
                "target": "b.new",
                "weight": 0.25,
                "metadata": {"said_by": "Ines"},
            },
            {"id": "e.over", "kind": "supersedes", "source": "b.new", "target": "a.old"},
        ],
        "events": [
            {"id": "z.first", "kind": "recorded", "timestamp": "2026-05-15T08:00:00Z",
             "node_updates": [{"node_id": "b.new", "operation": "create"}]},
            {"id": "a.second", "kind": "policy_decision", "task": "T-7"},
        ],
    }  # fmt: skip


def profile() -> Graph:
    return {
        "schema_version": "markitect.memory.profile.v1",
        "id": "night",
        "title": "Night shift",
        "limits": {"reasoning": {"max_nodes": 40}},
        "policy": {"durable_writes": "free", "secrets_allowed": False},
    }


def sorted_parts(graph: Graph) -> Graph:
    """Nodes and edges by id: the command writes them in the order of the memory."""
    for part in ("nodes", "edges"):
        graph[part].sort(key=lambda one: one["id"])
    return graph


@pytest.fixture(params=["w/.recollect", "plain"])
def place(request: pytest.FixtureRequest, shell: Shell) -> str:
    """The memory of a workspace, and one without files."""
    if request.param != "plain":
        FileBackedMemoryGraphStore(shell.folder / "w").close()
    return str(request.param)


def brought(shell: Shell, place: str, *documents: Graph) -> str:
    """Imports documents on the command line; returns what was said."""
    said = ""
    for number, document in enumerate(documents):
        file = shell.folder / f"given-{number}.json"
        file.write_text(json.dumps(document))
        done = shell.run("--store", place, "import", str(file))
        assert done.code == 0, done.err
        said += done.out + done.err
    return said


def exported(shell: Shell, place: str, name: str = "out.json") -> Graph:
    done = shell.run("--store", place, "export", "markitect", name)
    assert done.code == 0, done.err
    found: Graph = json.loads((shell.folder / name).read_text())
    (shell.folder / name).unlink()
    return sorted_parts(found)


def test_a_graph_comes_back_as_it_was(shell: Shell, place: str) -> None:
    # S1-67 S1-68 S1-82 S1-103 S1-104 S1-105: every field, and the order of events
    said = brought(shell, place, given(), profile())
    assert "Imported 3 records, 3 links, 3 documents" in said
    assert "not imported" not in said
    assert exported(shell, place) == given()
    with InMemoryGraphStore(Memory.open(shell.folder / place, embedder="none")) as store:
        assert [one.to_dict() for one in store.list_profiles()] == [profile()]
        assert store.export_graph() == given()
        assert store.load_edge("e.because") == Edge(
            id="e.because", kind="supports", source="c", target="b.new", weight=0.25,
            extra={"metadata": {"said_by": "Ines"}},
        )  # fmt: skip


def test_again_brings_nothing_and_a_change_brings_what_changed(shell: Shell, place: str) -> None:
    brought(shell, place, given(), profile())
    before = exported(shell, place)
    again = brought(shell, place, given(), profile())
    assert again.count("Imported nothing new") == 2
    assert "imported before: 9" in again
    assert exported(shell, place) == before
    changed, other = given(), profile()
    changed["title"] = "The long quay"
    changed["nodes"][1] |= {"text": "Use both cranes.", "phase": "rigid"}
    changed["nodes"].append({"id": "d", "kind": "claim", "text": "It is night."})
    changed["edges"][1] |= {"weight": 0.75, "metadata": {"said_by": "Otto"}}
    changed["edges"][2]["target"] = "c"
    changed["events"].append({"id": "m.third", "kind": "recorded"})
    other["title"] = "Late shift"
    said = brought(shell, place, changed, other)
    assert "not imported" not in said, said
    assert exported(shell, place) == sorted_parts(changed)
    with Memory.open(shell.folder / place, embedder="none") as memory:
        assert memory.settings.documents.get("profile", "night").data["title"] == "Late shift"
        assert memory.admin.check() == []
    brought(shell, place, given())
    back = exported(shell, place)
    assert back["edges"] == given()["edges"], "also back to what it was"
    assert back["title"] == "The quay"


def test_an_import_into_a_workspace_writes_its_files(shell: Shell) -> None:
    # S1-67: the files that the calls of the store write, and doctor misses none
    with FileBackedMemoryGraphStore(shell.folder / "by-calls") as store:
        assert store.import_graph(given()) == []
        store.import_profile(profile())
    FileBackedMemoryGraphStore(shell.folder / "w").close()
    brought(shell, "w/.recollect", given(), profile())
    assert visible(shell.folder / "w") == visible(shell.folder / "by-calls")
    done = shell.run("--store", "w/.recollect", "admin", "doctor")
    assert done.code == 0, done.out
    assert "show the memory" in done.out
    with FileBackedMemoryGraphStore(shell.folder / "w") as store:
        assert PhaseMemoryRuntime(store).diagnostics() == []
        assert [event["id"] for event in store.events.list()] == ["z.first", "a.second"]


def test_any_import_into_a_workspace_writes_its_files(shell: Shell) -> None:
    with FileBackedMemoryGraphStore(shell.folder / "w") as store:
        store.save_node(Node(id="n", kind="claim", text="It rains."))
    (shell.folder / "mem0.json").write_text('{"results": [{"id": "a1", "memory": "It snows."}]}')
    assert shell.run("--store", "w/.recollect", "import", "mem0.json").code == 0
    assert len(list((shell.folder / "w" / "nodes").iterdir())) == 2
    done = shell.run("--store", "w/.recollect", "admin", "doctor")
    assert "show the memory" in done.out


def test_the_commands_bring_the_paths_of_an_envelope(shell: Shell) -> None:
    with FileBackedMemoryGraphStore(shell.folder / "a") as store:
        store.import_graph(given())
        for id, parent in (("b1", "main"), ("b2", "b1")):
            paths.branch(store, id, parent=parent)
            paths.extend(store, id, {"id": f"said.{id}", "kind": "said"})
        paths.abandon(store, "b2", "a dead end")
        known = store.list_paths()
    FileBackedMemoryGraphStore(shell.folder / "w").close()
    for _ in range(2):
        brought(shell, "w/.recollect", exported(shell, "a/.recollect"))
        with FileBackedMemoryGraphStore(shell.folder / "w") as store:
            assert store.list_paths() == known
            assert PhaseMemoryRuntime(store).diagnostics() == []


@pytest.mark.parametrize("seed", range(8))
def test_no_event_makes_an_import_fail(tmp_path: Path, seed: int) -> None:
    """What events say of paths is any JSON; nothing of it stops the rest."""
    chance = Random(seed)
    values: list[Json] = [None, 5, [], {}, "", "main", "p", "a b", "x" * 300, {"a": 1}]
    events: list[Json] = []
    for number in range(60):
        kind = chance.choice(["branched", "merged", "abandoned", "compacted", "said"])
        path = chance.choice(["main", "p", "q", "a b", "x" * 300, 5, None])
        event: dict[str, Json] = {"id": f"path:{path}:{kind}", "kind": kind, "path": path}
        if len(str(path)) > 99 or path == "a b" or chance.random() < 0.5:
            event["id"] = f"e.{number}"
        for name in ("parent", "into", "reason", "summary"):
            event[name] = chance.choice(values)
        if event["id"] not in [one["id"] for one in events]:  # type: ignore[index, call-overload]
            events.append(event)
    with FileBackedMemoryGraphStore(tmp_path) as store:
        store.import_graph({**given(), "events": events})
        assert len(store.events.list()) == len(events)
        assert len(store.list_nodes()) == 3
        PhaseMemoryRuntime(store).diagnostics()
        known = store.list_paths()
        store.import_graph({**given(), "events": events})
        assert store.list_paths() == known


def test_a_workspace_exports_what_its_store_exports(shell: Shell) -> None:
    # S1-68 S1-82: also links without a name, and no node that is hidden
    with FileBackedMemoryGraphStore(shell.folder / "w") as store:
        store.import_graph(given())
        store.memory.graph.link("c", "a.old", "raises")
        store.memory.remember("Not a node any more.", id="gone")
        store.memory.graph.link("gone", "c")
        store.memory.forget("gone")
        store.events.append({"id": "by.hand", "kind": "recorded"})
        wanted = store.export_graph()
    assert exported(shell, "w/.recollect") == sorted_parts(wanted)
    with FileBackedMemoryGraphStore(shell.folder / "again") as store:
        assert store.import_graph(wanted) == []
        assert store.export_graph() == wanted


def test_a_file_that_is_in_the_way_stays_and_is_named(shell: Shell) -> None:
    FileBackedMemoryGraphStore(shell.folder / "w").close()
    mine = shell.folder / "w" / "nodes" / "b.new.json"
    mine.write_text('{"mine": 1}')
    said = brought(shell, "w/.recollect", given())
    assert mine.read_text() == '{"mine": 1}'
    assert "nodes/b.new.json was left as it is" in " ".join(said.split())
    assert shell.run("--store", "w/.recollect", "admin", "doctor").code == 1


def test_what_has_no_place_in_an_envelope_is_named(shell: Shell) -> None:
    # S1-68
    with FileBackedMemoryGraphStore(shell.folder / "w") as store:
        store.import_graph(given())
        store.save_profile(Profile(id="p"))
        assert store.activate("Which crane is slow?") is not None
    done = shell.run("--store", "w/.recollect", "export", "markitect", "out.json")
    assert "no place for 1 profile and 1 activation" in done.err
    done = shell.run("--json", "--store", "w/.recollect", "export", "markitect", "json.json")
    assert done.err == ""


BROKEN: dict[str, tuple[str, Graph]] = {
    "weight": ("edges", {"id": "x", "kind": "k", "source": "c", "target": "a.old", "weight": 2.5}),
    "'nowhere'": ("edges", {"id": "x", "kind": "k", "source": "c", "target": "nowhere"}),
    "itself": ("edges", {"id": "x", "kind": "k", "source": "c", "target": "c"}),
    "already exists": ("edges", {"id": "x", "kind": "supports", "source": "c", "target": "b.new"}),
    "is there twice": ("nodes", {"id": "c", "kind": "constraint", "text": "14 tonnes."}),
    "without an id or a text": ("nodes", {"id": "x", "kind": "claim"}),
    "a node without an id": ("nodes", {"kind": "claim", "text": "x"}),
    "its 'id' was not kept": ("nodes", {"id": "ein Kran", "kind": "claim", "text": "Ü."}),
    "its 'kind' was not kept": ("nodes", {"id": "x", "kind": "a\nb", "text": "x"}),
    "its 'text' was not kept": ("nodes", {"id": "x", "kind": "claim", "text": "  blanks "}),
    "its 'metadata' was not kept": (
        "nodes",
        {"id": "x", "kind": "claim", "text": "x", "metadata": json.loads("[" * 30 + "]" * 30)},
    ),
    "an event without": ("events", {"id": "x"}),
    "events, a.second": ("events", {"id": "a.second", "kind": "other"}),
}  # fmt: skip


@pytest.mark.parametrize("why", BROKEN)
def test_what_cannot_be_kept_is_a_line_of_the_report(shell: Shell, why: str) -> None:
    # S1-67: never in silence, and the rest comes in
    part, one = BROKEN[why]
    graph = given()
    graph[part].append(one)
    said = brought(shell, "plain", graph)
    assert "not imported: 1" in said, said
    assert ("is there twice" if why.startswith("events,") else why) in said
    found = exported(shell, "plain")
    for name in ("nodes", "edges", "events"):
        kept = [each for each in found[name] if each in given()[name]]
        assert kept == given()[name]


def test_an_envelope_of_another_version_is_not_read(shell: Shell) -> None:
    # S1-108
    file = shell.folder / "later.json"
    file.write_text(json.dumps({**given(), "schema_version": "markitect.memory.graph.v9"}))
    done = shell.run("--store", "plain", "import", str(file))
    assert "markitect.memory.graph.v9" in done.out
    assert "not imported: 1" in done.out
    with Memory.open(shell.folder / "plain", embedder="none") as memory:
        assert memory.list() == []


def test_two_graphs_share_a_memory_and_no_node(shell: Shell) -> None:
    brought(shell, "plain", given())
    other = {**given(), "id": "dock", "title": "The dock", "edges": [], "events": []}
    other["nodes"] = [
        {"id": "b.new", "kind": "decision", "text": "Use no crane."},
        {"id": "dock.only", "kind": "claim", "text": "The dock is dry."},
    ]
    said = brought(shell, "plain", other)
    assert "b.new has another text there; the one here stays" in said
    assert "graph/envelope says something else here" in said
    found = exported(shell, "plain")
    assert [node["id"] for node in found["nodes"]] == ["a.old", "b.new", "c", "dock.only"]
    assert found["title"] == "The quay"


def test_what_a_person_changed_here_stays(shell: Shell) -> None:
    # decision 45: an import has an agent's trust at most
    brought(shell, "plain", given(), profile())
    with InMemoryGraphStore(Memory.open(shell.folder / "plain", embedder="none")) as store:
        store.save_node(Node(id="c", kind="constraint", text="10 tonnes at most."))
        store.save_edge(Edge(id="e.because", kind="supports", source="c", target="b.new"))
        store.save_profile(Profile(id="night", extra={"title": "Mine"}))
        store.memory.graph.unlink("b.new", "a.old", "supersedes")
        known = store.export_graph()
    changed, other = given(), profile()
    changed["nodes"][2]["text"] = "14 tonnes at most."
    changed["edges"][1]["weight"] = 0.5
    other["title"] = "Theirs"
    said = brought(shell, "plain", changed, other)
    assert "c was changed both there and here" in said
    assert "the edge 'e.because' was changed here" in said
    assert "profile/night says something else here" in said
    assert exported(shell, "plain") == sorted_parts(known)


def test_what_an_earlier_release_imported_keeps_its_ids(tmp_path: Path) -> None:
    """There the id of the graph stood before the ids of its nodes, and edges had no names."""
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        agent = memory.scoped(trust="agent")
        for node in given()["nodes"]:
            id = f"markitect-quay/{node['id']}"
            agent.remember(node["text"], id=id, kind=node["kind"], idempotency_key=id)
        agent.graph.link("markitect-quay/c", "markitect-quay/b.new", "supports")
        (tmp_path / "graph.json").write_text(json.dumps(given()))
        assert memory.admin.import_(tmp_path / "graph.json").refused == 1, (
            "the link is not an import's"
        )
        with InMemoryGraphStore(memory) as store:
            assert [node.id for node in store.list_nodes()] == [
                f"markitect-quay/{node['id']}" for node in given()["nodes"]
            ]
            over = store.load_edge("e.over")
            assert (over.source, over.target) == ("markitect-quay/b.new", "markitect-quay/a.old")


def test_a_secret_in_a_graph_is_not_kept(tmp_path: Path) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    graph = given()
    graph["edges"][1]["metadata"] = {"note": key}
    graph["events"][1]["note"] = key
    graph["metadata"] = {"note": key}
    graph["nodes"][0]["metadata"] = {"note": key}
    graph["nodes"].append({"id": key, "kind": "claim", "text": "Its id is a secret."})
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        done = memory.admin.import_(tmp_path / "graph.json")
        assert sum(done.redacted.values()) >= 5
        assert (done.records, done.problems) == (4, ())
    assert key.encode() not in (tmp_path / "m" / "events.wal").read_bytes()


def test_a_held_import_keeps_nothing_that_changes_how_a_memory_works(tmp_path: Path) -> None:
    for name, document in (("graph", given()), ("profile", profile())):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        memory.admin.import_(tmp_path / "graph.json", hold=True)
        done = memory.admin.import_(tmp_path / "profile.json", hold=True)
        assert (done.kept, done.refused) == (0, 1)
        assert memory.settings.documents.list() == []
        assert len(memory.review.list()) == 3


def test_the_calls_of_the_store_name_what_they_cannot_keep(tmp_path: Path) -> None:
    # S1-103 S1-106: nothing is raised half-way
    graph = given()
    graph["edges"].append(BROKEN["weight"][1])
    with FileBackedMemoryGraphStore(tmp_path) as store:
        store.save_node(Node(id="c", kind="claim", text="It keeps its kind."))
        found = [one.detail for one in store.import_graph(graph)]
        assert found == [
            "the node 'c' is a claim",
            "the edge 'x': weight must be between 0 and 1, not 2.5",
        ]
        assert store.load_about()["title"] == "The quay"
        assert len(store.list_edges()) == 3


def test_an_envelope_brings_its_paths(tmp_path: Path) -> None:
    # S1-63 S1-114: events tell where a path began, what was said on it and how it ended
    with FileBackedMemoryGraphStore(tmp_path / "a", trust="person") as store:
        store.save_node(Node(id="n", kind="claim", text="It rains."))
        paths.extend(store, "main", {"id": "e.0", "kind": "said"})
        for id, parent in (("b1", "main"), ("b2", "b1"), ("bad", "main"), ("open", "b1")):
            paths.branch(store, id, parent=parent, reason="what if")
            paths.extend(store, id, {"id": f"said.{id}", "kind": "said"})
        paths.merge(store, "b2", paths.diff(store, "b2").digest)
        paths.abandon(store, "bad", "a dead end")
        paths.merge(store, "b1", paths.diff(store, "b1").digest)
        known, graph = store.list_paths(), store.export_graph()
    with FileBackedMemoryGraphStore(tmp_path / "b") as store:
        for _ in range(2):
            assert store.import_graph(graph) == []
            assert store.list_paths() == known
            assert store.export_graph() == graph
        assert PhaseMemoryRuntime(store).diagnostics() == []
        assert paths.extend(store, "open", {"id": "later", "kind": "said"}).is_active


def test_a_gate_is_in_front_of_an_import_too(tmp_path: Path) -> None:
    # S1-113
    with FileBackedMemoryGraphStore(tmp_path) as store:
        store.import_profile(fixture("profile"))
        store.import_profile(fixture("profile"))
        with pytest.raises(Forbidden):
            store.import_graph(given())
        opened: dict[str, Json] = {**fixture("profile"), "policy": {}}
        with pytest.raises(Forbidden):
            store.import_profile(opened)
        assert store.list_nodes() == []
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as store:
        store.import_profile(opened)
        assert store.import_graph(given()) == []


def test_the_fixtures_are_imported_on_the_command_line(shell: Shell, place: str) -> None:
    # S1-67 S1-103 S1-104
    for name in ("graph", "profile"):
        done = shell.run("--store", place, "import", str(FIXTURES / f"{name}.json"))
        assert done.code == 0, done.err
    assert exported(shell, place) == sorted_parts(fixture("graph"))
