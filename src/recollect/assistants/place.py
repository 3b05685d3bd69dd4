"""One memory of an assistant: opened at its first use, created at its first write.

Responsible for the place of a mount, and for whose words a handle on it writes. Leaves asking two
of them to ``mounts``. Invariants: reading creates nothing; a memory that is not known
(``places.known``) is neither read nor written.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from msgspec import Struct

from recollect.config import Settings
from recollect.errors import Forbidden
from recollect.memory import Memory, Store
from recollect.model.events import Trust
from recollect.model.rules import at_least
from recollect.places import known
from recollect.places.move import current
from recollect.store.disk.layout import is_empty
from recollect.store.seam import Seam

_NAMES_MAX_COUNT: Final = 10


class Scoping(Struct, frozen=True, kw_only=True):
    """The user, session, agent and trust that every handle of the mounts is limited to."""

    user: str | None = None
    session: str | None = None
    agent: str | None = None
    trust: Trust | None = None  # the highest trust; a credential may allow less

    def narrow(self, memory: Memory) -> Memory:
        """The memory, limited to this scope."""
        mine = memory.scope.trust
        trust = self.trust if self.trust and at_least(mine, self.trust) else None
        return memory.scoped(user=self.user, session=self.session, agent=self.agent, trust=trust)


class Place:
    """One mount: a store that is opened at its first use, if it exists."""

    def __init__(self, settings: Settings, space: str, seam: Seam) -> None:
        self._settings = settings
        self._space = space
        self._seam = seam
        self._store: Store | None = None
        self._others: list[str] = []  # what a server holds instead of the space
        self._opening = threading.Lock()

    @property
    def settings(self) -> Settings:
        """The current settings: this process or another may have moved the memory."""
        before, self._settings = self._settings, current(self._settings)
        if self._settings is not before:
            self.close()
        return self._settings

    def has_place(self) -> bool:
        """True if the place for a memory exists, even if it holds none yet."""
        folder = self.settings.folder
        return self.is_there() if folder is None else folder.is_dir()

    def is_there(self) -> bool:
        """True if there is a memory to read. Checked every time: others may create it."""
        if self.settings.folder is None:
            spaces = self._opened().spaces()
            self._others = [] if self._space in spaces else spaces
            return self._space in spaces
        if not self.has_place():
            return False
        return not is_empty(Path(self.reader().where))  # what is left of one is a loss to tell

    def instead(self) -> str | None:
        """Why a server that holds other spaces answered nothing, as ``is_there`` last saw it."""
        if not self._others:
            return None
        some = ", ".join(self._others[:_NAMES_MAX_COUNT])
        more = ", …" if self._others[_NAMES_MAX_COUNT:] else ""
        return (
            f"no space named {self._space!r} was found in {self._opened().where}; "
            f"this login or token opens: {some}{more}"
        )

    def is_known(self) -> bool:
        """True if it may be used. Checked every time: a person may adopt or replace it."""
        return known.is_known(self.settings, self._space)

    def reader(self) -> Memory:
        """A handle that does not create the memory."""
        return self._opened().space(self._space, create=False)

    def writer(self) -> Memory:
        """A handle that creates the memory if there is none yet, where git ignores it."""
        if self.settings.folder is None:
            return self._opened().space(self._space)
        if self.is_known() and self.is_there():
            known.follow(self.settings, self._space, self._seam)
            return self._opened().space(self._space)
        if self.settings.known_in is None:
            return self._made()
        self._opened()  # moves the memory if needed, which takes the lock itself
        with known.lock(self.settings, self._seam):
            if not self.is_known():
                raise Forbidden(known.ELSEWHERE, hint=f"{known.HINT}; or write to memory: personal")
            memory = self._made()
            memory.events.position  # noqa: B018 - creates the ledger, whose first event is listed
            known.add(self.settings, self._space, self._seam)
        return memory

    def _made(self) -> Memory:
        """Creates the folder if needed, and opens a memory in it."""
        from recollect.store.files.backend import make_workspace

        make_workspace(Path(self.settings.where), self._seam)
        return self._opened().space(self._space)

    def _opened(self) -> Store:
        with self._opening:
            if self._store is None:
                self._store = Store.open(settings=self._settings)
                self._settings = self._store.settings
            return self._store

    def close(self) -> None:
        with self._opening:
            if self._store is not None:
                self._store.close()
            self._store = None


class OpenPlace:
    """A mount whose memory was opened for one caller elsewhere, and is closed there."""

    def __init__(self, memory: Memory, settings: Settings) -> None:
        self._memory = memory
        self.settings = settings

    def is_there(self) -> bool:
        """It is open, so it exists."""
        return True

    def instead(self) -> str | None:
        """Nothing is missing."""
        return None

    def is_known(self) -> bool:
        """Who opened it has decided that."""
        return True

    def reader(self) -> Memory:
        """The memory."""
        return self._memory

    def writer(self) -> Memory:
        """The memory."""
        return self._memory

    def close(self) -> None:
        """Does nothing: it is shared with others."""
