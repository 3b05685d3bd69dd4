"""Whether what a learned sentence says occurs in the words that it was learned from.

Responsible for the numbers, dates and names of a sentence, and for where each may come from. Leaves
what becomes of a sentence to its caller. Invariants: pure; the work grows with the length of the
texts and not faster; in doubt a fact is missing; a message beside the quotes gives only names.

It cannot see a wrong relation between right names, a negation, or a name in small letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import cached_property
from itertools import islice, pairwise
from typing import Final, Literal, NamedTuple

from recollect.index.words.text import STOP_WORDS
from recollect.model import limits, visible
from recollect.propose import days, numbers, spans, written
from recollect.propose.days import When
from recollect.propose.numbers import Number
from recollect.propose.spans import Span
from recollect.propose.written import Word

_TEXT_MAX_CHARS: Final = 100_000  # of one text; what follows gives nothing
_TEXTS_MAX_CHARS: Final = 400_000  # of all texts of one kind
_FACTS_MAX_COUNT: Final = 200  # of a sentence
_WHENS_MAX_COUNT: Final = 1_000  # of one text; those that follow support nothing
_PLACES_MAX_COUNT: Final = 100  # of one address in one text
_SHOWN_MAX_CHARS: Final = 60
# Words that are often capitalized and are not names. "Will" and "May" are left out: they can be.
_NOT_NAMES: Final = (
    STOP_WORDS
    | frozenset(
        """according after along also although always another around because besides both
        couple despite during each either even every everyone everything first however instead
        like many meanwhile much neither never nothing often one only recently several
        since some someone something sometimes there today together tomorrow twice unlike usually
        whenever whether within without yes yesterday yet user users assistant person people
        aber auch auf bei das dem den der des die ein eine einen einer er es für gern ich ihr im
        in ist mein meine mit nicht nutzer seine sie und von wir zu
        au aux avec ce cette dans elle en est et il ils je la le les leur lui mais mon nous on par
        pour sa ses son sur un une utilisateur vous
        como con de del desde el ella ellos en entre es la las los mi para pero por se su sus un
        una usted usuario y yo""".split()
    )
) - {"will"}
_WORDS_TOO: Final = STOP_WORDS | {"us", "may", "march"}  # names only as they are written
_BEFORE: Final = frozenset("before after preceding following vor nach avant apres antes".split())
_FROM: Final = frozenset("of from since by until till to around".split())
_STRETCHES: Final = frozenset("week weekend month days weeks day".split())
_PLURAL_MIN_CHARS: Final = 4
_ACRONYM_CHARS: Final = range(3, 6)
_EDGES: Final = ".,;:!?()<>[]{}\"'*\u201c\u201d\u2026"

Kind = Literal["number", "date", "name", "literal"]


class Said(NamedTuple):
    """Words of an episode: of a quote what it quotes, of a message around it its text."""

    episode: str
    text: str
    said_at: str | None = None
    speaker: str | None = None


class Grounds(NamedTuple):
    """What a sentence may rest on."""

    quotes: Sequence[Said]
    around: Sequence[Said] = ()  # the nearest first
    records: Sequence[str] = ()  # texts that the writer of the sentence was shown
    tz_minutes: int = 0  # of the people who spoke


class Verdict(NamedTuple):
    """What of a sentence occurs nowhere, and which episodes must join its evidence."""

    missing: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    @property
    def problem(self) -> str | None:
        """Why the sentence is not supported; None if it is."""
        if not self.missing:
            return None
        shown = ", ".join(visible.shown(one) for one in self.missing[:5])
        more = f" and {len(self.missing) - 5:,} more" if len(self.missing) > 5 else ""
        return f"it says what its quotes do not: {shown}{more}"


class _Claim(NamedTuple):
    """A fact of the sentence."""

    kind: Kind
    text: str
    at: int
    number: frozenset[str] = frozenset()
    when: When | None = None


class _Found(NamedTuple):
    """A date or a number that begins with a word, or neither."""

    at: int
    when: When | None
    number: Number | None


def unsupported(sentence: str, grounds: Grounds) -> Verdict:
    """The facts of a sentence that occur neither in its quotes nor in the records shown."""
    if len(sentence) > limits.SUGGESTION_MAX_CHARS:
        return Verdict((f"more than {limits.SUGGESTION_MAX_CHARS:,} characters",))
    words = written.words(sentence)
    claims, keys = list(_claims(words)), set(_keys(sentence))
    if len(claims) + len(keys) > _FACTS_MAX_COUNT:
        return Verdict((f"more than {_FACTS_MAX_COUNT} facts",))
    told = _Told(grounds)
    missing = [*_unseen(sentence, told), *sorted(key for key in keys if not told.has(key))]
    names: list[_Claim] = []
    for claim in claims:
        if claim.kind == "name" and not told.names(claim, words):
            names.append(claim)
        elif claim.kind != "name" and not told.supports(claim, words):
            missing.append(claim.text)
    lost, joined = _from_around(names, words, grounds.around)
    every = (one[:_SHOWN_MAX_CHARS] for one in (*missing, *lost))
    return Verdict(tuple(dict.fromkeys(every)), joined)


# --- what a sentence claims


def _read(words: Sequence[Word]) -> Iterator[_Found]:
    """What a text says, word by word; the same for a sentence and for what it may rest on."""
    at = 0
    while at < len(words):
        when, number = days.when_at(words, at), None
        if when is None or not when.is_fact:
            number = numbers.number_at(words, at)
        yield _Found(at, when, number)
        if when is not None and when.is_fact:
            at += when.length
        else:
            at += number.length if number is not None and number.is_fact else 1


def _claims(words: Sequence[Word]) -> Iterator[_Claim]:
    for at, when, number in _read(words):
        if when is not None and when.is_fact:
            yield _Claim("date", when.text, at, when=when)
        elif number is not None and number.is_fact:
            yield _Claim("number", number.text, at, number.wanted)
        elif _is_name(words[at]):
            yield _Claim("name", words[at].raw, at)
        elif _is_literal(words[at]):
            yield _Claim("literal", words[at].raw, at)


def _is_literal(word: Word) -> bool:
    """True for a word of digits and letters, of several scripts, or of one without capitals."""
    return not _has_case(word) and not written.is_plain_letters(word.raw)


def _has_case(word: Word) -> bool:
    return word.raw.isalpha() and (word.raw.isascii() or written.has_capitals(word.raw))


def _is_name(word: Word) -> bool:
    if not _has_case(word) or written.is_plain_letters(word.raw):
        return False
    if len(word.raw) == 1:
        return word.low not in ("i", "a") and word.gap != "'"
    return word.raw.isupper() or word.low not in _NOT_NAMES  # "US" and "IT" are names


def _keys(sentence: str) -> Iterator[str]:
    """Addresses and names of files, which must occur as they are."""
    for chunk in written.plain(sentence).split():
        if "." not in chunk and "@" not in chunk and "//" not in chunk:
            continue
        key = chunk.strip(_EDGES)
        parts = key.split(".")
        is_dotted = len(parts) > 1 and parts[-1].isalpha() and all(len(one) > 1 for one in parts)
        if "@" in key or "//" in key or is_dotted:
            yield key


def _unseen(sentence: str, told: _Told) -> list[str]:
    """Characters of the sentence that no reader sees and that no quote has."""
    if visible.note([sentence]) is None:
        return []
    found = set(written.HIDDEN.findall(sentence))
    return sorted(found.difference(*(written.HIDDEN.findall(text) for text in told.written)))


# --- what the texts tell


class _Text:
    """What one text offers; each part is read when it is first asked for."""

    def __init__(self, text: str, said: int | None = None) -> None:
        self.said = said
        self._text = text
        self.words = written.words(text)

    @cached_property
    def plain(self) -> str:
        return written.plain(self._text).casefold()

    @cached_property
    def lows(self) -> frozenset[str]:
        return frozenset(form for word in self.words for form in _forms(word.low))

    @cached_property
    def raws(self) -> frozenset[str]:
        return frozenset(word.raw for word in self.words)

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Two words as one: "Door Dash" is "DoorDash"."""
        lows = [word.low for word in self.words]
        return frozenset(first + second for first, second in pairwise(lows))

    @cached_property
    def initials(self) -> str:
        """Of words with a capital; of others, a blank."""
        return "".join(word.low[0] if word.raw[0].isupper() else " " for word in self.words)

    @cached_property
    def found(self) -> tuple[_Found, ...]:
        return tuple(one for one in _read(self.words) if one.when or one.number)

    @cached_property
    def numbers(self) -> frozenset[str]:
        offered = {one for found in self.found if found.number for one in found.number.offered}
        for found in self.found:
            if found.when is not None and found.when.is_fact:
                parts = self.words[found.at : found.at + found.when.length]
                offered.update(*(number.offered for number in numbers.all_of(parts)))
        return frozenset(offered)

    @cached_property
    def whens(self) -> tuple[When, ...]:
        found = (one.when for one in self.found if one.when is not None)
        return tuple(islice(found, _WHENS_MAX_COUNT))

    @cached_property
    def when_texts(self) -> frozenset[str]:
        return frozenset(when.text.casefold() for when in self.whens)

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        return tuple({span for when in self.whens for span in spans.spans(when, self.said)})

    @property
    def is_relative(self) -> bool:
        return any(when.is_relative for when in self.whens)

    def names(self, word: Word) -> bool:
        """True if it has a word as a name may be written."""
        if word.low in _WORDS_TOO:
            return word.raw in self.raws
        if not self.lows.isdisjoint(_forms(word.low)) or word.low in self.pairs:
            return True
        if len(word.raw) == 1:
            return word.low in self.initials
        is_acronym = word.raw.isupper() and len(word.raw) in _ACRONYM_CHARS
        return is_acronym and word.low in self.initials


