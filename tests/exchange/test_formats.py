"""Every format: recognized, imported, and twice gives nothing new; damage is located, not fatal."""

from __future__ import annotations

import json
import random
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from recollect import Memory, Record
from recollect.exchange.cleaned import Cleaning
from recollect.exchange.formats import FORMATS, format_named
from recollect.exchange.items import (
    Chain,
    Entity,
    EpisodeItem,
    Found,
    GoneItem,
    Item,
    LeftOut,
    LinkItem,
    RecordItem,
    SettingItem,
    Trouble,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.model.presets import BUILT_IN

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
NOTE = """---
title: Coffee
type: note
permalink: drinks/coffee
tags: [drinks, morning]
created: 2025-02-03
---

# Coffee

Ada drinks two cups a day.

## Observations
- [method] Pour over tastes best with a paper filter #brewing
- [tip] Grind just before brewing (learned in May)

## Relations
- pairs_with [[Cake]]
"""
PAGE = """---
status: active
tags:
- work
---

## [2026-11-14T22:49] {id: a-1} #job #superseded-by:a-2
~~Works at Old Corp.~~

## [2026-11-15] {id: a-2} #job
Works at New Corp.
<!-- supersedes: a-1; reason: new job -->

## [2026-11-15T08:00:00+01:00] {id: a-3}
Left on the table.
#superseded-by:gone
"""


def wal(dialect: tuple[str, str], *, compacted: bool = False) -> list[bytes]:
    """A chain of two records, one of them deleted at the end."""
    events: list[dict[str, object]] = [
        {"op": "upsert", "record_id": "F-1", "label": "Water freezes\u2028at 0 °C"},
        {"op": "upsert", "record_id": "F-2", "label": "Old news"},
        {"op": "delete", "record_id": "F-2", "label": ""},
    ]
    if compacted:
        events.insert(0, {"op": "compact", "record_id": "__compact__", "label": "Compacted"})
    lines: list[bytes] = []
    before = ""
    for seq, event in enumerate(events, start=1):
        id, label = event["record_id"], event.pop("label")
        record = {"id": id, "kind": "fact", "status": "active", "label": label, "confidence": 0.9}
        whole = event | {"seq": seq, "ts": "2026-01-02T03:04:05Z", "record": record}
        whole["prev_hash"] = before
        text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=dialect)
        before = sha256(text.encode()).hexdigest()
        lines.append(json.dumps(whole | {"hash": before}, ensure_ascii=False).encode())
    return lines


def write(folder: Path, name: str, text: str | bytes) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def lines(*objects: object) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in objects)


