"""What an import changes on a record that it brought in before.

Responsible for comparing three states: what imports said last, what the record is here, and
what it is there now. Leaves storing to ``memory.importing``. Invariants: what was changed here
since the last import stays; a text that was changed on both sides is not chosen between.
"""

from __future__ import annotations

from typing import Final, TypeVar, cast

import msgspec

from recollect.exchange.items import RecordItem
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, pack_names, unpack_names, unpack_object
from recollect.lifecycle import commands as c
from recollect.memory import acts
from recollect.memory.acts import Acts
from recollect.model.events import Archival

_HOLDS: Final = ("active", "inbox")
_FIELDS: Final = ("text", "data", "about", "confidence")
T = TypeVar("T")


def last_said(reads: Reads, id: str, name: str) -> VersionRow | None:
    """A record with what imports said of it last, whose commands begin with this name.

    Later versions hold what was changed here too, so each field is that of the last import which
    changed it.
    """
    said: VersionRow | None = None
    before: VersionRow | None = None
    for row in reads.versions(id):
        writer = reads.command_of(row.seq)
        if writer is not None and (writer.id == name or writer.id.startswith(f"{name}@")):
            said = row if said is None or before is None else _with_changes(said, before, row)
        before = row
    return said


def _with_changes(said: VersionRow, before: VersionRow, row: VersionRow) -> VersionRow:
    changed = {
        one: getattr(row, one) for one in _FIELDS if getattr(row, one) != getattr(before, one)
    }
    was, now, tags = (set(unpack_names(one.tags)) for one in (before, row, said))
    return said._replace(
        **changed, tags=pack_names(tuple(sorted(tags - (was - now) | (now - was))))
    )


def is_said_by(row: VersionRow, item: RecordItem) -> bool:
    """True if a version says what an item says; of a node its other fields count too."""
    is_same = item.command is None or unpack_object(row.data) == item.data
    return row.text == item.text and is_same


def is_torn(base: VersionRow, row: VersionRow, item: RecordItem) -> bool:
    """True if the text was changed both there and here."""
    return base.text not in (row.text, item.text) and row.text != item.text


def change_of(
    make: Acts, base: VersionRow, row: VersionRow, item: RecordItem, *, is_held: bool, reason: str
) -> tuple[c.Act, ...]:
    """The acts that bring a record up to what it is there; none if it is that already."""
    found: list[c.Act] = []
    text = _kept(base.text, row.text, item.text)
    data, known = unpack_object(row.data), row.confidence
    wanted = _kept(unpack_object(base.data), data, item.data)
    about = _kept(base.about, row.about, item.about)
    sure = known if item.confidence is None else _kept(base.confidence, known, item.confidence)
    if (row.text, data, row.about, known) != (text, wanted, about, sure):
        revise = make.revise(
            item.id, text, reason=reason, evidence=(), data=wanted, expires=msgspec.UNSET
        )
        found.append(msgspec.structs.replace(revise, about=about, confidence=sure))
    was, tags, there = set(unpack_names(base.tags)), set(unpack_names(row.tags)), set(item.tags)
    add, gone = there - was - tags, (was - there) & tags
    if add or gone:
        found.append(acts.tag(item.id, sorted(add), sorted(gone)))
    if item.status not in _HOLDS and not is_held:
        found.append(c.Archive(id=item.id, why=cast(Archival, item.status)))
    return tuple(found)


def _kept(base: T, here: T, there: T) -> T:
    """A value as it is there, unless it was changed here."""
    return there if here == base else here
