"""Pages that another memory or another program wrote come in with all that they say."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.exchange.items import RecordItem
from recollect.memory.exchange.imports import Importing
from recollect.memory.handle.handle import Handle, handle_of
from recollect.mirror.parse import parse
from recollect.model.values import Record
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.seams import FixedSeam

# As OpenChronicle writes a page: dates without seconds, other forms of YAML, a comment below.
THEIRS = """---
created: '2026-05-02'
description: The guidance computer, its assembler, and everything that was ever
  said about its memory
entry_count: 4
needs_compact: false
status: active
tags:
- space
- c
updated: '2026-05-03'
---

## [2026-05-02T10:00] {id: 20260502-1000-ffffff} #build
The build runs make.

## [2026-05-02T10:00] {id: 20260502-1000-aaaaaa} #disk #superseded-by:20260503-0900-bbbbbb
~~The disk holds 4 KiB.~~

## [2026-05-02T10:00] {id: 20260502-1000-000000} #old
~~It flies in June.~~

## [2026-05-03T09:00] {id: 20260503-0900-bbbbbb} #disk
The disk holds 72 KiB.
<!-- supersedes: 20260502-1000-aaaaaa; reason: a larger one -->
"""
ENTRIES = """
## [2026-05-02T10:00:00] {id: 20260502-1000-ffffff} #build
The build runs make.

## [2026-05-02T10:00:00] {id: 20260502-1000-aaaaaa} #disk #superseded-by:20260503-0900-bbbbbb
~~The disk holds 4 KiB.~~

## [2026-05-02T10:00:00] {id: 20260502-1000-000000} #old
~~It flies in June.~~

## [2026-05-03T09:00:00] {id: 20260503-0900-bbbbbb} #disk
The disk holds 72 KiB.
"""


def opened() -> Memory:
    """A memory five and a half hours ahead of UTC, later than everything on the page."""
    clock = FixedSeam(start="2026-06-01T00:00:00.000000Z", step_us=1_000_000)
    clock.tz_minutes = lambda: 330  # type: ignore[method-assign]
    return Memory(Handle(MemorySpace("main", clock), clock))


@pytest.fixture
def memory() -> Iterator[Memory]:
    with opened() as memory:
        yield memory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "theirs"
    found.mkdir()
    (found / "project-apollo.md").write_text(THEIRS)
    return found


def adopt(memory: Memory, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "adopted"
    if not mine.exists():
        shutil.copytree(folder, mine)
    done = memory.pages.sync(mine, unknown="adopt")
    assert (done.refused, done.conflicts, done.unknown) == ((), (), 0)


def bring(memory: Memory, folder: Path, tmp_path: Path) -> None:
    assert memory.admin.import_(folder).problems == ()


def said(memory: Memory) -> dict[str, tuple[object, ...]]:
    """What of each record does not depend on who took it in."""
    found = memory.list(include=["replaced", "archived"])
    return {
        one.id: (one.text, one.about, one.tags, one.said_at, one.status, one.replaced_by)
        for one in found
        if isinstance(one, Record)
    }


Way = Callable[[Memory, Path, Path], None]


@pytest.mark.parametrize("ways", [(adopt,), (bring,), (adopt, bring), (bring, adopt)])
def test_the_same_entries_come_in_whichever_way(
    memory: Memory, folder: Path, tmp_path: Path, ways: tuple[Way, ...]
) -> None:
    # S3-175 S3-195: ids, dates, tags and what was struck, once
    for _ in range(2):  # asked twice
        for way in ways:
            way(memory, folder, tmp_path)
        page = memory.pages.read("project-apollo")
        assert page.endswith(f"[Index](index.md)\n{ENTRIES}")
        assert "tags: [space, c]\nstatus: active\ncreated: 2026-05-02\n" in page
        assert "everything that was ever said about its memory\n" in page
    with opened() as other:
        bring(other, folder, tmp_path)
        assert said(memory) == said(other)
    assert memory.get("20260502-1000-ffffff").said_at == "2026-05-02T04:30:00.000000Z"
    assert memory.history("20260502-1000-aaaaaa")[-1].note == "a larger one"
    assert memory.recall("what does the disk hold?").hits[0].text == "The disk holds 72 KiB."
    assert {one.text for one in memory.list()} == {"The build runs make.", "The disk holds 72 KiB."}


def test_only_an_adoption_has_a_person_s_trust(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    bring(memory, folder, tmp_path)
    adopt(memory, folder, tmp_path)
    assert {memory.get(id).trust for id in ("20260502-1000-ffffff",)} == {"agent"}
    with opened() as other:
        adopt(other, folder, tmp_path)
        bring(other, folder, tmp_path)
        assert other.get("20260502-1000-ffffff").trust == "person"


def test_what_changed_there_is_followed(memory: Memory, folder: Path, tmp_path: Path) -> None:
    bring(memory, folder, tmp_path)
    page = folder / "project-apollo.md"
    new = """
