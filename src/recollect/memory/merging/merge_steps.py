"""Steps of a merge of two ledgers: what is here already, and writing what comes.

Responsible for the keys of records, for sessions that are open here, and for submitting commands.
Leaves which commands come to ``memory.merging.merge``. Invariant: each command is written only
where the one before it ended, so what was planned is what is written, or its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import structs

from recollect.errors import (
    Changed,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RecollectError,
)
from recollect.index.reads import Reads
from recollect.index.statements import STILL
from recollect.ledger.codec import encode_body
from recollect.lifecycle import commands as c
from recollect.lifecycle.ledger_merge import Take, TakeErasure
from recollect.memory.handle.handle import Handle
from recollect.memory.merging.histories import History, Said
from recollect.model import events as e
from recollect.model import limits
from recollect.store.port import Outcome, Progress

AT_ONCE: Final = 200  # commands in one append
_MORE_BYTES: Final = 64  # in which a body here may differ: the numbers of events
_REFUSALS: Final = (Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound)


class Runs:
    """Which sessions are open and closed here, so that no event comes that would mean nothing.

    Where both ledgers opened a session of the same name, each keeps its own. A name that was erased
    may be used again: a close of the first session does not end the next one. ``there`` is where
    the other ledger has an event of this one, or 0.
    """

    def __init__(
        self, handle: Handle, erasing: list[c.Command], there: Callable[[int], int]
    ) -> None:
        self._handle, self._there = handle, there
        acts = (command.acts[0] for command in erasing)
        self._erased = {seq for act in acts if isinstance(act, TakeErasure) for seq in act.targets}
        self._known: dict[tuple[str, str], set[str]] = {}
        self._opened: dict[tuple[str, str], int] = {}  # where the other ledger opened what is here

    def needs(self, one: Said) -> bool:
        """True if an event says something here, which it has said then."""
        body = one.body
        if not isinstance(body, e.SessionOpened | e.SessionClosed):
            return True
        known = self._of(body.id, body.user or "")
        word = "opened" if isinstance(body, e.SessionOpened) else "closed"
        if word in known or (word == "closed" and "opened" not in known):
            return False
        if word == "closed" and one.seq < self._opened.get((body.id, body.user or ""), 0):
            return False
        known.add(word)
        return True

    def _of(self, id: str, user: str) -> set[str]:
        if (id, user) not in self._known:
            with self._handle.space.reading() as reads:
                rows = [row for row in reads.sessions_named(id) if row.user == user]
            opened = (self._there(row.opened) for row in rows if row.opened != STILL)
            self._opened[id, user] = max(opened, default=0)
            self._known[id, user] = {
                word
                for row in rows
                for word, seq in (("opened", row.opened), ("closed", row.closed))
                if seq != STILL and seq not in self._erased
            }
        return self._known[id, user]


class KeysOf:
    """The key and the user of a record, as one of both ledgers says them."""

    def __init__(self, reads: Reads, *histories: History) -> None:
        self._reads = reads
        self._known: dict[str, tuple[str, str | None] | None] = {}
        for history in histories:
            for told in history.commands:
                for one in told.events:
                    if isinstance(one.body, e.RecordAdded):
                        key = one.body.key
                        self._known[one.body.id] = None if key is None else (key, one.body.user)

    def __call__(self, id: str) -> tuple[str, str | None] | None:
        """Of one record; None if it has no key."""
        if id not in self._known:
            row = self._reads.version(id)
            key = None if row is None or row.key is None else (row.key, row.user)
            self._known[id] = key
        return self._known[id]


class Writing:
    """Writes commands, and counts what became of them."""

    def __init__(self, handle: Handle, position: int, progress: Progress | None) -> None:
        self._handle, self._progress = handle, progress
        self._at = position  # the last event that was there, or that this has written
        self.commands = self.events = 0
        self.left: list[str] = []

    def write(self, commands: list[c.Command]) -> None:
        """Writes them in their order, many in one append; stops if anyone else has written."""
        done = 0
        while done < len(commands):
            done += self._append(commands[done : done + AT_ONCE])
            if self._progress is not None:
                self._progress(done, len(commands))

    def _append(self, commands: list[c.Command]) -> int:
        """Writes some; returns how many were written or refused.

        Each follows the one before it, and expects the position at which that one ends. If one was
        refused, those after it are not written, and come again.
        """
        asked: list[c.Command] = []
        expect, before = self._at, None
        for command in commands:
            (act,) = command.acts
            asked.append(
                structs.replace(
                    command, expect=expect, acts=(structs.replace(act, follows=before),)
                )
            )
            expect, before = expect + size(command)[0], command.id
        outcomes = self._handle.space.submit_all(asked, lambda _, outcome: outcome)
        for place, (command, outcome) in enumerate(zip(asked, outcomes, strict=True)):
            if place and isinstance(outcome, Changed):
                return place
            self._note(command, outcome)
        return len(commands)

    def _note(self, command: c.Command, outcome: Outcome | RecollectError) -> None:
        if isinstance(outcome, Outcome):
            count = outcome.last - outcome.first + 1
            self.commands += count > 0
            self.events += count
            self._at = outcome.last
            self._handle.due.after(outcome.last, count)
        elif isinstance(outcome, Changed) or not isinstance(outcome, _REFUSALS):
            raise outcome
        else:
            self.left.append(f"{command.id}: {outcome.message}")


def size(command: c.Command) -> tuple[int, int]:
    """How many events a command of a merge writes, and how many bytes their bodies have."""
    bodies = [body for act in command.acts if isinstance(act, Take) for body in act.bodies]
    return len(bodies) or 1, sum(len(encode_body(body)) for body in bodies)


def is_too_large(events: int, bytes: int) -> bool:
    """True if one command cannot hold so much; numbers of events may take more bytes here."""
    return (
        events > limits.COMMAND_MAX_EVENTS
        or bytes + events * _MORE_BYTES > limits.COMMAND_MAX_BYTES
    )


def in_commands(bodies: list[e.AnyBody]) -> Iterator[tuple[e.AnyBody, ...]]:
    """The bodies in as few parts as commands may hold."""
    part: list[e.AnyBody] = []
    bytes = 0
    for body in bodies:
        more = len(encode_body(body))
        if part and is_too_large(len(part) + 1, bytes + more):
            yield tuple(part)
            part, bytes = [], 0
        part.append(body)
        bytes += more
    yield tuple(part)
