"""Pages that this memory did not render, or not in the state that it is in: none is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recollect import Memory, Store
from recollect.contracts.pages import MemoryFiles
from recollect.errors import Changed, ConfigError, Forbidden, InvalidInput
from recollect.store.disk.regular_files import read_regular
from recollect.store.pages import page_files, page_notes
from recollect.store.pages import pages as store_pages
from recollect.store.pages.page_notes import read_notes
from recollect.store.pages.pages import desk
from recollect.store.seam import REAL

PAGE = """---
description: The user
tags: [identity]
status: active
created: 2026-04-20T14:02:11+08:00
updated: 2026-04-21T09:15:00+08:00
entry_count: 3
needs_compact: false
---

# User Profile

## [2026-04-20T14:02:11] {id: 20260420-1402-b2e4d8} #identity
Goes by Kming.

## [2026-04-20T16:30:05] {id: 20260420-1630-3f0e99} #work #employer
~~Works at Old Corp.~~ #superseded-by:20260421-0915-c4f1a5

## [2026-04-21T09:15:00] {id: 20260421-0915-c4f1a5} #work #employer
Joined Acme Corp.
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "mine", embedder="none") as memory:
        yield memory


def pages_of(memory: Memory) -> Path:
    return Path(memory.pages.render().folder)


def copied(tmp_path: Path, memory: Memory) -> Path:
    """Pages of another memory, with their notes, in place of this memory's own."""
    with Memory.open(tmp_path / "theirs", embedder="none") as other:
        other.remember("The build runs make.", about="project:X", tags=["build"])
        other.remember("Is called Ines.", about="user")
        source = pages_of(other)
    target = pages_of(memory)
    shutil.rmtree(target)
    shutil.copytree(source, target)
    return target


def test_pages_of_another_memory_are_left_and_named(tmp_path: Path, memory: Memory) -> None:
    # S3-222
    folder = copied(tmp_path, memory)
    before = {path.name: path.read_text() for path in folder.glob("*-*.md")}
    memory.remember("It is mine.", about="user")
    done = memory.pages.render()
    assert set(done.edited) == {"project-x.md", "user-profile.md"}
    assert done.removed == ()
    assert memory.pages.render().edited == done.edited  # asked twice
    assert {name: (folder / name).read_text() for name in done.edited} == {
        name: before[name] for name in done.edited
    }
    assert set(memory.pages.status().edited) == set(done.edited)
    messages = [problem.message for problem in memory.pages.sync().problems]
    assert len([one for one in messages if "is not in this memory" in one]) == 2


def test_an_older_ledger_leaves_newer_pages(tmp_path: Path) -> None:
    # S3-222
    place, aside = tmp_path / "mine", tmp_path / "old"
    with Memory.open(place, embedder="none") as memory:
        memory.remember("One.", about="user")
        memory.pages.render()
    shutil.copy(place / "events.wal", aside)
    with Memory.open(place, embedder="none") as memory:
        two = memory.remember("Two.", about="user", tags=["late"])
        page = pages_of(memory) / "user-profile.md"
    shutil.copy(aside, place / "events.wal")
    for path in place.glob("index.db*"):
        path.unlink()
    with Memory.open(place, embedder="none") as memory:
        assert memory.pages.render().edited == ("user-profile.md",)
        assert "Two." in page.read_text()
        for _ in range(3):  # the ledger is as long again, with other events
            memory.remember("Three.", about="tool:git")
        assert "Two." in page.read_text()
        assert memory.pages.render().edited == ("user-profile.md",)
        done = memory.pages.sync(unknown="adopt")
        assert done.adopted == (two.id,)
        assert [(one.id, one.tags) for one in memory.list() if one.text == "Two."] == [
            (two.id, ("late",))
        ]
        assert memory.pages.render().edited == ()


