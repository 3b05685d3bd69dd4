"""Asking a service that runs whether it is ready, for containers and scripts.

Responsible for ``recollect serve --check``. Leaves what ready means to ``app``. Invariant: it asks
the address that the same settings would listen on, and sends no token.
"""

from __future__ import annotations

import socket
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final

from recollect.errors import Unavailable
from recollect.interfaces.http.options import Options

_WAIT_S: Final = 5.0
_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - compared, not listened on


def check(options: Options) -> None:
    """Raises ``Unavailable`` unless the service answers that it is ready."""
    connection = _connection(options)
    try:
        connection.request("GET", "/readyz", headers={"Host": _host(options)})
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        raise Unavailable(f"the service does not answer: {error}") from error
    finally:
        connection.close()
    if status != 200:
        raise Unavailable(f"the service is not ready: it answers {status}")


def _host(options: Options) -> str:
    return "localhost" if options.unix is not None else f"127.0.0.1:{options.port}"


def _connection(options: Options) -> HTTPConnection:
    if options.unix is not None:
        return _Unix(options.unix)
    host = "127.0.0.1" if options.host in _EVERYWHERE else options.host
    if options.tls_cert is None:
        return HTTPConnection(host, options.port, timeout=_WAIT_S)
    context = ssl.create_default_context(cafile=options.tls_cert)
    context.check_hostname = False  # the certificate is for the name, and this asks the address
    return HTTPSConnection(host, options.port, timeout=_WAIT_S, context=context)


class _Unix(HTTPConnection):
    """A connection to a socket with a name."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_WAIT_S)
        self._path = path

    def connect(self) -> None:
        """Connects."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_WAIT_S)
        self.sock.connect(self._path)
