"""The applications that the service is compared with.

Responsible for an echo without anything, and for the whole gate around an operation that decodes
its body and encodes an answer. Leaves processes to ``servers``. Invariant: the second one passes
every check that a real operation passes.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec.structs import replace

from benchmarks.service.bare import echo
from recollect.interfaces.http import app as service
from recollect.interfaces.http import routes
from recollect.interfaces.http.call import Call
from recollect.interfaces.http.limits.gate import Gate
from recollect.interfaces.http.shapes import Remember
from recollect.memory.store import Store
from recollect.model.values import Record
from recollect.serving.guard import App, Receive, Scope, Send

PATH: Final = "/v1/spaces/main/echo"
BARE: Final = "bare"
GATE: Final = "gate"
LEAKING: Final = "leaking"
_kept: list[bytearray] = []


@contextmanager
def app(kind: str, store: str, listening: socket.socket) -> Iterator[tuple[App, str]]:
    """An application, and the token that it wants."""
    if kind in (BARE, LEAKING):
        yield echo if kind == BARE else leaking, "none"
        return
    with Store.open(store, embedder="none") as opened:
        token = opened.tokens.create("echo", space="main", trust="agent").token
        _add_route(opened)
        port = listening.getsockname()[1]
        yield service.App(opened, Gate([f"127.0.0.1:{port}"])), token


async def leaking(scope: Scope, receive: Receive, send: Send) -> None:
    """An echo that keeps something of each request: the control of what looks for that."""
    _kept.append(bytearray(8_192))
    await echo(scope, receive, send)


def _add_route(store: Store) -> None:
    """One more row in the table of this process."""
    found = store.space("main").list(limit=1)[0]

    def answer(call: Call) -> Record:
        """Decode a body, encode a record."""
        return replace(found, text=call.body.text)

    path = PATH.replace("main", "{space}")
    row: Any = routes.Route("POST", path, "echo", answer, Record, Remember, verb="write")
    vars(routes)["TABLE"] = (*routes.TABLE, row)  # before the first request
