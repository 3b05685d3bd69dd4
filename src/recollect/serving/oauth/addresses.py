"""The addresses of OAuth: of this service, and where an answer may be sent.

Responsible for their forms. Leaves who named one to ``clients``. Invariants: an answer goes to
https or to a program on the person's own computer; an address that is accepted has one host, in
ASCII, which is the host that a browser goes to, and over https a name and not a number.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.errors import InvalidInput
from recollect.model.wire import from_segment
from recollect.serving import guard
from recollect.serving.guard import Scope

URI_MAX_CHARS: Final = 500
# No user before the host, no fragment, no backslash, no space: browsers read those differently.
_REST: Final = r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
_LABEL: Final = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# A last part that is a number makes it an IPv4 address, in one of the forms that browsers take.
_NUMBER: Final = r"[^/:?]*\.(?:[0-9]+|0x[0-9a-f]*)(?:[/:?]|$)"
_NAME: Final = rf"(?=[^/:?]{{1,100}}(?:[/:?]|$))(?!{_NUMBER}){_LABEL}(?:\.{_LABEL})+"
_HTTPS: Final = re.compile(rf"https://({_NAME})(?::[0-9]{{1,5}})?{_REST}")
_LOOPBACK: Final = re.compile(rf"http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{{1,5}})?({_REST})")
_DOCUMENT: Final = re.compile(rf"https://({_NAME})(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]+)")
_MCP: Final = "(?:/mcp|/v1/spaces/([A-Za-z0-9_.~-]+)/mcp)"
_RESOURCE: Final = re.compile(rf"/?|{_MCP}(?:\?tools=(?:daily|all))?")


def base(scope: Scope, root: str) -> str:
    """The address of the service, as the caller sees it.

    Its name was checked before. Under another name than this machine's it is behind a proxy that
    speaks TLS: a token is never sent there in the clear.
    """
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
    is_here = host.rpartition(":")[0] in guard.NAMES
    scheme = scope["scheme"] if is_here else "https"
    return f"{scheme}://{host}{root}"


def redirect(uri: str) -> str:
    """An address to which an answer may be sent; InvalidInput for any other."""
    if len(uri) <= URI_MAX_CHARS and (_HTTPS.fullmatch(uri) or _LOOPBACK.fullmatch(uri)):
        return uri
    raise InvalidInput(
        "a redirect address must begin with https://, or lead to this computer over http",
        hint="such as https://assistant.example/callback or http://127.0.0.1:8000/callback",
    )


def host_of(uri: str) -> str | None:
    """The host of an accepted address; None if it is the person's own computer."""
    found = _HTTPS.fullmatch(uri)
    return None if found is None else found[1]


def is_same_redirect(asked: str, registered: str) -> bool:
    """True if two addresses are equal; on one's own computer any port is (RFC 8252, 7.3)."""
    if asked == registered:
        return True
    one, other = _LOOPBACK.fullmatch(asked), _LOOPBACK.fullmatch(registered)
    return one is not None and other is not None and one.group(1, 3) == other.group(1, 3)


def document(url: str) -> tuple[str, str] | None:
    """The host and the path of the address of a client's description; None if it is not one."""
    found = _DOCUMENT.fullmatch(url) if len(url) <= URI_MAX_CHARS else None
    if found is None or {".", ".."} & set(found[2].split("/")) or found[2] == "/":
        return None
    return found[1], found[2]


def is_resource(resource: str, base: str) -> bool:
    """True if an address is this service, or MCP on it."""
    path = resource.removeprefix(base)
    return resource.startswith(base) and _RESOURCE.fullmatch(path) is not None


def space_of(resource: str, base: str) -> str | None:
    """The one memory that a resource names."""
    found = _RESOURCE.fullmatch(resource.removeprefix(base))
    return None if found is None or found[1] is None else from_segment(found[1])
