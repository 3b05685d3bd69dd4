"""What a page and an act return.

Responsible for the shapes alone. Leaves filling them to ``pages`` and ``acts``, and showing them to
``render``. Invariant: all are frozen, so what was read is what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call that a page was made from, as a reader can repeat it."""

    python: str
    cli: str | None = None
    curl: str | None = None  # only if the memory is behind a service


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a browser keeps instead of showing a page."""

    name: str  # made of letters, digits, dots and hyphens: it goes into a header
    body: bytes


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One page: ``main`` is for its template, ``answer`` is what the calls returned.

    ``title`` is a page's name, an id or a key: browsers keep titles, so no text of a memory.
    """

    title: str
    main: object
    answer: object
    calls: tuple[Call, ...] = ()
    status: int = 200
    to: str | None = None  # another page that shows it
    download: Download | None = None
    refresh_s: int = 0  # a browser loads it again after so many seconds


class UndoForm(msgspec.Struct, frozen=True, kw_only=True):
    """A form that takes an act back."""

    action: str
    fields: Mapping[str, str] = {}
    label: str = "Undo"


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What an act answers: where to go, and one sentence about what happened."""

    to: str
    said: str
    undo: UndoForm | None = None
    secret: str | None = None  # shown on the next page, and never again


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What an act answers instead if nothing was done: a page that says why, and what to do."""

    title: str
    template: str
    main: object
    status: int = 409


class Flash(msgspec.Struct, frozen=True, kw_only=True):
    """The sentence that the next page shows. It is kept here, so it never has words of a memory."""

    said: str
    undo: UndoForm | None = None
    secret: str | None = None


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """The page that asks for a token."""

    back: str
    said: str | None  # what was wrong with the last one
