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
from recollect.interfaces.cli.declare import Argument, Option
from recollect.interfaces.cli.fields import takes_fields
from recollect.memory import Memory
from recollect.memory.handle.fields import RecordFields
from recollect.model.events import Role
from recollect.model.validate import parse_json_object
from recollect.model.values import INCLUDES, Forgotten, Record
from recollect.model.words import Sources

Tagged = Annotated[list[str] | None, Argument(metavar="[TAG]...", help="Tags to add.")]
Untagged = Annotated[list[str] | None, Option("--remove", metavar="TAG", help="A tag to remove.")]
Source = Annotated[str, Argument(metavar="SOURCE", help="The record the link starts from.")]
Target = Annotated[str, Argument(metavar="TARGET", help="The record it points to.")]
LinkKind = Annotated[str, Option(metavar="WORD", help="contradicts, derived_from, …")]
Weight = Annotated[float, Option(metavar="0..1", help="How strong it is.")]
LinkName = Annotated[str | None, Option(metavar="TEXT", help="What another system calls the link.")]
Unlink = Annotated[bool, Option("--remove", help="Remove the link.")]


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
    mount: o.MountOption = None,
) -> None:
    """Store a record; with a key it replaces the previous value."""
    old = fields.get("replaces")  # it may be in another memory than new records go to
    with call.memory(create=old is None and branch is None, mount=mount, having=old) as memory:
        here = memory.scoped(user=user, session=session, agent=agent, trust=trust)
        here = here if branch is None else here.on(branch)
        record = here.remember(o.text_of(text), idempotency_key=idempotency_key, **fields)
        for name in _elsewhere(here, record, fields):
            call.note(f"{name!r} names nothing in this memory; it is kept as a reference.")
        if branch is not None:
            call.note(f"It waits on the branch {branch!r}; `recollect branch merge` lets it in.")
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
    text: o.Text,
    reason: o.Reason = None,
    evidence: o.Evidence = None,
    expect: o.Expect = None,
    idempotency_key: o.IdempotencyKey = None,
) -> None:
    """Correct a record; its old text stays in the history."""
    with call.memory(having=id) as memory:
        record = memory.revise(
            id,
            o.text_of(text),
            reason=reason,
            evidence=o.words(evidence),
            idempotency_key=idempotency_key,
            expect=o.expected(memory, id, expect),
        )
    call.answer(record, lambda value: plain.record("Revised", value), memory)


@verb
def supersede(
    call: Call,
    id: o.RecordId,
    text: o.Text,
    reason: o.Reason = None,
    evidence: o.Evidence = None,
    expect: o.Expect = None,
    idempotency_key: o.IdempotencyKey = None,
) -> None:
    """Store a new record in the place of an old one, which stays."""
    with call.memory(having=id) as memory:
        record = memory.remember(
            o.text_of(text),
            replaces=id,
            reason=reason,
            evidence=o.words(evidence),
            idempotency_key=idempotency_key,
            expect=o.expected(memory, id, expect),
        )
    call.answer(record, lambda value: plain.record("Remembered", value), memory)


@verb
def forget(
    call: Call,
    ids: o.Ids,
    reason: o.Reason = None,
    keep_sources: o.KeepSources = False,
    expect: o.Expect = None,
    idempotency_key: o.IdempotencyKey = None,
) -> None:
    """Remove records or episodes from recall; restore undoes it."""
    sources: Sources = "keep" if keep_sources else "hide"
    if len(ids) > 1:
        _check_all(call, ids, expect, idempotency_key)
    done: list[Forgotten] = []
    for id in ids:
        with call.memory(having=id) as memory:
            forgotten = memory.forget(
                id,
                sources=sources,
                reason=reason,
                idempotency_key=idempotency_key,
                expect=o.expected(memory, id, expect),
            )
        done.append(forgotten)
        if len(ids) == 1 or not call.json:
            call.answer(forgotten, plain.forgotten, memory)
    if len(ids) > 1:
        call.note("`recollect undo` takes these back one at a time, the last one first.")
        if call.json:
            call.answer({"forgotten": done}, lambda _: None)


def _check_all(call: Call, ids: list[str], expect: int | None, idempotency_key: str | None) -> None:
    """Refuses before the first is forgotten if one of them is not there."""
    if idempotency_key is not None:
        raise InvalidInput(
            "--idempotency-key names one call, and several ids are several calls",
            hint="give one id",
        )
    if expect is not None:
        raise InvalidInput("--expect is of one record, and there are several", hint="give one id")
    for id in ids:
        with call.memory(having=id) as memory:
            memory.get(id, include=INCLUDES)


@verb
def tag(call: Call, id: o.RecordId, tags: Tagged = None, remove: Untagged = None) -> None:
    """Add tags to a record, or remove them."""
    with call.memory(having=id) as memory:
        record = memory.revise(id, tags=o.words(tags), untag=o.words(remove))
    call.answer(record, lambda value: plain.record("Tagged", value), memory)


@verb
def link(
    call: Call,
    source: Source,
    target: Target,
    kind: LinkKind = "relates_to",
    weight: Weight = 1.0,
    name: LinkName = None,
    remove: Unlink = False,
) -> None:
    """Link two records; a link has a kind and a direction."""
    with call.memory(having=source) as memory:
        if not remove:
            made = memory.graph.link(source, target, kind, weight=weight, name=name)
            call.answer(made, plain.link, memory)
            return
        memory.graph.unlink(source, target, kind)
    removed = {"source": source, "target": target, "kind": kind, "removed": True}
    call.answer(removed, lambda _: plain.say(f"Unlinked {source} and {target}"), memory)
