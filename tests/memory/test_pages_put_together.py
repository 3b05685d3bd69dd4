"""Pages that other programs wrote or merged: nothing in them is lost, and none stops the others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from recollect import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.pages.edits import Applying
from recollect.memory.pages.sync import Comparison


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
    memory.remember("New.", replaces=old.id)
    page = rendered(memory)
    edit(page, "position: 5", "position: 2")
    memory.undo(old.id)
    assert memory.pages.changes().changes == ()


def test_a_new_entry_that_two_processes_take_over_is_added_once(memory: Memory) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    page.write_text(page.read_text() + "\n## [today]\nAlice drinks tea.\n")
    handle = handle_of(memory)
    first, second = (Comparison(handle, page.parent, memory.pages._made) for _ in range(2))
    plans = [first.files(), second.files()]
    for plan in plans:
        Applying(handle, page.parent, lambda _: None).run(plan, first.files)
    assert [record.text for record in memory.list()].count("Alice drinks tea.") == 1


def test_what_is_struck_gives_its_key_back_to_what_is_restored(memory: Memory) -> None:
    old = memory.remember("Old.", about="person:Alice", key="seat")
    memory.remember("New.", replaces=old.id)
    page = rendered(memory)
    edit(page, "~~Old.~~", "Old.")
    edit(page, "\nNew.", "\n~~New.~~")
    assert memory.pages.sync().refused == ()
    assert [record.text for record in memory.list()] == ["Old."]


def test_a_supersession_that_an_agent_may_not_apply_waits(memory: Memory) -> None:
    record = memory.remember("Old.", about="person:Alice")
    page = rendered(memory)
    page.write_text(page.read_text() + f"\n## [today] #supersedes:{record.id}\nNew.\n")
    agent = memory.scoped(trust="agent")
    for _ in range(2):
        done = agent.pages.sync()
        assert (len(done.waiting), done.refused) == (1, ())
    (waiting,) = memory.review.list()
    memory.review.approve(waiting.id, waiting.digest)
    assert [record.text for record in memory.list()] == ["New."]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Alice", f"# {'A' * 201}"),
        ("tags: []", f"tags: [{', '.join(map(str, range(51)))}]"),
        ("[Index](index.md)", "[Index](index.md)\n\nHalf\0 a line."),
        ("[Index](index.md)", f"[Index](index.md)\n\n{'Long words. ' * 30_000}"),
    ],
)
def test_fields_are_checked_as_describe_checks_them(memory: Memory, old: str, new: str) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    edit(page, old, new)
    before = page.read_text()
    assert len(memory.pages.sync().refused) == 1
    assert page.read_text() == before


def test_an_old_false_does_not_take_back_a_later_flag(memory: Memory) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    memory.pages.flag("person-alice")
    edit(rendered(memory), "needs_compact: true", "needs_compact: false")
    assert len(memory.pages.sync().applied) == 1
    memory.pages.flag("person-alice", "long")
    edit(rendered(memory), "# Alice", "# Alice B.")
    memory.pages.sync()
    assert "needs_compact: true" in memory.pages.read("person-alice")


def test_what_cannot_be_proposed_does_not_stop_the_others(memory: Memory) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    page.write_text(page.read_text() + "\n## [today]\nHalf\0 a line.\n\n## [today]\nTea.\n")
    done = memory.pages.sync(propose=True)
    assert [change.after for change in done.waiting] == ["Tea."]
    assert len(done.refused) == 1


def forge(notes: Path, *, page: Path, **changes: object) -> None:
    """Makes the notes of a folder say something else about a page, as one who knows the format."""
    said = json.loads(notes.read_text())["notes"]
    noted = said["pages"][page.name]
    noted[0], noted[4] = sha256(page.read_bytes()).hexdigest(), None
    noted[2] = changes.pop("events", noted[2])
    raw = json.dumps(said | changes, separators=(",", ":"))
    digest = sha256(raw.encode()).hexdigest()
    notes.write_text(f'{{"digest":"{digest}","notes":{raw}}}\n')


@pytest.mark.parametrize(
    "changes", [{"events": "x 1"}, {"events": "9" * 5_000}, {"position": 2**70}, {"position": -1}]
)
def test_forged_notes_stop_neither_rendering_nor_erasing(
    memory: Memory, changes: dict[str, object]
) -> None:
    record = memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    forge(page.parent / ".pages.json", page=page, **changes)
    memory.pages.status()
    memory.pages.render()
    forge(page.parent / ".pages.json", page=page, **changes)
    memory.erase(record.id)
    assert not page.exists()
    assert memory.list() == []


def test_a_page_that_came_with_its_notes_is_not_taken_for_a_rendering(memory: Memory) -> None:
    memory.remember("Pay to account 1.", about="person:Alice")
    page = rendered(memory)
    edit(page, "account 1", "account 2")
    forge(page.parent / ".pages.json", page=page)
    assert memory.pages.status().outdated == ("person-alice.md",)
    memory.pages.render()
    assert page.read_text() == memory.pages.read("person-alice")


def test_of_an_entry_that_was_copied_with_its_id_the_first_counts(memory: Memory) -> None:
    record = memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    entry = page.read_text().partition("## [")[2]
    page.write_text(f"{page.read_text()}\n## [{entry.replace('sits', 'stands')}")
    before = page.read_text()
    done = memory.pages.sync()
    assert (done.applied, len(done.problems)) == ((), 1)
    assert page.read_text() == before
    edit(page, "Alice sits.", "Alice runs.")
    assert len(memory.pages.sync().applied) == 1
    assert memory.get(record.id).text == "Alice runs."


def test_an_entry_with_a_broken_heading_in_it_waits(memory: Memory) -> None:
    memory.remember("Alice sits.", about="person:Alice")
    page = rendered(memory)
    page.write_text(page.read_text() + "\n## [today] #tea\nNew.\n\n## [not closed")
    assert [change.what for change in memory.pages.changes().changes] == []
