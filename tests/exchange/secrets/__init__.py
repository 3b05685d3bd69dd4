"""Three sets of made-up secrets in real texts: ``first.txt``, ``second.txt`` and ``third.py``.

A line of the first two has a label, the text with ``{}`` where the secret stands, and the secret's
form. ``<A36>`` stands for 36 characters of the alphabet ``A``, made for each line from a fixed
seed, so that no file here holds anything that looks like a live token.
"""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

_ALPHABETS = {
    "A": ascii_letters + digits,
    "a": ascii_lowercase,
    "B": ascii_letters + digits + "+/",
    "D": "123456789",
    "L": ascii_lowercase + digits,
    "l": ascii_lowercase + "234567",
    "P": ascii_letters + digits + "./",
    "U": ascii_uppercase + "234567",
    "W": ascii_letters + digits + "_-",
    "X": "0123456789abcdef",
    "x": "0123456789abcdef",
}
_FORM = re.compile(r"<([A-Za-z])(\d+)(?:#(\d+))?>|<(UUID)>|<E:([^<>]*)>")


class Planted(NamedTuple):
    """A text and the secrets in it."""

    label: str
    text: str
    secrets: tuple[str, ...]

    def passes(self, redacted: str) -> bool:
        """Whether a secret is still there whole."""
        return any(secret in redacted for secret in self.secrets)


def planted(name: str) -> list[Planted]:
    """The secrets of a set."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [_planted(line) for line in lines if line and not line.startswith("#")]


def _planted(line: str) -> Planted:
    label, text, form = (part.replace("\\|", "|") for part in re.split(r" (?<!\\)\| ", line))
    random = Random(label)
    known: dict[str, str] = {}
    secret = _made_up(form, random, known).replace("\\n", "\n")
    text = _made_up(text, random, known).replace("\\\\n", "\0").replace("\\n", "\n")
    return Planted(label, text.replace("\0", "\\n").replace("{}", secret), (secret,))


def _made_up(form: str, random: Random, known: dict[str, str]) -> str:
    """The form with its places filled; one with a number is the same wherever it stands."""

    def fill(place: re.Match[str]) -> str:
        if place[4]:
            return "-".join(_of("X", count, random) for count in (8, 4, 4, 4, 12))
        if place[5] is not None:
            return b64encode(place[5].replace("\\n", "\n").encode()).decode()
        if place[3] is None:
            return _of(place[1], int(place[2]), random)
        return known.setdefault(place[0], _of(place[1], int(place[2]), random))

    while _FORM.search(form):
        form = _FORM.sub(fill, form)
    return form


def _of(alphabet: str, count: int, random: Random) -> str:
    return "".join(random.choices(_ALPHABETS[alphabet], k=count))
