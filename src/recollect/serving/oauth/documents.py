"""Descriptions that clients publish about themselves (client id metadata documents).

Responsible for fetching one without being led anywhere else. Leaves what it says to ``clients``.
Invariants: only https, on its usual port, at an address of the public internet that was checked and
is the one that is used; no redirect is followed; the answer is short and comes soon; few are
fetched at a time, and only for a person who is logged in; the end of the process waits for none.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from http.client import HTTPException, HTTPSConnection
from typing import Final

from recollect.errors import InvalidInput, Unavailable
from recollect.serving.oauth import addresses

_PORT: Final = 443
_MAX_BYTES: Final = 5_120  # as the specification of these documents advises
_MAX_S: Final = 5.0
_KEPT_S: Final = 300.0
_KEPT_MAX_COUNT: Final = 100
_SLOW_S: Final = 60.0  # a host that was too slow is not asked again for so long
_AT_A_TIME: Final = 2
_SLOW_MAX_COUNT: Final = 100
# Public in form, but of one network: protocols, old gateways, the inside of a cloud, documentation.
_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(each)
    for each in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")
)
# Public in form, but they lead through a gateway to an IPv4 address that was not checked.
_GATEWAYS: Final = tuple(
    ipaddress.ip_network(each)
    for each in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")
)


def is_public(address: str) -> bool:
    """True if an address is one of the public internet, and only that."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # with a zone: of this link alone
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if found.is_site_local or any(found in network for network in _GATEWAYS):
            return False
    if any(found in network for network in _NOT_PUBLIC):
        return False
    return found.is_global and not found.is_multicast and not found.is_reserved


def _look_up(host: str, port: int) -> list[str]:
    """Every address of a name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


class Documents:
    """Fetches descriptions, and keeps them for some minutes."""

    def __init__(
        self,
        *,
        is_allowed: Callable[[str], bool] = is_public,
        look_up: Callable[[str, int], list[str]] = _look_up,
        trusted: ssl.SSLContext | None = None,
        port: int = _PORT,
        max_s: float = _MAX_S,
    ) -> None:
        self._is_allowed = is_allowed
        self._look_up = look_up
        self._trusted = trusted
        self._port = port
        self._max_s = max_s
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._slow: OrderedDict[str, float] = OrderedDict()  # until when each host is left alone
        self._free = threading.Semaphore(_AT_A_TIME)

    def get(self, url: str) -> bytes:
        """The document at an address; an error with a sentence for a person."""
        with self._lock:
            until, body = self._kept.get(url, (0.0, b""))
        if time.monotonic() < until:
            return body
        if self._is_slow(url):
            raise _unreachable()
        if not self._free.acquire(blocking=False):
            raise Unavailable(
                "descriptions of other assistants are being fetched",
                hint="try again in a few seconds",
            )
        opened: list[_Pinned] = []
        work = self._begun(url, opened)
        try:
            body = work.result(self._max_s)
        except (OSError, ValueError, HTTPException) as error:  # too slow is one of the first
            if isinstance(error, TimeoutError):
                self._leave_alone(url)
            raise _unreachable() from error
        finally:
            for each in opened:
                each.end()  # a server that sends a byte now and then would hold the thread
        with self._lock:
            self._kept[url] = (time.monotonic() + _KEPT_S, body)
            while len(self._kept) > _KEPT_MAX_COUNT:
                self._kept.popitem(last=False)
        return body

    def _begun(self, url: str, opened: list[_Pinned]) -> Future[bytes]:
        """Fetches in a thread of its own; the caller has taken a free place for it.

        Names are looked up without a time limit of ours. So nothing waits for the thread, not even
        the end of the process.
        """
        work: Future[bytes] = Future()

        def fetch() -> None:
            try:
                work.set_result(self._fetch(url, opened))
            except BaseException as error:  # noqa: BLE001 - told to the one who waits
                work.set_exception(error)
            finally:
                self._free.release()

        try:
            threading.Thread(target=fetch, name="oauth-documents", daemon=True).start()
        except BaseException:
            self._free.release()
            raise
        return work

    def _is_slow(self, url: str) -> bool:
        with self._lock:
            return time.monotonic() < self._slow.get(_host(url), 0.0)

    def _leave_alone(self, url: str) -> None:
        """Remembers a host that was too slow, so that it does not take the places of others."""
        with self._lock:
            self._slow[_host(url)] = time.monotonic() + _SLOW_S
            while len(self._slow) > _SLOW_MAX_COUNT:
                self._slow.popitem(last=False)

    def _fetch(self, url: str, opened: list[_Pinned]) -> bytes:
        place = addresses.document(url)
        if place is None:
            raise OSError("not the address of a description")
        end = time.monotonic() + self._max_s
        address = self._address(place[0])
        connection = _Pinned(*place, address, self._port, self._max_s, self._trusted)
        opened.append(connection)
        try:
            return connection.body(end)
        finally:
            connection.close()

    def _address(self, host: str) -> str:
        """The address that is used; refused if any of those of a name is not allowed."""
        given = self._look_up(host, self._port)
        if not given or not all(map(self._is_allowed, given)):
            raise OSError("not an address of the public internet")
        return given[0]


def _host(url: str) -> str:
    place = addresses.document(url)
    return "" if place is None else place[0]


def _unreachable() -> InvalidInput:
    return InvalidInput(
        "the description of this assistant could not be fetched",
        hint="this service must reach it over https; try again later",
    )


class _Pinned(HTTPSConnection):
    """A connection to one address, whose certificate is for the name."""

    def __init__(
        self, host: str, path: str, address: str, port: int, max_s: float,
        trusted: ssl.SSLContext | None,
    ) -> None:  # fmt: skip
        self._tls = trusted or ssl.create_default_context()
        super().__init__(host, port, timeout=max_s, context=self._tls)
        self._path = path
        self._address = address
        self._open: socket.socket | None = None

    def connect(self) -> None:
        """Connects to the address that was checked, whatever the name leads to by now."""
        plain = socket.create_connection((self._address, self.port), self.timeout)
        try:
            covered = self._tls.wrap_socket(
                plain, server_hostname=self.host, do_handshake_on_connect=False
            )
        except BaseException:
            plain.close()
            raise
        self.sock = self._open = covered
        covered.do_handshake()

    def end(self) -> None:
        """Ends it from another thread; nothing if it has ended."""
        if self._open is not None:
            with suppress(OSError):
                socket.socket.shutdown(self._open, socket.SHUT_RDWR)

    def body(self, end: float) -> bytes:
        """The answer, if it is short JSON and comes before the end."""
        self.connect()
        if time.monotonic() > end:
            raise OSError("too slow")
        self.request("GET", self._path, headers={"Accept": "application/json"})
        answer = self.getresponse()
        kind = answer.headers.get_content_type()
        if answer.status != 200 or not (kind == "application/json" or kind.endswith("+json")):
            raise OSError("not a description")
        body = b""
        while piece := answer.read1(_MAX_BYTES + 1):
            body += piece
            if len(body) > _MAX_BYTES or time.monotonic() > end:
                raise OSError("too long")
        return body
