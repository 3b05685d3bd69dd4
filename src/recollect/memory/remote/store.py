"""The calls of a store of a service, for the class that ``memory.store`` makes of them.

Responsible for tokens that are the engine's by type. Leaves the rest to ``client``.
Invariant: as in ``remote.memory``.
"""

from __future__ import annotations

from typing import Self

from recollect.client.store import StoreCalls as Client
from recollect.client.tokens import Tokens as ClientTokens
from recollect.config import AUTO, Settings, Where, load
from recollect.memory.tokens import Tokens


class ServiceTokens(ClientTokens, Tokens):
    """The tokens of a service."""


class StoreCalls(Client):
    """What a store of a service can do."""

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

    @property
    def tokens(self) -> ServiceTokens:
        """The tokens that open memories of this service."""
        return ServiceTokens(self._transport)
