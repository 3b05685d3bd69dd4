"""Records become pages, and pages that nobody edited say what the records said."""

from __future__ import annotations

import random
import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.rows import VersionRow, unpack_names
from recollect.mirror import names as page_names
from recollect.mirror import words
from recollect.mirror.diff import diff
from recollect.mirror.gather import About, Made, Material, gather
from recollect.mirror.names import (
    PREFERENCES,
    PROFILE,
    UNFILED,
    document_name,
    is_page_name,
    page_named,
    page_of,
)
from recollect.mirror.parse import of_record, parse
from recollect.mirror.render import render, render_index
from recollect.model.validate import Json
from tests.mirror.making import PIECES, record, records

BEGAN = ("2026-01-01T00:00:00.000000Z", 1)


def made(rows: list[VersionRow], **documents: About) -> dict[str, Made]:
    named = {name.replace("_", "-"): about for name, about in documents.items()}
    return {one.page.name: one for one in gather(Material(rows, named, (), BEGAN))}


def row(number: int = 1, **fields: object) -> VersionRow:
    plain = record(random.Random(1), number)._replace(
        id=f"20260420-1402-{number:06x}",
        text="User goes by Kming.",
        about="user",
        tags="[]",
        session=None,
        tz_minutes=480,
    )
    return plain._replace(**fields)  # type: ignore[arg-type]  # the fields of a row


def test_random_records_come_back_unchanged() -> None:
    chance = random.Random(7)
    for _ in range(10):
        rows = records(chance, 1_000)
        seen = dict[str | None, VersionRow]()
        for one in made(rows).values():
            text = render(one.page)
            reading = parse(one.page.name, text)
            assert diff(one.page, reading.page) == []
            assert reading.problems == ()
            assert render(reading.page) == text
            assert reading.head + "".join(reading.parts) == text
            by_id = {row.id: row for row in rows}
            for entry in reading.page.entries:
                if not entry.is_session:
                    seen[entry.id] = source = by_id[entry.id or ""]
                    assert entry.text == words.normal(source.text)
                    assert entry.tags == unpack_names(source.tags)
                    assert entry.struck == (source.status == "archived")
                    assert entry.superseded_by == source.superseded_by
        assert len(seen) == len(rows)  # each is there, and none was forged


def test_two_renderings_are_the_same_bytes() -> None:
    rows = records(random.Random(3), 500)
    first = [render(one.page) for one in made(rows).values()]
    shuffled = [*rows]
    random.Random(4).shuffle(shuffled)
    assert [render(one.page) for one in made(shuffled).values()] == first


def test_what_nobody_let_in_is_on_no_page_even_if_it_was_superseded() -> None:
    """A rule can supersede a held record: its text came from the web, say."""
    ended: dict[str, object] = {"status": "archived", "superseded_by": "x", "reason": "superseded"}
    held = row(2, text="zebra", about="zebra", trust="unverified", **ended)
    assert "zebra" not in str(made([row(), held]))
    let_in = row(2, text="zebra", about="zebra", trust="agent", **ended)
    assert "zebra" in str(made([row(), let_in]))  # the control


