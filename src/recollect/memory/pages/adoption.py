"""Entries on pages that this memory does not have become its records.

Responsible for adopting them as they stand: with the id, the tags, the date and the successor that
the page gives. Leaves finding them to ``memory.pages.sync`` and everything else that the page
says to ``memory.pages.edits``. Invariants: only a person adopts, because the memory cannot tell
an entry of another memory from one that was erased here; an id that is in use is refused; what was
struck or superseded there does not hold here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET, structs

from recollect.errors import Conflict, Forbidden, RecollectError
from recollect.exchange.importers.openchronicle import FORMAT
from recollect.lifecycle.records.foreign import Bring
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Handle
from recollect.memory.pages.sync import FilePlan
from recollect.mirror import words
from recollect.mirror.foreign import Arrival, arrivals
from recollect.mirror.page import Entry
from recollect.model import validate
from recollect.model.record_fields import RecordFields
from recollect.model.values import PageChange, Refusal


def adopt(handle: Handle, files: Iterable[FilePlan]) -> tuple[list[str], list[Refusal]]:
    """Adopts every unknown entry of these files: the ids, and what was refused."""
    if handle.actor.trust != "person":
        raise Forbidden(
            "only a person can adopt entries, because they may have been erased here",
            hint="open the memory as a person, or leave the entries where they are",
        )
    done, refused = list[str](), list[Refusal]()
    strange = [file for file in files if file.unknown]
    for file, offset, found in _arrivals(strange, handle.actor.tz_minutes):
        local = handle.narrowed(structs.replace(handle.actor, tz_minutes=offset))
        unknown = {entry.id for entry in file.unknown}
        for one in found:
            if one.entry.id not in unknown:
                continue
            unknown.remove(one.entry.id)  # an id that is there twice: only the first entry counts
            try:
                _require_new(local, one.entry)
                local.write((_act(local, file, one),), answers.nothing)
            except RecollectError as error:
                refused.append(Refusal(change=_adopted(file, one), reason=str(error)))
            else:
                done.append(one.entry.id or "")
    return done, refused


def _arrivals(
    files: Sequence[FilePlan], otherwise: int
) -> Iterable[tuple[FilePlan, int, list[Arrival]]]:
    """The entries of files, and the offset of their local times: only the frontmatter says it."""
    said = [words.offset_of(file.page.created) for file in files]
    offsets = [otherwise if one is None else one for one in said]
    return zip(files, offsets, arrivals([file.page for file in files], offsets), strict=True)


def _require_new(handle: Handle, entry: Entry) -> None:
    """Refuses what an import of an earlier release brought in under another id."""
    with handle.reading() as reads:
        known = reads.version(f"{FORMAT}-{entry.id}")
    if known is not None and known.text == entry.text:
        raise Conflict(f"{entry.id} was imported as {known.id}")


def _act(handle: Handle, file: FilePlan, one: Arrival) -> Bring:
    entry, by = one.entry, one.superseded_by
    fields: RecordFields = {"id": entry.id, "about": file.about, "tags": entry.tags}
    if one.said_at is not None:
        fields["said_at"] = one.said_at
    return Bring(
        wanted=handle.acts.remember(entry.text, fields, fresh=True),
        trust=handle.actor.trust,
        status="active" if one.reason is None else "archived",
        reason=one.reason,
        supersedes=one.supersedes and validate.identifier(one.supersedes),
        superseded_by=by and validate.identifier(by),
        why=UNSET if one.reason is None else validate.reason(one.why or f"from {file.name}"),
    )


def _adopted(file: FilePlan, one: Arrival) -> PageChange:
    return PageChange(
        file=file.name,
        ref=f"{file.name}#{one.entry.id}:added",
        what="added",
        id=one.entry.id,
        after=one.entry.text,
        add=one.entry.tags,
    )
