"""A rule's ``when_filter``: an SQL condition over episodes, as a filter of the memory.

Responsible for what of SQL is understood, and for giving it the meaning that it has there: a
missing value makes a comparison neither true nor false, so ``NOT`` of it is not true either.
Unlike there, the same goes for an order or a pattern and a value of another type. Leaves running
the filter to ``index.filter``. Invariants: no part of the text is ever run as SQL; what cannot be
translated is refused, with its place.

    any   = all { OR all }          all = one { AND one }
    one   = NOT one | ( any ) | term
    term  = field sign value | field [NOT] IN ( value, … ) | field [NOT] BETWEEN value AND value
          | field [NOT] LIKE text | field [NOT] GLOB text | field IS [NOT] NULL
    field = column | json_extract ( column , path ) | column ->> path
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from recollect.contracts.episodic.scope import PARTS, names_in
from recollect.contracts.episodic.tokens import refused, tokens
from recollect.contracts.episodic.values import KEY
from recollect.errors import InvalidInput
from recollect.index.filter import (
    And,
    Column,
    Compare,
    Contains,
    Filter,
    Missing,
    Node,
    Not,
    OneOf,
    Or,
    Path,
    StartsWith,
)
from recollect.index.filter.checks import canonical
from recollect.index.filter.fields import HOLDS, Field, Op, Scalar
from recollect.index.filter.tokens import Token
from recollect.model import limits

_SCOPE_KEY: Final = "scope_key"
_NODE: Final = Path("metadata", (KEY, "source_node"))
_COLUMNS: Final[dict[str, Field]] = {
    "id": Column("id"),
    "content": Column("text"),
    "timestamp": Column("said_at"),
    "source_node": _NODE,
    **{part: Column(part) for part in PARTS},
}
_IN_CONTENT: Final = ("content", "source_node", *PARTS)  # the keys of the column's JSON
_SIGNS: Final[dict[str, Op]] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
_OPPOSITE: Final[dict[Op, Op]] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_ALWAYS_THERE: Final = (Column("id"), Column("text"), Column("said_at"))
_PATH: Final = re.compile(r'\.(?:([A-Za-z_][A-Za-z0-9_]*)|"([^"\\]+)")')
_EXAMPLE: Final = "write for example json_extract(metadata, '$.intent') = 'update'"


def filter_of(when_filter: str) -> Filter | None:
    """The filter that a condition means; None, which matches all, if it is empty."""
    if not when_filter.strip():
        return None
    if len(when_filter) > limits.FILTER_MAX_CHARS:
        raise refused("when_filter is too long", Token("end", "", limits.FILTER_MAX_CHARS), None)
    parser = _Parser(when_filter)
    found = parser.whole()
    try:
        return Filter(found.yes)
    except InvalidInput as error:
        raise refused(error.message, parser.first, error.hint) from error


class _Truth(NamedTuple):
    """When a condition is true, and when it is false; with a missing value it is neither."""

    yes: Node
    no: Node

    def negated(self) -> _Truth:
        return _Truth(self.no, self.yes)


def _and(one: _Truth, *others: _Truth) -> _Truth:
    if not others:
        return one
    every = (one, *others)
    return _Truth(And(tuple(x.yes for x in every)), Or(tuple(x.no for x in every)))


def _or(one: _Truth, *others: _Truth) -> _Truth:
    return _and(one.negated(), *(other.negated() for other in others)).negated()


def _leaf(field: Field, yes: Node) -> _Truth:
    """A term that is true of some values, and false of all others that are there."""
    no = Not(yes) if field in _ALWAYS_THERE else And((Not(yes), Not(Missing(field))))
    return _Truth(yes, no)


def _pattern(field: Field, yes: Node) -> _Truth:
    """A term about texts: of a number, a list or an object it is neither true nor false."""
    if isinstance(field, Column):
        return _leaf(field, yes)
    is_text = Compare(field, ">=", "")
    return _Truth(And((yes, is_text)), And((Not(yes), is_text)))


def _there(field: Field) -> _Truth:
    """True of every value that is there, and never false."""
    return _Truth(Not(Missing(field)), And((Missing(field), Not(Missing(field)))))


class _Parser:
    """Reads one condition from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._next = self.first = next(self._tokens)
        self._depth = 0

    def whole(self) -> _Truth:
        found = self._any()
        if self._next.kind != "end":
            raise self._expected("AND, OR or the end")
        return found

    def _any(self) -> _Truth:
        found = [self._all()]
        while self._skip("or"):
            found.append(self._all())
        return _or(*found)

    def _all(self) -> _Truth:
        found = [self._one()]
        while self._skip("and"):
            found.append(self._one())
        return _and(*found)

    def _one(self) -> _Truth:
        start = self._next
        self._depth += 1
        if self._depth > limits.FILTER_MAX_DEPTH:
            raise refused("the condition is nested too deeply", start, "use fewer parentheses")
        if self._skip("not"):
            found = self._one().negated()
        elif self._skip("("):
            found = self._any()
            self._expect(")")
        else:
            found = self._term(start)
        self._depth -= 1
        return found

    def _term(self, start: Token) -> _Truth:
        field = self._field()
        try:
            return self._about_scope(start) if field is None else self._about(field, start)
        except InvalidInput as error:
            if "of when_filter" in error.message:
                raise
            raise refused(error.message, start, error.hint) from error

    # Terms.

    def _about(self, field: Field, start: Token) -> _Truth:
        sign = _SIGNS.get(self._next.word)
        if sign is not None:
            self._take()
            return _compared(field, sign, self._value())
        if self._skip("is"):
            return self._is_null(field)
        is_not = self._skip("not")
        if self._skip("in"):
            found = _or(*(_compared(field, "=", value) for value in self._list()))
        elif self._skip("between"):
            low = _compared(field, ">=", self._value())
            self._expect("and")
            found = _and(low, _compared(field, "<=", self._value()))
        elif self._next.word in ("like", "glob"):
            found = self._matching(field, self._take())
        else:
            raise self._expected("a comparison")
        return found.negated() if is_not else found

    def _is_null(self, field: Field) -> _Truth:
        is_not = self._skip("not")
        self._expect("null")
        found = _Truth(Missing(field), Not(Missing(field)))
        return found.negated() if is_not else found

    def _matching(self, field: Field, verb: Token) -> _Truth:
        star = "%" if verb.word == "like" else "*"
        pattern = self._text()
        part = pattern.strip(star)
        if re.search(r"[%_]" if star == "%" else r"[*?\[]", part):
            raise refused(
                f"the pattern {pattern!r} is too complex", verb, f"use {star} only at its ends"
            )
        if star == "%" and re.search("[A-Za-z]", part):
            hint = f"write GLOB '{pattern.replace('%', '*')}', which compares exactly"
            raise refused("LIKE ignores case, and a filter does not", verb, hint)
        if pattern and not part:
            return _there(field)
        if pattern == part:
            return _pattern(field, Compare(field, "=", canonical(field, part)))
        if pattern == part + star:
            return _pattern(field, StartsWith(field, part))
        if pattern == star + part:
            raise refused(f"no filter finds the end {part!r}", verb, "put the sign on both ends")
        return _pattern(field, Contains(field, part))

    def _about_scope(self, start: Token) -> _Truth:
        """A term on ``scope_key``: each of its names is compared exactly, also after LIKE."""
        sign = self._next.word
        if _SIGNS.get(sign) in ("=", "!="):
            self._take()
            found = _scope(self._text(), start, whole=True)
            return found if _SIGNS[sign] == "=" else found.negated()
        is_not = self._skip("not")
        if self._skip("in"):
            given = [_scope(str(value), start, whole=True) for value in self._list()]
            found = _or(*given)
        elif self._skip("like"):
            found = _scope(self._text(), start, whole=False)
        else:
            raise self._expected("=, IN or LIKE after scope_key")
        return found.negated() if is_not else found

    # Parts of terms.

    def _field(self) -> Field | None:
        """The field of a term; None stands for ``scope_key``."""
        token = self._take()
        if token.word == "json_extract":
            self._expect("(")
            column = self._take()
            self._expect(",")
            found = _inside(column, self._take())
            self._expect(")")
            return found
        if token.text == "episodes" and self._skip("."):
            token = self._take()
        if self._skip("->>"):
            return _inside(token, self._take())
        if token.kind not in ("word", "name") or token.text.lower() not in (*_COLUMNS, _SCOPE_KEY):
            hint = f"use {', '.join((*_COLUMNS, _SCOPE_KEY))} or json_extract(metadata, '$.key')"
            raise refused(f"{token.text!r} is not a column", token, hint)
        return _COLUMNS.get(token.text.lower())

    def _list(self) -> list[Scalar]:
        self._expect("(")
        found = [self._value()]
        while self._skip(","):
            found.append(self._value())
        self._expect(")")
        return found

    def _value(self) -> Scalar:
        token = self._take()
        if token.kind == "text":
            return _unquoted(token)
        if token.word in ("true", "false"):
            return int(token.word == "true")  # as in SQLite, where they are names of 1 and 0
        if token.kind != "number":
            hint = "a value is 'text' or a number; write IS NULL for a missing value"
            raise refused(f"expected a value, found {token.text or 'the end'!r}", token, hint)
        value = float(token.text)
        return int(value) if token.text.lstrip("-").isdecimal() and abs(value) < 2**53 else value

    def _text(self) -> str:
        token = self._take()
        if token.kind != "text":
            raise refused("expected a text in single quotes", token, _EXAMPLE)
        return _unquoted(token)

    def _skip(self, word: str) -> bool:
        if self._next.word != word:
            return False
        self._take()
        return True

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            raise self._expected(word.upper())

    def _take(self) -> Token:
        token = self._next
        if token.kind != "end":
            self._next = next(self._tokens)
        return token

    def _expected(self, what: str) -> InvalidInput:
        found = self._next.text or "the end"
        return refused(f"expected {what}, found {found!r}", self._next, _EXAMPLE)


