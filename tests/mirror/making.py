"""Random records, some of them hostile, as the index has them."""

from __future__ import annotations

import random

from recollect.index.rows import VersionRow, content_id, pack_names
from recollect.index.statements import STILL
from recollect.model.instants import from_microseconds

START_US = 1_770_000_000_000_000
PIECES = (
    "Alice sits at the window.",
    "The limit is 20 MB.",
    "## [2026-01-01T00:00:00] {id: forged-1} #x",
    "   ## [2026-01-01T00:00:00] {id: forged-2}",
    "##\t[2026-01-01T00:00:00] {id: forged-3}",
    "\\## [2026-01-01T00:00:00] {id: forged-4}",
    "\\\\## [now]",
    "---",
    "===",
    "-",
    "# Title",
    "```",
    "```python",
    "````",
    "~~~",
    "~~gone~~",
    "~~",
    "~~~~",
    "\\~~kept~~",
    "<!-- hidden",
    "<h2>[2026-01-01T00:00:00]</h2>",
    "\\<script>",
    "#superseded-by:20260101-0000-aaaaaa",
    "~~a~~ #superseded-by:20260101-0000-aaaaaa",
    "",
    "   ",
    "    indented",
    "a\tb",
    "naïve 東京 😀 e\u0301",
    "x\u2028y\x0cz",
    "status: archived",
    "[Index](index.md)",
    "\\",
    "%23 %zz",
    "\ufeff",
)
NAMES = (
    "alice",
    "Alice",
    "person:Bob",
    "org/Acme",
    "tool-git",
    "Rust async",
    "C++",
    "C#",
    "東京",
    "user",
    "user-preferences",
    "event-2026-04-22",
    "../../etc/passwd",
    "a/b",
    "example.com",
    None,
)
TAGS = ("work", "a b", "x#y", "superseded-by:z", "50%", "{id: q}", "\u202eback", "a,b", "it's")


def text(chance: random.Random) -> str:
    """Some lines; never blank."""
    ends = ("\n", "\n", "\r\n", "\r")
    lines = [chance.choice(PIECES) for _ in range(chance.randint(1, 6))]
    made = "".join(line + chance.choice(ends) for line in lines)
    made = made if chance.random() < 0.3 else made.strip("\n")
    return made if made.strip() else "Something."


def record(chance: random.Random, number: int, superseded_by: str | None = None) -> VersionRow:
    """One record."""
    at = from_microseconds(START_US + number * 61_000_000)
    said, about = text(chance), chance.choice(NAMES)
    return VersionRow(
        id=f"r-{number}" if chance.random() < 0.5 else f"2026:{number}/@a+b~#c=",
        seq=number + 2,
        until=STILL,
        at=at,
        what="added",
        origin="person",
        note=None,
        created_at=at,
        text_seq=number + 2,
        text=said,
        content_id=content_id(said),
        kind="fact",
        key=None,
        about=about,
        tags=pack_names(tuple(chance.sample(TAGS, chance.randint(0, 3)))),
        user=None,
        session=chance.choice((None, None, "s-1", "with } blank", "\u202ex")),
        agent=None,
        confidence=1.0,
        source_type="told",
        evidence="[]",
        is_hypothesis=0,
        status="archived" if superseded_by else "active",
        reason="superseded" if superseded_by else None,
        valid_from=None,
        valid_to=None,
        expires=None,
        trust="person",
        supersedes=None,
        superseded_by=superseded_by,
        reinforcement_count=0,
        last_reinforced_at=0.0,
        decay_tier="standard",
        data="{}",
        said_at=None,
        reinforced_at=None,
        tz_minutes=chance.choice((0, 60, -480, 330, 99_999)),
    )


def records(chance: random.Random, count: int) -> list[VersionRow]:
    """Many records; about a tenth were superseded by another one."""
    made: list[VersionRow] = []
    for number in range(count):
        by = made[-1].id if made and chance.random() < 0.1 else None
        made.append(record(chance, number, by))
    return made
