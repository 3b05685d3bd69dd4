"""One request, as a page sees it.

Responsible for reading the query, for addresses, and for writing a call the way a reader can repeat
it. Leaves HTTP to ``app``. Invariants: names in a path travel in the form of ``model.wire``; an
address keeps the position that the page shows.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.web import digits
from recollect.interfaces.web.login.logins import Logins
from recollect.interfaces.web.view import Call
from recollect.model.wire import to_segment

Query = Mapping[str, tuple[str, ...]]
_NOT_KEPT: Final = ("said", "as")  # what is told once
AWAY: Final = "-"  # in place of a space: what is not about one; no space can have this name


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a memory is: under which address here, and how other programs name it."""

    root: str  # the prefix of every address of this process
    space: str
    store: str | None = None  # what --store needs; None if it is found without
    service: str | None = None  # the address of the service, if there is one

    @property
    def segment(self) -> str:
        """The space as it is written in an address."""
        return AWAY if self.space == AWAY else to_segment(self.space)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for, and at which position it is answered."""

    place: Place
    path: tuple[str, ...] = ()  # the names behind the space, decoded
    names: Mapping[str, str] = {}  # those that the table has in braces
    query: Query = {}
    position: int = 0
    head: int = 0
    at: int | None = None  # set if the page shows the past
    now: str = ""
    tz_minutes: int = 0
    cannot_write: str | None = None  # why nothing can be changed here
    logins: Logins | None = None  # the sessions around this one, on pages about the store

    @property
    def is_past(self) -> bool:
        """True if the page shows an earlier position."""
        return self.at is not None

    def text(self, name: str, default: str = "") -> str:
        """One value of the query; the last one, if it was given twice."""
        return (self.query.get(name) or (default,))[-1].strip()

    def many(self, name: str) -> tuple[str, ...]:
        """All values of a name, which may also be joined with commas."""
        parts = (part.strip() for each in self.query.get(name, ()) for part in each.split(","))
        return tuple(part for part in parts if part)

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**53 - 1) -> int:
        """A number of the query, within its limits."""
        given = self.text(name)
        if not given:
            return default
        found = digits.number(given)
        if found is None:
            raise InvalidInput(f"{name} must be a number", hint="change it in the address")
        return max(least, min(found, most))

    def maybe(self, name: str) -> int | None:
        """A number of the query, or None."""
        return self.number(name, 0) if self.text(name) else None

    def url(self, *parts: object, **query: object) -> str:
        """The address of a page of this space; the position stays unless ``at`` is given."""
        segments = "/".join(to_segment(str(part)) for part in parts)
        query.setdefault("at", self.at)
        return f"{self.place.root}/{self.place.segment}/{segments}{_asked(query)}"

    def here(self, **changed: object) -> str:
        """The address of this page, with some of its query changed."""
        kept: dict[str, object] = {
            name: values for name, values in self.query.items() if name not in _NOT_KEPT
        }
        return self.url(*self.path, **{**kept, **changed})

    def python(self, call: str, *args: object, **options: object) -> str:
        """A call as Python, without the options that are not set."""
        given = [repr(each) for each in args]
        given += [f"{name}={value!r}" for name, value in options.items() if value not in _UNSET]
        at = f".at({self.at})" if self.is_past else ""
        return f"memory{at}.{call}({', '.join(given)})"

    def cli(self, *words: object, past: bool = True) -> str:
        """The same as a command line; ``past`` is False for a verb without ``--at``."""
        line = ["recollect", *(str(word) for word in words if word is not None)]
        if self.is_past and past:
            line += ["--at", str(self.at)]
        if self.place.store is not None:
            line += ["--store", self.place.store]
        if self.place.space not in ("main", AWAY):
            line += ["--space", self.place.space]
        return shlex.join(line)

    def curl(self, path: str, **query: object) -> str | None:
        """The same as a request of the service, if there is one."""
        if self.place.service is None:
            return None
        query.setdefault("at", self.at)
        space = to_segment(self.place.space)
        address = f"{self.place.service}/v1/spaces/{space}/{path}{_asked(query)}"
        return f'curl {shlex.quote(address)} -H "Authorization: Bearer $RECOLLECT_TOKEN"'

    def call(self, python: str, cli: str | None = None, curl: str | None = None) -> Call:
        """A call that the page lists."""
        return Call(python=python, cli=cli, curl=curl)


_UNSET: Final[tuple[object, ...]] = (None, (), [], "")


def _asked(query: Mapping[str, object]) -> str:
    """A query string; what is not set is left out."""
    pairs = [
        (name, value)
        for name, given in query.items()
        for value in (given if isinstance(given, tuple | list) else (given,))
        if value not in _UNSET
    ]
    return f"?{urlencode(pairs)}" if pairs else ""


def parsed(query: bytes) -> Query:
    """The query of a request; what is not UTF-8 is refused."""
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100
        )
    except ValueError as error:
        raise InvalidInput("the address has a query that cannot be parsed") from error
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        found[name] = (*found.get(name, ()), value)
    return found
