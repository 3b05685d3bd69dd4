"""Certificates of erasure: one text, both ways."""

from __future__ import annotations

import pytest
from msgspec import structs

from recollect.proof.certificates import Certificate, parse_text
from recollect.proof.checkpoints import Checkpoint
from recollect.proof.notes import BadNote

LEDGER = "recollect/" + "a" * 32
MADE = Certificate(
    ledger=LEDGER,
    subjects=("0a" * 16, "0b" * 16),
    at="2026-01-01T00:00:00.000000Z",
    event=9,
    events=3,
    before=Checkpoint(LEDGER, 8, bytes(32)),
    after=Checkpoint(LEDGER, 9, b"\x01" * 32),
    cleaned=("events.wal: the bodies of 3 events",),
    not_reached=("NOT cleaned: the backup up to 2026-01-01 elsewhere",),
)


def test_a_certificate_reads_as_it_was_written() -> None:
    assert parse_text(MADE.text) == MADE


def test_nothing_may_have_been_encrypted() -> None:
    made = structs.replace(MADE, subjects=())
    assert parse_text(made.text) == made


def test_a_place_cannot_add_a_line() -> None:
    made = structs.replace(MADE, cleaned=("a\nevent 1",))
    assert "\nevent 1\n" not in made.text
    assert parse_text(made.text).event == 9


@pytest.mark.parametrize("place", range(len(MADE.text.splitlines())))
@pytest.mark.parametrize("how", ["drop", "double", "change", "move"])
def test_no_other_text_is_accepted_as_the_same(place: int, how: str) -> None:
    lines = MADE.text.splitlines()
    line = lines.pop(place)
    if how == "double":
        lines[place:place] = [line, line]
    elif how == "change":
        lines.insert(place, line + " ")
    elif how == "move":
        lines.insert(0 if place else len(lines), line)
    changed = "\n".join(lines) + "\n"
    try:
        found = parse_text(changed)
    except BadNote:
        return
    assert found.text == changed != MADE.text
    assert found != MADE