class _Told:
    """The quotes and the records."""

    def __init__(self, grounds: Grounds) -> None:
        quotes = list(_bounded(quote.text for quote in grounds.quotes))
        records = list(_bounded(grounds.records))
        dated = [_day(quote.said_at, grounds.tz_minutes) for quote in grounds.quotes]
        self.written = [*quotes, *records]
        self.quotes = [_Text(*pair) for pair in zip(quotes, dated, strict=False)]
        self.texts = [*self.quotes, *map(_Text, records)]
        self.said = tuple({day for day in dated if day is not None})
        self.speakers = [
            _Text(name) for name in {quote.speaker for quote in grounds.quotes} if name
        ]

    def has(self, key: str) -> bool:
        """True if words occur as they are; only their case may differ."""
        return any(_occurs(key.casefold(), text.plain) for text in self.texts)

    def names(self, claim: _Claim, words: Sequence[Word]) -> bool:
        return any(_has_name(text, words, claim.at) for text in (*self.texts, *self.speakers))

    def supports(self, claim: _Claim, words: Sequence[Word]) -> bool:
        """True for a number, a date or a word that occurs."""
        if claim.when is not None:
            return self._is_day(claim.when, words, claim.at)
        if claim.kind == "literal":
            return self._has_literal(words[claim.at])
        if any(not text.numbers.isdisjoint(claim.number) for text in self.texts):
            return True
        year = spans.year_of(claim.text)
        return year is not None and any(_fits(year, span) for span in self._spans())

    def _has_literal(self, word: Word) -> bool:
        """True for a word that occurs; without blanks between words, as a part of another."""
        if any(word.low in text.lows for text in self.texts):
            return True
        unspaced = word.raw.isalpha() and not written.has_capitals(word.raw)
        return unspaced and any(word.low in text.plain for text in self.texts)

    def _spans(self) -> Iterator[Span]:
        return (span for text in self.texts for span in text.spans)

    def _is_day(self, when: When, words: Sequence[Word], at: int) -> bool:
        low = when.text.casefold()
        if any(low in text.when_texts for text in self.texts):
            return True
        may_be_name = when.length == 1 and words[at].raw[0].isupper()  # a person called April
        if may_be_name and any(low in text.lows for text in (*self.texts, *self.speakers)):
            return True
        meant = {span for said in (self.said or (None,)) for span in spans.spans(when, said)}
        if any(_fits(span, known) for known in self._spans() for span in meant):
            return True
        return self._is_edge(when, meant, _has_stretch(words, at))

    def _is_edge(self, when: When, meant: set[Span], has_stretch: bool) -> bool:
        """True for "the week before 9 June" and "as of 9 June"."""
        said = {Span(day, day) for day in self.said}
        if when.anchor == "as of":
            return not said.isdisjoint(meant)
        if when.anchor not in _BEFORE and not (when.anchor in _FROM and has_stretch):
            return False
        known = {span for text in self.quotes if text.is_relative for span in text.spans}
        if known and not said.isdisjoint(meant):
            return True
        return any(
            span.days == 1 and one.first - 1 <= span.first <= one.last + 1
            for span in meant
            for one in known
        )


