"""Entering one space of a database with a token.

Responsible for transactions, for entering the space in them, and for the rights that the server
grants to the token. Leaves the connections to ``store.postgres.pool`` and the state of the index to
``store.postgres.index``. Invariants: nothing of a space is visible before it is entered; a writer
holds the lock on the space's row to the end of the transaction.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import cast

import psycopg
from psycopg.errors import InsufficientPrivilege

from recollect.errors import IntegrityError, NotFound, RecollectError, Unavailable, Unsupported
from recollect.index.rows import PositionRow, Row, Undecodable
from recollect.index.tables import Names
from recollect.lifecycle.commands import Name
from recollect.model.events import Head, Trust
from recollect.store.dropping import was_dropped
from recollect.store.grants import Grant
from recollect.store.postgres import schema
from recollect.store.postgres.db import Connection, PostgresDb, as_ours, run
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.tokens import check_token
from recollect.store.tokens import opens_none


class Entry:
    """One space as one token sees it; shared by the modules of this package."""

    def __init__(
        self,
        pool: Pool,
        name: str,
        token: Callable[[], str],
        *,
        create: bool,
        owned: bool = False,
    ) -> None:
        self.pool = pool
        self.name = name
        self.grant: Grant | None = None
        self._token = token
        self._owned = owned  # the token was made for a process of the database's owner
        self._holder: Name | None = None
        self._create = create
        self._pid = os.getpid()
        self.is_closed = False
        self._id: int | None = None  # of the space, once a transaction in it was committed
        self.is_dropped = False  # this process has noticed that the space was dropped

    def check_usable(self) -> None:
        """Raises an error if the space is closed, or was opened before a fork."""
        if self.is_closed:
            raise Unavailable("this memory is closed", hint="open it again")
        if os.getpid() != self._pid:
            raise Unavailable(
                "this memory was opened before a fork", hint="open it again in the child"
            )

    def close(self) -> None:
        """Refuses every later use."""
        self.is_closed = True

    @contextmanager
    def transaction(
        self, begin: str, *, piped: bool = False, end: str = "commit"
    ) -> Iterator[PostgresDb]:
        """A connection in a transaction that commits if nothing is raised."""
        self.check_usable()
        was_there = self._id is not None  # another thread may create the space in the meantime
        try:
            with self.pool.connection() as connection:
                try:
                    with _piped(connection, piped):
                        db = PostgresDb(connection)
                        db.run(begin)
                        yield db
                        db.run(end)
                    if end == "commit":
                        self._id = self._id or db.space or None
                except BaseException:
                    if not connection.broken:
                        connection.rollback()
                    raise
        except _Refused:
            raise self._why_refused(was_there) from None
        except psycopg.Error as error:
            raise as_ours(error) from error
        except Undecodable as error:
            raise IntegrityError(str(error), hint="run `recollect admin rebuild`") from error

    def enter(
        self, db: PostgresDb, *, writing: bool, names: Names | None = None
    ) -> tuple[Head, PositionRow | None]:
        """Enters the space; nothing of it is visible before this."""
        params = {"named": self.name, "token": self._token(), "writing": writing}
        db.limited = self.grant is not None and self.grant.user is not None
        if writing and self.grant is not None:
            self.grant.check_writes()
        try:
            asked = db.ask("enter", params)
            position = db.ask("get_position")
            holding = None if self._holder is not None else db.ask("token_holder")
            if names is not None:
                db.look_for(names)
            row = asked.fetchone()
        except InsufficientPrivilege:
            raise _Refused from None  # the transaction is over: why is asked in another one
        if row is None:
            raise IntegrityError("the server sent no answer to the request to enter the space")
        space, seq, hash, at, since, *granted = row
        if str(since) > schema.REVISION:
            raise _unknown_kinds(self.name, str(since))
        if self._id not in (None, space):
            raise self._dropped()
        db.space = cast(int, space)
        if holding is not None:
            self._holder = _holder(holding.fetchone(), owned=self._owned)
        self.grant = _grant(self.name, granted, self._holder)
        db.limited = self.grant.user is not None
        found = position.fetchone()
        head = Head(cast(int, seq), str(hash), str(at))
        return head, None if found is None else PositionRow._make(found)

    def _why_refused(self, was_there: bool) -> RecollectError:
        """The error for a space that could not be entered: the token, or the space, is wrong.

        A space that was there before the transaction began has been dropped.
        """
        try:
            with self.pool.connection() as connection:
                token = self._token()
                check_token(connection, token)
                opens = [str(name) for (name,) in run(connection, "spaces_of", {"token": token})]
        except psycopg.Error as error:
            return as_ours(error)
        except RecollectError as error:
            return error
        if was_there:
            return self._dropped()
        return opens_none(self.name, opens)

    def _dropped(self) -> NotFound:
        self.is_dropped = True
        return was_dropped(self.name, self.pool.where)

    def look(self) -> tuple[Head, PositionRow | None]:
        """The end of the ledger; of a space that may be created, the start.

        Creating it is tried and rolled back: being refused would be an error in the server's log
        for every new space.
        """
        if not self._create or self._id is not None:
            with self.transaction("begin_read") as db:  # a read transaction blocks no other
                return self.enter(db, writing=False)
        with self.transaction("begin_write", end="rollback") as db:
            self.make(db)
            head, position = self.enter(db, writing=False)
        if head.seq > 0:
            self._id = self._id or db.space
        return head, position

    def make(self, db: PostgresDb) -> None:
        """Creates the space if the token may; otherwise entering it raises an error."""
        if self._create:
            db.ask("make_space", {"named": self.name, "token": self._token()})

    def existing_head(self) -> Head:
        """The end of the ledger, without creating one; the start if there are no events."""
        return self.look()[0]

    def granted(self) -> Grant:
        """The rights of the token, as of the last time that the space was entered."""
        if self.grant is None:
            self.existing_head()
        if self.grant is None:
            raise IntegrityError("the server did not return what the token allows")
        return self.grant


class _Refused(Exception):
    """The server did not let the token into the space."""


def _holder(cells: Row | None, *, owned: bool) -> Name | None:
    """Who has the token; for a process of the database's owner, the login."""
    if cells is None:
        return None
    label, user, login = cells
    if owned:
        return Name(text=str(login), checked="login")
    return Name(text=str(user or label), checked="token", user=cast("str | None", user))


def _grant(space: str, cells: Sequence[object], holder: Name | None) -> Grant:
    """The grant in the server's answer."""
    verbs, origin, user, agent = cells
    return Grant(
        space,
        frozenset(cast(list[str], verbs)),
        cast(Trust, origin),
        cast("str | None", user),
        cast("str | None", agent),
        holder,
    )


@contextmanager
def _piped(connection: Connection, piped: bool) -> Iterator[None]:
    if not piped:
        yield
        return
    with connection.pipeline() as pipeline:
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):  # what was sent after a refusal; the driver would log it
                pipeline.sync()
            raise


def _unknown_kinds(name: str, since: str) -> Unsupported:
    """The error for a space with unknown kinds of events; other spaces can still be used."""
    return Unsupported(
        f"the space {name!r} holds events that came with revision {since} of the database, which "
        f"this release does not know: it works with {schema.REVISION}",
        hint="update Recollect",
    )
