"""Doing jobs beside answering requests: ``recollect serve --work``.

Responsible for one thread. Leaves jobs to ``memory.jobs.worker``. Invariants: it has the rights of
the store that was opened, and lowers itself to those of who asked; an error ends a pass, not the
thread; at the end the pass that runs gets as long as the requests in work.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from recollect.memory.jobs.jobs import worker_of
from recollect.memory.jobs.worker import POLL_S, Worker
from recollect.memory.store import Store

_log: Final = logging.getLogger(__name__)


@contextmanager
def working(store: Store, *, is_asked: bool, grace_s: float) -> Iterator[None]:
    """Does the jobs of a store meanwhile, if that is asked for."""
    if not is_asked:
        yield
        return
    worker, stop = worker_of(store.jobs), threading.Event()
    store.jobs.list(limit=1)  # refused now, not in the thread
    thread = threading.Thread(target=_work, args=(worker, stop), name="work", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(grace_s)


def _work(worker: Worker, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            worker.run(stop)
        except Exception as error:  # noqa: BLE001 - a bug in one pass is not the end of others
            # Not its message, which may hold what is in a memory.
            _log.error("a pass was ended by %s", type(error).__name__)
            stop.wait(POLL_S)
