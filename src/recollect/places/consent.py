"""Where an assistant's sessions are stored: only where a person ran ``recollect init``.

A memory may exist because an assistant remembered something, or because a repository brought one
along. Neither is a person's yes to storing whole conversations. Responsible for that yes, in a list
of the person's own, and for what a person may choose for prompts. Leaves storing to
``assistants.capture``. Invariant: nothing in the memory's own folder counts as a yes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, get_args

from recollect import config
from recollect.config import Settings
from recollect.places import known
from recollect.store.disk.layout import SESSIONS, folder_of
from recollect.store.seam import REAL, Seam

# What becomes of a person's prompts: stored, so that an assistant can quote them, and recalled if
# they say something; recalled even if they only ask; or not stored.
Prompts = Literal["quoting", "memory", "none"]
PROMPTS: Final[tuple[Prompts, ...]] = get_args(Prompts)


def is_given(settings: Settings, space: str = "main") -> bool:
    """True if a person said yes to storing sessions in this memory, with its current ledger."""
    first = known.first_hash(folder_of(Path(settings.where), space))
    listed = config.known(known.list_of(settings, SESSIONS))
    return first is not None and listed.get(known.place(settings, space)) == first


def give(settings: Settings, space: str = "main", seam: Seam = REAL) -> None:
    """Records the yes. Call it only when a person asked for it."""
    first = known.first_hash(folder_of(Path(settings.where), space))
    if first is None or is_given(settings, space):
        return
    with known.lock(settings, seam):
        file = known.list_of(settings, SESSIONS)
        known.write({**known.listed(file), known.place(settings, space): first}, file, seam)
