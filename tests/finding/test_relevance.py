"""Relevance through the API: who influences it, what it lacks, and that the past keeps its own."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from recollect import Memory
from recollect.compose import Embedders
from recollect.config import Settings
from recollect.finding.candidates import CandidateSearch
from recollect.finding.questions import ask
from recollect.index.cards import Cards
from recollect.index.fold import episodes, erasure, records, state
from recollect.index.statements import NOW
from recollect.index.words.bm25 import score
from recollect.index.words.text import token_list
from recollect.memory.handle.handle import Handle
from recollect.model.events import Role
from recollect.model.values import Hit, Include
from recollect.recall.pack import hits_for
from recollect.store.indexed.backend import MemorySpace
from tests.index.test_past import differences, found
from tests.suites.histories import Clockwork, History

THINGS = "cello harp kettle ladder garden river winter market letter window bridge lamp".split()
QUESTIONS = [
    "Where is the cello?",
    "What did Ann say about the garden in winter?",
    "Can you recommend a lamp for the window?",
    "kettle letter",
    "something that was never said",
]
EMBEDDERS = pytest.mark.parametrize("embedder", ["none", "static"])


def told(memory: Memory, *, noise: int) -> None:
    """Six sessions of trusted turns and some records; unverified ones before, between and after."""
    rng = random.Random(11)
    nobody = memory.scoped(trust="unverified")
    for number in range(60):
        one, other = rng.sample(THINGS, 2)
        at = f"2024-03-{1 + number // 3:02}T10:00:00Z"
        session = f"s{number % 6}"
        for copy in range(noise):
            nobody.observe(
                f"Ann says {one} {other} {one}.",
                session=session,
                said_at=at,
                id=f"n{number}-{copy}",
            )
            nobody.remember(f"The {one} and the {other}, {copy}", id=f"bad{number}-{copy}")
        memory.observe(
            f"Ann: the {one} is near the {other}{'?' if number % 4 == 0 else '.'}",
            role="assistant" if number % 3 == 0 else "user",
            session=session,
            said_at=at,
            id=f"e{number}",
        )
        memory.remember(f"The {one} belongs to number {number}", id=f"r{number}")
        for copy in range(noise):
            nobody.graph.link(f"r{number}", f"bad{number}-{copy}", "relates_to")
    memory.admin.embed()


def answers(memory: Memory) -> list[list[tuple[object, ...]]]:
    return [
        [(hit.id, hit.text, hit.score, hit.relevance, hit.shares) for hit in memory.recall(query)]
        for query in QUESTIONS
    ]


@EMBEDDERS
def test_a_thousand_unverified_texts_and_links_move_no_trusted_hit(embedder: str) -> None:
    with Memory.open(":memory:", embedder=embedder) as plain:
        told(plain, noise=0)
        expected = answers(plain)
    with Memory.open(":memory:", embedder=embedder) as noisy:
        told(noisy, noise=9)
        assert answers(noisy) == expected
        assert len(noisy.recall("cello").unverified) > 0
    assert sum(map(len, expected)) >= 30


def test_control_with_one_table_for_all_they_would(monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(":memory:", embedder="none") as plain:
        told(plain, noise=0)
        expected = answers(plain)
    for module in (records, episodes, erasure, state):
        for name in {"recallable_record", "recallable_episode"} & vars(module).keys():
            monkeypatch.setattr(module, name, lambda row: True)
    with Memory.open(":memory:", embedder="none") as noisy:
        told(noisy, noise=9)
        assert answers(noisy) != expected


@EMBEDDERS
def test_every_share_of_every_hit_sums_to_its_score(embedder: str) -> None:
    with Memory.open(":memory:", embedder=embedder) as memory:
        told(memory, noise=1)
        for query in QUESTIONS:
            answer = memory.recall(query, k=hits_for(1_500))  # as deep as the context
            packed = memory.context(query, tokens=1_500, receipt=False).hits
            for hit in (*answer.hits, *answer.unverified, *packed):
                assert math.fsum(hit.shares.values()) == hit.score
            by_id: dict[str, Hit] = {hit.id: hit for hit in answer}
            for hit in packed:
                if hit.id in by_id:
                    assert hit.match == by_id[hit.id].shares


def test_the_words_signal_is_the_bm25_of_full_text(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        told(memory, noise=2)
        for number in (3, 8, 21):
            memory.forget(f"r{number}")
        memory.admin.rebuild()
        told_of = ["cello", "garden", "near"]
        with memory._handle.space.reading() as reads:
            statistics = reads.statistics(told_of)
            for doc, rank in reads.match("recallable", told_of, 200):
                (card,) = Cards(reads).of([doc])
                words = token_list(card.text)
                times = [*map(words.count, told_of)]
                assert score(len(words), times, statistics) == rank


def test_a_word_of_the_answer_before_helps_a_short_reply() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.observe("Which day suits you for the piano tuner?", session="a", id="q")
        memory.observe("Thursday, after lunch.", session="a", id="reply")
        memory.observe("Thursday is market day.", session="b", id="other")
        (first, *rest) = memory.recall("When does the piano tuner come?").hits
        replies = {hit.id: hit for hit in (first, *rest)}
        assert "reply" in replies
        assert replies["reply"].shares["answers"] > 0
        assert "other" not in replies


@EMBEDDERS
def test_another_users_turns_and_an_assistants_echoes_are_not_neighbours(embedder: str) -> None:
    question = "When does the piano tuner come?"

    def shares(
        who: str, session: str, role: Role = "user", before: str = question
    ) -> dict[str, float]:
        """Of Ann's reply in session a, when something is said before it in some session."""
        with Memory.open(":memory:", embedder=embedder) as memory:
            asks = memory.scoped(user=who)
            asks.observe(before, session=session, role=role)
            ann = memory.scoped(user="ann")
            ann.observe("Thursday, after lunch, with the tuner", session="a", id="mine")
            memory.observe("It rains.")
            memory.observe("It rains again.")
            (mine,) = (hit for hit in ann.recall("the piano tuner").hits if hit.id == "mine")
            return mine.shares

    elsewhere = shares("bob", "b")
    assert shares("bob", "a") == elsewhere
    assert "answers" not in elsewhere
    hers = shares("ann", "a")
    assert hers["answers"] > 0
    assert hers["coverage"] > elsewhere["coverage"]
    asked = shares("ann", "a", "assistant")
    assert (asked["answers"], asked["coverage"]) == (hers["answers"], hers["coverage"])
    for echo in ("The piano tuner comes.", f"{'It rains. ' * 30}{question}"):
        echoed = shares("ann", "a", "assistant", echo)
        assert "answers" not in echoed
        assert echoed["coverage"] == shares("bob", "b", "assistant", echo)["coverage"]


