"""Secrets recognized by the name before them: assignments, options, sentences.

Responsible for names of secrets in programs, files, commands and sentences of several languages,
and for the end of the value after one. Leaves judging the value to ``values``. Invariant: every
repetition is bounded, so that even a name before every other word costs time linear in the length.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.exchange.redaction import values
from recollect.exchange.redaction.extent import BARE, ONE, QUOTED, bare, to_its_end
from recollect.exchange.redaction.shape import Shape, Span, Take

NAMES: Final = re.IGNORECASE | re.ASCII
_ANY: Final = re.IGNORECASE
_IS: Final = (
    r"[\"'`\\\]*]{0,4}(?:\s?\[[^\]\n]{0,40}\])?(?:[ \t]{5,16}|\s{0,4})"
    r"(?P<is>,?\s{0,40}[\"']?(?:parameter)?value[\"']?\s{0,2}[:=]|\((?=[\"'])|:=|=>|->|==|=|:|\uff1a|\uff1d|\bis\b|\bwas\b|\blautet\b|\bist\b|\best\b|\bes\b"
    r"|\bè\b|\bé\b|'s\b|\bto\b|は|는|은|(?<=[\"']),(?=\s{0,16}[\"']))"
    r"(?P<gap>(?:[ \t]{5,16}|\s{0,4})(?:\\\n\s{0,8})?)(?:[brufBRUF]{1,2}(?=[\"'])"
    r"|(?:new\s)?(?:string::from|string|str|secretstr|secret|securestring|bytes|some|buffer\.from|atob"
    r"|pulumi\.secret)\((?=[\"']))?"
)
_OF_SOMETHING: Final = r"(?:\s(?:for|of|to|on)(?:\s(?:the|our|my))?(?:\s[\w.@-]{1,40}){1,2}?)?"


def _is_tight(match: re.Match[str], end: int) -> bool:
    """``NAME=value``, followed by a space, a line end or the next pair."""
    follows = match.string[end : end + 1]
    return (
        match["is"] in ("=", ":=")
        and not match["gap"]
        and follows in ("", "\n", " ", "\t", "&", ";", "\r", "\\")
    )


def _is_alone(match: re.Match[str], end: int) -> bool:
    """``name: value`` as a whole line, as in settings."""
    if match.string[end : end + 1] not in ("", "\n", "\r") or match["is"] not in (":", "="):
        return False
    line = match.string.rfind("\n", max(0, match.start() - 80), match.start()) + 1
    before = match.string[line : match.start()]
    return (
        len(before) < 60
        and all(char.isalnum() or char in " \t_-.+>#|/" for char in before)
        and not before[-1:].isspace() | (len(before.split()) > 1)
    )


def _password(match: re.Match[str]) -> Span | None:
    if match["quote"]:
        inside = match["inside"]
        if _is_listed(match):
            return None
        is_one = (
            values.is_phrase(inside)
            if " " in inside
            else values.is_password(inside, tight=False, quoted=True)
        )
        return match.span("inside") if is_one else None
    start, value = bare(match)
    tight = _is_tight(match, start + len(value)) or _is_alone(match, start + len(value))
    if values.is_password(value, tight=tight, quoted=False):
        return to_its_end(match, start, value)
    return None


def _token(match: re.Match[str]) -> Span | None:
    name = match["name"]
    if _is_qualified(match):
        return None
    if match["quote"]:
        inside = match["inside"]
        if _is_listed(match):
            return None
        is_one = " " not in inside and values.is_token(inside, tight=name.isupper(), quoted=True)
        return match.span("inside") if is_one else None
    start, value = bare(match)
    end = start + len(value)
    if match.string.startswith("...", end):  # told in part
        return None
    is_setting = name.isupper() and (_is_tight(match, end) or _is_alone(match, end))
    tight = is_setting or name.lower().startswith("_auth")
    return to_its_end(match, start, value) if values.is_token(value, tight=tight) else None


_SET_BY_CALL: Final = re.compile(r"\(\s{0,4}[\"'][A-Z0-9_]{0,60}\Z")


def _is_listed(match: re.Match[str]) -> bool:
    """Two words of a list, rather than ``define('DB_PASSWORD', 'value')``."""
    if match["is"] != "," or values.is_scrambled(match["inside"]):
        return False
    before = match.string[max(0, match.start() - 66) : match.start()]
    return not (match["name"].isupper() and _SET_BY_CALL.search(before))


def _is_qualified(match: re.Match[str]) -> bool:
    """``Some::Type::ApiKey``: the name of a type, whose value is not a key."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    return "::" in before.rpartition(" ")[2]


def _strong_after_option(match: re.Match[str]) -> Span | None:
    start, value = bare(match)
    if values.is_strong(value, values.PASSWORD_MIN_CHARS):
        return to_its_end(match, start, value)
    return None


