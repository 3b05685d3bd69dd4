"""Files that were copied, renamed or written differently, and single marks left by hand."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.mirror.names import document_name
from recollect.model.values import Record


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "workspace") as memory:
        yield memory


@pytest.fixture
def alice(memory: Memory) -> Record:
    return memory.remember("Alice sits in row 3.", about="person:Alice")


def rendered(memory: Memory, page: str = "person-alice") -> Path:
    return Path(memory.pages.render().folder) / f"{page}.md"


def test_a_copied_page_describes_no_other_one(memory: Memory, alice: Record) -> None:
    memory.settings.documents.set(
        "page", "person-alice", {"description": "Colleague", "tags": ["x"]}
    )
    page = rendered(memory)
    copy = page.with_name("person-alicia.md")
    copy.write_bytes(page.read_bytes())
    done = memory.pages.sync()
    assert (done.applied, len(done.problems)) == ((), 1)
    assert "on two pages" in done.problems[0].message
    assert [one.name for one in memory.settings.documents.list("page")] == ["person-alice"]
    assert "person-alicia" not in [one.name for one in memory.pages.list()]
    page.unlink()  # now it was renamed
    memory.pages.sync()
    assert memory.settings.documents.get("page", "person-alicia").data["description"] == "Colleague"
    assert memory.get(alice.id).about == "person-alicia"  # type: ignore[union-attr]


@pytest.mark.parametrize("is_described", [True, False])
def test_a_flag_follows_a_renamed_page(memory: Memory, alice: Record, is_described: bool) -> None:
    if is_described:
        memory.settings.documents.set("page", "person-alice", {"description": "Colleague"})
    memory.pages.flag("person-alice", "too long")
    page = rendered(memory)
    page.rename(page.with_name("person-alicia.md"))
    memory.pages.sync()
    (flag,) = memory.settings.documents.list("page_flag")
    assert (flag.name, flag.data["reason"]) == ("person-alicia", "too long")
    assert len(memory.settings.documents.list("page")) == is_described
    text = page.with_name("person-alicia.md").read_text()
    assert "needs_compact: true" in text
    assert text == memory.pages.read("person-alicia")
    assert memory.pages.changes().changes == ()


def test_a_flag_is_taken_back_while_the_page_is_renamed(memory: Memory, alice: Record) -> None:
    memory.pages.flag("person-alice", "too long")
    page = rendered(memory)
    text = page.read_text().replace("needs_compact: true", "needs_compact: false")
    page.with_name("person-alicia.md").write_text(text)
    page.unlink()
    memory.pages.sync()
    assert memory.settings.documents.list("page_flag") == []
    assert "needs_compact: false" in memory.pages.read("person-alicia")


@pytest.fixture
def jose(memory: Memory) -> tuple[Path, Path]:
    """The page of José, and its name as systems write it that split letters."""
    memory.remember("José sits in row 3.", id="r-1", about="person:José")
    page = rendered(memory, "person-josé")
    return page, page.with_name(unicodedata.normalize("NFD", page.name))


def is_split_reported(memory: Memory, split: Path) -> bool:
    """Syncs twice, which must leave the file with split letters as it is."""
    before = split.read_bytes()
    for _ in range(2):
        done = memory.pages.sync()
        said = [one.message for one in done.problems if one.file == split.name]
        if len(said) != 1 or "rename it to person-josé.md" not in said[0]:
            return False
        if any(one.file == split.name for one in done.applied) or split.read_bytes() != before:
            return False
    return True


@pytest.mark.parametrize("is_there_twice", [True, False])
def test_a_name_with_split_letters_is_reported(
    memory: Memory, jose: tuple[Path, Path], is_there_twice: bool
) -> None:
    page, split = jose
    split.write_text(page.read_text().replace("row 3", "row 4"))
    if not is_there_twice:
        page.unlink()
    assert is_split_reported(memory, split)
    assert "row 3" in page.read_text()
    split.replace(page)  # as the report says
    done = memory.pages.sync()
    assert ([one.what for one in done.applied], done.problems) == (["text"], ())
    assert "row 4" in page.read_text()
    assert memory.pages.changes().changes == ()


def test_an_entry_under_both_forms_of_a_name_is_added_once(
    memory: Memory, jose: tuple[Path, Path]
) -> None:
    text = jose[0].read_text() + "\n## [today]\nJosé has a new desk.\n"
    for path in jose:
        path.write_text(text)
    assert is_split_reported(memory, jose[1])
    assert sorted(record.text for record in memory.list()) == [
        "José has a new desk.",
        "José sits in row 3.",
    ]


def test_prose_alone_under_a_name_with_split_letters_is_reported(
    memory: Memory, jose: tuple[Path, Path]
) -> None:
    jose[1].write_text("# José\n\nKnows the harbour.\n")
    assert is_split_reported(memory, jose[1])


@pytest.mark.parametrize("is_dangling", [True, False])
def test_a_link_in_place_of_the_page_keeps_the_name_with_split_letters(
    memory: Memory, jose: tuple[Path, Path], is_dangling: bool, tmp_path: Path
) -> None:
    page, split = jose
    page.rename(split)
    outside = tmp_path / "outside.md"
    if not is_dangling:
        outside.write_text("Not a page.")
    page.symlink_to(outside)
    split.write_text(split.read_text().replace("row 3", "row 4"))
    assert is_split_reported(memory, split)
    assert page.is_symlink()
    assert outside.exists() != is_dangling
    assert is_dangling or outside.read_text() == "Not a page."


def test_a_copy_of_a_page_with_split_letters_is_not_a_move(
    memory: Memory, jose: tuple[Path, Path]
) -> None:
    page, split = jose
    copy = page.with_name("person-zoe.md")
    copy.write_bytes(page.read_bytes())
    page.rename(split)
    found = memory.pages.changes()
    assert found.changes == ()
    assert "on two pages" in next(one.message for one in found.problems if one.file == copy.name)
    assert is_split_reported(memory, split)
    assert memory.get("r-1").about == "person:José"  # type: ignore[union-attr]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_page_with_split_letters_keeps_its_description(
    memory: Memory, jose: tuple[Path, Path], is_there: bool
) -> None:
    names = [document_name(name) for name in ("person-josé", "person-zoe")]
    memory.settings.documents.set("page", names[0], {"description": "Colleague"})
    page, split = rendered(memory, "person-josé"), jose[1]
    page.rename(page.with_name("person-zoe.md"))
    if is_there:
        split.write_text("# José\n\nKnows the harbour.\n")
    memory.pages.sync()
    assert memory.get("r-1").about == "person-zoe"  # type: ignore[union-attr]
    described = [one.name for one in memory.settings.documents.list("page")]
    assert (names[0] in described) == is_there


def test_a_side_for_no_change_is_refused(memory: Memory, alice: Record) -> None:
    page = rendered(memory)
    page.write_text(page.read_text().replace("row 3", "row 4"))
    memory.revise(alice.id, "Alice sits in row 7.")
    (conflict,) = memory.pages.changes().changes
    with pytest.raises(InvalidInput, match="no change has this ref"):
        memory.pages.sync(take={conflict.ref: "page", f"{conflict.ref}x": "page"})
    assert memory.get(alice.id).text == "Alice sits in row 7."
    assert memory.pages.sync(take={conflict.ref: "page"}).conflicts == ()


def test_an_entry_of_which_only_marks_are_left_is_rendered_again(
    memory: Memory, alice: Record
) -> None:
    page = rendered(memory)
    page.write_text(page.read_text().replace(alice.text, "~~~~") + "\n## [today]\n~~~~\n")
    assert memory.pages.sync().applied == ()
    assert [record.text for record in memory.list()] == [alice.text]
    assert page.read_text() == memory.pages.read("person-alice")


def test_struck_paragraphs_are_forgotten_with_their_own_words(memory: Memory) -> None:
    record = memory.remember("One.\n\nTwo.", about="person:Alice")
    page = rendered(memory)
    page.write_text(page.read_text().replace("One.\n\nTwo.", "~~One.~~\n\n~~Two.~~"))
    assert [one.what for one in memory.pages.sync().applied] == ["struck"]
    assert {version.record.text for version in memory.history(record.id)} == {"One.\n\nTwo."}