@pytest.mark.parametrize("include", [["replaced"], []])
def test_what_does_not_show_keeps_no_neighbour_away(include: list[Include]) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        ann = memory.scoped(user="ann")
        ann.observe("Whenever does that tuner of the old piano come?", session="a")
        ann.observe("Thursday, after lunch.", session="a", id="reply")
        stranger = memory.scoped(trust="unverified") if include else memory.scoped(user="bob")
        for number in range(30):
            stranger.observe("piano tuner", session=f"s{number}")
        found = ann.recall("piano tuner", include=include, k=2)
        assert "reply" in [hit.id for hit in found]


def test_what_is_unverified_pushes_out_nothing_that_is_included() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("The piano tuner is Ann of Bergen, who comes on Monday", key="t", id="then")
        memory.remember("Somebody else tunes it", key="t", id="now")
        for number in range(12):
            memory.remember(f"piano {number}")

        def found() -> list[Hit]:
            return list(memory.recall("piano tuner", include=["replaced"]))

        before = found()
        assert "then" in [hit.id for hit in before]
        nobody = memory.scoped(trust="unverified")
        for number in range(250):
            nobody.remember(f"piano tuner {number}")
        assert found() == before


def test_a_turn_of_another_user_in_a_session_of_that_name_parts_no_neighbours() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        for who in (ann, memory):
            who.observe("Which day suits you for the piano tuner?", session="main")
            bob.observe("It rains.", session="main")
            reply = who.observe("Thursday, after lunch.", session="main")[0]
            found = {hit.id: hit for hit in who.recall("When does the piano tuner come?").hits}
            assert found[reply.id].shares["answers"] > 0


def test_a_name_in_sessions_of_one_name_of_a_few_users_runs_not_through_the_memory() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        for number in range(20):
            user = memory.scoped(user=f"u{number}")
            for session in range(4):
                who = "Sarah" if number == session else "nobody"
                user.observe(f"A visit of {who}", session=f"s{session}")
        found = memory.scoped(user="u0").recall("When was the visit of Sarah?").hits
        assert found[0].text == "A visit of Sarah"
        assert found[0].shares["words"] > found[1].shares["words"]


def test_what_shares_no_word_has_to_be_near() -> None:
    with Memory.open(":memory:", embedder="static") as memory:
        memory.remember("My daughter plays the violin in an orchestra", id="violin")
        memory.remember("The boiler was repaired on Monday", id="boiler")
        assert [hit.id for hit in memory.recall("musical instruments")] in (["violin"], [])
        assert not memory.recall("zebra stripes").hits


