"""Corrections, undoing, erasing what a name chooses, and how long something is kept."""

from __future__ import annotations

from msgspec import UNSET

from recollect.errors import InvalidInput
from recollect.interfaces.http import further
from recollect.interfaces.http.call import Answer, Call, needs_match
from recollect.interfaces.http.calls.records import tagged
from recollect.memory.correction.leaving import ONE_OF
from recollect.model import wire
from recollect.model.values import Archived, Erasure, Undone


def confirm(call: Call) -> Answer:
    """Say that a hypothesis holds."""
    id = call.path["id"]
    review = call.space.review
    return tagged(review.confirm(id, **call.body.given(), **call.write.options(id)))


def refute(call: Call) -> Answer:
    """Say that a hypothesis does not hold."""
    id = call.path["id"]
    review = call.space.review
    return tagged(review.refute(id, **call.body.given(), **call.write.options(id)))


def archive(call: Call) -> Archived:
    """Archive the records that have faded."""
    return call.space.admin.archive(**call.body.given(), **call.write.options())


def undo_one(call: Call) -> Answer:
    """Bring back a record or an episode or an earlier version, or take back its last change."""
    id = call.path["id"]
    done = call.space.undo(id, **call.body.given(), **call.write.options(id))
    headers = {} if done.record is None else {"ETag": wire.version_tag(done.record.seq)}
    return Answer(value=done, headers=headers)


def undo(call: Call) -> Undone:
    """Take back the last command, or the one that wrote an event."""
    body: further.Undo = call.body
    position = None if body.position is UNSET else body.position
    return call.space.undo(position, **body.given("position"), **call.write.options())


def erase_many(call: Call) -> Erasure:
    """Erase all that a key, a subject, a user or a filter names; it cannot be undone."""
    body: further.EraseMany = call.body
    named = body.given("dry_run", "sources", "reason", "unit", "certificate")
    named = {name: value for name, value in named.items() if value is not False}
    if len(named) != 1:
        raise InvalidInput(ONE_OF, hint="name one of them, or erase one record by its address")
    if not body.dry_run and "expired" not in named:
        needs_match(call)
    return call.space.erase(**body.given(), **call.write.options())


def retention(call: Call) -> further.Days:
    """For how many days expired records are kept."""
    return further.Days(days=call.space.settings.retention())


def set_retention(call: Call) -> None:
    """Set for how many days expired records are kept; nothing is erased by this."""
    call.space.settings.set_retention(call.body.days, **call.write.options())


def subjects(call: Call) -> further.Encrypted:
    """Whose memory is encrypted under a key of its own."""
    return further.Encrypted(who=call.space.settings.subjects())


def set_subjects(call: Call) -> None:
    """Set whose memory is encrypted from now on."""
    call.space.settings.set_subjects(call.body.who, **call.write.options())
