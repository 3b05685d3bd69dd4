"""The words of signatures that the plain API has from packages which the client does not load.

Responsible for the same names with the same meaning. Leaves the calls to ``client.calls``.
Invariant: a test compares the signatures of both APIs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Expect = tuple[str, int] | int
Progress = Callable[[int, int], None]  # done, total
Counter = Callable[[str], int]
Direction = Literal["both", "out", "in"]
Who = Literal["users", "named"]
Proposer = object
Act = object
