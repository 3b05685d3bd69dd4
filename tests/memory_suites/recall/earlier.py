"""The part of ``MemorySuite`` about questions that ask for the value before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recollect.memory import Memory
from recollect.model.values import Hit

ASKED = "what was the old staging port?"
PLAIN = "which port is staging on?"


def _told(memory: Memory, query: str = ASKED) -> list[str]:
    return [hit.text for hit in memory.recall(query).hits]


def _first(memory: Memory, query: str = ASKED) -> Hit:
    return memory.recall(query)[0]


class EarlierSuite:
    """A question about an earlier value finds it, named as such; no other question does."""

    def test_an_earlier_value_of_a_key_comes_first(self, memory: Memory) -> None:
        old = memory.remember("The staging port is 5432.", key="staging.port")
        new = memory.remember("The staging port is 5439.", key="staging.port")
        first, second = memory.recall(ASKED)
        assert (first.id, first.text, first.until) == (old.id, old.text, new.at)
        assert first.current is not None
        assert (first.current.id, first.current.text) == (new.id, new.text)
        assert (second.id, second.until, second.current) == (new.id, None, None)
        assert first.score == pytest.approx(sum(first.shares.values()))
        assert first.relevance >= second.relevance

    def test_an_earlier_text_of_a_record_comes_first(self, memory: Memory) -> None:
        record = memory.remember("The staging port is 5432.")
        memory.used(None, [record.id])
        revised = memory.revise(record.id, "The staging port is 5439.")
        memory.used(None, [record.id])
        first, second = memory.recall("which port was staging on before?")
        assert (first.text, first.until) == (record.text, revised.at)
        assert first.current is not None
        assert first.current.text == revised.text
        assert (second.text, second.until) == (revised.text, None)

    def test_a_plain_question_finds_no_earlier_value(self, memory: Memory) -> None:
        memory.remember("The staging port is 5432.", key="staging.port")
        memory.remember("The staging port is 5439.", key="staging.port")
        for query in (PLAIN, "what was the staging port?", "old staging port", "staging port"):
            assert _told(memory, query) == ["The staging port is 5439."]
            assert "5432" not in memory.context(query).text
            assert _first(memory, query).until is None

    def test_the_newest_of_several_earlier_values_is_first(self, memory: Memory) -> None:
        for port in (1, 2, 3, 4, 5, 6):
            memory.remember(f"The staging port is 543{port}.", key="staging.port")
        assert _told(memory) == [f"The staging port is 543{port}." for port in (5, 4, 3, 6)]
        assert len(memory.recall(ASKED, k=2)) == 2

    def test_only_the_old_text_may_have_the_words(self, memory: Memory) -> None:
        memory.remember("Something else entirely about a port")
        record = memory.remember("Guests use the network acme-guest.")
        memory.revise(record.id, "Visitors get a cable.")
        found = _told(memory, "which network did guests use before?")
        assert found[:2] == ["Guests use the network acme-guest.", "Visitors get a cable."]
        assert _told(memory, "which network do guests use?") == []

    def test_only_the_key_may_have_the_words(self, memory: Memory) -> None:
        memory.remember("12A", key="alice.seat")
        memory.remember("14C", key="alice.seat")
        assert _told(memory, "what was Alice's old seat?") == ["12A", "14C"]

    def test_a_value_that_holds_again_is_no_earlier_one(self, memory: Memory) -> None:
        for port in (5432, 5439, 5432):
            memory.remember(f"The staging port is {port}.", key="staging.port")
        assert _told(memory) == ["The staging port is 5439.", "The staging port is 5432."]

    def test_what_was_erased_does_not_come_back(self, memory: Memory) -> None:
        old = memory.remember("The staging port is 5432.", key="staging.port")
        memory.remember("The staging port is 5439.", key="staging.port")
        memory.erase(old.id)
        assert _told(memory) == ["The staging port is 5439."]
        assert "5432" not in memory.context(ASKED).text

    def test_what_was_forgotten_does_not_come_back(self, memory: Memory) -> None:
        record = memory.remember("The staging port is 5432.")
        memory.revise(record.id, "The staging port is 5439.")
        memory.forget(record.id)
        assert _told(memory) == []
        old = memory.remember("The test port is 5432.", key="test.port")
        memory.remember("The test port is 5439.", key="test.port")
        memory.forget(old.id)
        assert _told(memory, "what was the old test port?") == ["The test port is 5439."]

    def test_what_has_expired_does_not_come_back(self, memory: Memory) -> None:
        soon = timedelta(microseconds=1)
        memory.remember("The staging port is 5432.", key="staging.port", expires=soon)
        memory.remember("The staging port is 5439.", key="staging.port")
        assert _told(memory) == ["The staging port is 5439."]

    def test_a_held_value_is_no_earlier_one(self, memory: Memory) -> None:
        stranger = memory.scoped(trust="unverified")
        memory.remember("The staging port is 5432.", key="staging.port")
        stranger.remember("The staging port is 6666.", key="staging.port")
        memory.remember("The staging port is 5439.", key="staging.port")
        found = memory.recall(ASKED)
        assert [hit.text for hit in found] == [
            "The staging port is 5432.",
            "The staging port is 5439.",
        ]
        assert [hit.text for hit in found.unverified] == ["The staging port is 6666."]
        assert "6666" not in memory.context(ASKED).text

    def test_another_users_earlier_value_stays_theirs(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        for handle, ports in ((ann, (1111, 2222)), (bob, (3333, 4444))):
            for port in ports:
                handle.remember(f"The staging port is {port}.", key="staging.port")
        assert _told(ann) == ["The staging port is 1111.", "The staging port is 2222."]
        assert _told(bob) == ["The staging port is 3333.", "The staging port is 4444."]

    def test_the_past_has_earlier_values_of_its_own(self, memory: Memory) -> None:
        first = memory.remember("The staging port is 5432.", key="staging.port")
        second = memory.remember("The staging port is 5439.", key="staging.port")
        memory.revise(second.id, "The staging port is 6001.")
        assert _told(memory.at(first.seq)) == [first.text]
        then = memory.at(memory.events.position - 1)
        assert _told(then) == [first.text, second.text]
        assert _first(then).current == then.get(second.id)
        assert _told(memory) == [second.text, first.text, "The staging port is 6001."]

    def test_a_filter_and_a_unit_hold_for_earlier_values(self, memory: Memory) -> None:
        memory.remember("The staging port is 5432.", key="staging.port", kind="note")
        memory.remember("The staging port is 5439.", key="staging.port", kind="fact")
        notes = memory.recall(ASKED, filter="kind = 'note'")
        assert [hit.text for hit in notes] == ["The staging port is 5432."]
        assert memory.recall(ASKED, unit="episode").hits == ()
        every = memory.recall(ASKED, include=["replaced"])
        assert sorted(hit.text for hit in every) == [
            "The staging port is 5432.",
            "The staging port is 5439.",
        ]

    def test_a_context_names_an_earlier_value_and_is_replayed(self, memory: Memory) -> None:
        memory.remember("The staging port is 5432.", key="staging.port")
        new = memory.remember("The staging port is 5439.", key="staging.port")
        other = memory.remember("The staging port for tests is 7000.")
        memory.revise(other.id, "The staging port for tests is 7001.")
        context = memory.context(ASKED)
        lines = context.text.splitlines()
        (old,) = [line for line in lines if "5432" in line]
        (now,) = [line for line in lines if "5439" in line]
        assert old.endswith(f"(an earlier value, until {new.at[:10]}; now [{new.id}])")
        assert lines.index(old) + 1 == lines.index(now)
        assert "earlier" not in now
        assert [line for line in lines if "7000" in line and f"now [{other.id}]" in line]
        assert context.receipt is not None
        memory.remember("The staging port is 1.", key="staging.port")
        replay = memory.replay(context, query=ASKED)
        assert (replay.text, replay.same_order) == (context.text, True)
        used = [record for record in memory.used(context) if record.reinforcement_count]
        assert [record.text for record in used] == ["The staging port for tests is 7001."]

    def test_why_not_says_that_an_earlier_value_is_there(self, memory: Memory) -> None:
        old = memory.remember("The staging port is 5432.", key="staging.port")
        new = memory.remember("The staging port is 5439.", key="staging.port")
        assert memory.admin.why_not(old.id, ASKED).reason == "there"
        assert memory.admin.why_not(new.id, ASKED).reason == "there"
        assert memory.admin.why_not(old.id, PLAIN).reason == "replaced"
        assert (
            memory.admin.why_not(old.id, "what was the old colour of the sky?").reason == "replaced"
        )
        assert memory.admin.why_not(old.id, ASKED, preset="task").reason == "there"

    def test_a_question_about_a_time_finds_what_held_then(self, memory: Memory) -> None:
        year = int(memory.remember("An anchor.").at[:4]) - 1
        for name, day in (("Dana", "01-10"), ("Priya", "04-02"), ("Tomasz", "08-01")):
            said = f"{year}-{day}T09:00:00Z"
            memory.remember(f"{name} leads the billing team.", key="billing.lead", said_at=said)
        for query, name in (
            (f"Who led the billing team in May {year}?", "Priya"),
            (f"who was leading the billing team in February {year}?", "Dana"),
            (f"who led the billing team in September {year}?", "Tomasz"),
            ("who leads the billing team?", "Tomasz"),
            (f"Who leads the billing team since May {year}?", "Tomasz"),
        ):
            assert _first(memory, query).text == f"{name} leads the billing team.", query
        then = _first(memory, f"Who led the billing team in May {year}?")
        assert then.until == f"{year}-08-01T09:00:00.000000Z"
        assert then.current is not None
        assert then.current.text == "Tomasz leads the billing team."

    def test_what_happened_at_a_time_brings_back_no_earlier_value(self, memory: Memory) -> None:
        year = int(memory.remember("An anchor.").at[:4]) - 1
        memory.remember("Standup is at nine.", key="standup", said_at=f"{year}-01-10T09:00:00Z")
        memory.remember("Standup is at ten.", key="standup", said_at=f"{year}-02-10T09:00:00Z")
        for query in (
            f"when is standup in May {year}?",
            f"what did I say about standup in May {year}?",
        ):
            assert "Standup is at nine." not in _told(memory, query)

    def test_the_past_knows_what_an_approved_record_replaced(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four.", key="tea")
        waits = memory.scoped(trust="agent").remember("Tea is at five.", key="tea")
        memory.review.approve(waits.id, memory.review.show(waits.id).digest)
        position, then = memory.events.position, memory.why(waits.id).replaced
        assert [record.id for record in then] == [mine.id]
        memory.undo(waits.id)
        assert memory.why(waits.id).replaced == ()
        assert memory.at(position).why(waits.id).replaced == then
