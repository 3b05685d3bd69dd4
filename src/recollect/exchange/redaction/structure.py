"""Secrets recognized by the structure around them: addresses, headers, key files, numbers.

Responsible for secrets with a structure rather than a name or a prefix. Leaves judging the value to
``values``. Invariant: every repetition is bounded or does not backtrack.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.exchange.redaction import values
from recollect.exchange.redaction.shape import Shape, Span, Take

_NAMES: Final = re.IGNORECASE | re.ASCII
_W: Final = r"[A-Za-z0-9_-]"
_JWT: Final = (  # signed in three parts, or encrypted in five
    rf"(?<![A-Za-z0-9_-])(?P<value>eyJ{_W}{{8,}}+\."
    rf"(?:eyJ{_W}{{8,}}+|{_W}{{16,}}+\.{_W}{{8,}}+\.{_W}{{8,}}+)\.{_W}{{8,}}+)"
)
_JWT_CUT: Final = (
    rf"(?<![A-Za-z0-9_-])(?P<value>eyJ{_W}{{8,}}+\.eyJ{_W}{{8,}}+\n{_W}{{0,}}+\.{_W}{{16,}}+)"
)
_USER: Final = r"://[^\s/:@\"'<>\\]{0,100}"
_INSIDE: Final = r"(?:[^\s\"'<>\\]|(?<=\w)'(?=\w))"
_HOST: Final = r"[\w.-]{1,80}(?::\d|/|\s|$)"
_IN_ADDRESS: Final = rf"{_USER}:(?P<value>(?!\d{{1,5}}[/?#,])[^\s/\"'<>\\]{{3,200}})@(?=[\w.\[-])"
_IN_ODD_ADDRESS: Final = (
    # First whether there is an end at all: the repetition after it is slow, and "://" may repeat.
    rf"{_USER}:(?=[^\s\"<>\\]{{3,80}}@{_HOST})(?P<value>(?!\d{{1,5}}[/?#,]){_INSIDE}{{3,80}})@(?={_HOST})"
)
_ALONE_IN_ADDRESS: Final = r"://(?P<value>[A-Za-z0-9_-]{20,200})@(?=[\w.-])"
_ORACLE: Final = r"jdbc:oracle:[a-z]{1,8}:[\w.-]{1,40}/(?P<value>[^\s/@\"']{3,80})@"
_CREDENTIAL: Final = "[A-Za-z0-9._~+/=-]"
_CREDENTIAL_END: Final = re.compile(f"{_CREDENTIAL}*+")
_AUTHORIZATION: Final = r"(?<![A-Za-z])authorization[\"'\\]{0,3}\s{0,4}[:=]\s{0,4}[\"'\\]{0,3}"
_BEARER: Final = rf"(?<![A-Za-z])bearer\s{{1,4}}(?P<value>{_CREDENTIAL}{{16,}}+)"
_BASIC: Final = rf"{_AUTHORIZATION}basic\s{{1,4}}(?P<value>[A-Za-z0-9+/]{{6,}}+=*)"
_OPAQUE: Final = (
    rf"{_AUTHORIZATION}(?:[A-Za-z][\w-]{{1,20}}\s{{1,4}})?(?P<value>{_CREDENTIAL}{{16,400}}+)"
)
_PAIR: Final = r"_auth\"?\s{0,4}[:=]\s{0,4}\"?(?P<value>[A-Za-z0-9+/]{6,}+=*)"
_DOCKER: Final = r"\"auth\"\s{0,4}:\s{0,4}\"(?P<value>[A-Za-z0-9+/]{6,}+=*)\""
_ELEMENT: Final = r"passw(?:or)?d[\"']?>(?P<value>[^\s<>]{3,200}+)(?=</)"
_ADD: Final = (
    r"key=\"[\w.]{0,40}(?:passw(?:or)?d|secret|token|apikey)\"\s{1,4}"
    r"value=\"(?P<value>[^\"\n]{6,200})\""
)
_SIGNATURE: Final = (
    r"(?:signature|sig)="
    r"(?P<value>(?:[0-9a-fA-F]{64,128}|[A-Za-z0-9+/%_-]{40,120}(?:=|%3D){0,2}))(?![\w])"
)
_WALLET: Final = r"[\"']?[\s:=(\[\"']{1,12}(?:0x)?(?P<value>[0-9a-f]{64})(?![0-9a-z])"
_AWS_FORM: Final = r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
_AWS_NAMED: Final = (
    rf"[\"'`\\\]]{{0,4}}\s{{0,4}}(?::=|=>|->|==|=|:|\bis\b|,|\|)\s{{0,4}}[\"'`\\]{{0,3}}{_AWS_FORM}"
)
_AWS_BESIDE_ID: Final = rf"(?:AKIA|ASIA)[A-Z0-9]{{16}}[\s,|:\"']{{1,8}}{_AWS_FORM}"


def _written_out(match: re.Match[str]) -> Span | None:
    return match.span("value") if values.is_written_out(match["value"]) else None


def _is_scheme(match: re.Match[str], *schemes: str) -> bool:
    return match.string[max(0, match.start() - 8) : match.start()].lower().endswith(schemes)


def _in_address(match: re.Match[str]) -> Span | None:
    """``github://owner:repository@commit`` is an address without a password."""
    return None if _is_scheme(match, "github") else _written_out(match)


