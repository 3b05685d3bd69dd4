"""Pages in the folder of a memory: where they go, links, and erasing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.errors import ConfigError, Forbidden, Unavailable, Unsupported
from recollect.index.reads import Reads
from recollect.lifecycle.commands import EraseAll
from recollect.memory.handle.answers import nothing
from recollect.memory.handle.handle import Handle, handle_of
from recollect.memory.pages import page_plans, page_sources
from recollect.memory.pages.pages import Pages
from recollect.memory.store import Store
from recollect.mirror.gather import Made
from recollect.store.disk.regular_files import read_regular
from recollect.store.pages import page_notes
from recollect.store.pages.page_notes import Notes, digest_of
from recollect.store.pages.pages import Plan, Wanted, desk
from recollect.store.seam import REAL, Seam
from tests.memory_suites.pages.pages import CANARY, PagesSuite, holding


def _moved_by_hand(memory: Memory) -> tuple[str, Path]:
    """A record whose entry was moved to another page that a person also changed otherwise."""
    record = memory.remember(f"{CANARY} text", about="x")
    memory.remember("Other.", about="y")
    memory.pages.render()
    folder = Path(memory.where) / "pages"
    moved, page = folder / "topic-x.md", folder / "topic-y.md"
    entry = moved.read_text().partition("## [")[2]
    moved.write_text(moved.read_text().partition("## [")[0])
    text = page.read_text().replace("Other.", "Mine: other words.")
    text += f"\n## [{entry}## [broken\nStays.\n\n## [today]\nNew.\n"
    page.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    return record.id, folder


@pytest.mark.nightly
class TestInMemory(PagesSuite):
    @pytest.fixture
    def memory(self) -> Iterator[Memory]:
        with Memory.open(":memory:") as memory:
            yield memory

    def test_it_has_no_folder(self, memory: Memory) -> None:
        with pytest.raises(Unsupported, match="no folder"):
            memory.pages.render()


class TestInAFolder(PagesSuite):
    @pytest.fixture
    def memory(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
        with Memory.open(tmp_path_factory.mktemp("workspace")) as memory:
            yield memory

    def test_pages_are_in_the_folder_of_the_memory(self, memory: Memory) -> None:
        memory.remember("One.", about="x")
        done = memory.pages.render()
        assert done.folder == str(Path(memory.where) / "pages")
        assert (Path(memory.where) / "pages" / "topic-x.md").read_text().endswith("One.\n")

    def test_who_may_not_render_there(self, memory: Memory) -> None:
        memory.remember("One.")
        with pytest.raises(Forbidden):
            memory.scoped(user="ann").pages.render()
        with pytest.raises(Unsupported):
            memory.at(1).pages.render()

    def test_no_link_is_followed(self, memory: Memory, tmp_path: Path) -> None:
        memory.remember("One.", about="x")
        memory.pages.render()
        pages, other = Path(memory.where) / "pages", tmp_path / "other"
        other.write_text("keep")
        (pages / "topic-x.md").unlink()
        (pages / "topic-x.md").symlink_to(other)
        (pages / ".pages.json").unlink()
        (pages / ".pages.json").symlink_to(other)
        assert memory.pages.render(overwrite=True).edited == ("topic-x.md",)
        assert other.read_text() == "keep"
        for path in pages.iterdir():
            path.unlink()
        pages.rmdir()
        pages.symlink_to(tmp_path)
        with pytest.raises(ConfigError, match="is a link"):
            memory.pages.render()

    def test_a_folder_that_cannot_be_written_is_named(self, memory: Memory, tmp_path: Path) -> None:
        memory.remember("One.")
        (tmp_path / "file").write_text("")
        with pytest.raises(Unavailable, match="pages could not be written"):
            memory.pages.render(tmp_path / "file")

    def test_a_write_touches_no_page(self, memory: Memory) -> None:
        memory.remember("One.", about="x")
        assert not (Path(memory.where) / "pages").exists()
        memory.pages.render()
        before = _stamps(memory)
        memory.remember("Two.", about="x")
        memory.erase(memory.remember("Three.", about="z").id)
        assert _stamps(memory) == before

    def test_erasing_cleans_pages_and_notes(self, memory: Memory) -> None:
        record = memory.remember(f"{CANARY} text", about=f"{CANARY} about")
        other = memory.remember("Other.", about="y")
        memory.graph.link(record.id, other.id, "related")
        memory.scoped(session="s").remember("Kept.", about="z")
        memory.pages.render()
        (Path(memory.where) / "pages" / "notes.md").write_text("A person's own.")
        assert holding(Path(memory.where), CANARY) != []  # the control
        done = memory.erase(record.id)
        assert holding(Path(memory.where), CANARY) == []
        assert any(place.startswith("pages/: 3 removed") for place in done.places)
        assert any("notes.md" in place for place in done.places if place.startswith("NOT"))
        kept = {path.name for path in (Path(memory.where) / "pages").glob("*.md")}
        assert {"topic-z.md", "user-profile.md", "notes.md"} <= kept
        assert "topic-y.md" not in kept  # it linked to the page that is gone
        memory.pages.render()
        assert holding(Path(memory.where), CANARY) == []

    def test_erasing_cleans_a_page_that_a_person_changed(self, memory: Memory) -> None:
        record = memory.remember(f"{CANARY} text", about="x")
        memory.pages.render()
        page = Path(memory.where) / "pages" / "topic-x.md"
        page.write_text(page.read_text() + "\nMine.\n")
        memory.erase(record.id)
        assert holding(Path(memory.where), CANARY) == []

    def test_erasing_takes_a_moved_entry_out_of_a_changed_page(self, memory: Memory) -> None:
        record, folder = _moved_by_hand(memory)
        (folder / "topic-x.md~").write_text(CANARY)  # as editors keep copies
        done = memory.erase(record)
        assert "pages/topic-y.md: 1 entry taken out" in done.places
        named = [place for place in done.places if place.startswith("NOT checked")]
        assert [place.rpartition("/")[2] for place in named] == ["topic-x.md~", "topic-y.md"]
        left = {Path(place).name for place in holding(folder, CANARY)}
        assert left == {"topic-x.md~"}  # nothing tells what is in it
        page = (folder / "topic-y.md").read_bytes()
        assert page.startswith(b"\xef\xbb\xbf---\r\n")
        for mine in (b"\nMine: other words.\r\n", b"\n## [broken\r\nStays.\r\n", b"\nNew.\r\n"):
            assert mine in page

    def test_an_interrupted_erasure_takes_moved_entries_out_too(self, memory: Memory) -> None:
        record, folder = _moved_by_hand(memory)
        handle_of(memory).write((EraseAll(ids=(record,)),), nothing)  # as if it were stopped
        memory.close()
        with Memory.open(memory.where) as again:
            again.recall("anything")
            assert holding(Path(again.where), CANARY) == []
            assert "Mine: other words." in (folder / "topic-y.md").read_text()

    def test_an_entry_of_another_memory_stays(self, memory: Memory) -> None:
        record, folder = _moved_by_hand(memory)
        page = folder / "topic-y.md"
        with page.open("a") as file:
            file.write("\n## [today] {id: of-another-memory}\nTheirs.\n")
        memory.erase(record)
        assert "{id: of-another-memory}\nTheirs.\n" in page.read_text()

    def test_erasing_without_notes_removes_every_page(self, memory: Memory) -> None:
        record = memory.remember(f"{CANARY} text", about="x")
        memory.pages.render()
        (Path(memory.where) / "pages" / ".pages.json").unlink()
        memory.erase(record.id)
        assert holding(Path(memory.where), CANARY) == []

    def test_a_described_page_is_erased_with_its_document(self, memory: Memory) -> None:
        memory.remember("One.", about="x")
        memory.settings.documents.set("page", "topic-x", {"description": CANARY})
        memory.pages.render()
        memory.settings.documents.drop("page", "topic-x", erase=True)
        assert holding(Path(memory.where), CANARY) == []

    def test_an_interrupted_erasure_finishes_in_the_pages(self, memory: Memory) -> None:
        record = memory.remember(f"{CANARY} text", about="x")
        memory.pages.render()
        handle_of(memory).write((EraseAll(ids=(record.id,)),), nothing)  # as if it were stopped
        assert holding(Path(memory.where) / "pages", CANARY) != []
        memory.close()
        with Memory.open(memory.where) as again:
            again.recall("anything")
            assert holding(Path(again.where), CANARY) == []

    def test_an_erasure_does_not_wait_for_a_rendering_for_ever(self, memory: Memory) -> None:
        record = memory.remember(f"{CANARY} text", about="x")
        memory.pages.render()
        with desk(REAL, Path(memory.where) / "pages"):  # a rendering that does not end
            memory.erase(record.id)
        assert holding(Path(memory.where), CANARY) == []

    def test_what_is_erased_while_pages_are_made_is_not_on_them(self, memory: Memory) -> None:
        record = memory.remember(f"{CANARY} text", about="x")

        class Erasing(Pages):
            """Erases after the records were read, once."""

            def _plan(self, folder: Path, notes: Notes) -> Plan:
                plan = super()._plan(folder, notes)
                if any(CANARY.encode() in (page.data or b"") for page in plan.files.values()):
                    memory.erase(record.id)
                return plan

        Erasing(handle_of(memory)).render()
        assert holding(Path(memory.where), CANARY) == []

    def test_a_status_reads_only_files_that_may_have_changed(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("x", "y", "z"):
            memory.remember(f"About {name}.", about=name)
        memory.pages.render()
        time.sleep(0.2)  # longer than two changes of a file can have the same time
        memory.remember("Two.", about="x")
        memory.pages.render()
        read = list[str]()

        def reading(path: Path | str, at_most: int) -> bytes:
            read.append(Path(path).name)
            return read_regular(path, at_most)

        monkeypatch.setattr(page_notes, "read_regular", reading)
        assert memory.pages.status().edited == ()
        assert set(read) - {".pages.json"} <= {"index.md", "topic-x.md"}  # they were just written
        page = Path(memory.where) / "pages" / "topic-y.md"
        before = os.stat(page)
        page.write_text(page.read_text().replace("About y.", "About Y."))  # of the same size
        os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert memory.pages.status().edited == ("topic-y.md",)

    def test_a_file_that_changed_right_after_it_was_noted_is_read(self, memory: Memory) -> None:
        memory.remember("One.", about="x")
        memory.pages.render()
        folder = Path(memory.where) / "pages"
        notes = page_notes.read_notes(folder)
        assert notes is not None
        page = folder / "topic-x.md"
        page.write_text(page.read_text().replace("One.", "Two."))
        noted = notes.pages[page.name]
        same = msgspec.structs.replace(noted, stamp=page_notes.stamp_of(os.lstat(page)))
        pages, now_ns = {**notes.pages, page.name: same}, os.lstat(page).st_mtime_ns
        for written_ns, is_read in ((now_ns, True), (now_ns + 10_000_000_000, False)):
            told = msgspec.structs.replace(notes, pages=pages, written_ns=written_ns)
            digest, _ = page_notes.file_digest(folder, page.name, told)
            assert (digest != noted.digest) == is_read
        whole = (7_000_000_000, 7_000_000_000, 1, 1)  # a file system that counts whole seconds
        assert not page_notes.is_before(whole, 8_900_000_000)
        assert page_notes.is_before((7_000_000_001, 7_000_000_001, 1, 1), 8_900_000_000)

    @pytest.mark.parametrize("other", ["memory", "user", "version", "place"])
    def test_pages_of_something_else_are_all_made(
        self, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
    ) -> None:
        memory.remember("One.", about="x")
        memory.scoped(user="ann").remember("Ann's.", about="y")
        memory.pages.render(tmp_path)
        assert "every page" not in _made_in(memory, tmp_path, monkeypatch)  # the control
        if other == "memory":
            another = Memory.open(":memory:")
            another.remember("One.", about="x")
            another.scoped(user="ann").remember("Ann's.", about="y")
        elif other == "user":
            another = memory.scoped(user="ann")
        else:
            another = memory
        if other == "version":
            monkeypatch.setattr(page_plans, "RENDERING_VERSION", 0)
        if other == "place":
            (tmp_path / ".pages.json").unlink()
        assert "every page" in _made_in(another, tmp_path, monkeypatch)
        assert (tmp_path / "index.md").read_text() == another.pages.read("index")

    def test_dropping_a_space_removes_its_pages(self, memory: Memory) -> None:
        with Store.open(memory.where) as store:
            other = store.space("other")
            other.remember("One.", about="x")
            other.pages.render()
            folder = Path(other.where)
            assert (folder / "pages" / "topic-x.md").exists()
            store.drop("other")
            assert not folder.exists()


def _stamps(memory: Memory) -> dict[str, int]:
    pages = Path(memory.where) / "pages"
    return {path.name: os.stat(path).st_mtime_ns for path in pages.iterdir()}


class _Saving(Seam):
    """An editor that saves a page just before its turn comes."""

    def __init__(self, page: Path) -> None:
        self._page = page

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        if target.name == "topic-a.md":
            self._page.write_text("Saved meanwhile.")


def test_numbers_of_events_are_packed() -> None:
    for events in ([], [7], [1, 2, 3, 900, 10**12]):
        assert page_notes.unpacked(page_notes.packed(reversed(events))) == events


def test_what_is_saved_while_pages_are_written_is_kept(tmp_path: Path) -> None:
    old, new = (
        Plan({f"topic-{letter}.md": Wanted(digest_of(text), "1", (), text) for letter in "ab"}, 1)
        for text in (b"old", b"new")
    )
    with desk(REAL, tmp_path) as writer:
        writer.note(old)
        writer.write(old)
    page = tmp_path / "topic-b.md"
    with desk(_Saving(page), tmp_path) as writer:
        writer.note(new)
        found = writer.write(new)
    assert found is not None
    assert (found.old, found.edited) == (["topic-a.md"], ["topic-b.md"])
    assert page.read_text() == "Saved meanwhile."
    assert (tmp_path / "topic-a.md").read_bytes() == b"new"


class _SavingAt(Seam):
    """An editor that saves a page while its new text is on the way to the disk, or right after."""

    def __init__(self, page: Path, *, is_early: bool) -> None:
        self._page = page
        self._is_early = is_early
        self._is_next = False

    def open(self, path: Path, flags: int) -> int:
        self._is_next = path.name.startswith(f".{self._page.name}.")
        return super().open(path, flags)

    def fsync(self, fd: int) -> None:
        super().fsync(fd)
        if self._is_next and self._is_early:
            self._page.write_text("Saved meanwhile.")

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        if target == self._page and not self._is_early:
            self._page.write_text("Saved meanwhile.")


@pytest.mark.parametrize("is_early", [True, False])
def test_what_is_saved_while_that_page_is_written_is_kept(tmp_path: Path, is_early: bool) -> None:
    page = tmp_path / "topic-a.md"
    old, new = (
        Plan({page.name: Wanted(digest_of(text), "1", (), text)}, 1) for text in (b"old", b"new")
    )
    with desk(REAL, tmp_path) as writer:
        writer.note(old)
        writer.write(old)
    with desk(_SavingAt(page, is_early=is_early), tmp_path) as writer:
        writer.note(new)
        found = writer.write(new)
    assert page.read_text() == "Saved meanwhile."
    assert found is not None
    assert found.edited == ([page.name] if is_early else [])
    notes = page_notes.read_notes(tmp_path)
    assert notes is not None
    assert notes.pages[page.name].stamp is None  # or the file would count as the rendered one
    assert sorted(path.name for path in tmp_path.iterdir()) == [".pages.json", page.name]


def _made_in(memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Renders, and tells whether every page was made for it."""
    made, every = list[str](), page_sources.every_page

    def making(handle: Handle, reads: Reads) -> list[Made]:
        made.append("every page")
        return every(handle, reads)

    with monkeypatch.context() as patch:
        patch.setattr(page_plans, "every_page", making)
        memory.pages.render(folder)
    return made
