"""Hand edits on pages become events; what was only rendered, or cannot be read, does not."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import Changed, ConfigError, InvalidInput, Unsupported
from recollect.memory.pages.sync import Comparison, FilePlan
from recollect.model.values import Record

TODAY = "\n## [today]"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "workspace") as memory:
        yield memory


@pytest.fixture
def alice(memory: Memory) -> Record:
    return memory.remember("Alice sits in row 3.", about="person:Alice", tags=["office"])


def rendered(memory: Memory, page: str = "person-alice") -> Path:
    return Path(memory.pages.render().folder) / f"{page}.md"


def edit(page: Path, *pairs: tuple[str, str]) -> None:
    text = page.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    page.write_text(text)


def record(memory: Memory, id: str) -> Record:
    found = memory.get(id, include=["forgotten", "replaced", "archived", "waiting"])
    assert isinstance(found, Record)
    return found


def test_a_changed_body_revises_in_place(memory: Memory, alice: Record) -> None:  # S3-177
    page = rendered(memory)
    edit(page, ("row 3", "row 4"))
    (change,) = memory.pages.changes().changes
    assert (change.what, change.state, change.id) == ("text", "ready", alice.id)
    assert (change.before, change.after) == ("Alice sits in row 3.", "Alice sits in row 4.")
    done = memory.pages.sync()
    assert [one.ref for one in done.applied] == [change.ref]
    assert record(memory, alice.id).text == "Alice sits in row 4."
    last = memory.history(alice.id)[-1]
    assert (last.what, last.by, last.note) == ("revised", "person", "edited on person-alice.md")
    assert page.read_text() == memory.pages.read("person-alice")
    assert memory.pages.sync().applied == ()


def test_a_new_entry_is_remembered_about_the_page(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    page.write_text(page.read_text() + f"{TODAY} #new\nAlice drives.\n")
    memory.pages.sync()
    (added,) = [one for one in memory.list() if one.id != alice.id]
    assert isinstance(added, Record)
    assert (added.text, added.about, added.tags) == ("Alice drives.", "person:Alice", ("new",))
    assert page.read_text() == memory.pages.read("person-alice")


def test_an_inline_correction_revises_and_forgets_nothing(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("Alice sits in row 3.", "~~Alice sits~~ Alice stands ~~in row 3.~~"))
    assert [one.what for one in memory.pages.sync().applied] == ["text"]
    now = record(memory, alice.id)
    assert (now.status, now.text) == ("active", "~~Alice sits~~ Alice stands ~~in row 3.~~")


def test_an_earlier_rendering_of_marks_is_not_an_edit(memory: Memory, alice: Record) -> None:
    old = memory.remember("use ~~strike~~\n\nsecond", about="person:Alice")
    memory.remember("newer words", replaces=old.id)
    page = rendered(memory)
    edit(
        page,
        ("~~use \\~~strike\\~~~~\n\n~~second~~", "~~use ~~strike~~\n\nsecond~~"),
        ("row 3", "row 4"),
    )
    assert [(one.what, one.id) for one in memory.pages.sync().applied] == [("text", alice.id)]
    assert record(memory, old.id).text == "use ~~strike~~\n\nsecond"


def test_the_same_words_on_two_pages_are_two_records(memory: Memory, alice: Record) -> None:
    memory.remember("Likes tea.", about="person:Bob")
    page = rendered(memory)
    page.write_text(page.read_text() + f"{TODAY}\nLikes tea.\n")
    memory.pages.sync()
    about = {one.about for one in memory.list() if isinstance(one, Record) and "tea" in one.text}
    assert about == {"person:Alice", "person:Bob"}


def test_a_new_file_is_a_new_page(memory: Memory, alice: Record) -> None:
    folder = rendered(memory).parent
    (folder / "person-bob.md").write_text(f"# Bob\n\nA friend.\n{TODAY}\nBob likes tea.\n")
    done = memory.pages.sync()
    assert {one.what for one in done.applied} == {"added", "field"}
    page = (folder / "person-bob.md").read_text()
    assert "# Bob\n\n[Index](index.md)\n\nA friend.\n\n## [20" in page
    (bob,) = [one for one in memory.list() if isinstance(one, Record) and "Bob" in one.text]
    assert bob.about == "person:Bob"


def test_a_struck_entry_stays_struck_and_an_unstruck_one_comes_back(memory: Memory) -> None:
    # S3-175 S3-176: it does not hold, and the page still shows it
    old = memory.remember("Row 3.", about="person:Alice", key="alice.seat")
    new = memory.remember("Row 4.", about="person:Alice", key="alice.seat")
    page = rendered(memory)
    edit(page, ("\nRow 4.", "\n~~Row 4.~~"))
    assert [one.what for one in memory.pages.sync().applied] == ["struck"]
    struck = record(memory, new.id)
    assert (struck.status, struck.reason, struck.replaced_by) == ("archived", "refuted", None)
    assert [one.text for one in memory.list()] == []
    assert "Row 4." not in [hit.text for hit in memory.recall("row")]
    assert f"{{id: {new.id}}}\n~~Row 4.~~\n" in page.read_text()
    assert memory.pages.sync().applied == ()
    edit(page, ("~~Row 3.~~", "Row 3."))
    assert [one.what for one in memory.pages.sync().applied] == ["unstruck"]
    assert record(memory, old.id).status == "active"


@pytest.mark.parametrize("way", ["the old names it", "the new names it", "below"])
def test_a_struck_entry_with_a_successor_is_superseded(
    memory: Memory, alice: Record, way: str
) -> None:  # S3-176
    other = memory.remember("Alice likes tea.", about="person:Alice")
    page = rendered(memory)
    mark = "" if way == "the new names it" else " #superseded-by:below"
    name = f" #supersedes:{alice.id}" if way == "the new names it" else ""
    edit(
        page,
        (f"{alice.id}}} #office", f"{alice.id}}} #office{mark}"),
        ("Alice sits in row 3.\n", f"~~Alice sits in row 3.~~\n{TODAY}{name} #office\nRow 4.\n"),
    )
    done = memory.pages.sync()
    assert [one.what for one in done.applied] == ["replaced"]
    old = record(memory, alice.id)
    assert old.status == "replaced"
    assert old.replaced_by is not None
    new = record(memory, old.replaced_by)
    assert (new.text, new.about, new.tags) == ("Row 4.", "person:Alice", ("office",))
    assert memory.history(alice.id)[-1].note == "edited on person-alice.md"
    assert f"#superseded-by:{new.id}\n~~Alice sits in row 3.~~\n" in page.read_text()
    assert record(memory, other.id).status == "active"
    assert memory.pages.changes().changes == ()


def test_a_successor_of_what_changed_is_a_conflict(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(
        page, ("Alice sits in row 3.\n", f"~~Alice sits in row 3.~~\n{TODAY} #supersedes:ID\nX.\n")
    )
    assert "nothing can replace it" in memory.pages.changes().problems[0].message
    edit(page, ("#supersedes:ID", f"#supersedes:{alice.id}"))
    memory.revise(alice.id, "Alice sits in row 9.")
    (one,) = memory.pages.sync().conflicts
    assert (one.what, one.before[-2:], one.after, one.now[-2:]) == ("replaced", "3.", "X.", "9.")
    memory.pages.sync(take="page")
    assert record(memory, alice.id).status == "replaced"


def test_tags_are_merged(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("#office", "#seat"))
    memory.revise(alice.id, tags=["window"])
    assert memory.pages.sync().conflicts == ()
    assert set(record(memory, alice.id).tags) == {"seat", "window"}


def test_the_page_itself_is_a_document(memory: Memory, alice: Record) -> None:  # S3-200
    page = rendered(memory)
    edit(
        page,
        ("description: What is known about Alice", "description: Colleague\naliases: [Al]"),
        ("tags: []", "tags: [team]"),
        ("status: active", "status: archived"),
        ("needs_compact: false", "needs_compact: true"),
        ("# Alice\n", "# Alice B.\n"),
        ("[Index](index.md)\n", "[Index](index.md)\n\nNotes of mine.\n"),
    )
    done = memory.pages.sync()
    assert len(done.applied) == 7
    assert page.read_text() == memory.pages.read("person-alice")
    for line in ("aliases: [Al]", "status: archived", "# Alice B.", "Notes of mine."):
        assert f"\n{line}\n" in page.read_text()
    assert memory.pages.changes().changes == ()


def test_a_flag_is_taken_back_by_hand(memory: Memory, alice: Record) -> None:
    memory.pages.flag("person-alice", "long")
    page = rendered(memory)
    edit(page, ("needs_compact: true", "needs_compact: false"))
    memory.pages.sync()
    assert "needs_compact: false" in page.read_text()
    assert memory.pages.changes().changes == ()


def test_a_renamed_file_changes_what_its_records_are_about(memory: Memory, alice: Record) -> None:
    memory.settings.documents.set("page", "person-alice", {"description": "Colleague"})
    page = rendered(memory)
    page.rename(page.with_name("person-alicia.md"))
    done = memory.pages.sync()
    assert {one.what for one in done.applied} == {"moved"}
    assert record(memory, alice.id).about == "person-alicia"
    assert memory.settings.documents.get("page", "person-alicia").data == {
        "description": "Colleague"
    }
    assert not page.exists()
    assert page.with_name("person-alicia.md").read_text() == memory.pages.read("person-alicia")
    assert memory.pages.changes().changes == ()


def test_an_entry_can_be_moved_to_another_page(memory: Memory, alice: Record) -> None:
    memory.remember("Bob likes tea.", about="person:Bob")
    page = rendered(memory)
    bob, text = page.with_name("person-bob.md"), page.read_text()
    entry = text[text.index("## [") :]
    bob.write_text(bob.read_text() + "\n" + entry)
    copied = memory.pages.sync()
    assert "on two pages" in copied.problems[0].message
    assert record(memory, alice.id).about == "person:Alice"
    page.write_text(text.replace(entry, ""))
    memory.pages.sync()
    assert record(memory, alice.id).about == "person:Bob"
    assert bob.read_text() == memory.pages.read("person-bob")
    assert not page.exists()


def test_what_was_only_rendered_is_not_an_edit(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    earlier = page.read_text()
    memory.revise(alice.id, "Alice sits in row 4.")
    memory.pages.sync()
    page.write_text(earlier)  # another branch
    page.with_name(".pages.json").unlink()
    assert memory.pages.changes().changes == ()
    memory.pages.sync()
    assert record(memory, alice.id).text == "Alice sits in row 4."
    assert page.read_text() == memory.pages.read("person-alice")


def test_what_is_missing_is_not_an_edit(memory: Memory, alice: Record) -> None:
    memory.remember("Alice likes tea.", about="person:Alice")
    page = rendered(memory)
    text = page.read_text()
    page.write_text(text[: text.rindex("## [")])
    assert memory.pages.sync().applied == ()
    assert page.read_text() == text
    page.write_text("")
    memory.pages.sync()
    assert page.read_text() == text
    for path in page.parent.iterdir():
        path.unlink()
    page.parent.rmdir()
    memory.pages.sync()
    assert page.read_text() == text


def test_a_conflict_is_shown_and_nothing_is_written(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("row 3", "row 4"))
    memory.revise(alice.id, "Alice sits in row 9.")
    kept, position = page.read_text(), memory.events.position
    done = memory.pages.sync()
    (one,) = done.conflicts
    assert (one.before[-2:], one.after[-2:], one.now[-2:]) == ("3.", "4.", "9.")
    assert done.rendered.edited == ("person-alice.md",)
    assert (page.read_text(), memory.events.position) == (kept, position)
    assert memory.pages.sync(take={one.ref: "memory"}).conflicts == ()
    assert record(memory, alice.id).text == "Alice sits in row 9."
    assert page.read_text() == memory.pages.read("person-alice")


@pytest.mark.parametrize("gone", ["revised", "forgotten", "replaced"])
def test_the_page_can_be_taken(memory: Memory, gone: str) -> None:
    alice = memory.remember("Row 3.", about="person:Alice", key=None if gone != "replaced" else "k")
    page = rendered(memory)
    edit(page, ("Row 3", "Row 4"))
    if gone == "revised":
        memory.revise(alice.id, "Row 9.")
    elif gone == "forgotten":
        memory.forget(alice.id)
    else:
        memory.remember("Row 9.", about="person:Alice", key="k")
    assert [one.state for one in memory.pages.changes().changes] == ["conflict"]
    done = memory.pages.sync(take="page")
    if gone == "replaced":  # the key has another holder now
        assert "key" in done.refused[0].reason
        assert "Row 4" in page.read_text()
        return
    assert record(memory, alice.id).text == "Row 4."
    assert page.read_text() == memory.pages.read("person-alice")


def test_what_the_memory_already_says_is_nothing_to_do(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("row 3", "row 4"))
    page.write_text(page.read_text() + f"{TODAY}\nAlice drives.\n")
    edited = page.read_text()
    memory.pages.sync()
    position = memory.events.position
    page.write_text(edited)  # as if it had been stopped before rendering
    done = memory.pages.sync()
    assert (done.applied, done.conflicts, memory.events.position) == ((), (), position)
    assert page.read_text() == memory.pages.read("person-alice")


def test_what_was_added_and_forgotten_since_is_a_conflict(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    page.write_text(page.read_text() + f"{TODAY}\nAlice drives.\n")
    edited = page.read_text()
    memory.pages.sync()
    (added,) = [one for one in memory.list() if one.id != alice.id]
    memory.forget(added.id)
    page.write_text(edited)
    (one,) = memory.pages.sync().conflicts
    assert (one.what, one.now) == ("added", "(forgotten)")
    assert page.read_text() == edited


def test_what_cannot_be_read_is_kept_and_reported(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("row 3.", "row 4.\n\n## [broken\nLost?"), ("tags: []", "tags: [a"))
    text = page.read_text()
    done = memory.pages.sync()
    assert [(one.line, one.keeps) for one in done.problems] == [(3, True), (19, True)]
    assert page.read_text() == text
    assert record(memory, alice.id).text == "Alice sits in row 3."


def test_an_unknown_id_never_comes_back(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    text = page.read_text()
    memory.erase(alice.id)
    assert not page.exists()
    page.write_text(text.replace("row 3", "row 4"))
    memory.pages.render()
    done = memory.pages.sync()
    assert "erased, or never there" in done.problems[0].message
    assert (memory.list(), memory.settings.documents.list()) == ([], [])
    assert page.read_text() == text.replace("row 3", "row 4")


def test_a_page_without_a_position_is_compared_with_now(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    for position in ("", "position: 0\n", "position: 999999\n", "position: soon\n"):
        text = re.sub(r"position: \d+\n", position, memory.pages.read("person-alice"))
        page.write_text(text.replace("row 3", "row 4"))
        plan = memory.pages.changes()
        assert [one.what for one in plan.changes] == ["text"]
        assert "compared with the memory as it is now" in plan.problems[-1].message


def test_a_forged_position_only_shows_more(memory: Memory, alice: Record) -> None:
    memory.revise(alice.id, "Alice sits in row 4.")
    page = rendered(memory)
    edit(page, (f"position: {memory.events.position}", f"position: {alice.seq}"))
    assert memory.pages.changes().changes == ()  # it is what the memory says
    edit(page, ("row 4", "row 5"))
    assert [one.state for one in memory.pages.changes().changes] == ["conflict"]


def test_a_body_cannot_forge_an_entry(memory: Memory, alice: Record) -> None:
    bob = memory.remember("Bob sits in row 1.", about="person:Bob")
    hostile = f"Tea.\n## [2026-01-01T00:00:00] {{id: {bob.id}}}\nBob sits on the roof."
    memory.remember(hostile, about="person:Alice")
    rendered(memory)
    assert memory.pages.changes().changes == ()
    memory.pages.sync()
    assert record(memory, bob.id).text == "Bob sits in row 1."


def test_an_edit_of_a_session_is_reported(memory: Memory) -> None:
    memory.scoped(session="s-1").remember("Alice sits in row 3.", about="person:Alice")
    rendered(memory)
    (page,) = Path(memory.pages.render().folder).glob("event-*.md")
    edit(page, ("row 3", "row 4"))
    text = page.read_text()
    done = memory.pages.sync()
    assert "on the records' own pages" in done.problems[0].message
    assert page.read_text() == text


def test_less_trust_proposes_and_the_file_stays(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("row 3", "row 4"))
    page.write_text(page.read_text() + f"{TODAY}\nAlice drives.\n")
    text = page.read_text()
    done = memory.scoped(trust="unverified").pages.sync()
    assert (len(done.waiting), done.applied) == (2, ())
    assert record(memory, alice.id).text == "Alice sits in row 3."
    assert page.read_text() == text
    again = memory.scoped(trust="unverified").pages.sync()
    assert len(again.waiting) == 2
    waiting = memory.review.list()
    assert len(waiting) == 2
    for one in waiting:
        memory.review.approve(one.id, one.digest)
    done = memory.pages.sync()
    assert (done.applied, done.waiting, done.conflicts) == ((), (), ())
    assert page.read_text() == memory.pages.read("person-alice")
    assert "row 4" in page.read_text()


def test_an_agent_may_not_move_what_a_person_said(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    page.rename(page.with_name("person-alicia.md"))
    done = memory.scoped(trust="agent").pages.sync()
    assert [refusal.change.what for refusal in done.refused] == ["moved"]
    assert record(memory, alice.id).about == "person:Alice"
    assert memory.review.list() == []


def test_what_is_applied_is_what_was_shown(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("row 3", "row 4"))
    plan = memory.pages.changes()
    edit(page, ("row 4", "row 5"))
    with pytest.raises(Changed):
        memory.pages.sync(expect=plan.digest)
    assert record(memory, alice.id).text == "Alice sits in row 3."
    with pytest.raises(InvalidInput, match="page or memory"):
        memory.pages.sync(take="both")  # type: ignore[arg-type]
    with pytest.raises(Unsupported):
        memory.at(1).pages.sync(page.parent)


def test_a_change_that_never_gets_its_turn_is_told(
    memory: Memory, alice: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, count = Comparison.files, itertools.count()

    def meanwhile(self: Comparison) -> list[FilePlan]:
        found = compared(self)
        memory.revise(alice.id, tags=[f"tag-{next(count)}"])
        return found

    page = rendered(memory)
    edit(page, ("row 3", "row 5"))
    with monkeypatch.context() as patched:
        patched.setattr(Comparison, "files", meanwhile)
        done = memory.pages.sync()
    assert done.applied == ()
    (refusal,) = done.refused
    assert "run sync again" in refusal.reason
    assert "row 5" in page.read_text()
    assert len(memory.pages.sync().applied) == 1


def test_what_a_rule_of_the_memory_refuses_is_told(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("#office", "#" + "x" * 5_000))
    (refused,) = memory.pages.sync().refused
    assert refused.change.what == "tags"
    assert "x" * 5_000 in page.read_text()


def test_files_that_are_not_pages_are_left_alone(memory: Memory, alice: Record) -> None:
    folder = rendered(memory).parent
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "app.md").write_text("{}")
    (folder / "README.md").write_text("# Read me\n")
    (folder / ".person-alice.md.swp").write_bytes(b"\0")
    (folder / "person-alice.md~").write_text("old")
    os.mkfifo(folder / "person-fifo.md")
    (folder / "person-link.md").symlink_to(folder / "person-alice.md")
    (folder / "person-latin.md").write_bytes(b"\xff\xfe")
    (folder / "Alice B.md").write_text(f"{TODAY}\nAlice drives.\n")
    before = sorted(path.name for path in folder.iterdir())
    done = memory.pages.sync()
    told = {problem.file: problem.message for problem in done.problems}
    assert set(told) == {"person-fifo.md", "person-link.md", "person-latin.md", "Alice B.md"}
    assert "topic-alice-b.md" in told["Alice B.md"]
    assert sorted(path.name for path in folder.iterdir()) == before
    assert len(memory.list()) == 1


def test_line_ends_and_marks_of_other_editors_are_not_edits(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    text = page.read_text()
    page.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert memory.pages.changes().changes == ()
    memory.pages.sync()
    assert page.read_text() == text


def test_wrong_folders_are_refused(memory: Memory, alice: Record, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(ConfigError):
            memory.pages.sync(tmp_path / name)


def test_a_proposal_for_an_edit_is_made_once(memory: Memory, alice: Record) -> None:
    tea = memory.remember("Alice likes tea.", about="person:Alice")
    page = rendered(memory)
    edit(page, ("row 3", "row 4"), ("Alice likes tea.", "~~Alice likes tea.~~"))
    edit(page, ("tags: []", "tags: [team]"))
    page.write_text(page.read_text() + f"{TODAY}\nAlice drives.\n")
    text = page.read_text()
    for _ in range(3):
        done = memory.pages.sync(propose=True)
        assert {one.what for one in done.waiting} == {"text", "struck", "added"}
        assert [refusal.change.field for refusal in done.refused] == ["tags"]
        assert page.read_text() == text
    waiting = memory.review.list()
    assert [one.intent for one in waiting] == ["update", "delete", "add"]
    assert {one.trust for one in waiting} == {"unverified"}
    assert record(memory, alice.id).text == "Alice sits in row 3."
    for one in waiting[:2]:
        memory.review.approve(one.id, one.digest)
    memory.review.reject(waiting[2].id, waiting[2].digest)
    done = memory.pages.sync(propose=True)
    assert (done.waiting, memory.review.list()) == ((), [])
    assert any("was rejected" in refusal.reason for refusal in done.refused)
    assert record(memory, alice.id).text == "Alice sits in row 4."
    assert record(memory, tea.id).status == "archived"
    assert page.read_text() == text  # the rejected words are still there
    memory.pages.sync()
    assert page.read_text() == memory.pages.read("person-alice")
    with pytest.raises(InvalidInput):
        memory.pages.sync(propose=True, take="page")


def test_a_stroke_that_was_approved_stays_on_the_page(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    edit(page, ("\nAlice sits in row 3.", "\n~~Alice sits in row 3.~~"))
    memory.pages.sync(propose=True)
    (one,) = memory.review.list()
    assert (one.refutes, one.trust) == (True, "unverified")
    memory.review.approve(one.id, one.digest)
    done = memory.pages.sync(propose=True)
    assert (done.waiting, done.refused, memory.review.list()) == ((), (), [])
    assert page.read_text() == memory.pages.read("person-alice")
    assert "\n~~Alice sits in row 3.~~\n" in page.read_text()


def test_a_rejected_forgetting_is_no_rejected_stroke(memory: Memory, alice: Record) -> None:
    memory.scoped(trust="unverified").review.propose(target=alice.id, intent="delete")
    (asked,) = memory.review.list()
    assert not asked.refutes
    memory.review.reject(asked.id, asked.digest)
    edit(rendered(memory), ("\nAlice sits in row 3.", "\n~~Alice sits in row 3.~~"))
    for _ in range(2):
        assert len(memory.pages.sync(propose=True).waiting) == 1
    assert [one.refutes for one in memory.review.list()] == [True]


def test_what_was_proposed_and_approved_is_rendered(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    page.write_text(page.read_text() + f"{TODAY}\nAlice drives.\n")
    memory.pages.sync(propose=True)
    (one,) = memory.review.list()
    memory.review.approve(one.id, one.digest)
    memory.pages.sync(propose=True)
    assert page.read_text() == memory.pages.read("person-alice")
    assert "Alice drives." in page.read_text()
    assert memory.review.list() == []
