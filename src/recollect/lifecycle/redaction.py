"""Secrets that can be told by their shape, found and taken out before anything is hashed.

Responsible for where in a text a secret stands, of which kind it is, and the text without it.
Leaves when to do so to whoever brings text in. Invariants: time grows with the text's length and
nothing else; a redacted text holds nothing more to find; a text without secrets comes back as it
was. Shape is all that is looked at: a secret in plain words ("my dog's name") passes.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from recollect.errors import InvalidInput


class Found(msgspec.Struct, frozen=True):
    """Where a secret stands in a text, and of which kind it is."""

    kind: str
    start: int
    end: int


def find(text: str) -> tuple[Found, ...]:
    """Every secret, in order, none overlapping another.

    Escaped JSON is looked at as it stands and as it reads, so a secret is found whether its
    quotes, slashes and line ends are escaped or not.
    """
    found = list(_scan(text))
    views: list[_View] = []
    while len(views) < _ESCAPES_MAX_DEPTH and "\\" in text:
        view = _unescaped(text)
        if view.text == text:
            break
        views.append(view)
        text = view.text
        found += [_place(each, views) for each in _scan(text)]
    return _apart(found)


def redact(text: str) -> tuple[str, dict[str, int]]:
    """The text with ``[redacted:<kind>]`` for each secret, and how many there were of each kind."""
    counts: Counter[str] = Counter()
    for _ in range(_PASSES_MAX_COUNT):  # what stood beside a secret may look like one without it
        found = find(text)
        if not found:
            break
        text = _without(text, found)
        counts.update(each.kind for each in found)
    return text, dict(sorted(counts.items()))


def refuse_secrets(value: object) -> None:
    """Refuses whatever holds a secret; mappings and lists are walked, names included."""
    kinds = sorted({found.kind for text in _texts(value) for found in find(text)})
    if kinds:
        raise InvalidInput(
            f"this looks like a secret ({', '.join(kinds)}) and was not stored",
            hint="say where it is kept instead of what it is",
        )


def _texts(value: object) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(name)
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


_ESCAPES_MAX_DEPTH: Final = 3  # JSON in JSON in JSON
_PASSES_MAX_COUNT: Final = 8
_MARKER: Final = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")


def _without(text: str, found: tuple[Found, ...]) -> str:
    parts: list[str] = []
    end = 0
    for each in found:
        parts += [text[end : each.start], f"[redacted:{each.kind}]"]
        end = each.end
    return "".join([*parts, text[end:]])


def _apart(found: list[Found]) -> tuple[Found, ...]:
    """Those that overlap become one, named after the first and widest."""
    merged: list[Found] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        last = merged[-1] if merged else None
        if last is None or each.start >= last.end:
            merged.append(each)
        elif each.end > last.end:
            merged[-1] = Found(last.kind, last.start, each.end)
    return tuple(merged)


# --- escaped text


class _View(NamedTuple):
    """A text one level of JSON's escapes further, and where places of it stand in the one before.

    ``here`` has both ends of every escape in this text, ``there`` the same in the text before.
    """

    text: str
    here: list[int]
    there: list[int]


_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_READS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescaped(text: str) -> _View:
    parts: list[str] = []
    here, there = [0], [0]
    end = length = 0
    for escape in _ESCAPE.finditer(text):
        start, letter = escape.start(), escape[2]
        parts.append(text[end:start])
        parts.append(chr(int(escape[1], 16)) if letter is None else _READS.get(letter, letter))
        length += start - end + 1
        end = escape.end()
        here += (length - 1, length)
        there += (start, end)
    return _View("".join([*parts, text[end:]]), here, there)


def _place(found: Found, views: list[_View]) -> Found:
    """What was found in the last view, as it stands in the text before the first."""
    start, end = found.start, found.end
    for view in reversed(views):
        start, end = _before(view, start), _before(view, end)
    return Found(found.kind, start, end)


def _before(view: _View, place: int) -> int:
    nearest = bisect_right(view.here, place) - 1
    return view.there[nearest] + place - view.here[nearest]


# --- shapes


class _Shape(NamedTuple):
    """A secret near a fixed text, which is looked for first because that is fast."""

    kind: str
    begins: str  # where the pattern is tried; small letters find capitals too if it is a name
    pattern: re.Pattern[str]  # its group ``value`` is the secret
    check: Callable[[re.Match[str]], bool] | None = None
    is_name: bool = False
    is_open: bool = False  # the pattern has a bound that the secret need not have


def _scan(text: str) -> Iterator[Found]:
    # The one letter that grows when it is made small would move every place after it.
    small = text.replace("\u0130", "i").lower()
    for shape in _SHAPES:
        yield from _shaped(text, small if shape.is_name else text, shape)
    for match in _CARD.finditer(text):
        if _is_card(match[0]):
            yield Found("card-number", *match.span())


def _shaped(text: str, searched: str, shape: _Shape) -> Iterator[Found]:
    start = searched.find(shape.begins)
    while start >= 0:
        match = shape.pattern.match(text, start)
        after = start + 1
        if match is not None and (shape.check is None or shape.check(match)):
            start, after = match.span("value")
            rest = _REST.match(text, after) if shape.is_open else None
            after = after if rest is None else rest.end()
            yield Found(shape.kind, start, after)
        start = searched.find(shape.begins, after)


def _token(kind: str, begins: str, rest: str, after: str = r"[A-Za-z0-9_]") -> _Shape:
    """A format with a fixed beginning; whole, so not inside a longer word."""
    whole = rf"(?<![A-Za-z0-9])(?P<value>{re.escape(begins)}{rest})(?!{after})"
    return _Shape(kind, begins, re.compile(whole))


def _is_mixed(value: str) -> bool:
    """True unless it is made of words alone, of digits alone, or of very few characters."""
    return bool(_DIGIT.search(value) and _LETTER.search(value)) and len(set(value)) > 4


_DIGIT: Final = re.compile(r"\d+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_W: Final = r"[A-Za-z0-9_-]"  # base64 for addresses
_ALNUM: Final = r"[A-Za-z0-9]"
_JWT: Final = rf"(?<![A-Za-z0-9_-])(?P<value>eyJ{_W}{{8,}}+\.eyJ{_W}{{8,}}+\.{_W}{{8,}}+)"
# A block to its end; without one, the lines of it that are there.
_PEM: Final = (
    r"(?P<value>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[A-Za-z0-9+/=\s\\:,.;()@<>]|-(?!-))*+-----END [A-Z0-9 ]{0,60}-----"
    r"|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+))"
)
_IN_ADDRESS: Final = r"://[^\s/:@\"'<>\\]{0,100}:(?P<value>[^\s/\"'<>\\]{3,200})@(?=[\w.\[-])"


def _is_no_stand_in(value: str) -> bool:
    """False for what stands in a text instead of a secret: a variable, a word for it, stars."""
    if value.startswith(("$", "{", "<", "%", "[redacted", "(", "…")) or _MARKER.search(value):
        return False
    bare = value.strip("*.xX_-#•?").lower()
    return len(set(bare)) > 1 and bare not in _STAND_INS


_STAND_INS: Final = frozenset(
    "password passwd pass pwd secret token key apikey api_key api-key changeme change-me "
    "your-password your_password yourpassword mypassword my-password my_password example none "
    "null true false string redacted hidden placeholder undefined".split()
)


# --- secrets by their name

_IS: Final = r"[\"'`\\\]]{0,4}\s{0,4}(?::=|=>|->|==|=|:|\bis\b|\bwas\b)\s{0,4}[\"'`\\]{0,3}"
_RUN: Final = r"[^\s\"'`\\<>(){},;]"
_SLASH: Final = r"\\(?![\"'`\\/bfnrtu])"  # one that escapes nothing
# Bounded, because a name may stand before every other word; what is a secret goes to its end.
_VALUE: Final = rf"(?P<value>{_RUN}{{1,100}}+(?:{_SLASH}{_RUN}{{1,100}}+){{0,3}})"
_REST: Final = re.compile(rf"(?:{_RUN}++|{_SLASH})*+")
# Between quotes a value may hold what would end it elsewhere.
_IN_QUOTES: Final = r"(?<=[\"'`])(?P<value>[^\s\"'`\\]{1,200}+)(?=[\"'`])"
_OF_SOMETHING: Final = r"(?:\s(?:for|of|to|on)(?:\s(?:the|our|my))?\s[\w.@-]{1,40})?"
_PASSWORD_MIN_CHARS: Final = 6
_TOKEN_MIN_CHARS: Final = 16
_AWS_FORM: Final = r"(?P<value>[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=]))"
_BEARER: Final = r"(?<![A-Za-z])bearer\s{1,4}(?P<value>[A-Za-z0-9._~+/=-]{16,}+)"
_AUTHORIZATION: Final = r"authorization[\"'\\]{0,3}\s{0,4}[:=]\s{0,4}[\"'\\]{0,3}"
_TOKEN: Final = rf"{_AUTHORIZATION}token\s{{1,4}}(?P<value>[A-Za-z0-9._~+/=-]{{16,}}+)"
_BASIC: Final = rf"{_AUTHORIZATION}basic\s{{1,4}}(?P<value>[A-Za-z0-9+/]{{6,}}+=*)"
_DOCKER: Final = r"\"auth\"\s{0,4}:\s{0,4}\"(?P<value>[A-Za-z0-9+/]{6,}+=*)\""
_ELEMENT: Final = r"passw(?:or)?d>(?P<value>[^\s<>]{3,200}+)(?=</)"
_CURL: Final = r"(?<=\s)-(?:u|-user)[\s=]{1,2}[\"'`]?[\w.@+-]{1,64}:"
_NAMES: Final = re.IGNORECASE | re.ASCII


def _named(
    kind: str,
    begins: str,
    rest: str,
    check: Callable[[re.Match[str]], bool],
    value: str = _VALUE,
) -> _Shape:
    """A secret that is told by the name before it."""
    pattern = re.compile(rf"{begins}{rest}{_IS}{value}(?P<next>[(\[]?)", _NAMES)
    return _Shape(kind, begins, pattern, check, is_name=True, is_open=value is _VALUE)


def _option(kind: str, begins: str, rest: str, check: Callable[[re.Match[str]], bool]) -> _Shape:
    """A secret that follows an option of a command, with only a blank between the two."""
    pattern = rf"(?<=[\w-]){begins}{rest}\s{{1,4}}[\"'`]?(?!-){_VALUE}(?P<next>[(\[]?)"
    return _Shape(kind, begins, re.compile(pattern, _NAMES), check, is_name=True, is_open=True)


_DOTTED: Final = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|->|::|/)[A-Za-z_][A-Za-z0-9_]*|\[[\w.:-]*\]?)+", re.ASCII
)
_WORDS: Final = re.compile(r"[A-Za-z]{2,}[0-9]{0,2}(?:[_-][A-Za-z]{2,}[0-9]{0,2})+")


def _is_strong(value: str, at_least: int) -> bool:
    """A value that somebody made up, rather than a word, a name in a program or a number."""
    return (
        len(value) >= at_least
        and _is_mixed(value)
        and _is_no_stand_in(value)
        and not _DOTTED.fullmatch(value)
        and not _WORDS.fullmatch(value)
        and "://" not in value
    )


def _is_password(match: re.Match[str]) -> bool:
    return not match["next"] and _is_strong(match["value"], _PASSWORD_MIN_CHARS)


def _is_token(match: re.Match[str]) -> bool:
    value = match["value"]
    has_digits_apart = len(_DIGIT.findall(value)) > 1
    return not match["next"] and has_digits_apart and _is_strong(value, _TOKEN_MIN_CHARS)


def _is_written_out(match: re.Match[str]) -> bool:
    return _is_no_stand_in(match["value"])


def _is_credential(match: re.Match[str]) -> bool:
    return _is_mixed(match["value"]) and _is_no_stand_in(match["value"])


def _is_pair(match: re.Match[str]) -> bool:
    """A name and a password, as base64."""
    try:
        return b":" in b64decode(match["value"], validate=True)
    except ValueError:
        return False


_PASSWORDS: Final = (
    ("passw", rf"(?:or)?d{_OF_SOMETHING}"),
    ("passphrase", _OF_SOMETHING),
    ("passcode", _OF_SOMETHING),
    ("pwd", ""),
    ("_pass", ""),
)
_TOKENS: Final = (
    ("secret", r"(?:[ _-]?(?:key|token))?"),
    ("token", _OF_SOMETHING),
    ("api", rf"[ _-]?key{_OF_SOMETHING}"),
    ("access", r"[ _-]?key"),
    ("credential", "s?"),
)

_SHAPES: Final = (
    *(
        _token("aws-access-key", begins, r"[A-Z0-9]{16}")
        for begins in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    *(
        _token("github-token", begins, rf"{_ALNUM}{{36,255}}")
        for begins in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")
    ),
    _token("github-token", "github_pat_", r"[A-Za-z0-9_]{40,255}"),
    *(
        _token("gitlab-token", begins, rf"{_W}{{20,}}+")
        for begins in ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glagent-", "glsoat-")
    ),
    _token("slack-token", "xox", r"[abceoprs](?:\.xox[bp])?-(?=[a-z-]*\d)[A-Za-z0-9-]{10,}+"),
    _token("slack-token", "xapp-", r"\d-[A-Za-z0-9-]{20,}+"),
    _token("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,}+"),
    *(
        _token("stripe-key", begins, rf"{_ALNUM}{{16,}}+")
        for begins in ("sk_live_", "sk_test_", "rk_live_", "rk_test_")
    ),
    _token("stripe-key", "whsec_", r"[A-Za-z0-9+/]{24,}+=*"),
    _token("anthropic-key", "sk-ant-", rf"{_W}{{24,}}+"),
    _token("openai-key", "sk-", rf"(?:proj|svcacct|admin|or-v1)-{_W}{{20,}}+"),
    _token("openai-key", "sk-", rf"{_ALNUM}{{32,}}+"),
    _token("google-api-key", "AIza", rf"{_W}{{35}}", after=_W),
    _token("google-token", "ya29.", rf"{_W}{{20,}}+"),
    _token("google-token", "GOCSPX-", rf"{_W}{{28}}", after=_W),
    _token("npm-token", "npm_", rf"{_ALNUM}{{36}}"),
    _token("pypi-token", "pypi-", rf"{_W}{{50,}}+"),
    _token("sendgrid-key", "SG.", rf"{_W}{{22}}\.{_W}{{43}}", after=_W),
    _token("twilio-key", "SK", r"[0-9a-f]{32}"),
    _token("mailgun-key", "key-", r"[0-9a-f]{32}"),
    _token("digitalocean-token", "do", r"[opr]_v1_[0-9a-f]{64}"),
    _token("huggingface-token", "hf_", rf"{_ALNUM}{{34,}}+"),
    _token("databricks-token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    _token("shopify-token", "shp", r"(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _token("linear-key", "lin_api_", rf"{_ALNUM}{{32,}}+"),
    _token("notion-token", "ntn_", rf"{_ALNUM}{{40,}}+"),
    _token("vault-token", "hvs.", rf"{_W}{{24,}}+"),
    _token("vault-token", "hvb.", rf"{_W}{{24,}}+"),
    _token(
        "doppler-token",
        "dp.",
        rf"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_ALNUM}{{40,44}}",
    ),
    _token("atlassian-token", "ATATT3", r"[A-Za-z0-9_=-]{60,}+"),
    _token("age-key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    _token("groq-key", "gsk_", rf"{_ALNUM}{{40,}}+"),
    _token("xai-key", "xai-", rf"{_ALNUM}{{60,}}+"),
    _token("perplexity-key", "pplx-", rf"{_ALNUM}{{40,}}+"),
    _token("replicate-token", "r8_", rf"{_ALNUM}{{37}}"),
    _token("docker-token", "dckr_pat_", rf"{_W}{{27,}}+"),
    _token("newrelic-key", "NRAK-", r"[A-Z0-9]{27}"),
    _token("grafana-token", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    _token("grafana-token", "glc_", r"[A-Za-z0-9+/]{32,}+=*"),
    _token("sentry-token", "sntry", r"[su]_[A-Za-z0-9+/=_-]{40,}+"),
    _token("planetscale-token", "pscale_", r"(?:tkn|pw|oauth)_[\w.=-]{32,}+"),
    _token("supabase-key", "sbp_", r"[0-9a-f]{40}"),
    _token("supabase-key", "sb_secret_", rf"{_W}{{20,}}+"),
    _token("discord-webhook", "discord.com/api/webhooks/", rf"\d{{17,20}}/{_W}{{60,}}+"),
    _token("recollect-token", "rct_", rf"{_W}{{43}}", after=_W),
    _Shape("telegram-token", ":AA", re.compile(rf"(?<=\d{{8}})(?P<value>:AA{_W}{{33}})(?!{_W})")),
    _Shape(
        "azure-key",
        "AccountKey=",
        re.compile(r"AccountKey=(?P<value>[A-Za-z0-9+/]{86}==)"),
    ),
    _Shape("jwt", "eyJ", re.compile(_JWT)),
    _Shape("private-key", "-----BEGIN ", re.compile(_PEM)),
    _Shape("url-password", "://", re.compile(_IN_ADDRESS), _is_written_out),
    *(
        _named("aws-secret-key", begins, rest, _is_credential, _AWS_FORM)
        for begins, rest in (("secret", r"_?access_?key"), ("aws", r"_?secret(?:_?key)?"))
    ),
    _Shape("authorization", "bearer", re.compile(_BEARER, _NAMES), _is_credential, is_name=True),
    _Shape("authorization", "authorization", re.compile(_TOKEN, _NAMES), _is_credential, True),
    _Shape("authorization", "authorization", re.compile(_BASIC, _NAMES), _is_pair, True),
    _Shape("authorization", '"auth"', re.compile(_DOCKER), _is_pair),
    _Shape("password", "passw", re.compile(_ELEMENT, _NAMES), _is_written_out, is_name=True),
    *(
        _Shape("password", begins, re.compile(rf"{_CURL}{_VALUE}(?P<next>[(\[]?)"), _is_password)
        for begins in ("-u", "--user")
    ),
    *(
        _named("password", begins, rest, _is_password, value)
        for begins, rest in _PASSWORDS
        for value in (_VALUE, _IN_QUOTES)
    ),
    *(
        _named("token", begins, rest, _is_token, value)
        for begins, rest in _TOKENS
        for value in (_VALUE, _IN_QUOTES)
    ),
    _option("password", "-passw", "(?:or)?d", _is_password),
    _option("token", "-token", "", _is_token),
    *(_option("token", f"{what}-key", "", _is_token) for what in ("api", "access", "secret")),
    _option("token", "-secret", "", _is_token),
)


# --- cards

_CARD: Final = re.compile(
    r"(?<![\w.-])(?:[3-6]\d{3}([ -])\d{4}\1\d{4}\1\d{4}|3[47]\d{2}([ -])\d{6}\2\d{5})(?![\w-])",
    re.ASCII,
)


def _is_card(grouped: str) -> bool:
    """The check digit of payment cards."""
    digits = [int(each) for each in grouped if each.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