def chatgpt() -> list[object]:
    def node(id: str, parent: str | None, role: str, text: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": id, "author": {"role": role}, "content": content, "create_time": 1.7e9}
        return {"id": id, "parent": parent, "message": message}

    nodes = [
        node("m1", None, "system", "You are helpful"),
        node("m2", "m1", "user", "Plan a trip to Porto"),
        node("m3", "m2", "assistant", "An answer that was replaced"),
        node("m4", "m2", "assistant", "Three days in Porto"),
    ]
    mapping = {str(one["id"]): one for one in nodes}
    return [{"id": "c1", "title": "Trip", "mapping": mapping, "current_node": "m4"}]


def own() -> list[object]:
    """An export of our own."""
    held = {"status": "waiting", "trust": "unverified"}
    said = {"id": "e-1", "text": "hi", "role": "user", "trust": "person", "status": "hidden"}
    plain = {"text": "Ada sings", "how_known": "imported", "status": "active", "trust": "person"}
    link = {"source": "r-1", "target": "r-2", "kind": "cites", "trust": "agent", "name": "edge"}
    return [
        {"export": {"format": "recollect", "position": 9, "space": "main", "version": 1}},
        {"record": plain | {"id": "r-1", "key": "ada.voice", "tags": ["music"], "data": {"n": 1}}},
        {"record": plain | {"id": "r-2", "text": "A rumour"} | held},
        {"episode": said | {"said_at": "2026-01-01T00:00:00Z", "scope": {"session": "s"}}},
        {"link": link},
        {"preset": {"name": "own", "weights": msgspec.to_builtins(BUILT_IN["task"].weights)}},
        {"document": {"type": "rules", "name": "mail", "data": {"every": 5}}},
    ]


def make(name: str, folder: Path) -> None:
    """Writes a small fixture of a format."""
    if name == "recollect":
        write(folder, "memory.ndjson", lines(*own()))
    elif name == "chrono":
        write(folder, ".chronomemory/events.wal", b"\n".join([*wal((", ", ": ")), b""]))
        write(folder, ".chronomemory/backup/x/events.wal", b"not read")
    elif name == "specsmith":
        wanted = {"id": "R-1", "title": "Survives a crash", "status": "implemented"}
        old = {"id": "R-2", "title": "Old export", "status": "deprecated (v2)"}
        check = {"id": "T-1", "title": "kill and reopen", "requirement_id": "R-1"}
        write(folder, ".specsmith/requirements.json", json.dumps([wanted, old]))
        write(folder, ".specsmith/testcases.json", json.dumps([check]))
    elif name == "markitect":
        nodes = [
            {"id": "d", "kind": "decision", "text": "Use one journal."},
            {"id": "c", "kind": "an unknown kind", "text": "No hidden compaction."},
        ]
        edges = [{"id": "e", "kind": "supports", "source": "c", "target": "d"}]
        graph = {"schema_version": "markitect.memory.graph.v1", "id": "g", "nodes": nodes}
        write(folder, "graph.json", json.dumps(graph | {"edges": edges}))
        profile = {"schema_version": "markitect.memory.profile.v1", "id": "p", "limits": {}}
        write(folder, "profile.json", json.dumps(profile))
    elif name == "stargraph":
        with closing(sqlite3.connect(folder / "episodes.db")) as database:
            database.execute("CREATE TABLE episodes (id, scope_key, content, timestamp, metadata)")
            content = json.dumps(
                {"content": "The sky is blue", "user": "ada", "session": "S1", "agent": "r"}
            )
            row = (
                "e1",
                "/user/ada/session/S1/agent/r/",
                content.encode(),
                "2026-05-01T00:00:00+00:00",
                b"{}",
            )
            database.execute("INSERT INTO episodes VALUES (?, ?, ?, ?, ?)", row)
            database.commit()
    elif name == "elfmem":
        born = {"t": "2026-11-14T22:34:35+00:00", "s": 0, "ah": 1e-05, "k": "birth", "id": "b1"}
        write(folder, "2026-11.jsonl", lines(born, born | {"s": 1, "id": "b2", "content": "Hi"}))
    elif name == "mcp-memory":
        entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["x y"]}
        write(folder, "memory.json", lines(entity))
    elif name == "claude-code":
        said = {"role": "user", "content": "Where is the staging database?"}
        line = {"type": "user", "uuid": "u-1", "sessionId": "s-1", "message": said}
        write(folder, "s.jsonl", lines(line | {"timestamp": "2026-01-01T00:00:00Z"}))
    elif name == "codex":
        meta = {"type": "session_meta", "payload": {"id": "s-9"}}
        block = [{"type": "input_text", "text": "Fix the build"}]
        payload: dict[str, object] = {"type": "message", "role": "user", "content": block}
        line = {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}
        write(folder, "rollout.jsonl", lines(meta, line))
    elif name == "chatgpt":
        with zipfile.ZipFile(folder / "export.zip", "w") as archive:
            archive.writestr("conversations.json", json.dumps(chatgpt()))
            archive.writestr("user.json", "{}")
    elif name == "claude":
        message = {"uuid": "x1", "sender": "human", "text": "Hello", "created_at": "2026-01-01"}
        talk = {"uuid": "t1", "name": "Hi", "chat_messages": [message]}
        write(folder, "conversations.json", json.dumps([talk]))
    elif name == "mem0":
        found = {"id": "1", "memory": "Likes tea", "user_id": "ada", "created_at": "2026-01-01"}
        triple = {"source": "ada", "relationship": "lives_in", "target": "oslo"}
        write(folder, "mem0.json", json.dumps({"results": [found], "relations": [triple]}))
    elif name == "openchronicle":
        write(folder, "memory/user-profile.md", PAGE)
        write(folder, "memory/index.md", "# Memory Index\n")
    elif name == "basic-memory":
        write(folder, "drinks/coffee.md", NOTE)
        write(folder, "drinks/cake.md", "---\ntitle: Cake\npermalink: drinks/cake\n---\nSweet.\n")
    else:
        write(folder, "note.md", "# Things\n\nThe key is under the mat.\n\n- [ ] buy milk\n")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as memory:
        yield memory


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_recognized_and_imported_once(
    name: str, memory: Memory, tmp_path: Path
) -> None:
    make(name, tmp_path)
    path = next(tmp_path.glob("*.zip"), tmp_path)
    done = memory.admin.import_(path)
    assert (done.format, done.refused, done.problems) == (name, 0, ())
    assert done.kept > 0
    digest = memory.admin.digest()
    again = memory.admin.import_(path)
    assert (again.kept, again.changed, again.known) == (0, 0, done.kept)
    assert memory.admin.digest() == digest
    keeps = name in ("chrono", "specsmith")  # they say where a belief comes from
    wanted = "observed" if keeps else "imported"
    assert {record.how_known for record in memory.list()} <= {wanted}


