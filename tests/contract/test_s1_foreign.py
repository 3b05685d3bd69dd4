"""S1: files of a workspace that its memory did not write stay as they are, and are named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.contracts.graph import (
    Action,
    Approval,
    Edge,
    FileBackedMemoryGraphStore,
    Node,
    PhaseMemoryRuntime,
    Profile,
    digest_of,
    paths,
)
from recollect.errors import Conflict, Forbidden
from recollect.model.events import Trust
from tests.contract.test_s1_paths import compacted
from tests.contract.test_s1_workspace import visible

LEFT = "was left as it is: it holds what this memory did not write"


def opened(root: Path, origin: Trust = "person") -> FileBackedMemoryGraphStore:
    return FileBackedMemoryGraphStore(root, trust=origin)


def claim(id: str, text: str) -> Node:
    return Node(id=id, kind="claim", text=text)


def made(root: Path, text: str = "alpha") -> Path:
    """A workspace with something of every kind."""
    with opened(root) as store:
        store.save_profile(Profile(id="p1", extra={"rule": text}))
        store.save_nodes([claim("n1", text), claim("n2", f"{text} two")])
        store.save_edge(Edge(id="e1", kind="supports", source="n1", target="n2"))
        paths.extend(store, "main", {"id": "x0", "kind": "said"})
        paths.branch(store, "bad", reason="what if")
        paths.extend(store, "bad", {"id": "x1", "kind": "said"})
        paths.abandon(store, "bad", "a dead end")
        paths.branch(store, "good")
        assert store.activate(text) is not None
    return root


def cloned(root: Path, to: Path) -> Path:
    """As git does: without the folder of the memory."""
    shutil.copytree(root, to, ignore=shutil.ignore_patterns(".recollect"))
    return to


def edited(file: Path, old: str, new: str) -> bytes:
    raw = file.read_bytes().replace(old.encode(), new.encode())
    assert raw != file.read_bytes()
    file.write_bytes(raw)
    return raw


def left_in(store: FileBackedMemoryGraphStore) -> list[str]:
    return [one.detail.split()[0] for one in store.findings if LEFT in one.detail]


def erased(store: FileBackedMemoryGraphStore, id: str, kind: str = "erase") -> str:
    actions = [Action(kind=kind, subject=id)]  # type: ignore[arg-type]
    approval = Approval(by="Ines", digest=digest_of(actions))
    (done,) = PhaseMemoryRuntime(store).apply(actions, approval=approval)
    assert done.outcome == "applied"
    return done.detail


# A clone.


@pytest.mark.parametrize("origin", ["person", "agent", "unverified"])
def test_opening_a_clone_changes_no_file(tmp_path: Path, origin: Trust) -> None:
    root = cloned(made(tmp_path / "a"), tmp_path / "b")
    before = visible(root)
    for _ in range(2):
        with opened(root, origin) as store:
            assert len(store.list_nodes()) == (0 if origin == "unverified" else 2)
            assert len(store.list_activations()) == (0 if origin == "unverified" else 1)
            assert bool(store.findings) == (origin == "unverified")
        assert visible(root) == before
        shutil.rmtree(root / ".recollect")
    with opened(root, origin) as store:
        store.render()
        store.import_workspace()
        store.render()
    assert visible(root) == before


def test_an_unverified_store_does_not_remove_a_file_that_was_pulled(tmp_path: Path) -> None:
    root = made(tmp_path)
    shutil.copy(root / "nodes" / "n1.json", root / "nodes" / "new.json")
    edited(root / "nodes" / "new.json", "n1", "new")
    before = visible(root)
    with opened(root, "unverified") as store:
        store.save_node(claim("new", "other"))
        assert left_in(store) == ["nodes/new.json"]
        store.render()
    assert visible(root) == before


def test_fields_and_layout_of_a_person_stay_in_a_clone(tmp_path: Path) -> None:
    root = cloned(made(tmp_path / "a"), tmp_path / "b")
    file, head = root / "nodes" / "n1.json", root / "workspace.json"
    given = json.loads(file.read_bytes())
    given["node"]["note"] = "page 7"
    file.write_text(json.dumps({**given, "comment": "ask Ines"}, indent=4))
    said = json.loads(head.read_bytes())
    head.write_text(json.dumps({**said, "graph": {"title": "Mine"}, "owner": "Ines"}))
    plain = root / "nodes" / "n2.json"
    plain.write_text(json.dumps(json.loads(plain.read_bytes()), indent=7))
    before = visible(root)
    with opened(root) as store:
        assert store.load_node("n1").extra == {"note": "page 7"}
        assert store.load_about() == {"title": "Mine"}
        assert left_in(store) == ["workspace.json", "nodes/n1.json"]
        store.render()
        assert visible(root) == before
        store.save_node(claim("n1", "revised"))
        store.save_about({"title": "Ours"})
        assert visible(root) == before, "what the memory does not keep is in these files"
        store.save_node(claim("n2", "revised as well"))
        assert b"revised as well" in plain.read_bytes(), "only the layout was other"
        assert sorted(left_in(store)) == ["nodes/n1.json", "workspace.json"]


@pytest.mark.parametrize("own", [True, False])
def test_two_files_of_one_id_are_named(tmp_path: Path, own: bool) -> None:
    root = cloned(made(tmp_path / "a"), tmp_path / "b")
    for folder, id, text in (("nodes", "n1", "alpha"), ("profiles", "p1", "alpha")):
        for name in ("a-old.json", "z-mine.json"):
            shutil.copy(root / folder / f"{id}.json", root / folder / name)
            edited(root / folder / name, text, name)
        if not own:
            (root / folder / f"{id}.json").unlink()
    before = visible(root)
    with opened(root) as store:
        found = [one.detail for one in store.findings if "n1" in one.detail or "p1" in one.detail]
        assert [node.id for node in store.list_nodes()] == (["n1", "n2"] if own else ["n2"])
        assert len(store.list_profiles()) == own
        if own:
            assert store.load_node("n1").text == "alpha"
            assert found == [
                f"{folder}/a-old.json, {folder}/z-mine.json also says what the {kind} {id!r} is, "
                "and was not imported"
                for folder, kind, id in (("profiles", "profile", "p1"), ("nodes", "node", "n1"))
            ]
        else:
            assert all("none was imported" in detail for detail in found[:2])
        store.render()
        assert visible(root) == before


def test_a_clone_has_the_paths_of_its_files(tmp_path: Path) -> None:
    with opened(made(tmp_path / "a")) as store:
        compacted(store, "good", "It was long.")
        paths.branch(store, "kept")
        paths.branch(store, "deep", parent="kept")
        paths.merge(store, "kept", paths.diff(store, "kept").digest)
        known = store.list_paths()
    root = cloned(tmp_path / "a", tmp_path / "b")
    before = visible(root)
    with opened(root, "agent") as store:
        assert store.list_paths() == known
        assert visible(root) == before
        for id in ("bad", "good", "kept"):
            for call in (paths.branch, paths.diff, lambda store, id: store.on(id)):
                with pytest.raises(Conflict):
                    call(store, id)
            with pytest.raises(Conflict):
                paths.extend(store, id, {"id": "y", "kind": "said"})
        assert visible(root) == before
        assert store.on("deep").list_nodes()
        assert paths.abandon(store, "deep", "later").abandoned_because == "later"
    with opened(root) as store:
        paths.branch(store, "new")
        paths.extend(store, "new", {"id": "x2", "kind": "said"})
        paths.merge(store, "new", paths.diff(store, "new").digest)
        assert store.load_path("main").events == ("x0", "x2")
        assert store.import_workspace() == []
        assert list(store.differing()) == []
        store.render()
    after = visible(root)
    assert json.loads(after["paths/main.json"])["path"]["events"] == ["x0", "x2"]
    changed = {"paths/main.json", "paths/deep.json", "events.jsonl"}
    assert all(after[name] == raw for name, raw in before.items() if name not in changed)


def test_a_path_that_could_not_be_read_keeps_its_file(tmp_path: Path) -> None:
    root = cloned(made(tmp_path / "a"), tmp_path / "b")
    raw = edited(root / "paths" / "bad.json", "recollect.path.v1", "recollect.path.v9")
    with opened(root) as store:
        assert paths.branch(store, "bad").is_active
        assert "paths/bad.json" in left_in(store)
        paths.abandon(store, "bad", "again")
    assert (root / "paths" / "bad.json").read_bytes() == raw


# Another memory, an older one, and none at all.


def test_a_memory_of_another_workspace_removes_nothing(tmp_path: Path) -> None:
    a, root = made(tmp_path / "a"), made(tmp_path / "c", "gamma")
    with opened(root) as store:
        store.save_node(claim("only", "only here"))
    shutil.rmtree(root / ".recollect")
    shutil.copytree(a / ".recollect", root / ".recollect")
    before = visible(root)
    with opened(root) as store:
        store.render()
        store.save_node(claim("n1", "a new text"))
        store.render()
        assert {"nodes/n1.json", "nodes/n2.json", "nodes/only.json"} <= set(left_in(store))
        after = visible(root)
        assert all(after[name] == raw for name, raw in before.items())
        store.render(replace=True)
        assert set(before.values()) <= set(visible(root).values())
        assert [one for one in store.differing() if one.level == "problem"] == []


@pytest.mark.parametrize("what", [".recollect", ".recollect/events.wal"])
def test_an_older_ledger_leaves_what_is_newer(tmp_path: Path, what: str) -> None:
    root, old = made(tmp_path / "d"), tmp_path / "old"
    shutil.copytree(root / ".recollect", old)
    with opened(root) as store:
        store.save_node(claim("later", "after the backup"))
        store.save_node(claim("n1", "corrected after the backup"))
        store.save_profile(Profile(id="p1", extra={"rule": "corrected"}))
    if what == ".recollect":
        shutil.rmtree(root / ".recollect")
        shutil.copytree(old, root / ".recollect")
    else:
        shutil.copy(old / "events.wal", root / what)
        for file in (root / ".recollect").glob("index.db*"):
            file.unlink()
    before = visible(root)
    for _ in range(2):
        with opened(root) as store:
            store.render()
            store.save_node(claim("n1", "another way"))
            store.save_node(claim("later", "another"))
            assert {"nodes/n1.json", "nodes/later.json"} <= set(left_in(store))
        assert visible(root) == before
    with opened(root) as store:
        store.save_node(claim("n2", "written as before"))
    assert b"written as before" in (root / "nodes" / "n2.json").read_bytes()


def test_notes_that_are_gone_are_made_again(tmp_path: Path) -> None:
    root = made(tmp_path / "a")
    (root / ".recollect" / "workspace-files.jsonl").unlink()
    raw = edited(root / "nodes" / "n2.json", "alpha two", "by hand")
    root = root.rename(tmp_path / "renamed")
    with opened(root) as store:
        store.save_node(claim("n1", "revised"))
        store.save_node(claim("n2", "revised"))
        assert left_in(store) == ["nodes/n2.json"]
    assert b"revised" in (root / "nodes" / "n1.json").read_bytes()
    assert (root / "nodes" / "n2.json").read_bytes() == raw


def test_a_folder_that_never_was_a_workspace_keeps_its_files(tmp_path: Path) -> None:
    for name in ("nodes/server.json", "paths/home.json", "nodes/README.md", "edges/a.json.new"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"mine": 1}')
    before = visible(tmp_path)
    with opened(tmp_path) as store:
        store.save_node(claim("server", "a server"))
        store.save_nodes([claim("x", "x"), claim("y", "y")])
        store.save_edge(Edge(id="a", kind="cites", source="x", target="y"))
        store.render()
        assert "nodes/server.json" in left_in(store)
    after = visible(tmp_path)
    assert after["aside/edges/a.json.new"] == before.pop("edges/a.json.new")
    assert all(after[name] == raw for name, raw in before.items())


# Edits by hand.


def written(store: FileBackedMemoryGraphStore) -> None:
    store.save_node(Node(id="n1", kind="claim", text="alpha", extra={"seen": 2}))


def forgotten(store: FileBackedMemoryGraphStore) -> None:
    assert erased(store, "n1", "forget") == "forget n1; left as it was: nodes/n1.json"


def merged(store: FileBackedMemoryGraphStore) -> None:
    store.on("good").save_node(claim("n1", "on a path"))
    paths.merge(store, "good", paths.diff(store, "good").digest)


@pytest.mark.parametrize("change", [written, forgotten, merged])
@pytest.mark.parametrize("text", ["alpha, checked", None])
def test_an_edit_is_not_overwritten(
    tmp_path: Path, change: Callable[[FileBackedMemoryGraphStore], None], text: str | None
) -> None:
    root = made(tmp_path)
    file = root / "nodes" / "n1.json"
    if text is None:
        file.write_bytes(b"<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> x\n")
    else:
        edited(file, "alpha", text)
    raw = file.read_bytes()
    with opened(root) as store:
        change(store)
        assert left_in(store)[0] == "nodes/n1.json"
        assert any("nodes/n1.json" in one.detail for one in PhaseMemoryRuntime(store).diagnostics())
        store.render()
        assert file.read_bytes() == raw
        for number in range(2):  # twice, with another edit in between
            store.render(replace=True)
            assert left_in(store) == []
            assert [one for one in store.differing() if one.level == "problem"] == []
            file.write_bytes(raw + b" " * number)
    assert (root / "aside" / "nodes" / "n1.json").read_bytes() == raw
    assert (root / "aside" / "nodes" / "n1.2.json").read_bytes() == raw


def test_an_edit_that_is_imported_is_the_memorys(tmp_path: Path) -> None:
    root = made(tmp_path)
    raw = edited(root / "nodes" / "n1.json", "alpha", "alpha by hand")
    with opened(root, "agent") as store:
        with pytest.raises(Forbidden):
            store.save_node(claim("n1", "the agent's"))
        assert (root / "nodes" / "n1.json").read_bytes() == raw
    with opened(root) as store:
        store.save_node(claim("n1", "a program's"))
        assert left_in(store) == ["nodes/n1.json"]
        assert store.import_workspace() == []
        assert store.findings == ()
        assert store.load_node("n1").text == "alpha by hand"
        store.save_node(claim("n1", "revised"))
        assert b"revised" in (root / "nodes" / "n1.json").read_bytes()
    assert not (root / "aside").exists()


def test_what_a_graph_says_of_itself_is_not_overwritten(tmp_path: Path) -> None:
    root = made(tmp_path)
    with opened(root) as store:
        store.save_about({"title": "One"})
        raw = edited(root / "workspace.json", "One", "By hand")
        store.save_about({"title": "Two"})
        assert left_in(store) == ["workspace.json"]
        assert (root / "workspace.json").read_bytes() == raw
        assert store.render(replace=True) == 1
    assert (root / "aside" / "workspace.json").read_bytes() == raw
    assert b"Two" in (root / "workspace.json").read_bytes()


def test_what_was_erased_goes_and_what_shows_it_still_is_named(tmp_path: Path) -> None:
    root = made(tmp_path)
    shutil.copy(root / "nodes" / "n2.json", root / "nodes" / "copy.json")
    with opened(root) as store:
        store.save_node(claim("n1", "alpha again"))
        noted = (root / ".recollect" / "workspace-files.jsonl").read_bytes()
        assert b"nodes/n1.json" in noted
        assert erased(store, "n1") == "erase n1"
        assert not (root / "nodes" / "n1.json").exists()
        assert (
            b"nodes/n1.json" not in (root / ".recollect" / "workspace-files.jsonl").read_bytes()
        ), "no digest of it is kept"
        edited(root / "nodes" / "n2.json", "alpha two", "alpha by hand")
        store.render(replace=True)
        edited(root / "nodes" / "n2.json", "alpha two", "alpha by hand")
        assert erased(store, "n2") == (
            "erase n2; NOT removed: nodes/n2.json, aside/nodes/copy.json, aside/nodes/n2.json"
        )
        assert "NOT removed" in str(store.audit.list()[-1]["detail"])
    assert (root / "nodes" / "n2.json").exists()


def test_a_stopped_process_leaves_no_file_of_others(tmp_path: Path) -> None:
    """The note is there before the file, so that what it wrote is known as the memory's."""
    from recollect.store.seam import Seam

    class Stops(Seam):
        def replace(self, source: Path, target: Path) -> None:
            if target.name == "n1.json":
                raise KeyboardInterrupt
            super().replace(source, target)

    root = made(tmp_path)
    store = FileBackedMemoryGraphStore(root, trust="person", seam=Stops())
    with pytest.raises(KeyboardInterrupt):
        store.save_node(claim("n1", "half"))
    store.close()
    assert (root / "nodes" / "n1.json.new").exists()
    with opened(root) as store:
        store.save_node(claim("n1", "whole"))
        assert store.findings == ()
    assert b"whole" in (root / "nodes" / "n1.json").read_bytes()
    assert not (root / "aside").exists()
    assert not (root / "nodes" / "n1.json.new").exists()


def test_the_notes_do_not_grow_with_each_change(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(700):
            store.save_profile(Profile(id="p", extra={"n": number}))
        lines = (tmp_path / ".recollect" / "workspace-files.jsonl").read_bytes().splitlines()
        assert len(lines) < 1_100
        assert store.findings == ()
