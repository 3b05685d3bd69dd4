"""Entries on pages that this memory does not have become its records.

Responsible for adopting them with the id, the tags and the date that the page gives. Leaves finding
them to ``memory.syncing`` and everything else that the page says to ``memory.applying``.
Invariants: only a person adopts, because the memory cannot tell an entry of another memory from one
that was erased here; an id that is in use is refused; an entry is adopted whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone

from msgspec import structs

from recollect.errors import Forbidden, RecollectError
from recollect.lifecycle import commands as c
from recollect.memory import answers
from recollect.memory.fields import RecordFields
from recollect.memory.handle import Handle
from recollect.memory.syncing import FilePlan
from recollect.mirror.page import Entry, Page
from recollect.model.values import PageChange, Refusal

_MINUTE = timedelta(minutes=1)


def adopt(handle: Handle, files: Iterable[FilePlan]) -> tuple[list[str], list[Refusal]]:
    """Adopts every unknown entry of these files: the ids, and what was refused."""
    if handle.actor.trust != "person":
        raise Forbidden(
            "only a person adopts entries: they may have been erased",
            hint="open the memory as a person, or leave them",
        )
    done, refused = list[str](), list[Refusal]()
    for file in files:
        offset = _offset_minutes(file.page, handle.actor.tz_minutes)
        local = handle.narrowed(structs.replace(handle.actor, tz_minutes=offset))
        # What was superseded comes first, so that its successor can take its place.
        unknown = sorted(file.unknown, key=lambda entry: not entry.struck)
        successors = {entry.superseded_by: entry.id for entry in unknown if entry.struck}
        for entry in unknown:
            try:
                acts = _acts(local, file, entry, successors, {one.id for one in unknown})
                local.write(acts, answers.nothing)
            except RecollectError as error:
                refused.append(Refusal(change=_adopted(file, entry), reason=str(error)))
            else:
                done.append(entry.id or "")
    return done, refused


def _acts(
    handle: Handle,
    file: FilePlan,
    entry: Entry,
    successors: Mapping[str | None, str | None],
    here: set[str | None],
) -> tuple[c.Act, ...]:
    """One entry: a record, in the place of another one, or struck through."""
    fields: RecordFields = {"id": entry.id, "about": file.about, "tags": entry.tags}
    said_at = _said_at(entry.at, handle.actor.tz_minutes)
    if said_at is not None:
        fields["said_at"] = said_at
    reason = f"adopted from {file.name}"
    if entry.id in successors:
        fields["supersedes"] = successors[entry.id]
    act = handle.acts.remember(entry.text, fields, fresh=True)
    if entry.id in successors:
        act = structs.replace(act, reason=reason, untagged=True)
    if entry.struck and entry.superseded_by not in here:  # nothing is there to take its place
        return act, handle.acts.forget(entry.id or "", "shadow", reason)
    return (act,)


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
    return otherwise if offset is None else offset // _MINUTE


def _said_at(at: str, offset_minutes: int) -> datetime | None:
    """The date of an entry; None if it is not one."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    zone = timezone(timedelta(minutes=offset_minutes))
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)
