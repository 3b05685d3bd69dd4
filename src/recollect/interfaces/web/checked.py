"""What this process found when it checked a ledger, and what it cleaned when it erased.

Responsible for running a check beside the pages, and for keeping both until the process ends.
Leaves checking to the memory. Invariants: what is kept has numbers, hashes and names of places,
never a word of a memory; one check runs at a time, because each reads the whole ledger.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

import msgspec

from recollect.errors import RecollectError, Unavailable, Unsupported
from recollect.interfaces.web.draw.errors import told
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Verification

WAIT_S: Final = 1.0
REFRESH_S: Final = 2  # how often a page is loaded again while a check runs
_STOP_S: Final = 5.0
_KEPT_MAX_COUNT: Final = 200
_Name = tuple[str, str, str]  # place, space and user: one user's check is not another's


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a ledger: what was found, and when."""

    at: str
    found: Verification
    is_deep: bool = False


class Running:
    """A check that has not ended: how far it is."""

    def __init__(self, name: _Name, *, deep: bool) -> None:
        self.name = name
        self.is_deep = deep
        self.percent = 0
        self.is_stopped = False

    def step(self, done: int, total: int) -> None:
        """Notes a step; raises if the answer is not waited for any more."""
        self.percent = min(100, 100 * done // total) if total else 0
        if self.is_stopped:
            raise _Stopped


class _Stopped(Exception):
    """The process ends."""


class Checked:
    """The last checks and the places of erasures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # held while a check runs
        self._running: tuple[Running, threading.Thread] | None = None
        self._checks: OrderedDict[_Name, Check] = OrderedDict()
        self._failed: OrderedDict[_Name, str] = OrderedDict()
        self._places: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def begin(
        self, memory: Memory, now: str, *, deep: bool = False, wait_s: float = WAIT_S
    ) -> None:
        """Starts a check in a thread of its own; a small ledger is checked when this returns."""
        name = _name(memory)
        if not self._lock.acquire(blocking=False):
            if self.running(memory) is not None:
                return  # it was asked for twice
            raise Unavailable("another check is running", hint="wait until it has ended")
        running = Running(name, deep=deep)
        thread = threading.Thread(target=self._run, args=(running, memory, now), daemon=True)
        self._running = running, thread
        thread.start()
        thread.join(wait_s)

    def _run(self, running: Running, memory: Memory, now: str) -> None:
        name = running.name
        self._failed.pop(name, None)
        try:
            found = memory.admin.verify(running.step, deep=running.is_deep)
            self._checks[name] = Check(at=now, found=found, is_deep=running.is_deep)
            _bound(self._checks)
        except RecollectError as error:
            self._failed[name] = told(error, with_hint=True)
            _bound(self._failed)
        except _Stopped:
            pass
        finally:
            self._running = None
            self._lock.release()

    def running(self, memory: Memory) -> Running | None:
        """The check of this ledger that has not ended, if there is one."""
        found = self._running
        return found[0] if found is not None and found[0].name == _name(memory) else None

    def failed(self, memory: Memory) -> str | None:
        """Why the last check of this ledger could not be made."""
        return self._failed.get(_name(memory))

    def stop(self) -> None:
        """Ends a check that still runs, because the process ends."""
        if (found := self._running) is not None:
            found[0].is_stopped = True
            found[1].join(_STOP_S)

    def last(self, memory: Memory) -> Check | None:
        """The last check of this very ledger, if there was one."""
        found = self._checks.get(_name(memory))
        return found if found is not None and _is_of(memory, found.found) else None

    def after(self, memory: Memory, seq: int) -> Check | None:
        """The last check, if it covered an event."""
        found = self.last(memory)
        return found if found is not None and found.found.events >= seq else None

    def erased(self, hash: str, places: tuple[str, ...]) -> None:
        """Keeps where an erasure, by its hash, removed something."""
        self._places[hash] = places
        _bound(self._places)

    def places(self, hash: str) -> tuple[str, ...] | None:
        """Where an erasure of this process removed something."""
        return self._places.get(hash)


def _name(memory: Memory) -> _Name:
    try:
        user = handle_of(memory).actor.user or ""
    except Unsupported:  # a memory of a service
        user = ""
    return memory.where, memory.scope.space, user


def _is_of(memory: Memory, found: Verification) -> bool:
    """False if the ledger is another one by now: it was dropped, replaced or cut."""
    if found.status == "broken" or not found.events:
        return True
    try:
        return memory.events.get(found.events).hash == found.head
    except RecollectError:
        return False


def _bound(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > _KEPT_MAX_COUNT:
        kept.popitem(last=False)


CHECKED: Final = Checked()
