"""The sessions that one session sees and may end.

Responsible for which ones these are: those of the same token, and those of every token that it may
revoke. Leaves finding and ending them to ``session``. Invariant: what is shown of a session does
not let anyone in: neither its cookie nor its token.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from recollect.errors import Forbidden, NotFound
from recollect.interfaces.web.login.session import Session, Sessions
from recollect.memory import Store


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """One session, as another one may see it."""

    name: str
    browser: str
    began_at: str
    used_at: str
    is_here: bool  # the session that looks
    label: str | None  # of its token, if that is another one


class Logins:
    """The sessions around one session."""

    def __init__(self, sessions: Sessions, mine: Session, store: Store) -> None:
        self._sessions = sessions
        self._mine = mine
        self._store = store

    def all(self) -> list[Login]:
        """Those of this token first; in each group the last used ones first."""
        found = [self._login(each, label) for each, label in self._reached()]
        found.sort(key=lambda each: each.used_at, reverse=True)
        return sorted(found, key=lambda each: (each.label or "", not each.is_here))

    def end(self, name: str) -> None:
        """Ends one of them."""
        for each, _ in self._reached():
            if each.name == name:
                return self._sessions.end(each)
        raise NotFound("this session has ended, or is not yours", hint="load the page again")

    def end_others(self) -> int:
        """Ends all of this token but the one that asks; returns how many."""
        others = [
            each for each, label in self._reached() if label is None and each is not self._mine
        ]
        for each in others:
            self._sessions.end(each)
        return len(others)

    def _reached(self) -> list[tuple[Session, str | None]]:
        """The sessions, with the label of their token if it is another one."""
        labels: dict[int | None, str] = {}
        if self._mine.token:
            with suppress(Forbidden):  # it may not look after tokens
                found = self._store.tokens.list()
                labels = {each.id: each.label for each in found if each.live}
        mine = self._mine.token
        return [
            (each, None if each.token == mine else labels[each.token_id])
            for each in self._sessions.all()
            if each.token == mine or each.token_id in labels
        ]

    def _login(self, session: Session, label: str | None) -> Login:
        return Login(
            name=session.name, browser=session.browser, began_at=session.began_at,
            used_at=session.used_at, is_here=session is self._mine, label=label,
        )  # fmt: skip
