"""Which trace a request belongs to (W3C Trace Context).

Responsible for the header ``traceparent``. Leaves spans to ``spans``. Invariant: a header that is
not exactly in its form is ignored.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

HEADER: Final = b"traceparent"
_FORM: Final = re.compile(b"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class Trace(NamedTuple):
    """One place in a trace."""

    trace_id: int
    span_id: int
    flags: int = 0

    @property
    def header(self) -> bytes:
        """The form in a header."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.flags & 1:02x}".encode()


def parsed(value: bytes | None) -> Trace | None:
    """The place that a header names; None if it names none."""
    found = _FORM.fullmatch(value or b"")
    if found is None:
        return None
    trace = Trace(int(found[1], 16), int(found[2], 16), int(found[3], 16))
    return trace if trace.trace_id and trace.span_id else None


def begun(caller: Trace | None, chance: bytes) -> Trace:
    """The place of a request, in the caller's trace or in one of its own; 24 random bytes."""
    span_id = int.from_bytes(chance[:8]) or 1
    if caller is not None:
        return Trace(caller.trace_id, span_id, caller.flags)
    return Trace(int.from_bytes(chance[8:24]) or 1, span_id)
