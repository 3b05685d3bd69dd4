"""A thing of another program that was imported before: what is said of it there no longer.

Responsible for comparing what earlier imports brought of a thing with all that is said of it now,
and for finding which new statement takes the place of which old one. Leaves storing to
``memory.exchange.imports``. Invariants: only what an import brought ends here; what was changed
here, or may not be changed by an import, stays and is reported; if a thing of the same name may be
another one, nothing of it ends.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, cast

from msgspec import structs

from recollect.exchange.items import Entity, Item, LinkItem, RecordItem
from recollect.index.filter.parse import parse
from recollect.index.reads import Reads
from recollect.index.rows import LinkRow, VersionRow, unpack_object
from recollect.index.selections import records_about
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.memory.exchange.import_changes import LIVE, last_said
from recollect.memory.exchange.import_commands import ENDED, ItemCommands
from recollect.model import limits
from recollect.recall.visibility import statuses

_IMPORTED: Final = parse("how_known = 'imported'", "record")
_WORD: Final = re.compile(r"\w+")
_ALIKE: Final = 0.5  # of the words of two statements, if one took the place of the other
_PAIRS_MAX_COUNT: Final = 300  # statements of a thing that are compared with each other
_GENERATIONS_MAX_COUNT: Final = 1_000  # how often a link came and went


class Compared(NamedTuple):
    """What becomes of what earlier imports brought of a thing."""

    said: set[str]  # the ids of all that is said of things there now
    replaced: dict[str, str]  # the id of a new statement, and of the one that it replaces
    torn: dict[str, str]  # new statements that are not imported, and why
    ends: list[c.Command]  # of what is said there no longer
    again: dict[str, str]  # links that an import ended and that are there again, each by its name
    kept: list[tuple[str, str]]  # where something is said no longer, and why it stays here

    @classmethod
    def nothing(cls) -> Compared:
        return cls(set(), {}, {}, [], {}, [])


def compare(found: Compared, reads: Reads, entity: Entity, make: ItemCommands) -> None:
    """Adds what is said of a thing no longer, and what took its place."""
    node, actor = entity.record, make.actor(entity.record)
    here = reads.version(node.id)
    if here is None or here.user != actor.user:
        return
    said = {item.id for item in entity.says}
    found.said.update(said)
    if make.is_held:
        return  # what waits for a review ends nothing
    before = _ids_about(reads, here, node)
    gone = _brought(reads, before - said - {node.id}, actor)
    new = [item for item in entity.says if not reads.has_version(item.id)]
    pairs = _pairs(gone, new)
    key = node.data.get(entity.key)
    is_same = key is not None and unpack_object(here.data).get(entity.key) == key
    if not (is_same or not said.isdisjoint(before) or 2 * len(pairs) > len(gone)):
        return  # another thing may have this name
    for row in gone:
        why = _why_it_stays(reads, actor, row)
        if row.id in pairs and why is None:
            found.replaced[pairs[row.id]] = row.id
        elif row.id in pairs:
            found.torn[pairs[row.id]] = f"{row.id} was changed both there and here"
        elif why is None:
            found.ends.append(make.ending(actor, row))
        else:
            found.kept.append((node.where, why))
    found.ends.extend(make.unlinking(actor, row) for row in _unlinked(reads, entity, make))
    for link in entity.links:
        name = make.name(link)
        found.again[name] = _name_now(reads, name, link)


def things(items: Sequence[Item], spans: Sequence[tuple[int, Entity]]) -> Iterator[Entity]:
    """The things among items that were cleaned, each given by where it begins among them."""
    for start, given in spans:
        middle = start + 1 + len(given.says)
        yield structs.replace(
            given,
            record=cast(RecordItem, items[start]),
            says=tuple(cast(Sequence[RecordItem], items[start + 1 : middle])),
            links=tuple(cast(Sequence[LinkItem], items[middle : middle + len(given.links)])),
        )


def missing(reads: Reads, format: str, users: Collection[str | None], seen: Collection[int]) -> int:
    """How many records of these users imports brought, and are not among those seen now."""
    found, before, prefix = 0, STILL, _prefix(format)
    while page := reads.listing(statuses(()), None, before, limits.LIST_MAX_RECORDS, _IMPORTED):
        before = page[-1].seq
        found += sum(
            row.id.startswith(prefix)
            and row.user in users
            and hash(row.id) not in seen
            and row.source_type == "imported"
            for row in page
        )
    return found


def _prefix(format: str) -> str:
    """What the ids of everything that imports of a format bring begin with."""
    return format.partition("-")[0] + "-"


def _ids_about(reads: Reads, here: VersionRow, node: RecordItem) -> set[str]:
    """The ids of the records about a thing that imports of this format may have brought."""
    abouts = {about for about in (here.about, node.about) if about is not None}
    ids = (id for about in abouts for id in records_about(reads, about, here.user))
    prefix = _prefix(node.id)
    return {id for id in ids if id.startswith(prefix)}


def _brought(reads: Reads, ids: Iterable[str], actor: c.Actor) -> list[VersionRow]:
    """Those of these records that hold and that an import brought, oldest words first."""
    rows = (row for id in ids if (row := reads.version(id)) is not None)
    mine = (row for row in rows if row.user == actor.user and row.status in LIVE)
    return sorted(
        (row for row in mine if reads.command(row.id) is not None), key=lambda row: row.text_seq
    )


def _pairs(gone: Sequence[VersionRow], new: Sequence[RecordItem]) -> dict[str, str]:
    """Old statements and the new one that took the place of each: of the same kind, and alike."""
    found: dict[str, str] = {}
    free = {item.id: item for item in islice(new, _PAIRS_MAX_COUNT)}
    words = {id: _words(item.text) for id, item in free.items()}
    for row in islice(gone, _PAIRS_MAX_COUNT):
        mine = _words(row.text)
        some = [
            (_likeness(mine, words[id]), id)
            for id, item in free.items()
            if (item.kind or "fact") == row.kind
        ]
        best = max(some, default=(0.0, ""), key=lambda one: one[0])
        if best[0] > _ALIKE:
            found[row.id] = best[1]
            del free[best[1]]
    return found | _lone_pairs([row for row in gone if row.id not in found], list(free.values()))


def _lone_pairs(gone: Sequence[VersionRow], new: Sequence[RecordItem]) -> dict[str, str]:
    """The only old and the only new statement of a category, however different their words."""
    found: dict[str, str] = {}
    for kind in {row.kind for row in gone} - {"fact", "relation"}:
        mine = [row for row in gone if row.kind == kind]
        theirs = [item for item in new if item.kind == kind]
        if len(mine) == len(theirs) == 1:
            found[mine[0].id] = theirs[0].id
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """How many words two texts share, from 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0


