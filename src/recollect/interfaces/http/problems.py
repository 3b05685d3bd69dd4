"""Errors as problem details (RFC 9457).

Responsible for the status and the body of every refusal. Leaves logging to ``app``. Invariant: a
problem says nothing about what the caller may not see; what is not there and what is not the
caller's have the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from recollect import errors as e
from recollect.model import wire
from recollect.serving.failures import status_of

KIND: Final = b"application/problem+json"
_AT: Final = re.compile(" - at `(key in )?([^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]|\[\.\.\.\]")

_TITLES: Final[Mapping[str, str]] = {
    "malformed": "The request is not JSON in the form of this operation",
    "unauthorized": "A valid token is needed",
    "unknown_host": "This service is not known under that name",
    "no_route": "Unknown operation",
    "method_not_allowed": "The operation has another method",
    "body_too_long": "The body is too long",
    "body_too_slow": "The body took too long",
    "media_type": "The body must be JSON",
    "precondition_required": "If-Match is needed",
    "rate_limited": "This token asks too often",
    "busy": "Too many requests are in work",
    "draining": "The service is stopping",
    "internal": "The service failed",
    "invalid_input": "The request asks for something that cannot be done",
    "limit_exceeded": "A limit was passed",
    "ambiguous": "A name could mean several things",
    "not_found": "Nothing here has that name",
    "forbidden": "This token does not allow that",
    "conflict": "The memory is in another state",
    "changed": "It has changed since it was read",
    "unavailable": "The store does not answer",
    "unsupported": "This service cannot do that",
    "not_installed": "An optional package is missing on the service",
    "config": "The service is not configured for that",
    "key_missing": "A key is missing on the service",
    "integrity": "The ledger or its index is damaged",
    "error": "The service failed",
}


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Where in a request something is wrong, as a JSON pointer (RFC 6901)."""

    pointer: str
    detail: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused; ``code`` is stable and for programs."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str | None = None
    instance: str | None = None  # the request, as the log of the service names it
    errors: tuple[Fault, ...] = ()


class Refused(Exception):
    """A request that the protocol refuses before or instead of the memory."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
        faults: tuple[Fault, ...] = (),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        self.problem = problem(status, code, detail, hint, faults)


def problem(
    status: int, code: str, detail: str, hint: str | None = None, faults: tuple[Fault, ...] = ()
) -> Problem:
    """A problem with the title and the page of its code."""
    title = _TITLES.get(code, _TITLES["error"])
    return Problem(
        type=f"/problems/{code}",
        title=title,
        status=status,
        code=code,
        detail=detail,
        hint=hint,
        errors=faults,
    )


def refusal(error: Exception) -> Refused:
    """The refusal for an error of the memory; what is not expected is told to the log alone."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, e.RecollectError):
        status = status_of(error)
        headers = {"Retry-After": "1"} if status == 503 else {}
        if isinstance(error, e.NotFound) and not error.is_seen:  # whatever was asked for
            return Refused(404, error.code, wire.NOT_FOUND, hint=wire.NOT_FOUND_HINT)
        return Refused(status, error.code, error.message, hint=error.hint, headers=headers)
    return Refused(500, "internal", "the service failed; its log says why")


def invalid(error: msgspec.ValidationError) -> Refused:
    """The refusal for a request of another shape, with where it is wrong."""
    text = str(error)
    found = _AT.search(text)
    said = text[: found.start()] if found else text
    status = 400 if "unknown field" in said else 422
    code = "malformed" if status == 400 else "invalid_input"
    if " <= " in said:  # longer, more or greater than a limit
        code = "limit_exceeded"
    return Refused(status, code, said, faults=(Fault(pointer=_pointer(found), detail=said),))


def _pointer(found: re.Match[str] | None) -> str:
    """``$.messages[2].role`` as ``/messages/2/role``."""
    steps = _STEP.finditer(found[2]) if found else ()
    return "".join(f"/{step[1] or step[2] or '-'}" for step in steps)


def known_codes() -> Mapping[str, str]:
    """Every code with its title, for the documentation."""
    return _TITLES
