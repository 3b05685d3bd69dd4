"""A random interleaving of hand edits, writes from another process and syncs, also killed ones.

Responsible for the steps and for telling, without the code under test, what a sync may and must
have done: from the files before it, from what was last rendered there, and from the ledger. Leaves
the processes to ``page_processes``. Invariant: every edit and every write has a word that is
nowhere else, so that a loss shows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from recollect import Memory
from recollect.errors import NotFound, RecollectError
from recollect.index.reads import Reads
from recollect.lifecycle.commands import Act, Expect
from recollect.memory.handle.handle import handle_of
from recollect.mirror.page import Entry
from recollect.mirror.parse import parse
from recollect.model.values import INCLUDES, Record, Version
from recollect.store.port import Outcome
from tests.suites.editing import ABOUT, Editor, fill
from tests.suites.page_processes import (
    ELSEWHERE,
    PATIENCE_S,
    Order,
    Other,
    Place,
    Point,
    Side,
    Syncers,
    Write,
    at_point,
    shown,
    watched,
)

STEPS: Final = 8
_SOON_S: Final = 0.1  # what the other process waits for may be a lock that this one holds
_ANY_S: Final = 0.06  # a sync may take as long
_LATEST: Final[dict[Place, int]] = {"memory": 6, "pages": 30}

_parsed: Final = lru_cache(500)(parse)  # most files stay as they are for a while

Kind = Literal["before rendering", "between", "while rendering", "at any time"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Fault = Literal["page wins", "memory wins", "expects nothing", "renders first"]


class Before(NamedTuple):
    """What was there before a sync."""

    records: dict[str, Record]
    files: dict[str, str]  # the text of each page


class Story:
    """One interleaving in a folder of its own; with a fault, syncs are as they must not be."""

    def __init__(
        self, place: Path, seed: int, other: Other, syncers: Syncers, fault: Fault | None = None
    ) -> None:
        self._where, self._folder, self._seed = place / "memory", place / "pages", seed
        self._memory, self._seam = watched(self._where, self._folder, seed, create=True)
        self._other, self._syncers = other, syncers
        self._chance = random.Random(seed)
        self._editor = Editor(self._folder, self._chance)
        self._take: Side | None = None
        self._fault = fault
        self._base: dict[str, dict[str, Entry]] = {}  # what was rendered, by file and id
        self._by_hand: list[str] = []  # words
        self._elsewhere: list[Write] = []  # acknowledged
        self._under_way: Write | None = None
        # What a person saved while a sync ran, and what was rendered there before.
        self._late: dict[str, tuple[str, dict[str, Entry]]] = {}
        self.counts = Counter[str]()
        self.wrong: list[str] = []

    def run(self) -> None:
        """Random steps, then a last sync."""
        fill(self._memory, self._chance, 4)
        self._sync()
        if self._fault in ("page wins", "memory wins"):
            self._take = "page" if self._fault == "page wins" else "memory"
        if self._fault == "expects nothing":
            _expect_nothing(self._memory)
        steps = (
            self._hand,
            self._write,
            self._sync,
            self._crossed,
            self._saved,
            self._killed,
        )
        weights = (0, 0, 0, 1, 0, 0) if self._fault == "expects nothing" else (3, 3, 1, 2, 1, 2)
        for _ in range(STEPS):
            self._chance.choices(steps, weights)[0]()
        self._sync()
        self._lost()
        self._memory.close()

    # --- steps

    def _hand(self) -> None:
        pages = self._editor.pages()
        if pages:
            way = self._chance.choice(("_text", "_text", "_added", "_struck"))
            self._edit(self._chance.choice(pages), way)

    def _edit(self, page: Path, way: str) -> None:
        reading = _parsed(page.stem, page.read_text())
        before, words = page.read_text(), self._editor.words
        getattr(self._editor, way)(page, reading)
        if page.read_text() != before:
            self.counts["hand"] += 1
            after = page.read_text()  # a person may write over words of their own
            self._by_hand = [one for one in self._by_hand if one not in before or one in after]
            self._by_hand += [f"w{self._editor.words}x"] if self._editor.words > words else []

    def _write(self) -> None:
        """A write between two syncs."""
        self._send(self._chosen())
        self._hear()

    def _sync(self) -> None:
        before = self._look()
        try:
            done = self._memory.pages.sync(self._folder, take=self._take)
        except RecollectError as error:
            self.wrong.append(repr(error))
            return
        finally:
            self._hear_late()
        self._judge(before, shown(done))

    def _crossed(self) -> None:
        """A sync in which the other process writes."""
        self._hand()
        place: Place = self._chance.choice(("memory", "memory", "pages"))
        number = self._chance.choice((1, self._chance.randint(1, _LATEST[place])))
        write = self._chosen(0.8)

        def cross() -> None:
            self._send(write)
            self._hear(_SOON_S, is_crossed=True)

        self._sync_with(Point(place=place, number=number), cross)

    def _saved(self) -> None:
        """A sync in which a person saves a new entry."""
        self._hand()
        before = self._files()

        def save() -> None:
            pages = self._editor.pages()
            for page in self._chance.sample(pages, min(1, len(pages))):
                text, is_new = page.read_text(), page.read_text() != before.get(page.stem)
                base = _entries(page.stem, text) if is_new else self._base.get(page.stem, {})
                self._edit(page, "_added")
                self._late[page.stem] = (page.read_text(), base)
                self.counts["saved"] += 1

        number = self._chance.randint(1, _LATEST["pages"])
        self._sync_with(Point(place="pages", number=number), save)

    def _sync_with(self, point: Point, meanwhile: Callable[[], None]) -> None:
        self._seam.before = at_point(point, meanwhile)
        self._sync()
        self._seam.before = lambda place: None

    def _killed(self) -> None:
        """A sync in a process that is killed; the other process may write meanwhile."""
        self._hand()
        before, write = self._look(), self._chosen() if self._chance.random() < 0.3 else None
        kind = self._chance.choice(KINDS)
        ended = self._syncers.run(self._order(kind), lambda: self._send(write))
        self._hear_late()
        if ended.error:
            self.wrong.append(ended.error)
        self.counts["killed"] += ended.killed
        self.counts[f"killed {kind}"] += ended.killed
        self._judge(before, None if ended.killed else ended.shown)

    def _order(self, kind: Kind) -> Order:
        point, after_s = None, None
        match kind:
            case "before rendering":
                point = Point(place="memory", number=self._chance.randint(1, _LATEST["memory"]))
            case "between":
                point = Point(place="pages", number=1)
            case "while rendering":
                point = Point(place="pages", number=self._chance.randint(2, _LATEST["pages"]))
            case "at any time":
                after_s = self._chance.uniform(0, _ANY_S)
        return Order(
            where=str(self._where),
            folder=str(self._folder),
            seed=self._chance.getrandbits(48),
            point=point,
            after_s=after_s,
            take=self._take,
            renders_first=self._fault == "renders first",
        )

    # --- the other process

    def _chosen(self, edited_share: float = 0.5) -> Write | None:
        """A write on any record, or on one that a person is editing."""
        records = [one for one in self._memory.list(limit=100) if isinstance(one, Record)]
        edited = [
            id
            for name, text in self._files().items()
            for id, entry, base in self._known(name, text)
            if entry != base and any(one.id == id for one in records)
        ]
        if not records:
            return None
        ids = (
            edited
            if edited and self._chance.random() < edited_share
            else [one.id for one in records]
        )
        return Write(
            where=str(self._where),
            seed=-self._seed - 1,
            way=self._chance.choice(("revise", "revise", "forget", "add", "tag")),
            id=self._chance.choice(ids),
            word=self._editor.word(),
            about=self._chance.choice(ABOUT),
        )

    def _send(self, write: Write | None) -> None:
        if write is not None:
            self._other.send(write)
            self._under_way = write

    def _hear_late(self) -> None:
        """After a sync: only what has come by now was written while it ran."""
        self._hear(0, is_crossed=True)
        self._hear()

    def _hear(self, timeout_s: float = PATIENCE_S, *, is_crossed: bool = False) -> None:
        """Waits for the answer to what was sent."""
        answer = None if self._under_way is None else self._other.answer(timeout_s)
        if answer is None or self._under_way is None:
            assert timeout_s < PATIENCE_S or self._under_way is None, "the other does not answer"
            return
        if answer.refused is None:
            self._elsewhere.append(self._under_way)
            self.counts["written"] += 1
            self.counts["crossed"] += is_crossed
        self._under_way = None

    # --- what must have come of it

    def _records(self) -> dict[str, Record]:
        found = self._memory.list(include=INCLUDES, limit=1_000)
        return {one.id: one for one in found if isinstance(one, Record)}

    def _look(self) -> Before:
        return Before(self._records(), self._files())

    def _files(self) -> dict[str, str]:
        found = sorted(self._folder.glob("*.md"))
        return {path.stem: path.read_text() for path in found if path.name != "index.md"}

    def _known(self, name: str, text: str) -> Iterator[tuple[str, Entry, Entry]]:
        """The entries of a file, each with what was rendered."""
        base = self._base.get(name, {})
        for entry in _parsed(name, text).page.entries:
            if entry.id in base and not entry.is_session and entry.text:
                yield entry.id, entry, base[entry.id]

    def _judge(self, before: Before, shown: list[str] | None) -> None:
        """What a sync did with each entry; nothing has to be shown by one that was killed."""
        self.counts["syncs"] += shown is not None
        after, seen = self._records(), dict[str, tuple[Entry, Entry]]()
        for name, text in before.files.items():
            seen |= {id: (entry, base) for id, entry, base in self._known(name, text)}
        for id, old in before.records.items():
            entry, base = seen.get(id, (None, None))
            steps = [old] if old.seq == after[id].seq else self._steps(id, old, entry, base)
            if shown is not None and entry is not None and base is not None:
                self._settled(entry, base, steps, after[id], is_shown=id in shown)
        self._rendered(before)

    def _steps(self, id: str, old: Record, entry: Entry | None, base: Entry | None) -> list[Record]:
        """The record in all its states since; each step of the sync must be one it may take."""
        steps = [old]
        for version in self._memory.history(id):
            if version.seq > old.seq:
                if version.note != ELSEWHERE:
                    self._may(version, steps[-1], entry, base)
                steps.append(version.record)
        return steps

    def _may(self, version: Version, last: Record, entry: Entry | None, base: Entry | None) -> None:
        now = version.record
        if entry is None or base is None:
            if (now.text, now.status) != (last.text, last.status):
                self.wrong.append(f"{now.id} was changed without a page")
            return
        if now.text != last.text:
            if now.text != entry.text:
                self.wrong.append(f"{now.id} was changed without an edit")
            elif (last.text, last.status) != (base.text, "active"):
                self.wrong.append(f"{now.id} was overwritten: {last.text!r}")
            self.counts["applied"] += 1
        if version.what == "forgotten" and last.status == "active":
            if not entry.struck or base.struck:
                self.wrong.append(f"{now.id} was forgotten without an edit")
            elif last.text not in (base.text, entry.text):
                self.wrong.append(f"{now.id} was forgotten as: {last.text!r}")

    def _settled(
        self, entry: Entry, base: Entry, steps: list[Record], now: Record, *, is_shown: bool
    ) -> None:
        """What a sync that came to its end must have done with one entry."""
        said = [base.text, *(step.text for step in steps)]
        is_struck = entry.struck and not base.struck and now.status == "active"
        if entry.text not in said or is_struck:
            if (now.text, now.status) == (base.text, "active"):
                self.wrong.append(f"{now.id} was not changed to {entry.text!r}")
            self.counts["both changed"] += 1
            if not is_shown:
                self.wrong.append(f"{now.id}: a conflict that was not shown")

    def _rendered(self, before: Before) -> None:
        """What a sync wrote, or what is as it would write it, is what a person edits next."""
        for name, text in self._files().items():
            entries = _entries(name, text)
            last = before.files.get(name)
            if name in self._late:
                last, self._base[name] = self._late[name]
            is_written = text != last
            if is_written or (entries != self._base.get(name) and text == self._page(name)):
                self._base[name] = entries
        self._late.clear()

    def _page(self, name: str) -> str | None:
        try:
            return self._memory.pages.read(name)
        except NotFound:
            return None

    def _lost(self) -> None:
        """Everything that was written must be in the ledger; of hand edits, or on a page."""
        now = self._records()
        versions = [one for id in now for one in self._memory.history(id)]
        texts = "\n".join(one.record.text for one in versions)
        kept = texts + "".join(path.read_text() for path in self._folder.glob("*.md"))
        self.wrong += [f"{word} is lost" for word in self._by_hand if word not in kept]
        for write in self._elsewhere:
            if not any(_is_done(write, one) for one in versions):
                self.wrong.append(f"lost from another process: {write}")
        active = [one.text for one in now.values() if one.status == "active"]
        new = [text for text in active if text.startswith("New ")]
        self.wrong += [f"{text} is there twice" for text in new if new.count(text) > 1]
        check = self._memory.admin.verify()
        self.wrong += [] if check.ok else [f"the ledger: {check.problem}"]


def _entries(name: str, text: str) -> dict[str, Entry]:
    """The entries of a page that have an id."""
    entries = _parsed(name, text).page.entries
    return {entry.id: entry for entry in entries if entry.id is not None}


def _expect_nothing(memory: Memory) -> None:
    """Takes away what guards a record that changed between comparing and applying."""
    handle = handle_of(memory)
    write = handle.write

    def unguarded(
        made: tuple[Act, ...],
        answer: Callable[[Reads, Outcome], object],
        key: str | None = None,
        expect: Expect | None = None,
    ) -> object:
        return write(made, answer, key, None)

    handle.write = unguarded  # type: ignore[method-assign, assignment]


def _is_done(write: Write, version: Version) -> bool:
    """True if a version shows what was acknowledged to the other process."""
    if write.way in ("revise", "add"):
        return version.record.text == f"Memory {write.word}."
    if version.record.id != write.id:
        return False
    if write.way == "tag":
        return write.word in version.record.tags
    return version.what == "forgotten"
