"""Hits that still state a value which was replaced.

Responsible for reading the values that texts may state, and what holds in their place. Leaves
recognizing such a text to ``recall.replaced`` and the words of a mark to ``recall.pack``.
Invariants: a hit is spent only if it says nothing else, if what holds now is another hit of the
same user with at least its trust, and never if it is a record; every loop is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
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
from recollect.recall.replaced import (
    Said,
    Value,
    all_tokens,
    may_state,
    says_more,
    states,
    tokens_of,
)

_ROWS_MAX_COUNT: Final = 1_000  # words of replaced values that are looked at
_VALUES_MAX_COUNT: Final = 40  # values of which is read what holds now


class Marked(NamedTuple):
    """Hits with what has changed since, and which of them say nothing else than what has."""

    hits: list[Hit]
    spent: dict[str, str]  # by id; the hit that says what holds in its place

    @property
    def telling(self) -> list[Hit]:
        """The hits that say something that holds, for a context."""
        return [hit for hit in self.hits if hit.id not in self.spent]


class _Change(NamedTuple):
    """A value that was replaced, and the record that holds."""

    value: Value
    head: VersionRow
    tokens: AbstractSet[str]  # of the value, that some text has

    def is_stated(self, said: Said) -> bool:
        """True if a text states the value; most have none of its words."""
        return not self.tokens.isdisjoint(tokens_of(said)) and states(said, self.value)


def marked(reads: Reads, wish: Wish, hits: Sequence[Hit]) -> Marked:
    """These hits, each with the records whose earlier value it states."""
    said = [each for hit in hits for each in _texts_of(hit)] if reads.has_replaced() else []
    changes = list(_changes(reads, wish, hits, said)) if said else []
    if not changes:
        return Marked(list(hits), {})
    holding = {hit.id: hit for hit in hits if hit.record is not None and hit.until is None}
    made: list[Hit] = []
    spent: dict[str, str] = {}
    for hit in hits:
        stated = _stated(hit, changes)
        by = _instead(hit, stated, holding)
        if by is not None:
            spent[hit.id] = by
        made.append(_with(hit, stated, changes))
    return Marked(made, spent)


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


def _changes(
    reads: Reads, wish: Wish, hits: Sequence[Hit], said: Sequence[Said]
) -> Iterator[_Change]:
    """The replaced values that one of the texts of these hits may state."""
    found: dict[int, set[str]] = {}
    for token, text_seq in reads.replaced(all_tokens(said), _ROWS_MAX_COUNT):
        found.setdefault(text_seq, set()).add(token)
    if not found:  # most answers have no word of one
        return
    often = Counter(chain.from_iterable(found.values()))
    cards = [card for card in Cards(reads).of(found, past=True) if may_show(card, wish)]
    cards.sort(key=lambda card: (min(often[token] for token in found[card.text_seq]), -card.seq))
    heard = [*said, *_answered(reads, wish, hits)] if cards else []
    for card in cards[:_VALUES_MAX_COUNT]:
        tokens = found[card.text_seq]
        evidence = reads.evidence_of_text(card)
        if not evidence and not _is_about(card, tokens, heard):
            continue  # without a conversation, one word of a value says nothing
        head = head_of(reads, card)
        if head is not None and head.text != card.text and showing([head], wish):
            change = _Change(_value(reads, card, head, evidence), head, tokens)
            yield _with_talk(change, heard)


def _is_about(card: Card, tokens: AbstractSet[str], said: Iterable[Said]) -> bool:
    near = (each for each in said if not tokens.isdisjoint(tokens_of(each)))
    return any(may_state(each, card.text, _names(card)) for each in near)


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


def _answered(reads: Reads, wish: Wish, hits: Iterable[Hit]) -> list[Said]:
    """The turns that assistants' turns among these hits answer."""
    episodes = (hit.episode for hit in hits if hit.episode is not None)
    seqs = [each.seq for each in episodes if each.role != "user" and each.scope.session is not None]
    turns = reads.neighbours(seqs).values() if seqs else []
    before = [seq for seq, _ in turns if seq is not None]
    cards = Cards(reads).of_episodes(before) if before else []
    return [
        Said(card.id, card.text, card.said_at or card.at, card.role == "user", False, card.session)
        for card in cards
        if wish.may_see(card) and card.trust != "unverified" and card.hidden != "forgotten"
    ]


def _with_talk(change: _Change, said: Iterable[Said]) -> _Change:
    """A change with the conversations among these in which the old value was said.

    A record need not name where it was said, and what answers it there may say little of it.
    """
    told = {each.session for each in said if each.session and change.is_stated(each)}
    value = change.value
    return change._replace(value=value._replace(sessions=value.sessions | told))


def _stated(hit: Hit, changes: Iterable[_Change]) -> list[_Change]:
    """The changes of values that a hit states; not of its own record, which says what holds."""
    if hit.until is not None:
        return []
    said = _said(hit)
    return [each for each in changes if each.head.id != hit.id and each.is_stated(said)]


def _instead(hit: Hit, stated: Sequence[_Change], holding: dict[str, Hit]) -> str | None:
    """The hit that says what holds in place of everything that this one says."""
    if hit.episode is None or not stated:
        return None
    user = hit.episode.scope.user
    for each in stated:
        head = holding.get(each.head.id)
        if head is None or each.head.user != user or not at_least(head.trust, hit.trust):
            return None
    return None if says_more(hit.text, [each.value for each in stated]) else stated[0].head.id


def _with(hit: Hit, stated: Sequence[_Change], changes: Sequence[_Change]) -> Hit:
    """A hit, and its sources, with the records that hold in place of what they state."""
    sources = tuple(_with_changes(source, changes) for source in hit.sources)
    changed = _records(stated)
    if not changed and sources == hit.sources:
        return hit
    return replace(hit, changed=changed, sources=sources)


def _with_changes(source: Source, changes: Iterable[_Change]) -> Source:
    said = _quoted(source)
    changed = _records(each for each in changes if each.is_stated(said))
    return replace(source, changed=changed) if changed else source


def _records(changes: Iterable[_Change]) -> tuple[Record, ...]:
    return tuple({each.head.id: record_of(each.head) for each in changes}.values())