## [2026-05-04T08:00] {id: 20260504-0800-cccccc} #build
The build runs ninja.
"""
    struck = "#build #superseded-by:20260504-0800-cccccc\n~~The build runs make.~~"
    page.write_text(THEIRS.replace("#build\nThe build runs make.", struck) + new)
    done = memory.admin.import_(folder)
    assert (done.refused, done.problems) == (0, ())
    text = memory.pages.read("project-apollo")
    assert f"{struck}\n" in text
    assert text.endswith(new.replace("08:00]", "08:00:00]"))
    assert memory.admin.import_(folder).kept == 0
    assert memory.pages.read("project-apollo") == text


def test_an_import_ends_nothing_that_another_import_brought(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    """A hostile page may name any record as the predecessor of its own."""
    importing = Importing(handle_of(memory), "mem0")
    importing.take([RecordItem(id="mem0-1", text="The disk holds 4 KiB.")])
    page = folder / "project-apollo.md"
    page.write_text(THEIRS.replace("20260502-1000-aaaaaa", "mem0-1"))
    done = memory.admin.import_(folder)
    assert memory.get("mem0-1").text == "The disk holds 4 KiB."
    assert [one.why for one in done.problems] == [
        "mem0-1 does not hold there any more; here it does"
    ]


def test_days_are_made_from_the_pages_of_their_records(memory: Memory, tmp_path: Path) -> None:
    with opened() as other:
        other.scoped(session="s").remember("It is blue.", about="project:X")
        other.pages.render(tmp_path / "theirs")
    done = memory.admin.import_(tmp_path / "theirs")
    assert (done.records, done.refused) == (1, 1)
    assert "what was learned in sessions" in done.problems[0].why
    assert done.problems[0].where.startswith("event-2026-06-01")


def test_what_a_person_adopted_and_ended_there_is_told(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    adopt(memory, folder, tmp_path)
    page = folder / "project-apollo.md"
    page.write_text(THEIRS.replace("\nThe build runs make.", "\n~~The build runs make.~~"))
    done = memory.admin.import_(folder)
    assert [one.why for one in done.problems] == [
        "20260502-1000-ffffff does not hold there any more; here it does"
    ]
    assert memory.get("20260502-1000-ffffff").text == "The build runs make."


def test_an_import_takes_no_place_of_what_it_did_not_bring(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    agent = memory.scoped(trust="agent")
    mine = agent.remember(
        "The disk holds 8 KiB.", about="project:Apollo", id="20260502-1000-aaaaaa"
    )
    done = memory.admin.import_(folder)
    assert done.refused == 1
    assert "has another text there; the one here stays" in done.problems[0].why
    assert memory.get(mine.id) == mine


def test_pages_without_entries_are_pages(memory: Memory, tmp_path: Path) -> None:
    head, _, _ = THEIRS.partition("\n## [")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "project-apollo.md").write_text(head.replace("4", "0"))
    done = memory.admin.import_(tmp_path / "theirs")
    assert (done.format, done.kept, done.records) == ("openchronicle", 1, 0)
    assert "tags: [space, c]\n" in memory.pages.read("project-apollo")


def test_what_a_page_says_here_stays(memory: Memory, folder: Path) -> None:
    agent = memory.scoped(trust="agent")
    agent.settings.documents.set("page", "project-apollo", {"description": "Mine"})
    done = memory.admin.import_(folder)
    assert [one.why for one in done.problems] == [
        "its description is another one here, which stays"
    ]
    page = memory.pages.read("project-apollo")
    assert "description: Mine\ntags: [space, c]\n" in page
    assert "created: 2026-05-02\n" in page


def test_a_page_that_a_person_described_stays(memory: Memory, folder: Path) -> None:
    memory.settings.documents.set("page", "project-apollo", {"title": "Mine"})
    assert "was set with trust 'person'" in memory.admin.import_(folder).problems[0].why
    assert "# Mine\n" in memory.pages.read("project-apollo")
    assert "\ntags: []\n" in memory.pages.read("project-apollo")


def take_away(memory: Memory, id: str, fate: str) -> None:
    if fate == "erased":
        memory.erase(id)
    else:
        memory.forget(id)


@pytest.mark.parametrize("fate", ["stays", "forgotten", "erased"])
def test_what_an_earlier_release_imported_is_not_doubled(
    memory: Memory, folder: Path, tmp_path: Path, fate: str
) -> None:
    """Earlier releases put the name of the format before each id, and before its command."""
    text, earlier = "The build runs make.", "openchronicle-20260502-1000-ffffff"
    item = RecordItem(id=earlier, text=text, about="project-apollo", how_known="imported")
    importing = Importing(handle_of(memory), "openchronicle")
    importing.take([item])
    assert importing.report("").kept == 1
    if fate != "stays":
        take_away(memory, earlier, fate)
    for _ in range(2):
        assert memory.admin.import_(folder).refused == 0
        assert [one.id for one in memory.list() if one.text == text] == (
            [earlier] if fate == "stays" else []
        )
    if fate == "stays":
        mine = tmp_path / "mine"
        shutil.copytree(folder, mine)
        (refusal,) = memory.pages.sync(mine, unknown="adopt").refused
        assert f"was imported as {earlier}" in refusal.reason
    page = folder / "project-apollo.md"
    page.write_text(page.read_text().replace("runs make", "runs ninja"))
    memory.admin.import_(folder)
    same = [one.id for one in memory.list() if one.text == "The build runs ninja."]
    assert same == ([earlier] if fate == "stays" else [])


@pytest.mark.parametrize("fate", ["forgotten", "erased"])
def test_what_was_taken_away_here_does_not_come_back(
    memory: Memory, folder: Path, fate: str
) -> None:
    memory.admin.import_(folder)
    take_away(memory, "20260502-1000-ffffff", fate)
    memory.admin.import_(folder)
    assert "The build runs make." not in [one.text for one in memory.list()]


def test_a_secret_in_an_id_is_in_no_id_here(memory: Memory, folder: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    page = folder / "project-apollo.md"
    page.write_text(THEIRS.replace("20260503-0900-bbbbbb", secret))
    done = memory.admin.import_(folder)
    assert sum(done.redacted.values()) > 0
    assert secret not in memory.pages.read("project-apollo")


def test_a_page_of_a_longer_memory_is_not_compared_with_a_past_of_this_one(
    memory: Memory, tmp_path: Path
) -> None:
    with opened() as other:
        other.remember("It is blue.", about="project:X")
        other.settings.documents.set("page", "project-x", {"description": "Theirs", "tags": ["t"]})
        other.pages.render(tmp_path / "theirs")
        theirs = other.pages.read("project-x")
    for number in range(20):
        memory.remember(f"{number}", about="user")
    adopt(memory, tmp_path / "theirs", tmp_path)
    mine = memory.pages.read("project-x")
    left = [
        [line for line in page.splitlines() if not line.startswith(("updated", "position"))]
        for page in (mine, theirs)
    ]
    assert left[0] == left[1]


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59", "0001-01-01T00:00:00", "2026-02-30T00:00"])
def test_dates_that_cannot_be_used_stop_nothing(
    memory: Memory, folder: Path, tmp_path: Path, at: str
) -> None:
    page = folder / "project-apollo.md"
    page.write_text(THEIRS.replace("2026-05-02T10:00]", f"{at}]").replace("'2026-05-02'", at))
    mine = tmp_path / "mine"
    shutil.copytree(folder, mine)
    memory.pages.sync(mine, unknown="adopt")
    memory.admin.import_(folder)
    assert memory.get("20260503-0900-bbbbbb").text == "The disk holds 72 KiB."


def test_a_comment_belongs_to_no_text() -> None:
    (*_, last) = parse("project-apollo", THEIRS).page.entries
    assert (last.text, last.supersedes, last.why) == (
        "The disk holds 72 KiB.",
        "20260502-1000-aaaaaa",
        "a larger one",
    )


def test_a_text_that_looks_like_the_comment_stays(memory: Memory) -> None:
    words = "It says:\n<!-- supersedes: a; reason: b -->"
    memory.remember(words, about="project:X")
    (entry,) = parse("project-x", memory.pages.read("project-x")).page.entries
    assert (entry.text, entry.supersedes) == (words, None)
