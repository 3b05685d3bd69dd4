"""A witness behind HTTP, in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.serving.guard import Guard
from recollect.serving.server import listen
from recollect.serving.witness import WitnessApp
from recollect.store.witnesses.folder import FolderWitness
from tests.running import running


@contextmanager
def served(witness: FolderWitness, *, body_max_s: float = 10.0) -> Iterator[str]:
    """The address of a witness while it is served."""
    with listen(0) as listening:
        port = listening.getsockname()[1]
        app = Guard(WitnessApp(witness, body_max_s=body_max_s), port=port, token=None)
        with running(app, listening, connections_max_count=16):
            yield f"http://127.0.0.1:{port}"
