"""Background work: asking for it, looking at it, and schedules."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recollect.errors import Forbidden
from recollect.interfaces.http.call import Answer, Call
from recollect.interfaces.http.calls.records import span
from recollect.interfaces.http.feed import Seen
from recollect.interfaces.http.shapes import PageSize, Request
from recollect.interfaces.http.signatures import Moment
from recollect.memory.jobs.jobs import EVERY_MAX_S
from recollect.model import wire
from recollect.model.values import Job, JobKind, JobState, Schedule
from recollect.store.jobs.jobs import no_job

_ENDED: Final = ("done", "failed", "cancelled")


class Ask(Request, frozen=True, kw_only=True):
    """A pass to ask for."""

    kind: JobKind
    params: dict[str, Any] | UnsetType = UNSET
    due: Moment | UnsetType = UNSET  # or a duration, such as PT1H


class Planned(Request, frozen=True, kw_only=True):
    """When a pass is asked for: either cron, in UTC, or a number of seconds."""

    cron: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    every_s: Annotated[int, Meta(ge=1, le=EVERY_MAX_S)] | UnsetType = UNSET
    params: dict[str, Any] | UnsetType = UNSET


class Wanted(Request, frozen=True, kw_only=True):
    """Which jobs."""

    state: JobState | UnsetType = UNSET
    limit: PageSize = 100


def ask(call: Call) -> Answer:
    """Ask for a pass over this memory; a worker does it."""
    given = call.body.given()
    if given.get("due", "").startswith("P"):
        given["due"] = span(given["due"], "due")
    job = call.store.jobs.ask(space=_space(call), trust=call.space.scope.trust, **given)
    place = f"/v1/spaces/{wire.to_segment(job.space)}/jobs/{job.id}"
    return Answer(value=job, headers={"Location": place})


def list_(call: Call) -> list[Job]:
    """The jobs of this memory, newest first."""
    return call.store.jobs.list(space=_space(call), **call.query.given())


def get(call: Call) -> Job:
    """What became of a job; as a stream (`text/event-stream`), each change of it until it ends."""
    return call.store.jobs.get(_id(call), space=_space(call))


def look(call: Call) -> Seen:
    """The same as an event of a stream."""
    job = get(call)
    body = b"event: %s\ndata: %s\n\n" % (job.state.encode(), msgspec.json.encode(job))
    return Seen(body, job.state in _ENDED)


def cancel(call: Call) -> Job:
    """End a job that waits or runs."""
    return call.store.jobs.cancel(_id(call), space=_space(call))


def schedules(call: Call) -> list[Schedule]:
    """The schedules of this memory."""
    return call.store.jobs.schedules(space=_space(call))


def schedule(call: Call) -> Schedule:
    """The schedule of one kind of pass."""
    return call.store.jobs.get_schedule(_kind(call), space=_space(call))


def set_schedule(call: Call) -> Schedule:
    """Set when a pass is asked for again and again; needs a person."""
    return call.store.jobs.set_schedule(
        _kind(call), space=_space(call), trust=call.space.scope.trust, **call.body.given()
    )


def drop_schedule(call: Call) -> None:
    """Remove a schedule; needs a person."""
    if call.space.scope.trust != "person":
        raise Forbidden("only a person removes a schedule", hint="use a person's token")
    call.store.jobs.drop_schedule(_kind(call), space=_space(call))


def _space(call: Call) -> str:
    """The space in the path, for a caller that sees all of it."""
    scope = call.space.scope
    if scope.user is not None or scope.agent is not None:
        raise Forbidden(
            "background work is for a whole space, not for one user or agent",
            hint="use a token, and headers, without a user and an agent",
        )
    return call.path["space"]


def _id(call: Call) -> int:
    text = call.path["job"]
    if not (text.isascii() and text.isdecimal() and len(text) <= 15 and int(text)):
        raise no_job(0)
    return int(text)


def _kind(call: Call) -> Any:
    return call.path["kind"]
