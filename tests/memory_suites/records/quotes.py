"""The conformance suite of quotes: what counts as a person's words, on every engine.

Part of ``MemorySuite``. Subclass that, and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

from typing import Final

import pytest

from recollect.errors import Conflict, InvalidInput, LimitExceeded
from recollect.memory import Memory
from recollect.model.limits import EVIDENCE_MAX_COUNT, QUOTE_MAX_CHARS
from recollect.model.values import Quote, Record

_STAGING = "Staging is on 5432."
_MOVED = "Staging is on 5433."
_CLAIMS_NOTHING: Final = (
    "is tea at nine?",
    "Great. What about nine",
    "When was tea? At nine?",
    "Tea is at nine?",
    "So tea is at nine, right?",
    "Isn't tea at nine",
    "Remind me: is tea at nine",
    "I wonder whether tea is at nine.",
    "Tell me if tea is at nine",
    "please check whether tea is at nine, thanks",
    "Maybe tea is at nine.",
    "If it rains, tea might be at nine.",
)


class QuotesSuite:
    """Every engine passes this."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; defined by subclasses."""
        raise NotImplementedError

    def test_a_quote_is_evidence_like_its_episode(self, memory: Memory) -> None:
        (said,) = memory.observe("By the way,\n\n  staging is\ton 5433 now.")
        quote = Quote(said.id, " is on  5433 now")
        record = memory.remember(_MOVED, evidence=["a ticket", quote, said.id, quote])
        assert (record.evidence, record.trust) == (("a ticket", said.id), "person")
        assert [source.id for source in memory.why(record.id).sources] == [said.id]
        revised = memory.revise(record.id, "Staging is on 5434.", evidence=iter([quote]))
        assert revised.evidence == (said.id,)

    @pytest.mark.parametrize("words", ["is on 5434", "Is on 5433", "is on5433", "5433 now .", "…"])
    def test_words_that_do_not_occur_are_refused(self, memory: Memory, words: str) -> None:
        record = memory.remember(_STAGING)
        (said,) = memory.observe("staging is on 5433 now.")
        (other,) = memory.observe("is on 5434")
        position = memory.events.position
        with pytest.raises(InvalidInput, match="do not occur") as refused:
            memory.remember(_MOVED, evidence=[other.id, Quote(said.id, words)])
        assert refused.value.hint is not None
        assert "as it is written" in refused.value.hint
        with pytest.raises(InvalidInput, match="do not occur"):
            memory.revise(record.id, _MOVED, evidence=[Quote(said.id, words)])
        assert memory.events.position == position

    def test_a_quote_names_an_episode_that_its_author_sees(self, memory: Memory) -> None:
        record = memory.remember(_STAGING)
        (secret,) = memory.scoped(user="ann").observe(_MOVED)
        ben = memory.scoped(user="ben")
        for handle, id in ((memory, "nobody"), (memory, record.id), (ben, secret.id)):
            with pytest.raises(InvalidInput, match="no episode here has this id"):
                handle.remember("It moved.", evidence=[Quote(id, "5433")])

    def test_a_quote_has_limits(self, memory: Memory) -> None:
        (said,) = memory.observe("tea " * QUOTE_MAX_CHARS)
        words = [Quote(said.id, said.text[:length]) for length in range(1, EVIDENCE_MAX_COUNT + 1)]
        memory.remember("Tea.", evidence=words)
        with pytest.raises(LimitExceeded, match="quotes"):
            memory.remember("More tea.", evidence=[*words, Quote(said.id, "a")])
        with pytest.raises(LimitExceeded, match="quote is longer"):
            memory.remember(
                "More tea.", evidence=[Quote(said.id, said.text[: QUOTE_MAX_CHARS + 1])]
            )
        with pytest.raises(InvalidInput, match="a quote is empty"):
            memory.remember("More tea.", evidence=[Quote(said.id, " ")])

    def test_an_agent_replaces_a_persons_record_with_a_persons_words(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        mine = memory.remember(_STAGING, key="staging.port")
        (said,) = memory.observe("Good morning! I moved staging, is on 5433 since today.")
        for evidence in ([said.id], [Quote(said.id, "I moved staging")], [Quote(said.id, "433")]):
            assert agent.revise(mine.id, _MOVED, evidence=evidence).pending
            held = agent.remember(_MOVED, key="staging.port", evidence=evidence)
            assert (held.status, held.trust) == ("waiting", "agent")
        words = [Quote(said.id, "is on 5433")]
        assert agent.revise(mine.id, "Staging moved.", evidence=words).pending  # not quoted
        assert memory.get(mine.id) == mine
        moved = agent.remember(_MOVED, key="staging.port", evidence=words)
        assert (moved.status, moved.trust, moved.replaces) == ("active", "agent", mine.id)

    def test_a_part_of_a_word_is_not_what_was_said(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        mine = memory.remember(_STAGING)
        (said,) = memory.observe("Not 15433, that is the office.")
        assert agent.revise(mine.id, _MOVED, evidence=[Quote(said.id, "5433")]).pending

    def test_only_a_persons_later_words_count(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        (early,) = memory.observe(_MOVED)
        mine = memory.remember(_STAGING)
        (answer,) = memory.observe(_MOVED, role="assistant")
        (claimed,) = agent.observe(_MOVED, role="user")
        (taken_back,) = memory.observe(_MOVED)
        memory.forget(taken_back.id)
        (result,) = memory.observe(_MOVED, role="tool")
        (said,) = memory.observe("Hello, it is 5433 now.")
        for wrong in (early, answer, claimed, taken_back, result):
            assert agent.revise(mine.id, _MOVED, evidence=[Quote(wrong.id, "5433")]).pending
        both = [Quote(said.id, "5433"), Quote(result.id, "5433")]
        assert agent.revise(
            mine.id, _MOVED, evidence=both
        ).pending  # a tool's words lower the whole
        assert memory.get(mine.id) == mine
        both = [Quote(answer.id, "5433"), Quote(said.id, "5433")]
        moved = agent.revise(mine.id, _MOVED, evidence=both)  # the control
        assert (moved.text, moved.trust) == (_MOVED, "agent")

    def test_a_batch_takes_quotes_of_what_it_observes(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        mine = [memory.remember(f"Port {number} is closed.", key=f"p{number}") for number in "123"]
        memory.observe("Port one is open.", id="e1")
        with memory.batch() as batch:
            batch.observe("Port two is open.", id="e2")
            batch.remember("Two ports are open.", evidence=["e1", Quote("e2", "two is open")])
        with agent.batch() as batch:
            for number, record in enumerate(mine[:2], 1):
                quote = Quote(f"e{number}", "is open.")
                batch.revise(record.id, f"Port {number} is open.", evidence=[quote])
            batch.remember("Port 2 is free.", key="p2", evidence=[Quote("e2", "open")])
        assert [made.text for made in batch.results[:2]] == ["Port 1 is open.", "Port 2 is open."]
        with pytest.raises(InvalidInput, match="do not occur"), agent.batch() as batch:
            batch.observe("Port three is open.", id="e3")
            batch.revise(mine[2].id, "Port 3 is open.", evidence=[Quote("e3", "closed")])
        third = memory.get(mine[2].id)
        assert isinstance(third, Record)
        assert third.text == "Port 3 is closed."

    def test_a_repeated_call_has_the_same_quotes(self, memory: Memory) -> None:
        (said,) = memory.observe("Staging is on 5433 now, and on 5434 tomorrow.")
        words = [Quote(said.id, "on 5433")]
        first = memory.remember(_MOVED, evidence=words, idempotency_key="c")
        assert memory.remember(_MOVED, evidence=words, idempotency_key="c") == first
        for other in ([said.id], [Quote(said.id, "on 5434")]):
            with pytest.raises(Conflict):
                memory.remember(_MOVED, evidence=other, idempotency_key="c")

    def test_a_quote_is_of_the_same_user(self, memory: Memory) -> None:
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        (said,) = ben.observe("the tea is at nine")
        words = [Quote(said.id, "at nine")]
        for record in (ann.remember("Tea is at four."), memory.remember("Tee um vier.")):
            late = memory.scoped(trust="agent")
            assert late.revise(record.id, "Tea is at nine.", evidence=words).pending
        (hers,) = ann.observe("my tea is at nine")
        mine = ann.scoped(trust="agent").revise(
            ann.list()[0].id, "Tea is at nine.", evidence=[Quote(hers.id, "at nine")]
        )
        assert (mine.text, mine.pending) == ("Tea is at nine.", None)  # the control

    def test_a_question_opens_nothing(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        tea = memory.remember("Tea is at four.")
        for text in _CLAIMS_NOTHING:
            (asked,) = memory.observe(text)
            words = [Quote(asked.id, "nine")]
            assert agent.revise(tea.id, "Tea is at nine.", evidence=words).pending, text
        (said,) = memory.observe("Is it late? Can you move tea to nine?")
        done = agent.revise(tea.id, "Tea is at nine.", evidence=[Quote(said.id, "tea to nine")])
        assert (done.text, done.pending) == ("Tea is at nine.", None)  # the control

    def test_what_a_person_denied_opens_nothing(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        tea = memory.remember("Tea is at four.")
        for text in ("Don't move tea to nine.", "Tea is never at nine!", "Tee ist nicht um nine."):
            (said,) = memory.observe(text)
            words = [Quote(said.id, "nine")]
            assert agent.revise(tea.id, "Tea is at nine.", evidence=words).pending, text
        (said,) = memory.observe("Tea is at nine, not at four.")
        words = [Quote(said.id, "at nine")]
        assert agent.revise(tea.id, "Tea is not at nine.", evidence=words).pending
        done = agent.revise(tea.id, "Tea is at nine, no longer at four.", evidence=words)
        assert done.pending is None  # the control

    def test_a_sentence_that_may_be_about_anything_opens_one_record(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        hosts = [
            memory.remember(f"{name} runs on host one.", key=f"{name}.host")
            for name in ("alpha", "beta", "gamma")
        ]
        (said,) = memory.observe("it is green now")
        words = [Quote(said.id, "green")]
        pending = [
            agent.revise(host.id, f"{host.key} is green", evidence=words).pending for host in hosts
        ]
        assert [one is None for one in pending] == [True, False, False]
        (both,) = memory.observe(
            "beta and the gamma box are blue now"
        )  # the control: it names them
        words = [Quote(both.id, "blue")]
        for host in hosts[1:]:
            done = agent.revise(host.id, f"{host.key} is blue", evidence=words)
            assert done.pending is None

    def test_words_that_were_said_before_do_not_count_whenever_they_come(
        self, memory: Memory
    ) -> None:
        agent = memory.scoped(trust="agent")
        tea = memory.remember("Tea is at four.")
        (old,) = memory.observe("Tea is at nine.", said_at="2020-01-01T00:00:00Z")
        words = [Quote(old.id, "at nine")]
        assert agent.revise(tea.id, "Tea is at nine.", evidence=words).pending
