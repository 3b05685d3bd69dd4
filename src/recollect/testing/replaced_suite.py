"""The part of ``MemorySuite`` about texts that still state a value which was replaced."""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.memory import Memory
from recollect.model.values import Episode, Quote, Record

ASKED = "which port is staging on?"
OTHER = "which branch do we deploy from?"
BOTH = "Please remember that staging is on port 5433 and that we deploy from the release branch."
ECHO = "Noted: staging is on port 5433; deploys come from release."
MARK = "since changed: Staging is on port 6000."


def _told(memory: Memory) -> Episode:
    """A message with two facts, an assistant's echo, and a record of each fact."""
    (said,) = memory.observe(BOTH, session="s1")
    memory.observe(ECHO, role="assistant", session="s1")
    agent = memory.scoped(origin="agent")
    for key, text, words in (
        ("staging.port", "Staging is on port 5433.", "staging is on port 5433"),
        ("deploy.branch", "Deploys come from the release branch.", "we deploy from the release"),
    ):
        agent.remember(text, key=key, evidence=[Quote(episode=said.id, words=words)])
    return said


def _moved(memory: Memory, text: str = "Staging is on port 6000.") -> Record:
    return memory.remember(text, key="staging.port")


def _lines(text: str, value: str = "5433") -> list[str]:
    return [line for line in text.splitlines() if value in line]


