"""Secrets that are told by the name before them: assignments, options, sentences.

Responsible for names of secrets in programs, files, commands and sentences of several languages,
and for how far the value after one goes. Leaves whether it is a secret to ``values``. Invariant:
every repetition has a bound, so that a name before every other word costs no more than its length.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.lifecycle.redaction import values
from recollect.lifecycle.redaction.shape import Shape, Span, Take

NAMES: Final = re.IGNORECASE | re.ASCII
_ANY: Final = re.IGNORECASE
_IS: Final = (
    r"[\"'`\\\]*]{0,4}\s{0,4}"
    r"(?P<is>:=|=>|->|==|=|:|\uff1a|\uff1d|\bis\b|\bwas\b|\blautet\b|\bist\b|\best\b|\bes\b"
    r"|\bè\b|\bé\b|'s\b|\bto\b|は|는|은|(?<=[\"']),(?=\s{0,2}[\"']))"
    r"(?P<gap>\s{0,4}(?:\\\n\s{0,8})?)(?:[brufBRUF]{1,2}(?=[\"']))?"
)
_RUN: Final = r"[^\s\"'`\\<>]"
_SLASH: Final = r"\\(?![\"'`\\/bfnrtu])"  # one that escapes nothing
# Bounded, because a name may stand before every other word; what is a secret goes to its end.
_BARE: Final = rf"[\"'`\\]{{0,3}}(?P<value>{_RUN}{{1,100}}+(?:{_SLASH}{_RUN}{{1,100}}+){{0,3}})"
_REST: Final = re.compile(rf"(?:{_RUN}++|{_SLASH})*+")
# Between quotes a value may hold what would end it elsewhere.
_QUOTED: Final = r"(?P<quote>[\"'`])(?P<inside>[^\n\"'`\\]{1,200}+)(?P=quote)"
_OF_SOMETHING: Final = r"(?:\s(?:for|of|to|on)(?:\s(?:the|our|my))?(?:\s[\w.@-]{1,40}){1,2}?)?"
_ENDS: Final = re.compile(r"[;,&](?=[\w.-]{1,40}[=:]|$)")
_CLOSERS: Final = {")": "(", "]": "[", "}": "{"}


def _bare(match: re.Match[str]) -> tuple[int, str]:
    """Where a value without quotes begins, and the value without what closes the line around it."""
    value = match["value"]
    end = _ENDS.search(value)
    value = value if end is None else value[: end.start()]
    while value and (
        value[-1] in ".,;:" or (value[-1] in _CLOSERS and _CLOSERS[value[-1]] not in value)
    ):
        value = value[:-1]
    return match.start("value"), value


def _to_its_end(match: re.Match[str], start: int, value: str) -> Span:
    """A value that reached its bound goes on as far as its characters do."""
    end = start + len(value)
    if end == match.end("value"):
        rest = _REST.match(match.string, end)
        end = end if rest is None else rest.end()
    return start, end


def _is_tight(match: re.Match[str], end: int) -> bool:
    """``NAME=value``, and then a blank, a line's end or the next pair."""
    follows = match.string[end : end + 1]
    return (
        match["is"] in ("=", ":=")
        and not match["gap"]
        and follows in ("", "\n", " ", "\t", "&", ";", "\r", "\\")
    )


def _is_alone(match: re.Match[str], end: int) -> bool:
    """``name: value`` as the whole of a line, as settings are written."""
    line = match.string.rfind("\n", max(0, match.start() - 80), match.start()) + 1
    before = match.string[line : match.start()]
    follows = match.string[end : end + 1]
    return (
        match["is"] in (":", "=")
        and follows in ("", "\n", "\r")
        and len(before) < 60
        and all(char.isalnum() or char in " \t_-.+>#|/" for char in before)
        and not before[-1:].isspace() | (len(before.split()) > 1)
    )


def _password(match: re.Match[str]) -> Span | None:
    if match["quote"]:
        inside = match["inside"]
        if match["is"] == "," and not values.is_scrambled(inside):
            return None  # two words of a list
        is_one = (
            values.is_phrase(inside)
            if " " in inside
            else values.is_password(inside, tight=False, quoted=True)
        )
        return match.span("inside") if is_one else None
    start, value = _bare(match)
    tight = _is_tight(match, start + len(value)) or _is_alone(match, start + len(value))
    if values.is_password(value, tight=tight, quoted=False):
        return _to_its_end(match, start, value)
    return None


def _token(match: re.Match[str]) -> Span | None:
    name = match["name"]
    if _is_qualified(match):
        return None
    if match["quote"]:
        inside = match["inside"]
        if match["is"] == "," and not values.is_scrambled(inside):
            return None
        is_one = " " not in inside and values.is_token(inside, tight=name.isupper(), quoted=True)
        return match.span("inside") if is_one else None
    start, value = _bare(match)
    end = start + len(value)
    is_setting = name.isupper() and (_is_tight(match, end) or _is_alone(match, end))
    tight = is_setting or name.lower().startswith("_auth")
    return _to_its_end(match, start, value) if values.is_token(value, tight=tight) else None


