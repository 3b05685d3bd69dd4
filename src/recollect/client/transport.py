"""Requests that are safe to send again.

Responsible for connections, deadlines, retries and turning problems back into errors. Leaves paths
and shapes to ``client.memory``. Invariants: a write is sent again only with the same idempotency
key, so it happens once; a token is never shown, and is sent only to the service it was given for;
a call ends in time, however slowly and whatever a service answers.
"""

from __future__ import annotations

import io
import os
import random
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from recollect import errors
from recollect.client.decoding import decoded
from recollect.errors import (
    ConfigError,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    RecollectError,
    Unavailable,
)
from recollect.model.events import Trust

T = TypeVar("T")

_TRIES_MAX_COUNT: Final = 6
_BACKOFF_S: Final = 0.05
_BACKOFF_MAX_S: Final = 5.0
_RETRIED: Final = (429, 503)
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_ANSWER_MAX_BYTES: Final = 268_435_456
_LINE_MAX_BYTES: Final = 1_048_576
_IDLE_MAX_S: Final = 3.0
_IDLE_MAX_COUNT: Final = 32
_PIECE_BYTES: Final = 65_536
_SILENCE_MAX_S: Final = 45.0  # a service says something every 15 s


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """What a token allows, as far as a client asks."""

    trust: Trust
    user: str | None = None
    agent: str | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What a service says when it refuses a request."""

    status: int
    code: str
    detail: str
    hint: str | None = None


class Answer(NamedTuple):
    """An answer's parts."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def read(self, kind: type[T]) -> T:
        """The body as a value."""
        return decoded(self.body, kind)


class Sent(NamedTuple):
    """One event of a stream."""

    name: str
    data: bytes