def test_a_recall_says_what_it_goes_without(tmp_path: Path) -> None:
    lacking = f"static+onnx:{tmp_path / 'nowhere'}"
    with Memory.open(tmp_path / "w", embedder=lacking) as memory:
        memory.remember("Bob likes coffee.")
        answer = memory.recall("coffee")
        assert answer.degraded is not None
        assert "nowhere" in answer.degraded
        assert memory.context("coffee").degraded == answer.degraded
        assert answer.hits[0].shares["chunk"] > 0
        context = memory.context("coffee")
        assert memory.replay(context, query="coffee").same_order is None
    with Memory.open(tmp_path / "w", embedder="none") as memory:
        assert memory.recall("coffee").degraded is None
        assert "chunk" not in memory.recall("coffee").hits[0].shares


@pytest.mark.parametrize("where", [":memory:", "files"])
def test_many_questions_with_vectors_get_what_each_would_get(where: str, tmp_path: Path) -> None:
    rng = random.Random(12)
    near = "string instrument, boiling water, steps, flowers, stream, snow, shop, mail".split(", ")
    asked = [f"{one} or {other}" for one in near for other in near[:3]]  # more than fit together
    asked += [*QUESTIONS, "?", asked[0]]
    place = where if where == ":memory:" else tmp_path / where
    with Memory.open(place, embedder="static") as memory:
        bob = memory.scoped(user="bob")
        with memory.batch() as batch, bob.batch() as his:
            for number in range(400):
                said = " ".join(rng.sample(THINGS, 3))
                (his if number % 5 == 0 else batch).observe(said, session=f"s{number % 9}")
        memory.admin.embed()
        for eyes in (memory, memory.at(300), bob):
            many = eyes.recall(asked, k=20)
            assert many == [eyes.recall(query, k=20) for query in asked]
            assert any("words" not in hit.shares for found in many for hit in found)


def test_a_receipt_names_the_embedder_and_ranks_again_with_it() -> None:
    with Memory.open(":memory:", embedder="static") as memory:
        told(memory, noise=0)
        context = memory.context(QUESTIONS[1])
        assert context.receipt is not None
        told_with = memory.proof.receipts.get(context.receipt).embedder
        assert told_with is not None
        assert told_with.startswith("wordllama")
        memory.observe("Ann: the garden in winter, again and again", session="s1")
        assert memory.replay(context, query=QUESTIONS[1]).same_order is True


def test_with_vectors_too_the_past_is_what_it_was() -> None:
    settings = Settings(where=":memory:", why="tested", embedder="static")
    seam = Clockwork(9)
    memory = Memory(Handle(MemorySpace("main", seam), seam, embedders=Embedders(settings)))
    history = History(memory, seam, random.Random(9))
    history._acts = [(weight, act) for weight, act in history._acts if act != history.erase]
    seen = []
    with memory:
        for _ in range(30):
            history.play(1)
            seen.append((memory.events.position, seam.now(), found(memory)))
        assert any("chunk" in hit.shares for hit in memory.recall("river winter").hits)
        assert differences(memory, seen) == []


def test_texts_of_others_take_no_candidates_place() -> None:
    """However many of them hold the words better, a handle's own are looked at as deep."""
    with Memory.open(":memory:", embedder="none") as memory:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        with ann.batch() as batch:
            for number in range(150):
                batch.remember(f"cello {number}")
        bob.observe("Where may the cello be?", session="a")
        bob.observe("In the attic.", session="a", id="reply")
        with bob.batch() as batch:
            for number in range(30):
                batch.remember(f"A cello, a harp, a kettle and number {number}")
        assert len(bob.recall("the cello", k=40, include=["transient"])) == 32
        assert "reply" in {hit.id for hit in bob.recall("the cello", k=3)}
        wish, question = bob._handle.wish("any", (), None, None), bob._handle.ask("the cello")
        with bob._handle.space.reading() as reads:
            assert len(CandidateSearch(reads, question, wish)(25).rows) >= 25


@pytest.mark.parametrize("filtered", [{"unit": "record"}, {"filter": "kind = 'fact'"}])
def test_what_a_filter_leaves_out_takes_no_candidates_place(filtered: dict[str, str]) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        with memory.batch() as batch:
            for number in range(300):
                batch.observe(f"cello {number}")
            for number in range(30):
                batch.remember(f"A cello, a harp, a kettle and number {number}", kind="fact")
        (question,) = ask(memory._handle.space, NOW, ["cello"], None)
        wish = memory._handle.wish(filtered.get("unit", "any"), filter=filtered.get("filter"))
        with memory._handle.space.reading() as reads:
            looked = CandidateSearch(reads, question, wish)(25)
        wanted = [row for row in looked.rows if row.is_wanted]
        assert (len(wanted), looked.has_all_words) == (30, True)
        assert len(looked.rows) == 55  # the others beyond the depth are not weighed
        assert len(memory.recall("cello", k=100, **filtered)) == 30  # type: ignore[call-overload]
