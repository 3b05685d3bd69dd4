"""The key of a space's caches, wrapped by the master key.

Responsible for encrypting snapshots and blocks of a space that has subjects, and for opening them.
Leaves the cipher to ``ledger.cipher`` and keeping caches to ``store.postgres.ledger``. Invariants:
the server never gets a cache of such a space in the clear; an erasure destroys the key, so old
pages, logs and copies can no longer be decrypted; without the master key nothing is cached.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, cast

from recollect.errors import RecollectError
from recollect.ledger.cipher import KEY_BYTES, NONCE_BYTES, Unopened, unwrap, wrap
from recollect.store.postgres.pool import Pool
from recollect.store.seam import Seam

_PLACE: Final = "recollect caches\n%d\n"


class Closed(NamedTuple):
    """A cache as the server gets it, and the wrapped key it was encrypted with; None: none."""

    data: bytes
    key: bytes | None


class CacheKeys:
    """The key of one space's caches, in this process."""

    def __init__(self, pool: Pool, master: Callable[[bool], bytes] | None, seam: Seam) -> None:
        self._pool = pool
        self._master = master
        self._seam = seam
        self._held: tuple[bytes, bytes] | None = None  # wrapped, and as it is
        self._asks = False

    def note_subjects(self) -> None:
        """There may be words of subjects in what is kept from now on: the server is asked first."""
        self._asks = True

    def close(self, space: int, epoch: int, data: bytes, what: str) -> Closed | None:
        """A cache that was made at an epoch, encrypted if it must be; None if it cannot be kept."""
        if not self._asks:
            return Closed(data, None)
        rows = self._pool.ask("cache_key", {"space": space, "epoch": epoch})
        if not rows:
            return None  # something was erased since
        must, wrapped = rows[0]
        if not must:
            return Closed(data, None)
        if self._master is None:
            return None
        key = cast("bytes | None", wrapped) or self._made(space, epoch)
        opened = None if key is None else self._opened(space, key)
        if key is None or opened is None:
            return None
        nonce = self._seam.random(NONCE_BYTES)
        return Closed(wrap(opened, nonce, data, _bound(space, what)), key)

    def open(self, space: int, data: bytes, what: str, key: bytes | None) -> bytes | None:
        """A cache as it was made; None if it does not open here."""
        if key is None:
            return data
        self.note_subjects()
        opened = self._opened(space, key)
        if opened is None:
            return None
        with suppress(Unopened):
            return unwrap(opened, data, _bound(space, what))
        return None

    def forget(self) -> None:
        """Drops the key that is held: an erasure has ended it."""
        self._held = None

    def _made(self, space: int, epoch: int) -> bytes | None:
        """A new wrapped key, or the one that another process made meanwhile."""
        if self._master is None:
            return None
        key, nonce = self._seam.random(KEY_BYTES), self._seam.random(NONCE_BYTES)
        wrapped = wrap(self._master(False), nonce, key, _bound(space, "key"))
        asked = {"space": space, "epoch": epoch, "key": wrapped}
        return cast("bytes | None", self._pool.ask("keep_cache_key", asked)[0][0])

    def _opened(self, space: int, wrapped: bytes) -> bytes | None:
        """The key, if the master key is here and is the one that wrapped it."""
        if self._held is not None and self._held[0] == wrapped:
            return self._held[1]
        if self._master is None:
            return None
        with suppress(RecollectError):
            key = unwrap(self._master(False), wrapped, _bound(space, "key"))
            self._held = wrapped, key
            return key
        return None


def _bound(space: int, what: str) -> bytes:
    return f"{_PLACE % space}{what}".encode()
