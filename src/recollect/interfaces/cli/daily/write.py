"""The verbs that change a memory.

Responsible for passing arguments on and printing the result. Leaves the work to ``Memory``.
Invariant: this module decides nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.daily.fields import takes_fields
from recollect.interfaces.cli.declare import Option
from recollect.memory import Memory
from recollect.model.events import Role
from recollect.model.record_fields import RecordFields
from recollect.model.validate import parse_json_object
from recollect.model.values import Record

Tag = Annotated[list[str] | None, Option(metavar="TAG", help="A tag to add; may be repeated.")]
Untag = Annotated[list[str] | None, Option(metavar="TAG", help="A tag to remove; may be repeated.")]


@verb
@takes_fields
def remember(
    call: Call,
    text: o.Text,
    fields: RecordFields,
    idempotency_key: o.IdempotencyKey = None,
    user: o.User = None,
    session: o.Session = None,
    agent: o.Agent = None,
    trust: o.TrustOption = None,
    branch: o.Branch = None,
    expect: o.Expect = None,
    mount: o.MountOption = None,
) -> None:
    """Store a record; with a key it replaces the previous value.

    With --replaces it takes the place of another record, which stays in the history.
    """
    if expect is not None and fields.get("replaces") is None:
        raise InvalidInput("--expect is about --replaces", hint="name the record to replace")
    old = fields.get("replaces")  # it may be in another memory than new records go to
    with call.memory(create=old is None and branch is None, mount=mount, having=old) as memory:
        here = memory.scoped(user=user, session=session, agent=agent, trust=trust)
        here = here if branch is None else here.on(branch)
        record = here.remember(
            o.text_of(text),
            idempotency_key=idempotency_key,
            expect=None if old is None else o.expected(here, old, expect),
            **fields,
        )
        for name in _elsewhere(here, record, fields):
            call.note(f"{name!r} names nothing in this memory; it is kept as a reference.")
        if branch is not None:
            call.note(f"It waits on the branch {branch!r}; `recollect branches merge` lets it in.")
    call.answer(record, _remembered, memory)


def _elsewhere(memory: Memory, record: Record, fields: RecordFields) -> list[str]:
    """The evidence of this call that is not here: perhaps a typing error."""
    given = set(fields.get("evidence") or ())
    if not given:
        return []
    return [name for name in memory.why(record.id).other_evidence if name in given]


def _remembered(record: Record) -> None:
    waits = record.status == "waiting"
    restated = record.reinforcement_count > 0 and not waits
    plain.record(
        "Waiting for review" if waits else "Already known" if restated else "Remembered", record
    )


@verb
def observe(
    call: Call,
    text: o.MaybeText = None,
    messages: o.Messages = None,
    role: o.Role = "user",
    session: o.Session = None,
    user: o.User = None,
    agent: o.Agent = None,
    trust: o.TrustOption = None,
    said_at: o.SaidAt = None,
    metadata: o.Metadata = None,
    id: o.NewId = None,
    idempotency_key: o.IdempotencyKey = None,
    mount: o.MountOption = None,
) -> None:
    """Store a text or messages verbatim, as episodes."""
    if (text is None) == (messages is None):
        raise InvalidInput(
            "observe takes either TEXT or --messages", hint="give exactly one of them"
        )
    content = _messages(messages) if messages is not None else o.text_of(text or "")
    with call.memory(create=True, mount=mount) as memory:
        episodes = memory.scoped(user=user, session=session, agent=agent, trust=trust).observe(
            content,
            role=cast(Role, role),
            said_at=o.when(said_at, "--said-at"),
            metadata=None if metadata is None else parse_json_object(metadata, "metadata"),
            id=id,
            idempotency_key=idempotency_key,
        )
    call.answer({"episodes": episodes}, lambda _: plain.episodes(episodes), memory)


def _messages(place: str) -> list[dict[str, object]]:
    """Messages from a file or stdin; a single message becomes a list of one."""
    try:
        source = o.read_stdin() if place == "-" else Path(place).read_text("utf-8")
        found: object = msgspec.json.decode(source)
        return msgspec.convert(
            [found] if isinstance(found, dict) else found, list[dict[str, object]]
        )
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{place} could not be read: {error}") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInput(
            f"{place} does not hold messages: {error}",
            hint='write [{"role": "user", "content": "…"}, …]',
        ) from error


@verb
def revise(
    call: Call,
    id: o.RecordId,
    text: o.MaybeText = None,
    reason: o.Reason = None,
    evidence: o.Evidence = None,
    tag: Tag = None,
    untag: Untag = None,
    expect: o.Expect = None,
    idempotency_key: o.IdempotencyKey = None,
) -> None:
    """Correct a record, or its tags; its old text stays in the history."""
    if text is None and not (tag or untag):
        raise InvalidInput("TEXT is missing", hint="give the new text, or --tag or --untag")
    with call.memory(having=id) as memory:
        record = memory.revise(
            id,
            None if text is None else o.text_of(text),
            reason=reason,
            evidence=o.words(evidence),
            tags=o.words(tag),
            untag=o.words(untag),
            idempotency_key=idempotency_key,
            expect=o.expected(memory, id, expect),
        )
    did = "Revised" if text is not None else "Tagged"
    call.answer(record, lambda value: plain.record(did, value), memory)
