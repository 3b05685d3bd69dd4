"""The part of ``MemorySuite`` about what was refuted, what is a guess and what is hardly believed.

Responsible for what a reader is told of it. Invariant: what was refuted is handed out only to who
asks for it, and everything else that is doubtful says so in its line.
"""

from __future__ import annotations

from recollect.memory import Memory
from recollect.model.presets import BUILT_IN, Preset
from recollect.model.values import Record

ASKED = "checkout latency and the cache"
REFUTED = "The cache halves the latency of checkout."
GUESSED = "The checkout latency comes from the database."
MEASURED = "Checkout latency is 400 ms."


def _beliefs(memory: Memory) -> tuple[Record, Record, Record]:
    """One that was refuted, a guess and a plain one."""
    return (
        memory.remember(REFUTED, confidence=0.0, tags=["latency"], key="checkout.cache"),
        memory.remember(GUESSED, is_hypothesis=True, confidence=0.3),
        memory.remember(MEASURED),
    )


def _ids(found: object) -> set[str]:
    return {hit.id for hit in found}  # type: ignore[attr-defined]


class DoubtSuite:
    """Recall and contexts do not take for true what is not believed."""

    def test_what_was_refuted_is_handed_out_only_if_asked_for(self, memory: Memory) -> None:
        refuted, guessed, measured = _beliefs(memory)
        assert _ids(memory.recall(ASKED)) == {guessed.id, measured.id}
        assert _ids(memory.recall(ASKED, unit="record")) == {guessed.id, measured.id}
        assert _ids(memory.recall(ASKED, filter="confidence < 0.5")) == {guessed.id}
        assert _ids(memory.recall([ASKED])[0]) == {guessed.id, measured.id}
        found = memory.recall(ASKED, include=["refuted"])
        assert _ids(found) == {refuted.id, guessed.id, measured.id}
        assert {each.id: each.doubt for each in (hit.record for hit in found) if each} == {
            refuted.id: "refuted",
            guessed.id: "hypothesis, confidence 0.30",
            measured.id: None,
        }
        assert _ids(memory.recall(ASKED, include=["forgotten"])) == {guessed.id, measured.id}

    def test_lists_and_the_history_show_it(self, memory: Memory) -> None:
        refuted, *_ = _beliefs(memory)
        found = memory.get(refuted.id)
        assert isinstance(found, Record)
        assert found.doubt == "refuted"
        assert refuted.id in {one.id for one in memory.list()}
        assert refuted.id in {one.id for one in memory.sessions.recent()}
        assert refuted.id in {one.id for one in memory.sessions.overview().changed}
        assert memory.sessions.overview().records == 3

    def test_a_context_leaves_it_out_and_marks_what_is_doubtful(self, memory: Memory) -> None:
        refuted, guessed, measured = _beliefs(memory)
        made = memory.context(ASKED)
        assert refuted.id not in made.text
        assert f"{GUESSED} [{guessed.id}] (hypothesis, confidence 0.30)" in made.text
        assert f"{MEASURED} [{measured.id}]\n" in made.text
        assert made.receipt is not None
        assert memory.replay(made.receipt).text == made.text

    def test_a_guarantee_is_of_what_may_be_believed(self, memory: Memory) -> None:
        refuted, *_ = _beliefs(memory)
        kept = memory.remember("Latency is measured at the edge.", tags=["latency"])
        preset = Preset(name="mine", weights=BUILT_IN["task"].weights, guarantees=("latency",))
        memory.settings.presets.set(preset)
        made = memory.context("nothing of this", preset="mine")
        assert kept.id in made.text
        assert refuted.id not in made.text
        assert memory.admin.why_not(refuted.id, ASKED, preset="mine").reason == "refuted"

    def test_why_not_says_that_it_was_refuted(self, memory: Memory) -> None:
        refuted, *_ = _beliefs(memory)
        why = memory.admin.why_not(refuted.id, ASKED)
        assert (why.reason, why.detail) == ("refuted", "it was refuted: its confidence is 0")
        assert memory.admin.why_not(refuted.id, ASKED, include=["refuted"]).reason == "there"

    def test_it_contradicts_and_replaces_nothing_in_an_answer(self, memory: Memory) -> None:
        refuted, _, measured = _beliefs(memory)
        memory.graph.link(refuted.id, measured.id, "contradicts")
        assert "contradicted" not in memory.context(ASKED).text
        assert [hit.corrected_by for hit in memory.recall(ASKED)] == [None, None]

    def test_it_takes_no_place_of_an_answer(self, memory: Memory) -> None:
        with memory.batch() as batch:
            for number in range(120):
                batch.remember(f"{REFUTED} In run {number}.", confidence=0.0)
            batch.remember(f"{MEASURED} That was measured in many runs, at the edge and inside.")
        assert len(memory.recall(ASKED).hits) == 1

    def test_the_past_is_as_it_was(self, memory: Memory) -> None:
        told = memory.remember(REFUTED, is_hypothesis=True, key="checkout.cache")
        position = memory.events.position
        memory.remember(REFUTED, key="checkout.cache", confidence=0.0, id="later")
        assert _ids(memory.at(position).recall(ASKED)) == {told.id}

    def test_what_says_no_confidence_is_not_marked(self, memory: Memory) -> None:
        memory.remember(MEASURED)
        memory.remember("Checkout latency was 0.6 s before.", confidence=0.6)
        assert "(" not in memory.context(ASKED).text