def _unquoted(token: Token) -> str:
    return token.text[1:-1].replace("''", "'")


def _compared(field: Field, sign: Op, value: Scalar) -> _Truth:
    if sign == "=":
        return _equal(field, value)
    if sign == "!=":
        return _equal(field, value).negated()
    return _Truth(_ordered(field, sign, value), _ordered(field, _OPPOSITE[sign], value))


def _ordered(field: Field, sign: Op, value: Scalar) -> Node:
    """A value of another type is on neither side; JSON's true and false are 1 and 0."""
    found = Compare(field, sign, canonical(field, value))
    if isinstance(field, Column) or isinstance(value, str):
        return found
    flags = tuple(x for x in (False, True) if (x > value) - (x < value) in HOLDS[sign])
    return Or((found, OneOf(field, flags))) if flags else found


def _equal(field: Field, value: Scalar) -> _Truth:
    """SQLite reads JSON's true and false as 1 and 0."""
    if isinstance(field, Path) and value in (0, 1):
        return _leaf(field, OneOf(field, (value, bool(value))))
    return _leaf(field, Compare(field, "=", canonical(field, value)))


def _scope(pattern: str, start: Token, *, whole: bool) -> _Truth:
    names = names_in(pattern)
    if not names or (whole and len(names) < len(PARTS)):
        raise refused(
            f"{pattern!r} is not a scope",
            start,
            "write '/user/alice/session/S1/agent/rag/', or with LIKE '/user/alice/%'",
        )
    return _and(*(_equal(Column(part), name) for part, name in names.items()))


def _inside(column: Token, path: Token) -> Field:
    """The field that a path leads to in the JSON of a column."""
    keys = _keys(path)
    if column.text.lower() == "metadata":
        return Path("metadata", keys)
    if column.text.lower() == "content" and len(keys) == 1 and keys[0] in _IN_CONTENT:
        return _COLUMNS[keys[0]]
    raise refused("this JSON is not known", column, f"use metadata, or {', '.join(_IN_CONTENT)}")


def _keys(path: Token) -> tuple[str, ...]:
    """The keys in a path such as ``$.a.b``; a plain word is one key."""
    if path.kind == "text":
        text = _unquoted(path)
        if not text.startswith("$"):
            text = f'$."{text}"'
        found = _PATH.findall(text[1:])
        keys = tuple(plain or quoted for plain, quoted in found)
        if keys and len(_PATH.sub("", text[1:])) == 0:
            return keys
    raise refused("expected a path such as '$.intent'", path, _EXAMPLE)
