"""One object of another program, read field by field.

Responsible for naming what is not kept as it is there. Leaves what a field means to the importers,
and what a memory accepts to ``items``. Invariant: of each field the value that is read is the one
that was given, or a line says which field it is and why; a field that nothing reads has a line too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Altered,
    data_of,
    fraction_of,
    kept,
    moment_of,
    name_of,
    names_of,
    text_of,
)
from recollect.model import limits
from recollect.model.validate import Json

List = list  # ``list`` is also the name of a call
_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})
_WHY: Final[Mapping[str, str]] = {
    "name": f"it is not one line of up to {limits.NAME_MAX_CHARS} characters",
    "names": f"not all of them are texts of one line of up to {limits.NAME_MAX_CHARS} characters, "
    "or they are too many",
    "text": "it is not a text, or has characters that cannot be stored",
    "moment": "it is not a date",
    "fraction": "it is not a number from 0 to 1",
    "flag": "it is neither true nor false",
    "data": "it is not an object",
    "list": "it is not a list",
}
_UNREAD: Final = "nothing here reads it"
_FIELD_MAX_CHARS: Final = 80
_LINES_MAX_COUNT: Final = 20  # of one object


class Given:
    """The fields of one object; ``changes`` says at the end what was not kept as it is."""

    def __init__(self, where: str, fields: Mapping[str, object]) -> None:
        self.where = where
        self._fields = fields
        self._read: set[str] = set()
        self._notes: dict[str, str] = {}

    def get(self, field: str) -> object:
        """A field as it is there; who reads it so says what is not kept of it."""
        self._read.add(field)
        return self._fields.get(field)

    def note(self, field: str, why: str) -> None:
        """Says that a field is not kept as it is."""
        self._notes.setdefault(field, why)

    def text(self, field: str) -> str:
        """A text; blanks around it are left out."""
        given = self.get(field)
        found = text_of(given)
        if not (isinstance(given, str) and given.strip() == found):
            self._unless_empty(field, given, "text")
        return found

    def name(self, field: str) -> str | None:
        """One line of limited length."""
        given = self.get(field)
        found = name_of(given)
        if found != given:
            self._unless_empty(field, given, "name")
        return found

    def names(self, field: str, at_most: int = limits.TAGS_MAX_COUNT) -> tuple[str, ...]:
        """A list of such lines, each once."""
        given = self.get(field)
        found = names_of(given or [], at_most)
        some = given if isinstance(given, List | tuple) else [None]
        if not all(isinstance(one, str) and one in found for one in some):
            self._unless_empty(field, given, "names")
        return found

    def moment(self, field: str) -> str | None:
        """An instant."""
        given = self.get(field)
        found = moment_of(given)
        if found is None:
            self._unless_empty(field, given, "moment")
        return found

    def fraction(self, field: str) -> float | None:
        """A number from 0 to 1."""
        given = self.get(field)
        found = fraction_of(given)
        if found is None:
            self._unless_empty(field, given, "fraction")
        return found

    def flag(self, field: str) -> bool:
        """True or false; anything else is false."""
        given = self.get(field)
        if not isinstance(given, bool):
            self._unless_empty(field, given, "flag")
        return given is True

    def data(self, field: str, *leave_out: str, inside: int = 0) -> dict[str, Json]:
        """An object, ``inside`` so many others."""
        given = self.get(field)
        if not isinstance(given, Mapping):
            self._unless_empty(field, given, "data")
            return {}
        for key in leave_out:
            if key in given:
                self.note(f"{field}.{key}", "this key of data is used by Recollect")
        lost: dict[str, str] = {}
        found = data_of(given, *leave_out, lost=lost, inside=inside)
        self._lost(lost, f"{field}.")
        return found

    def list(self, field: str, *, inside: int = 0) -> List[Json]:
        """A list, ``inside`` so many objects."""
        given = self.get(field)
        if not isinstance(given, List | tuple):
            self._unless_empty(field, given, "list")
            return []
        lost: dict[str, str] = {}
        found = data_of({field: given}, lost=lost, inside=inside - 1)[field]
        self._lost(lost, "")
        return cast("List[Json]", found)

    def rest(self, *leave_out: str) -> dict[str, Json]:
        """All fields but these, as data."""
        lost: dict[str, str] = {}
        found = data_of(self._fields, *leave_out, lost=lost)
        self._read.update(self._fields)
        self._lost(lost, "")
        return found

    def id(self, field: str, format: str) -> str:
        """The id here of what has this one there: the same, if it can be one."""
        given = str(self.get(field))
        found = kept(format, given)
        if found != given:
            self.note(field, "it cannot be an id here, so it has another one")
        return found

    def add(self, other: Given) -> None:
        """Adds what another one says, of a part of the same object."""
        for field, why in other._notes.items():
            self.note(field, why)

    def known(self, *fields: str) -> None:
        """Fields that need not be kept: others say the same."""
        self._read.update(fields)

    def altered(self, *names: str, moment: str | None = None) -> Iterator[Altered]:
        """Lines about these names, and about an instant, alone."""
        for field in names:
            self.name(field)
        if moment is not None:
            self.moment(moment)
        self.known(*self._fields)
        return self.changes()

    def _lost(self, lost: Mapping[str, str], before: str) -> None:
        for path, why in lost.items():
            self.note(f"{before}{path}", why)

    def _unless_empty(self, field: str, given: object, what: str) -> None:
        if given not in _NOTHING or isinstance(given, bool):
            self.note(field, _WHY[what])

    def changes(self) -> Iterator[Altered]:
        """A line for each field that is not kept as it is."""
        for field in self._fields:
            if field not in self._read and self._fields[field] not in _NOTHING:
                self.note(field, _UNREAD)
        notes = [*self._notes.items()]
        for field, why in notes[:_LINES_MAX_COUNT]:
            shown = (name_of(storable(str(field))) or "")[:_FIELD_MAX_CHARS]
            yield Altered(where=self.where, why=f"its {shown!r} was not kept as it is: {why}")
        if (more := len(notes) - _LINES_MAX_COUNT) > 0:
            why = f"{more:,} more of its fields were not kept as they are"
            yield Altered(where=self.where, why=why)