def _is_qualified(match: re.Match[str]) -> bool:
    """``Some::Type::ApiKey``: the name of a type, whose value is no key."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    return "::" in before.rpartition(" ")[2]


def _strong_after_option(match: re.Match[str]) -> Span | None:
    start, value = _bare(match)
    if values.is_strong(value, values.PASSWORD_MIN_CHARS):
        return _to_its_end(match, start, value)
    return None


def _token_after_option(match: re.Match[str]) -> Span | None:
    start, value = _bare(match)
    return _to_its_end(match, start, value) if values.is_token(value, tight=False) else None


def _words_of_phrase(match: re.Match[str]) -> Span | None:
    """Words that mean nothing together."""
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


# A name's beginning in small letters, what follows it, and how its value is judged.
_PASSWORDS: Final = (
    ("passw", rf"(?:or)?(?:d|t){_OF_SOMETHING}"),
    ("passphrase", _OF_SOMETHING),
    ("passcode", _OF_SOMETHING),
    ("pwd", ""),
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
# Tokens that open nothing: where a list goes on, that a request is the same one.
_NOT_AFTER: Final = "".join(
    f"(?<!{word})"
    for word in (
        *("page", "page_", "next", "next_", "ation", "ation_", "ency ", "ency_", "ency-", "cache"),
        *("public", "public_", "public-", "public ", "publickey", "public_key_", "sync", "sync_"),
    )
)


def _named(kind: str, begins: str, rest: str, take: Take) -> Shape:
    guard = _NOT_AFTER if kind == "token" else ""
    pattern = rf"{guard}(?P<name>{begins}{rest}){_IS}(?:{_QUOTED}|{_BARE})"
    return Shape(kind, begins, pattern, _ANY, take, is_name=True)


def _option(kind: str, begins: str, rest: str, take: Take) -> Shape:
    """A secret that follows an option of a command, with only a blank between the two."""
    pattern = rf"(?<=[\w-]){begins}{rest}(?:\s{{1,4}}|\s{{0,4}}\\\n\s{{0,8}})(?!-){_BARE}"
    return Shape(kind, begins, pattern, NAMES, take, is_name=True)


# A command, and the option that its password follows.
_COMMANDS: Final = (
    ("mysql", r"\s-p"),
    ("mariadb", r"\s-p"),
    ("sshpass", r"\s-p\s{0,2}"),
    ("mongo", r"\s-p\s{0,2}"),
    ("docker login", r"\s-p\s{0,2}"),
    ("podman login", r"\s-p\s{0,2}"),
    ("helm registry login", r"\s-p\s{0,2}"),
    ("redis-cli", r"\s-a\s{0,2}"),
    ("ldap", r"\s-w\s{0,2}"),
    ("htpasswd -", r"b\s\S{1,80}\s\S{1,60}\s"),
    ("keytool", r"\s-(?:store|key)pass\s"),
    ("openssl", r"\s(?:-pass(?:in|out)?\s)?pass:"),
    ("7z", r"\s-p"),
    ("zip", r"\s-P\s{0,2}"),
    ("az login", r"\s-p\s{0,2}"),
    ("smbclient", r"\s-U\s\S{1,60}%"),
    ("oc login", r"\s-p\s{0,2}"),
    ("rdesktop", r"\s-p\s{0,2}"),
    ("xfreerdp", r"\s/p:"),
    ("sqlcmd", r"\s-P\s{0,2}"),
    ("clickhouse", r"\s--password\s"),
    ("net use", r"\s/user:\S{1,60}\s"),
    ("ncftp", r"\s-p\s{0,2}"),
    ("lftp", r"\s-u\s\S{1,60},"),
    ("cqlsh", r"\s-p\s{0,2}"),
    ("mosquitto", r"\s-P\s{0,2}"),
    ("snowsql", r"\s-p\s{0,2}"),
    ("ansible", r"\s-e\s\S{0,40}pass\w{0,8}="),
    ("chpasswd", r"\s<<<\s{0,2}\S{1,40}:"),
    ("vncpasswd", r"\s-f\s{0,2}"),
    ("unzip", r"\s-P\s{0,2}"),
    ("pdftk", r"\suser_pw\s"),
    ("qpdf", r"\s--password="),
    ("restic", r"\s--password\s"),
)


def _after_user(match: re.Match[str]) -> Span | None:
    """``-u name:password`` of a command that fetches; a group's name after a number is none."""
    start, value = _bare(match)
    is_one = values.is_password(value, tight=match["command"] is not None, quoted=False)
    return _to_its_end(match, start, value) if is_one else None


def _after_command(match: re.Match[str]) -> Span | None:
    start, value = _bare(match)
    is_one = values.is_password(value, tight=True, quoted=False)
    return _to_its_end(match, start, value) if is_one else None


def _before_its_name(match: re.Match[str]) -> Span | None:
    """``use VALUE as the password``."""
    value = match["value"]
    is_one = values.is_strong(value, values.PASSWORD_MIN_CHARS)
    return match.span("value") if is_one else None