class ReplacedSuite:
    """What still states a replaced value says what holds now, or is left out."""

    def test_a_message_with_another_fact_keeps_it_and_says_what_changed(
        self, memory: Memory
    ) -> None:
        _told(memory)
        assert MARK not in memory.context(ASKED).text
        _moved(memory)
        for query in (ASKED, OTHER):
            lines = _lines(memory.context(query).text)
            assert [line for line in lines if MARK not in line] == []
        assert any(
            "deploys come from release" in line for line in _lines(memory.context(ASKED).text)
        )

    def test_recall_names_what_holds_now(self, memory: Memory) -> None:
        said = _told(memory)
        new = _moved(memory)
        hits = {hit.text: hit for hit in memory.recall(OTHER)}
        assert [record.id for record in hits[ECHO].changed] == [new.id]
        branch = hits["Deploys come from the release branch."]
        assert branch.changed == ()
        assert [source.id for source in branch.sources] == [said.id]
        assert [record.id for record in branch.sources[0].changed] == [new.id]

    def test_a_text_that_says_nothing_else_is_left_out_of_a_context(self, memory: Memory) -> None:
        (said,) = memory.observe("Staging is on port 5433.", session="s1")
        (echo,) = memory.observe("Noted: staging is on 5433.", role="assistant", session="s1")
        memory.remember("Staging is on port 5433!", key="staging.port")
        new = _moved(memory)
        context = memory.context(ASKED)
        assert context.ids == (new.id,)
        left = {omitted.id: omitted for omitted in context.omitted}
        assert {left[id].reason for id in (said.id, echo.id)} == {"replaced"}
        assert left[echo.id].by == (new.id,)
        assert new.id in left[echo.id].detail
        assert {said.id, echo.id} <= {hit.id for hit in memory.recall(ASKED) if hit.changed}
        assert memory.why_not(said.id, ASKED, frame="task").reason == "unpacked"

    def test_a_person_is_marked_and_not_left_out_for_an_agent(self, memory: Memory) -> None:
        memory.observe("Staging is on port 5433.", session="s1")
        agent = memory.scoped(origin="agent")
        agent.remember("Staging is on port 5433!", key="staging.port")
        _moved(agent)
        assert [MARK in line for line in _lines(memory.context(ASKED).text)] == [True]

    def test_an_answer_in_the_same_conversation_may_say_little(self, memory: Memory) -> None:
        (said,) = memory.observe("I live in Porto.", session="s1")
        memory.observe("Porto it is, how lovely.", role="assistant", session="s1")
        memory.observe("Porto is famous for its bridges.", role="assistant", session="s2")
        memory.remember("The user lives in Porto.", key="home", evidence=[said.id])
        memory.remember("The user lives in Lisbon.", key="home")
        hits = {hit.text: hit for hit in memory.recall("what about Porto?")}
        assert [each.text for each in hits["Porto it is, how lovely."].changed] == [
            "The user lives in Lisbon."
        ]
        assert hits["Porto is famous for its bridges."].changed == ()

    def test_a_revised_value_counts_as_one_of_a_key(self, memory: Memory) -> None:
        record = memory.remember("Staging is on port 5433.")
        memory.observe("For staging use 5433, and run the smoke test.", role="assistant")
        memory.revise(record.id, "Staging is on port 6000.")
        (echo,) = [hit for hit in memory.recall(ASKED) if hit.episode]
        assert [each.id for each in echo.changed] == [record.id]

    def test_what_a_person_says_later_is_news(self, memory: Memory) -> None:
        _told(memory)
        _moved(memory)
        memory.observe("Staging is on port 5433 again.", said_at="2999-01-01")
        (news,) = [hit for hit in memory.recall(ASKED) if hit.text.endswith("again.")]
        assert news.changed == ()

    def test_a_value_that_came_back_is_not_marked(self, memory: Memory) -> None:
        _told(memory)
        _moved(memory)
        _moved(memory, "Staging is on port 5433.")
        assert not any(hit.changed for hit in memory.recall(ASKED))

    def test_the_correction_itself_is_not_marked(self, memory: Memory) -> None:
        _told(memory)
        (said,) = memory.observe("Sorry, staging is on port 6000, not 5433.", session="s2")
        memory.remember("Staging is on port 6000.", key="staging.port", evidence=[said.id])
        (record,) = [
            hit for hit in memory.recall(ASKED) if hit.record and hit.record.key == "staging.port"
        ]
        assert [source.changed for source in record.sources] == [()]

    def test_another_users_change_marks_nothing(self, memory: Memory) -> None:
        for name, port in (("ann", 6000), ("bob", 5433)):
            mine = memory.scoped(user=name)
            mine.observe("For staging use 5433, and run the smoke test.", role="assistant")
            mine.remember("Staging is on port 5433.", key="staging.port")
            mine.remember(f"Staging is on port {port}.", key="staging.port")
        assert any(hit.changed for hit in memory.scoped(user="ann").recall(ASKED))
        assert not any(hit.changed for hit in memory.scoped(user="bob").recall(ASKED))

    def test_what_is_held_has_replaced_nothing(self, memory: Memory) -> None:
        _told(memory)
        held = memory.scoped(origin="unverified").remember(
            "Staging is on port 6000.", key="staging.port"
        )
        assert held.status == "held"
        assert not any(hit.changed for hit in memory.recall(ASKED))

    def test_the_past_is_as_it_was(self, memory: Memory) -> None:
        _told(memory)
        before = memory.position
        _moved(memory)
        assert any(hit.changed for hit in memory.recall(ASKED))
        assert not any(hit.changed for hit in memory.at(before).recall(ASKED))

    def test_a_replay_has_the_same_marks(self, memory: Memory) -> None:
        _told(memory)
        new = _moved(memory)
        context = memory.context(ASKED)
        assert MARK in context.text
        _moved(memory, "Staging is on port 7000.")
        replay = memory.replay(context, query=ASKED)
        assert (replay.text, replay.same_order) == (context.text, True)
        memory.erase(new.id)
        assert "since changed: [erased]" in memory.replay(context).text

    def test_an_erased_record_has_replaced_nothing(self, memory: Memory) -> None:
        _told(memory)
        new = _moved(memory)
        memory.erase(new.id)
        assert not any(hit.changed for hit in memory.recall(ASKED))

    def test_a_value_replaced_by_a_review_is_an_earlier_value(self, memory: Memory) -> None:
        old = memory.remember("Tea is at four.", key="tea")
        memory.observe("Tea is at four, and there is cake.", role="assistant")
        held = memory.scoped(origin="agent").remember("Tea is at five.", key="tea")
        (waiting,) = memory.review.list()
        memory.review.approve(waiting.id, waiting.digest)
        first, second = memory.recall("when was tea before?", unit="record")
        assert (first.id, second.id) == (old.id, held.id)
        assert [record.id for record in memory.why("tea").replaced] == [old.id]
        assert {entry.id for entry in memory.audit(id="tea")} >= {old.id, held.id}
        (cake,) = [hit for hit in memory.recall("when is tea?") if "cake" in hit.text]
        assert [record.id for record in cake.changed] == [held.id]

    def test_an_earlier_value_ended_when_the_next_was_said(self, memory: Memory) -> None:
        said_at = datetime(2026, 10, 14, 9, tzinfo=UTC)
        memory.remember("Staging is on port 5433.", key="staging.port")
        (said,) = memory.observe("Staging is on port 6000 now.", said_at=said_at)
        memory.remember("Staging is on port 6000.", key="staging.port", evidence=[said.id])
        query = "what was the old staging port?"
        assert memory.recall(query)[0].until == said.said_at
        assert "an earlier value, until 2026-10-14" in memory.context(query).text
        (later,) = memory.observe("It is 7000 now.", said_at=datetime(2026, 10, 20, tzinfo=UTC))
        (record,) = [each for each in memory.list() if each.key == "staging.port"]
        memory.revise(record.id, "Staging is on port 7000.", evidence=[later.id])
        assert [hit.until for hit in memory.recall(query)][:2] == [later.said_at, said.said_at]
        memory.remember(
            "Staging is on port 8000.", key="staging.port", said_at="2026-10-25T00:00:00Z"
        )
        assert (memory.recall(query)[0].until or "")[:10] == "2026-10-25"
