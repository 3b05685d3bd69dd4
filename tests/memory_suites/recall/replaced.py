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
    agent = memory.scoped(trust="agent")
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


def flood(memory: Memory, number: str = "5433") -> None:
    """Many values with the words that texts about staging have, each replaced at once."""
    words = f"staging port {number} deploy release use smoke test tag build image host"
    with memory.batch() as batch:
        for place in range(100):
            batch.remember(f"{words} n{place}", key="flood")
            batch.remember(f"m{place}", key="flood")


def _marks(memory: Memory) -> list[str]:
    """What holds in place of what the only message about staging states."""
    (hit,) = [hit for hit in memory.recall(ASKED) if hit.episode]
    return [record.text for record in hit.changed]


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
        assert memory.admin.why_not(said.id, ASKED, preset="task").reason == "unpacked"

    def test_a_person_is_marked_and_not_left_out_for_an_agent(self, memory: Memory) -> None:
        memory.observe("Staging is on port 5433.", session="s1")
        agent = memory.scoped(trust="agent")
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
        memory.observe("Staging is on port 5433 again.", said_at="2199-01-01")
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

    def test_with_all_users_in_view_each_change_marks_its_own_users_texts(
        self, memory: Memory
    ) -> None:
        for name in ("ann", "bob"):
            mine = memory.scoped(user=name)
            mine.observe(f"For staging use 5433, says {name}.", role="assistant")
            mine.remember("Staging is on port 5433.", key="staging.port")
        memory.scoped(user="bob").remember("Staging is on port 6000.", key="staging.port")
        marked = {hit.text: bool(hit.changed) for hit in memory.recall(ASKED) if hit.episode}
        assert marked == {
            "For staging use 5433, says ann.": False,
            "For staging use 5433, says bob.": True,
        }

    def test_an_agents_change_of_its_own_record_marks_no_record_of_a_person(
        self, memory: Memory
    ) -> None:
        agent = memory.scoped(trust="agent")
        for kept, own, changed, asked in (
            (
                "Production database is db-one.",
                "The production database is db-one.",
                "The production database is db-evil.",
                "which is the production database?",
            ),
            (
                "Der Schl\u00fcssel liegt bei Anna.",
                "Schl\u00fcssel: liegt bei Anna.",
                "Schl\u00fcssel: liegt bei Mallory.",
                "wo liegt der Schl\u00fcssel?",
            ),
        ):
            record = memory.remember(kept)
            agent.revise(agent.remember(own).id, changed)
            hits = {hit.id: hit for hit in memory.recall(asked)}
            assert hits[record.id].changed == ()
            lines = [line for line in memory.context(asked).text.splitlines() if kept in line]
            assert [line for line in lines if "since changed" in line] == []

    def test_a_persons_change_marks_a_record_of_the_same_trust(self, memory: Memory) -> None:
        kept = memory.remember("Use port 5433 for staging.")
        old = memory.remember("Staging is on port 5433.")
        memory.revise(old.id, "Staging is on port 6000.")
        hits = {hit.id: hit for hit in memory.recall(ASKED)}
        assert [each.id for each in hits[kept.id].changed] == [old.id]

    def test_another_service_on_the_new_port_corrects_nothing(self, memory: Memory) -> None:
        said = (
            "Grafana is on port 6000, staging is on port 5433.",
            "Got it, staging on 5433 and Grafana on port 6000.",
        )
        memory.observe(said[0], role="user", session="s1")
        memory.observe(said[1], role="assistant", session="s1")
        memory.remember("port 5433", key="staging.port")
        memory.remember("port 6000", key="staging.port")
        marked = {hit.text: len(hit.changed) for hit in memory.recall(ASKED) if hit.episode}
        assert marked == dict.fromkeys(said, 1)

    def test_who_speaks_is_the_user(self, memory: Memory) -> None:
        said = [
            *memory.observe("I'm vegetarian and I have two kids.", role="user"),
            *memory.observe("Since you are vegetarian I left out the ham.", role="assistant"),
        ]
        memory.observe("The vegetarian menu of the canteen has three soups.", role="assistant")
        memory.remember("The user is vegetarian.", key="diet")
        memory.remember("The user eats meat again.", key="diet")
        marked = [hit.text for hit in memory.recall("vegetarian?") if hit.changed]
        assert sorted(marked) == sorted(each.text for each in said)

    def test_a_number_in_another_spelling_is_the_same(self, memory: Memory) -> None:
        for key, old, new, said in (
            ("meeting", "The meeting is at 9.", "The meeting is at 10.", "the meeting is at nine"),
            ("termin", "Der Termin ist um 9.", "Der Termin ist um 11.", "Termin um neun"),
            ("budget", "Budget is 5000 euros.", "Budget is 7000 euros.", "budget is 5,000 euros"),
            ("price", "The price is 3,000.", "The price is 4,000.", "the price is 3k"),
        ):
            memory.observe(f"{said} and Bob knows all the rest of it", role="assistant")
            memory.remember(old, key=key)
            memory.remember(new, key=key)
            (hit,) = [hit for hit in memory.recall(said) if hit.text.startswith(said)]
            assert [each.text for each in hit.changed] == [new]

    def test_another_users_values_take_no_mark_away(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        ann.observe("For staging use 5433, and deploy from release.", role="assistant")
        ann.remember("Staging is on port 5433.", key="staging.port")
        ann.remember("Staging is on port 6000.", key="staging.port")
        flood(bob)
        (hit,) = [hit for hit in ann.recall(ASKED) if hit.episode]
        assert [each.text for each in hit.changed] == ["Staging is on port 6000."]

    def test_many_values_with_the_same_words_take_no_mark_away(self, memory: Memory) -> None:
        memory.observe("For staging use 5433, and deploy from release.", role="assistant")
        memory.remember("Staging is on port 5433.", key="staging.port")
        _moved(memory)
        flood(memory, "7777")
        (hit,) = [hit for hit in memory.recall(ASKED) if hit.episode and "5433" in hit.text]
        assert [each.text for each in hit.changed] == ["Staging is on port 6000."]

    def test_more_values_than_are_read_are_said_to_be_more(self, memory: Memory) -> None:
        with memory.batch() as batch:
            for number in range(45):
                batch.remember(f"Service {number} is on port {5000 + number}.", key=f"s{number}")
        with memory.batch() as batch:
            for number in range(45):
                batch.remember(f"Service {number} is switched off.", key=f"s{number}")
        every = ", ".join(f"service {number} is on {5000 + number}" for number in range(45))
        memory.observe(f"All of them: {every}.", role="assistant")
        found = memory.recall("which service is on which port?", k=60)
        assert "replaced values" in (found.degraded or "")
        assert len(next(hit for hit in found if hit.episode).changed) == 40

    def test_where_a_chain_is_broken_the_key_says_what_holds(self, memory: Memory) -> None:
        memory.observe("For staging use 5433.", role="assistant")
        _, _, between, _ = (
            memory.remember(f"Staging is on port {port}.", key="staging.port")
            for port in (5433, 7421, 7422, 6000)
        )
        assert len(_marks(memory)) == 1
        memory.erase(between.id)
        assert _marks(memory) == ["Staging is on port 6000."]

    def test_a_value_before_an_erased_one_is_still_replaced(
        self, memory: Memory, engine: Memory
    ) -> None:
        memory.observe("For staging use 5433.", role="assistant")
        for key in ("staging.port", None):
            old = memory.remember("Staging is on port 5433.", key=key)
            between = memory.remember("Staging is on port 7421.", replaces=old.id)
            memory.remember("Staging is on port 6000.", replaces=between.id)
            memory.erase(between.id)
            assert _marks(memory) == ["Staging is on port 6000."]
            engine.admin.rebuild()
            assert _marks(memory) == ["Staging is on port 6000."]

    def test_a_value_before_a_forgotten_one_is_replaced_by_the_next(self, memory: Memory) -> None:
        memory.observe("For staging use 5433.", role="assistant")
        memory.remember("Staging is on port 5433.", key="staging.port")
        memory.forget(_moved(memory).id)
        assert _marks(memory) == []
        _moved(memory, "Staging is on port 7421.")
        assert _marks(memory) == ["Staging is on port 7421."]
        memory.scoped(user="ann").remember("Staging is on port 1.", key="staging.port")
        assert _marks(memory) == ["Staging is on port 7421."]

    def test_a_value_at_the_end_of_a_long_text_is_marked(self, memory: Memory) -> None:
        memory.observe("An introduction. " * 700 + "Staging is on port 5433.", role="assistant")
        memory.remember("Staging is on port 5433.", key="staging.port")
        _moved(memory)
        assert MARK in memory.context(ASKED, tokens=9_000).text

    def test_a_value_that_came_back_in_other_words_is_not_marked(self, memory: Memory) -> None:
        _told(memory)
        _moved(memory)
        _moved(memory, "Staging runs on port 5433 again.")
        assert not any(hit.changed for hit in memory.recall(ASKED))
        _moved(memory, "Staging is not on port 5433 again.")
        assert any(hit.changed for hit in memory.recall(ASKED))

    def test_an_answer_that_is_not_all_looked_at_says_so(self, memory: Memory) -> None:
        memory.remember("Staging is on port 5433.", key="staging.port")
        _moved(memory)
        memory.observe(f"Staging: {'port ' * 100_000}", role="assistant")
        memory.observe("For staging use 5433.", role="assistant")
        found = memory.recall(ASKED)
        assert "replaced values" in (found.degraded or "")
        assert [hit.text for hit in found if hit.changed] == ["For staging use 5433."]
        assert "replaced values" in (memory.context(ASKED).degraded or "")

    def test_what_is_held_has_replaced_nothing(self, memory: Memory) -> None:
        _told(memory)
        held = memory.scoped(trust="unverified").remember(
            "Staging is on port 6000.", key="staging.port"
        )
        assert held.status == "waiting"
        assert not any(hit.changed for hit in memory.recall(ASKED))

    def test_the_past_is_as_it_was(self, memory: Memory) -> None:
        _told(memory)
        before = memory.events.position
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
        held = memory.scoped(trust="agent").remember("Tea is at five.", key="tea")
        (waiting,) = memory.review.list()
        memory.review.approve(waiting.id, waiting.digest)
        first, second = memory.recall("when was tea before?", unit="record")
        assert (first.id, second.id) == (old.id, held.id)
        assert [record.id for record in memory.why("tea").replaced] == [old.id]
        assert {entry.id for entry in memory.proof.audit(id="tea")} >= {old.id, held.id}
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
