"""Waiting for a server's answer, with a limit.

Responsible for what a server cannot limit: that it says nothing while the connection is up, because
it was stopped, something in between swallows bytes, or a commit waits for a standby.
Leaves limits for locks and statements to the server. Invariants: a wait ends; a commit that a
standby did not confirm is not acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen

from recollect.errors import Unavailable

T = TypeVar("T")

ANSWER_MAX_S: Final = {"usual": 15.0, "long": 600.0}  # without a byte; more than for a lock
LOCK_MAX_S: Final = 10
_COMMITS_ALONE: Final = "SyncRepWaitForLSN"  # where the server gives up waiting for a standby


class Lost(Unavailable):
    """The connection ended before the answer came: what was asked for may have been done."""

    def __init__(
        self,
        message: str = "the connection to the server was lost",
        hint: str = "check that the server is up, then try again",
    ) -> None:
        super().__init__(message, hint=hint)


class Silent(Lost):
    """The server said nothing for too long, so the connection was closed."""

    def __init__(self, waited_s: float) -> None:
        super().__init__(
            f"the server did not answer for {waited_s:.0f} s",
            "check that the server, its synchronous standby and what is in between run; then try "
            "again",
        )


class Watched(psycopg.Connection[Any]):
    """A connection on which every wait ends."""

    answer_max_s: float | None = ANSWER_MAX_S["usual"]  # None: as long as it takes
    is_given_up: Callable[[], bool] = staticmethod(lambda: False)
    _is_alone = False

    def wait(self, gen: PQGen[T], *given: Any, **more: Any) -> T:
        """As the driver does it, but not for too long; what waits is closed then."""
        try:
            found = super().wait(self._limited(gen), *given, **more)
        except BaseException as error:
            if self._is_alone or isinstance(error, Lost):
                self.pgconn.finish()  # not close(): who looks at it sees that it broke
            raise
        if self._is_alone:
            self.pgconn.finish()
            raise Lost(
                "no standby has confirmed the write: an operator ended the wait for it",
                "check the standbys of the server, then try again",
            )
        return found

    def hear(self, said: psycopg.errors.Diagnostic) -> None:
        """Takes a warning of the server: a wait for standbys that was ended is one."""
        self._is_alone |= said.source_function == _COMMITS_ALONE

    def _limited(self, gen: PQGen[T]) -> PQGen[T]:
        """The same steps; the driver comes by ten times a second while there is nothing to read."""
        try:
            state, heard_at = next(gen), monotonic()
            while True:
                ready = yield state
                if ready:
                    heard_at = monotonic()
                else:
                    self._check(monotonic() - heard_at)
                state = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # as it is typed in the driver

    def _check(self, waited_s: float) -> None:
        if self.is_given_up():
            raise Lost("the process ends before the server answered", "try again")
        if self.answer_max_s is not None and waited_s >= self.answer_max_s:
            raise Silent(waited_s)
