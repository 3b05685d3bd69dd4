"""A socket in front of a server: counts round trips and bytes, cuts connections where a test says.

Responsible for passing bytes on in both directions and for counting how often a client turns from
reading to writing. Invariant: what a call asked for is counted once its answer has come, because
the answer passes here first.
"""

from __future__ import annotations

import selectors
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, NamedTuple, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_PIECE_BYTES: Final = 1 << 16
_PROCESS: Final = b"K\0\0\0\x0c"  # the message that names it
_TERMINATE: Final = b"X\0\0\0\4"  # nobody waits for an answer to it


class Proxy:
    """Connections to one server, by way of a socket of our own."""

    def __init__(self, server: str, *, hides_process: bool = False) -> None:
        self._server = server
        self._hides_process = hides_process  # as a pooler does
        parts = conninfo_to_dict(server)
        self._host, self._port = (
            str(parts.get("host", "localhost")),
            int(str(parts.get("port", 5432))),
        )
        self._folder = tempfile.mkdtemp(prefix="proxy-")
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(f"{self._folder}/.s.PGSQL.5432")
        self._listening.listen()
        self._pairs: dict[socket.socket, _Pair] = {}
        self._selector = selectors.DefaultSelector()
        self._end, self._ended = socket.socketpair()
        for each in (self._listening, self._ended):
            self._selector.register(each, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run)
        self.turns = self.sent = 0  # what clients began to ask, and their bytes
        self._cut: _Cut | None = None

    @property
    def address(self) -> str:
        """The same database, by way of this."""
        return make_conninfo(self._server, host=self._folder, port=5432)

    def counted(self, call: Callable[[], object]) -> int:
        """How many round trips a call takes."""
        before = self.turns
        call()
        return self.turns - before

    def cut(self, word: bytes, where: str, then: Callable[[], object] = lambda: None) -> None:
        """Cuts the connection of the next request with a word in it, before or after the server.

        ``where`` is "request" or "answer": what does not arrive any more. Something may happen
        before anybody notices.
        """
        self._cut = _Cut(word, where, then)

    def mute(self) -> None:
        """Swallows what the server answers to the clients that are connected now."""
        for each in {*self._pairs.values()}:
            each.is_mute = True

    @property
    def has_cut(self) -> bool:
        """True once that has happened."""
        return self._cut is None

    def _is_cut(self, pair: _Pair, source: socket.socket, data: bytes) -> bool:
        cut = self._cut
        if cut is None:
            return False
        if source is pair.client and cut.word in data:
            pair.is_cut = True
        if pair.is_cut and source is (pair.client if cut.where == "request" else pair.server):
            self._cut = None
            cut.then()
            return True
        return False

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._ended:
                    return
                if key.fileobj is self._listening:
                    self._accept()
                else:
                    self._pass_on(key.fileobj)  # type: ignore[arg-type]  # no other is registered

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        if self._host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{self._host}/.s.PGSQL.{self._port}")
        else:
            server = socket.create_connection((self._host, self._port))
        pair = _Pair(client, server)
        for each in (client, server):
            self._pairs[each] = pair
            self._selector.register(each, selectors.EVENT_READ)

    def _pass_on(self, source: socket.socket) -> None:
        pair = self._pairs.get(source)
        if pair is None:
            return  # the other end has gone in the same round
        try:
            data = source.recv(_PIECE_BYTES)
            if data and not self._is_cut(pair, source, data):
                self.turns += data != _TERMINATE and pair.turns(source)
                self.sent += len(data) * (source is pair.client)
                if self._hides_process and source is pair.server and not pair.is_hidden:
                    data, pair.is_hidden = _with_another_process(data)
                if not (pair.is_mute and source is pair.server):
                    pair.other(source).sendall(data)
                return
        except OSError:
            pass  # one end has gone
        for each in (pair.client, pair.server):
            self._selector.unregister(each)
            del self._pairs[each]
            each.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.send(b".")
        self._thread.join()
        self._selector.close()
        for each in (*self._pairs, self._listening, self._end, self._ended):
            each.close()
        shutil.rmtree(self._folder)


def _with_another_process(data: bytes) -> tuple[bytes, bool]:
    """The greeting of a server with another number of its process; False if that is not in it."""
    at = data.find(_PROCESS)
    if at < 0:
        return data, False
    start = at + len(_PROCESS)
    return data[:start] + b"\x7f\0\0\1" + data[start + 4 :], True


class _Cut(NamedTuple):
    """Where a connection ends."""

    word: bytes
    where: str
    then: Callable[[], object]


class _Pair:
    """One connection: both ends, and which of them was heard last."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self._last = server
        self.is_mute = False
        self.is_hidden = False  # the process of the server
        self.is_cut = False  # with the next bytes in one direction

    def other(self, source: socket.socket) -> socket.socket:
        return self.client if source is self.server else self.server

    def turns(self, source: socket.socket) -> bool:
        """True if the client begins to write."""
        is_turn = source is self.client and self._last is self.server
        self._last = source
        return is_turn
