"""What an assistant's memories hold in general.

Responsible for asking each mount for its overview. Leaves recognizing an unspecific question to
``memory.general``. Invariant: the mounts agree on whether a question is unspecific.
"""

from __future__ import annotations

from recollect.assistants.mounted import Mounted
from recollect.assistants.mounts import Mounts, left_out
from recollect.memory import Memory
from recollect.memory.general import in_general
from recollect.model.values import Overview, Value


class MountedOverview(Value, frozen=True, kw_only=True):
    """The overview of each mount, and why one was left out."""

    views: tuple[Mounted[Overview], ...]
    notes: tuple[str, ...] = ()


def overview(
    mounts: Mounts, query: str, *, found: bool, mount: str | None = None, limit: int = 5
) -> MountedOverview | None:
    """An overview of each mount, if the question is unspecific; else None.

    ``found`` says whether recall found something about the question in any of them, or may.
    """

    def ask(memory: Memory) -> Overview | None:
        return in_general(memory, query, found=found, limit=limit)

    asked, failed = mounts.ask_each(ask, mount)
    views = tuple(Mounted(mount=name, value=view) for name, view in asked if view is not None)
    if not views:
        return None
    notes = (left_out(name, error) for name, error in failed.items())
    return MountedOverview(views=views, notes=(*mounts.notes(), *notes))


def kept(mounts: Mounts, mount: str | None = None) -> tuple[int, int]:
    """How many records and episodes the mounts hold."""
    asked, _ = mounts.ask_each(lambda memory: memory.sessions.overview(limit=1), mount)
    return sum(view.records for _, view in asked), sum(view.episodes for _, view in asked)
