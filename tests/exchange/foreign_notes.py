"""Random notes of Basic Memory.

Responsible for a vault that writes itself and changes. Leaves comparing to the tests.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from tests.exchange.foreign import START, WORDS, Said, reworded, sentence, stamp


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
        self.first: dict[tuple[str, str, str], datetime] = {}
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
            at = self.first.setdefault((note.path, *relation), note.modified)
            note.relations.append((*relation, at))  # what comes back has the date that it had

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
