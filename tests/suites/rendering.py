"""Random acts on a memory, and its pages after every few: from the last rendering and from nothing.

Both must be the same in every byte, and in what is noted of each page. Now and then files are
removed or changed by hand between two renderings.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from recollect import Memory, Record
from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound, Unsupported
from recollect.memory.handle.handle import Handle, handle_of
from recollect.model.validate import Json
from recollect.store.pages.page_notes import Noted, read_notes
from tests.suites.histories import Clockwork

ABOUT = (
    None, None, "Alice", "alice", "person:Bob", "org:Acme", "org_acme", "user", "user-preferences",
    "C++", "C#", "東京", "event-2026-09-22", "tool:git",
)  # fmt: skip
KEYS = tuple(f"k{number}" for number in range(6))
HOURS_US = 3_600_000_000


class Unsynced(Clockwork):
    """Nothing is lost here if the power fails, so nothing waits for the disk."""

    def fsync(self, fd: int) -> None:
        pass


class Acts:
    """Does one thing at a time, on a memory that moves through several days."""

    def __init__(self, memory: Memory, seam: Clockwork, chance: random.Random) -> None:
        self.memory, self.seam, self.chance = memory, seam, chance
        self.ids: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.done = Counter[str]()
        self._acts: list[tuple[int, Callable[[], object]]] = [
            (14, self.remember), (6, self.keyed), (7, self.revise), (4, self.move),
            (3, self.forget), (3, self.strike), (3, self.restore), (6, self.link), (3, self.unlink),
            (5, self.describe), (2, self.flag), (1, self.drop), (2, self.tag), (2, self.undo),
            (1, self.retract), (1, self.erase), (1, self.observe), (1, self.held),
        ]  # fmt: skip

    def act(self) -> None:
        """One act, which may be refused."""
        self.seam.tick(self.chance.randrange(9 * HOURS_US))
        (act,) = self.chance.choices(
            *zip(*((act, weight) for weight, act in self._acts), strict=True)
        )
        try:
            act()
            self.done[act.__name__] += 1
        except (Conflict, Forbidden, InvalidInput, NotFound, Unsupported):
            self.done["refused"] += 1

    def _writer(self) -> Memory:
        """Someone in one of several places, in a session or not."""
        actor = msgspec.structs.replace(
            handle_of(self.memory).actor, tz_minutes=self.chance.choice((0, 60, -600, 765))
        )
        memory = Memory(handle_of(self.memory).narrowed(actor))
        session, user = (
            self.chance.choice((None, "s1", "s2")),
            self.chance.choice((None, None, "ann")),
        )
        return memory.scoped(session=session, user=user)

    def _any(self) -> str:
        return self.chance.choice(self.ids) if self.ids else "none"

    def _text(self) -> str:
        return f"Words {self.chance.randrange(10_000)}."

    def remember(self) -> None:
        about = self.chance.choice(ABOUT)
        self.ids.append(self._writer().remember(self._text(), about=about, tags=["t"]).id)

    def keyed(self) -> None:
        about, key = self.chance.choice(ABOUT), self.chance.choice(KEYS)
        self.ids.append(self._writer().remember(self._text(), about=about, key=key).id)

    def revise(self) -> None:
        self._writer().revise(self._any(), text=self._text())

    def move(self) -> None:
        """Says the same about something else: the record moves to another page."""
        record = self.memory.get(self._any())
        assert isinstance(record, Record)
        said = self._writer().remember(record.text, about=self.chance.choice(ABOUT[2:]))
        self.done["moved"] += said.id == record.id and said.about != record.about

    def forget(self) -> None:
        self.memory.forget(self._any())

    def strike(self) -> None:
        self.memory.events.submit(handle_of(self.memory).acts.strike(self._any(), None))

    def restore(self) -> None:
        self.memory.undo(self._any())

    def link(self) -> None:
        ends = (self._any(), self._any())
        memory = (
            self.memory if self.chance.random() < 0.9 else self.memory.scoped(trust="unverified")
        )
        memory.graph.link(*ends, "related")
        self.links.append(ends)

    def unlink(self) -> None:
        self.memory.graph.unlink(*self.chance.choice(self.links or [("a", "b")]), "related")

    def describe(self) -> None:
        data: dict[str, Json] = {
            name: self._text() for name in ("title", "description") if self.chance.random() < 0.5
        }
        self.memory.settings.documents.set("page", self._page(), data)

    def flag(self) -> None:
        pages = self.memory.pages
        self.chance.choice((pages.flag, pages.flag, pages.unflag))(self._page())

    def drop(self) -> None:
        self.memory.settings.documents.drop("page", self._page(), erase=self.chance.random() < 0.3)

    def _page(self) -> str:
        return self.chance.choice(
            ("topic-alice", "person-bob", "user-profile", "unfiled", "org-acme")
        )

    def tag(self) -> None:
        self.memory.revise(self._any(), tags=[self.chance.choice(("x", "y"))])

    def undo(self) -> None:
        self.memory.undo()

    def retract(self) -> None:
        self.memory.forget(self._any(), derived=True)

    def erase(self) -> None:
        self.memory.erase(self._any())

    def observe(self) -> None:
        self.memory.observe(self._text())

    def held(self) -> None:
        self.memory.scoped(trust="unverified").remember(self._text(), about="Alice")


def spoiled(folder: Path, chance: random.Random) -> bool:
    """Something that happens to files between two renderings; True if the notes are lost."""
    found = sorted(path for path in folder.glob("*.md"))
    if not found:
        return False
    notes = folder / ".pages.json"
    path = chance.choice(found)
    match chance.randrange(12):
        case 0:
            path.unlink()
        case 1 if path.name != "index.md":
            path.write_text("Mine.")
        case 2:
            path.write_bytes(path.read_bytes())
        case 3:
            notes.unlink()
        case 4:
            notes.write_bytes(notes.read_bytes().replace(b"1", b"2", 1))
        case _:
            return False
    return read_notes(folder) is None


def differences(memory: Memory, folder: Path, fresh: Path, *, lost: bool) -> list[str]:
    """Names of files that a rendering over the last one leaves otherwise than one from nothing."""
    shutil.rmtree(fresh, ignore_errors=True)
    memory.pages.render(folder, overwrite=True)
    shutil.rmtree(folder / "aside", ignore_errors=True)  # what a person wrote, and only that
    memory.pages.render(fresh)
    if lost:  # then what is on no page any more counts as a person's
        for path in folder.glob("*.md"):
            path.unlink() if not (fresh / path.name).exists() else None
    names = {path.name for path in (*folder.iterdir(), *fresh.iterdir())} - {".pages.json"}
    noted, anew = _noted(folder), _noted(fresh)
    return sorted(
        name for name in names if _read(folder / name) != _read(fresh / name) or noted != anew
    )


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _noted(folder: Path) -> dict[str, Noted]:
    """What is noted, without what differs from file to file."""
    notes = read_notes(folder)
    assert notes is not None
    assert all(not noted.earlier for noted in notes.pages.values())
    pages = notes.pages.items()
    return {name: msgspec.structs.replace(noted, stamp=None) for name, noted in pages}


def rendered(handle: Handle, seam: Clockwork, seed: int, folder: Path, rounds: int) -> Counter[str]:
    """Acts and renders so often; what was done, with the differences that were found."""
    chance = random.Random(seed)
    acts = Acts(Memory(handle), seam, chance)
    memory, found = acts.memory, acts.done
    for _ in range(rounds):
        for _ in range(chance.randint(1, 5)):
            acts.act()
        found["renderings"] += 1
        lost, both = spoiled(folder / "last", chance), (folder / "last", folder / "fresh")
        found["different"] += bool(differences(memory, *both, lost=lost))
        if found["different"]:
            break
        pages = sorted((folder / "fresh").glob("*.md"))
        page = chance.choice(pages)
        found["read otherwise"] += memory.pages.read(page.stem).encode() != page.read_bytes()
    return found
