"""Which memories a session opens.

Responsible for opening them and for whether they may be changed. Leaves what is shown to ``pages``.
Invariant: a memory that was found on this machine and is not known is shown, and never changed.
"""

from __future__ import annotations

from typing import Final, Protocol

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Place
from recollect.interfaces.web.session import Session
from recollect.memory import Memory, Store
from recollect.places import known

READ_ONLY: Final = "The inspector was started with --read-only, so nothing can be changed here."
UNKNOWN: Final = (
    "This memory was not created on this machine, so nothing can be changed here: "
    "run `recollect init` to adopt it, if you trust its author."
)


class Memories(Protocol):
    """What a session may open; ``recollect ui`` and a service answer differently."""

    def spaces(self, session: Session) -> list[str]:
        """The names of the memories that this session sees."""

    def open(self, session: Session, space: str) -> Memory:
        """A memory; NotFound if this session sees none of that name."""

    def cannot_write(self, session: Session, space: str) -> str | None:
        """Why nothing can be changed in it, or None."""

    def place(self, root: str, space: str) -> Place:
        """Where it is."""


class Own:
    """The memories of one store, for the person at this machine."""

    def __init__(self, store: Store, *, read_only: bool = False, named: str | None = None) -> None:
        self._store = store
        self._read_only = read_only
        self._named = named  # what --store said
        self._opened: dict[str, Memory] = {}
        self._known: set[str] = set()

    def spaces(self, session: Session) -> list[str]:
        """Every memory of the store."""
        return self._store.spaces()

    def open(self, session: Session, space: str) -> Memory:
        """A memory that exists; opened once."""
        found = self._opened.get(space)
        if found is None:
            if space not in self._store.spaces():
                raise NotFound(f"there is no space {space!r} here", hint="choose one of the list")
            found = self._opened[space] = self._store.space(space, create=False)
        return found

    def cannot_write(self, session: Session, space: str) -> str | None:
        """The reason in a sentence, or None."""
        if self._read_only:
            return READ_ONLY
        if space not in self._known:
            if not known.is_known(self._store.settings, space):
                return UNKNOWN
            self._known.add(space)
        return None

    def place(self, root: str, space: str) -> Place:
        """Where it is, for the calls that a page lists."""
        settings = self._store.settings
        service = settings.where if settings.is_service else None
        return Place(root=root, space=space, store=self._named, service=service)
