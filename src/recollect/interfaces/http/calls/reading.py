"""Recall, contexts, receipts, presets and events."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from recollect.errors import LimitExceeded
from recollect.interfaces.http import shapes
from recollect.interfaces.http.call import Answer, Call, created, is_found, paged
from recollect.model import wire
from recollect.model.presets import Preset
from recollect.model.values import (
    Change,
    Context,
    Proposal,
    Recall,
    Receipt,
    Record,
    Replay,
    SpaceStatus,
    WhyNot,
)

_HITS_MAX_COUNT: Final = 2_000


def recall(call: Call) -> Recall:
    """What the memory holds about a question, best first."""
    found: Recall = call.space.recall(call.body.query, **call.body.given("query"))
    return found


def recall_many(call: Call) -> list[Recall]:
    """What it holds about each of several questions, from one state of the memory."""
    if len(call.body.queries) * call.body.k > _HITS_MAX_COUNT:
        raise LimitExceeded(
            f"more than {_HITS_MAX_COUNT:,} hits in one request", hint="send fewer questions, or k"
        )
    body: shapes.RecallMany = call.body
    return call.space.recall(body.queries, **body.given("queries"))


def why_not(call: Call) -> WhyNot:
    """Why a question does not find something."""
    return call.space.admin.why_not(**call.body.given())


def context(call: Call) -> Context:
    """What the memory holds about a question, packed for a prompt."""
    return call.space.context(**call.body.given())


def used(call: Call) -> list[Record]:
    """Report which records of a context were useful."""
    ids = call.body.given().get("ids")
    return call.space.used(call.path["receipt"], ids, **call.write.options())


def useful(call: Call) -> list[Record]:
    """Report which records were useful."""
    return call.space.used(None, call.body.ids, **call.write.options())


def replay(call: Call) -> Replay:
    """The text that a context handed out, again."""
    return call.space.replay(call.path["receipt"], **call.body.given())


def receipts(call: Call) -> Answer:
    """Receipts, newest first."""
    asked: shapes.Short = call.query
    limit = asked.limit
    if not asked.given("limit"):  # a first page shows those that still wait, too
        call.space.admin.flush()
    return paged(
        call, lambda at, after: at.proof.receipts.list(limit=limit, after=after), asked.given()
    )


def receipt(call: Call) -> Receipt:
    """One receipt."""
    return call.space.proof.receipts.get(call.path["receipt"])


def presets(call: Call) -> list[Preset]:
    """The presets of this memory."""
    return call.space.settings.presets.list()


def preset(call: Call) -> Preset:
    """One preset."""
    return call.space.settings.presets.get(call.path["name"])


def set_preset(call: Call) -> Preset:
    """Set a preset, whole."""
    body: dict[str, Any] = {**call.body, "name": call.path["name"]}
    return created(
        call,
        partial(call.space.settings.presets.set, body),
        lambda memory: is_found(lambda: memory.settings.presets.get(body["name"])),
    )


def drop_preset(call: Call) -> None:
    """Remove a preset."""
    given = {**call.query.given(), **call.write.options()}
    call.space.settings.presets.drop(call.path["name"], **given)


def events(call: Call) -> Answer:
    """Events, oldest first."""
    asked: shapes.Events = call.query
    found = call.space.events.list(**asked.given("at"))
    leads_on = len(found) == asked.limit and asked.before is msgspec.UNSET
    more = str(found[-1].seq) if leads_on else None
    return Answer(
        value=wire.Page[Change](items=found, next=more, position=call.space.events.position)
    )


def waiting(call: Call) -> list[Proposal]:
    """What waits for a person, the longest first."""
    return call.space.review.list(**call.query.given("at"))


def proposal(call: Call) -> Proposal:
    """One proposal or waiting record, with the digest that a decision names."""
    return call.space.review.show(call.path["id"])


def approve(call: Call) -> Proposal:
    """Let a proposal or a waiting record in."""
    return _decided(call, call.space.review.approve)


def reject(call: Call) -> Proposal:
    """Turn a proposal or a waiting record down."""
    return _decided(call, call.space.review.reject)


def _decided(call: Call, decide: Any) -> Proposal:
    body: shapes.Decide = call.body
    done: Proposal = decide(
        call.path["id"], body.digest, **body.given("digest"), **call.write.options()
    )
    return done


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """The state digest of a memory at a position."""

    digest: str
    position: int


def status(call: Call) -> Answer:
    """Counts, and where the ledger stands."""
    found: SpaceStatus = call.space.status()
    tag = wire.head_tag(found.seq)
    return Answer(value=shown(found), headers={"ETag": tag})


def shown(status: SpaceStatus) -> SpaceStatus:
    """A status without the place of the store, which is the service's own affair."""
    return msgspec.structs.replace(status, where="")


def digest(call: Call) -> Digest:
    """The state digest: equal digests mean equal memories."""
    memory = call.space.at(call.space.events.position)
    return Digest(digest=memory.admin.digest(), position=memory.events.position)