def test_an_edited_entry_is_found() -> None:
    """The control of the tests above: a difference is seen."""
    page = made([row()])[PROFILE].page
    text = render(page)
    assert [edit.what for edit in diff(page, parse(PROFILE, text.replace("Kming", "K")).page)] == [
        "text"
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_page_is_read_and_nothing_is_lost(seed: int) -> None:
    chance = random.Random(seed)
    texts = [render(one.page) for one in made(records(chance, 300)).values()]
    for _ in range(500):
        text = mutated(chance, chance.choice(texts))
        reading = parse("topic-x", text)
        assert reading.head + "".join(reading.parts) == text
        begins = re.findall(r"^## \[", text, re.MULTILINE)
        assert len(reading.page.entries) <= len(begins)  # only such a line begins an entry
        for entry, part in zip(reading.page.entries, reading.parts, strict=True):
            assert part.startswith("## [")
            assert entry.at in part.partition("\n")[0]
        again = parse("topic-x", render(reading.page))
        assert again.page.entries == reading.page.entries


def mutated(chance: random.Random, text: str) -> str:
    """A page after a few careless or hostile changes."""
    for _ in range(chance.randint(1, 8)):
        at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        end = min(end, at + 80)
        match chance.randrange(5):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + text[at:end] * 2 + text[end:]
            case 3:
                text = text[:at] + "\n" + text[at:]
            case _:
                text = text.replace("\n", "\r\n") if chance.random() < 0.2 else text[:at]
        text = text or "x"
    return text


def test_a_body_with_a_heading_is_one_entry() -> None:
    forged = "True.\n## [2026-01-01T00:00:00] {id: forged}\nFalse."
    page = made([row(text=forged)])[PROFILE].page
    text = render(page)
    assert [entry.id for entry in parse(PROFILE, text).page.entries] == ["20260420-1402-000001"]
    unguarded = parse(PROFILE, text.replace("\\## [", "## ["))  # the control
    assert [entry.id for entry in unguarded.page.entries] == ["20260420-1402-000001", "forged"]


@pytest.mark.parametrize("opening", ["```", "~~~", "<!-- x", "a\n```", "`````\n```"])
def test_a_body_cannot_hide_the_next_entry(opening: str) -> None:
    lines = words.body(opening).split("\n")
    assert all(re.match(r"\\(```|~~~|<!--)|a$", line) for line in lines)


def test_a_closed_fence_stays_as_it_was_written() -> None:
    code = "Run:\n```sh\nmake\n```"
    assert words.body(code) == code


def test_the_layout_of_the_seed() -> None:  # S3-174 S3-175 S3-176 S3-190 S3-199 S3-201
    old = row(
        1,
        text="User works at Old Corp.",
        tags='["work","boss"]',
        status="archived",
        superseded_by="20260420-1402-000002",
        created_at="2026-04-20T06:02:11.400000Z",
    )
    new = row(
        2,
        text="User joined Acme Corp.",
        tags='["work"]',
        created_at="2026-04-21T01:15:00.000000Z",
        at="2026-04-21T01:15:00.000000Z",
    )
    about = About({"tags": ["identity", "a, b"], "description": "Who: the user"}, BEGAN[0], 1)
    assert (
        render(made([new, old], user_profile=about)[PROFILE].page)
        == """\
---
description: "Who: the user"
tags: [identity, "a, b"]
status: active
created: 2026-04-20T14:02:11+08:00
updated: 2026-04-21T09:15:00+08:00
entry_count: 2
needs_compact: false
position: 4
---

# User Profile

[Index](index.md)

## [2026-04-20T14:02:11] {id: 20260420-1402-000001} #work #boss #superseded-by:20260420-1402-000002
~~User works at Old Corp.~~

## [2026-04-21T09:15:00] {id: 20260420-1402-000002} #work
User joined Acme Corp.
"""
    )


def test_superseded_by_is_read_after_the_body_too() -> None:  # S3-208 S3-209
    text = "# T\n\n## [2026-04-20T16:30:05] {id: a} #work\n~~Old.~~ #superseded-by:b\n"
    (entry,) = parse("user-profile", text).page.entries
    assert (entry.text, entry.struck, entry.superseded_by) == ("Old.", True, "b")


def _said(body: str) -> tuple[str, bool]:
    """What an entry with this body says, and whether it is struck."""
    (entry,) = parse("user-profile", f"# T\n\n## [now] {{id: a}}\n{body}\n").page.entries
    return entry.text, entry.struck


def test_each_paragraph_is_struck_through_alone() -> None:
    assert words.body("One\nline.\n \n\nTwo.", struck=True) == "~~One\nline.~~\n \n\n~~Two.~~"
    assert words.body("~one\n\n~~two", struck=True) == "~~\\~one~~\n\n~~\\~~two~~"
    assert words.body("about ~5, a ~~b~~", struck=True) == "~~about ~5, a \\~~b\\~~~~"


@pytest.mark.parametrize(
    ("body", "text", "struck"),
    [
        ("~~use ~~strike~~\n\nsecond~~", "use ~~strike~~\n\nsecond", True),  # one pair of marks
        ("~~use ~~strike~~~~\n\n~~second~~", "use ~~strike~~\n\nsecond", True),  # one for each
        ("~~\\~n is a tilde~~", "\\~n is a tilde", True),
        ("~~\\\\~n is a ~~ tilde~~", "\\~n is a ~~ tilde", True),
        ("~~~one~~", "~one", True),
        ("~~use ~~strike~~ #superseded-by:b", "use ~~strike", True),
        ("a \\~~b\\~~", "a ~~b~~", False),  # the marks around it were removed
    ],
)
def test_the_record_tells_which_marks_are_its_own(body: str, text: str, struck: bool) -> None:
    reading = parse("user-profile", f"# T\n\n## [now] {{id: a}}\n{body}\n")
    (entry,), (part,) = reading.page.entries, reading.parts
    read = of_record(entry, part, text, was_struck=True)
    assert (read.text, read.struck) == (text, struck)
    assert of_record(entry, part, "Other.", was_struck=True) == entry


def test_a_long_run_of_backslashes_is_struck_in_one_pass() -> None:
    text = "a " + "\\" * 400_000 + "b ~~"  # minutes, if each of them were a new start
    assert _said(words.body(text, struck=True)) == (text, True)


def test_marks_escaped_by_hand_in_an_entry_that_was_not_struck_are_a_change() -> None:
    reading = parse("user-profile", "# T\n\n## [now] {id: a}\na \\~~b\\~~\n")
    (entry,), (part,) = reading.page.entries, reading.parts
    assert of_record(entry, part, "a ~~b~~", was_struck=False).text == "a \\~~b\\~~"


@pytest.mark.parametrize(
    ("body", "text", "struck"),
    [
        ("~~one~~\n\n~~two~~", "one\n\ntwo", True),
        ("~~one~~  \n\n~~two~~", "one\n\ntwo", True),
        ("~~one\n\ntwo~~", "one\n\ntwo", True),  # as an earlier release rendered it
        ("~~one~~\n\n~~two~~ #superseded-by:b", "one\n\ntwo", True),
        ("~~one~~\n\ntwo", "~~one~~\n\ntwo", False),
        ("~~one~~\n\nmore\n\n~~two~~", "~~one~~\n\nmore\n\n~~two~~", False),
        ("~~~~", "", False),  # nothing is left of it
        ("~~\n\n~~", "", False),
        ("~~\t~~~", "\t~", True),
        ("~~Monday~~ Tuesday ~~at noon~~", "~~Monday~~ Tuesday ~~at noon~~", False),
        ("~~Monday~~\n\nTuesday ~~noon~~", "~~Monday~~\n\nTuesday ~~noon~~", False),
        ("~~one.~~\n~~two.~~\n\n~~three~~", "one.\ntwo.\n\nthree", True),
        ("~~one.~~\ntwo.~~", "~~one.~~\ntwo.~~", False),
        ("~~~\nmake all\n~~~", "~~~\nmake all\n~~~", False),
        ("~~~~sh\n\nmake all\n\n~~~~", "~~~~sh\n\nmake all\n\n~~~~", False),
        ("~~use \\~~this\\~~~~", "use ~~this~~", True),
        ("\\~n is a tilde", "\\~n is a tilde", False),
    ],
)
def test_struck_paragraphs_are_read(body: str, text: str, struck: bool) -> None:
    assert _said(body) == (text, struck)


def test_random_bodies_come_back_unchanged() -> None:
    chance, seen = random.Random(11), 0
    pieces = (
        "one",
        "\t",
        "~",
        "~~",
        "~~~",
        "\n",
        "\n\n",
        "\n \n",
        "```",
        "## [x]",
        " ",
        "\\",
        "---",
        "<b>",
    )
    for _ in range(5_000):
        text = words.normal("".join(chance.choices(pieces, k=chance.randint(1, 9))))
        if not text.strip():
            continue
        struck = chance.random() < 0.7
        body = words.body(text, struck=struck)
        assert _said(body) == (text, struck), (text, body)
        if struck:  # a fence would hide the entries that follow
            assert not any(line.lstrip(" ").startswith(("~~~", "```")) for line in body.split("\n"))
            seen += "\n\n" in body
    assert seen > 100


def test_two_pages_are_there_from_the_beginning() -> None:  # S3-187
    pages = made([])
    assert list(pages) == [PREFERENCES, PROFILE]
    assert parse(PROFILE, render(pages[PROFILE].page)).problems == ()


def test_a_day_tells_what_was_learned_in_each_session() -> None:  # S3-186
    late = "2026-04-22T20:00:00.000000Z"  # the 23rd where it was written
    old = row(1, about="alice", text="Row 3.", status="archived", superseded_by="new")
    new = row(2, id="new", about="alice", text="The window.", session="s", created_at=late)
    other = row(3, text="Likes tea.", session="s", created_at=late)
    day = made([old, new, other])["event-2026-04-23"]
    (entry,) = day.page.entries
    assert entry.text == (
        "Learned:\n- Likes tea. ([User Profile](user-profile.md))\n\n"
        "Corrected:\n- The window. Before: Row 3. ([alice](topic-alice.md))"
    )
    assert set(day.events) == {old.seq, new.seq, other.seq}


def test_what_is_held_or_forgotten_is_on_no_page() -> None:
    rows = [row(1, status="held"), row(2, status="forgotten"), row(3, status="archived")]
    assert all(not one.page.entries for one in made(rows).values())


def test_pages_that_are_related_link_to_each_other() -> None:
    rows = [row(1, about="person:Al [ice]"), row(2, about="org:Acme")]
    pages = {
        one.page.name: one.page
        for one in gather(Material(rows, {}, [(rows[0].id, rows[1].id), ("x", "y")], BEGAN))
    }
    assert "Related: [Al \\[ice\\]](person-al-ice" in render(pages["org-acme"])
    read = parse("org-acme", render(pages["org-acme"])).page
    assert read.links == pages["org-acme"].links
    listed = render_index(pages.values())
    assert "## Org\n\n- [Acme](org-acme.md): What is known about Acme, 1 entry" in listed


def test_records_about_nothing_have_one_page() -> None:
    assert page_of(None) == UNFILED
    assert made([row(about=None)])[UNFILED].page.title == "Everything else"


@pytest.mark.parametrize(
    ("about", "page"),
    [
        ("user", "user-profile"),
        ("User", "user-profile"),
        ("user-preferences", "user-preferences"),
        ("project:Open Chronicle", "project-open-chronicle"),
        ("tool/cursor", "tool-cursor"),
        ("Rust async", "topic-rust-async"),
        ("rust_async", "topic-rust-async"),
        ("person-alice", "person-alice"),
        ("org Anthropic", "org-anthropic"),
        ("event-2026-04-22", "event-2026-04-22"),
        ("example.com", "topic-example.com"),
        ("東京", "topic-東京"),
        ("userland", "topic-userland"),
    ],
)
def test_names_of_pages(about: str, page: str) -> None:  # S3-180 S3-181 S3-182 S3-183 S3-184 S3-185
    assert page_of(about) == page
    assert is_page_name(page)
    assert page_of(page) == page


def hostile_names(count: int) -> list[str]:
    chance = random.Random(11)
    parts = (
        "..",
        "/",
        "\\",
        "\x00",
        "con",
        "aux.txt",
        "~",
        "$HOME",
        "`id`",
        "%2e%2e%2f",
        "．．／",
        "․․",
        "\u202e",
        "\u200b",
        " ",
        "-",
        ".",
        "a" * 150,
        "é",
        "e\u0301",
        "K",
        "ﬀ",
        "İ",
        "ß",
        "|",
        "[[x]]",
        "#",
        "^",
        ":",
        "*",
        "?",
        '"',
        "<",
        ">",
        "\n",
        "index",
        "unfiled",
        "user-",
        "😀",
        "\ud7ff",
        "東" * 60,
        "file:",
        "C:",
        ".git",
        ".md",
    )
    return ["".join(chance.choices(parts, k=chance.randint(1, 5))) for _ in range(count)]


def test_hostile_names_stay_in_their_folder() -> None:
    safe = re.compile(r"(user|project|tool|topic|person|org|event)-[\w.-]*[^\W_]", re.UNICODE)
    names = hostile_names(2_000)
    assert len(set(names)) > 1_500
    for about in names:
        page = page_of(about)
        assert not {"/", "\\", "\x00", "\n", " "} & set(page)
        assert ".." not in page
        assert len(f"{page}.md".encode()) <= 255
        assert re.match("(user|project|tool|topic|person|org|event)-", page)
        assert safe.fullmatch(page) or re.search(r"[^\x00-\x7f]", page)
        name = document_name(page)
        assert len(name) <= 100
        assert name.isascii()
        assert page_named(name) == page


def test_plain_names_are_made_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    names = ["".join(chance.choices("ab9.-_ Z:", k=chance.randint(1, 9))) for _ in range(5_000)]
    names += [f"topic:{'a' * length}" for length in range(80, 110)]
    quick = [page_of(name) for name in names]
    monkeypatch.setattr(page_names, "_PLAIN", re.compile("(?!)"))  # matches nothing
    assert [page_of(name) for name in names] == quick


def test_different_entities_have_different_pages() -> None:
    assert (
        len({page_of(name) for name in ("C", "C++", "C#", "c/", "..c", "a" * 150, "a" * 151)}) == 7
    )


def test_what_the_frontmatter_cannot_say_is_kept() -> None:
    text = (
        "---\ndescription: 'it''s' # c\ntags: [a, \"b, c\", d] # x\nstatus: gone\n"
        "status: archived\naliases:\n  - one\nneeds_compact: true\nneeds_compact: false\n"
        "tags: [open\n---\n# T\nNote.\n"
    )
    reading = parse("topic-t", text)
    page = reading.page
    assert (page.description, page.tags) == ("it's", ("a", "b, c", "d"))
    assert (page.status, page.needs_compact, page.title) == ("archived", True, "T")
    assert page.other == (
        "status: gone",
        "aliases:",
        "  - one",
        "needs_compact: false",
        "tags: [open",
    )
    assert [(problem.line, problem.message) for problem in reading.problems] == [
        (4, "status: not one of active, dormant, archived"),
        (9, "needs_compact is there twice"),
        (10, "tags is there twice"),
    ]


@pytest.mark.parametrize(
    "line",
    ["tags: [a", "tags: [a] b", 'description: "a" b', 'description: "\\q"', "description: [a]",
     "position: 1e9", "needs_compact: maybe", "tags: [a, [b]]", "description: |"],
)  # fmt: skip
def test_a_value_that_cannot_be_read_is_reported(line: str) -> None:
    reading = parse("topic-t", f"---\n{line}\n---\n")
    assert reading.page.other == (line,)
    assert [problem.line for problem in reading.problems] == [2]


def test_headings_that_are_no_entries_stay_in_the_text() -> None:
    text = (
        "## [x\nlost?\n\n## [2026] {id: a}\nA.\n## [2026] {id: a b}\nB.\n\n## [2026] {id: a}\nC.\n"
    )
    reading = parse("topic-t", text)
    assert [(entry.id, entry.text) for entry in reading.page.entries] == [
        ("a", "A.\n## [2026] {id: a b}\nB."),
        ("a", "C."),
    ]
    assert [problem.line for problem in reading.problems] == [1, 6, 9]
    assert reading.head == "## [x\nlost?\n\n"


def test_edits_are_named() -> None:
    rows = [row(number, text=f"Number {number}.") for number in range(1, 6)]
    page = made(rows)[PROFILE].page
    text = render(page).replace("Number 1.", "Number one.").replace("Number 2.", "~~Number 2.~~")
    text = text.replace("Number 3.", "").replace("000004}", "000004} #new")
    text = text.replace("# User Profile", "# Me").replace("status: active", "status: archived")
    text = re.sub(r"## .*000005}\nNumber 5.\n", "## [today] #a\nAdded.\n", text)
    text += "\n## [x] {id: elsewhere}\nMoved.\n"
    edits = [(edit.what, edit.id) for edit in diff(page, parse(PROFILE, text).page)]
    id = "20260420-1402-00000"
    assert edits == [
        ("page", "status"), ("page", "title"), ("text", f"{id}1"), ("struck", f"{id}2"),
        ("missing", f"{id}3"), ("tags", f"{id}4"), ("added", None), ("unknown", "elsewhere"),
        ("missing", f"{id}5"),
    ]  # fmt: skip
    described = render(page).replace("needs_compact: false", "needs_compact: true")
    described = described.replace("tags: []", "tags: [x]").replace("Identity and", "Some")
    described = described.replace("Number 1.", "~~Number 1.~~")
    edited = parse(PROFILE, described).page
    assert [edit.id for edit in diff(page, edited)][:3] == ["description", "tags", "needs_compact"]
    assert diff(edited, page)[-1].what == "unstruck"


def test_offsets_of_any_size_are_read() -> None:
    first, last = "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.000000Z"
    assert words.local(first, -60) == datetime.fromisoformat(first)
    assert words.local(last, 60) == datetime.fromisoformat(last)
    assert words.local(last, 10**15) == datetime.fromisoformat(last)


def test_what_a_document_keeps_beside_the_fields_is_rendered_and_read_back() -> None:
    prose = "Notes of mine.\n\n## [2026-01-01T00:00:00] {id: forged}\n<!-- hidden"
    other = ["aliases: [Al]", "  nested: 1", "", "# a comment"]
    hostile: list[Json] = ["position: 9", "---", "a\nposition: 9", 7]
    about = About({"prose": prose, "other": [*other, *hostile]}, BEGAN[0], 9)
    page = made([row()], user_profile=about)["user-profile"].page
    reading = parse(page.name, render(page))
    assert reading.page.prose == prose
    assert reading.page.other == tuple(other)
    assert [entry.id for entry in reading.page.entries] == ["20260420-1402-000001"]
    assert reading.problems == ()
    assert reading.page.position == page.position
    assert render(reading.page) == render(page)


def test_fields_that_are_missing_or_unreadable_are_not_said() -> None:
    reading = parse("user-profile", "---\ndescription: x\ntags: [a\n---\n\nText.\n")
    assert reading.said == {"description"}
    assert reading.page.prose == "Text."


def test_a_description_on_many_lines_is_read_in_time() -> None:
    """Other programs fold it; a hostile file folds it a million times."""
    many = 300_000
    more = "  two\n" * many
    page = parse("x", f"---\ndescription: one\n{more}tags: [a]\n---\n").page
    assert len(page.description) == len("one") + many * len(" two")
    assert (page.tags, page.other) == (("a",), ())
    plain = parse("x", "---\ndescription: 'it is\n  long'\nother:\n  nested: 1\n---\n").page
    assert (plain.description, plain.other) == ("it is long", ("other:", "  nested: 1"))


MARKS = [*"\n\n\n\\ -=~`#x\r\t\u2028", "```", "~~~", "~~", "## [", "<a", "    ", "--"]


@given(st.lists(st.sampled_from(MARKS), max_size=20).map("".join))
def test_a_body_is_guarded_in_one_search_as_line_by_line(text: str) -> None:
    plain = words.normal(text)
    unclosed = words._unclosed(plain)
    made: list[str] = []
    at, above = 0, None
    for line in plain.split("\n"):
        made.append(words._guarded(line, above, at >= unclosed))
        at, above = at + len(line) + 1, line
    assert words.body(text) == "\n".join(made)
