"""The work packages of S1, one by one, with ``phase_memory`` replaced by ``recollect``.

S1 is a plan without code blocks. Each function below has the words of one package as its docstring
and does what they say. Run it in an empty folder that is also the home folder:
``HOME=$PWD python quickstart_s1.py``; it prints what it did.
"""
# ruff: noqa: T201

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from recollect.contracts.graph import (
    FIXTURES,
    Action,
    Approval,
    AuditSink,
    Edge,
    FileBackedMemoryGraphStore,
    InMemoryGraphStore,
    JsonlAuditSink,
    JsonlMemoryEventLog,
    MemoryEventLog,
    MemoryGraphStore,
    Node,
    PhaseMemoryRuntime,
    Profile,
    digest_of,
    fixture,
    paths,
)
from recollect.errors import Conflict

ROOT = Path("workspace")


def t01_define_local_storage_layout() -> None:
    """Define a simple versioned local storage layout."""
    FileBackedMemoryGraphStore(ROOT).close()
    head = json.loads((ROOT / "workspace.json").read_text())
    print("T01", head["schema_version"], *sorted(head["files"]))
    print("T01", *sorted(file.name for file in FIXTURES.iterdir()))


def t02_implement_a_file_backed_graph_store() -> None:
    """Implement a deterministic adapter for the MemoryGraphStore protocol."""
    with FileBackedMemoryGraphStore(ROOT) as store, InMemoryGraphStore() as other:
        for each in (store, other):
            assert isinstance(each, MemoryGraphStore)
            each.save_profile(Profile(id="p", extra={"title": "Sample"}))
            each.save_node(Node(id="a", kind="decision", text="Use one journal."))
            each.save_node(Node(id="b", kind="constraint", text="Nothing is hidden."))
            each.save_edge(Edge(id="e", kind="supports", source="b", target="a"))
        print("T02", store.load_profile("p").extra, store.load_node("a").text)
        print("T02", store.load_edge("e").kind, [node.id for node in store.list_nodes("decision")])
        print("T02", len(store.list_edges(source="b")), len(store.list_edges(target="b")))
        print("T02", store.export_graph() == other.export_graph())


def t03_implement_a_jsonl_event_log() -> None:
    """Implement an append-only MemoryEventLog adapter."""
    log = JsonlMemoryEventLog("log.jsonl")
    assert isinstance(log, MemoryEventLog)
    node = Node(id="a", kind="decision", text="Use one journal.").to_dict()
    log.append({"id": "1", "kind": "recorded", "node_updates": [{"node_id": "a", "node": node}]})
    log.append({"id": "2", "kind": "policy_decision"})
    try:
        log.append({"id": "1", "kind": "recorded"})
    except Conflict as error:
        print("T03", error.message)
    with log.path.open("a") as file:
        file.write("{malformed\n")
    print("T03", [event["id"] for event in log.list()], len(log.list("recorded")))
    print("T03", log.replay().graph["nodes"] == [node])
    print("T03", [found.detail.partition(":")[0] for found in log.diagnostics()])


def t04_model_conversational_paths_explicitly() -> None:
    """Add first-slice path records for fluid memory."""
    with FileBackedMemoryGraphStore(ROOT, trust="person") as store:
        for id in ("good", "bad", "long"):
            paths.branch(store, id)
            paths.extend(store, id, {"id": f"said.{id}", "kind": "recorded"})
        store.on("good").save_node(Node(id="c", kind="claim", text="It works."))
        paths.merge(store, "good", paths.diff(store, "good").digest)
        paths.abandon(store, "bad", "a dead end")
        short = Action(kind="compact", subject="long", text="It was long.")
        marker = Approval(by="Ines", digest=digest_of([short]))
        paths.compact(store, "long", "It was long.", approval=marker)
        for path in store.list_paths():
            print("T04", path.id, path.parent, path.events, path.is_active, path.merged_into,
                path.abandoned_because, path.compaction)  # fmt: skip


def t05_add_safe_apply_behavior_behind_review_gates() -> None:
    """Add an optional runtime operation that applies approved lifecycle actions."""
    with FileBackedMemoryGraphStore(ROOT, trust="person") as store:
        runtime = PhaseMemoryRuntime(store)
        actions = [Action(kind="forget", subject="c")]
        print("T05", [done.outcome for done in runtime.apply(actions)])
        approval = Approval(by="Ines", digest=digest_of(actions))
        print("T05", [done.outcome for done in runtime.apply(actions, approval=approval)])
    sink = JsonlAuditSink(ROOT / "audit.jsonl")
    assert isinstance(sink, AuditSink)
    print("T05", [(record["outcome"], record["approved_by"]) for record in sink.list()])


def t06_add_import_export_and_repair_diagnostics() -> None:
    """Add local tooling to import, export and report."""
    with FileBackedMemoryGraphStore(ROOT, trust="person") as store:
        runtime = PhaseMemoryRuntime(store)
        print("T06", store.import_graph(fixture("graph")))
        print("T06", store.import_profile(fixture("profile")).id)
        print("T06", len(runtime.export_graph()), len(store.list_nodes()), runtime.diagnostics())
        store.events.append({"id": "x", "kind": "x", "node_updates": [{"node_id": "none"}]})
        store.memory.forget("question.wind")
        store.render()
        store.save_profile(Profile(id="q", extra={"schema_version": "v9"}))
        print("T06", sorted({found.what for found in runtime.diagnostics()}))
    shell(f"recollect --store cli import {FIXTURES / 'graph.json'}")
    shell(f"recollect --store cli import {FIXTURES / 'profile.json'}")
    shell("recollect --store cli export markitect envelope.json")
    envelope = json.loads(Path("envelope.json").read_text())
    print("T06", envelope["schema_version"], len(envelope["nodes"]), len(envelope["edges"]))
    print("T06", "self-consistent" in shell("recollect --store cli admin doctor"))


def t07_update_docs_with_local_persistence_examples() -> None:
    """Document how to create, import, append, inspect and export."""
    print("T07 docs/local-persistence.md, whose blocks are run by tests/docs")


def shell(command: str) -> str:
    """Runs a command as a person does."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return done.stdout


def main() -> None:
    """The packages, in their order."""
    t01_define_local_storage_layout()
    t02_implement_a_file_backed_graph_store()
    t03_implement_a_jsonl_event_log()
    t04_model_conversational_paths_explicitly()
    t05_add_safe_apply_behavior_behind_review_gates()
    t06_add_import_export_and_repair_diagnostics()
    t07_update_docs_with_local_persistence_examples()


if __name__ == "__main__":
    main()
