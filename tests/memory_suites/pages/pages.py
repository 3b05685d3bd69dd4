"""The conformance suite of pages: a memory shows the same pages on every engine.

Subclass ``PagesSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.validate import Json
from recollect.store.disk.disk import write_file
from recollect.store.disk.layout import PAGES_STATE
from recollect.store.seam import REAL

CANARY = "canary-7f3a"


class PagesSuite:
    """Every engine passes this."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; defined by subclasses."""
        raise NotImplementedError

    def test_a_page_for_each_entity(self, memory: Memory) -> None:
        memory.remember("Alice sits at the window.", about="person:Alice", tags=["seat"])
        memory.remember("The build uses make.", about="project:Apollo")
        memory.remember("Tea is at four.")
        names = [page.name for page in memory.pages.list()]
        assert names == [
            "person-alice",
            "project-apollo",
            "unfiled",
            "user-preferences",
            "user-profile",
        ]
        text = memory.pages.read("person-alice")
        assert text.endswith(" #seat\nAlice sits at the window.\n")
        assert "[Alice](person-alice.md)" in memory.pages.read("index")

    def test_what_was_superseded_is_struck_through(self, memory: Memory) -> None:
        old = memory.remember("Row 3.", about="alice", key="alice.seat")
        new = memory.remember("The window.", about="alice", key="alice.seat")
        text = memory.pages.read("topic-alice")
        assert f"{{id: {old.id}}} #superseded-by:{new.id}\n~~Row 3.~~\n" in text
        assert text.endswith(f"{{id: {new.id}}}\nThe window.\n")

    def test_what_is_held_or_forgotten_is_not_shown(self, memory: Memory) -> None:
        memory.scoped(trust="unverified").remember("Held.", about="x")
        memory.forget(memory.remember("Forgotten.", about="x").id)
        assert not any(page.entry_count for page in memory.pages.list())

    def test_a_document_describes_a_page(self, memory: Memory) -> None:
        memory.remember("Fast.", about="tool:Make")
        data: dict[str, Json] = {"title": "GNU Make", "description": "Builds: all", "tags": ["a"]}
        memory.settings.documents.set(
            "page", "tool-make", data | {"status": "x", "needs_compact": True}
        )
        (page,) = [page for page in memory.pages.list() if page.name == "tool-make"]
        assert (page.title, page.description, page.tags) == ("GNU Make", "Builds: all", ("a",))
        assert (page.status, page.needs_compact) == ("active", True)
        assert page.position == memory.events.position

    def test_a_page_can_be_described_before_its_first_entry(self, memory: Memory) -> None:
        for name in ("tool-make", "..=2fetc", "index", "unfiled", "Tool-Make"):
            memory.settings.documents.set("page", name, {"description": "Builds."})
        names = [page.name for page in memory.pages.list()]
        assert names == ["tool-make", "user-preferences", "user-profile"]
        page = memory.pages.list()[0]
        assert (page.title, page.description, page.entry_count) == ("make", "Builds.", 0)
        assert page.created == page.updated
        memory.settings.documents.drop("page", "tool-make")
        assert "tool-make" not in [page.name for page in memory.pages.list()]

    def test_a_page_is_flagged_until_it_is_unflagged(self, memory: Memory) -> None:
        # S3-198, S3-214: the page shows that it should be condensed
        memory.remember("Fast.", about="tool:Make")
        page = memory.pages.flag("tool-make", "too long")
        assert (page.needs_compact, page.compact_reason) == (True, "too long")
        assert "\nneeds_compact: true\n" in memory.pages.read("tool-make")
        assert page.position == memory.events.position
        assert memory.pages.flag("tool-make") == page  # again
        page = memory.pages.unflag("tool-make")
        assert (page.needs_compact, page.compact_reason) == (False, None)
        memory.settings.documents.set("page", "tool-make", {"title": "T", "needs_compact": True})
        page = memory.pages.unflag("tool-make")
        assert (page.title, page.needs_compact) == ("T", False)

    def test_an_agent_flags_what_a_person_described(self, memory: Memory) -> None:
        memory.remember("Fast.", about="tool:Make")
        described = memory.pages.describe("tool-make", description="Builds")
        agent = memory.scoped(trust="agent").pages
        assert agent.flag("tool-make", "long").description == described.description
        with pytest.raises(Forbidden):
            agent.describe("tool-make", description="Mine")
        with pytest.raises(Forbidden):
            agent.archive("tool-make")
        memory.pages.flag("tool-make", "really")
        assert agent.flag("tool-make", "other words").compact_reason == "really"
        with pytest.raises(Forbidden):
            agent.unflag("tool-make")
        for handle in (memory.scoped(trust="unverified"), memory.scoped(user="ann")):
            with pytest.raises(Forbidden):
                handle.pages.flag("user-profile")

    def test_a_page_is_archived_and_described_in_one_call_each(self, memory: Memory) -> None:
        # S3-191: one line for lists; S3-194: archived by hand
        memory.remember("Fast.", about="tool:Make")
        page = memory.pages.describe("tool-make", title="GNU Make", description="B", tags=["a"])
        assert (page.title, page.description, page.tags) == ("GNU Make", "B", ("a",))
        assert "[GNU Make](tool-make.md): B," in memory.pages.read("index")
        assert memory.pages.archive("tool-make").status == "archived"
        assert memory.pages.describe("tool-make", tags=()).title == "GNU Make"
        assert "\nstatus: archived\n" in memory.pages.read("tool-make")
        assert memory.recall("fast")[0].text == "Fast."  # its records hold
        assert memory.pages.activate("tool-make").status == "active"
        page = memory.pages.describe("tool-make", title="", description="")
        assert (page.title, page.description) == ("Make", "What is known about Make")
        assert memory.settings.documents.get("page", "tool-make").data == {}
        for bad in ("two\nlines", "x" * 201):
            with pytest.raises(InvalidInput):
                memory.pages.describe("tool-make", description=bad)

    def test_a_wrong_name_is_answered_with_a_near_one(self, memory: Memory) -> None:
        memory.remember("Fast.", about="tool:Make")
        position, pages = memory.events.position, memory.pages
        for call in (pages.flag, pages.unflag, pages.archive, pages.activate, pages.describe):
            with pytest.raises(NotFound) as refused:
                call("tool-mak")
            assert "tool-make" in (refused.value.hint or "")
        assert memory.events.position == position

    def test_a_day_has_an_entry_for_each_session(self, memory: Memory) -> None:
        for session in ("one", "two"):
            memory.scoped(session=session).remember(f"Learned in {session}.", about="x")
        (day,) = [page for page in memory.pages.list() if page.name.startswith("event-")]
        assert day.entry_count == 2
        text = memory.pages.read(day.name)
        assert "{session: one}\nLearned:\n- Learned in one. ([x](topic-x.md))\n" in text

    def test_records_that_are_linked_link_their_pages(self, memory: Memory) -> None:
        first = memory.remember("One.", about="person:Ann")
        second = memory.remember("Two.", about="org:Acme")
        memory.graph.link(first.id, second.id, "related")
        assert "Related: [Acme](org-acme.md)\n" in memory.pages.read("person-ann")
        assert "Related: [Ann](person-ann.md)\n" in memory.pages.read("org-acme")

    def test_the_past_is_read_as_it_was(self, memory: Memory) -> None:
        memory.remember("One.", about="x")
        then, text = memory.events.position, memory.pages.read("topic-x")
        memory.remember("Two.", about="x")
        assert memory.at(then).pages.read("topic-x") == text != memory.pages.read("topic-x")

    def test_only_what_changed_is_written(self, memory: Memory, tmp_path: Path) -> None:
        folder = tmp_path / "named"
        memory.remember("One.", about="x")
        memory.remember("Other.", about="y")
        first = memory.pages.render(folder)
        assert first.written == tuple(sorted(path.name for path in folder.glob("*.md")))
        assert memory.pages.render(folder).written == ()
        memory.remember("Two.", about="x")
        assert memory.pages.status(folder).outdated == ("index.md", "topic-x.md")
        again = memory.pages.render(folder)
        assert again.written == ("index.md", "topic-x.md")
        assert (folder / "topic-x.md").read_text() == memory.pages.read("topic-x")
        assert memory.pages.status(folder).current == len(first.written)

    def test_a_page_that_ended_is_removed(self, memory: Memory, tmp_path: Path) -> None:
        record = memory.remember("One.", about="x")
        memory.pages.render(tmp_path)
        memory.forget(record.id)
        assert memory.pages.render(tmp_path).removed == ("topic-x.md",)
        assert not (tmp_path / "topic-x.md").exists()

    def test_what_a_person_changed_is_kept(self, memory: Memory, tmp_path: Path) -> None:
        record = memory.remember("One.", about="x")
        memory.pages.render(tmp_path)
        page = tmp_path / "topic-x.md"
        write_file(REAL, page, [b"Mine."])
        memory.remember("Two.", about="x")
        assert memory.pages.render(tmp_path).edited == ("topic-x.md",)
        assert memory.pages.status(tmp_path).edited == ("topic-x.md",)
        memory.forget(record.id)
        assert memory.pages.render(tmp_path).edited == ("topic-x.md",)
        assert page.read_text() == "Mine."
        memory.pages.render(tmp_path, overwrite=True)
        assert page.read_text() == memory.pages.read("topic-x")

    def test_the_notes_can_be_deleted(self, memory: Memory, tmp_path: Path) -> None:
        memory.remember("One.", about="x")
        memory.pages.render(tmp_path)
        write_file(REAL, tmp_path / PAGES_STATE, [b"damaged"])
        assert memory.pages.render(tmp_path).written == ()
        assert memory.pages.status(tmp_path).edited == ()

    def test_rendering_again_after_an_erasure_leaves_nothing(
        self, memory: Memory, tmp_path: Path
    ) -> None:
        record = memory.remember(f"{CANARY} text", about=f"{CANARY} about", tags=[CANARY])
        memory.graph.link(record.id, memory.remember("Other.", about="y").id, "related")
        memory.pages.render(tmp_path)
        assert holding(tmp_path, CANARY) != []  # the control
        memory.erase(record.id)
        memory.pages.render(tmp_path)
        assert holding(tmp_path, CANARY) == []

    def test_hand_edits_are_taken_over(self, memory: Memory, tmp_path: Path) -> None:
        record = memory.remember("Row 3.", about="person:Alice")
        gone = memory.remember("Tea.", about="person:Alice")
        memory.pages.render(tmp_path)
        page = tmp_path / "person-alice.md"
        text = page.read_text().replace("Row 3.", "Row 4.").replace("Tea.", "~~Tea.~~")
        text = text.replace("description: What is known about", "description: All about")
        write_file(REAL, page, [f"{text}\n## [today] #new\nDrives.\n".encode()])
        done = memory.pages.sync(tmp_path)
        assert sorted(one.what for one in done.applied) == ["added", "field", "struck", "text"]
        assert page.read_text() == memory.pages.read("person-alice")
        assert {entry.text for entry in memory.list()} == {"Drives.", "Row 4."}
        assert [version.note for version in memory.history(gone.id)][-1] == f"edited on {page.name}"
        assert memory.pages.sync(tmp_path).applied == ()
        write_file(REAL, page, [page.read_bytes().replace(b"Row 4.", b"Row 5.")])
        memory.revise(record.id, "Row 9.")
        (conflict,) = memory.pages.sync(tmp_path).conflicts
        assert (conflict.before, conflict.after, conflict.now) == ("Row 4.", "Row 5.", "Row 9.")
        memory.pages.sync(tmp_path, take={conflict.ref: "page"})
        assert page.read_text() == memory.pages.read("person-alice")
        assert "Row 5." in page.read_text()

    def test_an_edit_of_a_page_is_a_persons_word(self, memory: Memory, tmp_path: Path) -> None:
        agent = memory.scoped(trust="agent")
        its = agent.remember("Row 3.", about="person:Alice")
        memory.pages.render(tmp_path)
        page = tmp_path / "person-alice.md"
        write_file(REAL, page, [page.read_bytes().replace(b"Row 3.", b"Row 4.")])
        memory.pages.sync(tmp_path)
        now = memory.get(its.id)
        assert (now.text, now.trust) == ("Row 4.", "person")
        write_file(REAL, page, [page.read_bytes().replace(b"Row 4.", b"Row 5.")])
        assert len(agent.pages.sync(tmp_path).waiting) == 1
        assert memory.get(its.id).text == "Row 4."

    def test_what_is_proposed_by_hand_waits(self, memory: Memory, tmp_path: Path) -> None:
        memory.remember("Row 3.", about="person:Alice")
        memory.pages.render(tmp_path)
        page = tmp_path / "person-alice.md"
        write_file(REAL, page, [page.read_bytes().replace(b"Row 3.", b"Row 4.")])
        for _ in range(2):
            assert len(memory.pages.sync(tmp_path, propose=True).waiting) == 1
        (one,) = memory.review.list()
        assert (one.trust, one.text) == ("unverified", "Row 4.")

    def test_wrong_names_are_refused(self, memory: Memory) -> None:
        memory.remember("One.")
        for name in ("../index", "topic-none"):
            with pytest.raises(NotFound):
                memory.pages.read(name)
        with pytest.raises(InvalidInput):
            memory.pages.read("")


def holding(folder: Path, word: str) -> list[str]:
    """The files below a folder that hold a word, in their name or their bytes."""
    return [
        str(path)
        for path in folder.rglob("*")
        if word in path.name or (path.is_file() and word.encode() in path.read_bytes())
    ]