def test_a_page_from_elsewhere_is_adopted_as_it_stands(memory: Memory) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text(PAGE)
    plan = memory.pages.changes()
    assert plan.unknown == 3
    done = memory.pages.sync(expect=plan.digest, unknown="adopt")
    assert set(done.adopted) == {
        "20260420-1402-b2e4d8", "20260420-1630-3f0e99", "20260421-0915-c4f1a5",
    }  # fmt: skip
    assert (done.refused, done.conflicts) == ((), ())
    assert not any(problem.keeps for problem in done.problems)
    entries = PAGE.partition("# User Profile\n")[2]
    heading, struck = "#work #employer\n~~Works at Old Corp.~~ ", "#superseded-by:"
    shown = entries.replace(
        f"{heading}{struck}20260421-0915-c4f1a5",
        f"#work #employer {struck}20260421-0915-c4f1a5\n~~Works at Old Corp.~~",
    )
    text = page.read_text()
    assert text.endswith(shown)  # ids, dates, tags, words and what was superseded
    assert "description: The user\ntags: [identity]\n" in text
    assert memory.get("20260420-1402-b2e4d8").said_at == "2026-04-20T06:02:11.000000Z"
    assert memory.pages.sync(unknown="adopt").adopted == ()  # asked again


CHAIN = """# User

## [2026-03-01T00:00:00] {id: b} #superseded-by:c
~~Lives in Bonn.~~

## [2026-02-01T00:00:00] {id: a} #superseded-by:b
~~Lives in Aachen.~~

## [2026-04-01T00:00:00] {id: c}
Lives in Cologne.

## [2026-05-01T00:00:00] {id: x} #superseded-by:y
~~Runs.~~

## [2026-05-01T00:00:00] {id: y} #superseded-by:x
~~Swims.~~
"""


def test_what_was_superseded_does_not_hold_again(memory: Memory) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text(CHAIN)
    done = memory.pages.sync(unknown="adopt")
    assert (sorted(done.adopted), done.refused) == (["a", "b", "c", "x", "y"], ())
    assert [one.text for one in memory.list()] == ["Lives in Cologne."]
    text = page.read_text()
    assert text.index("~~Lives in Aachen.~~") < text.index("~~Lives in Bonn.~~")
    assert memory.pages.sync(unknown="adopt").adopted == ()


def test_what_was_superseded_holds_in_no_case(memory: Memory) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text(
        CHAIN.replace("id: c}", f"id: {'c' * 300}}}").replace(":c\n", f":{'c' * 300}\n")
    )
    done = memory.pages.sync(unknown="adopt")
    assert [one.change.id for one in done.refused] == ["b", "c" * 300]
    assert memory.list() == []
    assert memory.pages.changes().unknown == 2  # the file is left with what was refused


@pytest.mark.parametrize("created", ["2024-01-01T00:00:00-23:59:59", "0001-01-01T00:00:00+23:59"])
def test_hostile_dates_do_not_stop_an_adoption(memory: Memory, created: str) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text(PAGE.replace("2026-04-20T14:02:11+08:00", created, 1))
    assert len(memory.pages.sync(unknown="adopt").adopted) == 3


