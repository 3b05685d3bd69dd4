"""Steps of a merge of two ledgers: what is here already, and writing what comes.

Responsible for the keys of records, for sessions that are open here, and for submitting commands.
Leaves which commands come to ``memory.merging``. Invariant: what is written was planned at the
position at which this ledger still is.
"""

from __future__ import annotations

from collections.abc import Callable
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
from recollect.lifecycle import commands as c
from recollect.lifecycle.merging import TakeErasure
from recollect.memory.handle import Handle
from recollect.memory.histories import History, Said
from recollect.model import events as e
from recollect.store.port import Outcome, Progress

AT_ONCE: Final = 200  # commands in one append
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
        self._expect: int | None = position
        self.commands = self.events = 0
        self.left: list[str] = []

    def write(self, commands: list[c.Command]) -> None:
        """Writes them in their order, many in one append."""
        for start in range(0, len(commands), AT_ONCE):
            some = commands[start : start + AT_ONCE]
            if self._expect is not None:  # what was planned is what is written
                some[0] = structs.replace(some[0], expect=self._expect)
                self._expect = None
            outcomes = self._handle.space.submit_all(some, lambda _, outcome: outcome)
            for command, outcome in zip(some, outcomes, strict=True):
                self._note(command, outcome)
            if self._progress is not None:
                self._progress(min(start + AT_ONCE, len(commands)), len(commands))

    def _note(self, command: c.Command, outcome: Outcome | RecollectError) -> None:
        if isinstance(outcome, Outcome):
            count = outcome.last - outcome.first + 1
            self.commands += count > 0
            self.events += count
            self._handle.due.after(outcome.last, count)
        elif isinstance(outcome, Changed) or not isinstance(outcome, _REFUSALS):
            raise outcome
        else:
            self.left.append(f"{command.id}: {outcome.message}")
