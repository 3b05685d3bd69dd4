"""Hits that still state a value which was replaced.

Responsible for reading the values that texts may state, and what holds in their place. Leaves
recognizing such a text to ``recall.replaced`` and the words of a mark to ``recall.pack``.
Invariants: a hit is spent only if it says nothing else, if what holds now is another hit of the
same user with at least its trust, and never if it is a record; every loop is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from msgspec.structs import replace

from recollect.finding.earlier import head_of, may_show, said_since
from recollect.index.cards import Cards
from recollect.index.reads import Reads
from recollect.index.rows import Card, VersionRow, unpack_names
from recollect.index.values import record_of
from recollect.model.rules import at_least
from recollect.model.values import Hit, Record, Source
from recollect.recall.rank import Wish, showing
from recollect.recall.replaced import Reader, Said, Value

_ROWS_MAX_COUNT: Final = 1_000  # words of replaced values that are looked at
_EACH_MAX_COUNT: Final = 60  # values that had one word
_RARE_MAX_COUNT: Final = 20  # a word of more values tells none of them apart
_VALUES_MAX_COUNT: Final = 40  # values of which is read what holds now
_CUT: Final = (
    'there were more texts or replaced values than are compared, so a line may lack "since changed"'
)


class Marked(NamedTuple):
    """Hits with what has changed since, and which of them say nothing else than what has."""

    hits: list[Hit]
    spent: dict[str, str]  # by id; the hit that says what holds in its place
    degraded: str | None = None  # what is said if not every text or value was looked at

    @property
    def telling(self) -> list[Hit]:
        """The hits that say something that holds, for a context."""
        return [hit for hit in self.hits if hit.id not in self.spent]


class _Change(NamedTuple):
    """A value that was replaced, and the record that holds."""

    value: Value
    card: Card  # of the value
    head: VersionRow
    tokens: frozenset[str]  # of the value, that some text has


def marked(reads: Reads, wish: Wish, hits: Sequence[Hit]) -> Marked:
    """These hits, each with the records whose earlier value it states."""
    said = [each for hit in hits for each in _texts_of(hit)] if reads.has_replaced() else []
    if not said:
        return Marked(list(hits), {})
    look = _Look(reads, wish, hits, said)
    if not look.changes:
        return Marked(list(hits), {}, look.degraded)
    holding = {hit.id: hit for hit in hits if hit.record is not None and hit.until is None}
    made: list[Hit] = []
    spent: dict[str, str] = {}
    for hit in hits:
        stated = look.stated_by(hit)
        by = look.instead_of(hit, stated, holding)
        if by is not None:
            spent[hit.id] = by
        made.append(look.with_marks(hit, stated))
    return Marked(made, spent, look.degraded)


def _texts_of(hit: Hit) -> Iterator[Said]:
    """What a hit says, and what it quotes; an earlier value is marked as one."""
    if hit.until is None:
        yield _said(hit)
    yield from map(_quoted, hit.sources)


def _said(hit: Hit) -> Said:
    episode = hit.episode
    if episode is None:
        return Said(hit.id, hit.text, hit.at, of_person=False, is_record=True)
    of_person = episode.role == "user"
    return Said(hit.id, hit.text, hit.at, of_person, session=episode.scope.session)


def _quoted(source: Source) -> Said:
    return Said(source.id, source.quote, source.said_at, of_person=source.role == "user")


class _Look:
    """The texts of an answer, read once, and the replaced values that they may state."""

    def __init__(self, reads: Reads, wish: Wish, hits: Sequence[Hit], said: Sequence[Said]) -> None:
        self._reads = reads
        self._wish = wish
        self._reader = Reader(said)
        self._is_cut = False
        self.changes = list(self._changes(hits, said))

    @property
    def degraded(self) -> str | None:
        """What is said if not every text was looked at."""
        return _CUT if self._is_cut or self._reader.is_cut else None

    def stated_by(self, hit: Hit) -> list[_Change]:
        """The changes of values that a hit states; not of its own record, which says what holds."""
        if hit.until is not None:
            return []
        said = _said(hit)
        return [each for each in self.changes if _may_mark(each, hit) and self._states(said, each)]

    def instead_of(
        self, hit: Hit, stated: Sequence[_Change], holding: dict[str, Hit]
    ) -> str | None:
        """The hit that says what holds in place of everything that this one says."""
        if hit.episode is None or not stated:
            return None
        user = hit.episode.scope.user
        for each in stated:
            head = holding.get(each.head.id)
            if head is None or each.head.user != user or not at_least(head.trust, hit.trust):
                return None
        values = [each.value for each in stated]
        return None if self._reader.says_more(_said(hit), values) else stated[0].head.id

    def with_marks(self, hit: Hit, stated: Sequence[_Change]) -> Hit:
        """A hit, and its sources, with the records that hold in place of what they state."""
        sources = tuple(self._source(source) for source in hit.sources)
        changed = _records(stated)
        if not changed and sources == hit.sources:
            return hit
        return replace(hit, changed=changed, sources=sources)

    def _source(self, source: Source) -> Source:
        said = _quoted(source)
        changed = _records(each for each in self.changes if self._states(said, each))
        return replace(source, changed=changed) if changed else source

    def _states(self, said: Said, change: _Change) -> bool:
        """True if a text states the value; most have none of its words."""
        return self._reader.has_one_of(said, change.tokens) and self._reader.states(
            said, change.value
        )

    def _changes(self, hits: Sequence[Hit], said: Sequence[Said]) -> Iterator[_Change]:
        """The replaced values that one of the texts of these hits may state."""
        found, by = self._found()
        if not found:  # most answers have no word of one
            return
        often = Counter(chain.from_iterable(found.values()))
        every = Cards(self._reads).of(found, past=True)
        cards = [card for card in every if may_show(card, self._wish)]
        cards.sort(key=lambda card: (min(often[each] for each in found[card.text_seq]), -card.seq))
        answered = self._answered(hits) if cards else []
        self._reader.look_at(answered)
        rest = cards[_VALUES_MAX_COUNT:]
        self._is_cut |= any(
            often[each] <= _RARE_MAX_COUNT for c in rest for each in found[c.text_seq]
        )
        for card in cards[:_VALUES_MAX_COUNT]:
            after = by[card.text_seq]
            change = self._change(card, after, frozenset(found[card.text_seq]), [*said, *answered])
            if change is not None:
                yield change

    def _found(self) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
        """The words of replaced values that these texts have, and what took each value's place."""
        rows = self._reads.replaced(
            self._reader.all_tokens(), self._wish.user, _EACH_MAX_COUNT, _ROWS_MAX_COUNT
        )
        self._is_cut = len(rows) == _ROWS_MAX_COUNT
        found: dict[int, set[str]] = {}
        by: dict[int, set[str]] = {}
        for token, text_seq, after in rows:
            found.setdefault(text_seq, set()).add(token)
            by.setdefault(text_seq, set()).add(after)
        return found, by

    def _holding(self, card: Card, after: Iterable[str]) -> VersionRow | None:
        """The record that holds in place of a value.

        Where what came next was erased or forgotten, it is what came after that: a later record
        under the key, or the one that took the place of what was erased.
        """
        named = (self._reads.version(id) for id in sorted(after))
        last = None if card.key is None else self._reads.holder(card.key, card.user)
        heads = (head_of(self._reads, row) for row in (card, *named, last) if row is not None)
        every = (row for row in heads if row is not None and row.user == card.user)
        return next((row for row in every if showing([row], self._wish)), None)

    def _change(
        self, card: Card, after: Iterable[str], tokens: frozenset[str], heard: Sequence[Said]
    ) -> _Change | None:
        """What holds in place of a value, unless the value holds or none of these is about it."""
        evidence = self._reads.evidence_of_text(card)
        if not evidence and not self._is_about(card, tokens, heard):
            return None  # without a conversation, one word of a value says nothing
        head = self._holding(card, after)
        if head is None or head.text == card.text:
            return None
        change = _Change(_value(self._reads, card, head, evidence), card, head, tokens)
        return self._with_talk(change, heard)

    def _is_about(self, card: Card, tokens: frozenset[str], said: Iterable[Said]) -> bool:
        near = (each for each in said if self._reader.has_one_of(each, tokens))
        return any(self._reader.may_state(each, card.text, _names(card)) for each in near)

    def _with_talk(self, change: _Change, said: Iterable[Said]) -> _Change:
        """A change with the conversations among these in which the old value was said.

        A record need not name where it was said, and what answers it there may say little of it.
        """
        told = {each.session for each in said if each.session and self._states(each, change)}
        value = change.value
        return change._replace(value=value._replace(sessions=value.sessions | told))

    def _answered(self, hits: Iterable[Hit]) -> list[Said]:
        """The turns that assistants' turns among these hits answer."""
        episodes = (hit.episode for hit in hits if hit.episode is not None)
        seqs = [
            each.seq for each in episodes if each.role != "user" and each.scope.session is not None
        ]
        turns = self._reads.neighbours(seqs).values() if seqs else []
        before = [seq for seq, _ in turns if seq is not None]
        cards = Cards(self._reads).of_episodes(before) if before else []
        return [
            Said(
                card.id,
                card.text,
                card.said_at or card.at,
                card.role == "user",
                False,
                card.session,
            )
            for card in cards
            if self._wish.may_see(card)
            and card.trust != "unverified"
            and card.hidden != "forgotten"
        ]


