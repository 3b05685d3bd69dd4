"""Figures of the engine, for one observer that a process may set.

Responsible for calling it. Leaves what is done with the figures to the observer. Invariants:
nothing is measured or called unless an observer is set; an observer gets durations and
counts, never a name, an id or a text; what it raises concerns no reader or writer.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final, Literal, Protocol

Stage = Literal["append", "fsync", "fold", "pool", "recall.legs", "recall.rank", "recall.pack"]
STAGES: Final[tuple[Stage, ...]] = (
    "append", "fsync", "fold", "pool", "recall.legs", "recall.rank", "recall.pack",
)  # fmt: skip


class Observer(Protocol):
    """Hears of the engine's work; any thread may call it."""

    def took(self, stage: Stage, seconds: float) -> None:
        """A stage has just ended, and took so long."""
        ...

    def grouped(self, commands: int) -> None:
        """An append was made for so many commands."""
        ...

    def lagging(self, events: int) -> None:
        """So many events of a memory are in its ledger and not yet in its index."""
        ...

    def worked(self, kind: str, outcome: str, seconds: float) -> None:
        """A worker has ended a job of this kind: ``done``, ``failed`` or ``lost`` to another."""
        ...


class _Current:
    observer: Observer | None = None


_CURRENT: Final = _Current()
_NOTHING: Final = nullcontext()


def observe(observer: Observer | None) -> None:
    """Sets the observer of this process; None ends it."""
    _CURRENT.observer = observer


def timed(stage: Stage) -> AbstractContextManager[None]:
    """Tells the observer how long the block took, if there is one and the block does not fail."""
    observer = _CURRENT.observer
    return _NOTHING if observer is None else _Timed(observer, stage)


class _Timed:
    def __init__(self, observer: Observer, stage: Stage) -> None:
        self._observer = observer
        self._stage = stage

    def __enter__(self) -> None:
        self._start = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            with suppress(Exception):
                self._observer.took(self._stage, time.monotonic() - self._start)


def grouped(commands: int) -> None:
    """Tells the observer for how many commands an append was made."""
    if _CURRENT.observer is not None:
        with suppress(Exception):
            _CURRENT.observer.grouped(commands)


def lagging(events: int) -> None:
    """Tells the observer how many events the index lacks."""
    if _CURRENT.observer is not None:
        with suppress(Exception):
            _CURRENT.observer.lagging(events)


def worked(kind: str, outcome: str, seconds: float) -> None:
    """Tells the observer how a job ended."""
    if _CURRENT.observer is not None:
        with suppress(Exception):
            _CURRENT.observer.worked(kind, outcome, seconds)
