"""Whether the store behind the service answers.

Responsible for asking it, at most once a second however many probes come, because nobody needs a
token for that. Leaves what ready means beyond this to ``app``. Invariants: a probe waits no longer
than a second; it needs no rights: the store is asked for a token that it cannot know.
"""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Final

from recollect.errors import Forbidden, InvalidInput
from recollect.memory.store import Store
from recollect.store.tokens.tokens import PREFIX

_WAIT_S: Final = 1.0
_KEPT_S: Final = 1.0
_DISK_LOW_BYTES: Final = 256 << 20
_NOBODY: Final = PREFIX + "0" * 43  # in the form of a token


class Readiness:
    """The last answer of the store, and the question that is under way."""

    def __init__(self, store: Store, *, wait_s: float = _WAIT_S) -> None:
        self._store = store
        self._wait_s = wait_s
        self._thread: Executor = ThreadPoolExecutor(1, thread_name_prefix="ready")
        self._asking: asyncio.Future[bool] | None = None
        self._until = 0.0
        self.is_disk_low = False  # as of the last answer

    async def ask(self) -> bool:
        """True if the store has answered within a second."""
        loop = asyncio.get_running_loop()
        asking = self._asking
        if asking is None or (asking.done() and loop.time() >= self._until):
            asking = self._asking = loop.run_in_executor(self._thread, self._is_there)
            asking.add_done_callback(self._note)
        done, _ = await asyncio.wait([asking], timeout=self._wait_s)
        return bool(done) and asking.result()

    def _note(self, asking: asyncio.Future[bool]) -> None:
        self._until = asyncio.get_running_loop().time() + _KEPT_S

    def _is_there(self) -> bool:
        folder = self._store.settings.folder
        if folder is not None and not folder.is_dir():
            return False
        free = free_bytes(self._store)
        self.is_disk_low = free is not None and free < _DISK_LOW_BYTES
        try:
            self._store.entered(_NOBODY).token()
        except (Forbidden, InvalidInput):  # it has looked, and does not know that token
            return True
        except Exception:  # noqa: BLE001 - whatever it is, the store did not answer
            return False
        return True

    def close(self) -> None:
        """Asks nothing any more."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def free_bytes(store: Store) -> int | None:
    """How much room the disk of a store has; None if that cannot be known, as on a server."""
    folder = store.settings.folder
    try:
        return None if folder is None else shutil.disk_usage(folder).free
    except OSError:
        return None
