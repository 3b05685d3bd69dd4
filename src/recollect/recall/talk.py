"""What a conversation repeats, asks, echoes and corrects.

Responsible for shares that lift a correction above what it corrects and sink questions and echoes
below statements, and for finding repeats. Leaves the words to ``recall.clauses`` and the other
signals to ``recall.relevance``. Invariants: pure; a text is sunk or collapsed only by one of the
same user with at least its trust, never by one that is held, and no text rises above one with more
trust that it contradicts; a long text is left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import mul
from typing import Final, NamedTuple

from msgspec.structs import replace

from recollect.index.cards import tokens_of as of_card
from recollect.index.rows import Card, is_held
from recollect.index.words.bm25 import tokens_of
from recollect.index.words.facts import asks
from recollect.index.words.text import STOP_WORDS, token_list
from recollect.model.rules import at_least
from recollect.recall.asking import ParsedQuery
from recollect.recall.clauses import Clause, clauses, differ, has_cue
from recollect.recall.rank import Ranked
from recollect.recall.weights import RankingWeights

Former = Callable[[Card], Sequence[str]]  # the texts that a record had before

TALK_SIGNALS: Final = (
    "question",  # it only asks the same
    "echo",  # it only repeats what a person said, or a value that has ended
    "correction",  # it contradicts an older statement, which it must precede
)

_TEXT_MAX_CHARS: Final = 300  # a longer text says more than one thing
_REPEAT_MAX_CHARS: Final = 80  # longer texts are repeated by imports, not by people
_LOOKED_AT: Final = 40  # candidates from the best one on
_ASKED: Final = -8.0  # of a question that asks the same: more than its words can lift it
_STALE: Final = -16.0  # of an echo of a value that has ended: nothing is left of its relevance
_LIFT_MAX: Final = 4.0  # how far a correction is lifted
_ABOVE: Final = 0.001
_MORE_MAX_COUNT: Final = 3  # words that an echo may add
_NONE: Final = ("", 0.0)

Share = tuple[str, float]
Shares = dict[int, Share]  # what a conversation adds to a text's score


class Heard(NamedTuple):
    """A short text among the candidates."""

    row: Card
    score: float
    said_at: str
    content: frozenset[str]  # its tokens that carry something
    is_assistants: bool
    asks: bool

    @property
    def is_statement(self) -> bool:
        """True for a record and for what a person said, unless it asks."""
        return not self.is_assistants and not self.asks

    def may_sink(self, other: Heard) -> bool:
        """True if it may sink another: of the same user, and at least as trusted."""
        mine, its = self.row, other.row
        is_trusted = not _is_held(mine) and at_least(mine.trust, its.trust)
        return is_trusted and mine.user == its.user and mine is not its

    def is_outranked(self, other: Heard) -> bool:
        """True if another of the same user has more trust."""
        return self.row.user == other.row.user and not at_least(self.row.trust, other.row.trust)

    def is_after(self, other: Heard) -> bool:
        """True if it was said later."""
        return (self.said_at, self.row.seq) > (other.said_at, other.row.seq)


class Repeat(NamedTuple):
    """Episodes that say the same in the same words: their numbers, and when it was said last."""

    docs: frozenset[int]
    last: str


class Stale(NamedTuple):
    """A value that has ended: its words, those that came instead, all words then, and by what."""

    words: frozenset[str]
    fresh: frozenset[str]
    then: frozenset[str]
    by: Heard


class Correction(NamedTuple):
    """A statement, the newest one that corrects it, and the value that ended with it."""

    older: Heard
    newer: Heard
    value: Stale


Corrections = dict[int, Correction]  # by the number of the older one


def settled(
    order: list[Ranked], asked: ParsedQuery, weights: RankingWeights, former: Former
) -> list[Ranked]:
    """The candidates by score again, with what a conversation adds; the same list if nothing.

    Repeats of a text stay among them: the best has their number, the others name it.
    """
    first = [one for one in _looked_at(order) if len(one.row.text) <= _TEXT_MAX_CHARS]
    if len(first) < 2 or all(one.row.role is None for one in first):
        return order
    heard = [_heard(one) for one in first]
    asked_for = frozenset((*asked.terms, *asked.scaffold))
    statements = [each for each in heard if each.is_statement]
    corrections = _corrections(statements)
    ended = [each.value for each in corrections.values()]
    ended += _superseded(statements, former)
    shares: Shares = {}
    for value in ended:
        _end(value, heard, asked_for, corrections, shares)
    for each in heard:
        _sink(each, statements, asked_for, shares)
    _lift(corrections.values(), shares)
    repeats = _repeats(heard)
    if not (shares or corrections or repeats):
        return order
    return _ordered(order, weights, shares, corrections, repeats)


def _looked_at(order: Sequence[Ranked]) -> Iterator[Ranked]:
    """The best candidates, and as many of those that are held, so that they displace no other."""
    left = {True: _LOOKED_AT, False: _LOOKED_AT}
    for one in order:
        kind = _is_held(one.row)
        left[kind] -= 1
        if left[kind] >= 0:
            yield one


def _is_held(row: Card) -> bool:
    return row.trust == "unverified" or (row.role is None and is_held(row))


def _heard(one: Ranked) -> Heard:
    row = one.row
    return Heard(
        row,
        one.score,
        row.said_at or row.at,
        frozenset(of_card(row)) - _empty(),
        row.role is not None and row.role != "user",
        asks(row.text),
    )


@cache
def _empty() -> frozenset[str]:
    """The tokens of words that carry nothing."""
    more = "now any more anymore longer actually currently yes no".split()
    return frozenset(token for word in (*STOP_WORDS, *more) for token in token_list(word))


# What has ended.


def _corrections(statements: Sequence[Heard]) -> Corrections:
    """Each statement that a later one corrects; of several, the newest counts.

    A statement corrects nothing if it contradicts one with more trust that still holds: otherwise
    it would rise above that one by correcting a copy of it.
    """
    pairs = list(_contradictions(statements))
    corrected = {older.row.text_seq for older, _, newer in pairs if newer.may_sink(older)}
    contested = {
        newer.row.text_seq
        for older, _, newer in pairs
        if newer.is_outranked(older) and older.row.text_seq not in corrected
    }
    found: Corrections = {}
    for older, old, newer in pairs:
        if newer.may_sink(older) and newer.row.text_seq not in contested:
            known = found.get(older.row.text_seq)
            if known is None or newer.is_after(known.newer):
                found[older.row.text_seq] = Correction(older, newer, _ended(older, old, newer))
    return found


def _contradictions(statements: Sequence[Heard]) -> Iterator[tuple[Heard, Clause, Heard]]:
    """Each statement that a later one contradicts, with its clause, and the later one."""
    told: dict[Hashable, list[tuple[Heard, Clause]]] = {}  # by what is said, and about what
    for each in statements:
        for clause in clauses(each.row.text):
            if clause.about:
                told.setdefault((clause.about, clause.verb), []).append((each, clause))
                told.setdefault(clause.about, []).append((each, clause))
    for newer in statements:
        for new in clauses(newer.row.text):
            if new.holds and not new.shape and not has_cue(newer.row.text):
                continue  # it cannot differ from anything
            thing: Hashable = new.about if new.is_change else (new.about, new.verb)
            for older, old in told.get(thing, ()):
                if _contradicts(newer, new, older, old):
                    yield older, old, newer


def _contradicts(newer: Heard, new: Clause, older: Heard, old: Clause) -> bool:
    """True if a later clause says another value, or that the older one has ended."""
    if not newer.is_after(older):
        return False
    if not newer.is_outranked(older) and (
        not newer.may_sink(older)
        or older.score - newer.score > _LIFT_MAX  # the question is about the older one alone
    ):
        return False
    is_over = old.holds and not new.holds and old[:3] == new[:3]
    return is_over or differ(old, new, cue=has_cue(newer.row.text))


def _ended(older: Heard, old: Clause, newer: Heard) -> Stale:
    """The value of the older statement, and the values that hold in its place."""
    held = (_tokens(each) for each in clauses(newer.row.text) if each.holds)
    now, before = frozenset(chain.from_iterable(held)), _tokens(old)
    return Stale(before - now, now - before, older.content, newer)


def _tokens(clause: Clause) -> frozenset[str]:
    return frozenset(token for word in clause.value for token in token_list(word)) - _empty()


def _superseded(statements: Sequence[Heard], former: Former) -> list[Stale]:
    """The values that the records among these had before."""
    return [
        Stale(before - each.content, each.content - before, before, each)
        for each in statements
        if each.row.role is None
        for text in former(each.row)
        if (before := frozenset(tokens_of(text)) - _empty())
    ]


def _end(
    value: Stale,
    heard: Sequence[Heard],
    asked_for: frozenset[str],
    corrections: Corrections,
    shares: Shares,
) -> None:
    """Sinks echoes of a value that has ended; what a person said before is corrected as well.

    Not if a statement with more trust still says that value.
    """
    by, alike = value.by, [each for each in heard if _repeats_value(each, value, asked_for)]
    before = [each for each in alike if each.is_statement and by.is_after(each)]
    if any(by.is_outranked(each) and each.row.text_seq not in corrections for each in before):
        return
    for each in alike:
        if each.is_assistants and by.may_sink(each):
            shares[each.row.text_seq] = ("echo", _STALE)
    for each in before:
        if by.may_sink(each):
            corrections.setdefault(each.row.text_seq, Correction(each, by, value))


def _repeats_value(each: Heard, value: Stale, asked_for: frozenset[str]) -> bool:
    """True if a text says little more than a value that has ended."""
    if not each.content & value.words or each.content & value.fresh:
        return False
    more = each.content - value.then - asked_for
    return len(more) <= _MORE_MAX_COUNT and bool((each.content - value.words) & value.then)


# What says nothing new.


def _sink(
    each: Heard, statements: Sequence[Heard], asked_for: frozenset[str], shares: Shares
) -> None:
    """Sinks a question that only asks the same, and an assistant's echo below what it echoes."""
    row, more = each.row, each.content - asked_for
    if row.role is None or row.seq in shares or each.is_statement:
        return
    if each.asks:
        if not more:
            shares[row.seq] = ("question", _ASKED)
        return
    echoed = [
        other.score
        for other in statements
        if more <= other.content and each.content & other.content and other.may_sink(each)
    ]
    if echoed and each.score >= min(echoed):
        shares[row.seq] = ("echo", min(echoed) - each.score - _ABOVE)


