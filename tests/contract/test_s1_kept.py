"""S1: what a workspace keeps and where: nothing hidden, nothing lost, no database but an index."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import time
import tomllib
import typing
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from recollect.contracts.graph import (
    Action,
    Approval,
    Edge,
    FileBackedMemoryGraphStore,
    GraphStore,
    InMemoryGraphStore,
    MemoryGraphStore,
    MemoryPath,
    Node,
    PhaseMemoryRuntime,
    Profile,
    digest_of,
    fixture,
    paths,
)
from recollect.errors import Forbidden
from recollect.model.instants import from_microseconds
from recollect.model.validate import Json
from recollect.model.values import Finding
from recollect.store.seam import Seam
from tests.contract.test_s1_quickstart import PROJECT, run
from tests.contract.test_s1_workspace import filled, visible

CRANE = "decision.crane"


def texts(store: FileBackedMemoryGraphStore, id: str) -> list[str]:
    return [one.record.text for one in store.memory.history(id)]


def shown(root: Path, id: str) -> str:
    return str(json.loads((root / "nodes" / f"{id}.json").read_bytes())["node"]["text"])


def inside(root: Path) -> set[str]:
    """The names in the folder of the memory."""
    place = root / ".recollect"
    return {each.relative_to(place).as_posix() for each in place.rglob("*")}


def test_a_write_can_be_read_in_its_file_in_the_history_and_in_the_audit(tmp_path: Path) -> None:
    # S1-45: inspectable
    first, second, third = "Containers go to the new crane.", "To the old one.", "To both."
    with filled(tmp_path) as store:
        assert (shown(tmp_path, CRANE), texts(store, CRANE)) == (first, [first])
        store.save_node(Node(id=CRANE, kind="decision", text=second))
        assert (shown(tmp_path, CRANE), texts(store, CRANE)) == (second, [first, second])
        revise = [Action(kind="revise", subject=CRANE, text=third, review=True)]
        approval = Approval(by="Ines", digest=digest_of(revise))
        assert PhaseMemoryRuntime(store).apply(revise, approval=approval)[0].outcome == "applied"
        assert (shown(tmp_path, CRANE), texts(store, CRANE)) == (third, [first, second, third])
    _, told = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_bytes().splitlines()]
    assert (told["action"], told["subject"], told["outcome"], told["approved_by"]) == (
        "revise", CRANE, "applied", "Ines",
    )  # fmt: skip


USES = """
import sys
from recollect.contracts.graph import *
with FileBackedMemoryGraphStore(sys.argv[1], trust="person") as store:
    store.import_graph(fixture("graph"))
    paths.branch(store, "try")
    paths.abandon(store, "try", "a test")
    store.import_profile(fixture("profile"))
    assert store.activate("Which crane lifts the containers?").nodes
    PhaseMemoryRuntime(store).diagnostics()
    store.events.replay(store)
    store.export_graph()
files = {name.partition(".")[0]: getattr(module, "__file__", None) or ""
    for name, module in list(sys.modules.items())}
