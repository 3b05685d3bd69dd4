"""Answers of writes that wait for a person.

Responsible for telling a model that nothing changed, and what would change it. Leaves filing the
proposal to the memory. Invariant: no answer says that a change was made before a person made it.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from recollect.assistants.mounted import Mounted
from recollect.interfaces.mcp.answers import Left, Stored, noted, stored
from recollect.model.values import Forgotten, Record

_WAITS: Final = "the change waits for review as {}. Ask the user to run `recollect review`."


class Unchanged(Stored, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``revise`` for a change that waits; the tool's schema leaves it out."""

    pending: str
    note: str

    def short(self) -> str:
        """What was not changed, and what would change it."""
        unchanged = f"{self.id} in {self.memory} is unchanged"
        return "\n".join([f"{unchanged}: {_WAITS.format(self.pending)}", *noted(self.note)])


class NotLeft(Left, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``forget`` for something that is not forgotten yet."""

    pending: str

    def short(self) -> str:
        """What was not forgotten, and who decides."""
        return f"{self.id} in {self.memory} is not forgotten: {_WAITS.format(self.pending)}"


def unchanged(made: Mounted[Record], note: str) -> Unchanged:
    """A record that a person must change; the note says what would do it at once."""
    done = structs.asdict(stored(made))
    return Unchanged(**done, pending=made.value.pending or "", note=note)


def not_left(gone: Mounted[Forgotten]) -> NotLeft:
    """Something that a person must forget."""
    return NotLeft(id=gone.value.id, memory=gone.mount, pending=gone.value.pending or "")
