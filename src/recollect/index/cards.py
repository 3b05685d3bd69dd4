"""Cards: the few columns of many texts that ranking needs.

Responsible for reading the cards of texts, and the whole rows of the few that become hits. Leaves
what is visible and how it ranks to ``recall``. Invariant: a card has the values of the row that it
stands for at the position of the read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from recollect.index.reads import Reads
from recollect.index.rows import (
    NOT_OF_RECORDS,
    Card,
    Cell,
    EpisodeRow,
    Row,
    Undecodable,
    VersionRow,
    names_of,
    recallable_record,
    version_row,
)
from recollect.index.words import bm25
from recollect.index.words.bm25 import Parts
from recollect.index.words.facts import Facts, facts, unpacked

_TEXT: Final = Card._fields.index("text")
_SEQ: Final = Card._fields.index("seq")
_BLANK: Final = Card("", 0, 0, "", None, None, None, None, None, None, "", "unverified")


class Cards(msgspec.Struct, frozen=True):
    """The cards of one space at one position."""

    reads: Reads

    def of(self, texts: Iterable[int], *, past: bool = False) -> list[Card]:
        """The cards of these texts, where they exist, in any order.

        A record's card is that of the version that has the text here; with ``past`` of the last
        version that had it. Most texts are found by their own event; the last few belong to records
        that were changed since, but not in their text.
        """
        missing = list(texts)
        found = self._read("last_cards_of_texts", missing) if past else []
        for name in ("cards_of_texts", "cards_of_episodes", "cards_of_changed_texts"):
            if len(found) < len(missing):
                known = {each.text_seq for each in found}
                found += self._read(name, [doc for doc in missing if doc not in known])
        return found

    def of_episodes(self, seqs: Sequence[int]) -> list[Card]:
        """The cards of these episodes, where they exist, in any order."""
        return self._read("cards_of_episodes", seqs)

    def rows(self, cards: Sequence[Card]) -> dict[int, VersionRow | EpisodeRow]:
        """The whole rows of these cards, by number in full text."""
        records = [each.seq for each in cards if each.role is None]
        episodes = [each.seq for each in cards if each.role is not None]
        db, found = self.reads.db, dict[int, VersionRow | EpisodeRow]()
        if records:
            versions = map(version_row, db.rows("versions_of_events", self._of(records)))
            found |= {row.text_seq: row for row in versions}
        if episodes:
            said = map(EpisodeRow._make, db.rows("episodes_of_texts", self._of(episodes)))
            found |= {row.seq: row for row in said}
        return found

    def supports(self, episode: Card, record: Card) -> bool:
        """True if a record that names an episode rests on it."""
        return self.reads.supports(episode, record)

    def _read(self, name: str, texts: Sequence[int]) -> list[Card]:
        return made(self.reads.db.rows(name, self._of(texts)))

    def _of(self, seqs: Sequence[int]) -> dict[str, Cell]:
        return {"seqs": msgspec.json.encode(seqs).decode(), "at": self.reads.at}


def made(rows: Sequence[Row]) -> list[Card]:
    """The rows of a statement that reads cards; a card always has a text."""
    for row in rows:
        if row[_TEXT] is None:
            raise Undecodable(f"the text of version {row[_SEQ]!r} is not in the index")
    # Many are made, and this is the fastest way. An episode's row has the first columns only.
    rest, new = _BLANK[len(rows[0]) :] if rows else (), tuple.__new__
    return [new(Card, row + rest) for row in rows]


def card_of(row: VersionRow | EpisodeRow) -> Card:
    """The card of a whole row."""
    if isinstance(row, EpisodeRow):
        return Card(
            row.id,
            row.seq,
            row.seq,
            row.text,
            None,
            None,
            row.role,
            row.user,
            row.session,
            row.said_at,
            row.at,
            row.trust,
            row.transient,
            row.hidden,
        )
    return Card._make(
        True if name == "is_wanted" else None if name in NOT_OF_RECORDS else getattr(row, name)
        for name in Card._fields
    )


class Measured(NamedTuple):
    """What ranking needs of texts: of each, but for the names, which few have."""

    parts: list[Parts]  # the share of each term in what full text has of it
    facts: list[Facts]
    names: dict[int, Parts]  # the share of each term in its names, by number in full text


def measured(cards: Iterable[Card], terms: Sequence[str], average: float) -> Measured:
    """The texts of these cards, measured by the terms of a query."""
    texts: list[tuple[str, str | None]] = []
    about: list[Facts] = []
    names: dict[int, str] = {}
    for each in cards:
        about.append(facts_of(each) if each.facts is None else unpacked(each.facts))
        named = "" if each.role else names_of(each)  # an episode has none
        if named and recallable_record(each):  # as in ``searched_text``
            names[each.text_seq] = named
            texts.append((f"{each.text} {named}", each.tokens))
        else:
            texts.append((each.text, each.tokens))
    of_names = bm25.parts_of([(each, None) for each in names.values()], terms, average)
    parts = bm25.parts_of(texts, terms, average)
    return Measured(parts, about, dict(zip(names, of_names, strict=True)))


def facts_of(each: Card) -> Facts:
    """The facts of a card's text, made from it."""
    return facts(each.text, of_person=each.role != "assistant")


def tokens_of(each: Card) -> tuple[str, ...]:
    """The tokens of a card's text, without those of its names."""
    if each.tokens is None or each.role is None:
        return bm25.tokens_of(each.text)
    return tuple(each.tokens.split())
