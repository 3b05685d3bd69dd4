"""A store of a service, which is a ``Store`` by type and has every call of its client.

Responsible for what ``Store.open`` gives for an address. Leaves every call to ``client``.
Invariant: as in ``service.memory``.
"""

from __future__ import annotations

from typing import Self

from recollect.client.jobs import Jobs as ClientJobs
from recollect.client.store import Store as Client
from recollect.client.tokens import Tokens as ClientTokens
from recollect.config import AUTO, Settings, Where, load
from recollect.memory.jobs.jobs import Jobs
from recollect.memory.service.memory import ServiceMemory
from recollect.memory.store import Store
from recollect.memory.tokens import Tokens


class ServiceTokens(ClientTokens, Tokens):
    """The tokens of a service."""


class ServiceJobs(ClientJobs, Jobs):
    """The background work of a service."""


class ServiceStore(Client, Store):
    """The memories of a service."""

    @classmethod
    def open(
        cls,
        where: Where = None,
        *,
        embedder: str = AUTO,
        settings: Settings | None = None,
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> Self:
        """Open a service; the arguments are those of ``recollect.Store.open``."""
        found = settings or load(where, embedder=embedder, token=token)
        opened = super().open(found.where, token=found.token or "", timeout_s=timeout_s)
        opened.settings = found
        return opened

    def space(self, name: str = "main", *, create: bool = True) -> ServiceMemory:
        """The memory of one user, project or team; nothing is created before its first use."""
        return ServiceMemory(self._space(name, create=create))

    @property
    def tokens(self) -> ServiceTokens:
        """The tokens that open memories of this service."""
        return ServiceTokens(self._transport)

    @property
    def jobs(self) -> ServiceJobs:
        """The background work in memories of this service."""
        return ServiceJobs(self._transport, self.spaces)
