"""From the text of a filter to the expression, by recursive descent.

Responsible for the grammar and for reporting where in a text a mistake is. Leaves types and meaning
to ``index.filter``. Invariants: any text gives either a filter or ``InvalidInput``;
``parse(str(filter)) == filter``.

    any    = all { "or" all }
    all    = one { "and" one }
    one    = "not" one | "(" any ")" | term
    term   = field sign value | field "in" "(" value { "," value } ")"
           | field "contains" value | field "starts" "with" text | value "in" field
    field  = name | ("data" | "metadata") { "." (name | text) }
    sign   = "=" | "!=" | "<" | "<=" | ">" | ">="
    value  = text | number | "true" | "false" | "null"
"""

from __future__ import annotations

import re
from typing import Final, cast

from recollect.errors import InvalidInput
from recollect.index.filter.checks import canonical, check_verb, too_deep, too_long
from recollect.index.filter.expression import Filter
from recollect.index.filter.fields import (
    FIELDS,
    HOLDS,
    OBJECTS,
    Column,
    Field,
    Path,
    Scalar,
    Units,
    Verb,
    known,
)
from recollect.index.filter.tokens import Token, cut
from recollect.index.filter.tree import (
    And,
    Compare,
    Contains,
    Missing,
    Node,
    Not,
    OneOf,
    Or,
    StartsWith,
)
from recollect.model import limits
from recollect.model.words import FORMER