def _has_name(text: _Text, words: Sequence[Word], at: int) -> bool:
    """True if a text has the name, as one word or joined with the one beside it."""
    if text.names(words[at]):
        return True
    beside = (words[at - 1 : at + 1] if at else (), words[at : at + 2])
    return any(
        len(pair) == 2
        and all(word.raw[0].isupper() for word in pair)
        and pair[0].low + pair[1].low in text.lows
        for pair in beside
    )


def _has_stretch(words: Sequence[Word], at: int) -> bool:
    return any(word.low in _STRETCHES for word in words[max(0, at - 4) : at])


def _fits(meant: Span, known: Span) -> bool:
    """True if a span is at least as long as the known one, and covers at least half of it."""
    both = min(meant.last, known.last) - max(meant.first, known.first) + 1
    return meant.days >= known.days and 2 * both >= known.days


def _occurs(key: str, text: str) -> bool:
    """True if an address occurs as a whole: example.co is not example.com or example.co.uk."""
    start = -1
    for _ in range(_PLACES_MAX_COUNT):
        start = text.find(key, start + 1)
        if start < 0:
            return False
        end = start + len(key)
        before, after = text[max(0, start - 1) : start], text[end : end + 2]
        goes_on = after[:1].isalnum() or (after[:1] in "@.-/" and after[1:].isalnum())
        if not before.isalnum() and before not in ("@", ".", "-") and not goes_on:
            return True
    return False


