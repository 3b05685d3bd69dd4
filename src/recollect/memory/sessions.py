"""``memory.sessions``: conversations and runs of work, named or opened.

Responsible for opening, closing and listing them. Leaves who may to ``lifecycle.sessions`` and what
is written in a session to ``memory.scoped(session=…)``. Invariant: a session that is only named is
never active.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.finding import search
from recollect.index import sessions
from recollect.index.reads import Reads
from recollect.index.rows import SessionRow
from recollect.index.statements import STILL
from recollect.index.values import episode_of
from recollect.lifecycle.commands import CloseSession, Erase, Expect
from recollect.lifecycle.sessions import opened_session
from recollect.memory.handle import answers
from recollect.memory.handle.answers import left_by, nothing
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import limits, validate
from recollect.model.instants import Moment
from recollect.model.presets import Units
from recollect.model.values import (
    Episode,
    Include,
    Overview,
    Record,
    Session,
    SessionStatus,
)
from recollect.store.port import Outcome

List = list  # ``list`` is also the name of a call


@heals
class Sessions(Calls):
    """Open, close and list the sessions of a memory.

    Whatever is written with ``session=`` makes that session known, without an event of its own. One
    that was opened also has a task type, a start and an end. A session belongs to its user, if it
    has one: two users may each have a session of the same name.
    """

    def open(
        self,
        id: str | None = None,
        *,
        task_type: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Session:
        """Open a session; then write in it with ``memory.scoped(session=session.id)``.

        Opening an open session again, with the same task type, writes nothing.

        Args:
            id: Its name; one is made by default. What named it before stays in it.
            task_type: What kind of work it is, such as "review".
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: The id or the task type cannot be a name.
            Conflict: The session is closed, or open with another task type.
            Forbidden: The handle has less than an agent's trust.
        """
        act = self._handle.acts.open_session(id, task_type)
        return self._handle.write((act,), self._opened, idempotency_key, expect)

    def close(
        self,
        id: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Session | None:
        """Close a session. Closing it again writes nothing.

        Args:
            id: Its name.
            erase: Instead remove every byte of its opening and closing, for good; needs a person.
                What was written in it stays; ``memory.erase(filter="session = '…'")`` erases that.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The session; None if it was erased.

        Raises:
            NotFound: No session of that name was opened.
            Ambiguous: Several users have opened one, and the handle is for none of them.
            Forbidden: The handle has less than an agent's trust, or for ``erase`` than a person's.
        """
        id = validate.name(id, "id")
        if not validate.flag(erase, "erase"):
            return self._handle.write((CloseSession(id=id),), self._closed, idempotency_key, expect)
        self._handle.write((Erase(id=id, what="session"),), nothing, idempotency_key, expect)
        self._handle.space.purge()
        return None

    def list(self, *, limit: int = 100, before: int | None = None) -> List[Session]:
        """Sessions, named or opened, the last known first.

        Args:
            limit: At most this many, up to 10,000.
            before: The ``seq`` of the last session of the page before.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_SESSIONS)
        last = (
            STILL
            if before is None
            else validate.count(before, "before", at_most=limits.INTEGER_MAX)
        )
        with self._handle.reading() as reads:
            rows = sessions.list_sessions(reads.db, reads.at, self._handle.actor.user, last, limit)
            return _values(reads, rows)

    def active(self) -> Session | None:
        """The session that was opened last and is not closed; None if there is none."""
        with self._handle.reading() as reads:
            row = sessions.open_session(reads.db, reads.at, self._handle.actor.user)
            return None if row is None else _values(reads, [row])[0]

    def episodes(
        self,
        *,
        filter: str | None = None,
        include: Iterable[Include] = (),
        limit: int = 100,
        after: str | int | None = None,
    ) -> List[Episode]:
        """Episodes, newest first.

        Args:
            filter: Only episodes that match, such as ``role = 'user'``.
            include: Also those that are hidden for one of these reasons.
            limit: At most this many, up to 10,000.
            after: The id of the last episode of the page before, or its ``seq``, which leads on
                even if it was erased since.

        Raises:
            InvalidInput: The filter could not be parsed, or ``include`` has an unknown word.
            NotFound: ``after`` is not an episode of this memory.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        wish = self._handle.wish("episode", include, filter=filter)
        with self._handle.reading() as reads:
            before = self._cursor(reads, after)
            return [episode_of(row) for row in search.episode_listing(reads, wish, before, limit)]

    def recent(
        self,
        *,
        unit: Units = "any",
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        since: Moment | None = None,
        before: Moment | None = None,
        limit: int = 50,
    ) -> List[Record | Episode]:
        """What is newest, by the instant it was said; a record without one by its last change.

        Args:
            unit: Records, episodes, or both in one order.
            user: Only what belongs to this user; by default to the handle's, if it has one.
            session: Only what was written in this session.
            agent: Only what this agent wrote.
            since: Only from this instant on.
            before: Only before this instant.
            limit: At most this many, up to 10,000.

        Returns:
            Newest first. Names are compared exactly. What waits, is hidden or expired is left out.

        Raises:
            InvalidInput: An argument could not be understood.
            Forbidden: The handle is for another user.
        """
        from recollect.finding.recent import recent, span_between

        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        wish = self._handle.wish(unit, scope={"user": user, "session": session, "agent": agent})
        with self._handle.reading() as reads:
            rows = recent(reads, wish, span_between(since, before), limit)
            return [answers.value_of(row) for row in rows]

    def overview(
        self,
        *,
        since: Moment | None = None,
        before: Moment | None = None,
        limit: int = 10,
    ) -> Overview:
        """What the memory holds in general: the most used records, the newest, what was said last.

        Args:
            since: Only what changed or was said from this instant on.
            before: Only what changed or was said before this instant.
            limit: At most this many in each group, up to 1,000.

        Returns:
            The three groups, and how many records and episodes there are in all.

        Raises:
            InvalidInput: An argument could not be understood.
        """
        from recollect.finding.recent import overview, span_between

        limit = validate.count(limit, "limit", at_most=limits.RECALL_MAX_HITS)
        wish = self._handle.wish(scope={"user": None})
        with self._handle.reading() as reads:
            return overview(reads, wish, span_between(since, before), limit)

    def _cursor(self, reads: Reads, after: str | int | None) -> int:
        """The position before which a page begins."""
        if after is None:
            return search.first_page(self._handle.position)
        if isinstance(after, int):
            return validate.position(after, "after")
        return self._handle.find(reads, after).seq

    def _opened(self, reads: Reads, outcome: Outcome) -> Session:
        """The session of the handle's user, as a command left it."""
        rows = left_by(outcome, reads).sessions_named(outcome.subjects[0])
        user = self._handle.actor.user or ""
        return _values(reads, [row for row in rows if row.user == user])[0]

    def _closed(self, reads: Reads, outcome: Outcome) -> Session:
        """The session that the handle sees under this name, as a command left it."""
        left = left_by(outcome, reads)
        row = opened_session(left, self._handle.actor, outcome.subjects[0])
        return _values(reads, [row])[0]


def _values(reads: Reads, rows: Sequence[SessionRow]) -> List[Session]:
    """Sessions with the instants and the active hours of their events.

    Reading a session by its name has sent what a write of it buffered, with its command.
    """
    starts = [row.seq if row.opened == STILL else row.opened for row in rows]
    ends = [row.closed for row in rows if row.closed != STILL]
    instants = sessions.instants_of(reads.db, [*starts, *ends])
    hours = reads.hours_at(sorted(set(starts)))
    return [
        Session(
            id=row.id,
            user=row.user or None,
            status=_status(row),
            task_type=row.task_type,
            started_at=instants[start],
            ended_at=instants.get(row.closed),
            start_active_hours=hours[start] if row.hours is None else row.hours,
            seq=row.seq,
        )
        for row, start in zip(rows, starts, strict=True)
    ]


def _status(row: SessionRow) -> SessionStatus:
    if row.opened == STILL:
        return "named"
    return "open" if row.closed == STILL else "closed"
