"""``Memory``: one memory of a service, with the calls of ``recollect.Memory``.

Responsible for opening a memory, for narrowing a handle and for moving it to the past. Leaves the
calls to the groups that it is made of, most of which ``make async`` writes. Invariant: an argument
means what it means in ``recollect.Memory``, and answers and errors are the same.
"""

from __future__ import annotations

import os
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from recollect.client.asking import Handle, Opening
from recollect.client.calls.contexts import Contexts
from recollect.client.calls.reading import Reading
from recollect.client.calls.writing import Writing
from recollect.client.changing import Changing
from recollect.client.looking import Looking, position_of
from recollect.client.transport import Transport
from recollect.errors import Forbidden, InvalidInput
from recollect.model import validate
from recollect.model.events import TRUST_RANK, Trust
from recollect.model.instants import instant
from recollect.model.rules import at_least
from recollect.model.values import Change, MemoryScope
from recollect.model.wire import Page

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load
if TYPE_CHECKING:  # parts are loaded when they are first used
    from recollect.client.parts import (
        Admin,
        Branches,
        Events,
        Links,
        MemorySettings,
        Pages,
        Proofs,
        Review,
        Sessions,
    )


class Memory(
    Changing,
    Looking,
    Writing,
    Reading,
    Contexts,
):
    """A memory that a service keeps."""

    def __init__(self, handle: Handle | None = None) -> None:
        """A memory over a handle; ``Memory.open`` makes both."""
        if not isinstance(handle, Handle):
            raise InvalidInput("a memory is opened, not constructed", hint="use Memory.open")
        super().__init__(handle)

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str] | None = None,
        *,
        space: str = "main",
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> Self:
        """Open a memory of a service.

        Args:
            where: The address of the service, such as ``https://memory.example``; by default
                ``RECOLLECT_STORE``.
            space: The name of the memory.
            token: A token of the service; by default ``RECOLLECT_TOKEN``.
            timeout_s: How long one call may take, retries included.

        Raises:
            ConfigError: The address is not one of a service, or there is no token.
        """
        transport = Transport.of(where, token, timeout_s=timeout_s)
        name = validate.space_name(space)
        return cls(Handle(transport, name, opening=Opening(transport, name)))

    # --- handles ------------------------------------------------------------------------------

    def scoped(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        trust: Trust | None = None,
        subject: str | None = None,
    ) -> Self:
        """A handle on the same memory for one user, session or agent, or with less trust.

        The arguments are those of ``recollect.Memory.scoped``.
        """
        if subject is not None and user not in (None, subject):
            raise InvalidInput("a handle is for one user: name user or subject, not both")
        mine = self._narrowed()
        named = {
            "user": _narrow("user", mine["user"], user if subject is None else subject),
            "session": _narrow("session", mine["session"], session),
            "agent": _narrow("agent", mine["agent"], agent),
            "trust": self._lowered(trust),
            "subject": subject,
        }
        asked = {name: value for name, value in named.items() if value is not None}
        made = type(self)(self._remote.narrowed(**asked))
        if subject is not None:
            made.status()  # names the subject now, so that what is wrong is said now
        return made

    def _lowered(self, trust: Trust | None) -> Trust | None:
        if trust is None:
            return None
        if trust not in TRUST_RANK:
            raise InvalidInput(f"trust must be person, agent or unverified, not {trust!r}")
        mine: Any = self._remote.headers.get("Recollect-Trust", "person")
        if not at_least(mine, trust):
            raise Forbidden(f"a handle with trust {mine!r} cannot be raised to {trust!r}")
        return trust

    def on(self, branch: str) -> Self:
        """The memory with the changes of an open branch; what is written here waits there.

        The argument is that of ``recollect.Memory.on``.
        """
        handle = self._remote.narrowed(branch=validate.name(branch, "branch"))
        position_of(handle)  # refuses a branch that is closed or not there
        return type(self)(handle)

    def at(self, position: int | datetime | str) -> Self:
        """The memory as it was; a handle that only reads.

        The argument is that of ``recollect.Memory.at``.
        """
        if isinstance(position, int) and position < 0:
            raise InvalidInput(f"there is no position {position}")
        at = str(position) if isinstance(position, int) else instant(position)
        handle = self._remote
        answer = handle.send("GET", f"{handle.root}/events", query={"limit": 1, "at": at})
        found = answer.read(Page[Change]).position
        return type(self)(
            handle.moved(found if handle.position is None else min(found, handle.position))
        )

    # --- doors --------------------------------------------------------------------------------

    @property
    def review(self) -> Review:
        """What waits for a person: proposals and waiting records."""
        from recollect.client.parts import Review

        return Review(self._remote)

    @property
    def graph(self) -> Links:
        """The links between records."""
        from recollect.client.parts import Links

        return Links(self._remote)

    @property
    def pages(self) -> Pages:
        """The memory as Markdown, one page for each entity."""
        from recollect.client.parts import Pages

        return Pages(self._remote)

    @property
    def branches(self) -> Branches:
        """Named lines of proposals: what would be changed, until a person merges it."""
        from recollect.client.parts import Branches

        return Branches(self._remote)

    @property
    def sessions(self) -> Sessions:
        """Conversations and runs of work, and what was said in them."""
        from recollect.client.parts import Sessions

        return Sessions(self._remote)

    @property
    def events(self) -> Events:
        """The events of the ledger, as they were written."""
        from recollect.client.parts import Events

        return Events(self._remote)

    @property
    def proof(self) -> Proofs:
        """Checkpoints, proofs, audits, certificates and receipts."""
        from recollect.client.parts import Proofs

        return Proofs(self._remote)

    @property
    def settings(self) -> MemorySettings:
        """Presets, rules, documents and policies of this memory."""
        from recollect.client.parts import MemorySettings

        return MemorySettings(self._remote)

    @property
    def admin(self) -> Admin:
        """What looks after this memory and moves it."""
        from recollect.client.parts import Admin

        return Admin(self._remote)

    # --- about the handle ---------------------------------------------------------------------

    @property
    def where(self) -> str:
        """The folder or address, without secrets."""
        return self._remote.transport.url

    @property
    def scope(self) -> MemoryScope:
        """The space, the user, session and agent of this handle, and its trust."""
        return MemoryScope(**self._narrowed(), space=self._remote.name, trust=self._trust())

    def _narrowed(self) -> dict[str, str | None]:
        """For whom this handle is, as far as it was narrowed."""
        headers = self._remote.headers
        parts = ("user", "session", "agent")
        return {part: headers.get(f"Recollect-{part.capitalize()}") for part in parts}

    def _trust(self) -> Trust:
        """The trust of what this handle writes."""
        asked: Any = self._remote.headers.get("Recollect-Trust")
        granted = self._remote.transport.granted().trust
        return granted if asked is None or not at_least(granted, asked) else asked

    def close(self) -> None:
        """Release files and connections; closing twice is fine."""
        self._remote.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        position = self._remote.position
        past = "" if position is None else f", at={position}"
        return f"Memory({self.where!r}, space={self._remote.name!r}{past})"


def _narrow(what: str, mine: str | None, wanted: str | None) -> str | None:
    """A part of the scope, set once."""
    if wanted is None:
        return None
    wanted = validate.name(wanted, what)
    if mine is not None and mine != wanted:
        raise Forbidden(f"this handle is for {what} {mine!r} only")
    return wanted
