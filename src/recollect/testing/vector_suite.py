"""The conformance suite of vectors: one test for each sentence of the port.

Responsible for behaviour. Leaves how an engine creates its spaces to the fixture ``backend``.
Invariant: the tests only use the port.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from recollect.errors import InvalidInput
from recollect.finding.vectors import Leg, catch_up
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.port import Backend, Space
from recollect.testing.embedders import WordEmbedder
from recollect.testing.rebuilding import rebuilt_digest

WORDS = "cats dogs birds boats trains planes coffee bread music rain".split()


def everything(seqs: Sequence[int]) -> set[int]:
    return set(seqs)


def numbers(space: Space) -> list[int]:
    with space.reading() as reads:
        return [seq for seq, _ in reads.texts_after(0, 10_000)]


class VectorSuite:
    """Subclass it, and define a fixture ``backend``."""

    @pytest.fixture
    def space(self, backend: Backend) -> Space:
        return backend.space("main", create=True)

    @pytest.fixture
    def memory(self, space: Space) -> Memory:
        return Memory(Handle(space))

    @pytest.fixture
    def leg(self, space: Space) -> Leg:
        embedder = WordEmbedder()
        return Leg(embedder, space.vectors(embedder.name, embedder.dimensions))

    def test_every_text_up_to_through_has_its_rows(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        assert leg.vectors.through() == 0
        assert leg.vectors.best(leg.embedder.embed_query("cats"), 5, everything) == []
        first = memory.remember("about cats")
        memory.revise(first.id, "about dogs")
        memory.observe("about birds\nand boats")
        memory.revise(first.id, tags=["animal"])
        done = catch_up(space, leg)
        assert (done.texts, done.pieces, done.missing) == (3, 4, 0)
        assert leg.vectors.through() == space.head().seq
        texts = numbers(space)
        assert leg.vectors.scores(leg.embedder.embed_query("about"), texts).keys() == set(texts)
        assert catch_up(space, leg).texts == 0
        memory.remember("about trains")
        assert catch_up(space, leg).texts == 1

    def test_a_text_is_as_near_as_its_best_piece(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        memory.observe("planes and rain\ncoffee")
        memory.observe("coffee and more")
        catch_up(space, leg)
        query = leg.embedder.embed_query("coffee")
        (near, score), (far, less) = leg.vectors.best(query, 5, everything)
        assert [near, far] == numbers(space)
        assert score == pytest.approx(1)
        assert 0 < less < 0.9
        assert leg.vectors.scores(query, [near, far, 10_000]) == {
            near: pytest.approx(score),
            far: pytest.approx(less),
        }

    def test_texts_that_are_not_accepted_push_no_other_out_of_the_best(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        for word in WORDS[:3]:
            memory.observe(f"{word} and coffee")
        trusted = set(numbers(space))
        for number in range(100):
            memory.observe("coffee" if number % 2 else "coffee coffee bread")
        catch_up(space, leg)
        query = leg.embedder.embed_query("coffee")
        found = leg.vectors.best(query, 3, trusted.intersection)
        assert {seq for seq, _ in found} == trusted
        assert leg.vectors.best(query, 2, trusted.intersection) == found[:2]
        assert leg.vectors.best(query, 3, lambda seqs: set()) == []
        # Control: filtering after the search would find nothing.
        assert not trusted.intersection(seq for seq, _ in leg.vectors.best(query, 3, everything))

    def test_a_texts_score_does_not_depend_on_what_else_is_kept(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        for n, word in enumerate(WORDS):
            memory.observe(f"{word} " * (n + 1) + WORDS[n - 1])
        trusted = numbers(space)
        catch_up(space, leg)
        query = leg.embedder.embed_query("cats birds coffee rain")
        before = leg.vectors.scores(query, trusted)
        first = leg.vectors.best(query, 5, set(trusted).intersection)
        for word in WORDS * 7:
            memory.observe(f"cats {word} rain")
        catch_up(space, leg)
        assert leg.vectors.scores(query, trusted) == before
        assert leg.vectors.best(query, 5, set(trusted).intersection) == first

    def test_of_texts_with_the_same_score_the_newest_comes_first(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        for _ in range(30):
            memory.observe("cats and dogs")
        catch_up(space, leg)
        found = leg.vectors.best(leg.embedder.embed_query("cats"), 7, everything)
        assert [seq for seq, _ in found] == sorted(numbers(space), reverse=True)[:7]
        assert len({score for _, score in found}) == 1

    def test_the_order_is_that_of_all_scores(self, space: Space, memory: Memory, leg: Leg) -> None:
        rng = np.random.default_rng(7)
        with memory.batch() as batch:
            for _ in range(300):
                batch.observe(" ".join(rng.choice(WORDS, 6)))
        catch_up(space, leg)
        texts = numbers(space)
        for question in ("cats rain", "coffee bread music", "boats"):
            query = leg.embedder.embed_query(question)
            scores = leg.vectors.scores(query, texts)
            ordered = sorted(scores.items(), key=lambda each: (-each[1], -each[0]))
            assert leg.vectors.best(query, 300, everything) == ordered
            odd = {seq for seq in texts if seq % 2}
            wanted = [each for each in ordered if each[0] in odd]
            assert leg.vectors.best(query, 20, odd.intersection) == wanted[:20]

    def test_expected_texts_are_found_like_all_others(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        rng = np.random.default_rng(8)
        with memory.batch() as batch:
            for _ in range(200):
                batch.observe(" ".join(rng.choice(WORDS, 6)))
        catch_up(space, leg)
        questions = ("cats rain", "coffee bread music", "boats", "cats rain")
        queries = np.stack([leg.embedder.embed_query(question) for question in questions])
        alone = [leg.vectors.best(query, 30, everything) for query in queries]
        leg.vectors.expect(queries)
        assert [leg.vectors.best(query, 30, everything) for query in queries] == alone
        leg.vectors.expect(queries)
        memory.observe("cats rain")  # the expectation does not cover a text that was added since
        catch_up(space, leg)
        assert leg.vectors.best(queries[0], 1, everything)[0][0] == max(numbers(space))

    def test_nothing_happens_if_there_is_a_gap_before(self, memory: Memory, leg: Leg) -> None:
        memory.observe("cats")
        row = leg.embedder.embed(["cats"])
        leg.vectors.add(1, 2, [(2, row)])
        assert leg.vectors.through() == 0
        leg.vectors.add(0, 2, [(2, row)])
        leg.vectors.add(0, 2, [(2, row)])
        assert leg.vectors.through() == 2
        assert len(leg.vectors.best(row[0], 5, everything)) == 1

    def test_another_embedder_has_vectors_of_its_own(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        memory.observe("cats")
        catch_up(space, leg)
        other = WordEmbedder("others", 32)
        vectors = space.vectors(other.name, other.dimensions)
        assert vectors.through() == 0
        assert catch_up(space, Leg(other, vectors)).texts == 1
        assert leg.vectors.through() == vectors.through()

    def test_a_row_of_other_dimensions_is_refused(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        memory.observe("cats")
        catch_up(space, leg)
        with pytest.raises(InvalidInput):
            leg.vectors.best(np.ones(3, np.float32), 5, everything)

    def test_an_erased_text_has_no_rows(self, space: Space, memory: Memory, leg: Leg) -> None:
        gone = memory.observe("cats")[0]
        memory.observe("cats and dogs")
        catch_up(space, leg)
        report = memory.erase(gone.id)
        assert any("vectors" in place for place in report.places)
        query = leg.embedder.embed_query("cats")
        scores = leg.vectors.scores(query, report.events)
        assert not any(scores.values())
        assert leg.vectors.through() > 0
        found = leg.vectors.best(query, 5, set(numbers(space)).intersection)
        assert [seq for seq, _ in found] == numbers(space)

    def test_who_encodes_while_another_erases_keeps_nothing_of_it(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        gone = memory.observe("cats")[0]
        kept = memory.observe("dogs")[0]
        texts = numbers(space)
        rows = leg.embedder.embed(["cats", "dogs"])
        through = space.head().seq
        memory.erase(gone.id)
        leg.vectors.add(0, through, [(texts[0], rows[:1]), (texts[1], rows[1:])])
        assert leg.vectors.through() == through
        assert leg.vectors.scores(rows[0], texts).keys() == {texts[1]}
        assert memory.get(kept.id).text == "dogs"

    def test_a_rebuilt_index_needs_no_new_vectors(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        for word in WORDS:
            memory.remember(f"about {word}")
        catch_up(space, leg)
        query = leg.embedder.embed_query("about rain")
        before = leg.vectors.best(query, 10, everything)
        digest = memory.admin.digest()
        assert rebuilt_digest(memory.admin) == digest
        assert leg.vectors.best(query, 10, everything) == before
        assert catch_up(space, leg).texts == 0

    def test_two_concurrent_encoders_encode_every_text_exactly_once(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        with memory.batch() as batch:
            for number in range(600):
                batch.observe(f"{WORDS[number % 10]} number {number}")
        threads = [threading.Thread(target=catch_up, args=(space, leg)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        query = leg.embedder.embed_query("number")
        found = leg.vectors.best(query, 1_000, everything)
        assert sorted(seq for seq, _ in found) == numbers(space)

    def test_a_recall_encodes_no_more_than_it_may_and_says_what_is_missing(
        self, space: Space, memory: Memory, leg: Leg
    ) -> None:
        with memory.batch() as batch:
            for number in range(25):
                batch.observe(f"number {number}\nand {number}")
        done = catch_up(space, leg, 10)
        assert (done.texts, done.pieces, done.missing) == (5, 10, 20)
        memory.observe("\n".join(f"line {n}" for n in range(40)))
        for _ in range(4):
            catch_up(space, leg, 10)
        assert catch_up(space, leg, 10).missing == 0  # a single text may have more
