"""The state of a memory or a space after its index was made again.

Responsible for the one comparison that many suites make: the same digest before and after.
"""

from __future__ import annotations

from typing import Protocol


class _Rebuildable(Protocol):
    def rebuild(self) -> object: ...

    def digest(self) -> str: ...


def rebuilt_digest(memory: _Rebuildable) -> str:
    """Rebuilds the index; the digest of the state it reached."""
    memory.rebuild()
    return memory.digest()
