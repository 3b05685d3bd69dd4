"""What a model quotes of the user.

Responsible for turning the words into evidence, and for what the model is told if they were not
found. Leaves finding them to ``assistants.typed`` and what they allow to
``lifecycle.trust.lineage``. Invariant: words that no person said of late are never evidence.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

from recollect.assistants.mounts import Mounts
from recollect.assistants.typed import QUOTABLE
from recollect.model.values import Quote

_HOURS: Final = QUOTABLE // timedelta(hours=1)
_NOT_FOUND: Final = (
    f"the quoted words were not found in what the user typed here in the last {_HOURS} hours"
)
_HOW: Final = (
    "give in `quote` what the user said about it after that, verbatim, with a word that the change "
    "adds; or ask the user to change it"
)


class Quoted(NamedTuple):
    """The user's words as evidence, and what to say about them."""

    found: tuple[Quote, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def next_step(self) -> str:
        """What to do after a refusal to change what a person wrote."""
        return "; ".join((*self.notes, _HOW))


def of_user(
    mounts: Mounts, words: str | None, *, id: str | None = None, mount: str | None = None
) -> Quoted:
    """The words in the mount that has ``id``, else in the one that is written to."""
    if words is None:
        return Quoted()
    found = mounts.quoted(words, id=id, mount=mount)
    return Quoted(notes=(_NOT_FOUND,)) if found is None else Quoted(found=(found,))
