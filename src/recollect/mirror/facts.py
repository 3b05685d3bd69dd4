"""The facts in a text, and whether another text has kept them.

Responsible for what counts as a fact: numbers and dates, names, quoted words, keys. Leaves who
rewrites a page to ``memory.pages.condensed``. Invariants: pure, and in linear time; a fact counts
once, however often it is said; characters that no reader sees keep no fact; a number counts only in
the digits in which it was written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from recollect.index.words.text import STOP_WORDS
from recollect.model import visible

DROPPED_MAX_SHARE: Final = 0.05  # of the facts; a rewrite that drops more is rejected

_QUOTED: Final = re.compile(
    r'"([^"\n]{1,200})"|“([^”\n]{1,200})”|`([^`\n]{1,200})`'  # longer ones are not taken as quotes
)
# Between words: blanks and brackets, and a comma that is not inside a number.
_BETWEEN: Final = re.compile(r"[\s—…|;()\[\]{}<>\"“”„«»`!?*~]+|,(?!\d)|(?<!\d),")
_JOINTS: Final = frozenset("._/@:=#")
_SIGNS: Final = frozenset("+-\u2212")
# What a reader of a rendered page does not see: tags and comments, entities, targets of links.
_MARKUP: Final = re.compile(
    r"<[A-Za-z/!?][^>]*>?|&#?\w{1,31};|\]\([^)]*\)?|^[ ]{0,3}\[[^\]\n]*\]:.*", re.MULTILINE
)
_HIDDEN: Final = re.compile(f"[{visible.HIDDEN}]")
# Words with which a rewrite may begin a sentence, without saying more than the page.
_CONNECTING: Final = frozenset(
    "also before currently earlier formerly later meanwhile now originally previously since then "
    "today until".split()
)

Kind = Literal["number", "key", "quoted", "name", "word"]


class Fact(NamedTuple):
    """One fact, as it must be found again."""

    kind: Kind
    value: str


class Verdict(NamedTuple):
    """What a rewrite did to the facts."""

    facts: int  # how many different ones there were
    dropped: tuple[str, ...]
    added: tuple[str, ...]  # said by the rewrite alone
    unseen: str | None = None  # something in the rewrite that no reader sees

    @property
    def problem(self) -> str | None:
        """Why the rewrite is rejected; None if it keeps the facts."""
        if self.unseen is not None:
            return f"the rewrite has {self.unseen}"
        if self.added:
            return f"the rewrite says what the page does not: {_some(self.added)}"
        if len(self.dropped) > DROPPED_MAX_SHARE * self.facts:
            return (
                f"the rewrite drops {len(self.dropped):,} of {self.facts:,} facts, "
                f"more than {DROPPED_MAX_SHARE:.0%}: {_some(self.dropped)}"
            )
        return None


def compare(before: Iterable[str], after: Iterable[str]) -> Verdict:
    """Whether entries keep the facts of the entries that they replace."""
    before, after = list(before), list(after)
    wanted, found = facts_of(before), facts_of(after)
    words, said = _all_words(after), _all_words(before)
    text = "\n".join(after)
    dropped = [one.value for one in wanted if not _is_kept(one, found, words, text)]
    added = [one.value for one in found if one not in wanted and not _is_said(one, said, before)]
    unseen = _unseen(before, after)
    return Verdict(len(wanted), tuple(sorted(dropped)), tuple(sorted(added)), unseen)


def facts_of(entries: Iterable[str]) -> frozenset[Fact]:
    """The different facts of some entries."""
    return frozenset(fact for entry in entries for fact in facts(entry))


def facts(entry: str) -> frozenset[Fact]:
    """The facts of one entry; of one that has none, every word that tells something."""
    entry = unicodedata.normalize("NFC", entry)
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(entry))
    found = {Fact("quoted", _spaced(words)) for words in quoted if words.strip()}
    for token in _tokens(entry):
        found.update(_of_token(token))
    if not found:
        found.update(Fact("word", word) for word in _words(entry) if word not in STOP_WORDS)
    return frozenset(found)


def _of_token(token: str) -> list[Fact]:
    """What a token says: a number or a key as it stands, or the names in it."""
    if token.isascii() and token.isalpha() and token.islower():
        return []  # most words
    if any(map(str.isnumeric, token)):
        return [Fact("number", token)]
    found = [Fact("key", token)] if any(map(_JOINTS.__contains__, token)) else []
    parts = (part for part in _words_as_written(token) if part.casefold() not in STOP_WORDS)
    return found + [Fact("name", part.casefold()) for part in parts if _is_name(part)]


def _is_name(word: str) -> bool:
    """True for a word with a capital, and for one of a script that has none."""
    return any(unicodedata.category(letter) in ("Lu", "Lt", "Lo") for letter in word)


def _tokens(text: str) -> list[str]:
    """The parts between blanks, without the punctuation around them."""
    return [token for part in _BETWEEN.split(text) if (token := _trimmed(part))]


def _trimmed(part: str) -> str:
    if part.isalnum():
        return part  # most parts
    start, end = 0, len(part)
    while start < end and _is_edge(part[start]):
        start += 1
    while end > start and _is_edge(part[end - 1]) and part[end - 1] != "%":
        end -= 1
    if 0 < start < end and part[start - 1] in _SIGNS and part[start].isnumeric():
        start -= 1
    return part[start:end]


def _is_edge(letter: str) -> bool:
    return letter in _SIGNS or unicodedata.category(letter)[0] == "P"


def _words_as_written(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _words_as_written(unicodedata.normalize("NFC", text))}


def _all_words(entries: Iterable[str]) -> set[str]:
    return {word for entry in entries for word in _words(entry)}


def _is_kept(fact: Fact, found: frozenset[Fact], words: set[str], text: str) -> bool:
    """True if a rewrite says the fact; names and words in any case, all else as it was written."""
    if fact in found:
        return True
    if fact.kind in ("name", "word"):
        return fact.value in words
    return fact.kind == "quoted" and _occurs(fact.value, text)


def _is_said(fact: Fact, said: set[str], before: list[str]) -> bool:
    """True if what a rewrite says as a fact is in the page in another form."""
    if fact.kind in ("name", "word"):
        return fact.kind == "word" or fact.value in said or fact.value in _CONNECTING
    return fact.kind == "quoted" and _occurs(fact.value, "\n".join(before))


def _occurs(words: str, text: str) -> bool:
    """True if words occur in a text as a whole; only blanks may differ."""
    whole = re.escape(words).replace(r"\ ", r"\s+")
    return re.search(rf"(?<!\w){whole}(?!\w)", unicodedata.normalize("NFC", text)) is not None


def _unseen(before: list[str], after: list[str]) -> str | None:
    """What a rewrite has and the page has not, that could hide a fact from a reader."""
    if visible.note(after) is not None and _all(_HIDDEN, after) - _all(_HIDDEN, before):
        return "characters that no reader sees"
    if _all(_MARKUP, after) - _all(_MARKUP, before):
        return "markup that could hide words"
    return None


def _all(pattern: re.Pattern[str], entries: Iterable[str]) -> set[str]:
    return {match[0] for entry in entries for match in pattern.finditer(entry)}


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _some(values: tuple[str, ...]) -> str:
    more = len(values) - 5
    return ", ".join(values[:5]) + (f" and {more:,} more" if more > 0 else "")