def _setting(match: re.Match[str]) -> Span | None:
    """A variable that a command sets, with a blank for a sign."""
    start, value = _bare(match)
    is_one = values.is_strong(value, 8)
    return _to_its_end(match, start, value) if is_one else None


def _pasted_key(match: re.Match[str]) -> Span | None:
    """``use the key VALUE``; a hash has no capitals."""
    value = match["value"]
    is_one = value.lower() != value and values.is_opaque(value)
    return match.span("value") if is_one else None


def _header(match: re.Match[str]) -> Span | None:
    """What a header of a program's own says about who asks."""
    value = match["value"]
    name = match[0][: match.start("value") - match.start()].lower()
    is_telling = any(word in name for word in ("key", "token", "auth", "team", "secret", "api"))
    return match.span("value") if is_telling and values.is_token(value, tight=True) else None


def _is_there(match: re.Match[str]) -> Span | None:
    return match.span("value")


_ONE: Final = r"[\"'`]?(?P<value>[^\s\"'`\\<>]{1,100}+)"
_WORD: Final = r"[a-z]{3,10}"
# What stands before a password with a blank between the two.
_BEFORE: Final = (
    ("identified by", r"identified by\s{1,2}"),
    ("password '", r"password\s"),
    ("requirepass", r"requirepass\s"),
    ("masterauth", r"masterauth\s"),
    ("user ", r"user \S{1,40} on >"),
    ("psk", r"\bpsk[\s:=]{1,3}"),
    ("securestring", r"securestring\s(?:-string\s)?"),
    ("net user", r"net user \S{1,40} "),
    ("config set", r"config set \S{0,60}(?:key|token|secret|password)\S{0,20}\s"),
    ("creds", r"creds?\s?[:=]\s?\S{1,40}\s?/\s?"),
    ("credentials", r"credentials\s?[:=]\s?\S{1,40}\s?/\s?"),
    ("auth", r"auth[\w-]{0,20}\s?:\s?\S{1,40}\s/\s"),
)

SHAPES: Final = (
    *(_named("password", begins, rest, _password) for begins, rest in _PASSWORDS),
    *(_named("token", begins, rest, _token) for begins, rest in _TOKENS),
    *(
        Shape(
            "password",
            begins,
            rf"(?:(?P<command>curl|wget|http)[^\n]{{0,120}}?)?(?<=\s)-(?:u|-user|-proxy-user)"
            rf"[\s=]{{0,2}}[\"'`]?[\w.@+-]{{1,64}}:{_BARE}",
            0,
            _after_user,
        )
        for begins in ("curl", "wget", "-u", "--user", "--proxy-user")
    ),
    *(
        Shape("password", command, rf"{command}[^\n]{{0,120}}?{option}{_ONE}", 0, _after_command)
        for command, option in _COMMANDS
    ),
    _option("password", "-passw", "(?:or)?d", _strong_after_option),
    _option("token", "-token", "", _token_after_option),
    *(
        _option("token", f"{what}-key", "", _token_after_option)
        for what in ("api", "access", "secret")
    ),
    _option("token", "-secret", "", _token_after_option),
    Shape(
        "token",
        "authtoken",
        rf"authtoken\s{{1,4}}{_BARE}",
        NAMES,
        _token_after_option,
        is_name=True,
    ),
    Shape("token", "auth", r"\bauth\s(?P<value>[0-9a-f]{32})\b", NAMES, _is_there, is_name=True),
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
        rf"log(?:ged|in)?\s?(?:in|on)?\s(?:as|with)\s[\w.@-]{{1,40}}\s?(?:/|and|,)\s?{_BARE}",
        NAMES,
        _strong_after_option,
        is_name=True,
    ),
    Shape(
        "password",
        "login",
        rf"login\s{{1,8}}\S{{1,80}}\s{{1,8}}password\s{{1,8}}{_BARE}",
        0,
        _strong_after_option,
    ),
    *(
        Shape(
            "password",
            begins,
            rf"{begins}\s{{1,2}}(?:-\w{{1,3}}\s)?[\"']?[A-Z0-9_]{{0,40}}"
            rf"(?:PASS|PASSWORD|PASSWD|PWD|SECRET|TOKEN|KEY)\w{{0,8}}[\"']?\s{{1,2}}{_BARE}",
            0,
            _setting,
        )
        for begins in ("set", "setx", "setenv", "ENV")
    ),
    *(
        Shape("password", begins, rf"{pattern}{_ONE}", NAMES, _strong_after_option, is_name=True)
        for begins, pattern in _BEFORE
    ),
    Shape(
        "token",
        "key ",
        r"\bkey\s[\"'`]?(?P<value>[A-Za-z0-9_-]{24,200})(?![\w-])",
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
        r"\bpin(?:\scode)?\s?(?:is|was|:|=)\s?(?P<value>\d{4,8})\b",
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
    Shape(
        "password",
        "passphrase",
        rf"passphrase[\"']?\s?(?:is|:|=)\s?[\"']?"
        rf"(?P<value>{_WORD}(?:[ -]{_WORD}){{3,7}})[\"']?(?=\n|$)",
        NAMES,
        _words_of_phrase,
        is_name=True,
    ),
)
