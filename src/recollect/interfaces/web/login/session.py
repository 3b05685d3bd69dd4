"""Who is looking: launch keys, tokens and sessions.

Responsible for letting a browser in and for what is kept about it. Leaves what it may see to
``memories``. Invariants: a launch key works once, for a minute; the cookie is random, and no script
can read it; where a launch key opens, its path is a secret prefix of the process, because cookies
know no ports; a token stays on the server, and its session ends after an hour without a visit.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Literal, Protocol

from recollect.interfaces.web.draw.browsers import UNKNOWN
from recollect.interfaces.web.view import Flash
from recollect.model.wire import to_segment
from recollect.serving.entries import NotLetIn
from recollect.store.seam import REAL, Seam

Theme = Literal["auto", "light", "dark"]
COOKIE: Final = "recollect-ui"
LAUNCH_S: Final = 60.0
SECURE_COOKIE: Final = f"__Secure-{COOKIE}"  # over https, or on this machine
LOGIN_MAX_S: Final = 12 * 3_600.0
IDLE_MAX_S: Final = 3_600.0
_FLASHES_MAX_COUNT: Final = 20
_SESSIONS_MAX_COUNT: Final = 1_000
_SESSIONS_OF_ONE: Final = 10  # of one token
_KEYS_MAX_COUNT: Final = 100


class Session:
    """One browser: its theme, its keys, and what the next page tells it."""

    def __init__(
        self, id: str, token: str = "", *, name: str = "", at: str = "", browser: str = "",
        token_id: int | None = None,
    ) -> None:  # fmt: skip
        self.id = id
        self.name = name  # for others to see; its id lets in
        self.token = token  # of a service; the person at this machine needs none
        self.token_id = token_id
        self.browser = browser
        self.began_at = self.used_at = at
        self.theme: Theme = "auto"
        self.has_keys = True  # single keys act; a person can switch that off
        self._flashes: OrderedDict[str, Flash] = OrderedDict()
        self._commands: OrderedDict[str, str] = OrderedDict()
        self.acting = threading.Lock()  # held from looking for a command until it is done

    @property
    def owner(self) -> str:
        """Whose it is: sessions of one token share what is bounded for each."""
        return self.token or self.id

    def tell(self, flash: Flash, seam: Seam = REAL) -> str:
        """Keeps a sentence for the next page; returns its name for the address."""
        name = seam.random(4).hex()
        self._flashes[name] = flash
        while len(self._flashes) > _FLASHES_MAX_COUNT:
            self._flashes.popitem(last=False)
        return name

    def told(self, name: str) -> Flash | None:
        """The sentence of that name; one with a secret is told once."""
        found = self._flashes.get(name)
        if found is not None and found.secret is not None:
            del self._flashes[name]
        return found

    def answered(self, command: str) -> str | None:
        """Where a form led that was sent before; for acts that no ledger tells apart."""
        return self._commands.get(command)

    def answer(self, command: str, place: str) -> None:
        """Keeps where a form led."""
        self._commands[command] = place
        while len(self._commands) > _FLASHES_MAX_COUNT:
            self._commands.popitem(last=False)


class Sessions(Protocol):
    """Finds the session of a request; ``recollect ui`` and a service do it differently."""

    root: str  # the prefix of every address, and the path of the cookie
    first: str  # the address that a browser is sent to when it was let in
    has_login: bool  # a page asks for a token; else a launch key opens
    is_secure: bool  # reached over https

    def find(self, cookie: str, *, is_visit: bool = True) -> Session | None:
        """The session of a cookie; None if it is not one. Only a visit keeps it alive."""

    def enter(self, key: str, browser: str = UNKNOWN) -> Session | None:
        """A new session for a launch key or a token; None if it does not let anyone in."""

    def all(self) -> list[Session]:
        """Every session that still lets in."""

    def end(self, session: Session) -> None:
        """Ends a session."""


class _Kept:
    """Sessions by their cookie, the most recent ones."""

    is_secure = False

    def __init__(self, seam: Seam, clock: Callable[[], float]) -> None:
        self._seam = seam
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def find(self, cookie: str, *, is_visit: bool = True) -> Session | None:
        """The session whose cookie this is."""
        with self._lock:
            for id, session in self._sessions.items():
                if _is_same(id, cookie):
                    if is_visit:
                        session.used_at = self._seam.now()
                    return session
        return None

    def all(self) -> list[Session]:
        """Every session that still lets in."""
        with self._lock:
            return list(self._sessions.values())

    def end(self, session: Session) -> None:
        """Ends a session; its cookie means nothing any more."""
        with self._lock:
            self._sessions.pop(session.id, None)

    def _begin(self, browser: str, token: str = "", token_id: int | None = None) -> Session:
        """A new session; the caller holds the lock."""
        session = Session(
            self._seam.random(24).hex(), token, name=self._seam.random(6).hex(),
            at=self._seam.now(), browser=browser, token_id=token_id,
        )  # fmt: skip
        self._sessions[session.id] = session
        while len(self._sessions) > _SESSIONS_MAX_COUNT:
            self._sessions.popitem(last=False)
        return session


class Launched(_Kept):
    """The sessions of ``recollect ui``: opened by a key that the process itself hands out."""

    has_login = False

    def __init__(
        self,
        space: str | None = None,
        seam: Seam = REAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(seam, clock)
        self.root = f"/ui-{seam.random(6).hex()}"
        self.first = f"{self.root}/" if space is None else f"{self.root}/{to_segment(space)}/"
        self._keys: dict[str, float] = {}  # until when each works

    def launch(self) -> str:
        """A key for one browser, for a minute."""
        key = self._seam.random(24).hex()
        with self._lock:
            now = self._clock()
            self._keys = {each: end for each, end in self._keys.items() if end > now}
            if len(self._keys) < _KEYS_MAX_COUNT:
                self._keys[key] = now + LAUNCH_S
        return key

    def enter(self, key: str, browser: str = UNKNOWN) -> Session | None:
        """A session for a key, which stops working."""
        with self._lock:
            found = next((each for each in self._keys if _is_same(each, key)), None)
            end = 0.0 if found is None else self._keys.pop(found)
            return None if end <= self._clock() else self._begin(browser)


class LoggedIn(_Kept):
    """The sessions of a service: each opened with a token, and ended in time."""

    has_login = True

    def __init__(
        self,
        check: Callable[[str], int | None],
        *,
        root: str = "/ui",
        is_secure: bool = False,
        seam: Seam = REAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(seam, clock)
        self.root, self.first, self.is_secure = root, f"{root}/", is_secure
        self._check = check  # the id of a token; NotLetIn if it is not valid
        self._times: dict[str, tuple[float, float]] = {}  # began, and last used

    def enter(self, key: str, browser: str = UNKNOWN) -> Session | None:
        """A session for a token that is valid."""
        try:
            token_id = self._check(key)
        except NotLetIn:
            return None
        with self._lock:
            mine = [each for each in self._sessions.values() if each.token == key]
            for oldest in mine[: max(0, len(mine) + 1 - _SESSIONS_OF_ONE)]:  # not those of others
                del self._sessions[oldest.id]
            session = self._begin(browser, key, token_id)
            self._times[session.id] = (self._clock(), self._clock())
            self._times = {id: self._times[id] for id in self._sessions}
            return session

    def find(self, cookie: str, *, is_visit: bool = True) -> Session | None:
        """The session whose cookie this is, unless it is too old."""
        session = super().find(cookie, is_visit=is_visit)
        if session is None:
            return None
        if self._is_over(session):
            self.end(session)
            return None
        if is_visit:
            now = self._clock()
            self._times[session.id] = (self._times.get(session.id, (now, now))[0], now)
        return session

    def all(self) -> list[Session]:
        """Every session that is not too old."""
        return [each for each in super().all() if not self._is_over(each)]

    def _is_over(self, session: Session) -> bool:
        began, used = self._times.get(session.id, (-LOGIN_MAX_S, -IDLE_MAX_S))
        now = self._clock()
        return now - began > LOGIN_MAX_S or now - used > IDLE_MAX_S


def cookie_name(sessions: Sessions) -> str:
    """The name of the cookie."""
    return SECURE_COOKIE if sessions.is_secure else COOKIE


def set_cookie(sessions: Sessions, value: str) -> str:
    """The header that sets the cookie of a browser, or deletes it if the value is empty."""
    rest = "; Secure" if sessions.is_secure else ""
    rest += "" if value else "; Max-Age=0"
    path = f"{sessions.root}/"
    return f"{cookie_name(sessions)}={value}; Path={path}; HttpOnly; SameSite=Strict{rest}"


def cookie_of(header: str, wanted: str = COOKIE) -> str:
    """The value of our cookie in a Cookie header; empty if it is not there or there twice."""
    found = [
        value.strip()
        for name, _, value in (part.partition("=") for part in header.split(";"))
        if name.strip() == wanted
    ]
    return found[0] if len(found) == 1 else ""


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode("utf-8", "replace"))
