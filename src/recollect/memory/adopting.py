"""Entries on pages that this memory does not have become its records.

Responsible for adopting them with the id, the tags and the date that the page gives. Leaves finding
them to ``memory.syncing`` and everything else that the page says to ``memory.applying``.
Invariants: only a person adopts, because the memory cannot tell an entry of another memory from one
that was erased here; an id that is in use is refused; an entry is adopted with those that took its
place, or not at all, so that nothing holds again that was superseded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Final

from msgspec import structs

from recollect.errors import Forbidden, RecollectError
from recollect.lifecycle import commands as c
from recollect.memory import answers
from recollect.memory.fields import RecordFields
from recollect.memory.handle import Handle
from recollect.memory.syncing import FilePlan
from recollect.mirror.page import Entry, Page
from recollect.model.values import PageChange, Refusal

_MINUTE: Final = timedelta(minutes=1)
_DAY_MINUTES: Final = 1_440


def adopt(handle: Handle, files: Iterable[FilePlan]) -> tuple[list[str], list[Refusal]]:
    """Adopts every unknown entry of these files: the ids, and what was refused."""
    if handle.actor.trust != "person":
        raise Forbidden(
            "only a person can adopt entries, because they may have been erased here",
            hint="open the memory as a person, or leave the entries where they are",
        )
    done, refused = list[str](), list[Refusal]()
    for file in files:
        offset = _offset_minutes(file.page, handle.actor.tz_minutes)
        local = handle.narrowed(structs.replace(handle.actor, tz_minutes=offset))
        for chain in _chains(file.unknown):
            try:
                local.write(tuple(_acts(local, file, chain)), answers.nothing)
            except RecollectError as error:
                refused += [Refusal(change=_adopted(file, one), reason=str(error)) for one in chain]
            else:
                done += [one.id or "" for one in chain]
    return done, refused


def _chains(unknown: Sequence[Entry]) -> list[list[Entry]]:
    """Entries that took each other's place, the first one first; most are alone."""
    by_id = {entry.id: entry for entry in unknown}
    before = dict[str, str | None]()  # what each successor takes the place of
    for entry in unknown:
        if entry.struck and entry.superseded_by in by_id and entry.superseded_by != entry.id:
            before.setdefault(entry.superseded_by or "", entry.id)
    after = {old: new for new, old in before.items()}
    chains, left = list[list[Entry]](), dict(by_id)
    for first in [*(id for id in by_id if id not in before), *by_id]:  # then what is in a circle
        chain = list[Entry]()
        at: str | None = first
        while at in left:
            chain.append(left.pop(at))
            at = after.get(at)
        chains += [chain] if chain else []
    return chains


def _acts(handle: Handle, file: FilePlan, chain: Sequence[Entry]) -> Iterator[c.Act]:
    """One chain: a record, those that took its place, and what is struck without a successor."""
    reason = f"adopted from {file.name}"
    for number, entry in enumerate(chain):
        fields: RecordFields = {"id": entry.id, "about": file.about, "tags": entry.tags}
        said_at = _said_at(entry.at, handle.actor.tz_minutes)
        if said_at is not None:
            fields["said_at"] = said_at
        if number:
            fields["supersedes"] = chain[number - 1].id
        act = handle.acts.remember(entry.text, fields, fresh=True)
        yield structs.replace(act, reason=reason, untagged=True) if number else act
    if chain[-1].struck:
        yield handle.acts.forget(chain[-1].id or "", "shadow", reason)


def _adopted(file: FilePlan, entry: Entry) -> PageChange:
    return PageChange(
        file=file.name,
        ref=f"{file.name}#{entry.id}:added",
        what="added",
        id=entry.id,
        after=entry.text,
        add=entry.tags,
    )


def _offset_minutes(page: Page, otherwise: int) -> int:
    """The offset of the local times on a page, which only its frontmatter says."""
    try:
        offset = datetime.fromisoformat(page.created).utcoffset()
    except ValueError:
        offset = None
    minutes = otherwise if offset is None else offset // _MINUTE
    return minutes if abs(minutes) < _DAY_MINUTES else otherwise


def _said_at(at: str, offset_minutes: int) -> datetime | None:
    """The date of an entry; None if it is not one."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    zone = timezone(timedelta(minutes=offset_minutes))
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)