def _words_of_phrase(match: re.Match[str]) -> Span | None:
    """Random words, as in a passphrase."""
    words = match["value"].split()
    plain = {
        "the",
        "a",
        "an",
        "is",
        "in",
        "of",
        "to",
        "for",
        "and",
        "or",
        "not",
        "see",
        "with",
        "your",
        "my",
        "on",
        "at",
        "it",
        "be",
        "as",
        "from",
        "that",
        "this",
        "must",
        "we",
        "i",
        "you",
    }
    return None if plain.intersection(words) else match.span("value")


# The start of a name in lower case, what follows it, and how its value is judged.
_PASSWORDS: Final = (
    ("passw", rf"(?:or)?(?:d|t){_OF_SOMETHING}"),
    ("passphrase", _OF_SOMETHING),
    ("passcode", _OF_SOMETHING),
    ("pwd", ""),
    ("psk", ""),
    ("_pass", ""),
    ("db_pass", ""),
    ("pw", r"\b"),
    ("pass", r"\b(?<![A-Za-z]pass)"),
    ("kennwort", ""),
    ("mot de passe", r"\s?"),
    ("contrase", r"[ñn\u0303]{1,2}a"),
    ("senha", ""),
    ("wachtwoord", ""),
    ("lösenord", ""),
    ("adgangskode", ""),
    ("salasana", ""),
    ("parola", ""),
    ("hasło", ""),
    ("heslo", ""),
    ("jelszó", ""),
    ("şifre", ""),
    ("parol", r"\b"),
    ("пароль", ""),
    ("密码", ""),
    ("密碼", ""),
    ("口令", ""),
    ("パスワード", ""),
    ("비밀번호", ""),
    ("mật khẩu", ""),
    ("kata sandi", ""),
    ("סיסמה", ""),
    ("كلمة المرور", ""),
    ("पासवर्ड", ""),
)
_TOKENS: Final = (
    ("secret", r"(?:[ _-]?(?:key|token)(?:_base)?)?"),
    ("token", _OF_SOMETHING),
    ("_authtoken", ""),
    ("api", rf"[ _-]?key{_OF_SOMETHING}"),
    ("access", r"[ _-]?key"),
    ("credential", "s?"),
    ("auth", r"(?:[ _-]?key)?"),
    ("app", r"[ _-]?key"),
    ("private", r"[ _-]?key(?:[ _-]?(?:hex|b64|base64))?"),
    ("encryption", r"[ _-]?key"),
    ("signing", r"(?:[ _-]?(?:key|secret))?"),
    ("signature", r"[ _-]?key"),
    ("master", r"[ _-]?key"),
    ("session", r"[ _-]?(?:key|secret)"),
    ("shared", r"[ _-]?(?:access[ _-]?)?key"),
    ("preshared", r"[ _-]?key"),
    ("account", r"[ _-]?key"),
    ("webhook", r"[ _-]?(?:key|secret)"),
    ("license", r"[ _-]?key"),
    ("licence", r"[ _-]?key"),
    ("refresh", ""),
    ("client", r"[ _-]?secret"),
    ("consumer", r"[ _-]?(?:key|secret)"),
    ("service", r"[ _-]?(?:role[ _-]?)?key"),
    ("_key", ""),
    ("-key", ""),
    ("_session", ""),
    ("connect.sid", ""),
    ("sessionid", ""),
    ("sessid", ""),
    ("unseal", r"[ _]key(?: \d)?"),
    ("subscription", r"[ _-]?key"),
    ("hmac", r"[ _-]?(?:key|secret)"),
    ("salt", ""),
)
# Tokens that are not secret: for the next page of a list, for repeating a request.
_NOT_AFTER: Final = "".join(
    f"(?<!{word})"
    for word in (
        *("page", "page_", "next", "next_", "ation", "ation_", "ency ", "ency_", "ency-", "cache"),
        *("public", "public_", "public-", "public ", "publickey", "public_key_", "sync", "sync_"),
    )
)


def _named(kind: str, begins: str, rest: str, take: Take) -> Shape:
    guard = _NOT_AFTER if kind == "token" else ""
    pattern = rf"{guard}(?P<name>{begins}{rest}){_IS}(?:{QUOTED}|{BARE})"
    return Shape(kind, begins, pattern, _ANY, take, is_name=True)


def _before_its_name(match: re.Match[str]) -> Span | None:
    """``use VALUE as the password``."""
    value = match["value"]
    is_one = values.is_strong(value, values.PASSWORD_MIN_CHARS)
    return match.span("value") if is_one else None


def _pasted_key(match: re.Match[str]) -> Span | None:
    """``use the key VALUE``; a value without capitals may be a hash and does not count."""
    value = match["value"]
    is_one = value.lower() != value and values.is_opaque(value)
    return match.span("value") if is_one else None


def _header(match: re.Match[str]) -> Span | None:
    """The value of a custom authentication header."""
    value = match["value"]
    name = match[0][: match.start("value") - match.start()].lower()
    is_telling = any(word in name for word in ("key", "token", "auth", "team", "secret", "api"))
    return match.span("value") if is_telling and values.is_token(value, tight=True) else None


def _chosen(match: re.Match[str]) -> Span | None:
    """Several words that are not a placeholder."""
    group = "inside" if match["quote"] else "value"
    return match.span(group) if values.is_chosen(match[group]) else None