_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign><=|>=|!=|[=<>(),.])
    | (?P<end>\Z)
    | (?P<stray>.)
    )""",
    re.DOTALL | re.VERBOSE,
)
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_KEYWORDS: Final = frozenset(("and", "or", "not", "in", "contains", "starts", *_CONSTANTS))
_EXAMPLE: Final = "write for example kind = 'fact' and confidence >= 0.6"
_INSTEAD: Final = {
    "between": "write at >= '2026-01-01' and at < '2026-02-01'",
    "is": "write = null or != null",
    "like": "use contains or starts with",
    "not": "put it before the term: not kind in ('fact', 'note')",
}

Value = Scalar | None


def parse(text: str, units: Units = "any") -> Filter:
    """The filter that a text describes, over the fields of records, of episodes or of both."""
    if not isinstance(text, str):
        raise InvalidInput(f"a filter must be text, not {type(text).__name__}")
    if len(text) > limits.FILTER_MAX_CHARS:
        raise too_long()
    return Filter(_Parser(text, units).whole())


def _refused(message: str, token: Token, hint: str) -> InvalidInput:
    return _placed(InvalidInput(message, hint=hint), token)


def _placed(error: InvalidInput, token: Token) -> InvalidInput:
    """The same error, with its position in the text."""
    message = f"{error.message}, at character {token.place} of the filter"
    return type(error)(message, hint=error.hint or _EXAMPLE)


class _Parser:
    """Reads one text from left to right, looking one token ahead."""

    def __init__(self, text: str, units: Units) -> None:
        self._tokens = iter(tuple(cut(_TOKEN, text, _refused)))
        self._next = next(self._tokens)
        self._units = units

    def whole(self) -> Node:
        node = self._any(0)
        if self._next.kind != "end":
            raise self._expected("'and', 'or' or the end")
        return node

    def _any(self, depth: int) -> Node:
        terms = [self._all(depth)]
        while self._skip("or"):
            terms.append(self._all(depth))
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def _all(self, depth: int) -> Node:
        terms = [self._one(depth)]
        while self._skip("and"):
            terms.append(self._one(depth))
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _one(self, depth: int) -> Node:
        if depth > limits.FILTER_MAX_DEPTH:
            raise _placed(too_deep(), self._next)
        if self._skip("not"):
            return Not(self._one(depth + 1))
        if self._skip("("):
            node = self._any(depth + 1)
            self._expect(")")
            return node
        return self._term()

    def _term(self) -> Node:
        first = self._next
        if self._at_value():
            values: tuple[Value, ...] = (self._value(),)
            self._expect("in")
            verb: Verb = "contains"
            field = self._field()
        else:
            field = self._field()
            verb = self._verb()
            values = self._list() if verb == "in" else (self._value(),)
        try:
            return _leaf(field, verb, values)
        except InvalidInput as error:
            raise _placed(error, first) from error

    def _field(self) -> Field:
        token = self._next
        if token.kind != "word" or token.word in _KEYWORDS:
            raise self._expected("a field")
        self._take()
        keys = self._keys()
        try:
            return self._named(token.text, keys)
        except InvalidInput as error:
            raise _placed(error, token) from error

    def _named(self, name: str, keys: tuple[str, ...]) -> Field:
        name = FORMER.get(name, name)  # in filters that ledgers keep
        if name in OBJECTS[self._units]:
            return Path(name, keys)
        if name not in FIELDS[self._units]:
            whose = "" if self._units == "any" else f" of {self._units}s"
            raise InvalidInput(f"unknown field {name!r}{whose}", hint=known(self._units))
        if keys:
            raise InvalidInput(f"{name} has no fields inside", hint=known(self._units))
        return Column(name)

    def _keys(self) -> tuple[str, ...]:
        keys: list[str] = []
        while self._skip("."):
            if self._next.kind not in ("word", "text"):
                raise self._expected("a key", "quote keys that are not plain words: data.'2026'")
            token = self._take()
            keys.append(_unquoted(token) if token.kind == "text" else token.text)
        return tuple(keys)

    def _verb(self) -> Verb:
        word = self._next.word
        if word in HOLDS or word in ("in", "contains"):
            self._take()
            return cast(Verb, word)
        if self._skip("starts"):
            self._expect("with")
            return "starts with"
        raise self._expected("a comparison", _INSTEAD.get(word, _EXAMPLE))

    def _list(self) -> tuple[Value, ...]:
        self._expect("(")
        values = [self._value()]
        while self._skip(","):
            values.append(self._value())
        self._expect(")")
        return tuple(values)

    def _at_value(self) -> bool:
        return self._next.kind in ("text", "number") or self._next.word in _CONSTANTS

    def _value(self) -> Value:
        if not self._at_value():
            raise self._expected("a value", "a value is 'text', 0.6, true, false or null")
        token = self._take()
        if token.kind == "text":
            return _unquoted(token)
        if token.kind == "word":
            return _CONSTANTS[token.word]
        return _number(token)

    def _skip(self, word: str) -> bool:
        """Takes the next token if it is this one."""
        if self._next.word != word:
            return False
        self._take()
        return True

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            raise self._expected(repr(word))

    def _take(self) -> Token:
        token, self._next = self._next, next(self._tokens)
        return token

    def _expected(self, what: str, hint: str = _EXAMPLE) -> InvalidInput:
        token = self._next
        found = repr(token.text) if token.text else "the end"
        return _refused(f"expected {what}, found {found}", token, hint)


def _unquoted(token: Token) -> str:
    return token.text[1:-1].replace("''", "'")


def _number(token: Token) -> int | float:
    """Parses through float, which accepts any number of digits and is exact up to the limit."""
    value = float(token.text)
    if not token.text.lstrip("-").isdecimal():
        return value
    if abs(value) > limits.INTEGER_MAX:
        raise _refused("an integer is beyond ±(2^53 - 1)", token, "write it as text")
    return int(value)


def _leaf(field: Field, verb: Verb, values: tuple[Value, ...]) -> Node:
    """One term, its literals in the form in which the field is stored."""
    check_verb(field, verb)
    if None in values:
        if verb not in ("=", "!="):
            raise InvalidInput("null is only allowed after = and !=", hint=f"write {field} = null")
        return Missing(field) if verb == "=" else Not(Missing(field))
    known_values = tuple(canonical(field, value) for value in values if value is not None)
    if verb == "in":
        return OneOf(field, known_values)
    value = known_values[0]
    if verb == "contains":
        return Contains(field, value)
    if verb == "starts with":
        return StartsWith(field, cast(str, value))
    return Compare(field, verb, value)
