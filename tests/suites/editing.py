"""Random hand edits on pages, and what must come of them.

Responsible for editing files as a person would and for telling, without the code under test, what a
sync must do. Leaves how often to the tests. Invariant: every edit has a word that is nowhere else,
so that a loss shows.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from recollect import Memory
from recollect.errors import NotFound, RecollectError
from recollect.memory.applying import synced
from recollect.memory.handle import handle_of
from recollect.memory.pages import Pages
from recollect.memory.syncing import Comparison
from recollect.mirror.page import Entry, Reading
from recollect.mirror.parse import parse
from recollect.model.values import INCLUDES, Record, Synced
from tests.mirror.making import PIECES

ABOUT = ("person:Alice", "person:Bob", "project:Apollo", "C++", "user", None)
PLAIN = [
    piece
    for piece in PIECES
    if piece.strip() and "## [" not in piece and "##\t[" not in piece and "~~" not in piece
]
TAGS = ("work", "home", "a%20b", "50%25", "east")


class Killed(Exception):
    """The process ended here."""


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
        handle = memory.scoped(origin=chance.choice(("person", "agent")))
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
            notes = {(one.origin, one.note) for one in versions}
            wrong += [] if ("person", f"edited on {change.file}") in notes else [change.ref]
    return wrong


def stopped_sync(memory: Memory, folder: Path) -> None:
    """A sync that ends between applying and rendering."""

    def killed(_: object) -> None:
        raise Killed

    made = Pages(handle_of(memory))._made
    try:
        synced(Comparison(handle_of(memory), folder, made), None, None, killed)  # type: ignore[arg-type]
    except Killed:
        return


def state(memory: Memory) -> dict[str, tuple[str, str]]:
    """The text and the status of every record."""
    rows = [one for one in memory.list(include=INCLUDES, limit=1_000) if isinstance(one, Record)]
    return {one.id: (one.text, one.status) for one in rows}


def _page(memory: Memory, name: str) -> str | None:
    try:
        return memory.pages.read(name)
    except NotFound:
        return None


def every_word(memory: Memory) -> str:
    """Every text that any record ever had."""
    texts = list[str]()
    for id in state(memory):
        for version in memory.history(id):
            found = memory.at(version.seq).get(id, include=INCLUDES)
            texts.append(found.text if isinstance(found, Record) else "")
    return "\n".join(texts)


class Story:
    """One random interleaving of hand edits, other writes and syncs."""

    def __init__(self, mine: Memory, other: Memory, folder: Path, chance: random.Random) -> None:
        self._mine, self._other, self._folder, self._chance = mine, other, folder, chance
        self._editor = Editor(folder, chance)
        self._base: dict[str, dict[str, str]] = {}  # what was rendered, by file and id
        self.counts = Counter[str]()
        self.wrong: list[str] = []
        self._written: list[str] = []  # by hand

    def run(self, steps: int, *, takes_page: bool = False) -> None:
        """Random steps, then a last sync."""
        fill(self._mine, self._chance, 4)
        self._sync(takes_page=False)
        for _ in range(steps):
            step = self._chance.choice(("hand", "hand", "write", "write", "sync", "stopped"))
            if step == "hand":
                self._hand()
            elif step == "write":
                self._write()
            elif step == "sync":
                self._sync(takes_page=takes_page)
            else:
                stopped_sync(self._mine, self._folder)
                self.counts["stopped"] += 1
        self._sync(takes_page=takes_page)
        self._lost()

    def _hand(self) -> None:
        pages = self._editor.pages()
        if not pages:
            return
        page = self._chance.choice(pages)
        reading = parse(page.stem, page.read_text())
        way = self._chance.choice(("_text", "_text", "_added", "_struck"))
        before, words = page.read_text(), self._editor.words
        getattr(self._editor, way)(page, reading)
        if page.read_text() != before:
            self.counts["hand"] += 1
            after = page.read_text()  # a person may write over words of their own
            self._written = [one for one in self._written if one not in before or one in after]
            self._written += [f"w{self._editor.words}x"] if self._editor.words > words else []

    def _write(self) -> None:
        records = [one for one in self._other.list(limit=100) if isinstance(one, Record)]
        if not records:
            return
        one, word = self._chance.choice(records), self._editor.word()
        way = self._chance.choice(("revise", "revise", "forget", "add", "tag"))
        if way == "revise":
            self._other.revise(one.id, f"Memory {word}.")
        elif way == "forget":
            self._other.forget(one.id)
        elif way == "add":
            self._other.remember(f"Memory {word}.", about=self._chance.choice(ABOUT))
        else:
            self._other.tag(one.id, word)
        self.counts["written"] += 1

    def _sync(self, *, takes_page: bool) -> None:
        before, files = state(self._mine), readings(self._folder)
        try:
            done = self._mine.pages.sync(self._folder, take="page" if takes_page else None)
        except RecollectError as error:
            self.wrong.append(repr(error))
            return
        self.counts["syncs"] += 1
        self.counts["conflicts"] += len(done.conflicts)
        shown = {one.id for one in (*done.conflicts, *(each.change for each in done.refused))}
        after = state(self._mine)
        for name, reading in files.items():
            for entry in reading.page.entries:
                if entry.id in before and not entry.is_session and entry.text:
                    base = self._base.get(name, {}).get(entry.id)
                    self._judge(entry, base, before[entry.id], after[entry.id], entry.id in shown)
        for name, reading in readings(self._folder).items():
            if (self._folder / f"{name}.md").read_text() == _page(self._mine, name):
                self._base[name] = {
                    entry.id: entry.text for entry in reading.page.entries if entry.id is not None
                }

    def _judge(
        self,
        entry: Entry,
        base: str | None,
        before: tuple[str, str],
        after: tuple[str, str],
        is_shown: bool,
    ) -> None:
        """What a sync must have done with one entry."""
        text, status = before
        if base is None or entry.text in (base, text):
            if after[0] != text:
                self.wrong.append(f"{entry.id} was changed without an edit")
        elif text == base and status == "active":
            if after[0] != entry.text:
                self.wrong.append(f"{entry.id} was not changed to {entry.text!r}")
            self.counts["applied"] += 1
        else:
            self.counts["both changed"] += 1
            if after[0] != text:
                self.wrong.append(f"{entry.id} was overwritten: {text!r}")
            if not is_shown:
                self.wrong.append(f"{entry.id}: a conflict that was not shown")

    def _lost(self) -> None:
        kept = every_word(self._mine)
        kept += "".join(path.read_text() for path in self._folder.glob("*.md"))
        self.wrong += [f"{word} is lost" for word in self._written if word not in kept]
        active = [text for text, status in state(self._mine).values() if status == "active"]
        new = [text for text in active if text.startswith("New ")]
        self.wrong += [f"{text} is there twice" for text in new if new.count(text) > 1]
