"""A witness behind HTTP, in a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from recollect.store.witnesses.folder import FolderWitness
from recollect.web.connections import bounded
from recollect.web.guard import Guard
from recollect.web.serving import listen
from recollect.web.witness import WitnessApp


@contextmanager
def served(witness: FolderWitness, *, body_max_s: float = 10.0) -> Iterator[str]:
    """The address of a witness while it is served."""
    with listen(0) as listening:
        port = listening.getsockname()[1]
        app = Guard(WitnessApp(witness, body_max_s=body_max_s), port=port, token=None)
        config = uvicorn.Config(app, http=bounded(16, 5), log_config=None, lifespan="on", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()