def _forms(low: str) -> tuple[str, ...]:
    """A word, and the same without the ending of a plural."""
    return (low, low[:-1]) if len(low) >= _PLURAL_MIN_CHARS and low[-1] == "s" else (low,)


def _day(said_at: str | None, tz_minutes: int) -> int | None:
    """The day on which it was said, where it was said."""
    if said_at is None:
        return None
    here = timezone(timedelta(minutes=tz_minutes))
    try:
        return datetime.fromisoformat(said_at).astimezone(here).date().toordinal()
    except OverflowError:  # the first or the last day of the calendar
        return None


def _bounded(texts: Iterable[str]) -> Iterator[str]:
    """The texts, up to a length in all."""
    room = _TEXTS_MAX_CHARS
    for text in texts:
        part = text[: min(_TEXT_MAX_CHARS, room)]
        room -= len(part)
        yield part


# --- names from messages around the quotes


def _from_around(
    names: Sequence[_Claim], words: Sequence[Word], around: Sequence[Said]
) -> tuple[list[str], tuple[str, ...]]:
    """The names that no message around has, and the messages that have the others."""
    joined: list[str] = []
    texts = _bounded(said.text for said in around)
    for said, text in zip(around, texts, strict=True):
        if not names:
            break
        offers = [_Text(text), _Text(said.speaker or "")]
        left = [one for one in names if not any(_has_name(each, words, one.at) for each in offers)]
        if len(left) < len(names):
            joined.append(said.episode)
        names = left
    return [claim.text for claim in names], tuple(dict.fromkeys(joined))
