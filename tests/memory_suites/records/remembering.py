"""The part of ``MemorySuite`` about remembering and observing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recollect.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from recollect.memory import Memory
from recollect.model.values import Record
from tests.memory_suites.behind import BehindSuite


class RememberingSuite(BehindSuite):
    """What is stored is returned unchanged, once."""

    def test_what_is_remembered_is_recalled(self, memory: Memory) -> None:
        record = memory.remember("The staging database moved to port 5433.")
        (hit,) = memory.recall("which port is staging on?")
        assert (hit.id, hit.unit, str(hit), hit.trust) == (
            record.id,
            "record",
            record.text,
            "person",
        )
        assert 0.0 < hit.relevance <= 1.0

    def test_a_record_has_safe_defaults(self, memory: Memory) -> None:
        record = memory.remember("Water freezes at 0°C", id="FACT-001")
        assert memory.get("FACT-001") == record
        assert (record.kind, record.status, record.how_known) == ("fact", "active", "told")
        assert (record.confidence, record.evidence, record.is_hypothesis) == (0.7, (), False)
        assert (record.tags, record.data, record.key, record.trust) == ((), {}, None, "person")

    def test_every_field_comes_back(self, memory: Memory) -> None:
        given = memory.remember(
            "0°C \u2028 \u0085 日本語 🧊",
            key="water.freezing",
            about="water",
            kind="hypothesis",
            tags=["physics", "cold"],
            data={"n": 1, "deep": {"er": [1.5, None, True]}},
            confidence=0.75,
            evidence=["NIST", "paper §4.2"],
            expires="2099-01-01",
            valid_from="2020-01-01",
            valid_to="2098-01-01T00:00:00+01:00",
            how_known="inferred",
            is_hypothesis=True,
            id="HYP-1",
        )
        found = memory.get("HYP-1")
        assert found == given
        assert isinstance(found, Record)
        assert found.data == {"n": 1, "deep": {"er": [1.5, None, True]}}
        assert found.valid_to == "2097-12-31T23:00:00.000000Z"
        assert memory.get(found.content_id) == found

    def test_saying_it_again_reinforces(self, memory: Memory) -> None:
        first = memory.remember("Tea is at four")
        again = memory.remember("Tea is at four", tags=["daily"], confidence=0.9)
        assert again.id == first.id
        assert (again.reinforcement_count, again.tags, again.confidence) == (1, ("daily",), 0.9)
        assert len(memory.list()) == 1
        assert memory.remember("tea is at four").id != first.id

    def test_an_id_is_of_one_record(self, memory: Memory) -> None:
        memory.remember("one", id="a")
        assert memory.remember("one", id="a").reinforcement_count == 1
        with pytest.raises(Conflict, match="exists"):
            memory.remember("two", id="a")
        memory.observe("hello", id="e")
        with pytest.raises(Conflict):
            memory.remember("hello", id="e")
        with pytest.raises(Conflict):
            memory.observe("other", id="a")

    def test_a_key_has_one_holder(self, memory: Memory) -> None:
        old = memory.remember("Alice sits in 12A", key="alice.seat")
        new = memory.remember("Alice sits in 14C", key="alice.seat")
        assert (new.replaces, new.status) == (old.id, "active")
        with pytest.raises(NotFound, match="replaced"):
            memory.get(old.id)
        before = memory.get(old.id, include=["replaced"])
        assert isinstance(before, Record)
        assert (before.status, before.reason, before.replaced_by) == (
            "replaced",
            "replaced",
            new.id,
        )
        assert [record.id for record in memory.list()] == [new.id]
        assert memory.remember("Alice sits in 14C", key="alice.seat").id == new.id

    def test_a_keyed_record_matches_the_same_text_without_a_key(self, memory: Memory) -> None:
        memory.remember("Alice takes the aisle seat", id="plain")
        keyed = memory.remember("Alice takes the aisle seat", key="alice.seat")
        assert keyed.replaces == "plain"
        assert memory.remember("Alice takes the aisle seat").id == keyed.id
        memory.remember("Alice takes the window seat", key="alice.seat")
        assert [str(hit) for hit in memory.recall("aisle seat")] == ["Alice takes the window seat"]

    def test_a_key_finds_its_holder(self, memory: Memory) -> None:
        with pytest.raises(NotFound, match=r"alice\.seat"):
            memory.get(key="alice.seat")
        old = memory.remember("Alice sits in 12A", key="alice.seat")
        new = memory.remember("Alice sits in 14C", key="alice.seat")
        assert memory.get(key="alice.seat") == new
        assert memory.at(old.seq).get(key="alice.seat").text == "Alice sits in 12A"
        memory.forget(new.id)
        with pytest.raises(NotFound):
            memory.get(key="alice.seat")
        assert memory.get(key="alice.seat", include=["replaced"]).id == old.id
        assert memory.get(key="alice.seat", include=["replaced", "forgotten"]).id == new.id

    def test_a_listing_takes_those_whose_key_starts_with_something(self, memory: Memory) -> None:
        for key in ("a.b", "a_b", "a%b", "A.b", "a.c"):
            memory.remember(f"The key is {key}", key=key)
        for begin, found in {
            "a.": {"a.b", "a.c"},
            "a_": {"a_b"},
            "a%": {"a%b"},
            "x": set(),
        }.items():
            records = memory.list(filter=f"key starts with '{begin}'")
            assert {record.key for record in records} == found
        assert memory.list(filter="not key starts with 'a'")[0].key == "A.b"

    def test_a_key_is_held_for_each_user_apart(self, memory: Memory) -> None:
        memory.remember("The seat is 1A", key="seat")
        memory.scoped(user="bob").remember("The seat is 2B", key="seat")
        assert memory.get(key="seat").text == "The seat is 1A"
        assert memory.scoped(user="bob").get(key="seat").text == "The seat is 2B"
        with pytest.raises(NotFound):
            memory.scoped(user="eve").get(key="seat")

    def test_an_unverified_record_under_a_key_shows_when_asked(self, memory: Memory) -> None:
        held = memory.scoped(trust="unverified").remember("The seat is 3C", key="seat")
        with pytest.raises(NotFound):
            memory.get(key="seat")
        assert memory.get(key="seat", include=["waiting"]).id == held.id
        own = memory.remember("The seat is 1A", key="seat")
        assert memory.get(key="seat", include=["waiting"]).id == own.id

    def test_a_revision_may_change_data_and_the_end(self, memory: Memory) -> None:
        note = memory.remember("A note", data={"n": 1}, expires="2099-01-01", evidence=["a letter"])
        more = memory.revise(note.id, "A note", data={"n": 2})
        assert (more.data, more.expires) == ({"n": 2}, note.expires)
        assert more.evidence == note.evidence
        endless = memory.revise(note.id, "A note", expires=None)
        assert (endless.data, endless.expires) == ({"n": 2}, None)
        soon = memory.revise(note.id, "A note", expires=timedelta(hours=1))
        assert soon.expires is not None
        assert memory.revise(note.id, "A note", data={"n": 2}) == soon
        assert [version.what for version in memory.history(note.id)] == ["added"] + 3 * ["revised"]

    def test_a_revision_sent_twice_happens_once(self, memory: Memory) -> None:
        note = memory.remember("A note")
        for _ in range(2):
            memory.revise(
                note.id, "A note", data={"n": 2}, expires=timedelta(hours=1), idempotency_key="once"
            )
        assert len(memory.history(note.id)) == 2
        with pytest.raises(Conflict):
            memory.revise(note.id, "A note", data={"n": 3}, idempotency_key="once")

    @pytest.mark.parametrize("id", ["", "a b", "x" * 200, "é"])
    def test_a_bad_id_is_refused(self, memory: Memory, id: str) -> None:
        with pytest.raises(InvalidInput):
            memory.remember("words", id=id)

    @pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -0.1, 1.1])
    def test_confidence_is_a_fraction(self, memory: Memory, confidence: float) -> None:
        with pytest.raises(InvalidInput):
            memory.remember("words", confidence=confidence)
        assert memory.list() == []

    def test_confidence_0_and_1_are_legal(self, memory: Memory) -> None:
        assert memory.remember("no", confidence=0.0).confidence == 0.0
        assert memory.remember("yes", confidence=1.0).confidence == 1.0

    def test_bad_words_are_refused(self, memory: Memory) -> None:
        for call in (
            lambda: memory.remember(""),
            lambda: memory.remember("a\0b"),
            lambda: memory.remember("\ud800"),
            lambda: memory.remember("x", how_known="guessed"),  # type: ignore[arg-type]
            lambda: memory.remember("x", data={"n": float("nan")}),
            lambda: memory.remember("x", tags="abc"),
            lambda: memory.observe("x", role="robot"),  # type: ignore[arg-type]
            lambda: memory.observe([]),
            lambda: memory.observe([{"role": "user", "content": " "}]),
            lambda: memory.forget("x", sources="burn"),  # type: ignore[arg-type]
            lambda: memory.recall("x", unit="page"),  # type: ignore[call-overload]
            lambda: memory.recall(7),  # type: ignore[call-overload]
            lambda: memory.recall("x", include=["everything"]),  # type: ignore[list-item]
            lambda: memory.recall("x", include="waiting"),  # type: ignore[arg-type]
            lambda: memory.list(limit=0),
            lambda: memory.at(-1),
            lambda: memory.graph.link("a", "b", weight=2.0),
        ):
            with pytest.raises(InvalidInput):
                call()
        with pytest.raises(LimitExceeded):
            memory.remember("x" * 2_000_000)

    def test_an_answer_is_a_copy(self, memory: Memory) -> None:
        record = memory.remember("words", id="a", data={"list": [1]}, tags=["t"])
        record.data["list"] = "changed"
        with pytest.raises(AttributeError):
            record.text = "changed"  # type: ignore[misc]
        again = memory.get("a")
        assert isinstance(again, Record)
        assert (again.text, again.data) == ("words", {"list": [1]})
        listed = memory.list()
        listed.clear()
        assert len(memory.list()) == 1

    def test_a_command_happens_once(self, memory: Memory) -> None:
        first = memory.remember("one", idempotency_key="req-1")
        memory.revise(first.id, "two")
        again = memory.remember("one", idempotency_key="req-1")
        assert (again.id, again.text) == (first.id, "one")
        assert len(memory.history(first.id)) == 2
        with pytest.raises(Conflict):
            memory.remember("other", idempotency_key="req-1")
        messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
        said = memory.observe(messages, idempotency_key="req-2")
        assert memory.observe(messages, idempotency_key="req-2") == said

    def test_a_repeated_call_may_not_exchange_what_changed_nothing(
        self, memory: Memory, engine: Memory
    ) -> None:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        bob.observe("The PIN is 4711.", id="bob-said")
        alice.observe("hi", id="greeting")
        alice.remember("Likes tea", id="tea", tags=["drink"])

        def said(*pairs: tuple[str, str]) -> list[dict[str, str]]:
            return [{"role": "user", "content": text, "id": id} for id, text in pairs]

        first = alice.observe(said(("new", "Hello"), ("greeting", "hi")), idempotency_key="a")
        again = alice.observe(said(("new", "Hello"), ("greeting", "hi")), idempotency_key="a")
        assert again == first
        for other in ("bob-said", "nobody"):  # the first would show what bob said
            with pytest.raises(Conflict, match="different call"):
                alice.observe(said(("new", "Hello"), (other, "hi")), idempotency_key="a")
        alice.observe(said(("one", "One"), ("two", "Two")), idempotency_key="c")
        with pytest.raises(Conflict):
            alice.observe(said(("one", "One")), idempotency_key="c")
        with alice.batch(idempotency_key="b") as batch:
            batch.revise("tea", tags=["drink"])
            batch.remember("Likes milk", id="milk")
        engine.admin.rebuild()  # the marks are in the ledger
        with pytest.raises(Conflict), alice.batch(idempotency_key="b") as batch:
            batch.forget("tea")  # would be lost: the first call did not forget it
            batch.remember("Likes milk", id="milk")
        with alice.batch(idempotency_key="b") as batch:
            batch.revise("tea", tags=["drink"])
            batch.remember("Likes milk", id="milk")
        assert [result.id for result in batch.results] == ["tea", "milk"]

    def test_a_hypothesis_is_settled(self, memory: Memory) -> None:
        memory.remember(
            "The gap is below 5 %",
            id="HYP-001",
            kind="hypothesis",
            is_hypothesis=True,
            confidence=0.75,
            how_known="inferred",
            evidence=["paper §4.2"],
        )
        settled = memory.remember(
            "The gap is below 5 %",
            id="HYP-001",
            is_hypothesis=False,
            confidence=1.0,
            how_known="observed",
            evidence=["paper §4.2", "bench-B-seed42"],
        )
        assert (settled.is_hypothesis, settled.confidence, settled.how_known) == (
            False,
            1.0,
            "observed",
        )
        assert settled.evidence == ("paper §4.2", "bench-B-seed42")
        assert settled.kind == "hypothesis"

    def test_yes_and_no_are_not_texts(self, memory: Memory) -> None:
        """The text "false" would count as true, and ``forget`` takes sources="keep"."""
        (said,) = memory.observe("I like tea", role="user")
        record = memory.remember("Likes tea", evidence=[said.id])
        for call in (
            lambda: memory.remember("A guess", is_hypothesis="false"),  # type: ignore[arg-type]
            lambda: memory.erase(record.id, sources="keep"),  # type: ignore[arg-type]
            lambda: memory.erase(record.id, dry_run="no"),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidInput, match="must be True or False"):
                call()
        assert (memory.get(said.id), memory.get(record.id)) == (said, record)

    # Observing.

    def test_messages_become_episodes(self, memory: Memory) -> None:
        episodes = memory.observe(
            [
                {"role": "user", "content": "I moved to Oslo", "id": "m1"},
                {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
                {"role": "tool", "content": "Oslo: 4°C"},
                {"role": "assistant", "content": [{"type": "tool_use", "name": "x"}]},
            ],
            session="s1",
            metadata={"intent": "update"},
        )
        assert [(e.role, e.trust) for e in episodes] == [
            ("user", "person"),
            ("assistant", "agent"),
            ("tool", "unverified"),
        ]
        assert episodes[0].id == "m1"
        assert episodes[1].text == "Noted."
        assert {e.scope.session for e in episodes} == {"s1"}
        assert episodes[0].metadata == {"intent": "update"}
        again = memory.observe({"role": "user", "content": "I moved to Oslo", "id": "m1"})
        assert again == [episodes[0]]
        assert memory.recall("oslo").hits[0].id == "m1"

    def test_an_episode_has_two_clocks(self, memory: Memory) -> None:
        (episode,) = memory.observe("long ago", said_at=datetime(2001, 2, 3, tzinfo=UTC))
        assert episode.said_at == "2001-02-03T00:00:00.000000Z"
        assert episode.at > "2025"
        assert memory.get(episode.id) == episode
        assert memory.sessions.episodes() == [episode]

    def test_a_record_says_when_it_was_said(self, memory: Memory) -> None:
        old = memory.remember("The office was in Oslo.", said_at="2001-02-03")
        new = memory.remember("The office is in Bergen.")
        assert (old.said_at, new.said_at) == ("2001-02-03T00:00:00.000000Z", None)
        assert old.at > "2025"
        assert memory.recall("Oslo")[0].at == old.said_at
        assert memory.recall("Bergen")[0].at == new.at
        assert [r.id for r in memory.list(filter="said_at < '2010-01-01'")] == [old.id]
        revised = memory.revise(old.id, "The office used to be in Oslo.")
        assert revised.said_at == old.said_at
        with memory.batch() as batch:
            batch.remember("The office was in Kiel.", said_at="1999-01-01")
        assert memory.recall("Kiel")[0].at == "1999-01-01T00:00:00.000000Z"
        again = memory.remember("The office is in Bergen.", said_at="2010-01-01")
        assert (again.id, again.said_at) == (new.id, "2010-01-01T00:00:00.000000Z")

    def test_roles_of_other_vendors_become_the_nearest(self, memory: Memory) -> None:
        episodes = memory.observe(
            [
                {"role": "developer", "content": "Answer in French."},
                {"role": "model", "content": "D'accord."},
                {"role": "function", "content": "42"},
                {"role": "User", "content": "Merci."},
                {"role": "user", "content": "Au revoir.", "said_at": "2001-02-03"},
            ],
            metadata={"app": "chat"},
        )
        assert [episode.role for episode in episodes] == [
            *("system", "assistant", "tool", "user", "user"),
        ]
        assert [episode.metadata.get("role") for episode in episodes] == [
            *("developer", "model", "function", "User", None),
        ]
        assert all(episode.metadata["app"] == "chat" for episode in episodes)
        assert episodes[-1].said_at == "2001-02-03T00:00:00.000000Z"
        with pytest.raises(InvalidInput, match="narrator") as unknown:
            memory.observe([{"role": "user", "content": "x"}, {"role": "narrator", "content": "y"}])
        assert "developer" in str(unknown.value.hint)

    def test_what_has_expired_already_is_refused(self, memory: Memory) -> None:
        for past in ("2020-01-01", timedelta(0), timedelta(days=-1)):
            with pytest.raises(InvalidInput, match="in the past"):
                memory.remember("sale ends", expires=past)
        record = memory.remember("sale ends", expires="2199-01-01")
        with pytest.raises(InvalidInput, match="in the past"):
            memory.revise(record.id, "sale ended", expires="2020-01-01")

    def test_evidence_is_folded_into_its_record(self, memory: Memory) -> None:
        (episode,) = memory.observe("I always sit in seat 12A")
        record = memory.remember("Alice sits in seat 12A", evidence=[episode.id, "ticket"])
        (hit,) = memory.recall("seat 12A")
        assert hit.id == record.id
        assert [source.quote for source in hit.sources] == ["I always sit in seat 12A"]
        why = memory.why(record.id)
        assert [source.id for source in why.sources] == [episode.id]
        assert (why.other_evidence, why.by) == (("ticket",), "person")
        with pytest.raises(InvalidInput):
            memory.why(episode.id)
        with pytest.raises(InvalidInput):
            memory.history(episode.id)
