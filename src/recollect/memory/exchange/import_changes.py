"""What an import changes on a record that it brought in before.

Responsible for comparing three states: what imports said last, what the record is here, and what it
is there now. Leaves storing to ``memory.exchange.imports``. Invariants: what was changed here
since the last import stays; a text that was changed on both sides is not chosen between.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, TypeVar, cast

import msgspec

from recollect.exchange.items import EpisodeItem, Item, LinkItem, RecordItem, names_in
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, pack_names, unpack_names, unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.marks import same_command
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.memory.exchange.import_commands import ENDED, ItemCommands, digest
from recollect.memory.handle import acts
from recollect.memory.handle.acts import Acts
from recollect.model.events import Archival
from recollect.model.limits import BROUGHT_REINFORCEMENTS_MAX_COUNT

LIVE: Final = ("active", "held", "inbox")
_HOLDS: Final = ("active", "inbox")
_FIELDS: Final = ("text", "data", "about", "confidence", "kind", "status")
T = TypeVar("T")


def under_known_ids(reads: Reads, items: Sequence[Item]) -> list[Item]:
    """The items; one that an earlier release brought has the id that it was given then."""
    names = {name for item in items for name in names_in(item)}
    older = {name for name in names if _is_id_of_its_command(reads, name)}
    return [_as_older(item, older) for item in items]


def _is_id_of_its_command(reads: Reads, name: str) -> bool:
    """True if a command of this name made a record with this id, as all imports did once."""
    versions = reads.versions(name) if reads.has_version(name) else []
    writer = reads.command_of(versions[0].seq) if versions else None
    return writer is not None and writer.id == name


def _as_older(item: Item, older: set[str]) -> Item:
    if isinstance(item, RecordItem) and item.name in older:
        return msgspec.structs.replace(item, id=item.name)
    if isinstance(item, LinkItem) and item.names is not None:
        source, target = item.names
        return msgspec.structs.replace(
            item,
            source=source if source in older else item.source,
            target=target if target in older else item.target,
        )
    return item


def up_to_date(
    reads: Reads, item: Item, make: ItemCommands, said: Collection[str]
) -> c.Command | str | None:
    """The command that brings something up to what it says elsewhere, or why it stays as it is.

    None if nothing is to be done: it says that already, or it was forgotten or erased here. What
    is in ``said`` comes back if an import ended it.
    """
    if isinstance(item, EpisodeItem):
        here = reads.episode(item.id)
        is_other = here is not None and here.hidden is None and here.text != item.text
        return f"{item.id} says something else there; what was said stays" if is_other else None
    if isinstance(item, LinkItem) and item.edge is None:
        before = reads.command(make.name(item))
        is_same = before is None or same_command(before.marks, make.command(item))
        return None if is_same else "the link has changed there; the one here stays"
    row = reads.version(item.id) if isinstance(item, RecordItem) else None
    if not isinstance(item, RecordItem) or row is None:
        return None
    if not make.may_see(row):
        return None if item.name is None else f"the id {item.id} is already used"
    base = last_said(reads, item.id, make.name(item))
    is_back = item.id in said and _is_ended_by_import(reads, row)
    if row.status not in LIVE and not is_back and (base is not None or item.name is None):
        return None  # what ended here does not come back
    if base is None:
        if any(is_said_by(version, item) for version in reads.versions(item.id)):
            if item.earlier_id and item.status not in LIVE:
                return f"{item.id} does not hold there any more; here it does"
            return None  # it says what it says there, or did before it was changed here
        return f"{item.id} has another text there; the one here stays"
    if is_torn(base, row, item):
        return f"{item.id} was changed both there and here"
    acts = change_of(make.acts, base, row, item, is_held=make.is_held, reason=make.reason)
    if is_back:
        acts = (c.Restore(id=item.id), *acts)
    actor = make.actor(item)
    if acts and not may_alter(reads, actor, row):
        return f"a person has changed {item.id} here"
    # What is brought up to date depends on the record, so its position is in the name.
    name = f"{make.name(item)}@{digest([row.seq, msgspec.to_builtins(item)])[:16]}"
    return c.Command(id=name, actor=actor, acts=acts, named=True) if acts else None


def _is_ended_by_import(reads: Reads, row: VersionRow) -> bool:
    """True if a record ended because it was said there no longer."""
    writer = reads.command_of(row.seq)
    if writer is None or row.status in LIVE:
        return False
    if row.superseded_by is not None:
        name = row.superseded_by
        return reads.command(name) is not None and writer.id.partition("@")[0] == name
    return writer.id.startswith(row.id + ENDED)


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
    if item.status == "forgotten":
        return (c.Forget(id=item.id),)
    found: list[c.Act] = []
    text = _kept(base.text, row.text, item.text)
    data, known = unpack_object(row.data), row.confidence
    wanted = _kept(unpack_object(base.data), data, item.data)
    about = _kept(base.about, row.about, item.about)
    sure = known if item.confidence is None else _kept(base.confidence, known, item.confidence)
    kind = row.kind if item.kind is None else _kept(base.kind, row.kind, item.kind)
    if row.status == base.status == "inbox" and item.status == "active" and not is_held:
        found.append(c.Restore(id=item.id))
    if (row.text, data, row.about, known, row.kind) != (text, wanted, about, sure, kind):
        revise = make.revise(
            item.id, text, reason=reason, evidence=(), data=wanted, expires=msgspec.UNSET
        )
        found.append(msgspec.structs.replace(revise, about=about, confidence=sure, kind=kind))
    if row.status == "active" and not is_held:
        found += [c.Reinforce(id=item.id)] * _used_since(row, item)
    was, tags, there = set(unpack_names(base.tags)), set(unpack_names(row.tags)), set(item.tags)
    add, gone = there - was - tags, (was - there) & tags
    if add or gone:
        found.append(acts.tag(item.id, sorted(add), sorted(gone)))
    if item.status not in _HOLDS and not is_held:
        found.append(c.Archive(id=item.id, why=cast(Archival, item.status)))
    return tuple(found)


def _used_since(row: VersionRow, item: RecordItem) -> int:
    """How much more often it was used there than is counted here."""
    counted = 0 if item.state is None else item.state.reinforced
    return min(max(counted - row.reinforcement_count, 0), BROUGHT_REINFORCEMENTS_MAX_COUNT)


def _kept(base: T, here: T, there: T) -> T:
    """A value as it is there, unless it was changed here."""
    return there if here == base else here
