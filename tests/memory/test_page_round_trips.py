"""Random folders of pages, written by one memory and taken in by another: nothing is lost."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from recollect import Memory
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.handle import Handle, handle_of
from recollect.mirror.page import Page
from recollect.mirror.parse import parse
from recollect.model.validate import Json
from recollect.model.values import Imported, Synced
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.seams import FixedSeam

SEEDS: Final = [
    pytest.param(seed, marks=[] if seed < 10 else pytest.mark.nightly) for seed in range(200)
]
PLACES: Final = (
    "user", "user-preferences", "project:Apollo", "person:Zoë", "tool-make", "topic:C++", None,
    "event-2026-04-22",
)  # fmt: skip
TEXTS: Final = (
    "Plain words.",
    "Two lines,\nand the second.",
    "Two paragraphs.\n\nThe second one.",
    "## [2026-01-01T00:00:00] {id: 20260101-0000-aaaaaa} #work\nUser owes Eve.",
    "~~Already struck.~~",
    "~~half~~ of it",
    "It ends so:\n<!-- supersedes: 20260101-0000-aaaaaa; reason: no -->",
    "It ends so:\n#superseded-by:20260101-0000-aaaaaa",
    "```\na fence\n```",
    "```\nan open fence",
    "<script>alert(1)</script>",
    "A title\n===",
    "---\nstatus: archived\n---",
    "\\~~ escaped \\\\~~",
    "日本語 · ä · 🦉",
    "   leading spaces",
)
TAGS: Final = ("work", "c++", "two words", "#hash", "100%", "日本", "superseded-by:x", "a/b")
FIELDS: Final = (
    "title", "description", "tags", "status", "created", "needs_compact", "other", "prose",
)  # fmt: skip


class Writer:
    """A memory that writes pages."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        clock = FixedSeam(start="2026-05-01T00:00:00.000000Z", step_us=self._step())
        clock.tz_minutes = lambda: self.chance.choice((0, 120, -300, 330))  # type: ignore[method-assign]
        self.memory = Memory(Handle(MemorySpace("main", clock), clock))
        self.ids = list[str]()

    def _step(self) -> int:
        return self.chance.choice((1, 1_000, 1_000_000, 3_600_000_000))

    def fill(self) -> None:
        for number in range(self.chance.randint(1, 30)):
            self.chance.choices(
                (self.remember, self.supersede, self.strike, self.describe), (8, 2, 1, 1)
            )[0](number)

    def remember(self, number: int) -> None:
        said = self.chance.choice((None, None, "2020-02-29T12:30:15Z", "2026-04-30T23:59:59Z"))
        made = self.memory.remember(
            f"{self.chance.choice(TEXTS)} {number}",
            about=self.chance.choice(PLACES),
            tags=self.chance.sample(TAGS, self.chance.randint(0, 3)),
            said_at=said,
            id=self.chance.choice((None, None, f"own.{number}", f"e-{number}")),
        )
        self.ids.append(made.id)

    def supersede(self, number: int) -> None:
        if self.ids:
            old = self.ids.pop(self.chance.randrange(len(self.ids)))
            new = self.memory.remember(f"{self.chance.choice(TEXTS)} {number}", replaces=old)
            self.ids.append(new.id)

    def strike(self, number: int) -> None:
        if self.ids:
            old = self.ids.pop(self.chance.randrange(len(self.ids)))
            self.memory.events.submit(Acts(handle_of(self.memory).seam).strike(old, None))

    def describe(self, number: int) -> None:
        data: dict[str, Json] = {
            "title": "A title: of [its] own",
            "description": self.chance.choice(("One line", "With: a colon", "'quoted'", "a # b")),
            "tags": list(self.chance.sample(TAGS, 2)),
            "status": self.chance.choice(("active", "dormant", "archived")),
            "needs_compact": self.chance.random() < 0.3,
            "created": "2019-03-04T05:06:07+08:00",
            "other": ["aliases: [one, two]", "cssclass: wide"],
            "prose": self.chance.choice(TEXTS),
        }
        kept = self.chance.sample(sorted(data), self.chance.randint(1, len(data)))
        name = self.chance.choice(("user-profile", "project-apollo", "tool-make", "topic-rust"))
        self.memory.settings.documents.set("page", name, {key: data[key] for key in kept})


@pytest.fixture
def reader() -> Iterator[Memory]:
    clock = FixedSeam(start="2026-06-01T00:00:00.000000Z", step_us=1_000_000)
    clock.tz_minutes = lambda: 540  # type: ignore[method-assign]
    with Memory(Handle(MemorySpace("main", clock), clock)) as memory:
        yield memory


def pages_of(memory: Memory) -> dict[str, Page]:
    """What every page says."""
    names = (page.name for page in memory.pages.list())
    return {name: parse(name, memory.pages.read(name)).page for name in names}


def differences(before: dict[str, Page], after: dict[str, Page]) -> Iterator[tuple[str, str]]:
    """Each thing that is not as it was: the page and the entry or the field."""
    for name, page in before.items():
        other = after.get(name, Page(name))
        there = {entry.id: entry for entry in other.entries}
        assert len(there) == len(other.entries)
        for entry in page.entries:
            if there.get(entry.id) != entry:
                yield name, str(entry.id)
        if [one.id for one in page.entries] != [one.id for one in other.entries]:
            yield name, "order"
        for field in FIELDS:
            if getattr(page, field) != getattr(other, field):
                yield name, field


def lines_of(done: Synced | Imported) -> list[str]:
    """The report, in words."""
    if isinstance(done, Imported):
        return [f"{one.where}: {one.why}" for one in done.problems]
    refused = [f"{one.change.ref}: {one.reason}" for one in done.refused]
    return [*refused, *(f"{one.file}: {one.message}" for one in done.problems)]


@pytest.mark.parametrize("way", ["adopt", "import", "both", "both, the other way round"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_goes_out_comes_in(seed: int, way: str, reader: Memory, tmp_path: Path) -> None:
    # S3-175 S3-195: ids, texts, tags, dates and strokes, or a line in the report
    writer = Writer(seed)
    writer.fill()
    folder = Path(writer.memory.pages.render(tmp_path / "out").folder)
    before, said = pages_of(writer.memory), list[str]()
    for one in {"adopt": "a", "import": "i", "both": "ai"}.get(way, "ia"):
        if one == "a":
            shutil.copytree(folder, tmp_path / "in", dirs_exist_ok=True)
            said += lines_of(reader.pages.sync(tmp_path / "in", unknown="adopt"))
        else:
            said += lines_of(reader.admin.import_(folder))
    lost = list(differences(before, pages_of(reader)))
    untold = [one for one in lost if not any(one[0] in line and one[1] in line for line in said)]
    assert untold == [], said
    writer.memory.close()


def test_the_comparison_sees_what_is_lost() -> None:
    """The control: nothing that was taken in is the same, and one changed entry is named."""
    writer = Writer(3)
    writer.fill()
    before = pages_of(writer.memory)
    entries = [(name, one.id) for name, page in before.items() for one in page.entries]
    assert len(entries) > 5
    assert set(entries) <= set(differences(before, {}))
    name, page = next((name, page) for name, page in before.items() if page.entries)
    other = page._replace(entries=(page.entries[0]._replace(at="x"), *page.entries[1:]))
    assert list(differences(before, before | {name: other})) == [(name, page.entries[0].id)]
    assert list(differences(before, dict(before))) == []
    writer.memory.close()
