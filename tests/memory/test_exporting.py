"""What an export writes: everything that the handle sees at one position, and nothing erased."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from recollect import Memory
from recollect.contracts.graph import FileBackedMemoryGraphStore
from recollect.errors import Conflict, InvalidInput
from recollect.memory.exchange import exports
from recollect.memory.exchange.exports import FORMATS
from recollect.store.disk.disk import put_new
from recollect.store.seam import Seam


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path / "store")
    memory.remember("Ada works at Acme", about="Ada", id="r-1", tags=["work"], data={"n": 1})
    memory.remember("Acme makes anvils", about="Acme", id="r-2")
    memory.remember("Left out of what holds", id="r-3")
    memory.graph.link("r-1", "r-2", "works_at")
    memory.forget("r-3")
    memory.observe("Hello there", id="e-1")
    memory.settings.documents.set("profile", "mine", {"a": 1})
    return memory


def lines(file: Path) -> list[dict[str, dict[str, object]]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_lines_and_the_document_say_the_same(memory: Memory, tmp_path: Path) -> None:
    done = memory.admin.export("ndjson", tmp_path / "out.ndjson")
    assert (done.records, done.episodes, done.links) == (3, 1, 1)
    assert done.size_bytes == (tmp_path / "out.ndjson").stat().st_size
    memory.admin.export("json", tmp_path / "out.json")
    whole = json.loads((tmp_path / "out.json").read_text("utf-8"))
    head, *rest = lines(tmp_path / "out.ndjson")
    assert head["export"]["position"] == whole["position"] == memory.events.position
    for part in ("records", "episodes", "links", "presets", "documents"):
        assert whole[part] == [one[part[:-1]] for one in rest if part[:-1] in one]
    statuses = {one["id"]: one["status"] for one in whole["records"]}
    assert statuses == {"r-1": "active", "r-2": "active", "r-3": "forgotten"}


def written(target: Path) -> dict[str, bytes]:
    """The bytes of an export, by the names of its files."""
    if target.is_dir():
        files = sorted(file for file in target.rglob("*") if file.is_file())
        return {str(file.relative_to(target)): file.read_bytes() for file in files}
    return {"": target.read_bytes()}


def test_the_same_state_gives_the_same_bytes(memory: Memory, tmp_path: Path) -> None:
    for format in FORMATS:
        made = [tmp_path / f"{number}.{format}" for number in range(2)]
        for target in made:
            memory.admin.export(format, target)
        assert written(made[0]) == written(made[1])


@pytest.mark.parametrize("format", FORMATS)
def test_a_past_position_can_be_exported(format: str, memory: Memory, tmp_path: Path) -> None:
    before = memory.events.position
    memory.admin.export(format, tmp_path / "then")
    memory.revise("r-1", "Ada works at Globex")
    memory.at(before).admin.export(format, tmp_path / "now")
    assert written(tmp_path / "then") == written(tmp_path / "now")
    memory.admin.export(format, tmp_path / "later")
    assert written(tmp_path / "later") != written(tmp_path / "now")


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_erased_is_in_no_export(format: str, memory: Memory, tmp_path: Path) -> None:
    before = memory.events.position
    memory.admin.export(format, tmp_path / "with")
    assert any(b"anvils" in data for data in written(tmp_path / "with").values())
    memory.erase("r-2")
    for name, handle in (("now", memory), ("past", memory.at(before))):
        handle.admin.export(format, tmp_path / name)
        assert not any(b"anvils" in data for data in written(tmp_path / name).values())


def test_a_graph_has_what_holds_and_what_joins_it(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_PAGE", 1)
    memory.graph.link("r-2", "r-1", "employs", name="edge-7")
    memory.remember("Ada sings", about="Ada", id="r-4")
    done = memory.admin.export("graph", tmp_path / "graph.json")
    assert (done.records, done.links, done.digest) == (3, 2, None)
    found = json.loads((tmp_path / "graph.json").read_text("utf-8"))
    assert [one["id"] for one in found["nodes"]] == ["r-4", "r-2", "r-1"]
    joins = {(one["source"], one["target"], one["key"], one.get("name")) for one in found["links"]}
    assert joins == {("r-1", "r-2", "works_at", None), ("r-2", "r-1", "employs", "edge-7")}
    assert (found["directed"], found["multigraph"]) == (True, True)


def test_a_workspace_is_read_by_the_graph_store(memory: Memory, tmp_path: Path) -> None:
    memory.graph.link("r-2", "r-1", "employs", weight=0.5, name="edge-7")
    memory.graph.link("r-2", "r-1", "pays", name="edge-7")  # two links may have one name
    done = memory.admin.export("workspace", tmp_path / "out")
    assert (done.records, done.links, done.pages) == (2, 3, 0)
    with closing(FileBackedMemoryGraphStore(tmp_path / "out")) as store:
        assert store.findings == ()
        nodes = {node.id: (node.kind, node.text, node.extra) for node in store.list_nodes()}
        assert nodes == {
            "r-1": ("fact", "Ada works at Acme", {"n": 1}),
            "r-2": ("fact", "Acme makes anvils", {}),
        }
        edges = {edge.id: (edge.source, edge.kind, edge.weight) for edge in store.list_edges()}
        assert edges.pop("edge-7") in (("r-2", "employs", 0.5), ("r-2", "pays", 1.0))
        assert edges.keys() <= {"r-1|works_at|r-2", "r-2|pays|r-1", "r-2|employs|r-1"}
        assert len(edges) == 2
        assert [one.id for one in store.list_profiles()] == ["mine"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_with_the_name_of_a_half_made_one_is_a_persons(
    memory: Memory, tmp_path: Path, format: str
) -> None:
    (tmp_path / "out.new" / "deep").mkdir(parents=True)
    (tmp_path / "out.new" / "deep" / "thesis.md").write_text("mine", "utf-8")
    (tmp_path / "again.new").write_text("mine", "utf-8")
    for name in ("out", "again"):
        memory.admin.export(format, tmp_path / name)
    assert (tmp_path / "out.new" / "deep" / "thesis.md").read_text("utf-8") == "mine"
    assert (tmp_path / "again.new").read_text("utf-8") == "mine"
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".again")]


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_appears_while_an_export_is_written_stays(
    memory: Memory, tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / "late"

    def save(seam: Seam, fresh: Path, path: Path) -> None:
        late.write_text("saved meanwhile", "utf-8")
        put_new(seam, fresh, path)

    monkeypatch.setattr(exports, "put_new", save)
    with pytest.raises(Conflict):
        memory.admin.export(format, late)
    assert late.read_text("utf-8") == "saved meanwhile"
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".late")]


def test_pages_are_those_that_are_read_here(memory: Memory, tmp_path: Path) -> None:
    done = memory.admin.export("pages", tmp_path / "out")
    files = written(tmp_path / "out")
    assert done.size_bytes == sum(map(len, files.values()))
    names = [page.name for page in memory.pages.list()]
    assert done.pages == len(names)
    assert sorted(files) == sorted(f"{name}.md" for name in [*names, "index"])
    for name in [*names, "index"]:
        assert files[f"{name}.md"].decode() == memory.pages.read(name)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("out")] == ["out"]


@pytest.mark.parametrize("format", ["mem0", "mcp-memory"])
def test_other_programs_formats_come_back(format: str, memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    memory.admin.export(format, file)
    other = Memory.open(tmp_path / "other")
    done = other.admin.import_(file)
    assert (done.format, done.refused) == (format, 0)
    texts = {record.text for record in other.list()}
    assert {"Ada works at Acme", "Acme makes anvils"} <= texts
    assert "Left out of what holds" not in texts


def test_a_user_exports_only_what_is_theirs(memory: Memory, tmp_path: Path) -> None:
    memory.scoped(user="ada").remember("Mine alone")
    memory.scoped(user="bob").remember("Not hers")
    memory.scoped(user="ada").admin.export("ndjson", tmp_path / "ada")
    head, *rest = lines(tmp_path / "ada")
    assert "export" in head
    assert [one["record"]["text"] for one in rest] == ["Mine alone"]


def test_a_users_export_does_not_name_what_is_anothers(memory: Memory, tmp_path: Path) -> None:
    ada, bob = memory.scoped(user="ada"), memory.scoped(user="bob")
    mine = [ada.remember(text).id for text in ("Ada sings", "Ada paints")]
    other = bob.remember("Bob hides").id
    for target in (mine[1], other):
        memory.graph.link(mine[0], target, "knows")
    ada.admin.export("ndjson", tmp_path / "ada")
    links = [one["link"]["target"] for one in lines(tmp_path / "ada") if "link" in one]
    assert (links, other in (tmp_path / "ada").read_text("utf-8")) == ([mine[1]], False)
    memory.admin.export("ndjson", tmp_path / "all")
    assert other in (tmp_path / "all").read_text("utf-8")


def test_nothing_is_overwritten_and_unknown_formats_are_named(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("mine", "utf-8")
    with pytest.raises(Conflict, match="exists already"):
        memory.admin.export("json", tmp_path / "there")
    assert (tmp_path / "there").read_text("utf-8") == "mine"
    with pytest.raises(InvalidInput, match="format of export"):
        memory.admin.export("xml", tmp_path / "new")
    with pytest.raises(InvalidInput, match="could not be written"):
        memory.admin.export("json", tmp_path / "no folder" / "new")
