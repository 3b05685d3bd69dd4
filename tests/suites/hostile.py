"""Texts that are made to cost more than their length, and plain texts to compare them with.

Responsible for random texts from pieces that some step may find expensive, each of so many bytes.
Leaves running calls on them to the suites. Invariant: the same seed gives the same texts.
"""

from __future__ import annotations

import random
import unicodedata
from functools import cache
from typing import Final

# Each piece stands for a step that may be slow: what normalises, splits, marks, redacts or packs.
PIECES: Final = (
    *("\ufdfa", "\ufdfa ", "\ufdfb", "\u3316", "\u33ff", "\u00bd", "\u2026", "\u0132", "\uff21"),
    *("\u0301", "\u0301\u0316", "e\u0301\u0327 ", "\u0344", "\u0345", "\u0130", "\u1e9e", "\uac00"),
    *("\U0001f468\u200d", "\U0001f468\u200d\U0001f469\u200d", "\U0001f1e6\U0001f1e7", "\ufe0f"),
    *("\u200b", "a\u200b", "\u202e", "\u061c", "\u2028", "\U000e0061", "\U0001f3f4\U000e0067"),
    *(
        "\u4e2d\u6587",
        "\u304b\u306a",
        "\u0e01",
        "\u1780",
        "\u0635\u0644\u0649 ",
        "\u0958",
        "\u2fa1",
    ),
    *("0", "9 ", "1,000,", "12:30 ", "1.5 ", "9" * 64, "one two "),
    *("[", "](", "<", "</", "</recollect", "<recollect ", "{", "{text}", "\\", "\\n", "\\u0041"),
    *(
        "*",
        "**a",
        "`",
        "#",
        " # a\n",
        "- a\n",
        "> ",
        "| a ",
        "|---",
        "```\n",
        "~~",
        "## [",
        "\n",
        "\n\n",
    ),
    *("://", "://a:b@", "a://b ", "://:@", "@", "a@b.c ", "/", "a/b/", "%20", "&amp;", "$(", "-p "),
    *(
        "pw=",
        "Pw=",
        "db_pass=",
        "authorization=",
        "xoxb-",
        "ABSK/",
        "password|token|",
        "[b.c",
        '\\\\"',
    ),
    *("=", "password=", "password\u200b=", "password: 'x", '{"a":', "'", '"', "curl -u a:", "a=b&"),
    *("-----BEGIN ", "eyJ", "eyJhbGci.", "sk-", "AKIA", "Bearer ", "[redacted:", "set-cookie: a="),
    *(
        "I prefer you? ",
        "is it? ",
        "? ",
        ". ",
        "I am red. ",
        "never always ",
        "and ",
        "but I ",
        "the ",
    ),
    *("A1b2C3d4 ", "x" * 70 + " ", "a b ", "_", "a_b ", ";", "\t", "X"),
)
_WORDS: Final = 4_000
_LINE_WORDS: Final = 12


def plain(size: int, seed: int = 7) -> str:
    """An ordinary text of so many bytes: words of several lengths, in sentences and lines."""
    rng = random.Random(seed)
    made: list[str] = []
    length = 0
    while length < size:
        line = " ".join(rng.choices(_vocabulary(), k=_LINE_WORDS)).capitalize() + ".\n"
        made.append(line)
        length += len(line)
    return "".join(made)[:size]


@cache
def _vocabulary() -> tuple[str, ...]:
    rng = random.Random(11)
    letters = "etaoinshrdlucmfwypvbgk"
    return tuple("".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(_WORDS))


def hostile(rng: random.Random, size: int) -> str:
    """A text of at most so many bytes: one piece again and again, some mixed, or any characters."""
    kind = rng.randrange(4)
    if kind == 0:
        return repeated(rng.choice(PIECES), size)
    if kind == 1:
        return repeated("".join(rng.choices(PIECES, k=rng.randint(2, 4))), size)
    if kind == 2:
        return cut("".join(rng.choices(PIECES, k=size)), size)
    first = rng.randrange(0x80, 0x30000)  # signs that stand together, of one script or of many
    signs = range(first, first + rng.choice((1, 8, 64, 2_000)))
    return cut("".join(map(chr, rng.choices(signs, k=size))), size)


def repeated(piece: str, size: int) -> str:
    """One piece as often as it fits."""
    return piece * max(1, size // len(piece.encode()))


def cut(text: str, size: int) -> str:
    """The beginning of a text, in so many bytes, without what no text may hold."""
    kept = "".join(sign for sign in text[:size] if unicodedata.category(sign) not in ("Cs", "Cn"))
    return kept.encode()[:size].decode("utf-8", "ignore") or "a"
