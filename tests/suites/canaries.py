"""Words that must not survive an erasure, and the search for them in every byte of a folder.

A canary is a made-up word with accents, so that its composed, decomposed, lower-case and token
forms all differ. The same search runs before (it must hit) and after (it must not). Invariant:
the search reads files as bytes and knows nothing of their format.
"""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.index.words.text import tokens

ROOT = Path(__file__).resolve().parents[2]

_CONSONANTS = "bdfgklmprtvz"
_VOWELS = "aeou"
_ACCENTS = {"a": "â", "e": "é", "o": "ö", "u": "ů"}
FILLER = "river stone table window paper garden music letter winter number market silver".split()


def canary(rng: random.Random) -> str:
    """Twenty letters: no beginning or end in common with another, and nothing to stem."""
    letters = [rng.choice(_CONSONANTS if n % 2 else _VOWELS) for n in range(17)]
    for place in rng.sample(range(2, 17, 2), 2):
        letters[place] = _ACCENTS[letters[place]]
    return rng.choice(_CONSONANTS).upper() + "".join(letters) + "zk"


@cache
def forms(word: str) -> tuple[tuple[str, bytes], ...]:
    """Every shape in which a word's bytes may lie in a file."""
    composed = unicodedata.normalize("NFC", word)
    decomposed = unicodedata.normalize("NFD", word)
    token = tokens(word)
    texts = {
        "as given": word,
        "NFC": composed,
        "NFD": decomposed,
        "lower NFC": composed.lower(),
        "lower NFD": decomposed.lower(),
        "token": token,
        "end of the token": token[-15:],  # full text stores what differs from the term before
        "escaped": json.dumps(composed)[1:-1],
        "escaped NFD": json.dumps(decomposed)[1:-1],
    }
    found = [(name, text.encode()) for name, text in texts.items()]
    for name, text in (("NFC", composed), ("NFD", decomposed), ("token", token)):
        found += [(f"UTF-16LE {name}", text.encode("utf-16-le"))]
        found += [(f"UTF-16BE {name}", text.encode("utf-16-be"))]
        found += [(f"base64 {name}", shifted) for shifted in _base64(text.encode())]
        digits = text.encode().hex()
        found += [(f"hex {name}", form.encode()) for form in (digits, digits.upper())]
    return tuple({raw: (name, raw) for name, raw in reversed(found)}.values())


def _base64(data: bytes) -> list[bytes]:
    """What base64 makes of these bytes wherever they begin: three shifts, inner characters."""
    found: list[bytes] = []
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + data)
        first = -(-shift * 8 // 6)
        last = (shift + len(data)) * 8 // 6
        found.append(whole[first:last])
    return found


def found(folder: Path, words: Iterable[str]) -> list[tuple[str, str, str]]:
    """Every file, word and form that is there."""
    wanted = [(word, form, raw) for word in words for form, raw in forms(word)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.suites.searching", str(folder)],
        cwd=ROOT,
        input="\n".join(raw.hex() for _, _, raw in wanted).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    places = msgspec.json.decode(done.stdout, type=list[tuple[str, int]])
    return [(name, *wanted[number][:2]) for name, number in places]


def hits(folder: Path, words: Iterable[str]) -> list[str]:
    """The same for people; empty if no byte is left."""
    return [f"{name}: {word} ({form})" for name, word, form in found(folder, words)]


def files_hit(folder: Path, words: Iterable[str]) -> set[str]:
    """The names of the files in which any of the words is found."""
    return {name for name, _, _ in found(folder, words)}


def words_hit(folder: Path, words: Iterable[str]) -> set[str]:
    """Those of the words that are found in any file."""
    return {word for _, word, _ in found(folder, words)}


# --- what is to be erased, and what is to stay


class Subject(msgspec.Struct, kw_only=True):
    """A record, its sources, and the word that each of its parts carries."""

    id: str
    episodes: list[str]
    words: dict[str, str]

    @property
    def all(self) -> list[str]:
        return list(self.words.values())


class Words:
    """A fresh canary for each part, noted under its name."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.said: dict[str, str] = {}

    def __call__(self, part: str) -> str:
        self.said[part] = canary(self._rng)
        return self.said[part]


def subject(memory: Memory, rng: random.Random, neighbour: str) -> Subject:
    """A record with a life: every field and every kind of event carries a word of its own."""
    word = Words(rng)
    handle = memory.scoped(user=word("user"), session=word("session"), agent=word("agent"))
    first, second = handle.observe(
        [
            {"role": "user", "content": f"I heard of {word('first episode')} today"},
            {"role": "assistant", "content": f"So it is {word('second episode')} then"},
        ],
        metadata={"note": word("metadata")},
    )
    text = word("text")
    record = handle.remember(
        f"It is about {text}",
        key=f"key.{word('key')}",
        about=word("about"),
        kind=word("kind"),
        tags=[word("tag"), "shared"],
        data={word("data key"): word("data value"), "encoded": base64_of(word("in base64"))},
        evidence=[first.id, f"https://example.org/{word('reference')}"],
        idempotency_key=f"command-{rng.getrandbits(64):x}",
    )
    handle.revise(record.id, tags=[word("later tag")])
    long = " ".join(rng.choices(FILLER, k=700))
    decomposed = unicodedata.normalize("NFD", word("long text"))
    handle.revise(record.id, f"{long} {decomposed} {long}", reason=word("reason"))
    memory.graph.link(record.id, neighbour, kind=word("link"))
    memory.graph.link(neighbour, record.id, kind=word("ended link"))
    memory.graph.unlink(neighbour, record.id, kind=word.said["ended link"])
    handle.revise(record.id, f"In the end {word('last text')}", evidence=[second.id])
    handle.forget(record.id, reason=word("forgotten because"))
    handle.undo(record.id)
    memory.used(None, [record.id])
    memory.context(word.said["last text"])  # its receipt stays when the record goes
    return Subject(id=record.id, episodes=[first.id, second.id], words=word.said)


def base64_of(word: str) -> str:
    return base64.b64encode(f"secret {word}".encode()).decode()


def filler(memory: Memory, rng: random.Random, count: int) -> list[str]:
    """Ordinary records, some with sources, some revised, some long."""
    ids: list[str] = []
    for _ in range(count):
        words = rng.choices(FILLER, k=rng.choice([8, 8, 8, 40, 900]))
        text = " ".join([*words, f"{rng.getrandbits(40):x}"])
        evidence = [memory.observe(text)[0].id] if rng.random() < 0.3 else []
        record = memory.remember(text, tags=[rng.choice(FILLER)], evidence=evidence)
        if rng.random() < 0.2:
            memory.revise(record.id, f"{text} again")
        ids.append(record.id)
    return ids
