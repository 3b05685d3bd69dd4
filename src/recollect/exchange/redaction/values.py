"""Judging a value: does it look like a secret that a person or a program made up?

Responsible for telling a secret from a word, a name in a program, a path, a number or a
placeholder. Leaves finding the value to ``names`` and ``structure``. Invariant: pure functions,
whose time depends only on the value's length.
"""

from __future__ import annotations

import re
from base64 import b64decode
from itertools import pairwise
from typing import Final

MARKER: Final = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")
PASSWORD_MIN_CHARS: Final = 6
TOKEN_MIN_CHARS: Final = 16
_DIGITS: Final = re.compile(r"\d+")
_DIGIT: Final = re.compile(r"\D*+\d")
_LETTER: Final = re.compile(r"[^\W\d_]")
_LETTERS: Final = re.compile(r"[a-z]{8,40}")
_SIGN: Final = re.compile(r"[!#$%^&*+=?@~|]")
_INNER_DIGIT: Final = re.compile(r"[A-Za-z]\d+[A-Za-z!@#$%^&*?]")
_CAPITALS: Final = re.compile(r"[A-Z]{2}")
_RANGE: Final = re.compile(r"[aA]-[zZfF]|0-9")  # of a pattern
_TURN: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
# Possessive: a dot in brackets could also end them, so that each bracket doubled the attempts.
_DOTTED: Final = re.compile(
    r"[A-Za-z_]\w*+(?:(?:\.|->|::|/)[A-Za-z_]\w*+|\[(?:[\w.:]|-(?!>))*+\]?+)++", re.ASCII
)
_PAIR: Final = re.compile(rb"[ -~]*:[ -~]*")
_CALL: Final = re.compile(r"[A-Za-z_][\w.]*[(\[].*[)\]]", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z]+[0-9]{0,2}(?:_(?:[A-Za-z]+[0-9]{0,2}|[0-9]{1,2}))+")
_WORDS: Final = re.compile(
    r"[A-Za-z]{2,}[0-9]{0,2}(?:[_-][A-Za-z]{2,}[0-9]{0,2})+"
    r"|(?:[a-z]+[0-9]{0,2}|[0-9]{1,2}[a-z]*)(?:-(?:[a-z]+[0-9]{0,2}|[0-9]{1,2}[a-z]*))+"
    r"|[A-Z]+[0-9]{0,2}(?:_(?:[A-Z]+[0-9]{0,2}|[0-9]{1,2}))+"
)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VARIABLE: Final = re.compile(
    r"\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+\d{0,2}|\d|[({].*)|%[A-Za-z_]+%?|%[({].*"
)
_PATH: Final = re.compile(r"(?:~|\.{0,2})/[\w.~/-]*|[A-Za-z]:[\\/].*")
_FIXED_STARTS: Final = (
    "{",
    "<",
    "[redacted",
    "(",
    "…",
    "arn:",
    "sha256-",
    "sha512-",
    "sha1-",
    "data:",
)
_STAND_INS: Final = frozenset(
    "password passwd pass pwd secret token key apikey api_key api-key changeme change-me "
    "your-password your_password yourpassword mypassword my-password my_password example none "
    "tiger null true false string redacted hidden placeholder undefined username required optional "
    "invalid incorrect disabled enabled protected encrypted unchanged forgotten plaintext "
    "cleartext textfield authentication credentials credential password123 unknown default "
    "whatever something anything nothing keyboard-interactive interactive prompt removed masked "
    "omitted sanitized filtered".split()
)
_SAYING_SO: Final = re.compile(
    r"(?:a|my|the|your|some|top|very)(?:%20|[-_. +])?(?:secret|password|passwd|pass|token|key)"
)
_TELLING: Final = ("pass", "secret", "token", "user", "login", "auth", "field", "input")


def is_written_out(value: str) -> bool:
    """False for a placeholder: a variable, a word such as "password", asterisks."""
    if value.startswith(_FIXED_STARTS) or MARKER.search(value) or _VARIABLE.fullmatch(value):
        return False
    bare = value.strip("*.xX_-#•?").lower()
    if _SAYING_SO.fullmatch(bare):
        return False
    return len(set(bare)) > 1 and not _STAND_INS.intersection((bare, bare.rstrip("0123456789")))


def is_mixed(value: str) -> bool:
    """True unless it consists only of words, only of digits, or of very few characters."""
    return bool(_DIGIT.match(value) and _LETTER.search(value)) and len(set(value)) > 4


