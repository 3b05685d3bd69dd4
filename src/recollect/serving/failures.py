"""What an error means over HTTP, and what of it may be written to a log.

Responsible for the status of each error and for where it came from. Leaves its words to the
interfaces. Invariant: what is logged never quotes a memory.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from recollect import errors as e

_FRAMES_MAX_COUNT: Final = 12
_STATUS: Final[Mapping[type[e.RecollectError], int]] = {
    e.InvalidInput: 422,
    e.NotFound: 404,
    e.Forbidden: 403,
    e.Conflict: 409,
    e.Changed: 412,
    e.Unavailable: 503,
    e.Unsupported: 501,
    e.ConfigError: 500,
    e.IntegrityError: 500,
    e.RecollectError: 500,
}


def status_of(error: e.RecollectError) -> int:
    """The status of the nearest kind of error."""
    return next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)


def frames(error: BaseException) -> str:
    """What failed and where, for the log; its own words may quote a text, so they are left out."""
    steps = traceback.extract_tb(error.__traceback__)[-_FRAMES_MAX_COUNT:]
    where = (f"{PurePath(one.filename).name}:{one.lineno} {one.name}" for one in steps)
    return " > ".join([type(error).__name__, *where])
