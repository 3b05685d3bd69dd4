"""Pages that other programs wrote or merged: nothing in them is lost, and none stops the others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "workspace") as memory:
        yield memory


def rendered(memory: Memory) -> Path:
    return Path(memory.pages.render().folder) / "person-alice.md"


def edit(page: Path, old: str, new: str) -> None:
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new))


def test_tags_as_obsidian_writes_them(memory: Memory) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    edit(page, "tags: []", 'aliases:\n  - A\ntags:\n  - one\n- "two: 2"\n  -\nkind: x')
    memory.pages.sync()
    text = page.read_text()
    assert 'tags: [one, "two: 2"]\n' in text
    assert "\naliases:\n  - A\nkind: x\n---" in text
    assert memory.pages.sync().applied == ()


def test_a_tag_that_cannot_be_read_keeps_the_file(memory: Memory) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    edit(page, "tags: []", "tags:\n  - one\n  - [two]")
    before = page.read_text()
    assert [problem.line for problem in memory.pages.sync().problems] == [5]
    assert page.read_text() == before


@pytest.mark.parametrize("line", ['description: "x\\ud800y"', 'tags: ["\\udfff"]'])
def test_half_a_character_is_a_problem_of_its_line(memory: Memory, line: str) -> None:
    record = memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    page.write_text(re.sub(f"{line.partition(':')[0]}: .*", lambda _: line, page.read_text()))
    edit(page, "Alice sits.", "Alice stands.")
    assert len(memory.pages.changes().problems) == 1
    assert len(memory.pages.sync().applied) == 1
    assert memory.get(record.id).text == "Alice stands."


def test_a_name_that_is_not_utf8_stops_nothing(memory: Memory) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    edit(page, "Alice sits.", "Alice stands.")
    strange = os.fsencode(page.parent) + b"/person-\xff.md"
    with open(strange, "w") as file:
        file.write("## [today]\nNew.\n")
    done = memory.pages.sync()
    assert len(done.applied) == 1
    assert [problem.file for problem in done.problems] == ["person-\ufffd.md"]
    assert os.path.exists(strange)


@pytest.mark.parametrize("edited", ["~~Newer.~~", "#urgent\nNewer."])
def test_an_edited_entry_that_is_newer_than_its_page_is_a_conflict(
    memory: Memory, edited: str
) -> None:
    memory.remember("Older.", about="person:Alice")
    rendered(memory)
    newer = memory.remember("Newer.", about="person:Alice")
    page = rendered(memory)
    edit(page, "position: 3", "position: 2")  # as a merge may choose
    if edited.startswith("#"):
        edit(page, f"{{id: {newer.id}}}\nNewer.", f"{{id: {newer.id}}} {edited}")
    else:
        edit(page, "Newer.", edited)
    before = page.read_text()
    (conflict,) = memory.pages.sync().conflicts
    assert page.read_text() == before
    memory.pages.sync(take={conflict.ref: "page"})
    records = [(record.text, record.tags) for record in memory.list()]
    assert (("Newer.", ()) in records) is False
    assert (("Newer.", ("urgent",)) in records) is edited.startswith("#")


def test_a_merged_page_without_edits_has_no_conflict(memory: Memory) -> None:
    memory.remember("Older.", about="person:Alice")
    old = memory.remember("Old.", about="person:Alice")
    memory.supersede(old.id, "New.")
    page = rendered(memory)
    edit(page, "position: 5", "position: 2")
    memory.restore(old.id)
    assert memory.pages.changes().changes == ()
