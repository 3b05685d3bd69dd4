"""``recollect sync --watch``: looks again and again until it is stopped.

Responsible for when to look: the memory's position or a file's time has changed, and no file was
saved within the last moment. Leaves what is done then to ``Memory.pages``. Invariants: it only
renders and proposes; Ctrl-C and SIGTERM end it after the step that is under way.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

from recollect.errors import RecollectError
from recollect.interfaces.cli import plain
from recollect.memory import Memory
from recollect.model.values import Synced
from recollect.store.pages.page_files import stamps

_EVERY_S: Final = 1.0
_NAP_S: Final = 0.1  # how soon it ends after it was stopped


def until_stopped(memory: Memory, folder: str | None, tell: Callable[[Synced], None]) -> None:
    """Renders and proposes after each change."""
    is_stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopped
        is_stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    place = Path(memory.pages.status(folder).folder)
    plain.say_to_stderr(f"Watching {plain.safe(str(place))}. Ctrl-C ends it.")
    try:
        done: object = None
        while not is_stopped:
            seen = (memory.events.position, stamps(place))
            if seen != done and _is_quiet(place, lambda: is_stopped):
                _look(memory, folder, tell)
                done = seen  # not as it is now: something may have been saved meanwhile
            _nap(_EVERY_S, lambda: is_stopped)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _look(memory: Memory, folder: str | None, tell: Callable[[Synced], None]) -> None:
    try:
        tell(memory.pages.sync(folder, propose=True))
    except RecollectError as error:
        plain.refuse(error.message, error.hint)


def _is_quiet(place: Path, is_stopped: Callable[[], bool]) -> bool:
    """True if no file is being saved: an editor may write in several steps."""
    seen = stamps(place)
    _nap(2 * _NAP_S, is_stopped)
    return not is_stopped() and stamps(place) == seen


def _nap(seconds: float, is_stopped: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not is_stopped() and time.monotonic() < end:
        time.sleep(_NAP_S)