def is_scrambled(value: str) -> bool:
    """Lower case, upper case and digits mixed in a way that no name in a program is."""
    has_both = value.lower() != value != value.upper()
    return has_both and len(_DIGITS.findall(value)) > 1 and bool(_INNER_DIGIT.search(value))


def is_jumbled(value: str) -> bool:
    """Only letters, with upper and lower case mixed unlike in names of programs."""
    if len(value) < 8 or not (value.isalpha() and value.isascii() and _CAPITALS.search(value)):
        return False
    turns = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    return 5 * turns >= 2 * len(value)


def is_strong(value: str, at_least: int) -> bool:
    """A value that was made up, rather than a word, a name in a program or a number."""
    if len(value) < at_least or not is_mixed(value) or not is_written_out(value):
        return False
    if "://" in value or _PATH.fullmatch(value) or _DATE.match(value) or _RANGE.search(value):
        return False
    return is_scrambled(value) or not (_DOTTED.fullmatch(value) or _WORDS.fullmatch(value))


def is_password(value: str, *, tight: bool, quoted: bool) -> bool:
    """A password after its name. ``tight``: directly after ``=`` and up to the end of the word."""
    if is_strong(value, PASSWORD_MIN_CHARS):
        return not (_UUID.fullmatch(value) or _is_call(value))
    # What takes longest comes last: a name may stand before every other word.
    return (
        _is_odd(value, tight=tight, quoted=quoted)
        and is_written_out(value)
        and not _PATH.fullmatch(value)
    )


def _is_odd(value: str, *, tight: bool, quoted: bool) -> bool:
    """A number, letters or a mixture that is seldom anything but a password."""
    if value.isdecimal() and value.isascii():
        return 6 <= len(value) <= 16 and len(set(value)) > 2 and (tight or quoted)
    if _LETTERS.fullmatch(value):
        return (tight or quoted) and not any(word in value for word in _TELLING)
    if is_jumbled(value):
        return True
    if tight and _has_digits_at_end(value):
        return not _NAME.fullmatch(value) and not _is_call(value)
    has_both = value.lower() != value != value.upper()
    return len(value) >= 8 and has_both and bool(_SIGN.search(value)) and not _is_code(value)


def is_phrase(value: str) -> bool:
    """Several words in quotes, one of which mixes letters and digits."""
    return len(value) <= 60 and any(
        _INNER_DIGIT.search(word) and is_strong(word, 5) for word in value.split()
    )


def is_chosen(value: str) -> bool:
    """At least three words with separators, none of which describes a placeholder."""
    words = re.split(r"[ _-]", value)
    return (
        len(words) > 2
        and all(word.isalnum() for word in words)
        and is_written_out(value)
        and not any(word in value.lower() for word in (*_TELLING, "key", "your", "change", "env"))
    )


def is_token(value: str, *, tight: bool, quoted: bool = False) -> bool:
    """A token after its name: long, with digits in several places."""
    if value.endswith("..."):  # told in part
        return False
    if tight and value.isalpha() and len(value) >= TOKEN_MIN_CHARS:
        return len(_TURN.findall(value)) > 2 and is_written_out(value)
    if not is_strong(value, 15 if tight else TOKEN_MIN_CHARS) or (not quoted and _is_call(value)):
        return False
    if _UUID.fullmatch(value):
        return tight
    count = len(_DIGITS.findall(value))
    if _DOTTED.fullmatch(value):
        return count > 3
    return count > 1 or (tight and len(value) >= 18)


def is_credential(value: str) -> bool:
    """Letters and digits, and not a placeholder."""
    return is_mixed(value) and is_written_out(value)


def is_opaque(value: str) -> bool:
    """Long and without readable words."""
    return is_strong(value, TOKEN_MIN_CHARS) and len(_DIGITS.findall(value)) > 1


def is_pair(value: str) -> bool:
    """A user name and a password in base64."""
    try:
        return bool(_PAIR.fullmatch(b64decode(value, validate=True)))
    except ValueError:
        return False


def _has_digits_at_end(value: str) -> bool:
    return len(value) >= 8 and value[-1].isdigit() and is_mixed(value) and "://" not in value


def _is_call(value: str) -> bool:
    """An expression of a program."""
    if not any(sign in value for sign in "([{"):
        return False
    return bool(_CALL.fullmatch(value)) or not is_scrambled(value)


def _is_code(value: str) -> bool:
    return any(sign in value for sign in "()[]{}<>=&|") or "%s" in value
