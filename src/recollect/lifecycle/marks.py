"""Telling a command that is sent again from a different one under the same id.

Responsible for the digests that a named command leaves in its events. Leaves keeping them to the
fold. Invariant: a mark lies in the event that has the content, so nothing is left to check a guess
against once that is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from recollect.errors import Conflict
from recollect.lifecycle.commands import Command
from recollect.model.validate import Json

_VOLATILE = ("stamp", "chance", "said_at")  # these differ when the same act is sent twice
_IDS = ("id", "source", "target", "name")  # fields that say what an act is about


def act_mark(command: Command, index: int) -> str:
    """A digest of what one act asks for, and for whom, without values from chance and the clock.

    The mark of each act is stored in the event that has its content: when that event is erased,
    nothing is left against which a guess of the content could be checked.
    """
    if command.asked is not None:
        return f"{index + 1}/{len(command.acts)}:{_asked(command)}"
    fields: dict[str, Json] = msgspec.to_builtins(command.acts[index])
    for part in (fields, fields.get("wanted"), fields.get("summary")):  # an act within an act
        if isinstance(part, dict):
            for name in (*_VOLATILE, *(("expires",) if "expires_after_us" in part else ())):
                part.pop(name, None)
    fields["for"] = [command.actor.trust, command.actor.user]
    encoded = msgspec.json.encode(fields, order="sorted")
    return f"{index + 1}/{len(command.acts)}:{sha256(encoded).hexdigest()}"


def unchanged_mark(command: Command, indexes: Sequence[int]) -> str:
    """One mark for all acts of a command that changed nothing, stored in its last event.

    It covers their types and ids alone: what else they say may be in events that are erased later.
    """
    named: list[Json] = []
    for index in indexes:
        fields: dict[str, Json] = msgspec.to_builtins(command.acts[index])
        ids = {name: fields[name] for name in _IDS if name in fields}
        named.append([index, command.acts[index].__struct_config__.tag, ids])
    encoded = msgspec.json.encode(named, order="sorted")
    return f"0/{len(command.acts)}:{sha256(encoded).hexdigest()}"


def same_command(marks: str, command: Command) -> bool:
    """True if these marks, joined by blanks, belong to this command.

    Each act has a mark of its own or is covered by the mark of those that changed nothing. Marks
    are dropped when an event of the command is erased, so nothing is then the same command.
    """
    found = marks.split()
    if command.asked is not None:
        return {mark.partition(":")[2] for mark in found} == {_asked(command)}
    own = [int(mark.partition("/")[0]) - 1 for mark in found if not mark.startswith("0/")]
    if any(index >= len(command.acts) for index in own):
        return False
    expected = [act_mark(command, index) for index in own]
    unchanged = sorted(set(range(len(command.acts))) - set(own))
    if unchanged:
        expected.append(unchanged_mark(command, unchanged))
    return bool(own) and found == expected


def require_same(marks: str, command: Command) -> None:
    """Refuses a command whose id was used for another one."""
    if not same_command(marks, command):
        raise key_reused(command.id)


def key_reused(id: str) -> Conflict:
    """The refusal of a key that was used before."""
    return Conflict(
        f"the idempotency key {id!r} was already used for a different call, or for one whose "
        "content was erased",
        hint="use a new key for each call",
    )


def _asked(command: Command) -> str:
    """The digest of a call whose acts follow from the state."""
    told = [command.asked, command.actor.trust, command.actor.user]
    return sha256(msgspec.json.encode(told)).hexdigest()
