"""A process that starts and ends quickly.

Responsible for what loading and leaving cost beside the work itself. Leaves choosing the verbs that
are worth it to ``hook`` and ``quick``. Invariant: nothing here changes an answer.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def load_msgspec() -> None:
    """Loads msgspec as if typing_extensions were not installed, which takes a seventh less time.

    msgspec uses it where it is there and ``typing`` where it is not; on every Python that Recollect
    supports the two serve it alike. None is Python's own mark for a module that cannot be imported.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        with suppress(ImportError):  # whatever needs it next says what is wrong
            import msgspec  # noqa: F401 - it is loaded here and used later
    finally:
        del sys.modules[name]


def leave(code: int) -> NoReturn:
    """Ends the process at once: everything is closed, and Python's own shutdown takes long."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the other end of the pipe may be closed
            stream.flush()
    os._exit(code)