print(*sorted(name for name, file in files.items() if "site-packages" in file))
"""


def test_no_database_but_the_index_is_there(tmp_path: Path) -> None:
    # S1-46 S1-47: neither as a file, nor as a package that is needed or loaded
    done = subprocess.run(
        [sys.executable, "-c", USES, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert inside(tmp_path) == {
        "events.wal", "index.db", "ledger.lock", "settings.json", "workspace-files.jsonl",
    }  # fmt: skip
    loaded = {name for name in done.stdout.split() if not name.startswith("_")}
    assert "msgspec" in loaded, "the control: packages are seen"
    assert loaded <= {"msgspec", "Stemmer", "recollect", "typing_extensions"}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[^\w-]", each)[0] for each in project["dependencies"]}
    assert needed == {"msgspec", "PyStemmer", "rich"}


def test_no_call_of_the_store_takes_or_returns_vectors(tmp_path: Path) -> None:
    # S1-47
    leaves: set[object] = set()

    def look(hint: object) -> None:
        parts = typing.get_args(hint)
        for part in parts:
            look(part)
        if not parts:
            leaves.add(hint)

    def calls(kind: type) -> list[tuple[str, Callable[..., object]]]:
        return [one for one in inspect.getmembers(kind, inspect.isfunction) if one[0][0] != "_"]

    for name, call in vars(MemoryGraphStore).items():
        if not name.startswith("_"):
            for hint in typing.get_type_hints(call).values():
                look(hint)
    assert leaves == {Profile, Node, Edge, MemoryPath, Finding, str, object, type(None)}
    kinds = (GraphStore, FileBackedMemoryGraphStore, InMemoryGraphStore, PhaseMemoryRuntime)
    for name, call in [one for kind in kinds for one in calls(kind)]:
        leaves.clear()
        for hint in typing.get_type_hints(call).values():
            look(hint)
        assert not leaves & {float, bytes, bytearray, memoryview}, name
    numbers = {
        f"{kind.__name__}.{one.name}"
        for kind in (Profile, Node, Edge, MemoryPath, Finding)
        for one in msgspec.structs.fields(kind)
        if "float" in str(one.type)
    }
    assert numbers == {"Edge.weight"}
    with filled(tmp_path) as store:
        assert store.activate("Which crane lifts the containers?") is not None
        assert not [name for name in inside(tmp_path) if "vector" in name]


def test_nothing_is_compacted_or_deleted_behind_the_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # S1-48: not after hundreds of saves, and not after two years
    saves, step = 300, 300 * 24 * 3600 * 1_000_000
    ledger = tmp_path / ".recollect" / "events.wal"
    filled(tmp_path).close()
    before, names = ledger.read_bytes(), inside(tmp_path)
    for round in range(3):
        at = from_microseconds(time.time_ns() // 1_000 + round * step)
        monkeypatch.setattr(Seam, "now", partial(str, at))
        with FileBackedMemoryGraphStore(tmp_path, trust="person") as store:
            for number in range(saves // 3):
                text = f"Round {round}, crane {number}."
                store.save_node(Node(id=CRANE, kind="decision", text=text))
            PhaseMemoryRuntime(store).diagnostics()
        now = ledger.read_bytes()
        assert now.startswith(before)
        assert len(now) > len(before)
        before = now
        assert inside(tmp_path) == names, "no segment, and nothing else"
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert texts(store, CRANE) == ["Containers go to the new crane."] + [
            f"Round {round}, crane {number}." for round in range(3) for number in range(saves // 3)
        ]
        assert len(store.list_nodes()) == 3


def test_each_kind_of_file_has_exactly_this_json(tmp_path: Path) -> None:
    # S1-50 S1-73
    with filled(tmp_path) as store:
        paths.branch(store, "try")
        paths.extend(store, "try", {"id": "e.1", "kind": "recorded"})
        paths.abandon(store, "try", "a dead end")
    found = {name: raw.decode() for name, raw in visible(tmp_path).items()}
    assert found["edges/edge.open.json"] == (
        '{\n  "edge": {\n    "id": "edge.open",\n    "kind": "affects",\n'
        '    "source": "question.wind",\n    "target": "decision.crane"\n  },\n'
        '  "schema_version": "recollect.edge.v1"\n}\n'
    )
    assert found["profiles/p.json"] == (
        '{\n  "profile": {\n    "id": "p",\n    "title": "Harbour"\n  },\n'
        '  "schema_version": "recollect.profile.v1"\n}\n'
    )
    assert found["paths/try.json"] == (
        '{\n  "path": {\n    "abandoned_because": "a dead end",\n    "events": [\n      "e.1"\n'
        '    ],\n    "id": "try",\n    "is_active": false,\n    "parent": "main"\n  },\n'
        '  "schema_version": "recollect.path.v1"\n}\n'
    )


def test_an_edited_file_does_not_change_what_is_loaded(tmp_path: Path) -> None:
    # S1-50: the memory is the truth, as decision 47 says
    with filled(tmp_path) as store:
        whole, profiles = store.export_graph(), store.list_profiles()
    for name, old, new in (
        ("nodes/decision.crane.json", b"new crane", b"old crane"),
        ("edges/edge.open.json", b"affects", b"mends"),
        ("profiles/p.json", b"Harbour", b"Quay"),
        ("workspace.json", b"The harbour crane", b"Another title"),
    ):
        file = tmp_path / name
        assert old in file.read_bytes()
        file.write_bytes(file.read_bytes().replace(old, new))
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert (store.export_graph(), store.list_profiles()) == (whole, profiles)
        assert len(list(store.differing())) == 4, "and each edit is named"


def test_the_ledger_is_json_and_the_index_holds_nothing_of_its_own(tmp_path: Path) -> None:
    # S1-72: SQLite is only an index that is built again
    with filled(tmp_path) as store:
        paths.branch(store, "try")
        paths.abandon(store, "try", "a test")
        state = store.export_graph(), store.list_profiles(), store.list_paths()
    lines = (tmp_path / ".recollect" / "events.wal").read_bytes().splitlines()
    assert len(lines) > 5
    assert all(isinstance(json.loads(line), dict) for line in lines)
    before = visible(tmp_path)
    binary = [
        name for name in inside(tmp_path)
        if (tmp_path / ".recollect" / name).read_bytes().startswith(b"SQLite format 3")
    ]  # fmt: skip
    assert binary == ["index.db"]
    (tmp_path / ".recollect" / "index.db").unlink()
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert (store.export_graph(), store.list_profiles(), store.list_paths()) == state
        assert PhaseMemoryRuntime(store).diagnostics() == []
    assert visible(tmp_path) == before


def test_a_profile_fixture_is_the_same_after_reopening(tmp_path: Path) -> None:
    # S1-104
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert store.import_profile(fixture("profile")).to_dict() == fixture("profile")
        assert store.load_profile("harbour-profile").to_dict() == fixture("profile")
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert store.load_profile("harbour-profile").to_dict() == fixture("profile")


def built(root: Path, *, turned: bool = False) -> dict[str, Json]:
    """A workspace with paths of each kind; turned is the other way round. Returns its export."""
    nodes = [Node(id=f"n.{n}", kind="claim", text=f"Claim {n}.") for n in range(4)]
    edges = [
        Edge(id=f"e.{n}", kind="supports", source=f"n.{n}", target=f"n.{n + 1}", weight=0.5)
        for n in range(3)
    ]
    order = -1 if turned else 1
    with FileBackedMemoryGraphStore(root, trust="person") as store:
        for node in nodes[::order]:
            store.save_node(node)
        for edge in edges[::order]:
            store.save_edge(edge)
        for id in ["p", "q"][::order]:
            store.save_profile(Profile(id=id, extra={"b": 1, "a": id}))
        for id in ["bad", "good", "open"][::order]:
            paths.branch(store, id)
            paths.extend(store, id, {"id": f"said.{id}", "kind": "recorded"})
        store.on("good").save_node(Node(id="n.good", kind="claim", text="It works."))
        for id in ["bad", "good"][::order]:
            if id == "bad":
                paths.abandon(store, id, "a dead end")
            else:
                paths.merge(store, id, paths.diff(store, id).digest)
        return store.export_graph()


def test_the_same_state_has_the_same_export_whatever_the_order(tmp_path: Path) -> None:
    # S1-50 S1-112: also with paths; exempt is what decision 47 names
    one, same, other = (built(tmp_path / name, turned=name == "c") for name in "abc")
    assert json.dumps(one) == json.dumps(same)
    events = [graph.pop("events") for graph in (one, other)]
    assert events[0] != events[1], "the order of the log is that of what happened"
    assert sorted(map(repr, events[0])) == sorted(map(repr, events[1]))  # type: ignore[arg-type]
    assert json.dumps(one) == json.dumps(other)
    files = [visible(tmp_path / name) for name in "abc"]
    assert files[0] == files[1]
    logs = [each.pop("events.jsonl") for each in files]
    assert files[0] == files[2]
    assert {f"paths/{id}.json" for id in ("bad", "good", "main", "open")} <= files[0].keys()
    assert sorted(logs[0].splitlines()) == sorted(logs[2].splitlines())


def test_the_command_exports_the_same_bytes(tmp_path: Path) -> None:
    # S1-68 S1-112: for the same calls; in another order its nodes and edges stand in another one
    files = []
    for name in "abc":
        built(tmp_path / name, turned=name == "c")
        place = f"{name}/.recollect"
        done = run(tmp_path, "recollect", "--store", place, "export", "markitect", f"{name}.json")
        assert done.returncode == 0, done.stderr
        files.append((tmp_path / f"{name}.json").read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]
    whole = [json.loads(raw) for raw in files]
    for graph in whole:
        for part in ("nodes", "edges", "events"):
            graph[part].sort(key=lambda each: each["id"])
    assert whole[0] == whole[2]


def test_what_the_seed_carries_forward_is_here_in_part(tmp_path: Path) -> None:
    # S1-115: policy and reviews by the memory, a small audit record, an activation without a text
    with filled(tmp_path) as person:
        person.memory.settings.documents.set("policy", "agents", {"add": "review"})
        found = person.activate("Which crane lifts the containers?")
        assert found is not None
        PhaseMemoryRuntime(person).apply([Action(kind="forget", subject=CRANE, reason="old")])
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        before = agent.export_graph()
        agent.save_node(Node(id="n.new", kind="claim", text="The agent's claim."))
        assert agent.export_graph() == before, "the policy lets it wait"
        with pytest.raises(Forbidden):
            agent.memory.settings.documents.set("policy", "agents", {})
    assert not (tmp_path / "nodes" / "n.new.json").exists()
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        (waiting,) = person.memory.review.list()
        assert waiting.text == "The agent's claim."
    *_, line = (tmp_path / "audit.jsonl").read_bytes().splitlines()
    assert json.loads(line).keys() == {
        "action", "approved_by", "at", "detail", "digest", "outcome", "schema_version", "subject",
    }  # fmt: skip
    raw = (tmp_path / "activations" / f"{found.id}.json").read_bytes()
    assert json.loads(raw)["activation"].keys() == {"id", "at", "nodes", "tokens", "max_tokens"}
    assert not [text for text in (b"crane lifts", b"Containers go") if text in raw]
