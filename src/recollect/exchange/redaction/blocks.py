"""Secrets that are longer than a word: key files, cookies, encoded files, numbers with a check.

Responsible for secrets that a single pattern cannot recognize. Invariant: one pass over the text
for each kind; no part is scanned twice.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from recollect.exchange.redaction import columns, values

Block = tuple[str, int, int]


def found(text: str, small: str) -> Iterator[Block]:
    """Every such secret; ``small`` is the text in lower case."""
    if "PRIVATE KEY" in text:
        yield from _keys(text)
    if "Private-Lines" in text:
        yield from _putty(text)
    yield from _cookies(text, small)
    if "kind" in small and "secret" in small:
        yield from _cluster_secrets(text)
    if "=" in text:
        yield from _parameters(text)
    yield from _long_words(text)
    yield from _rows(text)
    for start, end in columns.found(text, small):
        yield "password", start, end
    yield from _numbers(text, small)


# --- key files

_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# A block up to its end mark, or as many lines of it as there are.
_WHOLE: Final = re.compile(r"(?:[A-Za-z0-9+/=\s\\:,.;()@<>]|-(?!-))*+-----END [A-Z0-9 ]{0,60}-----")
_CUT: Final = re.compile(r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+")
# What a program prints before a line: a line number, a file name, the marks of a quote or a diff.
_LEAD: Final = (
    r"[ \t]{0,12}(?:[\w./-]{1,80}[:-]\d{1,7}[:-]|\d{1,7}[:\t│|\u2192 -]|[+>|#*-]|//|\|)?[ \t]{0,12}"
)
_KEY_LINE: Final = re.compile(
    rf"\n{_LEAD}(?:[A-Za-z0-9+/=]{{1,100}}|[A-Z][\w-]{{1,20}}: [^\n]{{1,80}}|)\r?(?=\n|$)"
)
_LAST_LINE: Final = re.compile(rf"\n{_LEAD}-{{4,5}}-?END [A-Z0-9 ]{{0,60}}-----")
_BODY_LINE: Final = re.compile(rf"{_LEAD}[A-Za-z0-9+/=]{{1,100}}\r?")


def _keys(text: str) -> Iterator[Block]:
    end = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < end:
            continue
        end = _key_end(text, begin.end())
        if end > begin.end():  # a mark alone is not a key
            yield "private-key", begin.start(), end
    before = 0
    for last in _END.finditer(text):
        if last.start() >= end or not _BEGIN.search(text, before, last.start()):
            start = _body_start(text, last.start(), before)
            if start < last.start():
                yield "private-key", start, last.end()
        before = last.end()


def _key_end(text: str, start: int) -> int:
    whole = _WHOLE.match(text, start)
    if whole is not None:
        return whole.end()
    cut = _CUT.match(text, start)
    end = start if cut is None else cut.end()
    place = start
    while (line := _KEY_LINE.match(text, place)) is not None:
        place = line.end()
    closing = _LAST_LINE.match(text, place)
    lines_end = closing.end() if closing else start + len(text[start:place].rstrip())
    return max(end, lines_end)


def _body_start(text: str, end: int, floor: int) -> int:
    """The start of a key's lines if its first line is missing."""
    start = end
    line_end = text.rfind("\n", floor, end)
    has_long = False
    while line_end > floor:
        line = text.rfind("\n", floor, line_end) + 1 or floor
        if not _BODY_LINE.fullmatch(text, line, line_end):
            break
        has_long = has_long or line_end - line >= 40
        start = line
        line_end = line - 1
    return start if has_long else end


_PUTTY: Final = re.compile(r"Private-Lines: \d+\r?\n(?P<value>(?:[A-Za-z0-9+/=]{1,80}\r?\n)*+)")


def _putty(text: str) -> Iterator[Block]:
    for match in _PUTTY.finditer(text):
        if match["value"]:
            yield "private-key", *match.span("value")


# --- cookies and addresses

_COOKIES: Final = re.compile(
    r"(?:cookie[\"']?(?:\s{0,2}[:=]|\s)| -b )\s{0,2}(?P<line>[^\n]{1,4000}+)", re.IGNORECASE
)
_COOKIE: Final = re.compile(r"[\w.-]{1,80}=(?P<value>[^\s;,\"']{12,2000}+)")
_PARAMETER: Final = re.compile(
    r"[?&](?:key|code|auth|token|access_token|id_token|refresh_token|session|sid|apikey|api_key"
    r"|secret|client_secret|private_token|x-amz-security-token|hapikey|ticket|jwt|assertion)"
    r"=(?P<value>[^\s\"'<>&#\\]{16,2000}+)",
    re.IGNORECASE,
)


def _cookies(text: str, small: str) -> Iterator[Block]:
    end = 0
    for begins in ("cookie", " -b "):
        start = small.find(begins)
        while start >= 0:
            header = _COOKIES.match(text, start)
            end = start + 1 if header is None else header.end()
            for pair in _COOKIE.finditer(text, *header.span("line")) if header else ():
                if values.is_opaque(pair["value"]):
                    yield "cookie", *pair.span("value")
            start = small.find(begins, end)


def _parameters(text: str) -> Iterator[Block]:
    for match in _PARAMETER.finditer(text):
        if values.is_token(match["value"], tight=False):
            yield "token", *match.span("value")


# --- secrets of a cluster

