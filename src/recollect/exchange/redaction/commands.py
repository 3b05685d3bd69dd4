"""Secrets in command lines: after an option, in a pipe, and in a command's output.

Responsible for which commands take a secret where. Leaves judging the value to ``values``.
Invariant: every repetition has a bound.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.exchange.redaction import values
from recollect.exchange.redaction.extent import BARE, ONE, bare, to_its_end
from recollect.exchange.redaction.shape import Shape, Span, Take

_ANY_CASE: Final = re.IGNORECASE | re.ASCII


def _option(kind: str, begins: str, rest: str, take: Take) -> Shape:
    """A secret after an option of a command, separated by a space."""
    pattern = rf"(?<=[\w-]){begins}{rest}(?:\s{{1,4}}|\s{{0,4}}\\\n\s{{0,8}})(?!-){BARE}"
    return Shape(kind, begins, pattern, _ANY_CASE, take, is_name=True)


# A command, and the option before its password.
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
    ("htpasswd -", r"\w{0,4}b\w{0,4}\s\S{1,80}\s\S{1,60}\s"),
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
    ("net use", r"\s\\\\\S{1,80}\s(?!/)"),
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
# Commands that read a secret from a pipe.
_READERS: Final = (
    r"(?:sudo\s-\w{0,2}S|[\w./: -]{0,60}"
    r"(?:passwd|-stdin|--with-token|cryptsetup|secret set|secret put|kinit))"
)
# Commands that store a secret, and the option before it.
_STORES: Final = (
    ("secret", r"secrets?\s(?:set|put|create|add)\b[^\n]{0,120}?\s(?:--body|--value|-b)[\s=]"),
    ("--secret-string", r"--secret-string[\s=]"),
    ("--from-literal", r"--from-literal=[\w.-]{1,60}="),
    ("put-parameter", r"put-parameter\b[^\n]{0,120}?\s--value[\s=]"),
)
# Commands that print a secret on the next line.
_ANSWERS: Final = (
    ("secret", r"secrets?\b[^\n]{0,200}base64\s{1,2}(?:-d|-D|--decode)\b[^\n]{0,20}"),
    ("openssl rand", r"openssl rand\s[^\n]{1,40}"),
    ("pwgen", r"pwgen\b[^\n]{0,40}"),
    ("print-access-token", r"print-access-token\b[^\n]{0,40}"),
    ("get-login-password", r"get-login-password\b[^\n]{0,60}"),
    ("auth:token", r"auth:token\b[^\n]{0,60}"),
    ("auth token", r"auth token\b[^\n]{0,60}"),
)


def _after_user(match: re.Match[str]) -> Span | None:
    """``-u name:password`` of a download command; ``-u 1000:group`` is not a password."""
    start, value = bare(match)
    is_one = values.is_password(value, tight=match["command"] is not None, quoted=False)
    return to_its_end(match, start, value) if is_one else None


def _after_command(match: re.Match[str]) -> Span | None:
    start, value = bare(match)
    is_one = values.is_password(value, tight=True, quoted=False)
    return to_its_end(match, start, value) if is_one else None


def _setting(match: re.Match[str]) -> Span | None:
    """A variable that a command sets, separated by a space instead of ``=``."""
    start, value = bare(match)
    is_one = values.is_strong(value, 8)
    return to_its_end(match, start, value) if is_one else None


def _strong_after_option(match: re.Match[str]) -> Span | None:
    start, value = bare(match)
    if values.is_strong(value, values.PASSWORD_MIN_CHARS):
        return to_its_end(match, start, value)
    return None


def _token_after_option(match: re.Match[str]) -> Span | None:
    start, value = bare(match)
    return to_its_end(match, start, value) if values.is_token(value, tight=False) else None


def _piped(match: re.Match[str]) -> Span | None:
    """``echo VALUE | command``; the part before a colon is a user name."""
    start, end = match.span("value")
    value = match["value"]
    user, colon, rest = value.partition(":")
    if colon and "chpasswd" in match[0]:
        start, value = start + len(user) + 1, rest
    is_one = values.is_password(value, tight=True, quoted=True)
    return (start, end) if is_one else None


def _stored(match: re.Match[str]) -> Span | None:
    start, value = bare(match)
    is_one = values.is_password(value, tight=True, quoted=False)
    return to_its_end(match, start, value) if is_one else None


def _answered(match: re.Match[str]) -> Span | None:
    """One word alone on its line."""
    return match.span("value") if values.is_mixed(match["value"]) else None


def _is_there(match: re.Match[str]) -> Span | None:
    return match.span("value")


_UUID: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

SHAPES: Final = (
    *(
        Shape(
            "password",
            begins,
            rf"(?:(?P<command>curl|wget|http)[^\n]{{0,120}}?)?(?<=\s)-(?:u|-user|-proxy-user)"
            rf"[\s=]{{0,2}}[\"'`]?[\w.@+-]{{1,64}}:{BARE}",
            0,
            _after_user,
        )
        for begins in ("curl", "wget", "-u", "--user", "--proxy-user")
    ),
    *(
        Shape("password", command, rf"{command}[^\n]{{0,120}}?{option}{ONE}", 0, _after_command)
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
        rf"authtoken\s{{1,4}}{BARE}",
        _ANY_CASE,
        _token_after_option,
        is_name=True,
    ),
    *(
        Shape(
            "password",
            begins,
            rf"{begins}\s{{1,2}}(?:-\w{{1,3}}\s)?[\"']?[A-Z0-9_]{{0,40}}"
            rf"(?:PASS|PASSWORD|PASSWD|PWD|SECRET|TOKEN|KEY)\w{{0,8}}[\"']?\s{{1,2}}{BARE}",
            0,
            _setting,
        )
        for begins in ("set", "setx", "setenv", "ENV")
    ),
    *(
        Shape(
            "password",
            f"{begins} ",
            rf"\b{begins}\s(?:-n\s|[\"']%s(?:\\n)?[\"']\s)?[\"']?"
            rf"(?P<value>[^\s\"'|]{{6,200}}+)[\"']?\s?\|\s?{_READERS}",
            0,
            _piped,
        )
        for begins in ("echo", "printf")
    ),
    *(
        Shape("token", begins, rf"{pattern}{BARE}", _ANY_CASE, _stored, is_name=True)
        for begins, pattern in _STORES
    ),
    *(
        Shape(
            "token",
            begins,
            rf"{pattern}\r?\n(?P<value>[\w.+/=~%!@#$^&*-]{{8,4000}}+)(?=\r?\n|$)",
            _ANY_CASE,
            _answered,
            is_name=True,
        )
        for begins, pattern in _ANSWERS
    ),
    *(
        Shape("token", begins, rf"\b{begins}\s(?P<value>[0-9a-f]{{32,64}}|{_UUID})\b", 0, _is_there)
        for begins in ("auth", "login")
    ),
)
