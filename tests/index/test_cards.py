"""A card has the values of the row that it stands for, at every position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from recollect import Memory
from recollect.index.cards import Cards, card_of, made, measured, tokens_of
from recollect.index.reads import Reads
from recollect.index.rows import Card, Undecodable, searched_text
from recollect.index.statements import NOW
from recollect.index.words.facts import facts
from recollect.index.words.text import token_list, tokens
from recollect.lifecycle.commands import Reinforce


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Records that were revised, reinforced, superseded, forgotten and held; episodes too."""
    with Memory.open(":memory:", embedder="none") as memory:
        ann = memory.scoped(user="ann")
        ann.observe("I moved to Lyon", session="s", id="e1")
        memory.observe("The port is 8080", role="assistant", id="e2")
        memory.remember("The port is 8080", key="port", tags=["a", "b"], evidence=["e2"], id="r1")
        ann.remember("Lives in Lyon", about="ann", expires="2030-01-01", id="r2")
        memory.revise("r1", "The port is 9090")
        memory.events.submit(Reinforce(id="r1"))
        memory.remember("The port is 7070", key="port", id="r3")
        memory.scoped(trust="unverified").remember("The port is 1", id="r4")
        memory.forget("e1")
        memory.forget("r2")
        yield memory


def positions(memory: Memory) -> list[int]:
    return [*range(1, memory.events.position + 1), NOW]


def whole(reads: Reads, at: int) -> dict[int, Card]:
    """The cards of all rows that are current at a position, by the way of whole rows."""
    records = [reads.version(id) for id in ("r1", "r2", "r3", "r4")]
    episodes = [reads.episode(id) for id in ("e1", "e2")]
    rows = [row for row in (*records, *episodes) if row is not None and row.seq <= at]
    return {made.text_seq: made for made in map(card_of, rows)}


def without_kept(cards: Iterable[Card]) -> dict[int, Card]:
    """By number in full text, without what only some of them have."""
    return {each.text_seq: each._replace(tokens=None, facts=None) for each in cards}


def test_cards_are_those_of_the_whole_rows_at_every_position(memory: Memory) -> None:
    for at in positions(memory):
        with memory._handle.space.reading(at) as reads:
            found = Cards(reads).of(range(1, memory.events.position + 1))
            assert without_kept(found) == whole(reads, at)
            rows = Cards(reads).rows(found)
            assert {doc: card_of(row) for doc, row in rows.items()} == without_kept(found)


def test_kept_tokens_and_facts_are_those_of_the_text(memory: Memory) -> None:
    """Of what may be recalled now; of all else they are made from the text."""
    memory.observe("Which port do I use?", session="s", id="e3")
    memory.observe("Use 9090. I always do, is it free?", role="assistant", session="s", id="e4")
    memory.remember("I prefer tea. Never ask again.", tags=["drinks"], id="r5")
    for at in positions(memory):
        with memory._handle.space.reading(at) as reads:
            found = Cards(reads).of(range(1, memory.events.position + 1))
            rows = Cards(reads).rows(found)
            kept = {each.id for each in found if each.tokens is not None}
            assert kept == ({"e3", "e4", "r3", "r5"} if at == NOW else set())
            for each in found:
                about = facts(each.text, of_person=each.role != "assistant")
                assert measured([each], (), 1.0).facts == [about]
                assert tokens_of(each) == tuple(token_list(each.text))
                if each.tokens is not None:
                    assert each.tokens == tokens(searched_text(rows[each.text_seq]))


def test_the_last_version_of_an_earlier_text_is_found_if_asked_for(memory: Memory) -> None:
    with memory._handle.space.reading() as reads:
        every = range(1, memory.events.position + 1)
        now = {(each.id, each.text) for each in Cards(reads).of(every)}
        last = {(each.id, each.text) for each in Cards(reads).of(every, past=True)}
        assert last - now == {("r1", "The port is 8080")}


def test_nothing_is_asked_for_no_text(memory: Memory) -> None:
    with memory._handle.space.reading() as reads:
        assert Cards(reads).of([]) == []
        assert Cards(reads).rows([]) == {}


def test_a_card_without_a_text_means_damage() -> None:
    with pytest.raises(Undecodable, match="version 7"):
        made([("r1", 7, 3, None, *[None] * (len(Card._fields) - 5))])


def test_a_wrong_card_is_noticed(memory: Memory) -> None:
    """The control: each column that differs makes the comparison fail."""
    with memory._handle.space.reading() as reads:
        made = next(iter(whole(reads, NOW).values()))
        for place in range(len(Card._fields)):
            assert Card._make([*made[:place], "something else", *made[place + 1 :]]) != made
