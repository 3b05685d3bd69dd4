"""Dates, deletions and strokes that a person makes on a page, and what becomes of each."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import Forbidden
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.handle import Handle
from recollect.model.values import Record
from recollect.store.indexed.backend import MemorySpace
from recollect.store.seam import REAL
from recollect.testing.seams import FixedSeam


@pytest.fixture
def memory() -> Iterator[Memory]:
    clock = FixedSeam(start="2026-06-01T00:00:00.000000Z", step_us=1_000_000)
    clock.tz_minutes = lambda: 120  # type: ignore[method-assign]
    with Memory(Handle(MemorySpace("main", clock), clock)) as memory:
        yield memory


@pytest.fixture
def alice(memory: Memory) -> Record:
    return memory.remember("Alice sits in row 3.", about="person:Alice", tags=["office"])


@pytest.fixture
def folder(memory: Memory, alice: Record, tmp_path: Path) -> Path:
    memory.remember("Bob plays chess.", about="person:Bob")
    return Path(memory.pages.render(tmp_path / "pages").folder)


def edit(page: Path, old: str, new: str) -> None:
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new))


def dates(page: Path) -> list[str]:
    return re.findall(r"^## \[(.*?)\]", page.read_text(), re.MULTILINE)


# Dates.


@pytest.mark.parametrize(
    ("given", "shown", "said_at"),
    [
        ("2026-04-22T10:00:00", "2026-04-22T10:00:00", "2026-04-22T08:00:00.000000Z"),
        ("2026-04-22T10:00", "2026-04-22T10:00:00", "2026-04-22T08:00:00.000000Z"),
        ("2026-04-22", "2026-04-22T00:00:00", "2026-04-21T22:00:00.000000Z"),
        ("2026-04-22T10:00:00+05:00", "2026-04-22T07:00:00", "2026-04-22T05:00:00.000000Z"),
    ],
)
def test_the_date_of_a_new_entry_holds(
    memory: Memory, folder: Path, given: str, shown: str, said_at: str
) -> None:
    # S3-221: and the page is in the order in which things were said
    page = folder / "person-alice.md"
    page.write_text(f"{page.read_text()}\n## [{given}] #friend\n\nAlice lives in Lyon.\n")
    done = memory.pages.sync(folder)
    assert [(one.what, one.said_at is not None) for one in done.applied] == [("added", True)]
    assert done.problems == ()
    (new,) = [one for one in memory.list() if "Lyon" in one.text]
    assert new.said_at == said_at
    assert dates(page)[0] == shown
    assert memory.pages.changes(folder).changes == ()


@pytest.mark.parametrize("word", ["today", "now", "Today", ""])
def test_a_word_for_now_needs_no_remark(memory: Memory, folder: Path, word: str) -> None:
    page = folder / "person-alice.md"
    page.write_text(f"{page.read_text()}\n## [{word}]\nAlice lives in Lyon.\n")
    assert memory.pages.sync(folder).problems == ()


def test_a_date_that_cannot_be_read_is_told(memory: Memory, folder: Path, alice: Record) -> None:
    page = folder / "person-alice.md"
    first = dates(page)[0]
    edit(page, first, "22.4.2026")
    page.write_text(f"{page.read_text()}\n## [last Monday]\nAlice lives in Lyon.\n")
    done = memory.pages.sync(folder)
    assert [(one.line, one.keeps) for one in done.problems] == [(16, False), (19, False)]
    assert "'22.4.2026' is not one" in done.problems[0].message
    assert "'last Monday' is not a date" in done.problems[1].message
    assert dates(page)[0] == first
    assert len(dates(page)) == 2


def test_a_changed_date_is_taken_over(memory: Memory, folder: Path, alice: Record) -> None:
    page = folder / "person-alice.md"
    before = dates(page)[0]
    edit(page, before, "2026-04-22T10:00:00")
    (change,) = memory.pages.changes(folder).changes
    assert (change.what, change.before, change.after, change.state) == (
        "dated", before, "2026-04-22T10:00:00", "ready",
    )  # fmt: skip
    done = memory.pages.sync(folder)
    assert len(done.applied) == 1
    assert memory.get(alice.id).said_at == "2026-04-22T08:00:00.000000Z"
    assert memory.get(alice.id).text == alice.text
    assert dates(page) == ["2026-04-22T10:00:00"]
    assert memory.pages.sync(folder).applied == ()  # asked twice


def test_a_date_and_a_text_are_one_change(memory: Memory, folder: Path, alice: Record) -> None:
    page = folder / "person-alice.md"
    edit(page, dates(page)[0], "2026-04-22")
    edit(page, "row 3", "row 4")
    assert {one.what for one in memory.pages.sync(folder).applied} == {"dated", "text"}
    now = memory.get(alice.id)
    assert (now.text, now.said_at) == ("Alice sits in row 4.", "2026-04-21T22:00:00.000000Z")
    assert len(memory.history(alice.id)) == 2


def test_a_shorter_form_of_the_same_date_is_no_change(memory: Memory, folder: Path) -> None:
    page = folder / "person-alice.md"
    before = dates(page)[0]
    edit(page, before, before[:10])
    assert memory.pages.changes(folder).changes == ()


def test_a_date_that_both_changed_is_a_conflict(memory: Memory, folder: Path) -> None:
    page = folder / "person-alice.md"
    old = page.read_text()
    edit(page, dates(page)[0], "2026-04-22T10:00:00")
    memory.pages.sync(folder)
    page.write_text(re.sub(r"^## \[.*?\]", "## [2025-01-01]", old, flags=re.MULTILINE))
    (change,) = memory.pages.sync(folder).conflicts
    assert (change.what, change.now) == ("dated", "2026-04-22T10:00:00")
    assert len(memory.pages.sync(folder, take={change.ref: "page"}).applied) == 1
    assert dates(page) == ["2025-01-01T00:00:00"]


def test_an_agent_does_not_change_when_a_person_said_it(
    memory: Memory, folder: Path, alice: Record
) -> None:
    page = folder / "person-alice.md"
    edit(page, dates(page)[0], "2026-04-22T10:00:00")
    agent = memory.scoped(trust="agent")
    (refusal,) = agent.pages.sync(folder).refused
    assert "may not change it" in refusal.reason
    assert dates(page) == ["2026-04-22T10:00:00"]  # it waits for a person
    (left,) = memory.pages.sync(folder, propose=True).refused
    assert "recollect pages sync" in left.reason
    assert memory.review.list() == []


def test_created_is_no_edit_and_is_told(memory: Memory, folder: Path) -> None:  # S3-195
    page = folder / "person-alice.md"
    before = page.read_text()
    edit(page, "created: 2026", "created: 2020")
    done = memory.pages.sync(folder)
    assert "created stays 2026-06-01T" in done.problems[0].message
    assert page.read_text() == before


# What is struck through.


def test_what_is_struck_stays_on_the_page(memory: Memory, folder: Path, alice: Record) -> None:
    # S3-175 S3-176
    page = folder / "person-alice.md"
    new = memory.remember("Alice sits in row 5.", replaces=alice.id)
    memory.pages.render(folder)
    edit(page, "\nAlice sits in row 5.", "\n~~Alice sits in row 5.~~")
    before = page.read_text()
    assert [one.what for one in memory.pages.sync(folder).applied] == ["struck"]
    assert page.read_text().split("---\n")[2] == before.split("---\n")[2]
    assert f"#superseded-by:{new.id}" in page.read_text()  # its successor is still there
    assert memory.recall("row").hits == ()
    assert memory.pages.render(folder).edited == ()
    edit(page, "~~Alice sits in row 5.~~", "Alice sits in row 5.")
    assert [one.what for one in memory.pages.sync(folder).applied] == ["unstruck"]
    assert memory.get(new.id).text == "Alice sits in row 5."


def test_a_stroke_with_less_trust_waits_for_a_person(
    memory: Memory, folder: Path, alice: Record
) -> None:
    page = folder / "person-alice.md"
    edit(page, "\nAlice sits in row 3.", "\n~~Alice sits in row 3.~~")
    agent = memory.scoped(trust="agent")
    done = agent.pages.sync(folder)
    assert ([one.what for one in done.waiting], done.applied) == (["struck"], ())
    assert memory.get(alice.id) == alice
    (waiting,) = memory.review.list()
    memory.review.approve(waiting.id, waiting.digest)
    memory.pages.sync(folder)
    assert "~~Alice sits in row 3.~~" in page.read_text()
    assert memory.get(alice.id, include=["archived"]).status == "archived"


def test_archiving_for_another_reason_is_not_proposed(memory: Memory, alice: Record) -> None:
    strike = Acts(REAL).strike(alice.id, None, files=True)
    agent = memory.scoped(trust="agent")
    for why in ("decayed", "merged"):
        with pytest.raises(Forbidden, match="may not change it"):
            agent.events.submit(type(strike)(id=alice.id, why=why, stamp="x", chance="00" * 16))
    assert memory.review.list() == []


# What is deleted.


def test_a_deleted_entry_is_told_and_comes_back(
    memory: Memory, folder: Path, alice: Record
) -> None:
    memory.remember("Alice likes tea.", about="person:Alice")
    memory.pages.render(folder)
    page = folder / "person-alice.md"
    before = page.read_text()
    page.write_text(before[: before.index("\n## [", before.index("row 3"))])
    (problem,) = memory.pages.changes(folder).problems
    assert problem.message.startswith("1 entry was deleted here; it is written again unless")
    assert (problem.keeps, len(problem.deleted)) == (False, 1)
    done = memory.pages.sync(folder)
    assert (done.problems, done.applied) == ((problem,), ())
    assert page.read_text() == before
    assert memory.pages.sync(folder).problems == ()


def test_what_is_forgotten_before_the_sync_stays_away(
    memory: Memory, folder: Path, alice: Record
) -> None:
    (folder / "person-alice.md").unlink()
    (problem,) = memory.pages.changes(folder).problems
    assert "the file was deleted, with 1 entry" in problem.message
    assert problem.deleted == (alice.id,)
    for id in problem.deleted:
        memory.forget(id)
    done = memory.pages.sync(folder)
    assert (done.problems, done.rendered.restored) == ((), ())
    assert not (folder / "person-alice.md").exists()


@pytest.mark.parametrize("left", ["", "\n \n"])
def test_an_emptied_file_is_a_deleted_one(memory: Memory, folder: Path, left: str) -> None:
    (folder / "person-alice.md").write_text(left)
    (problem,) = memory.pages.sync(folder).problems
    assert "1 entry was deleted here" in problem.message
    assert "row 3" in (folder / "person-alice.md").read_text()


def test_a_rendering_names_the_files_that_it_writes_again(memory: Memory, folder: Path) -> None:
    (folder / "person-alice.md").unlink()
    (folder / "index.md").unlink()
    done = memory.pages.render(folder)
    assert (done.restored, len(done.written)) == (("person-alice.md",), 2)
    assert memory.pages.render(folder).restored == ()


def test_what_was_moved_or_never_there_is_not_deleted(
    memory: Memory, folder: Path, alice: Record, tmp_path: Path
) -> None:
    # renamed
    (folder / "person-bob.md").rename(folder / "person-rob.md")
    assert memory.pages.sync(folder).problems == ()
    # moved to another page
    text = (folder / "person-alice.md").read_text()
    cut = text.index("\n## [")
    (folder / "person-alice.md").write_text(text[:cut])
    page = folder / "person-rob.md"
    page.write_text(page.read_text() + text[cut:])
    done = memory.pages.sync(folder)
    assert (done.problems, {one.what for one in done.applied}) == ((), {"moved"})
    # newer than the page
    old = page.read_text()
    memory.remember("Rob likes tea.", about="person-rob")
    page.write_text(old.replace("Bob plays chess.", "Bob plays go."))
    assert memory.pages.sync(folder).problems == ()
    # in a clone, whose notes are not there
    other = tmp_path / "clone"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns(".pages.json", "person-rob.md"))
    assert memory.pages.sync(other).problems == ()
    # erased
    gone = memory.remember("Carol was here.", about="person:Carol")
    memory.pages.render(folder)
    memory.erase(gone.id)
    assert memory.pages.sync(folder).problems == ()
