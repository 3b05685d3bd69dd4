"""Random stores of other programs: each writes itself, changes, and says what must come in.

Responsible for a model of each format with its own writer, which shares nothing with the importer.
Leaves importing and comparing to the tests.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from recollect import Memory

WORDS = """amber anchor basin beacon cedar cobalt copper delta ember falcon garnet harbor indigo
jasper kelp lantern magnet nectar onyx pepper quartz raven saffron timber umber velvet walnut
yarrow zephyr Brücke Straße café 北京 naïve""".split()
START = datetime(2024, 3, 1, 9, tzinfo=UTC)


class Said(msgspec.Struct, frozen=True):
    """A record or an episode as a memory should hold it."""

    text: str
    about: str | None = None
    kind: str | None = None
    tags: frozenset[str] = frozenset()
    said_at: str | None = None
    user: str | None = None
    session: str | None = None
    data: str = "{}"


class Foreign(Protocol):
    """A store of another program."""

    format: str

    def write(self, folder: Path) -> Path: ...
    def change(self) -> None: ...
    def expected(self) -> Counter[Said]: ...
    def links(self) -> Counter[tuple[str, str, str]]: ...
    def left_out(self) -> dict[str, int]: ...


def held(memory: Memory, folder: Path) -> list[dict[str, dict[str, object]]]:
    """Everything that a memory holds, from its own export."""
    file = folder / f"held-{memory.position}-{random.randrange(10**9)}.ndjson"
    memory.export("ndjson", file)
    lines = [json.loads(line) for line in file.read_text("utf-8").split("\n")[1:] if line]
    file.unlink()
    return lines


def records(memory: Memory, folder: Path) -> Counter[Said]:
    """The statements that hold, without names alone."""
    found = (line["record"] for line in held(memory, folder) if "record" in line)
    return Counter(
        said_of(one)
        for one in found
        if one["status"] == "active" and one["text"] != one.get("about")
    )


def said_of(one: dict[str, object]) -> Said:
    scope = one.get("scope") or {}
    assert isinstance(scope, dict)
    return Said(
        text=str(one["text"]),
        about=None if one.get("about") is None else str(one["about"]),
        kind=None if one.get("kind") is None else str(one["kind"]),
        tags=frozenset(map(str, one.get("tags", ()))),  # type: ignore[call-overload]
        said_at=None if one.get("said_at") is None else str(one["said_at"]),
        user=scope.get("user"),
        session=scope.get("session"),
        data=json.dumps(one.get("data", {}), sort_keys=True),
    )


def linked(memory: Memory, folder: Path) -> Counter[tuple[str, str, str]]:
    """The links, each by what its ends are about."""
    lines = held(memory, folder)
    about = {
        str(one["record"]["id"]): one["record"].get("about") for one in lines if "record" in one
    }
    found = (line["link"] for line in lines if "link" in line)
    return Counter(
        (str(about[str(one["source"])]), str(one["kind"]), str(about[str(one["target"])]))
        for one in found
    )


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def sentence(rng: random.Random, count: int = 6) -> str:
    return " ".join(rng.choices(WORDS, k=count)) + f" {rng.randrange(10**6)}"


def reworded(rng: random.Random, text: str) -> str:
    """A sentence with another last word."""
    return f"{text.rpartition(' ')[0]} {rng.randrange(10**6, 10**9)}"


# Basic Memory.


@dataclass
class Line:
    """An observation or a paragraph: its words, and since when the note has it."""

    text: str
    said_at: datetime
    category: str | None = None
    tags: tuple[str, ...] = ()
    context: str | None = None

    def markdown(self) -> str:
        if self.category is None:
            return self.text
        tags = "".join(f" #{tag}" for tag in self.tags)
        return f"- [{self.category}] {self.shown()[0]}{tags}{self.shown()[1]}"

    def shown(self) -> tuple[str, str]:
        return self.text, f" ({self.context})" if self.context else ""


@dataclass
class Note:
    path: str
    title: str
    type: str
    created: datetime
    modified: datetime
    tags: tuple[str, ...]
    prose: list[Line] = field(default_factory=list)
    facts: list[Line] = field(default_factory=list)
    relations: list[tuple[str, str, datetime]] = field(default_factory=list)
    name: str = ""  # what it is called here, if another note has its title

    @property
    def about(self) -> str:
        prefix = {"person": "person: ", "project": "project: "}.get(self.type, "")
        return prefix + (self.name or self.title)

    def markdown(self) -> str:
        head = [
            "---",
            f"title: {self.title}",
            f"type: {self.type}",
            f"permalink: {self.path.removesuffix('.md')}",
            f"tags: [{', '.join(self.tags)}]",
            f"created: {self.created.isoformat()}",
            f"modified: {self.modified.isoformat()}",
            "---",
            f"# {self.title}",
            "",
        ]
        prose = [part for line in self.prose for part in (line.markdown(), "")]
        related = [f"- {kind} [[{target}]]" for kind, target, _ in self.relations]
        facts = [line.markdown() for line in self.facts]
        return "\n".join(
            [*head, *prose, "## Observations", *facts, "", "## Relations", *related, ""]
        )


class Vault:
    """Notes of Basic Memory."""

    format = "basic-memory"

    def __init__(self, rng: random.Random, count: int) -> None:
        self.rng = rng
        self.now = START
        self.notes: dict[str, Note] = {}
        for _ in range(count):
            self.add()

    def add(self) -> Note:
        rng, number = self.rng, len(self.notes)
        title = f"{rng.choice(WORDS)} {rng.choice(WORDS)} {number}"
        path = f"{rng.choice(['work', 'home/garden', 'people'])}/note-{number}.md"
        kind = rng.choice(["note", "note", "person", "project", "Meeting"])
        tags = tuple(sorted(set(rng.choices(WORDS[:20], k=rng.randrange(3)))))
        self.now += timedelta(minutes=rng.randrange(1, 5000))
        note = Note(path, title, kind, self.now, self.now + timedelta(hours=1), tags)
        for _ in range(rng.randrange(3)):
            link = f" [[{self.target()}]]" if rng.random() < 0.4 else ""
            note.prose.append(Line(sentence(rng, 9) + link, note.modified))
        for _ in range(rng.randrange(1, 7)):
            note.facts.append(self.fact(note))
        for _ in range(rng.randrange(4)):
            self.relate(note)
        self.notes[path] = note
        return note

    def fact(self, note: Note) -> Line:
        rng = self.rng
        return Line(
            sentence(rng),
            note.modified,
            rng.choice(["fact", "tip", "deadline", "Entscheidung"]),
            tuple(sorted(set(rng.choices(WORDS[:20], k=rng.randrange(3))))),
            rng.choice([None, None, "as Ada said"]),
        )

    def target(self) -> str:
        known = [note.title for note in self.notes.values()]
        return self.rng.choice([*known, "A note nobody wrote", "Später"])

    def relate(self, note: Note) -> None:
        relation = (self.rng.choice(["part_of", "relates_to", "led_by"]), self.target())
        if relation not in [one[:2] for one in note.relations] and relation[1] != note.title:
            note.relations.append((*relation, note.modified))

    def write(self, folder: Path) -> Path:
        for path, note in self.notes.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(note.markdown(), "utf-8")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "picture.png").write_bytes(b"\x89PNG\r\n")
        return folder

    def change(self) -> None:
        rng = self.rng
        for note in rng.sample(list(self.notes.values()), k=min(6, len(self.notes))):
            note.modified += timedelta(days=40)
            how = rng.randrange(6)
            if how == 0 and note.facts:  # other words for one of them
                line = rng.choice(note.facts)
                line.text, line.said_at = reworded(rng, line.text), note.modified
            elif how == 1 and note.facts:
                note.facts.remove(rng.choice(note.facts))
            elif how == 2:
                note.facts.insert(rng.randrange(len(note.facts) + 1), self.fact(note))
            elif how == 3:
                rng.shuffle(note.facts)
            elif how == 4 and note.relations:
                note.relations.remove(rng.choice(note.relations))
            else:
                self.relate(note)
        self.add()

    def expected(self) -> Counter[Said]:
        found: Counter[Said] = Counter()
        for note in self.notes.values():
            for line in note.prose:
                found[self._said(note, line.text, "fact", note.tags, line.said_at)] += 1
            for line in note.facts:
                text, kind = "".join(line.shown()), line.category or ""
                found[self._said(note, text, kind, (*line.tags, *note.tags), line.said_at)] += 1
            for kind, target, at in note.relations:
                text = f"{note.name or note.title} {kind.replace('_', ' ')} {target}"
                found[self._said(note, text, "relation", (), at)] += 1
        return found

    def _said(self, note: Note, text: str, kind: str, tags: Iterable[str], at: datetime) -> Said:
        return Said(text, note.about, kind, frozenset(tags), stamp(at))

    def _all_links(self) -> set[tuple[str, str, str]]:
        found = set()
        for note in self.notes.values():
            found |= {(note.about, kind, target) for kind, target, _ in note.relations}
            for line in note.prose:
                if "[[" in line.text:
                    target = line.text.partition("[[")[2].rstrip("]")
                    found.add((note.about, "links_to", target))
        return found

    def links(self) -> Counter[tuple[str, str, str]]:
        about = {note.title: note.about for note in self.notes.values()}
        there = ((one, kind, about.get(to)) for one, kind, to in self._all_links())
        return Counter((one, kind, to) for one, kind, to in there if to is not None)

    def left_out(self) -> dict[str, int]:
        waiting = len(self._all_links()) - sum(self.links().values())
        found = {"files that are not notes": 1, "links to something that is not there yet": waiting}
        return {what: many for what, many in found.items() if many}


# MCP's memory server.


class Graph:
    """Entities, observations and relations."""

    format = "mcp-memory"

    def __init__(self, rng: random.Random, count: int) -> None:
        self.rng = rng
        self.entities: dict[str, tuple[str, list[str]]] = {}
        self.relations: list[tuple[str, str, str]] = []
        for _ in range(count):
            self.add()

    def add(self) -> None:
        rng = self.rng
        name = f"{rng.choice(WORDS)}_{len(self.entities)}"
        said = [sentence(rng) for _ in range(rng.randrange(5))]
        self.entities[name] = (rng.choice(["person", "company", "project"]), said)
        for _ in range(rng.randrange(3)):
            self.relate(name)

    def relate(self, name: str) -> None:
        other = self.rng.choice(list(self.entities))
        relation = (name, self.rng.choice(["works_at", "knows"]), other)
        if relation not in self.relations and other != name:
            self.relations.append(relation)

    def write(self, folder: Path) -> Path:
        lines: list[dict[str, object]] = [
            {"type": "entity", "name": name, "entityType": kind, "observations": said}
            for name, (kind, said) in self.entities.items()
        ]
        lines += [
            {"type": "relation", "from": one, "to": other, "relationType": kind}
            for one, kind, other in self.relations
        ]
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "memory.jsonl"
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        file.write_text(text, "utf-8")
        return file

    def change(self) -> None:
        rng = self.rng
        for name in rng.sample(list(self.entities), k=min(6, len(self.entities))):
            _, said = self.entities[name]
            how = rng.randrange(5)
            if how == 0 and len(said) > 1:
                place = rng.randrange(len(said))
                said[place] = reworded(rng, said[place])
            elif how == 1 and len(said) > 1:
                said.remove(rng.choice(said))
            elif how == 2:
                said.insert(rng.randrange(len(said) + 1), sentence(rng))
            elif how == 3:
                rng.shuffle(said)
            else:
                self.relate(name)
        gone = [one for one in self.relations if self.entities[one[0]][1]]
        if gone:  # of an entity that goes on saying something, so it is known to be the same
            self.relations.remove(rng.choice(gone))
        self.add()

    def expected(self) -> Counter[Said]:
        found: Counter[Said] = Counter()
        for name, (kind, said) in self.entities.items():
            for text in said:
                found[Said(text, name, "fact", frozenset([kind]))] += 1
        for one, kind, other in self.relations:
            data = json.dumps({"from": one, "relation": kind, "to": other}, sort_keys=True)
            text = f"{one} {kind.replace('_', ' ')} {other}"
            found[Said(text, one, "relation", data=data)] += 1
        return found

    def links(self) -> Counter[tuple[str, str, str]]:
        return Counter(self.relations)

    def left_out(self) -> dict[str, int]:
        return {}


# mem0.


class Memories:
    """What mem0's ``get_all`` gives."""

    format = "mem0"

    def __init__(self, rng: random.Random, count: int) -> None:
        self.rng = rng
        self.now = START
        self.made = 0
        self.memories: list[dict[str, object]] = []
        for _ in range(count):
            self.add()

    def add(self) -> None:
        rng = self.rng
        self.now += timedelta(minutes=rng.randrange(1, 900))
        self.made += 1
        self.memories.append(
            {
                "id": f"{self.made:08x}-0000-4000-8000-{rng.randrange(16**12):012x}",
                "memory": sentence(rng),
                "hash": f"{rng.randrange(16**32):032x}",
                "metadata": rng.choice([None, {"mood": "fine", "depth": {"n": [1, 0.5, None]}}]),
                "categories": sorted(set(rng.choices(WORDS[:9], k=rng.randrange(3)))),
                "created_at": self.now.isoformat(),
                "updated_at": None,
                "user_id": rng.choice(["ada", "bob", "ada"]),
                "run_id": rng.choice([None, "chat-1"]),
            }
        )

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "mem0.json"
        file.write_text(json.dumps({"results": self.memories}, ensure_ascii=False), "utf-8")
        return file

    def change(self) -> None:
        rng = self.rng
        for one in rng.sample(self.memories, k=min(5, len(self.memories))):
            if rng.random() < 0.5:
                one["memory"] = f"{one['memory']} since"
            else:
                one["categories"] = ["moved"]
        rng.shuffle(self.memories)
        self.add()

    def expected(self) -> Counter[Said]:
        return Counter(map(self._said, self.memories))

    def _said(self, one: dict[str, object]) -> Said:
        own = ("id", "memory", "hash", "metadata", "user_id", "run_id")
        rest = {name: value for name, value in one.items() if name not in own and value}
        metadata = one["metadata"] or {}
        assert isinstance(metadata, dict)
        tags = one["categories"]
        assert isinstance(tags, list)
        return Said(
            str(one["memory"]),
            kind="fact",
            tags=frozenset(tags),
            said_at=stamp(datetime.fromisoformat(str(one["created_at"]))),
            user=str(one["user_id"]),
            session=None if one["run_id"] is None else str(one["run_id"]),
            data=json.dumps(metadata | rest, sort_keys=True),
        )

    def links(self) -> Counter[tuple[str, str, str]]:
        return Counter()

    def left_out(self) -> dict[str, int]:
        return {}