class Ending(threading.Event):
    """Ends a stream from another thread, also while that waits for the service."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def reads(self, connected: socket.socket | None) -> None:
        """What is read from now on is this."""
        with self._lock:
            self._socket = connected
        if self.is_set():
            self._break()

    def set(self) -> None:
        """End the stream."""
        super().set()
        self._break()

    def _break(self) -> None:
        with self._lock, suppress(OSError):  # it may be closed already
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)


def _codes() -> dict[str, type[RecollectError]]:
    kinds = (each for each in vars(errors).values() if isinstance(each, type))
    return {
        kind.code: kind
        for kind in kinds
        if issubclass(kind, RecollectError) and kind is not RecollectError
    }


_ERRORS: Final[Mapping[str, type[RecollectError]]] = {
    **_codes(),
    "unauthorized": Forbidden,
    "malformed": InvalidInput,
    "no_route": errors.Unsupported,
    "method_not_allowed": errors.Unsupported,
    "body_too_long": errors.LimitExceeded,
    "precondition_required": InvalidInput,
}


class Transport:
    """The connections of one process to one service."""

    def __init__(self, url: str, token: str, *, timeout_s: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{url!r} is not the address of a service", hint="http://HOST:PORT")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise ConfigError(
                "a token is not sent over http to another machine", hint="use https://"
            )
        if parts.username or parts.query or parts.fragment:
            raise ConfigError("the address of a service has no user, query or fragment")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._is_tls = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._token = token.strip()
        if not _is_token(self._token):
            raise ConfigError("this is not a token of a service", hint="a token begins with rct_")
        self._timeout_s = timeout_s
        self._idle: list[tuple[float, HTTPConnection]] = []  # with when each was last used
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._is_closed = False
        self._granted: Granted | None = None

    @classmethod
    def of(
        cls, where: str | os.PathLike[str] | None, token: str | None, *, timeout_s: float
    ) -> Transport:
        """The connections to an address, by default those that the environment names."""
        env = os.environ  # noqa: TID251 - recollect.config is not loaded with the client
        url = env.get("RECOLLECT_STORE") if where is None else os.fspath(where)
        if not url:
            raise ConfigError(
                "no address of a service was given", hint="give it, or set RECOLLECT_STORE"
            )
        token = env.get("RECOLLECT_TOKEN") if token is None else token
        if not token:
            raise ConfigError(
                f"the service at {url} needs a token", hint="give it, or set RECOLLECT_TOKEN"
            )
        return cls(url, token, timeout_s=timeout_s)

    def granted(self) -> Granted:
        """What the token allows; asked for once."""
        if self._granted is None:
            self._granted = self.ask("GET", "/v1/me").read(Granted)
        return self._granted

    def ask(
        self,
        method: str,
        path: str,
        raw: bytes | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        is_write: bool = False,
        is_once: bool = False,
    ) -> Answer:
        """Sends a request until it is answered, and raises what the service refuses.

        With ``is_once`` it is not sent again, because it would happen twice.
        """
        self._check_usable()
        sent = {"Authorization": f"Bearer {self._token}", **_checked_headers(headers or {})}
        if is_write:
            sent.setdefault("Idempotency-Key", _new_key())
        target = self._prefix + path + (f"?{_encoded(query)}" if query else "")
        deadline = time.monotonic() + self._timeout_s
        fault: Exception | None = None
        tries = 1 if is_once else _TRIES_MAX_COUNT
        for attempt in range(tries):
            answer, fault = self._tried(method, target, raw, sent, deadline)
            wait = pause_s(attempt, answer)
            is_last = attempt == tries - 1 or time.monotonic() + wait >= deadline
            if answer is not None and (is_last or answer.status not in _RETRIED):
                return _checked(answer)
            if is_last:
                break
            time.sleep(wait)
        raise Unavailable(
            f"the service at {self.url} does not answer: {_said(fault)}",
            hint="check that it runs, and try again",
        ) from fault

    def _tried(
        self,
        method: str,
        target: str,
        raw: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
    ) -> tuple[Answer | None, Exception | None]:
        try:
            return self._once(method, target, raw, headers, deadline), None
        except (OSError, HTTPException) as error:
            return None, error

    def stream(
        self,
        path: str,
        ended: Ending | None = None,
        *,
        query: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Iterator[Sent]:
        """The events of one stream, until either side ends it."""
        ended = ended or Ending()
        self._check_usable()
        connection = self._connect(_SILENCE_MAX_S)
        target = f"{self._prefix}{path}?{_encoded(query)}"
        given = _checked_headers(headers)
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "text/event-stream", **given}
        try:
            connection.request("GET", target, headers=sent)
            ended.reads(connection.sock)
            clock = Clock(time.monotonic() + _SILENCE_MAX_S)
            answer = _answer(connection, clock)
            if answer.status != 200:
                _checked(_whole(answer))
            clock.deadline = None  # a stream may last, as long as something is said
            yield from _events(answer)
        finally:
            ended.reads(None)
            connection.close()

    def close(self) -> None:
        """Closes the connections; closing twice is fine."""
        with self._lock:
            idle, self._idle, self._is_closed = self._idle, [], True
        for _, connection in idle:
            connection.close()

    def _once(
        self,
        method: str,
        target: str,
        raw: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
    ) -> Answer:
        with self._connection(deadline) as connection:
            connection.request(method, target, raw, dict(headers))
            answer = _answer(connection, Clock(deadline))
            found = _whole(answer)
            if answer.will_close:
                connection.close()
            return found

    @contextmanager
    def _connection(self, deadline: float) -> Iterator[HTTPConnection]:
        """A connection that no other thread uses; it is kept if nothing went wrong."""
        connection = self._kept()
        left = max(0.01, deadline - time.monotonic())
        connection = connection or self._connect(left)
        connection.timeout = left
        if connection.sock is not None:
            connection.sock.settimeout(left)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if not self._is_closed and len(self._idle) < _IDLE_MAX_COUNT:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()

    def _kept(self) -> HTTPConnection | None:
        """A connection that was used a moment ago; a service closes those that wait for longer."""
        with self._lock:
            since, connection = self._idle.pop() if self._idle else (0.0, None)
            stale: list[HTTPConnection] = []
            if connection is not None and time.monotonic() - since > _IDLE_MAX_S:
                stale = [connection, *(each for _, each in self._idle)]
                self._idle, connection = [], None
        for each in stale:
            each.close()
        return connection

    def _connect(self, timeout_s: float) -> HTTPConnection:
        if self._is_tls:
            context = ssl.create_default_context()
            return HTTPSConnection(self._host, self._port, timeout=timeout_s, context=context)
        return HTTPConnection(self._host, self._port, timeout=timeout_s)

    def _check_usable(self) -> None:
        if self._is_closed:
            raise Unavailable("this memory was closed", hint="open it again")
        if os.getpid() != self._process:
            raise Unavailable(
                "this memory was opened before the process was forked",
                hint="open it again in each process",
            )

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"  # never the token


class Clock:
    """When an answer must have come; None for a stream, which only must not be silent."""

    def __init__(self, deadline: float | None) -> None:
        self.deadline = deadline

    def left_s(self) -> float:
        """How long the next bytes may take."""
        if self.deadline is None:
            return _SILENCE_MAX_S
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer took too long")
        return left


class _Timed(io.RawIOBase):
    """What arrives at a socket until the time is up.

    The timeout of a socket begins again with each byte, also of headers, of which a service may
    send as many as it likes before an answer and after it.
    """

    def __init__(self, connected: socket.socket, clock: Clock) -> None:
        self._connected, self._clock = connected, clock
        self._bytes = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connected.settimeout(self._clock.left_s())
        return self._bytes.readinto(buffer)

    def close(self) -> None:
        self._bytes.close()
        super().close()


class _Response(HTTPResponse):
    """An answer that is read under a clock."""

    def __init__(self, sock: socket.socket, *, clock: Clock, method: str | None = None) -> None:
        super().__init__(sock, method=method)
        self.fp.close()
        self.fp = io.BufferedReader(_Timed(sock, clock))


def _answer(connection: HTTPConnection, clock: Clock) -> HTTPResponse:
    """The beginning of an answer; what is left of it is read under the same clock."""
    connection.response_class = partial(_Response, clock=clock)  # type: ignore[assignment]
    return connection.getresponse()


def _events(answer: HTTPResponse) -> Iterator[Sent]:
    """The events in an answer; comments and other fields are left out."""
    name, data = b"", None
    while line := answer.readline(_LINE_MAX_BYTES):
        field, _, value = line.rstrip(b"\n").partition(b": ")
        if field == b"event":
            name = value
        elif field == b"data":
            data = value
        elif not field and data is not None:
            yield Sent(name.decode("latin-1"), data)
            name, data = b"", None


def _checked(answer: Answer) -> Answer:
    """The answer, unless it is a refusal."""
    if answer.status < 300:
        return answer
    try:
        problem = decoded(answer.body, Problem)
    except Unavailable:
        raise Unavailable(f"the service answered {answer.status} without a reason") from None
    kind = _ERRORS.get(problem.code, Unavailable)
    raise kind(problem.detail, hint=problem.hint)


def pause_s(attempt: int, answer: Answer | None = None) -> float:
    """How long until the next try: chance spreads clients, and a service may ask for more."""
    asked = (answer.headers.get("retry-after", "") if answer else "").strip()
    spread = random.uniform(0, min(_BACKOFF_MAX_S, _BACKOFF_S * 2**attempt))  # noqa: S311
    return max(spread, min(float(asked), 30.0)) if asked.isdecimal() else spread


def _whole(answer: HTTPResponse) -> Answer:
    """The answer with its body; http.client does not tell that it was cut short."""
    found = bytearray()
    while piece := answer.read1(_PIECE_BYTES):
        found += piece
        if len(found) > _ANSWER_MAX_BYTES:
            raise LimitExceeded("the answer is too long", hint="ask for less")
    if answer.length:
        raise IncompleteRead(bytes(found), answer.length)
    answer.close()  # read1 leaves it open, and the connection would refuse the next request
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, headers, bytes(found))


def _new_key() -> str:
    """A key that no other write has."""
    import secrets  # loads OpenSSL's hashes, which a program that only reads does not need

    return secrets.token_urlsafe(18)


def _is_token(text: str) -> bool:
    return text.startswith("rct_") and text.isascii() and text.isprintable() and " " not in text


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers whose values are UTF-8, as the service reads them."""
    for name, value in headers.items():
        if not value.isprintable():
            raise InvalidInput(f"{name} has a character that a header cannot have")
    return {name: value.encode().decode("latin-1") for name, value in headers.items()}


def _encoded(query: Mapping[str, Any]) -> str:
    try:
        return urlencode(query, doseq=True)
    except UnicodeEncodeError as error:
        raise InvalidInput("a text has a lone surrogate") from error


def _said(error: Exception | None) -> str:
    return str(error) or type(error).__name__
