"""A rule's ``when_filter``: an SQL condition over episodes, as a test of each.

Responsible for its words and signs and for what of SQL is understood. Leaves cutting the text to
``index.filter.tokens``, what a comparison means to ``terms``, patterns and functions to
``sqlite_words`` and ``sqlite_times``, and narrowing down which episodes are read to
``index.filter``. Invariants: no part of the text is ever run as SQL, so it means the same on every
engine; what is not understood is refused, with its place.

    any   = all { OR all }          all = one { AND one }
    one   = NOT one | ( any ) | TRUE | FALSE | term
    term  = part sign part | part [NOT] IN ( part, … ) | part [NOT] BETWEEN part AND part
          | part [NOT] LIKE text [ESCAPE text] | part [NOT] GLOB text | part IS [NOT] NULL
    part  = text | number | column | json_extract ( column , path ) | column ->> path
          | length ( part ) | substr ( part , number [, number] ) | lower ( part ) | upper ( part )
          | datetime ( time { , modifier } ) | date ( time { , modifier } )
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from recollect.contracts.episodic import sqlite_words
from recollect.contracts.episodic.errors import ConsolidationRuleError
from recollect.contracts.episodic.scope import PARTS, names_in
from recollect.contracts.episodic.terms import (
    COLUMNS,
    SCOPE_KEY,
    Condition,
    Part,
    Term,
    both,
    column,
    compared,
    constant,
    either,
    function,
    in_metadata,
    is_null,
    matching,
    of_scope,
    one_of,
    time_of,
)
from recollect.errors import InvalidInput
from recollect.index.filter.fields import Op, check_characters
from recollect.index.filter.tokens import Token, cut
from recollect.model import limits

_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | "(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    | (?P<sign>->>|<=|>=|<>|!=|==|[=<>(),.])
    | (?P<end>\Z)
    | (?P<stray>.)
    )""",
    re.DOTALL | re.VERBOSE,
)
_IN_CONTENT: Final = ("content", "source_node", *PARTS)  # the keys of the column's JSON
_SIGNS: Final[dict[str, Op]] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
_OF_TEXTS: Final[dict[str, Callable[[str], str | int]]] = {
    "length": len,
    "lower": sqlite_words.lower,
    "upper": sqlite_words.upper,
}
_FUNCTIONS: Final = (*_OF_TEXTS, "substr", "datetime", "date", "json_extract")
_PATH: Final = re.compile(r'\.(?:([A-Za-z_][A-Za-z0-9_]*)|"([^"\\]+)")')
_EXAMPLE: Final = "write for example json_extract(metadata, '$.intent') = 'update'"


def tokens(text: str) -> Iterator[Token]:
    """The parts of a text, ended by one of the kind ``end``."""
    return cut(_TOKEN, text, refused)


def refused(message: str, token: Token, hint: str | None) -> ConsolidationRuleError:
    """The error for something at a token."""
    return ConsolidationRuleError(
        f"{message}, at character {token.place} of when_filter", hint=hint
    )


def condition_of(when_filter: str, now: str) -> Condition | None:
    """What a condition means at an instant; None, which matches all, if it is empty."""
    if not when_filter.strip():
        return None
    if len(when_filter) > limits.FILTER_MAX_CHARS:
        raise refused("when_filter is too long", Token("end", "", limits.FILTER_MAX_CHARS), None)
    return Condition(_Parser(when_filter, now).whole())


