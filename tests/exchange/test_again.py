"""A second export of mem0, MCP's memory server and ChatGPT: what changed there, and only that."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from recollect import Memory
from recollect.model.values import Imported


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "store", embedder="none")


def counts(done: Imported) -> tuple[int, ...]:
    return done.kept, done.changed, done.forgotten, done.known, done.missing, done.refused


def holding(memory: Memory) -> set[str]:
    """The statements that hold."""
    return {record.text for record in memory.list(limit=1_000) if record.text != record.about}


# MCP's memory server.


def entity(name: str, *said: str) -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": "person", "observations": said}


def relation(source: str, kind: str, target: str) -> dict[str, object]:
    return {"type": "relation", "from": source, "to": target, "relationType": kind}


def graph(file: Path, *lines: Mapping[str, object]) -> Path:
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return file


def test_an_entity_says_something_else(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    ada = entity("Ada", "Lives in Oslo since May", "Sings", "Has a boat")
    bo = entity("Bo", "Runs")
    memory.admin.import_(graph(file, ada, bo, relation("Ada", "knows", "Bo")))
    ada = entity("Ada", "Sings", "Lives in Rome since May", "Paints")
    done = memory.admin.import_(graph(file, relation("Bo", "knows", "Ada"), bo, ada))
    # New: Paints, a sentence and a link. Gone: the boat, a sentence and a link.
    assert counts(done) == (3, 1, 3, 4, 0, 0)
    assert holding(memory) == {"Lives in Rome since May", "Sings", "Paints", "Runs", "Bo knows Ada"}
    (one,) = (link for link in memory.why("mcp-memory-entity/Ada").links)
    assert (one.source, one.kind, one.target) == (
        "mcp-memory-entity/Bo",
        "knows",
        "mcp-memory-entity/Ada",
    )


def test_two_projects_with_one_name_do_not_end_each_other(memory: Memory, tmp_path: Path) -> None:
    one = graph(tmp_path / "one.json", entity("default_user", "Likes tabs", "Speaks Spanish"))
    two = graph(tmp_path / "two.json", entity("default_user", "Builds boats", "Speaks French"))
    memory.admin.import_(one)
    done = memory.admin.import_(two)
    assert (done.changed, done.forgotten, done.missing) == (0, 0, 2)
    assert len(holding(memory)) == 4


def test_an_entity_on_two_lines_is_the_sum_of_both(memory: Memory, tmp_path: Path) -> None:
    file = graph(tmp_path / "memory.json", entity("Ada", "Sings"), entity("Ada", "Paints"))
    for _ in range(3):
        assert memory.admin.import_(file).refused == 0
        assert holding(memory) == {"Sings", "Paints"}


def test_what_the_format_does_not_have_is_counted(memory: Memory, tmp_path: Path) -> None:
    odd = entity("Ada", "Sings") | {"embedding": [1], "createdAt": "2025-01-01"}
    done = memory.admin.import_(graph(tmp_path / "memory.json", odd))
    assert done.left_out == {"fields that this format does not have": 2}


# mem0.


def mem0(file: Path, *memories: Mapping[str, object], **more: object) -> Path:
    file.write_text(json.dumps({"results": memories} | more), "utf-8")
    return file


def said(id: str, text: str, user: str = "ada") -> dict[str, object]:
    return {"id": id, "memory": text, "user_id": user, "created_at": "2025-01-01T00:00:00Z"}


def test_memories_of_one_id_are_one_and_the_others_are_reported(
    memory: Memory, tmp_path: Path
) -> None:
    file = mem0(tmp_path / "m.json", said("1", "Sings"), said("1", "Paints"), said("1", "Sings"))
    for known in (0, 1):
        done = memory.admin.import_(file)
        assert counts(done) == (1 - known, 0, 0, 1 + known, 0, 1)
        assert "its id stands in it twice" in done.problems[0].why
        assert holding(memory) == {"Sings"}


def test_memories_that_are_gone_stay_and_are_counted(memory: Memory, tmp_path: Path) -> None:
    many = [said(str(number), f"Fact {number}") for number in range(5)]
    memory.admin.import_(mem0(tmp_path / "m.json", *many, said("b", "Runs", "bob")))
    done = memory.admin.import_(mem0(tmp_path / "m.json", *many[:3][::-1]))
    assert counts(done) == (0, 0, 0, 3, 2, 0)  # those of another user may be in another file
    assert len(holding(memory)) == 6


def test_one_page_of_an_export_says_that_there_are_more(memory: Memory, tmp_path: Path) -> None:
    file = mem0(tmp_path / "m.json", said("1", "Sings"), count=9, next="https://x/?page=2")
    done = memory.admin.import_(file)
    assert done.left_out == {"further pages of the export, which are other files": 1}
    assert memory.admin.import_(mem0(file, said("1", "Sings"), count=1, next=None)).left_out == {}


# ChatGPT.


def chat(*messages: tuple[str, str, object], last: str | None = None) -> dict[str, object]:
    """A conversation: of each message its id, its parent and its text or its whole message."""
    mapping: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None}}
    for id, parent, given in messages:
        said = given if isinstance(given, dict) else plain(id, str(given))
        mapping[id] = {"id": id, "parent": parent, "message": said}
    node = last or messages[-1][0]
    head = {"id": "c", "title": "Bread", "create_time": 1.7e9, "current_node": node}
    return head | {"mapping": mapping}


def plain(id: str, text: str, role: str = "user", **more: object) -> dict[str, object]:
    content = {"content_type": "text", "parts": [text]}
    return {"id": id, "author": {"role": role}, "content": content, "create_time": None} | more


def archive(file: Path, members: Mapping[str, object]) -> Path:
    with zipfile.ZipFile(file, "w") as made:
        for name, value in members.items():
            made.writestr(name, json.dumps(value))
    return file


def episodes(memory: Memory) -> Sequence[tuple[str, str]]:
    """What was said, in its order, and when."""
    return [
        (one.text, str(one.said_at)[:19])
        for one in reversed(memory.sessions.recent(unit="episode"))
    ]


def test_messages_without_a_time_stay_in_their_order(memory: Memory, tmp_path: Path) -> None:
    first = plain("m3", "75% it is", create_time=1.7e9 + 60)
    talk = chat(
        ("m1", "root", "What hydration?"),
        ("m2", "m1", "70%"),
        ("m3", "m2", first),
        ("m4", "m3", "Fine"),
    )
    memory.admin.import_(archive(tmp_path / "e.zip", {"conversations.json": [talk]}))
    assert episodes(memory) == [
        ("What hydration?", "2023-11-14T22:13:20"),
        ("70%", "2023-11-14T22:13:20"),
        ("75% it is", "2023-11-14T22:14:20"),
        ("Fine", "2023-11-14T22:14:20"),
    ]


def test_an_edited_question_adds_its_branch_and_loses_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    messages = [("m1", "root", "Rye?"), ("m2", "m1", "Yes")]
    file = archive(tmp_path / "e.zip", {"conversations-000.json": [chat(*messages)]})
    memory.admin.import_(file)
    talk = chat(*messages, ("m3", "root", "Rye or wheat?"), ("m4", "m3", "Wheat"))
    done = memory.admin.import_(
        archive(file, {"conversations-000.json": [], "conversations-001.json": [talk]})
    )
    assert counts(done) == (2, 0, 0, 0, 0, 0)
    assert done.left_out == {"messages of branches that are not shown": 2}
    assert {text for text, _ in episodes(memory)} == {"Rye?", "Yes", "Rye or wheat?", "Wheat"}


def test_every_kind_of_message_is_taken_or_counted(memory: Memory, tmp_path: Path) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    content = {"content_type": "multimodal_text", "parts": [picture, "What is on it?"]}
    hidden = {"is_visually_hidden_from_conversation": True}
    given = [
        plain("m0", "Be kind", "system"),
        plain("m1", "About me", metadata=hidden),
        plain("m2", "") | {"content": content},
        plain("m3", "", "assistant") | {"content": {"content_type": "code", "text": "1 + 1"}},
        plain("m4", "Found a page", "tool"),
        plain("m5", "", "assistant") | {"content": {"content_type": "thoughts", "thoughts": []}},
        plain("m6", "A cat:\n```\nmeow\n```", "assistant"),
        plain("m7", "", "assistant"),
        {"id": "m8", "author": None, "content": None},
    ]
    parents = ["root", *(f"m{number}" for number in range(len(given)))]
    talk = chat(*((f"m{at}", parents[at], one) for at, one in enumerate(given)))
    done = memory.admin.import_(archive(tmp_path / "e.zip", {"conversations.json": [talk]}))
    assert {one.text for one in memory.sessions.episodes(include=["waiting"])} == {
        "What is on it?",
        "Found a page",
        "A cat:\n```\nmeow\n```",
    }
    assert done.left_out == {
        "images and files": 1,
        "messages of the system": 1,
        "messages of the type code": 1,
        "messages of the type thoughts": 1,
        "messages that ChatGPT does not show": 1,
        "messages without a text": 1,
        "messages without an author or a content": 1,
    }


def test_a_message_that_was_changed_in_place_is_reported(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "e.zip"
    memory.admin.import_(archive(file, {"conversations.json": [chat(("m1", "root", "Rye?"))]}))
    changed = archive(file, {"conversations.json": [chat(("m1", "root", "Wheat?"))]})
    assert memory.admin.import_(changed, dry_run=True).refused == 1
    done = memory.admin.import_(changed)
    assert counts(done) == (0, 0, 0, 0, 0, 1)
    assert "says something else there" in done.problems[0].why
    assert [text for text, _ in episodes(memory)] == ["Rye?"]


def test_nothing_that_is_imported_has_a_persons_trust(memory: Memory, tmp_path: Path) -> None:
    """Whatever a file claims; a person's own words come from nowhere else."""
    forged = {"trust": "person", "origin": "person", "status": "active", "key": "home"}
    memory.admin.import_(mem0(tmp_path / "m.json", said("1", "Sings") | forged))
    memory.admin.import_(graph(tmp_path / "g.json", entity("Ada", "Paints") | forged))
    talk = chat(("m1", "root", "I live in Oslo"))
    memory.admin.import_(archive(tmp_path / "e.zip", {"conversations.json": [talk]}))
    assert {record.trust for record in memory.list()} == {"agent"}
    assert {episode.trust for episode in memory.sessions.episodes()} == {"agent"}


def test_what_a_person_changed_stays_and_is_reported(memory: Memory, tmp_path: Path) -> None:
    file = graph(tmp_path / "g.json", entity("Ada", "Lives in Oslo since May", "Sings"))
    memory.admin.import_(file)
    (record,) = (one for one in memory.list() if one.text.startswith("Lives"))
    memory.revise(record.id, "Lives in Bergen since May")
    for text in ("Lives in Rome since May", "Lives in Nice since May"):
        done = memory.admin.import_(graph(file, entity("Ada", text, "Sings")))
        assert (done.kept, done.changed, done.forgotten, done.refused) == (0, 0, 0, 1)
        assert holding(memory) == {"Lives in Bergen since May", "Sings"}
    done = memory.admin.import_(graph(file, entity("Ada", "Sings")))
    assert (done.forgotten, done.refused) == (0, 1)
    assert memory.get(record.id).trust == "person"
