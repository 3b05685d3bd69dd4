"""What the HTTP service and its clients agree on: names in paths, ETags, pages.

Responsible for their forms. Leaves requests to ``interfaces.http`` and ``client``.
Invariants: a name has exactly one form in a path, and that form contains no character that a
server, a proxy or a browser decodes or rewrites.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, Generic, TypeVar

import msgspec

from recollect.errors import InvalidInput

T = TypeVar("T")

_PLAIN: Final = re.compile("[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ENCODED: Final = re.compile("[A-Za-z0-9_-]*")
_TAG: Final = re.compile('"([vh])([0-9]{1,16})(?::([A-Za-z0-9_.~-]+))?"')
_MARK: Final = "~"
# What is not there and what is not the caller's have the same bytes.
NOT_FOUND: Final = "nothing that this token may see has that name"
NOT_FOUND_HINT: Final = (
    "GET /v1/spaces lists the spaces that this token opens; POST /v1/spaces creates one"
)


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Part of a list; ``next`` is the cursor of the rest."""

    items: list[T]
    next: str | None
    position: int


def to_segment(name: str) -> str:
    """A name as one segment of a path: as it is, or ``~`` and its UTF-8 bytes in base64url."""
    return name if _PLAIN.fullmatch(name) else _MARK + encoded(name.encode())


def from_segment(segment: str) -> str:
    """The name that a segment stands for."""
    if _PLAIN.fullmatch(segment):
        return segment
    try:
        if not segment.startswith(_MARK):
            raise ValueError(segment)
        name = decoded(segment[1:]).decode()
    except ValueError as error:
        raise InvalidInput(
            "a name in the path is not in the form that GET /v1/name?of= gives"
        ) from error
    if to_segment(name) != segment:
        raise InvalidInput("a name in the path has another form; GET /v1/name?of= gives it")
    return name


def encoded(data: bytes) -> str:
    """Bytes in base64url, without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """The bytes of ``encoded``; ValueError if it gives another text for them."""
    if not _ENCODED.fullmatch(text):
        raise ValueError("not base64url")
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encoded(data) != text:
        raise ValueError("not base64url")
    return data


def version_tag(seq: int, id: str | None = None) -> str:
    """The ETag of a record or an episode, which changes with every version.

    With an id it can be sent to any operation, also to one whose path names something else.
    """
    return f'"v{seq}"' if id is None else f'"v{seq}:{to_segment(id)}"'


def head_tag(seq: int) -> str:
    """The ETag of a space: it changes with every event."""
    return f'"h{seq}"'


def parse_tag(tag: str) -> tuple[bool, int, str | None]:
    """Whether an ETag is that of a whole space, the position it names, and of which record."""
    found = _TAG.fullmatch(tag.strip())
    if found is None or (found[1] == "h" and found[3]):
        raise InvalidInput(
            "If-Match must be one ETag that this service gave", hint='such as "v12", with quotes'
        )
    of = None if found[3] is None else from_segment(found[3])
    return found[1] == "h", int(found[2]), of
