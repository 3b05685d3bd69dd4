"""Random hand edits on pages, and what must come of them.

Responsible for editing files as a person would and for telling, without the code under test, what
they must become. Leaves how often to the tests, and other writers to ``interleaving``. Invariant:
every edit has a word that is nowhere else, so that a loss shows.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from recollect import Memory
from recollect.mirror.page import Entry, Reading
from recollect.mirror.parse import parse
from recollect.model.values import Synced
from tests.mirror.making import PIECES

ABOUT = ("person:Alice", "person:Bob", "project:Apollo", "C++", "user", None)
PLAIN = [
    piece
    for piece in PIECES
    if piece.strip() and "## [" not in piece and "##\t[" not in piece and "~~" not in piece
]
TAGS = ("work", "home", "a%20b", "50%25", "east")


class Editor:
    """A person with a text editor in a folder of pages."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self._chance = chance
        self.words = 0

    def word(self) -> str:
        """A word that is nowhere else."""
        self.words += 1
        return f"w{self.words}x"

    def pages(self) -> list[Path]:
        """The pages that have entries."""
        found = [path for path in sorted(self.folder.glob("*.md")) if path.name != "index.md"]
        return [path for path in found if "## [" in path.read_text()]

    def edit(self, done: Counter[str]) -> None:
        """One random edit on one page."""
        page = self._chance.choice(self.pages())
        reading = parse(page.stem, page.read_text())
        ways = ("text", "tags", "struck", "added", "described", "prose", "moved", "renamed")
        way = self._chance.choices(ways, (40, 15, 8, 20, 6, 4, 5, 2))[0]
        before = page.read_text()
        getattr(self, f"_{way}")(page, reading)
        done[way] += not page.exists() or page.read_text() != before

    def _text(self, page: Path, reading: Reading) -> None:
        def written(part: str, entry: Entry) -> str:
            lines = [self._chance.choice(PLAIN) for _ in range(self._chance.randint(0, 2))]
            return f"{part.splitlines()[0]}\n" + "\n".join((f"Now {self.word()}.", *lines)) + "\n\n"

        self._parts(page, reading, written, struck=False)

    def _tags(self, page: Path, reading: Reading) -> None:
        def written(part: str, entry: Entry) -> str:
            heading, _, body = part.partition("\n")
            tags = " ".join(f"#{tag}" for tag in self._chance.sample(TAGS, 2))
            return f"{heading[: heading.index('}') + 1]} {tags} #{self.word()}\n{body}"

        self._parts(page, reading, written, struck=False)

    def _struck(self, page: Path, reading: Reading) -> None:
        def written(part: str, entry: Entry) -> str:
            heading, _, body = part.partition("\n")
            return f"{heading}\n~~{body.strip()}~~\n\n"

        self._parts(page, reading, written, struck=False)

    def _added(self, page: Path, reading: Reading) -> None:
        heading = f"## [{self._chance.choice(('today', '2026-01-01', ''))}] #{self.word()}"
        page.write_text(f"{page.read_text()}\n{heading}\nNew {self.word()}.\n")

    def _described(self, page: Path, reading: Reading) -> None:
        field = self._chance.choice(("description", "tags", "status", "needs_compact"))
        value = {
            "description": f"About {self.word()}",
            "tags": f"[{self.word()}, team]",
            "status": self._chance.choice(("active", "dormant", "archived")),
            "needs_compact": self._chance.choice(("true", "false")),
        }[field]
        lines = reading.head.split("\n")
        named = [f"{field}: {value}" if one.startswith(f"{field}:") else one for one in lines]
        page.write_text("\n".join(named) + "".join(reading.parts))

    def _prose(self, page: Path, reading: Reading) -> None:
        text = page.read_text()
        after = text.index("[Index](index.md)")
        end = text.index("\n", after)
        page.write_text(f"{text[:end]}\n\nNotes {self.word()}.{text[end:]}")

    def _moved(self, page: Path, reading: Reading) -> None:
        others = [path for path in self.pages() if path != page]
        parts = self._chosen(reading, struck=False)
        if others and parts:
            part = reading.parts[parts[0]]
            other = self._chance.choice(others)
            other.write_text(f"{other.read_text()}\n{part.strip()}\n")
            page.write_text(page.read_text().replace(part, ""))

    def _renamed(self, page: Path, reading: Reading) -> None:
        if not any(entry.struck for entry in reading.page.entries):
            page.rename(page.with_name(f"topic-{self.word()}.md"))

    def _chosen(self, reading: Reading, *, struck: bool) -> list[int]:
        found = [
            number
            for number, entry in enumerate(reading.page.entries)
            if entry.id is not None and entry.struck is struck
        ]
        self._chance.shuffle(found)
        return found

    def _parts(self, page: Path, reading: Reading, written: object, *, struck: bool) -> None:
        parts = list(reading.parts)
        for number in self._chosen(reading, struck=struck)[:1]:
            parts[number] = written(parts[number], reading.page.entries[number])  # type: ignore[operator]
        page.write_text(reading.head + "".join(parts))