_KIND: Final = re.compile(r"kind[\"']?\s{0,3}:\s{0,3}[\"']?Secret\b")
_DATA: Final = re.compile(r"(?:^|[\n{,])[ \t]*[\"']?(?:data|stringData)[\"']?\s{0,3}:")
_ENTRY: Final = re.compile(
    r"[\w.-]{1,80}[\"']?:\s{0,3}[\"']?(?P<value>[A-Za-z0-9+/]{8,8000}+={0,2})[\"']?(?=\s|,|\}|$)"
)
_REACH_CHARS: Final = 8_000


def _cluster_secrets(text: str) -> Iterator[Block]:
    end = nearest = 0
    for kind in _KIND.finditer(text):
        if kind.start() < nearest:
            continue
        nearest = kind.end() + _REACH_CHARS // 8  # so that kinds without data cost little
        data = _DATA.search(text, max(end, kind.start() - _REACH_CHARS), kind.end() + _REACH_CHARS)
        if data is None or data.end() <= end:
            continue
        limit = min(len(text), data.end() + _REACH_CHARS)
        for entry in _ENTRY.finditer(text, data.end(), limit):
            if _decoded(entry["value"]):
                yield "cluster-secret", *entry.span("value")
        end = limit


# --- long words: encoded files, and tokens without a known prefix

_LONG: Final = re.compile(r"[A-Za-z0-9+/_.-]{32,}+={0,2}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{32,}+={0,2}")
_TELLS: Final = re.compile(
    r"PRIVATE KEY-----|(?:pass(?:word|wd)?|secret|token|api_?key)[\"']?\s?[:=]\s?[\"']?"
    r"[^\s\"'<>{}$%]{6}",
    re.IGNORECASE,
)
_TEXT: Final = re.compile(r"\"([A-Za-z0-9+/=_-]{20,400}+)")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_WHOLE_WORDS: Final = (
    (
        "discord-token",
        re.compile(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    ),
    ("mailgun-key", re.compile(r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}")),
    ("azure-token", re.compile(r"[a-z2-7]{52}")),
)


def _long_words(text: str) -> Iterator[Block]:
    for match in _LONG.finditer(text):
        word = match[0].rstrip(".")
        if not word[:1].isalnum() or text[max(0, match.start() - 1) : match.start()].isalnum():
            continue
        start, end = match.start(), match.start() + len(word)
        for kind, pattern in _WHOLE_WORDS:
            if pattern.fullmatch(word) and values.is_credential(word):
                yield kind, start, end
        if _is_encoded_secret(word):
            yield "encoded-secret", start, end


def _is_encoded_secret(word: str) -> bool:
    if word.startswith("eyJ"):  # an object of JSON
        plain = _decoded(word.translate(_URL_SAFE))
        return bool(_TELLS.search(plain)) or any(
            values.is_scrambled(each) and values.is_opaque(each) for each in _TEXT.findall(plain)
        )
    return bool(_BASE64.fullmatch(word) and _TELLS.search(_decoded(word)))


def _decoded(value: str) -> str:
    """The decoded base64 text, or an empty string."""
    try:
        plain = b64decode(
            value if value.endswith("=") else value[: len(value) // 4 * 4], validate=True
        )
    except ValueError:
        return ""
    return (
        plain.decode("ascii")
        if plain and all(c in b"\t\n\r" or 32 <= c < 127 for c in plain)
        else ""
    )


# --- whole lines

_HOST: Final = re.compile(r"[\w.*-]{1,80}")
_PGPASS: Final = re.compile(
    r":(?:\d{4,5}|\*):[A-Za-z*][\w*-]{0,60}:[\w.*@-]{1,60}:(?P<value>\S{6,80})$", re.MULTILINE
)


def _rows(text: str) -> Iterator[Block]:
    for match in _PGPASS.finditer(text):
        line = text.rfind("\n", max(0, match.start() - 90), match.start()) + 1
        if _HOST.fullmatch(text, line, match.start()) and values.is_strong(
            match["value"], values.PASSWORD_MIN_CHARS
        ):
            yield "password", *match.span("value")


# --- numbers with a check digit

_CARD: Final = re.compile(
    r"[3-6](?<![\w.-].)(?:\d{3}([ -])\d{4}\1\d{4}\1\d{4}|[47]\d{2}([ -])\d{6}\2\d{5})(?![\w-])",
    re.ASCII,
)
_BARE_CARD: Final = re.compile(
    r"(?: (?:number|no|nr))?\W{1,4}(?:is )?"
    r"(?P<value>[3-6]\d{14,15})(?!\w)",
    re.ASCII | re.IGNORECASE,
)
_IBAN: Final = re.compile(
    r"[A-Z](?<![\w-].)[A-Z]\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?![\w-])", re.ASCII
)


def _numbers(text: str, small: str) -> Iterator[Block]:
    for match in _CARD.finditer(text):
        if _is_card(match[0]):
            yield "card-number", *match.span()
    for word in ("card", "visa", "amex"):
        place = small.find(word)
        while place >= 0:
            bare = _BARE_CARD.match(text, place + len(word))
            if bare and _is_card(bare["value"]):
                yield "card-number", *bare.span("value")
            place = small.find(word, place + len(word))
    for match in _IBAN.finditer(text):
        if _is_iban(match[0]):
            yield "iban", *match.span()


def _is_card(grouped: str) -> bool:
    """The check digit of payment cards."""
    digits = [int(each) for each in grouped if each.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def _is_iban(grouped: str) -> bool:
    """The check digits of account numbers."""
    plain = grouped.replace(" ", "")
    has_digits = sum(char.isdigit() for char in plain) > 10
    turned = "".join(str(int(char, 36)) for char in plain[4:] + plain[:4])
    return has_digits and int(turned) % 97 == 1
