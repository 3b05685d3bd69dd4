"""What a form sent, as an act sees it.

Responsible for reading a form, its hidden fields included. Leaves what is done to ``acts``.
Invariants: an act writes once however often its form is sent (``command``), and only if what was
shown has not changed (``expect``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.web import digits
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.guard import Headers

KIND: Final = "application/x-www-form-urlencoded"
FORM_MAX_BYTES: Final = 4_194_304  # a text of the greatest length, with every byte escaped
_FIELDS_MAX_COUNT: Final = 100
_COMMAND_MAX_CHARS: Final = 64


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """One sent form."""

    asked: Asked
    fields: Mapping[str, str]

    @property
    def names(self) -> Mapping[str, str]:
        """The names in the path."""
        return self.asked.names

    def text(self, name: str) -> str:
        """A field; empty if it is not there. Line ends are newlines, as in a memory."""
        return self.fields.get(name, "").replace("\r\n", "\n").replace("\r", "\n")

    @property
    def command(self) -> str:
        """The key of this act: sending the form again writes nothing more."""
        given = self.fields.get("command", "")
        if not (given.isascii() and given.isalnum() and len(given) <= _COMMAND_MAX_CHARS):
            raise InvalidInput("this form is incomplete", hint="load the page again")
        return f"ui-{given}"

    def number(self, name: str) -> int:
        """A number that the form carries."""
        found = digits.number(self.fields.get(name, ""))
        if found is None:
            raise InvalidInput("this form is incomplete", hint="load the page again")
        return found

    def id(self, what: str) -> int:
        """The number in the path, of a token or a job."""
        found = digits.number(self.names["id"])
        if found is None:
            raise InvalidInput(f"no {what} has this id", hint="load the page again")
        return found

    @property
    def seq(self) -> int:
        """The version that the form showed."""
        return self.number("expect")

    @property
    def expect(self) -> tuple[str, int]:
        """What must be unchanged: the record of the path, at the version that was shown."""
        return self.names["id"], self.seq

    def url(self, *parts: object, **query: object) -> str:
        """The address of a page."""
        return self.asked.url(*parts, **query)


def fields_of(headers: Headers, body: bytes) -> Mapping[str, str]:
    """The fields of a body."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != KIND:
        raise InvalidInput("a form of this page was expected", hint="load the page again")
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_FIELDS_MAX_COUNT,
        )
    except ValueError as error:
        raise InvalidInput("the form could not be parsed", hint="load the page again") from error
    return dict(pairs)
