"""The calls of a memory of a service, for the class that ``memory.memory`` makes of them.

Responsible for doors and batches that are the engine's by type. Leaves every call to ``client``,
and that a memory of a service is a ``Memory`` to ``memory.memory``. Invariant: no call is answered
by the engine: the type check compares arguments and answers, and a test what is there.
"""

from __future__ import annotations

from typing import Self

from recollect.client.batch import Batch as ClientBatch
from recollect.client.memory import Memory as Client
from recollect.config import AUTO, Settings, Where, load
from recollect.lifecycle.commands import Expect
from recollect.memory.batch import Batch

TYPE_CHECKING = False
if TYPE_CHECKING:  # loaded when one is used
    from recollect.memory.remote import doors


class ServiceBatch(ClientBatch, Batch):
    """Several writes of a service that happen together or not at all."""


class MemoryCalls(Client):
    """What a memory of a service can do."""

    @classmethod
    def open(
        cls,
        where: Where = None,
        *,
        space: str = "main",
        embedder: str = AUTO,
        settings: Settings | None = None,
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> Self:
        """Open a memory of a service; the arguments are those of ``recollect.Memory.open``."""
        found = settings or load(where, embedder=embedder, token=token)
        return super().open(found.where, space=space, token=found.token or "", timeout_s=timeout_s)

    def batch(
        self, *, idempotency_key: str | None = None, expect: Expect | None = None
    ) -> ServiceBatch:
        """Several writes that happen together or not at all, with one fsync."""
        return ServiceBatch(self._sender(idempotency_key, expect))

    @property
    def review(self) -> doors.ServiceReview:
        """What waits for a person: proposals and waiting records."""
        from recollect.memory.remote import doors

        return doors.ServiceReview(self._remote)

    @property
    def graph(self) -> doors.ServiceLinks:
        """The links between records."""
        from recollect.memory.remote import doors

        return doors.ServiceLinks(self._remote)

    @property
    def pages(self) -> doors.ServicePages:
        """The memory as Markdown, one page for each entity."""
        from recollect.memory.remote import doors

        return doors.ServicePages(self._remote)

    @property
    def branches(self) -> doors.ServiceBranches:
        """Named lines of proposals: what would be changed, until a person merges it."""
        from recollect.memory.remote import doors

        return doors.ServiceBranches(self._remote)

    @property
    def sessions(self) -> doors.ServiceSessions:
        """Conversations and runs of work, and what was said in them."""
        from recollect.memory.remote import doors

        return doors.ServiceSessions(self._remote)

    @property
    def events(self) -> doors.ServiceEvents:
        """The events of the ledger, as they were written."""
        from recollect.memory.remote import doors

        return doors.ServiceEvents(self._remote)

    @property
    def proof(self) -> doors.ServiceProofs:
        """Checkpoints, proofs, audits, certificates and receipts."""
        from recollect.memory.remote import doors

        return doors.ServiceProofs(self._remote)

    @property
    def settings(self) -> doors.ServiceMemorySettings:
        """Presets, rules, documents and policies of this memory."""
        from recollect.memory.remote import doors

        return doors.ServiceMemorySettings(self._remote)

    @property
    def admin(self) -> doors.ServiceAdmin:
        """What looks after this memory and moves it."""
        from recollect.memory.remote import doors

        return doors.ServiceAdmin(self._remote)
