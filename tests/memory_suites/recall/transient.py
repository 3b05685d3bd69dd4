"""The part of ``MemorySuite`` about what only asks, or orders something that is done once."""

from __future__ import annotations

from recollect.memory import Memory

ASKED = "what's the staging port"
PORT = "Staging is on port 6000."


def _told(memory: Memory, query: str = ASKED) -> list[str]:
    return [hit.text for hit in memory.recall(query)]


class TransientSuite:
    """What only asks stays for quoting and for the history, and does not answer."""

    def test_a_question_is_no_answer(self, memory: Memory) -> None:
        memory.remember(PORT, key="staging.port")
        for session in ("a", "b", "c"):
            memory.observe(ASKED, session=session)
            memory.observe("fix the smoke test so it uses the staging port", session=session)
        assert _told(memory) == [PORT]
        found = memory.context(ASKED)
        assert [hit.text for hit in found.hits] == [PORT]
        assert [one.text for one in memory.sessions.overview().changed] == [PORT]
        assert memory.sessions.overview().said == ()

    def test_questions_leave_the_relevance_of_an_answer_alone(self, memory: Memory) -> None:
        memory.observe(PORT, session="s")
        memory.remember("The staging server is called heron.")
        before = [(hit.text, hit.relevance, hit.shares) for hit in memory.recall(ASKED)]
        for number in range(5):
            memory.observe(ASKED, session=f"asked-{number}")
        after = [(hit.text, hit.shares.keys()) for hit in memory.recall(ASKED)]
        assert after == [(text, shares.keys()) for text, _, shares in before]
        assert memory.recall(ASKED)[0].relevance > 0.9 * before[0][1]

    def test_questions_take_no_place_of_an_answer(self, memory: Memory) -> None:
        memory.observe(f"{PORT} That is where the smoke test looks for it, and much more.")
        with memory.batch() as batch:
            for number in range(120):
                batch.observe(f"{ASKED} {number}", session=f"s{number}")
        assert len(_told(memory)) == 1

    def test_a_question_still_says_what_its_reply_is_about(self, memory: Memory) -> None:
        memory.observe("Where is the cello?", session="a")
        memory.observe("In the attic.", session="a")
        assert _told(memory, "where did we put the cello") == ["In the attic."]

    def test_what_states_something_is_recalled(self, memory: Memory) -> None:
        said = ("never deploy staging on Fridays", "fix the test, the staging port is 5433 now")
        for text in said:
            memory.observe(text, session="s")
        assert set(_told(memory, "staging")) == set(said)

    def test_include_brings_questions_back_without_a_share_for_answering(
        self, memory: Memory
    ) -> None:
        memory.observe("which port has staging?", session="s")
        memory.observe(ASKED, session="s")
        assert _told(memory) == []
        found = memory.recall(ASKED, include=["transient"])
        assert {hit.text for hit in found} == {ASKED, "which port has staging?"}
        assert not [hit for hit in found if "answers" in hit.shares]

    def test_a_question_about_what_was_asked_finds_questions(self, memory: Memory) -> None:
        memory.observe(ASKED, session="s")
        memory.observe("The staging port is in the wiki.", session="s")
        asked = "what did I ask about the staging port?"
        assert ASKED in _told(memory, asked)
        assert ASKED in [hit.text for hit in memory.context(asked).hits]

    def test_questions_stay_in_the_history(self, memory: Memory) -> None:
        said = memory.observe(ASKED, session="s")[0]
        assert [one.text for one in memory.sessions.recent()] == [ASKED]
        assert [one.text for one in memory.sessions.episodes()] == [ASKED]
        assert memory.get(said.id).text == ASKED

    def test_the_writer_may_say_whether_it_is_recalled(self, memory: Memory) -> None:
        memory.observe(ASKED, metadata={"transient": False})
        memory.observe("The staging port is asked for a lot.", metadata={"transient": True})
        memory.observe("Staging has a port.", metadata={"transient": "yes"})
        assert set(_told(memory)) == {ASKED, "Staging has a port."}

    def test_why_not_says_that_it_only_asks(self, memory: Memory) -> None:
        said = memory.observe(ASKED)[0]
        why = memory.admin.why_not(said.id, ASKED)
        assert (why.reason, why.detail) == (
            "transient",
            "it only asks, or orders something that is done once",
        )
        assert memory.admin.why_not(said.id, ASKED, include=["transient"]).reason == "there"
        assert memory.admin.why_not(said.id, ASKED, preset="task").reason == "transient"
        asked = "which port did I ask about?"
        assert memory.admin.why_not(said.id, asked).reason == "there"

    def test_a_filter_or_a_unit_leaves_questions_out_too(self, memory: Memory) -> None:
        memory.observe(ASKED, session="s")
        memory.observe("The staging port is in the wiki.", session="s")
        wiki = ["The staging port is in the wiki."]
        for found in (
            memory.recall(ASKED, unit="episode"),
            memory.recall(ASKED, filter="role = 'user'"),
        ):
            assert [hit.text for hit in found] == wiki

    def test_unverified_questions_are_not_listed_as_held(self, memory: Memory) -> None:
        nobody = memory.scoped(trust="unverified")
        nobody.observe(ASKED)
        nobody.observe("The staging port is 1.")
        found = memory.recall(ASKED)
        assert ([hit.text for hit in found.unverified], found.waiting) == (
            ["The staging port is 1."],
            1,
        )