def _alone_in_address(match: re.Match[str]) -> Span | None:
    """An address with a user only: with a key login that is a name, elsewhere a token if long."""
    return None if _is_scheme(match, "ssh", "git") else _opaque(match)


def _credential(match: re.Match[str]) -> Span | None:
    return match.span("value") if values.is_credential(match["value"]) else None


def _opaque(match: re.Match[str]) -> Span | None:
    return match.span("value") if values.is_opaque(match["value"]) else None


def _opaque_to_its_end(match: re.Match[str]) -> Span | None:
    """Judged by its beginning, because the name may stand in the value again and again."""
    if not values.is_opaque(match["value"]):
        return None
    rest = _CREDENTIAL_END.match(match.string, match.end("value"))
    return match.start("value"), match.end("value") if rest is None else rest.end()


def _token(match: re.Match[str]) -> Span | None:
    return match.span("value") if values.is_token(match["value"], tight=False) else None


def _password(match: re.Match[str]) -> Span | None:
    is_one = values.is_password(match["value"], tight=False, quoted=True)
    return match.span("value") if is_one else None


def _pair(match: re.Match[str]) -> Span | None:
    return match.span("value") if values.is_pair(match["value"]) else None


def _with_before(count: int) -> Take:
    """The value extended by characters before it, which the pattern has already matched."""

    def take(match: re.Match[str]) -> Span:
        start, end = match.span("value")
        return start - count, end

    return take


def _named(kind: str, begins: str, pattern: str, take: Take | None) -> Shape:
    return Shape(kind, begins, pattern, _NAMES, take, is_name=True)


SHAPES: Final = (
    Shape("telegram-token", ":AA", rf"(?<=\d{{8}})(?P<value>:AA{_W}{{33}})(?!{_W})"),
    Shape("azure-key", "AccountKey=", r"AccountKey=(?P<value>[A-Za-z0-9+/]{86}==)"),
    Shape("azure-key", "SharedAccessKey=", r"SharedAccessKey=(?P<value>[A-Za-z0-9+/]{43}=)"),
    Shape(
        "azure-secret",
        "Q~",
        r"(?<=[\w~.]{3}\d)(?P<value>Q~[\w.~-]{31,34})(?![\w~-])",
        0,
        _with_before(4),
    ),
    Shape(
        "terraform-token",
        ".atlasv1.",
        r"(?<=[A-Za-z0-9]{14})(?P<value>\.atlasv1\.[\w=-]{60,70})",
        0,
        _with_before(14),
    ),
    Shape("mailchimp-key", "-us", r"(?<=[0-9a-f]{32})(?P<value>-us\d{1,2})\b", 0, _with_before(32)),
    Shape("maxmind-key", "_mmk", r"(?<=_[A-Za-z0-9]{29})(?P<value>_mmk)\b", 0, _with_before(30)),
    Shape("twilio-key", "AC", r"AC[0-9a-f]{32}[\"',:;\s]{1,6}(?P<value>[0-9a-f]{32})(?!\w)"),
    Shape("jwt", "eyJ", _JWT),
    Shape("jwt", "eyJ", _JWT_CUT),
    Shape("url-password", "://", _IN_ADDRESS, 0, _in_address),
    Shape("url-password", "://", _IN_ODD_ADDRESS, 0, _in_address),
    Shape("url-password", "://", _ALONE_IN_ADDRESS, 0, _alone_in_address),
    Shape("url-password", "jdbc:oracle:", _ORACLE, 0, _written_out),
    _named(
        "aws-secret-key",
        "secret",
        rf"secret[_ ]?access[_ ]?key(?:[ \w]{{0,20}}\n| \[\S{{0,40}}\])?{_AWS_NAMED}",
        _credential,
    ),
    _named("aws-secret-key", "aws", rf"aws_?secret(?:_?key)?{_AWS_NAMED}", _credential),
    Shape("aws-secret-key", "AKIA", _AWS_BESIDE_ID, 0, _credential),
    Shape("aws-secret-key", "ASIA", _AWS_BESIDE_ID, 0, _credential),
    _named("authorization", "bearer", _BEARER, _credential),
    _named("authorization", "authorization", _BASIC, _pair),
    _named("authorization", "authorization", _OPAQUE, _opaque_to_its_end),
    Shape("authorization", '"auth"', _DOCKER, 0, _pair),
    Shape("authorization", "_auth", _PAIR, 0, _pair),
    _named("password", "passw", _ELEMENT, _written_out),
    _named("password", "key=", _ADD, _password),
    _named("signature", "sig", _SIGNATURE, _credential),
    *(
        _named("wallet-key", begins, rf"{begins}{_WALLET}", None)
        for begins in ("accounts", "wallet", "private-key")
    ),
    _named("ssn", "ssn", r"\bssn\W{1,3}(?P<value>\d{3}-\d\d-\d{4})\b", None),
    _named(
        "ssn",
        "social security",
        r"social security(?: number)?\W{1,4}(?:is )?(?P<value>\d{3}-\d\d-\d{4})\b",
        None,
    ),
)
