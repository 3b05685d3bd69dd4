"""S3: pages of a memory, each clause that holds so far."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from recollect import Memory
from recollect.mirror.parse import parse

HEADING = re.compile(
    r"^## \[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] \{id: \d{8}-\d{4}-[0-9a-f]{6}\}((?: #\S+)*)$",
    re.MULTILINE,
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "workspace") as memory:
        yield memory


def text(memory: Memory, name: str) -> str:
    """A page as its file has it."""
    return (Path(memory.pages.render().folder) / f"{name}.md").read_text()


def test_one_plain_file_for_each_entity(memory: Memory) -> None:  # S3-174 S3-220
    memory.remember("Uses make.", about="project:Apollo")
    memory.remember("Sits at the window.", about="person:Alice")
    assert "Uses make." in text(memory, "project-apollo")
    assert "Sits at the window." in text(memory, "person-alice")
    assert "Uses make." not in text(memory, "person-alice")


@pytest.mark.parametrize("prefix", ["user", "project", "tool", "topic", "person", "org"])
def test_the_prefixes(memory: Memory, prefix: str) -> None:
    # S3-180 S3-181 S3-182 S3-183 S3-184 S3-185 S3-188: created on demand
    name = f"{prefix}-example"
    assert name not in [page.name for page in memory.pages.list()]
    memory.remember("Something.", about=f"{prefix}:Example")
    assert name in [page.name for page in memory.pages.list()]


def test_a_day_has_one_file_about_its_sessions(memory: Memory) -> None:  # S3-186
    made = memory.scoped(session="morning").remember("Learned.", about="x")
    memory.scoped(session="evening").remember("More.", about="x")
    days = [page.name for page in memory.pages.list() if page.name.startswith("event-")]
    assert len(days) == 1
    assert re.fullmatch(r"event-\d{4}-\d\d-\d\d", days[0])
    assert text(memory, days[0]).count("\n## [") == 2
    assert abs((datetime.fromisoformat(made.created_at[:10]) - _day(days[0])).days) <= 1


def _day(name: str) -> datetime:
    return datetime.fromisoformat(name.removeprefix("event-"))


def test_two_pages_are_preseeded(memory: Memory) -> None:  # S3-187
    memory.remember("Anything.")
    folder = Path(memory.pages.render().folder)
    assert (folder / "user-profile.md").is_file()
    assert (folder / "user-preferences.md").is_file()


def test_frontmatter_title_and_entries(memory: Memory) -> None:
    # S3-175 S3-190 S3-192 S3-195 S3-197 S3-199
    memory.remember("First.", about="tool:Make")
    memory.settings.documents.set("page", "tool-make", {"tags": ["build", "c"]})
    memory.remember("Second.", about="tool:Make")
    page = text(memory, "tool-make")
    fields = dict(line.split(": ", 1) for line in page.split("---\n")[1].splitlines())
    assert list(fields)[:7] == [
        "description", "tags", "status", "created", "updated", "entry_count", "needs_compact",
    ]  # fmt: skip
    assert fields["tags"] == "[build, c]"
    assert fields["entry_count"] == "2" == str(len(HEADING.findall(page)))
    created, updated = (datetime.fromisoformat(fields[name]) for name in ("created", "updated"))
    assert created.utcoffset() is not None
    assert created <= updated
    assert "\n# Make\n" in page


def test_description_and_status(memory: Memory) -> None:  # S3-193
    memory.remember("First.", about="tool:Make")
    (page,) = [page for page in memory.pages.list() if page.name == "tool-make"]
    assert "\n" not in page.description
    assert page.description
    assert page.status == "active"
    memory.settings.documents.set(
        "page", "tool-make", {"description": "Builds.", "status": "archived"}
    )
    assert "description: Builds.\n" in text(memory, "tool-make")
    assert "status: archived\n" in text(memory, "tool-make")


def test_headings_of_entries(memory: Memory) -> None:  # S3-201 S3-202
    memory.remember("First.", about="x", tags=["work", "employer"])
    (tags,) = HEADING.findall(text(memory, "topic-x"))
    assert tags == " #work #employer"


def test_what_changed_is_struck_through_in_place(memory: Memory) -> None:
    # S3-176 S3-208 S3-209 S3-211 S3-212
    old = memory.remember("Row 3.", about="x", key="seat")
    new = memory.remember("The window.", about="x", key="seat")
    page = text(memory, "topic-x")
    assert f"{{id: {old.id}}} #superseded-by:{new.id}\n~~Row 3.~~\n" in page
    assert page.endswith(f"{{id: {new.id}}}\nThe window.\n")


def test_superseded_by_after_the_body_is_read_too() -> None:  # S3-209
    (entry,) = parse(
        "x", "## [2026-04-20T16:30:05] {id: a}\n~~Old.~~ #superseded-by:b\n"
    ).page.entries
    assert (entry.text, entry.struck, entry.superseded_by) == ("Old.", True, "b")


def test_what_was_superseded_is_hidden_unless_asked_for(memory: Memory) -> None:  # S3-210
    old = memory.remember("The seat is in row 3.", key="seat")
    memory.remember("The seat is at the window.", key="seat")
    assert old.id not in [hit.id for hit in memory.recall("seat row")]
    assert old.id in [hit.id for hit in memory.recall("seat row", include=["replaced"])]


def test_a_forged_heading_is_not_an_entry(memory: Memory) -> None:  # S3-201
    memory.remember("True.\n## [2026-01-01T00:00:00] {id: 20260101-0000-aaaaaa}\nNo.", about="x")
    assert len(HEADING.findall(text(memory, "topic-x"))) == 1


def test_one_broken_page_stops_nothing(memory: Memory) -> None:
    memory.remember("First.", about="x")
    memory.remember("Second.", about="y")
    folder = Path(memory.pages.render().folder)
    (folder / "topic-x.md").write_bytes(b"\xff\xfe---\n## [")
    memory.remember("Third.", about="y")
    assert memory.pages.render().edited == ("topic-x.md",)
    assert "Third." in (folder / "topic-y.md").read_text()
