"""Who is looking: launch keys and sessions.

Responsible for letting a browser in and for what is kept about it. Leaves what it may see to
``memories``. Invariants: a launch key works once, for a minute; the cookie is random, no script can
read it, and its path is the secret prefix of this process, because cookies know no ports.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Literal, Protocol

from recollect.interfaces.web.view import Flash
from recollect.model.wire import to_segment
from recollect.store.seam import REAL, Seam

Theme = Literal["auto", "light", "dark"]
COOKIE: Final = "recollect-ui"
LAUNCH_S: Final = 60.0
_FLASHES_MAX_COUNT: Final = 20
_SESSIONS_MAX_COUNT: Final = 100
_KEYS_MAX_COUNT: Final = 100


class Session:
    """One browser: its theme, its keys, and what the next page tells it."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.theme: Theme = "auto"
        self.has_keys = True  # single keys act; a person can switch that off
        self._flashes: OrderedDict[str, Flash] = OrderedDict()

    def tell(self, flash: Flash, seam: Seam = REAL) -> str:
        """Keeps a sentence for the next page; returns its name for the address."""
        name = seam.random(4).hex()
        self._flashes[name] = flash
        while len(self._flashes) > _FLASHES_MAX_COUNT:
            self._flashes.popitem(last=False)
        return name

    def told(self, name: str) -> Flash | None:
        """The sentence of that name."""
        return self._flashes.get(name)


class Sessions(Protocol):
    """Finds the session of a request; ``recollect ui`` and a service do it differently."""

    root: str  # the prefix of every address, and the path of the cookie
    first: str  # the address that a browser is sent to when it was let in

    def find(self, cookie: str) -> Session | None:
        """The session of a cookie; None if it is not one."""

    def enter(self, key: str) -> Session | None:
        """A new session for a launch key; None if the key is used, too old or unknown."""


class Launched:
    """The sessions of ``recollect ui``: opened by a key that the process itself hands out."""

    def __init__(
        self,
        space: str | None = None,
        seam: Seam = REAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.root = f"/ui-{seam.random(6).hex()}"
        self.first = f"{self.root}/" if space is None else f"{self.root}/{to_segment(space)}/"
        self._seam = seam
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, float] = {}  # until when each works
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def launch(self) -> str:
        """A key for one browser, for a minute."""
        key = self._seam.random(24).hex()
        with self._lock:
            now = self._clock()
            self._keys = {each: end for each, end in self._keys.items() if end > now}
            if len(self._keys) < _KEYS_MAX_COUNT:
                self._keys[key] = now + LAUNCH_S
        return key

    def enter(self, key: str) -> Session | None:
        """A session for a key, which stops working."""
        with self._lock:
            found = next((each for each in self._keys if _is_same(each, key)), None)
            end = 0.0 if found is None else self._keys.pop(found)
            if end <= self._clock():
                return None
            session = Session(self._seam.random(24).hex())
            self._sessions[session.id] = session
            while len(self._sessions) > _SESSIONS_MAX_COUNT:
                self._sessions.popitem(last=False)
            return session

    def find(self, cookie: str) -> Session | None:
        """The session whose cookie this is."""
        with self._lock:
            for id, session in self._sessions.items():
                if _is_same(id, cookie):
                    return session
        return None


def cookie_of(header: str) -> str:
    """The value of our cookie in a Cookie header; empty if it is not there or there twice."""
    found = [
        value.strip()
        for name, _, value in (part.partition("=") for part in header.split(";"))
        if name.strip() == COOKIE
    ]
    return found[0] if len(found) == 1 else ""


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode("utf-8", "replace"))