def _why_it_stays(reads: Reads, actor: c.Actor, row: VersionRow) -> str | None:
    base = last_said(reads, row.id, row.id)
    if base is None or base.text != row.text:
        return f"{row.id} is no longer said there; it was changed here and stays"
    if not may_alter(reads, actor, row):
        return f"{row.id} is no longer said there; it stays, because more is believed of it here"
    return None


def _unlinked(reads: Reads, entity: Entity, make: ItemCommands) -> list[LinkRow]:
    """The links from a thing that imports made and that are not there any more."""
    wanted = {(link.target, link.kind) for link in entity.links}
    found: list[LinkRow] = []
    for row in reads.links(entity.record.id):
        if row.source == entity.record.id and (row.target, row.kind) not in wanted:
            writer = reads.command_of(row.seq)
            item = LinkItem(source=row.source, target=row.target, kind=row.kind)
            if writer is not None and writer.id.partition("@")[0] == make.name(item):
                found.append(row)
    return found


def _name_now(reads: Reads, name: str, link: LinkItem) -> str:
    """What the command for a link is called, which an import may have ended any number of times."""
    current = name
    for _ in range(_GENERATIONS_MAX_COUNT):
        made = reads.command(current)
        ended = None if made is None else reads.command(f"{name}{ENDED}{made.seq}")
        if ended is None:
            break
        current = f"{name}@{ended.seq}"
    return current