def test_each_format_has_a_fixture_of_its_own(tmp_path: Path) -> None:
    for name in FORMATS:
        folder = tmp_path / name
        folder.mkdir()
        make(name, folder)
        assert any(folder.iterdir())


@pytest.mark.parametrize("dialect", [(", ", ": "), (",", ":")])
def test_both_dialects_of_the_chain_are_verified(
    dialect: tuple[str, str], memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "events.wal"
    file.write_bytes(b"\n".join([*wal(dialect), b""]))
    done = memory.admin.import_(file)
    (chain,) = done.chains
    assert (chain.lines, chain.broken_at) == (3, None)
    assert chain.dialect == ("spaced" if dialect[0] == ", " else "compact")
    assert [record.text for record in memory.list()] == ["Water freezes\u2028at 0 °C"]


@pytest.mark.parametrize("damage", ["flipped", "torn", "reordered", "dropped"])
def test_a_damaged_chain_is_located(damage: str, memory: Memory, tmp_path: Path) -> None:
    chain = wal((", ", ": "))
    if damage == "flipped":
        chain[1] = chain[1].replace(b"Old news", b"Odd news")
    elif damage == "torn":
        chain[1:] = [chain[1][:40]]
    elif damage == "reordered":
        chain[1:] = [chain[2], chain[1]]
    else:
        del chain[1]
    file = tmp_path / "events.wal"
    file.write_bytes(b"\n".join(chain))
    done = memory.admin.import_(file)
    assert done.chains[0].broken_at == 2
    assert done.problems[0].where == "events.wal:2"
    assert len(memory.list()) == 1


def test_what_was_deleted_there_is_forgotten_here(memory: Memory, tmp_path: Path) -> None:
    file, chain = tmp_path / "events.wal", wal((", ", ": "))
    file.write_bytes(b"\n".join(chain[:2]))
    assert memory.admin.import_(file).kept == 2
    file.write_bytes(b"\n".join(chain))
    done = memory.admin.import_(file)
    assert (done.forgotten, done.changed) == (1, 0)
    assert len(memory.list()) == 1
    again = memory.admin.import_(file)
    assert (again.forgotten, again.changed, again.known) == (0, 0, 2)


def test_a_compacted_log_goes_on_from_its_snapshot(memory: Memory, tmp_path: Path) -> None:
    record = {"id": "S-1", "kind": "fact", "status": "invalidated", "label": "It was so"}
    write(tmp_path, "events.wal", b"\n".join(wal((", ", ": "), compacted=True)))
    write(tmp_path, "snapshot.json", json.dumps({"ts": "2026-01-01", "records": [record]}))
    assert memory.admin.import_(tmp_path).records == 3
    (archived,) = (one for one in memory.list(include=["archived"]) if one.status == "archived")
    assert archived.text == "It was so"


def test_of_an_edited_conversation_the_shown_branch_is_read(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, "conversations.json", json.dumps(chatgpt()))
    memory.admin.import_(tmp_path)
    said = memory.sessions.recent(unit="episode", limit=10)
    assert {one.text for one in said} == {"Plan a trip to Porto", "Three days in Porto"}


def test_superseded_entries_are_superseded_here(memory: Memory, tmp_path: Path) -> None:
    make("openchronicle", tmp_path)
    memory.admin.import_(tmp_path)
    assert [record.text for record in memory.list()] == ["Works at New Corp."]
    new = memory.get("a-2")
    assert isinstance(new, Record)
    assert new.replaces == "a-1"
    assert memory.history("a-1")[-1].note == "new job"
    left = memory.get("a-3", include=["replaced"])
    assert isinstance(left, Record)
    assert (left.status, left.replaced_by, left.text) == (
        "replaced",
        "gone",
        "Left on the table.",
    )


def test_observations_and_relations_of_a_note(memory: Memory, tmp_path: Path) -> None:
    make("basic-memory", tmp_path)
    done = memory.admin.import_(tmp_path)
    assert done.links == 1
    (tip,) = memory.list(filter="kind = 'tip'")
    assert (tip.about, tip.tags) == ("Coffee", ("drinks", "morning"))
    assert tip.said_at == "2025-02-03T00:00:00.000000Z"
    assert "Coffee pairs with Cake" in [record.text for record in memory.list()]
    (method,) = memory.list(filter="kind = 'method'")
    assert method.text == "Pour over tastes best with a paper filter"  # the tag is a tag
    assert "brewing" in method.tags


def test_a_link_to_a_note_that_nobody_wrote_yet(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "---\ntitle: A\npermalink: a\n---\n- knows [[B]]\n")
    for _ in range(2):
        done = memory.admin.import_(tmp_path)
        assert (done.refused, done.problems, done.links) == (0, (), 0)
    write(tmp_path, "b.md", "---\ntitle: B\npermalink: b\n---\n")
    assert memory.admin.import_(tmp_path).links == 1


def test_our_own_export_comes_back_with_what_became_of_it(memory: Memory, tmp_path: Path) -> None:
    make("recollect", tmp_path)
    done = memory.admin.import_(tmp_path)
    assert (done.kept, done.records, done.episodes, done.links) == (6, 2, 1, 1)
    (record,) = memory.list()
    assert (record.key, record.tags, record.trust) == ("ada.voice", ("music",), "agent")
    assert [one.id for one in memory.list(filter="status = 'waiting'", include=["waiting"])] == [
        "r-2"
    ]
    assert memory.why("r-1").links[0].name == "edge"
    (said,) = memory.sessions.episodes(include=["forgotten"])
    assert (said.status, said.scope.session) == ("forgotten", "s")  # here no record rests on it
    (rule,) = memory.settings.rules.list()
    assert rule.name == "mail"
    assert memory.settings.rules.due() == []


def test_an_export_of_a_later_release_is_refused(memory: Memory, tmp_path: Path) -> None:
    head, *rest = own()
    assert isinstance(head, dict)
    head["export"]["version"] = 2
    write(tmp_path, "later", lines(head, *rest))
    write(tmp_path, "later.json", '{"format":"recollect","version":2,"records":[]}')
    for name in ("later", "later.json"):
        done = memory.admin.import_(tmp_path / name)
        assert (done.kept, done.refused) == (0, 1)
        assert "later release" in done.problems[0].why


def test_a_secret_in_our_own_export_is_removed(memory: Memory, tmp_path: Path) -> None:
    token = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
    text = lines(*own())
    for word in ("Ada sings", "ada.voice", "edge"):
        text = text.replace(word, token)
    write(tmp_path, "leaky", text.replace('"every": 5', f'"every": 5, "password": "{token}"'))
    done = memory.admin.import_(tmp_path / "leaky")
    assert done.redacted["github-token"] >= 2  # the same text counts once
    memory.admin.export("ndjson", tmp_path / "clean")
    assert token not in (tmp_path / "clean").read_text("utf-8")


def test_a_damaged_export_is_located(memory: Memory, tmp_path: Path) -> None:
    text = lines(*own()) + '{"record": {"id": 5}}\n{"link": []}\nnot JSON\n'
    write(tmp_path, "damaged", text)
    done = memory.admin.import_(tmp_path / "damaged")
    assert [problem.where for problem in done.problems] == [f"damaged:{n}" for n in (8, 9, 10)]
    write(tmp_path, "cut.json", '{"format":"recollect","version":1,"records":[{"id":')
    (problem,) = memory.admin.import_(tmp_path / "cut.json").problems
    assert "character" in problem.why


# Damage.


class Given:
    """A file in memory."""

    def __init__(self, name: str, data: bytes, step: int = 7) -> None:
        self.name = name
        self._data = data
        self._step = step

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, len(self._data), self._step):
            yield self._data[start : start + self._step]