@pytest.mark.parametrize("what", ["name", "unreadable", "read-only"])
def test_an_erasure_ends_whatever_lies_in_the_folder(
    memory: Memory, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = memory.remember("Canary.", about="user")
    folder = pages_of(memory)
    notes = read_notes(folder)
    assert notes is not None
    if what == "name":
        pages = {**notes.pages, f"{'x' * 300}.md": notes.pages["user-profile.md"]}
        page_notes.keep_notes(REAL, folder, page_notes.Notes(pages))
    else:
        page_notes.keep_notes(REAL, folder, page_notes.Notes(notes.pages))
        failing = "read_page" if what == "unreadable" else "keep_notes"

        def fail(*_: object) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(store_pages, failing, fail)
    told = memory.erase(one.id).places
    assert any("NOT checked" in line for line in told)
    assert b"Canary" not in (Path(memory.where) / "events.wal").read_bytes()
    memory.remember("Goes on.")


def test_a_file_of_another_account_stops_no_rendering(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pages_of(memory)
    (folder / "private.md").write_text("## [today] {id: x}\nSecret.\n")
    (folder / ".pages.json").unlink()

    def refusing(path: Path | str, at_most: int, flags: int = 0) -> bytes:
        if Path(path).name == "private.md":
            raise PermissionError(13, "Permission denied")
        return read_regular(path, at_most, flags)

    monkeypatch.setattr(page_files, "read_regular", refusing)
    monkeypatch.setattr(page_notes, "read_regular", refusing)
    assert memory.pages.render().edited == ()
    assert memory.pages.status().edited == ()


def test_dropping_leaves_and_names_what_a_person_changed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        space = store.space("two", create=True)
        space.remember("One.", about="user")
        folder = Path(space.pages.render().folder)
        (folder / "user-profile.md").write_text("Mine.")
        space.pages.render()
        told = store.drop("two").places
    assert (folder / "user-profile.md").read_text() == "Mine."
    assert not (folder / "index.md").exists()
    assert any("user-profile.md" in line for line in told)


@pytest.mark.parametrize("added", [" call Bob on Friday", " · Related: nobody"])
def test_words_on_the_line_of_links_are_kept(memory: Memory, added: str) -> None:
    memory.remember("One.", about="user")
    page = pages_of(memory) / "user-profile.md"
    (page.parent / ".pages.json").unlink()
    page.write_text(page.read_text().replace("[Index](index.md)", f"[Index](index.md){added}"))
    memory.pages.sync()
    assert added.rpartition(" ")[2] in page.read_text()
    assert memory.pages.sync().applied == ()


def test_only_a_person_adopts(memory: Memory) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text(PAGE)
    with pytest.raises(Forbidden, match="only a person can adopt"):
        memory.scoped(trust="agent").pages.sync(unknown="adopt")
    with pytest.raises(InvalidInput, match="propose"):
        memory.pages.sync(propose=True, unknown="adopt")
    with pytest.raises(InvalidInput, match="leave, adopt, aside"):
        memory.pages.sync(unknown="all")  # type: ignore[arg-type]
    assert page.read_text() == PAGE


def test_nothing_is_adopted_that_was_not_shown(memory: Memory) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text(PAGE)
    digest = memory.pages.changes().digest
    page.write_text(PAGE.replace("Acme", "Other"))
    with pytest.raises(Changed):
        memory.pages.sync(expect=digest, unknown="adopt")
    assert memory.list() == []


def test_an_id_that_cannot_be_used_is_refused_and_stays(memory: Memory) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text(f"# User\n\n## [today] {{id: {'x' * 300}}}\nA long id.\n")
    done = memory.pages.sync(unknown="adopt")
    assert len(done.refused) == 1
    assert "A long id." in page.read_text()


def test_struck_without_a_successor_is_kept_in_the_history(memory: Memory) -> None:
    page = pages_of(memory) / "user-profile.md"
    page.write_text("# User\n\n## [2020-01-01T00:00:00] {id: old-1} #superseded-by:x\n~~Gone.~~\n")
    assert memory.pages.sync(unknown="adopt").adopted == ("old-1",)
    assert memory.history("old-1")[0].record.text == "Gone."
    assert memory.list() == []
    assert page.read_text().endswith("{id: old-1} #superseded-by:x\n~~Gone.~~\n")
    assert memory.pages.sync().problems == ()


def test_files_are_kept_aside(tmp_path: Path, memory: Memory) -> None:
    folder = copied(tmp_path, memory)
    before = {name: (folder / name).read_text() for name in ("project-x.md", "user-profile.md")}
    done = memory.pages.sync(unknown="aside")
    assert done.rendered.aside == ("aside/project-x.md", "aside/user-profile.md")
    assert {name: (folder / "aside" / name).read_text() for name in before} == before
    assert not (folder / "project-x.md").exists()
    assert (folder / "user-profile.md").read_text() == memory.pages.read("user-profile")
    (folder / "user-profile.md").write_text("Mine.")
    assert memory.pages.render(overwrite=True).aside == ("aside/user-profile-2.md",)
    assert (folder / "aside" / "user-profile-2.md").read_text() == "Mine."


def test_no_link_is_followed_aside(tmp_path: Path, memory: Memory) -> None:
    folder, elsewhere = pages_of(memory), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "aside").symlink_to(elsewhere)
    (folder / "user-profile.md").write_text("Mine.")
    with pytest.raises(ConfigError, match="is a link"):
        memory.pages.render(overwrite=True)
    assert os.listdir(elsewhere) == []
    assert (folder / "user-profile.md").read_text() == "Mine."


def test_pages_of_an_earlier_release_are_rendered_again(memory: Memory) -> None:
    memory.remember("One.", about="user")
    folder = pages_of(memory)
    notes = read_notes(folder)
    assert notes is not None
    page_notes.keep_notes(REAL, folder, msgspec.structs.replace(notes, memory="", through=0))
    memory.remember("Two.", about="user")
    done = memory.pages.render()
    assert done.edited == ()
    assert "Two." in (folder / "user-profile.md").read_text()


def test_a_copy_of_this_memory_knows_its_pages(tmp_path: Path, memory: Memory) -> None:
    memory.remember("One.", about="user")
    pages_of(memory)
    shutil.copytree(memory.where, tmp_path / "copy")
    with Memory.open(tmp_path / "copy", embedder="none") as copy:
        copy.remember("Two.", about="user")
        assert copy.pages.render().edited == ()
        assert "Two." in (pages_of(copy) / "user-profile.md").read_text()


def test_a_persons_own_index_is_left(tmp_path: Path, memory: Memory) -> None:
    (tmp_path / "docs").mkdir()
    index = tmp_path / "docs" / "index.md"
    index.write_text("# My notes\n\nRead these first.\n")
    assert memory.pages.render(tmp_path / "docs").edited == ("index.md",)
    assert index.read_text() == "# My notes\n\nRead these first.\n"


def test_what_was_written_into_the_index_is_kept_aside(memory: Memory) -> None:
    index = pages_of(memory) / "index.md"
    index.write_text(f"{index.read_text()}\nRead these first.\n")
    done = memory.pages.render()
    assert (done.edited, done.aside) == ((), ("aside/index.md",))
    assert index.read_text() == memory.pages.read("index")
    assert (index.parent / "aside" / "index.md").read_text() == "Read these first.\n"
    assert memory.pages.render().aside == ()


@pytest.mark.parametrize("has_notes", [True, False])
def test_erasing_takes_only_its_words_from_a_changed_page(memory: Memory, has_notes: bool) -> None:
    one = memory.remember("Canary one.", about="person:Alice")
    memory.remember("Two.", about="person:Alice")
    folder = pages_of(memory)
    page = folder / "person-alice.md"
    page.write_text(page.read_text() + "\n## [today]\nMine, not yet taken over.\n")
    (folder / "topic-other.md").write_text(PAGE)
    if not has_notes:
        (folder / ".pages.json").unlink()
    told = memory.erase(one.id).places
    text = page.read_text()
    assert "Canary" not in text
    assert "Two." in text
    assert "Mine, not yet taken over." in text
    assert (folder / "topic-other.md").read_text() == PAGE
    assert any("NOT checked" in line and "person-alice.md" in line for line in told)


def test_erasing_here_leaves_pages_of_another_memory(tmp_path: Path, memory: Memory) -> None:
    one = memory.remember("Canary one.", about="person:Alice")
    folder = copied(tmp_path, memory)
    before = (folder / "project-x.md").read_text()
    memory.erase(one.id)
    assert (folder / "project-x.md").read_text() == before


def test_opening_files_between_pages_of_another_memory(tmp_path: Path) -> None:
    # S3-222
    with MemoryFiles(tmp_path / "a", trust="person") as files:
        files.create("project-x", "A project", ["t"])
        files.append("project-x", "The build runs make.", ["build"])
    with MemoryFiles(tmp_path / "b", trust="person") as files:
        folder = files.folder
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "a" / "memory", folder)
    with MemoryFiles(tmp_path / "b", trust="person") as files:
        assert files.advice == ("project-x.md says more than the memory: call rebuild_index",)
        assert "is not in this memory" in files.rebuild_index().problems[0]
        assert files.search("make") == []
        assert files.rebuild_index(unknown="adopt").problems == ()
        assert [hit.body for hit in files.search("make")] == ["The build runs make."]


def test_notes_are_kept_with_the_memory_that_made_them(memory: Memory) -> None:
    memory.remember("One.")
    folder = pages_of(memory)
    with desk(REAL, folder) as writer:
        assert writer.notes.through == memory.events.position
        assert writer.notes.memory != ""