def _lift(corrections: Iterable[Correction], shares: Shares) -> None:
    """Lifts each correction above everything that it corrects, the oldest one first."""
    for older, newer, _ in sorted(corrections, key=lambda each: each.newer.said_at):
        lifted = older.score + shares.get(older.row.text_seq, _NONE)[1]
        needed = lifted - newer.score + _ABOVE
        doc = newer.row.text_seq
        if needed > shares.get(doc, _NONE)[1]:
            shares[doc] = ("correction", needed)


# What is said again.


def _repeats(heard: Sequence[Heard]) -> dict[int, Repeat]:
    """The episodes that say the same in the same words.

    Only of one speaker and one trust, so that no other text can replace a trusted one.
    """
    groups: dict[tuple[object, ...], list[Heard]] = {}
    for each in heard:
        row = each.row
        if row.role is not None and len(row.text) <= _REPEAT_MAX_CHARS:
            key = (row.user, row.role, row.trust, of_card(row))
            groups.setdefault(key, []).append(each)
    found: dict[int, Repeat] = {}
    for group in groups.values():
        if len(group) > 1:
            docs = frozenset(each.row.seq for each in group)
            found |= dict.fromkeys(docs, Repeat(docs, max(each.said_at for each in group)))
    return found


def _ordered(
    order: Sequence[Ranked],
    weights: RankingWeights,
    shares: Shares,
    corrections: Corrections,
    repeats: dict[int, Repeat],
) -> list[Ranked]:
    """The candidates with all of it; of texts that say the same, the best one has their number."""
    newer: dict[int, list[str]] = {}
    for each in corrections.values():
        newer.setdefault(each.newer.row.text_seq, []).append(each.older.row.id)
    made = [_changed(one, shares.get(one.row.text_seq), weights) for one in order]
    made.sort(key=lambda one: (-one.score, -one.row.text_seq))
    best: dict[frozenset[int], str] = {}
    for place, one in enumerate(made):
        doc, by = one.row.text_seq, corrections.get(one.row.text_seq)
        made[place] = replace(
            _counted(one, repeats.get(doc), best),
            corrects=tuple(newer.get(doc, ())),
            corrected_by=None if by is None else by.newer.row.id,
        )
    return made


def _counted(one: Ranked, repeat: Repeat | None, best: dict[frozenset[int], str]) -> Ranked:
    """A candidate with the number of its repeats, or with the name of a better one."""
    if repeat is None:
        return one
    first = best.setdefault(repeat.docs, one.row.id)
    if first != one.row.id:
        return replace(one, repeated_by=first)
    return replace(one, said=len(repeat.docs), last_said=repeat.last)


def _changed(one: Ranked, share: Share | None, weights: RankingWeights) -> Ranked:
    """A candidate with a share of the conversation."""
    if share is None:
        return one
    own = map(mul, one.features, weights.weights)
    score = math.fsum((*own, share[1]))  # to the last bit what its shares say
    return replace(one, extra=(share,), score=score)
