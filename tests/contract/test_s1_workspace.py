"""S1: the files of a workspace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

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
    fixture,
    paths,
)
from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    NotFound,
    RecollectError,
    Unavailable,
    Unsupported,
)
from recollect.exchange.workspace import file_name
from recollect.model.validate import Json

FOLDERS = ["activations", "edges", "nodes", "paths", "profiles"]


def visible(root: Path) -> dict[str, bytes]:
    """Every file of a workspace that people read, by its name."""
    return {
        file.relative_to(root).as_posix(): file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.is_file() and ".recollect" not in file.parts
    }


def filled(root: Path, *, origin: str = "person") -> FileBackedMemoryGraphStore:
    store = FileBackedMemoryGraphStore(root, trust=origin)  # type: ignore[arg-type]
    assert store.import_graph(fixture("graph")) == []
    store.save_profile(Profile(id="p", extra={"title": "Harbour"}))
    return store


def test_a_workspace_has_a_place_for_everything(tmp_path: Path) -> None:
    # S1-45 S1-50 S1-51 S1-71 S1-72 S1-73: the layout, as JSON with a schema version in each file
    with filled(tmp_path) as store:
        paths.branch(store, "try")
        found = store.activate("Which crane lifts the containers?")
        assert found is not None
        runtime = PhaseMemoryRuntime(store)
        runtime.apply([Action(kind="abandon", subject="try", reason="a test")])
        names = sorted(visible(tmp_path))
        assert names == sorted(
            [
                "audit.jsonl",
                "events.jsonl",
                "workspace.json",
                "profiles/p.json",
                "nodes/constraint.load.json",
                "nodes/decision.crane.json",
                "nodes/question.wind.json",
                "edges/edge.because.json",
                "edges/edge.open.json",
                "paths/try.json",
                f"activations/{found.id}.json",
            ]
        )
        for name, raw in visible(tmp_path).items():
            for line in raw.splitlines() if name.endswith("l") else [raw]:
                assert str(json.loads(line)["schema_version"]).startswith("recollect."), name
        parts = ("activation", "edge", "node", "path", "profile")
        assert json.loads((tmp_path / "workspace.json").read_bytes()) == {  # runtime metadata
            "schema_version": "recollect.workspace.v1",
            "files": {f"{part}s": f"recollect.{part}.v1" for part in parts}
            | {"events.jsonl": "recollect.event.v1", "audit.jsonl": "recollect.audit.v1"},
            "graph": store.load_about(),
        }
        given = json.loads((tmp_path / "nodes" / "constraint.load.json").read_bytes())
        assert given == {
            "schema_version": "recollect.node.v1",
            "node": store.load_node("constraint.load").to_dict(),
        }
        assert "decision.crane" in found.nodes
        assert b"Which crane" not in (tmp_path / f"activations/{found.id}.json").read_bytes()


def test_everything_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    # S1-44 S1-46 S1-47: in one folder, without a server, a graph database or vectors
    with filled(tmp_path) as store:
        whole = store.export_graph()
        profile = store.load_profile("p")
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert store.export_graph() == whole == fixture("graph")
        assert store.load_profile("p") == profile
        assert [event["id"] for event in store.events.list()] == ["event.1", "event.2"]
    assert not (tmp_path / ".recollect" / "vectors").exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [
        ".recollect",
        *FOLDERS,
    ]


def test_the_same_state_has_the_same_bytes(tmp_path: Path) -> None:
    # S1-50 S1-112: whatever the order in which it came about
    with filled(tmp_path / "a") as store:
        nodes, edges = store.list_nodes(), store.list_edges()
        events, about = store.events.list(), store.load_about()
    with FileBackedMemoryGraphStore(tmp_path / "b") as store:
        store.save_profile(Profile(id="p", extra={"title": "Other"}))
        for node in reversed(nodes):
            store.save_node(Node(id=node.id, kind=node.kind, text="Something else."))
            store.save_node(node)
        for edge in reversed(edges):
            store.save_edge(edge)
        store.save_profile(Profile(id="p", extra={"title": "Harbour"}))
        store.save_about(about)
        for event in events:
            store.events.append(event)
    assert visible(tmp_path / "a") == visible(tmp_path / "b")
    with FileBackedMemoryGraphStore(tmp_path / "b") as store:
        store.save_node(Node(id=nodes[0].id, kind=nodes[0].kind, text="Something else."))
    assert visible(tmp_path / "a") != visible(tmp_path / "b")


def test_a_workspace_is_replayed_to_the_same_bytes(tmp_path: Path) -> None:
    # S1-112: created, inspected, exported and replayed
    with filled(tmp_path / "a") as store:
        for node in store.list_nodes():
            store.events.append(
                {
                    "id": f"replay.{node.id}",
                    "kind": "recorded",
                    "node_updates": [{"node_id": node.id, "node": node.to_dict()}],
                }
            )
        edges: list[Json] = [
            {"edge_id": edge.id, "edge": edge.to_dict()} for edge in store.list_edges()
        ]
        store.events.append({"id": "replay.edges", "kind": "recorded", "edge_updates": edges})
        snapshots = [store.events.replay() for _ in range(2)]
        assert snapshots[0] == snapshots[1]
        with FileBackedMemoryGraphStore(tmp_path / "b") as again:
            assert again.import_graph(snapshots[0].graph) == []
    first, second = visible(tmp_path / "a"), visible(tmp_path / "b")
    for folder in ("nodes/", "edges/"):
        assert {name: raw for name, raw in first.items() if name.startswith(folder)} == {
            name: raw for name, raw in second.items() if name.startswith(folder)
        }


def test_reading_and_closing_change_nothing(tmp_path: Path) -> None:
    # S1-45 S1-48: no hidden compaction or deletion, and only explicit writes
    with filled(tmp_path) as store:
        store.save_node(Node(id="decision.crane", kind="decision", text="The old one."))
    before = visible(tmp_path), (tmp_path / ".recollect" / "events.wal").read_bytes()
    for _ in range(2):
        with FileBackedMemoryGraphStore(tmp_path) as store:
            store.export_graph()
            store.list_paths()
            store.events.replay(store)
            PhaseMemoryRuntime(store).diagnostics()
    assert (visible(tmp_path), (tmp_path / ".recollect" / "events.wal").read_bytes()) == before
    with FileBackedMemoryGraphStore(tmp_path) as store:
        first = store.memory.history("decision.crane")[0]
        assert first.record.text == "Containers go to the new crane."


@pytest.mark.parametrize(
    "id",
    ["../../escape", "/etc/passwd", "..", ".", ".hidden", "a/../../b", "~/x", "X" * 110],
)
def test_no_id_leads_out_of_its_folder(tmp_path: Path, id: str) -> None:
    root = tmp_path / "outer" / "root"
    with FileBackedMemoryGraphStore(root) as store:
        store.save_node(Node(id=id, kind="claim", text="It rains."))
        store.save_node(Node(id="b", kind="claim", text="It pours."))
        store.save_edge(Edge(id=id, kind="supports", source=id, target="b"))
        store.save_profile(Profile(id=id))
    names = sorted(visible(tmp_path))
    assert len(names) == 5
    assert all(name.startswith("outer/root/") for name in names)
    assert [len(list((root / name).iterdir())) for name in ("nodes", "edges", "profiles")] == [
        2, 1, 1,
    ]  # fmt: skip


def test_two_ids_never_have_one_file() -> None:
    ids = ["a", "A", "%61", "a/b", "a%2fb", "..", "%2e.", "x" * 120, "X" * 120, "X" * 119 + "Y"]
    names = [file_name(id) for id in ids]
    assert len({name.lower() for name in names}) == len(ids)
    assert max(map(len, names)) < 250
    assert not any(name.startswith(".") or "/" in name for name in names)


def test_links_in_a_workspace_are_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text('{"schema_version": "recollect.node.v1"}')
    with FileBackedMemoryGraphStore(root) as store:
        target = root / "nodes" / "n.json"
        target.symlink_to(outside / "secret.json")
        store.save_node(Node(id="n", kind="claim", text="It rains."))
        assert target.is_symlink(), "the link was neither followed nor replaced"
        assert [one.detail for one in store.findings] == [
            "nodes/n.json was left as it is: it holds what this memory did not write"
        ]
        assert store.render(replace=True) == 1
        assert not target.is_symlink()
        assert (root / "aside" / "nodes" / "n.json").is_symlink()
        (root / "nodes" / "link.json").symlink_to(outside / "secret.json")
        (found,) = store.differing()
        assert "nodes/link.json could not be read" in found.detail
        (root / "events.jsonl").symlink_to(outside / "events")
        with pytest.raises(Unavailable):
            store.events.append({"id": "e", "kind": "recorded"})
        with pytest.raises(Unavailable):
            store.events.list()
    assert [file.name for file in outside.iterdir()] == ["secret.json"]
    assert (outside / "secret.json").read_text() == '{"schema_version": "recollect.node.v1"}'
    shutil.rmtree(root / "edges")
    (root / "edges").symlink_to(outside)
    with pytest.raises(ConfigError):
        FileBackedMemoryGraphStore(root)


def test_a_fifo_in_a_workspace_does_not_hang(tmp_path: Path) -> None:
    with FileBackedMemoryGraphStore(tmp_path) as store:
        os.mkfifo(tmp_path / "events.jsonl")
        os.mkfifo(tmp_path / "nodes" / "pipe.json")
        with pytest.raises(ConfigError):
            store.events.list()
        (found,) = store.differing()
        assert "pipe.json" in found.detail


def test_files_without_a_memory_are_read_into_a_new_one(tmp_path: Path) -> None:
    # S1-50: as in a clone, where the folder `.recollect` is not there
    with filled(tmp_path / "a") as store:
        whole = store.export_graph()
    shutil.copytree(tmp_path / "a", tmp_path / "b", ignore=shutil.ignore_patterns(".recollect"))
    (tmp_path / "b" / "nodes" / "broken.json").write_text("{")
    with FileBackedMemoryGraphStore(tmp_path / "b") as store:
        assert store.export_graph() == whole
        assert store.load_profile("p") == Profile(id="p", extra={"title": "Harbour"})
        assert store.memory.get("decision.crane").trust == "agent"
        assert [one.detail for one in store.findings] == [
            "nodes/broken.json: nodes/broken.json is not JSON: Input data was truncated"
        ]


def test_files_that_differ_are_named_taken_over_or_written_again(tmp_path: Path) -> None:
    # S1-50 S1-65 S1-108: also a file of an unknown schema version
    with filled(tmp_path, origin="agent") as store:
        runtime = PhaseMemoryRuntime(store)
        assert runtime.diagnostics() == []
        node = tmp_path / "nodes" / "decision.crane.json"
        node.write_bytes(node.read_bytes().replace(b"new crane", b"old crane"))
        (tmp_path / "edges" / "edge.open.json").unlink()
        later = (tmp_path / "profiles" / "p.json").read_bytes().replace(b".v1", b".v9")
        (tmp_path / "profiles" / "p.json").write_bytes(later)
        details = [one.detail for one in runtime.diagnostics()]
        assert len(details) == 3
        assert "profiles/p.json is of an unknown schema version" in details[0]
        assert details[1:] == [
            "nodes/decision.crane.json differs from the memory",
            "edges/edge.open.json is missing",
        ]
        assert [one.what for one in store.import_workspace()] == ["files"], "the profile"
        assert store.load_node("decision.crane").text == "Containers go to the old crane."
        assert store.render() == 1, "the edge; the profile is not what this memory wrote"
        assert (tmp_path / "profiles" / "p.json").read_bytes() == later
        assert [one.detail for one in store.findings if "left as it is" in one.detail] == [
            "profiles/p.json was left as it is: it holds what this memory did not write"
        ]
        assert store.render(replace=True) == 1
        assert (tmp_path / "aside" / "profiles" / "p.json").read_bytes() == later
        assert store.import_workspace() == runtime.diagnostics() == []
        (tmp_path / "nodes" / "left.json").write_text("{}")
        assert store.render() == 0
        assert [one.detail for one in store.differing()] == [
            "nodes/left.json is of an unknown schema version: "
            "it says None, and this release knows 'recollect.node.v1'"
        ]
        assert store.render(replace=True) == 1
        assert not (tmp_path / "nodes" / "left.json").exists()
        assert (tmp_path / "aside" / "nodes" / "left.json").read_text() == "{}"


def test_a_layout_of_another_release_is_refused(tmp_path: Path) -> None:
    # S1-51 S1-73 S1-108
    FileBackedMemoryGraphStore(tmp_path).close()
    head = tmp_path / "workspace.json"
    head.write_bytes(head.read_bytes().replace(b"workspace.v1", b"workspace.v2"))
    with pytest.raises(Unsupported, match=r"recollect\.workspace\.v2"):
        FileBackedMemoryGraphStore(tmp_path)


def test_a_file_goes_and_comes_back_with_its_node(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        before = visible(tmp_path)
        runtime = PhaseMemoryRuntime(store)
        forget = [Action(kind="forget", subject="question.wind")]
        approval = Approval(by="Ines", digest=digest_of(forget))
        assert runtime.apply(forget, approval=approval)[0].outcome == "applied"
        gone = before.keys() - visible(tmp_path).keys()
        assert gone == {"nodes/question.wind.json", "edges/edge.open.json"}
        with pytest.raises(NotFound):
            store.load_edge("edge.open")
        assert runtime.apply([Action(kind="restore", subject="question.wind")])
        after = visible(tmp_path)
        assert {name for name in after if name != "audit.jsonl"} == before.keys()
        assert all(after[name] == raw for name, raw in before.items())


def test_what_was_erased_is_not_in_the_files(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        erase = [Action(kind="erase", subject="question.wind")]
        runtime = PhaseMemoryRuntime(store)
        done = runtime.apply(erase, approval=Approval(by="Ines", digest=digest_of(erase)))
        assert done[0].outcome == "applied"
        assert b"wind speed" not in b"".join(visible(tmp_path).values())
        store.memory.erase("constraint.load")
        assert any(b"12 tonnes" in raw for raw in visible(tmp_path).values()), "not this store"
        assert "nodes/constraint.load.json is not in the memory" in [
            one.detail for one in store.differing()
        ]
        store.render()
        assert not any(b"12 tonnes" in raw for raw in visible(tmp_path).values())


def test_a_store_of_an_agent_does_not_change_what_a_person_wrote(tmp_path: Path) -> None:
    # S1-45: policy-aware
    filled(tmp_path).close()
    before = visible(tmp_path)
    with FileBackedMemoryGraphStore(tmp_path) as store:
        with pytest.raises(Forbidden):
            store.save_node(Node(id="decision.crane", kind="decision", text="Mine now."))
        with pytest.raises(Forbidden):
            store.save_profile(Profile(id="p", extra={"policy": {}}))
        assert store.load_node("decision.crane").text == "Containers go to the new crane."
    assert visible(tmp_path) == before


def test_a_memory_that_was_there_is_a_graph_too() -> None:
    """Records and links of other interfaces are nodes and edges, also those without a name."""
    memory = Memory.open(":memory:", embedder="none")
    for id in ("r.a", "r.b", "r.c"):
        memory.remember(f"About {id}.", id=id)
    memory.graph.link("r.a", "r.b", "cites|of")
    memory.graph.link("r.b", "r.c", "cites", name="seven")
    with InMemoryGraphStore(memory) as store:
        edges = store.list_edges()
        assert [edge.id for edge in edges] == ["r.a|cites|of|r.b", "seven"]
        assert [store.load_edge(edge.id) for edge in edges] == edges
        store.save_edge(Edge(id="seven", kind="cites", source="r.b", target="r.c", weight=0.5))
        assert store.load_edge("seven").weight == 0.5
        memory.observe("What was said.", id="r.said")
        with pytest.raises(NotFound):
            store.load_node("r.said")
        for odd in ("a|b", "||", "a\0|b|c"):
            with pytest.raises(NotFound):
                store.load_edge(odd)


def test_what_waits_for_a_review_is_not_brought_in_by_saving_it() -> None:
    memory = Memory.open(":memory:", embedder="none")
    memory.scoped(trust="unverified").remember("Send it to me.", id="n", kind="claim")
    with InMemoryGraphStore(memory.scoped(trust="agent")) as store:
        with pytest.raises(Conflict, match="is waiting"):
            store.save_node(Node(id="n", kind="claim", text="Send it to me."))
        assert store.list_nodes() == []
    guest = InMemoryGraphStore(Memory.open(":memory:", embedder="none").scoped(trust="unverified"))
    with guest as store:
        for _ in range(2):
            store.save_node(Node(id="m", kind="claim", text="Send it to me."))
        assert store.list_nodes() == []


def test_what_cannot_be_saved_does_not_keep_a_workspace_from_opening(tmp_path: Path) -> None:
    with filled(tmp_path / "a"):
        pass
    shutil.copytree(tmp_path / "a", tmp_path / "b", ignore=shutil.ignore_patterns(".recollect"))
    for folder, old, new in (
        ("edges", b"edge.because", b"edge.twice"),
        ("nodes", b"question.wind", b"not an id"),
        ("profiles", b'"p"', b'"also not"'),
    ):
        (file, *_) = (f for f in (tmp_path / "b" / folder).iterdir() if old in f.read_bytes())
        file.with_name("new.json").write_bytes(file.read_bytes().replace(old, new))
    with FileBackedMemoryGraphStore(tmp_path / "b") as store:
        assert len(store.findings) == 3, store.findings
        assert (len(store.list_nodes()), len(store.list_edges())) == (3, 2)


@pytest.mark.parametrize("seed", range(12))
def test_no_file_makes_a_workspace_crash(tmp_path: Path, seed: int) -> None:
    # S1-56 S1-89: random bytes in random files are named, or refused as a whole
    chance = Random(seed)
    with filled(tmp_path / "a"):
        pass
    shutil.copytree(tmp_path / "a", tmp_path / "b", ignore=shutil.ignore_patterns(".recollect"))
    for file in sorted((tmp_path / "b").rglob("*.json*")):
        raw = bytearray(file.read_bytes())
        for _ in range(chance.randrange(4) if file.name != "workspace.json" else 0):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        file.write_bytes(raw[: chance.randrange(len(raw) // 2, 2 * len(raw))])
    if seed % 4 == 0:
        shutil.copy(tmp_path / "a" / "workspace.json", tmp_path / "b")
    try:
        store = FileBackedMemoryGraphStore(tmp_path / "b")
    except RecollectError:
        assert seed % 4, "only a broken workspace.json may keep it from opening"
        return
    with store:
        PhaseMemoryRuntime(store).diagnostics()
        store.export_graph()
        store.events.replay(store)
        before = visible(tmp_path / "b")
        store.render()
        after = visible(tmp_path / "b")
        assert all(after[name] == raw for name, raw in before.items())
        store.render(replace=True)
        assert not [one for one in store.differing() if one not in store.findings]
    kept = set(visible(tmp_path / "b").values())
    assert kept >= set(before.values())


PROGRAM = """
import sys
from recollect.contracts.graph import FileBackedMemoryGraphStore, Node
with FileBackedMemoryGraphStore(sys.argv[1]) as store:
    for number in range(15):
        store.save_node(Node(id="n", kind="claim", text=f"{sys.argv[2]} {number}"))
"""


def test_two_processes_leave_files_that_show_the_memory(tmp_path: Path) -> None:
    FileBackedMemoryGraphStore(tmp_path).close()
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path), name])
        for name in ("one", "two")
    ]
    done = [each.wait(timeout=120) for each in running]
    assert 0 in done, "one of them may lose a race for a new id"
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert list(store.differing()) == []


def test_a_list_does_not_end_at_the_limit_of_a_read() -> None:
    with InMemoryGraphStore() as store:
        hub = Node(id="hub", kind="topic", text="The hub.")
        spokes = [Node(id=f"s.{n}", kind="claim", text=f"Spoke {n}.") for n in range(10_050)]
        store.save_nodes([hub, *spokes])
        store.save_edges(
            Edge(id=f"e.{n}", kind="has", source="hub", target=node.id)
            for n, node in enumerate(spokes)
        )
        assert len(store.list_edges(source="hub")) == 10_050
        assert len(store.list_nodes()) == 10_051
