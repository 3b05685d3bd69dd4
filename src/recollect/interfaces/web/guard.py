"""Which requests come in, and what every answer says to the browser.

Responsible for the checks that need no session: the Host, where a request comes from, and the
headers that bound what a page may do. Leaves who is looking to ``session``. Invariants: a request
of another website or of another port reaches nothing; no string can become script in the browser,
because the browser itself refuses it (Content-Security-Policy with trusted types).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from recollect.errors import RecollectError

Headers = Mapping[str, str]

SAFE: Final = ("GET", "HEAD")
# Of Sec-Fetch-Site: our own pages, and addresses that a person typed or a program opened.
_OURS: Final = ("same-origin", "none")
_ONCE: Final = ("host", "origin", "cookie", "sec-fetch-site", "content-type", "content-length")

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_FEATURES: Final = (
    "accelerometer", "autoplay", "camera", "clipboard-read", "display-capture", "geolocation",
    "gyroscope", "microphone", "midi", "payment", "screen-wake-lock", "usb",
)  # fmt: skip
HEADERS: Final[tuple[tuple[str, str], ...]] = (
    ("Content-Security-Policy", CSP),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", ", ".join(f"{name}=()" for name in _FEATURES)),
)


class Turned(Exception):
    """A request that is turned away before anything is read for it."""

    def __init__(self, status: int, said: str, hint: str | None = None) -> None:
        super().__init__(said)
        self.status = status
        self.problem = RecollectError(said, hint=hint)


class Guard:
    """Checks a request against the names under which this server is known."""

    def __init__(self, hosts: Iterable[str], schemes: Iterable[str] = ("http",)) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._schemes = tuple(schemes)

    def named(self, raw: Iterable[tuple[bytes, bytes]]) -> Headers:
        """The headers of a request from anywhere to one of our names; else Turned."""
        headers = _headers(raw)
        if headers.get("host", "").lower() not in self._hosts:
            raise Turned(421, "this inspector is not known under that name")
        return headers

    def check(self, method: str, raw: Iterable[tuple[bytes, bytes]]) -> Headers:
        """The headers of a request that may come in; else Turned."""
        headers = self.named(raw)
        host = headers["host"].lower()
        site = headers.get("sec-fetch-site")
        if site is not None and site not in _OURS:
            raise Turned(403, "requests of other websites are refused")
        origin = headers.get("origin")
        is_ours = origin in [f"{scheme}://{host}" for scheme in self._schemes]
        # With Referrer-Policy: no-referrer browsers send "null" for forms of our own pages, so the
        # word of Sec-Fetch-Site decides; no script can set that header.
        if origin is not None and not is_ours and not (origin == "null" and site == "same-origin"):
            raise Turned(403, "requests of other websites are refused")
        if method not in SAFE and site != "same-origin" and not (site is None and is_ours):
            raise Turned(403, "a change needs a form of this page")
        return headers


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    found: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key in found and key in _ONCE:
            raise Turned(400, f"the header {key} was sent twice")
        found[key] = value.decode("latin-1")
    return found
