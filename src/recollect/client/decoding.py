"""Answers as values, in any thread.

Responsible for one decoder of each kind, made by one thread at a time. Leaves what an answer means
to the callers. Invariant: no thread uses what msgspec knows of a type while another makes it; it
is made in steps, and who uses it half made ends the process. Whatever the bytes are, there is a
value or Unavailable.
"""

from __future__ import annotations

import threading
from typing import Any, Final, TypeVar, cast

import msgspec

from recollect.errors import Unavailable

T = TypeVar("T")

_made: Final[dict[object, msgspec.json.Decoder[Any]]] = {}
_making: Final = threading.Lock()


def decoded(raw: bytes | msgspec.Raw, kind: type[T]) -> T:
    """JSON as a value of a kind; raises Unavailable.

    JSON that is nested too deep, and bytes that do not decode, raise no error of msgspec.
    """
    decoder = _made.get(kind)
    if decoder is None:
        with _making:
            decoder = _made.setdefault(kind, msgspec.json.Decoder(kind))
    try:
        return cast("T", decoder.decode(raw))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unavailable(
            "the service answered something else than this client expects",
            hint="use the same release of Recollect on both sides",
        ) from error