class _Parser:
    """Reads one condition from left to right."""

    def __init__(self, text: str, now: str) -> None:
        self._now = now
        self._tokens = tokens(text)
        self._next = self._first = next(self._tokens)
        self._depth = self._terms = 0

    def whole(self) -> Term:
        found = self._any()
        if self._next.kind != "end":
            raise self._expected("AND, OR or the end")
        return found

    def _any(self) -> Term:
        found = [self._all()]
        while self._skip("or"):
            found.append(self._all())
        return either(*found)

    def _all(self) -> Term:
        found = [self._one()]
        while self._skip("and"):
            found.append(self._one())
        return both(*found)

    def _one(self) -> Term:
        self._deeper()
        if self._skip("not"):
            found = self._one().negated()
        elif self._skip("("):
            found = self._any()
            self._expect(")")
        else:
            found = self._term(self._next)
        self._depth -= 1
        return found

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > limits.FILTER_MAX_DEPTH:
            message = "the condition is nested too deeply"
            raise refused(message, self._next, "use fewer parentheses")

    def _term(self, start: Token) -> Term:
        self._terms += 1
        if self._terms > limits.FILTER_MAX_TERMS:
            message = f"the condition has more than {limits.FILTER_MAX_TERMS} terms"
            raise refused(message, self._first, "use IN (…)")
        try:
            if start.word in ("true", "false"):
                self._take()
                return compared(constant(int(start.word == "true")), "=", constant(1))
            return self._about(self._part(), start)
        except InvalidInput as error:
            if "of when_filter" in error.message:
                raise
            raise refused(error.message, start, error.hint) from error

    # Terms.

    def _about(self, part: Part, start: Token) -> Term:
        sign = _SIGNS.get(self._next.word)
        if part.column == SCOPE_KEY:
            return self._about_scope(start)
        if sign is not None:
            self._take()
            return compared(part, sign, self._value())
        if self._skip("is"):
            is_not = self._skip("not")
            self._expect("null")
            found = is_null(part)
            return found.negated() if is_not else found
        is_not = self._skip("not")
        if self._skip("in"):
            found = one_of(part, self._list())
        elif self._skip("between"):
            low = compared(part, ">=", self._value())
            self._expect("and")
            found = both(low, compared(part, "<=", self._value()))
        elif self._next.word in ("like", "glob"):
            found = matching(part, self._pattern(self._take()))
        else:
            raise self._expected("a comparison")
        return found.negated() if is_not else found

    def _pattern(self, verb: Token) -> sqlite_words.Pattern:
        pattern = self._text()
        if verb.word == "like":
            escape = self._text() if self._skip("escape") else None
            if escape is not None and len(escape) != 1:
                raise refused("ESCAPE takes one character", verb, "write ESCAPE '!'")
            return sqlite_words.like(pattern, escape)
        if "[" in pattern:
            message = f"the pattern {pattern!r} has a set of characters"
            raise refused(message, verb, "use * and ? only, or two terms with OR")
        return sqlite_words.glob(pattern)

    def _about_scope(self, start: Token) -> Term:
        """A term on ``scope_key``: each of its names is compared exactly, also after LIKE."""
        sign = self._next.word
        if _SIGNS.get(sign) in ("=", "!="):
            self._take()
            found = _scope(self._text(), start, whole=True)
            return found if _SIGNS[sign] == "=" else found.negated()
        is_not = self._skip("not")
        if self._skip("in"):
            given = (_scope(str(value.value), start, whole=True) for value in self._list())
            found = either(*given)
        elif self._skip("like"):
            found = _scope(self._text(), start, whole=False)
        else:
            raise self._expected("=, IN or LIKE after scope_key")
        return found.negated() if is_not else found

    # Parts of terms.

    def _value(self) -> Part:
        if self._next.kind == "end" or self._next.word in ("null", "select"):
            hint = "a value is 'text' or a number; write IS NULL for a missing value"
            found = self._next.text or "the end"
            raise refused(f"expected a value, found {found!r}", self._next, hint)
        return self._part()

    def _part(self) -> Part:
        """A column, a constant, or what a function makes of them."""
        token = self._take()
        if token.kind == "text":
            return constant(_checked(token))
        if token.kind == "number":
            return constant(_number(token))
        if token.word in ("true", "false"):
            return constant(int(token.word == "true"))  # as in SQLite: names of 1 and 0
        if token.word in _FUNCTIONS and self._next.word == "(":
            self._deeper()
            found = self._call(token)
            self._depth -= 1
            return found
        if token.text == "episodes" and self._skip("."):
            token = self._take()
        if self._skip("->>"):
            return _inside(token, self._take())
        if token.kind not in ("word", "name") or token.text.lower() not in COLUMNS:
            hint = f"use {', '.join(COLUMNS)}, or {', '.join(_FUNCTIONS)}"
            raise refused(f"{token.text or 'the end'!r} is not a column", token, hint)
        return column(token.text.lower())

    def _call(self, name: Token) -> Part:
        self._expect("(")
        if name.word == "json_extract":
            outer = self._take()
            self._expect(",")
            found = _inside(outer, self._take())
        elif name.word in ("datetime", "date"):
            at, moves = self._value(), []
            while self._skip(","):
                moves.append(self._text())
            found = time_of(at, moves, self._now, with_time=name.word == "datetime")
        elif name.word == "substr":
            of = self._value()
            numbers: list[int] = []
            while self._skip(",") and len(numbers) < 2:
                numbers.append(self._whole())
            if not numbers:
                raise self._expected("',' and the number of the first character")
            found = function(lambda text: sqlite_words.substr(text, *numbers), of)
        else:
            found = function(_OF_TEXTS[name.word], self._value())
        self._expect(")")
        return found

    def _list(self) -> list[Part]:
        self._expect("(")
        found = [self._value()]
        while self._skip(","):
            found.append(self._value())
        self._expect(")")
        if len(found) > limits.FILTER_MAX_VALUES:
            message = f"a list has more than {limits.FILTER_MAX_VALUES} values"
            raise refused(message, self._next, "use fewer values")
        return found

    def _whole(self) -> int:
        token = self._take()
        number = _number(token) if token.kind == "number" else 0.0
        if not isinstance(number, int):
            raise refused("expected a whole number", token, "write for example substr(id, 1, 4)")
        return number

    def _text(self) -> str:
        token = self._take()
        if token.kind != "text":
            raise refused("expected a text in single quotes", token, _EXAMPLE)
        return _checked(token)

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


def _checked(token: Token) -> str:
    text = token.text[1:-1].replace("''", "'")
    check_characters(text)
    return text


def _number(token: Token) -> int | float:
    value = float(token.text)
    return int(value) if token.text.lstrip("-").isdecimal() and abs(value) < 2**53 else value


def _scope(pattern: str, start: Token, *, whole: bool) -> Term:
    names = names_in(pattern)
    if not names or (whole and len(names) < len(PARTS)):
        raise refused(
            f"{pattern!r} is not a scope",
            start,
            "write '/user/alice/session/S1/agent/rag/', or with LIKE '/user/alice/%'",
        )
    return of_scope(names)


def _inside(of: Token, path: Token) -> Part:
    """What a path leads to in the JSON of a column."""
    keys = _keys(path)
    if of.text.lower() == "metadata":
        return in_metadata(keys)
    if of.text.lower() == "content" and len(keys) == 1 and keys[0] in _IN_CONTENT:
        return column(keys[0])
    raise refused("this JSON is not known", of, f"use metadata, or {', '.join(_IN_CONTENT)}")


def _keys(path: Token) -> tuple[str, ...]:
    """The keys in a path such as ``$.a.b``; a plain word is one key."""
    if path.kind == "text":
        text = _checked(path)
        if not text.startswith("$"):
            text = f'$."{text}"'
        found = _PATH.findall(text[1:])
        keys = tuple(plain or quoted for plain, quoted in found)
        if keys and len(_PATH.sub("", text[1:])) == 0:
            return keys
    raise refused("expected a path such as '$.intent'", path, _EXAMPLE)
