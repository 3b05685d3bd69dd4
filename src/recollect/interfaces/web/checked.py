"""What this process found when it checked a ledger, and what it cleaned when it erased.

Responsible for keeping both until the process ends. Leaves checking to the memory. Invariants: what
is kept has numbers, hashes and names of places, never a word of a memory; one check runs at a time,
because each reads the whole ledger.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

import msgspec

from recollect.errors import RecollectError, Unavailable, Unsupported
from recollect.memory import Memory
from recollect.memory.handle import handle_of
from recollect.model.values import Verification

_KEPT_MAX_COUNT: Final = 200
_Name = tuple[str, str, str]  # place, space and user: one user's check is not another's


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a ledger: what was found, and when."""

    at: str
    found: Verification
    is_deep: bool = False


class Checked:
    """The last checks and the places of erasures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checks: OrderedDict[_Name, Check] = OrderedDict()
        self._erased: OrderedDict[str, tuple[tuple[str, ...], Check]] = OrderedDict()

    def run(self, memory: Memory, now: str, *, deep: bool = False) -> Check:
        """Checks a ledger now."""
        if not self._lock.acquire(blocking=False):  # a thread that waited would serve no page
            raise Unavailable("another check is running", hint="wait until it has ended")
        try:
            check = Check(at=now, found=memory.verify(deep=deep), is_deep=deep)
        finally:
            self._lock.release()
        self._checks[_name(memory)] = check
        _bound(self._checks)
        return check

    def last(self, memory: Memory) -> Check | None:
        """The last check of this very ledger, if there was one."""
        found = self._checks.get(_name(memory))
        return found if found is not None and _is_of(memory, found.found) else None

    def erased(self, hash: str, places: tuple[str, ...], check: Check) -> None:
        """Keeps where an erasure, by its hash, removed something, and the check that followed."""
        self._erased[hash] = (places, check)
        _bound(self._erased)

    def places(self, hash: str) -> tuple[str, ...] | None:
        """Where an erasure of this process removed something."""
        found = self._erased.get(hash)
        return None if found is None else found[0]

    def after(self, hash: str) -> Check | None:
        """The check that followed an erasure of this process."""
        found = self._erased.get(hash)
        return None if found is None else found[1]


def _name(memory: Memory) -> _Name:
    try:
        user = handle_of(memory).actor.user or ""
    except Unsupported:  # a memory of a service
        user = ""
    return memory.where, memory.name, user


def _is_of(memory: Memory, found: Verification) -> bool:
    """False if the ledger is another one by now: it was dropped, replaced or cut."""
    if found.status == "broken" or not found.events:
        return True
    try:
        return memory.event(found.events).hash == found.head
    except RecollectError:
        return False


def _bound(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > _KEPT_MAX_COUNT:
        kept.popitem(last=False)


CHECKED: Final = Checked()
