"""Secrets that a program passes to a call: a user name and password, a signing key, a token.

Responsible for which argument of which call is a secret. Leaves judging the value to ``values``.
Invariant: every repetition has a bound.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.exchange.redaction import values
from recollect.exchange.redaction.shape import Shape, Span

_TEXT: Final = r"(?:\"[^\"\n]{0,100}\"|'[^'\n]{0,100}')"
_LAST: Final = r"(?P<quote>[\"'])(?P<value>(?:(?!(?P=quote))[^\n\\]){6,200}+)(?P=quote)"
# Calls with a user name and a password, optionally after an address.
_LOGINS: Final = (
    ("auth", r"auth\s{0,2}[=:]\s{0,2}[(\[]", 1),
    ("auth(", r"(?<![a-z])(?:basic_?)?auth\(", 1),
    (".login(", r"\.login\(", 1),
    ("credential", r"credentials?\(", 1),
    ("pdo(", r"\bpdo\(", 2),
    ("getconnection(", r"getconnection\(", 2),
    ("mysqli", r"mysqli(?:_connect)?\(", 2),
    ("plainauth(", r"plainauth\(", 2),
)


def _password(match: re.Match[str]) -> Span | None:
    is_one = values.is_password(match["value"], tight=False, quoted=True)
    return match.span("value") if is_one else None


def _signing_key(match: re.Match[str]) -> Span | None:
    value = match["value"]
    is_one = values.is_chosen(value) or values.is_password(value, tight=False, quoted=True)
    return match.span("value") if is_one else None


def _opaque(match: re.Match[str]) -> Span | None:
    """A token without a name: lower case, upper case and digits, mixed."""
    value = match["value"]
    return match.span("value") if values.is_scrambled(value) and values.is_opaque(value) else None


SHAPES: Final = (
    *(
        Shape(
            "password",
            begins,
            rf"{call}\s{{0,8}}(?:(?:{_TEXT}|[\w.]{{1,40}})\s{{0,2}},\s{{0,8}}){{{count}}}{_LAST}",
            re.IGNORECASE,
            _password,
            is_name=True,
        )
        for begins, call, count in _LOGINS
    ),
    *(
        Shape(
            "token",
            begins,
            rf"{re.escape(begins)}\s{{0,4}}[^\n]{{1,80}}?,\s{{0,8}}{_LAST}",
            0,
            _signing_key,
        )
        for begins in ("jwt.sign(", "jwt.verify(", "jwt.encode(", "jwt.decode(", "JWT.encode(")
    ),
    Shape(
        "token",
        'lient("',
        r"lient\(\"(?P<value>[A-Za-z0-9_-]{32,200})\"\s{0,2}[,)]",
        0,
        _opaque,
    ),
    Shape(
        "password",
        "#define",
        rf"#define\s{{1,4}}\w{{0,40}}(?:PASS|PASSWORD|PASSWD|PWD|SECRET|TOKEN|KEY|PSK)\s{{1,12}}{_LAST}",
        0,
        _password,
    ),
)
