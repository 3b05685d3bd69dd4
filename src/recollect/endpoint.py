"""A guarded HTTP client: one request, one answer. ``Endpoint`` is for JSON APIs such as OpenAI's.

Responsible for sending a body and returning the answer's bytes. Leaves what both mean to its
callers, and choosing the server to the user, because the texts of a memory are sent to it.
Invariants: texts and key are sent over TLS or within this machine, and only to the host that was
named (a redirect is an error); every answer has a size limit and every request a time limit.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from recollect.errors import ConfigError, Unavailable

_PIECE_BYTES: Final = 1 << 16
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_BUSY: Final = (429, 500, 502, 503, 504)  # worth a retry


class Refused(Unavailable):
    """The server answered with a status that another try would not change."""

    def __init__(self, message: str, *, hint: str | None, status: int) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class Reply(NamedTuple):
    """What a server answered: ``kind`` is the type of the content."""

    status: int
    kind: str
    body: bytes


class Server:
    """A server. ``what`` and ``hint`` are for messages: who was asked, what to do."""

    def __init__(
        self,
        url: str,
        *,
        what: str,
        hint: str,
        answer_max_bytes: int,
        timeout_s: float = 30.0,
        idle_s: float | None = None,
    ) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not host or parts.username or parts.query or parts.fragment:
            raise ConfigError(
                f"{what} needs an address", hint="write it as https://HOST/PATH, without a password"
            )
        if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
            raise ConfigError(
                f"refusing to send texts to {host} without TLS",
                hint="use https, or a server on localhost",
            )
        self._secure = parts.scheme == "https"
        self.host, self._port = host, parts.port
        self._start = parts.path.rstrip("/")
        self._what, self._hint = what, hint
        self._answer_max_bytes = answer_max_bytes
        self._timeout_s = timeout_s
        self._idle_s = timeout_s if idle_s is None else idle_s  # without a byte

    def strange(self, what: str) -> Unavailable:
        """An error for an answer that cannot be used."""
        return Unavailable(
            f"the response of the {self._what} at {self.host} {what}", hint=self._hint
        )

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
        answer_max_bytes: int | None = None,
    ) -> Reply:
        """One request; never follows a redirect. Raises OSError or HTTPException."""
        with self.answering(method, path, body, headers) as response:
            kind_of = response.getheader("Content-Type") or ""
            return Reply(response.status, kind_of, self._read(response, answer_max_bytes))

    @contextmanager
    def answering(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> Iterator[http.client.HTTPResponse]:
        """One request and its answer, unread: how much of it is read is the caller's limit."""
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self.host, self._port)
        connection.sock = connected = self._connected(connection.port)
        # The timeout of a socket starts again with each byte; this one does not.
        end = Timer(self._timeout_s, _hang_up, (connected,))
        end.daemon = True
        end.start()
        try:
            if isinstance(connected, ssl.SSLSocket):
                connected.do_handshake()
            connection.request(method, f"{self._start}/{path}", body, headers)
            with connection.getresponse() as response:
                yield response
        finally:
            end.cancel()
            connection.close()

    def _connected(self, port: int) -> socket.socket:
        """A socket to the server; TLS is agreed on later, when the time runs."""
        plain = socket.create_connection((self.host, port), self._idle_s)
        if not self._secure:
            return plain
        return ssl.create_default_context().wrap_socket(
            plain, server_hostname=self.host, do_handshake_on_connect=False
        )

    def _read(self, response: http.client.HTTPResponse, max_bytes: int | None) -> bytes:
        """The answer's bytes; raises if they are too many, or fewer than were announced."""
        most = self._answer_max_bytes if max_bytes is None else max_bytes
        announced = response.length
        answer = bytearray()
        while piece := response.read1(_PIECE_BYTES):
            answer += piece
            if len(answer) > most:
                raise self.strange("is too long")
        if announced is not None and len(answer) < announced:
            raise http.client.IncompleteRead(b"")
        return bytes(answer)


class Endpoint(Server):
    """One path of a server, with a model there and perhaps a key."""

    def __init__(
        self,
        url: str,
        model: str,
        path: str,
        key: str | None = None,
        *,
        what: str,
        hint: str,
        answer_max_bytes: int,
        timeout_s: float = 30.0,
        tries: int = 3,
        wait_s: float = 0.2,
    ) -> None:
        parts = urlsplit(url)
        if not model or not parts.hostname or parts.username or parts.query:
            raise ConfigError(
                "an endpoint needs an address and a model",
                hint="write it as https://HOST/v1#MODEL; the key is read from the environment",
            )
        super().__init__(
            url, what=what, hint=hint, answer_max_bytes=answer_max_bytes, timeout_s=timeout_s
        )
        self._path = path
        self._key = key
        self._tries, self._wait_s = tries, wait_s

    def __repr__(self) -> str:
        return f"Endpoint({self.place!r})"

    @property
    def place(self) -> str:
        """The host, the port if it is not the usual one, and the path."""
        path = f"{self._start}/{self._path}"
        return f"{self.host}:{self._port}{path}" if self._port else self.host + path

    def ask(
        self,
        body: bytes,
        before: Callable[[], None] | None = None,
        *,
        answer_max_bytes: int | None = None,
    ) -> bytes:
        """The answer's bytes. A busy or silent server is asked again, each time a little later.

        ``before`` is called before each try, and may raise to end it. ``answer_max_bytes`` is for
        an answer that cannot be as long as any.
        """
        problem = ""
        for attempt in range(self._tries):
            if attempt:
                time.sleep(self._wait_s * 2 ** (attempt - 1))
            if before is not None:
                before()
            try:
                status, _, answer = self.send(
                    "POST", self._path, body, self._headers(), answer_max_bytes
                )
            except (OSError, http.client.HTTPException) as error:
                problem = type(error).__name__
                continue
            if status == http.client.OK:
                return answer
            problem = f"status {status}"
            if status not in _BUSY:
                raise Refused(self._silent(problem), hint=self._hint, status=status)
        raise Unavailable(self._silent(problem), hint=self._hint)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _silent(self, problem: str) -> str:
        return f"the {self._what} at {self.host} did not answer: {problem}"


def _hang_up(connected: socket.socket) -> None:
    """Ends what waits for this socket in another thread; works below TLS too."""
    with suppress(OSError):  # it is closed already
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
