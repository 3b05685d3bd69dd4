"""Corrections, undoing, erasing what a name chooses, and how long something is kept."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.interfaces.http import further
from recollect.interfaces.http.call import Answer, Call, needs_match
from recollect.interfaces.http.calls.records import fields, tagged
from recollect.model.values import Archived, Erasure, Retraction, Undone


def supersede(call: Call) -> Answer:
    """Store a new record in the place of an old one."""
    id, body = call.path["id"], call.body
    return tagged(
        call.space.supersede(id, body.text, **fields(body, "text"), **call.write.options(id))
    )


def settle(call: Call) -> Answer:
    """Confirm a hypothesis, or refute it."""
    id = call.path["id"]
    return tagged(call.space.settle(id, **call.body.given(), **call.write.options(id)))


def retract(call: Call) -> Retraction:
    """Take back an episode or a record, and everything that was derived from it."""
    id = call.path["id"]
    return call.space.retract(id, **call.body.given(), **call.write.options(id))


def curate(call: Call) -> Archived:
    """Archive the records that have faded."""
    return call.space.admin.archive(**call.body.given(), **call.write.options())


def revert(call: Call) -> Answer:
    """Bring back an earlier version, or the record that was replaced."""
    id = call.path["id"]
    return tagged(call.space.revert(id, **call.body.given(), **call.write.options(id)))


def undo(call: Call) -> Undone:
    """Take back the last command, or the last change of one record."""
    given = call.body.given()
    return call.space.undo(**given, **call.write.options(given.get("id")))


def erase_many(call: Call) -> Erasure:
    """Erase all that a key, a subject, a user or a filter names; it cannot be undone."""
    body: further.EraseMany = call.body
    named = body.given("dry_run", "sources", "reason", "unit", "certificate")
    if len(named) != 1:
        raise InvalidInput(
            "erase takes exactly one of key, about, user, filter, subject and author",
            hint="name one of them, or erase one record by its address",
        )
    if not body.dry_run:
        needs_match(call)
    return call.space.erase(**body.given(), **call.write.options())


def retention(call: Call) -> further.Days:
    """For how many days expired records are kept."""
    return further.Days(days=call.space.settings.retention())


def set_retention(call: Call) -> None:
    """Set for how many days expired records are kept; nothing is erased by this."""
    call.space.settings.set_retention(call.body.days, **call.write.options())


def retain(call: Call) -> Erasure:
    """Erase the records that expired longer ago than they are kept."""
    return call.space.retain(**call.body.given(), **call.write.options())


def subjects(call: Call) -> further.Encrypted:
    """Whose memory is encrypted under a key of its own."""
    return further.Encrypted(who=call.space.settings.subjects())


def set_subjects(call: Call) -> None:
    """Set whose memory is encrypted from now on."""
    call.space.settings.set_subjects(call.body.who, **call.write.options())