def _is_there(match: re.Match[str]) -> Span | None:
    return match.span("value")


_WORD: Final = r"[a-z]{3,10}"
# Names whose value is a secret even if it consists of words: keys that sign sessions.
_CHOSEN: Final = (
    ("jwt", "secret(?:[_-]?key)?"),
    ("session", "secret"),
    ("cookie", "(?:secret|password)"),
    ("auth", "secret"),
    ("csrf", "secret"),
    ("hmac", "secret"),
    ("token", "secret"),
    ("signing", "secret"),
    ("session", r"\(\{\s{0,8}secret"),
)
# Words before a password, separated by a space.
_BEFORE: Final = (
    ("identified by", r"identified by\s{1,2}"),
    ("password '", r"password\s"),
    ("requirepass", r"requirepass\s"),
    ("masterauth", r"masterauth\s"),
    ("user ", r"user \S{1,40} on >"),
    ("psk", r"\bpsk\s"),
    ("securestring", r"securestring\s(?:-string\s)?"),
    ("net user", r"net user \S{1,40} "),
    ("config set", r"config set \S{0,60}(?:key|token|secret|password)\S{0,20}\s"),
    ("creds", r"creds?\s?[:=]\s?\S{1,40}\s?/\s?"),
    ("credentials", r"credentials\s?[:=]\s?[\w.@+-]{1,40}\s?/\s?"),
    ("auth", r"auth[\w-]{0,20}\s?:\s?\S{1,40}\s/\s"),
)

SHAPES: Final = (
    *(_named("password", begins, rest, _password) for begins, rest in _PASSWORDS),
    *(_named("token", begins, rest, _token) for begins, rest in _TOKENS),
    Shape(
        "password",
        "use ",
        r"use\s[\"'`]?(?P<value>[^\s\"'`]{6,60})[\"'`]?\sas\s(?:the\s|your\s|my\s|a\s)?"
        r"pass(?:word|code|phrase)",
        NAMES,
        _before_its_name,
        is_name=True,
    ),
    Shape(
        "password",
        "log",
        rf"log(?:ged|in)?\s?(?:in|on)?\s(?:as|with)\s[\w.@-]{{1,40}}\s?(?:/|and|,)\s?{BARE}",
        NAMES,
        _strong_after_option,
        is_name=True,
    ),
    Shape(
        "password",
        "login",
        rf"login\s{{1,8}}\S{{1,80}}\s{{1,8}}password\s{{1,8}}{BARE}",
        0,
        _strong_after_option,
    ),
    *(
        Shape("password", begins, rf"{pattern}{ONE}", NAMES, _strong_after_option, is_name=True)
        for begins, pattern in _BEFORE
    ),
    Shape(
        "token",
        "key",
        r"\bkey(?:\s|\s?[:=]\s?)[\"'`]?(?P<value>[A-Za-z0-9_-]{24,200})(?![\w-])",
        NAMES,
        _pasted_key,
        is_name=True,
    ),
    Shape(
        "token",
        "x-",
        r"(?<![\w-])x-[a-z-]{2,40}[\"']?:\s?[\"']?(?P<value>[\w.=+/-]{20,400})(?![\w-])",
        NAMES,
        _header,
        is_name=True,
    ),
    Shape(
        "pin",
        "pin",
        rf"\bpin(?:\scode)?{_OF_SOMETHING}\s?(?:is|was|:|=)\s?(?P<value>\d{{4,8}})\b",
        NAMES,
        _is_there,
        is_name=True,
    ),
    *(
        Shape(
            "seed-phrase",
            begins,
            rf"{begins}\s?(?:phrase|words)?[\"']?\s?(?:is|:|=)\s?[\"']?"
            rf"(?P<value>{_WORD}(?:\s{_WORD}){{11,23}})\b",
            NAMES,
            _is_there,
            is_name=True,
        )
        for begins in ("seed", "recovery", "mnemonic", "backup")
    ),
    *(
        Shape(
            "password",
            begins,
            rf"{begins}{_OF_SOMETHING}[\"']?\s?(?:is|:|=)\s?[\"']?"
            rf"(?P<value>{words})[\"']?(?=\n|$)",
            NAMES,
            _words_of_phrase,
            is_name=True,
        )
        for begins, words in (
            ("passphrase", rf"{_WORD}(?:[ -]{_WORD}){{3,7}}"),
            ("password", r"[a-z]{4}(?: [a-z]{4}){3}"),  # as one service makes app passwords
        )
    ),
    *(
        Shape(
            "token",
            begins,
            rf"{begins}[_-]?{rest}[\"']?\s?[:=]\s?(?:(?P<quote>[\"'])(?P<inside>[^\n\"'\\]{{8,100}})"
            rf"(?P=quote)|(?P<value>[^\s\"'\\<>]{{8,100}})(?=\n|$))",
            NAMES,
            _chosen,
            is_name=True,
        )
        for begins, rest in _CHOSEN
    ),
)
