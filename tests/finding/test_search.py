"""A handle for one user finds all that is theirs, however much there is of others."""

from __future__ import annotations

import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.index.reads import Reads

USERS = 40


@pytest.fixture(name="crowd")
def of_many_users() -> Memory:
    """Every user has one record and one episode about tea for each of three sentences."""
    memory = Memory.open(":memory:")
    for turn in range(3):
        for user in range(USERS):
            handle = memory.scoped(user=f"u{user}")
            handle.remember(f"Tea number {user} {turn} " + "and sugar " * ((user + turn) % 5))
            handle.observe(f"I said tea {user} {turn}")
    memory.admin.embed()
    return memory


@pytest.mark.parametrize("user", ["u0", "u7", f"u{USERS - 1}"])
def test_one_of_many_users_finds_their_own_in_the_order_of_all(crowd: Memory, user: str) -> None:
    everybody = crowd.recall("tea", k=6 * USERS).hits
    theirs = [hit.id for hit in everybody if (hit.record or hit.episode).scope.user == user]  # type: ignore[union-attr]
    found = [hit.id for hit in crowd.scoped(user=user).recall("tea", k=10).hits]
    assert len(found) == 6
    assert found == theirs


def test_a_user_finds_their_own_past_and_what_is_hidden(crowd: Memory) -> None:
    handle = crowd.scoped(user="u5")
    kept = {hit.id for hit in handle.recall("tea", unit="record").hits}
    before = crowd.events.position
    for id in kept:
        handle.forget(id)
    assert not handle.recall("tea", unit="record").hits
    assert {hit.id for hit in handle.at(before).recall("tea", unit="record").hits} == kept
    hidden = handle.recall("tea", unit="record", include=["forgotten"]).hits
    assert {hit.id for hit in hidden} == kept


@pytest.mark.parametrize(("texts", "found"), [(1_100, 1), (900, 20)])
def test_in_a_large_memory_a_word_that_most_texts_contain_finds_nothing(
    texts: int, found: int
) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        with memory.batch() as batch:
            for number in range(texts):
                batch.remember(f"Ticket {number} is about the kettle in room {number % 7}.")
            batch.remember("The kettle was a present of Ida.")
        hits = memory.recall("whose present is the kettle?", k=20).hits
        assert hits[0].text == "The kettle was a present of Ida."
        assert len(hits) == found


@pytest.mark.parametrize("embedder", ["none", "static"])
def test_a_filter_finds_what_many_others_stand_before(embedder: str) -> None:
    with Memory.open(":memory:", embedder=embedder) as memory:
        with memory.batch() as batch:
            for number in range(400):
                batch.remember(f"tea {number}", kind="short")
            for number in range(12):
                batch.remember(f"tea and {'word ' * 60}{number}", kind="long", id=f"r{number}")
            for number in range(300):
                batch.remember(f"gravel for the yard, load {number}", kind="long")
        found = {hit.id for hit in memory.recall("tea", k=12, filter="kind = 'long'").hits}
        assert found == {f"r{number}" for number in range(12)}


def test_an_episode_whose_record_comes_too_late_stands_for_itself() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        (said,) = memory.observe("The violin concert is on Friday at noon")
        late = "Among many other things that were said about life there was a violin"
        record = memory.remember(late, evidence=[said.id])
        for number in range(5):
            memory.remember(f"The violin concert, friday {number}")
        few = memory.recall("violin concert friday noon", k=3).hits
        assert few[0].id == said.id
        every = memory.recall("violin concert friday noon").hits
        assert said.id not in {hit.id for hit in every}
        (told,) = [hit for hit in every if hit.id == record.id]
        assert [source.id for source in told.sources] == [said.id]


@pytest.mark.parametrize("embedder", ["none", "static"])
def test_a_question_that_cannot_be_written_down_is_refused(embedder: str) -> None:
    with Memory.open(":memory:", embedder=embedder) as memory:
        memory.remember("The cello is here")
        for ask in (memory.recall, memory.context):
            with pytest.raises(InvalidInput, match="surrogate"):
                ask("cello \ud800")
            assert not ask("").hits


def test_a_user_hears_of_what_is_held_of_theirs_however_much_is_held_of_others() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        ann.scoped(trust="unverified").remember("tea and much else " * 20)
        with bob.scoped(trust="unverified").batch() as batch:
            for number in range(150):
                batch.remember(f"tea {number}")
        found = ann.recall("tea")
        assert (found.waiting, len(found.unverified)) == (1, 1)


def test_a_user_is_told_of_no_link_that_names_what_is_another_users() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        for id in ("hers", "hers-too"):
            ann.remember(f"Tea, {id}", id=id)
        bob.remember("A secret", id="his-secret")
        memory.graph.link("hers", "his-secret", "relates_to")
        memory.graph.link("hers", "hers-too", "relates_to")
        assert [link.target for link in ann.why("hers").links] == ["hers-too"]
        assert len(memory.why("hers").links) == 2


def test_a_recall_abstains_if_all_that_was_found_is_not_relevant_enough() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("Tea is served at four")
        memory.remember("The tea of the others", key="theirs")
        strict = memory.recall("tea", min_relevance=1.0)
        assert (len(strict), strict.abstained) == (0, True)
        assert [len(one) for one in memory.recall(["tea"], min_relevance=1.0)] == [0]
        assert not memory.recall("tea").abstained  # something is relevant enough
        assert not memory.recall(
            "tea", unit="episode", min_relevance=1.0
        ).abstained  # none is there
        assert not memory.recall("zebra", min_relevance=1.0).abstained
        assert not memory.recall("", min_relevance=1.0).abstained


def test_the_turns_of_a_session_are_counted_for_one_user_and_up_to_a_number() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        (first,) = memory.observe("One.", session="s")
        memory.observe("Two.", session="s")
        then = memory.events.position
        (other,) = memory.scoped(user="ann").observe("Three.", session="s")
        memory.observe("Four.", session="s")
        memory.scoped(trust="unverified").observe("Five.", session="s")
        (alone,) = memory.observe("Six.")
        with memory._handle.space.reading() as reads:
            asked = [first.seq, other.seq, alone.seq]
            assert reads.turns(asked, 256) == {first.seq: 3, other.seq: 1}
            assert reads.turns(asked, 2) == {first.seq: 2, other.seq: 1}
            assert Reads(reads.db, at=then).turns([first.seq], 256) == {first.seq: 2}