def fill(memory: Memory, chance: random.Random, count: int) -> None:
    """Records on a few pages; some were superseded, some are an agent's."""
    for number in range(count):
        handle = memory.scoped(trust=chance.choice(("person", "agent")))
        handle.remember(
            f"Fact {number} of {chance.choice(PLAIN)}",
            about=chance.choice(ABOUT),
            key=f"k{number % 5}" if number % 4 == 0 else None,
            tags=chance.sample(("work", "home"), 1),
        )


def readings(folder: Path) -> dict[str, Reading]:
    """What the files of a folder say."""
    return {
        path.stem: parse(path.stem, path.read_text())
        for path in sorted(folder.glob("*.md"))
        if path.name != "index.md"
    }


def unlike(edited: dict[str, Reading], rendered: dict[str, Reading]) -> list[str]:
    """Where pages that were rendered do not say what a person wrote there."""
    wrong = list[str]()
    for name, reading in edited.items():
        page, now = reading.page, rendered.get(name)
        has_left = not [one for one in page.entries if not one.struck and one.text]
        if now is None:
            wrong += [] if has_left else [f"{name} is gone"]
            continue
        by_id = {entry.id: entry for entry in now.page.entries}
        texts = {(entry.text, frozenset(entry.tags)) for entry in now.page.entries}
        for entry in page.entries:
            mine = by_id.get(entry.id) if entry.id is not None else None
            if entry.id is None:
                wrong += [] if (entry.text, frozenset(entry.tags)) in texts else [f"new {entry}"]
            elif entry.struck and entry.superseded_by is None:
                wrong += [f"{entry.id} is still there"] if mine and not mine.struck else []
            elif mine is None:
                wrong.append(f"{entry.id} is not on {name}")
            elif (mine.text, set(mine.tags)) != (entry.text, set(entry.tags)):
                wrong.append(f"{entry.id}: {mine} instead of {entry}")
        for field in ("description", "status", "needs_compact", "prose"):
            mine, theirs = getattr(page, field), getattr(now.page, field)
            is_derived = field == "description" and not mine.startswith("About ")
            wrong += [] if mine == theirs or is_derived else [f"{field} of {name}: {theirs!r}"]
        wrong += [] if set(page.tags) == set(now.page.tags) else [f"tags of {name}"]
    return wrong


def told(memory: Memory, done: Synced) -> list[str]:
    """Changes that no history tells as a person's, with the page that they were made on."""
    wrong = list[str]()
    for change in done.applied:
        if change.what in ("text", "struck", "moved") and change.id is not None:
            versions = memory.history(change.id)
            notes = {(one.by, one.note) for one in versions}
            wrong += [] if ("person", f"edited on {change.file}") in notes else [change.ref]
    return wrong