def _may_mark(change: _Change, hit: Hit) -> bool:
    """True if a change can say what holds in place of a hit.

    A record that holds says so by its writer's word: a change counts only if the value that ended,
    or what holds in its place, has at least the same trust. One user's changes say nothing about
    another's texts.
    """
    if change.head.id == hit.id or _is_of_another(change.head.user, hit):
        return False
    of = hit.record
    return of is None or any(at_least(each.trust, of.trust) for each in (change.card, change.head))


def _is_of_another(user: str | None, hit: Hit) -> bool:
    scope = hit.record.scope if hit.record else hit.episode.scope if hit.episode else None
    own = None if scope is None else scope.user
    return user is not None and own is not None and user != own


def _names(card: Card) -> str:
    return f"{card.key or ''} {card.about or ''}"


def _value(reads: Reads, card: Card, head: VersionRow, evidence: Iterable[str]) -> Value:
    episodes = [reads.episode(id) for id in evidence]
    sessions = {each.session for each in episodes if each is not None}
    return Value(
        text=card.text,
        names=_names(card),
        now=head.text,
        since=said_since(reads, head),
        evidence=frozenset(evidence),
        sessions=frozenset(session for session in sessions if session is not None),
        grounds=unpack_names(head.evidence),
    )


def _records(changes: Iterable[_Change]) -> tuple[Record, ...]:
    return tuple({each.head.id: record_of(each.head) for each in changes}.values())
