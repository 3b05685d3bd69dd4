"""An audit as a page and as lines: hostile texts are inert in both."""

from __future__ import annotations

import random
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

from recollect.exchange.audit import lines, page
from recollect.model.values import AuditEntry, AuditHead, AuditLine, Author, Scope

HOSTILE = (
    "<script>alert(1)</script>",
    "</td></tr></table><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style><style>*{display:none}</style>",
    "<!-- --><meta http-equiv=refresh content='0;url=http://example.com'>",
    "<a href=javascript:alert(1)>x</a>",
    "&lt;script&gt; &#60;b&#62; &amp;",
    "\u202eetirw\u202c \u2066hidden\u2069",
    "\x1b[2J\x1b]0;title\x07\x00\x9b31m",
    "x" * 5_000,
    "\ufeff\u200b\u2028\u2029",
    "]]><![CDATA[",
)


class Tags(HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def entry(text: str, seq: int = 1, **changes: object) -> AuditEntry:
    made = AuditEntry(
        seq=seq, at="2026-11-17T08:41:07.497675Z", kind="record.added", what="remembered",
        by="agent", trust="unverified", scope=Scope(user=text, session=text, agent=text),
        unit="record", id=text, text=text, reason=text,
        lines=(AuditLine(seq=1, id=text, text=text),), more=2, checkpoint=None,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def head(text: str, status: str = "broken") -> AuditHead:
    return AuditHead(
        space=text, ledger=text, made_at="2026-11-17T08:41:07.497675Z", events=9, head="0" * 64,
        status=status, problem=text, anchored_through=7, checkpoints=2, covered=7, since=None,
        before="2026-11-17T08:41:07.497675Z", id=text, user=text,
    )  # fmt: skip


def parsed(raw: str) -> Tags:
    found = Tags()
    found.feed(raw)
    return found


PLAIN = parsed(b"".join(page(head("plain"), [entry("plain")])).decode())


def test_the_page_has_no_script_and_loads_nothing() -> None:
    raw = b"".join(page(head("plain"), [entry("plain")])).decode()
    assert "default-src 'none'" in raw
    assert not PLAIN.tags & {"script", "img", "link", "iframe", "form", "svg", "a", "object"}
    assert not {name for name in PLAIN.attributes if name.startswith("on")}
    assert not PLAIN.attributes & {"href", "src", "style", "action"}
    assert "url(" not in raw
    assert "@import" not in raw


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_inert(text: str) -> None:
    raw = b"".join(page(head(text), [entry(text)])).decode()
    found = parsed(raw)
    assert (found.tags, found.attributes) == (PLAIN.tags, PLAIN.attributes)
    assert raw.count("<tr") == 2
    for control in "\x00\x07\x1b\x9b\u202e\u2066\u200b\u2028\ufeff":
        assert control not in raw
    (line,) = lines([entry(text)])
    assert line.count(b"\n") == 1
    assert msgspec.json.decode(line)["detail"] == text  # a program gets it as it is


def test_500_random_hostile_texts_leave_no_live_tag() -> None:
    rng = random.Random(3)
    for _ in range(500):
        text = "".join(rng.choice(HOSTILE)[: rng.randrange(60)] for _ in range(3))
        found = parsed(b"".join(page(head(text), [entry(text)])).decode())
        assert (found.tags, found.attributes) == (PLAIN.tags, PLAIN.attributes), text


def test_control_a_page_that_escapes_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.exchange.audit.escape", lambda text, quote: text)
    found = parsed(b"".join(page(head("plain"), [entry(HOSTILE[0])])).decode())
    assert "script" in found.tags


def test_the_page_says_how_far_the_ledger_is_vouched_for() -> None:
    def told(status: str) -> str:
        return " ".join(parsed(b"".join(page(head("m", status), [])).decode()).text.split())

    assert "Anchored up to event 7" in told("anchored")
    assert "2 later events: self-consistent only." in told("anchored")
    assert "nothing that was kept elsewhere vouches" in told("self-consistent")
    assert "Broken" in told("broken")
    assert "Nothing is recorded for this range." in told("anchored")


def test_a_long_audit_is_written_in_pieces() -> None:
    pieces = list(page(head("m"), (entry("text", seq) for seq in range(1, 3_000))))
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 200_000


def test_lines_have_the_form_of_a_workspace() -> None:  # S1-58 S1-115: with more fields
    reviews = [
        entry("a", kind="record.reviewed", what="approved", by="person"),
        entry("b", kind="record.reviewed", what="rejected", by="person"),
        entry("c", kind="proposal.rejected", what="rejected", by="person"),
        entry("d", kind=None, what="(erased)"),
    ]
    found = [msgspec.json.decode(line) for line in lines(reviews)]
    assert [each["outcome"] for each in found] == ["applied", "denied", "denied", "applied"]
    assert [each["approved_by"] for each in found] == ["person", None, None, None]
    assert [each["action"] for each in found][-1] == "erased"
    assert {each["schema_version"] for each in found} == {"recollect.audit.v1"}
    form = {"at", "action", "subject", "outcome", "detail", "approved_by", "digest"}
    assert all(form < each.keys() for each in found)


def test_only_a_person_is_called_by_the_name_alone() -> None:
    mara = Author(id="a1", name="Mara", checked="token")
    approved: dict[str, Any] = {"kind": "record.reviewed", "what": "approved", "author": mara}
    by = {origin: entry("x", by=origin, **approved) for origin in ("person", "agent")}
    found = [msgspec.json.decode(line) for line in lines(by.values())]
    assert [each["approved_by"] for each in found] == ["Mara", "agent"]
    for origin, who in (("person", "<b>Mara</b>"), ("agent", "<b>agent Mara</b>")):
        assert who in b"".join(page(head("m"), [by[origin]])).decode()


def test_a_name_that_was_erased_is_neither_checked_nor_claimed() -> None:
    gone = entry("x", by="person", author=Author(id="a1", name=None))
    told = b"".join(page(head("m"), [gone])).decode()
    assert "(name erased)" in told
    assert "claimed" not in told