ITEM = RecordItem | EpisodeItem | LinkItem | GoneItem | SettingItem
FOUND = ITEM | Entity | LeftOut | Trouble | Chain


def items_of(one: Found) -> list[Item]:
    """The items that something found stands for."""
    if isinstance(one, Entity):
        return [one.record, *one.says, *one.links]
    return [one] if isinstance(one, ITEM) else []


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with some of them changed, doubled, cut or moved."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(made) + 1)
        how = chance.randrange(5)
        if how == 0 and at < len(made):
            made[at] = chance.randrange(256)
        elif how == 1:
            made[at:at] = chance.choice([b'"', b"{", b"[", b"\n", b"\\u0000", b"1e999", b"NaN"])
        elif how == 2:
            del made[at : at + chance.randint(1, 20)]
        elif how == 3:
            made[at:at] = made[at : at + chance.randint(1, 200)]
        else:
            made[at:at] = bytes(chance.randrange(256) for _ in range(4))
    return bytes(made)


def try_lines(folder: Path, count: int, seed: int) -> int:
    """Reads so many mutated lines of every format; returns how many items were found."""
    chance, found = random.Random(seed), 0
    files: list[tuple[str, str, list[bytes]]] = []
    for name in FORMATS:
        place = folder / name
        place.mkdir()
        make(name, place)
        for file in sorted(one for one in place.rglob("*") if one.is_file()):
            data = file.read_bytes()
            if name == "chatgpt":
                data = json.dumps(chatgpt(), indent=0).encode()
            inside = "conversations.json" if name == "chatgpt" else file.name
            files.append((name, inside, data.split(b"\n")))
    done = 0
    while done < count:
        name, inside, whole = chance.choice(files)
        damaged = [mutated(line, chance) if line else line for line in whole]
        done += len(damaged)
        source = Given(inside, b"\n".join(damaged), chance.choice([1, 64, 4096]))
        some = list(format_named(name).read([source]))
        assert all(isinstance(one, FOUND) for one in some)
        items = [item for one in some for item in items_of(one)]
        found += len(Cleaning().clean(items))
    return found


