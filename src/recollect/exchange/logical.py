"""What a memory holds, in one number: the same after an export and an import.

Responsible for what two memories that hold the same agree in. It leaves out seq, the instants of
writing, and receipts; and what an import changes on purpose: a person's trust is an agent's, an
episode is visible or hidden, and reinforcement counts up to a limit. Invariant: the order of
records does not matter, and nothing is held: the hashes are added up. It compares, it proves
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final, TypeVar

import msgspec

from recollect.exchange.outward import Whole
from recollect.model.limits import BROUGHT_REINFORCEMENTS_MAX_COUNT

_LEFT_OUT: Final = (
    "seq",
    "at",
    "created_at",
    "last_reinforced_at",
    "reinforced_hours",
    "content_id",
)
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode
_BITS: Final = 256
T = TypeVar("T")


class LogicalDigest:
    """A digest over the parts of a memory, taken while they are read."""

    def __init__(self) -> None:
        self._sum = 0

    def over(self, whole: Whole) -> Whole:
        """The same memory; what is read of it is added."""
        return whole._replace(
            records=self._through("record", whole.records),
            episodes=self._through("episode", whole.episodes),
            links=self._through("link", whole.links),
            presets=self._through("frame", whole.presets),
            documents=self._through("document", whole.documents),
        )

    def hexdigest(self) -> str:
        """64 hex digits."""
        return f"{self._sum:064x}"

    def _through(self, what: str, part: Callable[[], Iterator[T]]) -> Callable[[], Iterator[T]]:
        def read() -> Iterator[T]:
            for one in part():
                self._sum = (self._sum + _number(what, one)) % (1 << _BITS)
                yield one

        return read


def _number(what: str, value: object) -> int:
    fields = msgspec.to_builtins(value)
    if what == "record":
        fields["said_at"] = fields["said_at"] or fields["created_at"]
    if what == "episode":
        fields["status"] = "visible" if fields["status"] == "visible" else "hidden"
    if fields.get("trust") == "person":
        fields["trust"] = "agent"
    if "reinforcement_count" in fields:
        count = min(fields["reinforcement_count"], BROUGHT_REINFORCEMENTS_MAX_COUNT)
        fields["reinforcement_count"] = count
    kept = {name: part for name, part in fields.items() if name not in _LEFT_OUT}
    return int.from_bytes(sha256(_ENCODE([what, kept])).digest(), "big")
