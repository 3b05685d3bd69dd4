"""What two ledgers have erased since they were one.

Responsible for the erasures of the other ledger that concern something here, and for what must not
come because it was erased here. Leaves what comes to ``memory.merging.merge``. Invariants: an id
that either ledger has erased is gone from both, whichever command wrote it; an order counts only
from a ledger that is trusted so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from recollect.ledger.codec import decode
from recollect.ledger.erasure import erased_id
from recollect.ledger.line import parse
from recollect.lifecycle import commands as c
from recollect.lifecycle.ledger_merge import TakeErasure
from recollect.memory.handle.handle import Handle
from recollect.memory.merging.histories import (
    History,
    Said,
    Subject,
    Told,
    id_here,
    mentioned,
    subject_of,
)
from recollect.model import events as e
from recollect.store.port import Copyable


class Erasures:
    """What is gone on either side: ``gone`` does not come, ``going`` is erased here."""

    def __init__(
        self,
        handle: Handle,
        source: Copyable,
        fork: int,
        histories: tuple[History, History],
        is_trusted: Callable[[Told], bool],
    ) -> None:
        self._handle, self._source, self.fork = handle, source, fork
        self._mine, self._theirs = histories
        self._is_trusted = is_trusted
        self._again = _said_in(self._theirs).keys()
        self.left: list[str] = []
        self.gone = self._erased_here()
        self.commands = list(self._erasing())
        acts = (command.acts[0] for command in self.commands)
        orders = [act for act in acts if isinstance(act, TakeErasure)]
        self.going = {subject for act in orders for subject in act.about}

    def _erased_here(self) -> set[Subject]:
        """The subjects of what was erased here, as far as the other ledger still says them."""
        orders = [order for _, _, order in self._mine.erased()]
        gone = {subject for order in orders for subject in self._about(order)}
        gone.update(self._ids_gone())
        for told in self._theirs.commands:  # a proposal goes with what it is about
            for one in told.events:
                if isinstance(one.body, e.ProposalMade) and not gone.isdisjoint(
                    mentioned(one.body)
                ):
                    gone.add(subject_of(one.body))
        return gone

    def _ids_gone(self) -> Iterator[Subject]:
        """What the other ledger says under an id that is gone, by a command of its own.

        Unless the id is used again: here, or there after the erasure had come to it.
        """
        known: dict[str, float] = {}  # of each id: the event with which the other ledger lost it
        for _, said, order in self._mine.erased():
            there = self._theirs.twin(self._mine, said.seq, surely=True)
            for mark in order.ids:
                known[mark] = max(known.get(mark, 0), inf if there is None else there.seq)
        again = _said_in(self._mine)
        for told in self._theirs.commands if known else ():
            for one in told.events:
                if not isinstance(one.body, e.RecordAdded | e.EpisodeObserved):
                    continue
                lost = known.get(_mark(one.body), 0)
                is_new = one.seq > lost and (not lost or self._is_trusted(told))
                if not is_new and one.body.id not in again:
                    yield "memory", one.body.id

    def _about(self, order: e.EventsErased) -> Iterator[Subject]:
        """The subjects of one erasure here, as far as the other ledger still says them."""
        for target in order.targets:
            body = self._body(self._source, self._theirs, self._mine, target)
            if body is not None and not _is_session(body):
                yield subject_of(body)

    def _body(
        self, space: Copyable, history: History, other: History, seq: int
    ) -> e.AnyBody | None:
        """The body that a ledger has of an event with this number in the other one."""
        if seq <= self.fork:
            raw = space.line(seq)
            line = None if raw is None else parse(raw)
            if line is None or line.subject is not None:
                return None
            return decode(line).body
        said = history.twin(other, seq)
        return None if said is None else said.body

    def _erasing(self) -> Iterator[c.Command]:
        """The erasures of the other ledger that concern something here."""
        gone = {target for _, _, order in self._mine.erased() for target in order.targets}
        for told, said, order in self._theirs.erased():
            if not self._is_trusted(told):
                self.left.append(f"{told.id}: an erasure that no known key signed")
                continue
            bodies: dict[int, e.AnyBody | None] = {}
            for target in order.targets:
                twin = self._mine.twin(self._theirs, target, surely=True)
                seq = target if target <= self.fork else 0 if twin is None else twin.seq
                if seq and seq not in gone:
                    body = self._body(self._handle.space, self._mine, self._theirs, target)
                    bodies[seq] = body
            bodies |= self._same_ids(told, order, gone)
            gone |= bodies.keys()
            if bodies:
                yield self._erasure(told, said, order, bodies)

    def _same_ids(
        self, told: Told, order: e.EventsErased, gone: set[int]
    ) -> dict[int, e.AnyBody | None]:
        """What this ledger has of the same ids by commands of its own, such as an import.

        An order that has come has no more to say, and an id that is used again there is another.
        """
        if not order.ids or self._mine.parts(told):
            return {}
        return {
            one.seq: one.body
            for mine in self._mine.commands
            for one in mine.events
            if isinstance(one.body, e.RecordAdded | e.EpisodeObserved) and one.seq not in gone
            if one.body.id not in self._again and _mark(one.body) in order.ids
        }

    def _erasure(
        self, told: Told, said: Said, order: e.EventsErased, bodies: dict[int, e.AnyBody | None]
    ) -> c.Command:
        about = {subject_of(body) for body in bodies.values() if body is not None}
        act = TakeErasure(
            targets=tuple(sorted(bodies)),
            about=tuple(sorted(about)),
            reason=order.reason,
            written_at=order.written_at or said.at,
        )
        id = id_here(told, [one.place for one in told.events], is_low=False)
        if self._mine.parts(told):  # a part of it was erased here before
            id = self._handle.seam.random(16).hex()
        return c.Command(id=id, actor=c.Actor(trust="person"), acts=(act,))


def _said_in(history: History) -> dict[str, e.RecordAdded | e.EpisodeObserved]:
    """The records and episodes that a ledger says, and has not erased, by their ids."""
    bodies = (one.body for told in history.commands for one in told.events)
    return {b.id: b for b in bodies if isinstance(b, e.RecordAdded | e.EpisodeObserved)}


def _mark(body: e.RecordAdded | e.EpisodeObserved) -> str:
    if isinstance(body, e.RecordAdded):
        return erased_id(body.id)
    return erased_id(body.id, body.role, len(body.text))


def _is_session(body: e.AnyBody) -> bool:
    """True if it is about a session, whose name another one may have: only these events go."""
    return isinstance(body, e.SessionOpened | e.SessionClosed)