def test_a_text_that_is_not_utf8_is_read_as_it_can_be(memory: Memory, tmp_path: Path) -> None:
    make("stargraph", tmp_path)
    file = tmp_path / "episodes.db"
    file.write_bytes(file.read_bytes().replace(b"/user/ada/", b"/user/\xbb\xff\xfe/"))
    assert memory.admin.import_(file, "stargraph").kept == 1


def test_mutated_lines_never_raise(tmp_path: Path) -> None:
    assert try_lines(tmp_path, 5_000, 1) > 100


@pytest.mark.nightly
def test_a_million_mutated_lines_never_raise(tmp_path: Path) -> None:
    assert try_lines(tmp_path, 1_000_000, 2) > 10_000


@pytest.mark.parametrize("step", [1, 2, 3, 1000])
def test_a_document_is_read_the_same_in_any_pieces(step: int) -> None:
    document = {"a": [1, 2.5, "é\n", {"b": []}], "c": None, "d": [], "e": 12345, "f": {"g": [1]}}
    data = json.dumps(document, ensure_ascii=False).encode()
    found = list(elements(Given("x", data, step).chunks()))
    assert found[:4] == [("a", 1), ("a", 2.5), ("a", "é\n"), ("a", {"b": []})]
    assert found[4:] == [("c", None), ("e", 12345), ("f", {"g": [1]})]
    assert list(elements(Given("x", b" 17 ", step).chunks())) == [(None, 17)]


@pytest.mark.parametrize("text", ["[1, 2", '{"a": [1}', "{1: 2}", "[1 2]", "", "[" * 99_999])
def test_damage_in_a_document_is_located(text: str) -> None:
    with pytest.raises(BrokenJsonError, match="after character"):
        list(elements(Given("x", text.encode()).chunks()))


# Samples that other programs made; they are not part of the project.

MADE = [
    ("chrono_project", "chrono", 53),
    ("chrono_project_compacted", "chrono", 54),
    ("events_compact_dialect.wal", "chrono", 5),
    ("markitect", "markitect", 6),
    ("openchronicle", "openchronicle", 7),  # 4 entries, and what 3 pages say about themselves
    ("elfmem_ledger", "elfmem", 11),
    ("stargraph_episodes.db", "stargraph", 4),
]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
@pytest.mark.parametrize(("sample", "format", "kept"), MADE)
def test_a_sample_imports_once(sample: str, format: str, kept: int, memory: Memory) -> None:
    done = memory.admin.import_(SAMPLES / sample)
    assert (done.format, done.kept, done.refused) == (format, kept, 0)
    digest = memory.admin.digest()
    assert memory.admin.import_(SAMPLES / sample).known == kept
    assert memory.admin.digest() == digest


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
@pytest.mark.parametrize(
    ("sample", "line"), [("events_torn_tail.wal", 56), ("events_flipped_byte.wal", 1)]
)
def test_a_damaged_sample_is_located(sample: str, line: int, memory: Memory) -> None:
    assert memory.admin.import_(SAMPLES / sample).chains[0].broken_at == line
