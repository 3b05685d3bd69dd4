"""Pages under random, hostile and unlucky conditions. Each test says in a line what it counted."""

from __future__ import annotations

import difflib
import random
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.lifecycle.commands import EraseAll
from recollect.memory.handle.answers import nothing
from recollect.memory.handle.handle import Handle, handle_of
from recollect.mirror import gather as gathering
from recollect.mirror import words
from recollect.mirror.diff import diff
from recollect.mirror.gather import Material, gather
from recollect.mirror.parse import parse
from recollect.mirror.render import render
from recollect.store.files import erased_bodies
from tests.memory_suites.pages.pages import holding
from tests.mirror.making import records
from tests.mirror.test_pages import BEGAN, mutated
from tests.suites.conftest import Tell
from tests.suites.rendering import Unsynced

DEVICES = ("con", "nul", "aux", "prn", "com1", "lpt9", "CON.txt")
PARTS = (
    "../", "..", "/etc/passwd", "\\\\server\\share", "C:\\", "~root", "\x00", "\x1b[2J", "\r\n",
    "\u202e", "\u2066", "\u200b", "\ufeff", "а", "a", "A", "É", "e\u0301", "K", "ﬀ", "İ", "ß",
    ".", "-", "--help", ".git", ".pages", ".md", "index", "unfiled", "%2e%2e%2f", "．．／", "․․",
    "$(id)", "`id`", "|", "*", "?", '"', "<", ">", ":", " ", "x" * 120, "東" * 60, "😀", "user-",
    *DEVICES,
)  # fmt: skip
RESERVED = re.compile(r"(con|nul|aux|prn|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def hostile(chance: random.Random) -> str:
    """A name that leads somewhere else, if it is let."""
    return "".join(chance.choices(PARTS, k=chance.randint(1, 4)))


def unsafe(names: list[str]) -> list[str]:
    """File names that are not safe everywhere, or the same on a file system that folds them."""
    folded = [unicodedata.normalize("NFKC", name.casefold()) for name in names]
    return [
        name
        for name, fold in zip(names, folded, strict=True)
        if folded.count(fold) > 1
        or len(name.encode()) > 255
        or name[0] in ".-~"
        or RESERVED.fullmatch(name.removesuffix(".md"))
        or re.search(r'[/\\:*?"<>|\x00-\x1f\x7f]|\.\.|[. ]\.md$', name)
        or any(unicodedata.category(letter)[0] == "C" for letter in name)
    ]


def escapes(folder: Path, count: int) -> tuple[int, list[str]]:
    """Renders pages of hostile names over planted links; how many, and what went wrong."""
    chance = random.Random(5)
    outside, pages = folder / "outside", folder / "in" / "pages"
    outside.mkdir()
    pages.mkdir(parents=True)
    (outside / "file").write_text("keep")
    names = set[str]()
    while len(names) < count:
        names.add(hostile(chance))
    with Memory.open(":memory:") as opened:
        memory = Memory(Handle(handle_of(opened).space, Unsynced(1)))
        for name in sorted(names):
            try:
                memory.remember(f"About {len(name)}.", about=name)
            except InvalidInput:  # a control character, or too long: refused before any page
                continue
        listed = [page.name for page in memory.pages.list()]
        for name in chance.sample(listed, len(listed) // 10):
            try:
                (pages / f"{name}.md").symlink_to(outside / "file")
            except (OSError, ValueError):
                continue
        memory.pages.render(pages, overwrite=True)
        wrong = unsafe([f"{name}.md" for name in listed])
        for name in chance.sample(listed, 50):
            found = memory.pages.read(name).encode()
            path = pages / f"{name}.md"
            is_planted = path.is_symlink()  # left as it is, and named in the answer
            wrong += [] if is_planted or path.read_bytes() == found else [name]
    everything = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    inside = {"in", "in/pages", "outside", "outside/file", "in/pages/.pages.json"}
    inside |= {f"in/pages/{name}.md" for name in (*listed, "index")}
    wrong += sorted(everything - inside)
    if (outside / "file").read_text() != "keep":
        wrong.append("outside/file")
    return len(names), wrong


def test_hostile_names_lead_nowhere(tmp_path: Path, tell: Tell) -> None:
    count, wrong = escapes(tmp_path, 2_000)
    tell(f"pages: {count:,} hostile names over planted links: {len(wrong)} escapes")
    assert wrong == []


def test_names_that_are_taken_as_they_come_are_caught() -> None:
    """Only looked at: written, they would lead out of the folder."""
    chance = random.Random(5)
    names = [f"topic-{hostile(chance)}.md" for _ in range(500)]
    assert len(unsafe(names)) > 250
    assert unsafe(["topic-a.md", "topic-A.md", "topic-b.md"]) == ["topic-a.md", "topic-A.md"]


def came_back(count: int) -> tuple[int, int, int]:
    """Random records as pages, read again: how many, and how many were changed or forged."""
    chance, changed, forged = random.Random(count), 0, 0
    for _ in range(count // 1_000):
        rows = records(chance, 1_000)
        ids = {row.id for row in rows}
        for one in gather(Material(rows, {}, (), BEGAN)):
            text = render(one.page)
            reading = parse(one.page.name, text)
            changed += len(diff(one.page, reading.page)) + len(reading.problems)
            changed += render(reading.page) != text
            entries = [entry for entry in reading.page.entries if not entry.is_session]
            forged += sum(entry.id not in ids for entry in entries)
            ids -= {entry.id for entry in entries if entry.id is not None}
        changed += len(ids)
    return count, changed, forged


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_random_records_come_back_from_their_pages(count: int, tell: Tell) -> None:
    count, changed, forged = came_back(count)
    tell(f"pages: {count:,} random records read back: {changed} changed, {forged} forged")
    assert (changed, forged) == (0, 0)


def test_pages_without_guards_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_guarded", lambda line, above, fences: line)
    _, changed, forged = came_back(1_000)
    assert changed > 0
    assert forged > 0


def misread(count: int) -> list[str]:
    """Mutated pages that were not read as they stand."""
    chance, wrong = random.Random(count), list[str]()
    rows = records(chance, 300)
    texts = [render(one.page) for one in gather(Material(rows, {}, (), BEGAN))]
    for _ in range(count):
        text = mutated(chance, chance.choice(texts))
        reading = parse("topic-x", text)
        begins = len(re.findall(r"^## \[", text, re.MULTILINE))
        again = parse("topic-x", render(reading.page))
        if (
            reading.head + "".join(reading.parts) != text
            or len(reading.page.entries) > begins
            or any(not part.startswith("## [") for part in reading.parts)
            or again.page.entries != reading.page.entries
        ):
            wrong.append(text)
    return wrong


@pytest.mark.parametrize("count", [3_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_mutated_pages_are_read_as_they_stand(count: int, tell: Tell) -> None:
    wrong = misread(count)
    tell(f"pages: {count:,} mutated pages: {len(wrong)} crashed, lost something or forged an entry")
    assert wrong == []


def test_a_reader_that_takes_more_for_entries_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "text_of", lambda body, **_: body.replace("\\", ""))
    assert misread(200) != []


def left_behind(folder: Path, count: int, chance: random.Random) -> tuple[int, int]:
    """Erases canaries from a memory with pages; how many, and in how many files one is left."""
    left = 0
    memory = Memory.open(folder, embedder="none")
    for number in range(count):
        word = f"canary{chance.randrange(10**9):09d}"
        about = chance.choice((word, f"person:{word}", "alice", None))
        tags = [word] if chance.random() < 0.5 else []
        record = memory.scoped(session=chance.choice((None, "s"))).remember(
            f"The word is {word}.", about=about, tags=tags, key=chance.choice((None, "k"))
        )
        other = memory.remember(f"Number {number}.", about=chance.choice(("alice", "bob", None)))
        memory.graph.link(other.id, record.id, "related")
        memory.pages.sync()  # an earlier page that a person changed is taken over
        assert holding(Path(memory.where) / "pages", word) != []  # the canary sings
        if chance.random() < 0.3:  # a person's file, which is never overwritten
            page = chance.choice(holding(Path(memory.where) / "pages", word))
            Path(page).write_text(Path(page).read_text() + "\nMine.\n")
            memory.pages.render()
        if chance.random() < 0.3:  # stopped right after the event was written
            handle_of(memory).write((EraseAll(ids=(record.id,)),), nothing)
            memory.close()
            memory = Memory.open(folder, embedder="none")
            memory.recall("anything")
        else:
            memory.erase(record.id)
        left += len(holding(folder, word))
        memory.pages.render()
        left += len(holding(folder, word))
    memory.close()
    return count, left


@pytest.mark.parametrize("count", [12, pytest.param(300, marks=pytest.mark.nightly)])
def test_erased_canaries_are_on_no_page(tmp_path: Path, count: int, tell: Tell) -> None:
    count, left = left_behind(tmp_path, count, random.Random(count))
    tell(f"pages: {count} erased canaries: {left} left in pages and state files")
    assert left == 0


def test_an_erasure_that_leaves_pages_alone_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erased_bodies, "erase_pages", lambda *_: [])
    assert left_behind(tmp_path, 4, random.Random(1))[1] > 0


OWN = re.compile(r"(updated|position|entry_count|created): ")


def too_much(memory: Memory, chance: random.Random, changes: int) -> list[str]:
    """Lines that a change of one record altered on pages, but should not have."""
    ids = [memory.remember(f"Number {n}.", about=f"topic {n % 3}").id for n in range(60)]
    wrong = list[str]()
    for number in range(changes):
        before = {page.name: memory.pages.read(page.name) for page in memory.pages.list()}
        id, text = chance.choice(ids), f"Changed {number}."
        acts: tuple[Callable[[], object], ...] = (
            lambda id=id, text=text: memory.revise(id, text),  # type: ignore[misc]  # bound now
            lambda text=text: ids.append(memory.remember(text, about="topic 1").id),  # type: ignore[misc]
            lambda id=id, number=number: memory.revise(id, tags=[f"t{number}"]),  # type: ignore[misc]
        )
        chance.choice(acts)()
        for name, old in before.items():
            lines = difflib.unified_diff(old.split("\n"), memory.pages.read(name).split("\n"), n=0)
            changed = [
                line[1:] for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")
            ]
            body = [line for line in changed if line and not OWN.match(line)]
            wrong += body if len(body) > 2 else []
    return wrong


def test_one_change_changes_its_lines_alone(tell: Tell) -> None:
    with Memory.open(":memory:") as memory:
        wrong = too_much(memory, random.Random(3), 60)
    tell(f"pages: 60 changes of one record: {len(wrong)} other lines changed")
    assert wrong == []


def test_pages_in_another_order_each_time_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, entry = random.Random(1), gathering._entry

    def shuffled(*args: object) -> object:
        made = entry(*args)  # type: ignore[arg-type]  # as they came
        return made._replace(tags=tuple(chance.sample(("a", "b", "c"), 3)))

    monkeypatch.setattr(gathering, "_entry", shuffled)
    with Memory.open(":memory:") as memory:
        assert too_much(memory, random.Random(3), 3) != []
