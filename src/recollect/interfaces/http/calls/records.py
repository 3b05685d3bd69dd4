"""Records, episodes and links: write, read, list."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.http import shapes
from recollect.interfaces.http.call import Answer, Call, created, is_found, needs_match, paged
from recollect.interfaces.http.problems import Refused
from recollect.memory import Memory
from recollect.model import wire
from recollect.model.values import (
    INCLUDES,
    Episode,
    Erasure,
    Forgotten,
    Graph,
    Link,
    Record,
    Version,
    Why,
)

_SPAN: Final = re.compile(
    r"P(?:(?P<weeks>[0-9]{1,6})W)?(?:(?P<days>[0-9]{1,6})D)?"
    r"(?:T(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?"
    r"(?:(?P<seconds>[0-9]{1,12}(?:\.[0-9]{1,6})?)S)?)?"
)


def fields(body: shapes.Request, *without: str) -> dict[str, Any]:
    """What a caller gave; a duration such as ``P30D`` in ``expires`` becomes a span."""
    found = body.given(*without)
    expires = found.get("expires")
    if isinstance(expires, str) and expires.startswith("P"):
        found["expires"] = span(expires, "expires")
    return found


def span(text: str, what: str) -> timedelta:
    """A duration such as ``P30D``."""
    parts = _SPAN.fullmatch(text)
    given = parts.groupdict("0") if parts else {}
    found = timedelta(**{name: float(value) for name, value in given.items()})
    if not found:
        raise InvalidInput(f"{what}: {text} is not a duration", hint="such as P30D or PT12H")
    return found


def tagged(found: Record | Episode) -> Answer:
    """A record or an episode with its ETag."""
    return Answer(value=found, headers={"ETag": wire.version_tag(found.seq)})


def remember(call: Call) -> Answer:
    """Store a statement as a record; 200 with the old one if replacing it only waits."""
    body = call.body
    if call.write.is_new and body.replaces is not UNSET:
        raise Refused(
            422, "invalid_input", "what replaces a record does not take If-None-Match",
            hint="send If-Match with the ETag of that record, or neither",
        )  # fmt: skip
    record = created(
        call,
        partial(call.space.remember, body.text, **fields(body, "text")),
        partial(_has, body),
        body.given().get("replaces", body.given().get("id")),
    )
    if record.pending is not None:
        return msgspec.structs.replace(tagged(record), status=200)
    place = f"/v1/spaces/{wire.to_segment(call.path['space'])}/records/{wire.to_segment(record.id)}"
    return Answer(value=record, headers={**tagged(record).headers, "Location": place})


def _has(body: Any, memory: Memory) -> bool:
    """True if a record would not be new: its id is taken, or its key is held."""
    id, key = body.id, body.key
    if id is not UNSET:
        return is_found(lambda: _same(memory.get(id, include=INCLUDES), id))
    return key is not UNSET and is_found(lambda: memory.get(key=key))


def _same(found: Record | Episode, id: str) -> None:
    """Refuses what only begins with the id, or has it as a key."""
    if found.id != id:
        raise NotFound("nothing has exactly this id")


def list_(call: Call) -> Answer:
    """Records by their last change, newest first."""
    asked: shapes.Listing = call.query
    fields = asked.given("cursor", "at", "after", "after_seq")
    return paged(call, lambda at, after: at.list(**fields, after=after), asked.given())


def get(call: Call) -> Answer:
    """One record or episode."""
    return tagged(call.space.get(call.path["id"], include=call.query.include))


def get_key(call: Call) -> Answer:
    """The record that holds a key."""
    return tagged(call.space.get(key=call.path["key"], include=call.query.include))


def revise(call: Call) -> Answer:
    """Correct a record or change its tags; the old text stays in its history."""
    body = call.body
    id = call.path["id"]
    text = None if body.text is UNSET else body.text
    return tagged(call.space.revise(id, text, **fields(body, "text"), **call.write.options(id)))


def forget(call: Call) -> Forgotten:
    """Take a record or an episode out of default reads; it can be undone."""
    id = call.path["id"]
    return call.space.forget(id, **call.query.given(), **call.write.options(id))


def erase(call: Call) -> Erasure:
    """Erase every byte of a record or an episode; it cannot be undone."""
    body: shapes.Erase = call.body
    if not body.dry_run:
        needs_match(call)
    id = call.path["id"]
    return call.space.erase(id, **body.given(), **call.write.options(id))


def history(call: Call) -> list[Version]:
    """Every version of a record, oldest first."""
    return call.space.history(call.path["id"])


def why(call: Call) -> Why:
    """Where a record comes from."""
    return call.space.why(call.path["id"])


def observe(call: Call) -> list[Episode]:
    """Store what was said or seen, verbatim."""
    messages = call.body.messages
    with call.space.batch(**call.write.options()) as batch:
        for each in [one for one in messages if one.content.strip()] or messages:
            batch.observe(each.content, **each.given("content"))
    return cast(list[Episode], batch.results)


def episodes(call: Call) -> Answer:
    """Episodes, newest first."""
    asked: shapes.Listing = call.query
    fields = asked.given("cursor", "at", "after", "after_seq")
    return paged(call, lambda at, after: at.sessions.episodes(**fields, after=after), asked.given())


def link(call: Call) -> Link:
    """Relate two records."""
    source, kind, target = (call.path[name] for name in ("source", "kind", "target"))
    return call.space.graph.link(source, target, kind, **call.body.given(), **call.write.options())


def unlink(call: Call) -> None:
    """End a relation."""
    source, kind, target = (call.path[name] for name in ("source", "kind", "target"))
    call.space.graph.unlink(source, target, kind, **call.write.options())


def graph(call: Call) -> Graph:
    """The records around one, and the links that lead to them."""
    return call.space.graph.neighbours(call.path["id"], **call.query.given("at"))


def batch(call: Call) -> list[Record | Episode]:
    """Writes that happen together or not at all."""
    with call.space.batch(**call.write.options()) as batch:
        for act in call.body.acts:  # its word is the call of the batch
            getattr(batch, act.__struct_config__.tag)(**fields(act))
    return batch.results
