"""The words of signatures that the plain API has from packages which the client does not load.

Responsible for the same names with the same meaning. Leaves the calls to ``client.calls``.
Invariant: a test compares the signatures of both APIs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from recollect.errors import Unsupported

OVERLAP_S = 3_600  # for how long a rotated token still works
Expect = tuple[str, int] | int
Progress = Callable[[int, int], None]  # done, total
Counter = Callable[[str], int]
Direction = Literal["both", "out", "in"]
Who = Literal["users", "named"]
Proposer = object
Act = object


def count_tokens(text: str) -> int:
    """Stands for the counter of the service; the client counts nothing itself."""
    raise Unsupported("the service counts tokens itself", hint="read `context.tokens`")
