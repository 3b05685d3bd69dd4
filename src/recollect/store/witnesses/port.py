"""The port of a witness: what each of them provides, in a folder or over HTTP.

Responsible for the contract; each sentence in the list below has a test of the same name in
``recollect.testing``.
"""

from __future__ import annotations

from typing import Protocol

from recollect.proof.keys import PublicKey
from recollect.proof.witness import Answer, Request


class Witness(Protocol):
    """One who keeps the last checkpoint of each log and cosigns the next one.

    - A checkpoint that continues the last one is cosigned.
    - A checkpoint is kept before it is cosigned.
    - A request from another size is told the size that is kept.
    - A smaller tree is never cosigned.
    - Another tree of the same size is never cosigned.
    - A tree that does not begin with the kept one is never cosigned.
    - The same checkpoint is cosigned again.
    - A log that is not pinned is unknown.
    - A checkpoint without a signature of its log is refused.
    - What was refused changes nothing.
    - Each log is kept by itself.
    - Of many requests from one size one is cosigned.
    """

    @property
    def key(self) -> PublicKey:
        """The key with which it cosigns."""
        ...

    def add(self, request: Request) -> Answer:
        """Cosigns the checkpoint of a request, or says why not; raises Unavailable."""
        ...

    def latest(self, origin: str) -> bytes | None:
        """The last checkpoint of a log that it cosigned, with the signatures; raises Unavailable.

        Nothing here has been checked.
        """
        ...
