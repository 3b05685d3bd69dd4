"""The part of ``MemorySuite`` about revising, forgetting, linking and tagging."""

from __future__ import annotations

import pytest

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.values import Record
from tests.undone import brought_back


class ChangingSuite:
    """A change takes effect from then on, and reversible changes can be undone."""

    def test_a_revision_wins(self, memory: Memory) -> None:
        (episode,) = memory.observe("my flight is on Tuesday")
        record = memory.remember("The flight is on Tuesday", evidence=[episode.id])
        fixed = memory.revise(record.id, "The flight is on Friday", reason="rebooked")
        assert (fixed.id, fixed.text) == (record.id, "The flight is on Friday")
        assert [str(hit) for hit in memory.recall("flight Tuesday")] == ["The flight is on Friday"]
        assert "Tuesday" not in str(memory.context("flight"))
        assert memory.sessions.episodes() == []
        assert memory.sessions.episodes(include=["hidden"])[0].status == "hidden"
        shown = memory.recall("flight Tuesday", include=["replaced", "hidden"])
        assert {str(hit) for hit in shown} >= {"The flight is on Tuesday"}
        assert [v.note for v in memory.history(record.id)] == [None, "rebooked"]
        assert memory.revise(record.id, "The flight is on Friday") == fixed

    def test_forgetting_can_be_undone(self, memory: Memory) -> None:
        (mine,) = memory.observe("I like jazz")
        (shared,) = memory.observe("I like jazz and tea")
        record = memory.remember("Likes jazz", evidence=[mine.id, shared.id])
        memory.remember("Likes tea", evidence=[shared.id])
        done = memory.forget(record.id, reason="asked to")
        assert (done.hidden, done.showing) == ((mine.id,), (shared.id,))
        with pytest.raises(NotFound, match="forgotten"):
            memory.get(record.id)
        assert record.id not in [found.id for found in memory.list()]
        with pytest.raises(Conflict, match="`undo` brings it back"):
            memory.revise(record.id, "Likes swing")
        again = memory.forget(record.id)
        assert (done.seq, again.seq) == (memory.events.position, 0)  # there was nothing to do
        assert (again.hidden, again.showing) == (done.hidden, done.showing)
        back = brought_back(memory.undo(record.id))
        assert isinstance(back, Record)
        assert back.status == "active"
        with memory.batch() as batch:
            batch.undo(record.id)  # what holds stays as it is
        assert batch.results == [back]
        assert memory.recall("jazz")[0].id == record.id

    def test_what_was_forgotten_is_still_there(self, memory: Memory) -> None:
        memory.remember("words", id="a")
        memory.forget("a")
        found = memory.get("a", include=["forgotten"])
        assert isinstance(found, Record)
        assert found.status == "forgotten"
        assert [record.id for record in memory.list(include=["forgotten"])] == ["a"]
        assert memory.remember("words").id != "a"

    def test_sources_can_be_kept(self, memory: Memory) -> None:
        (episode,) = memory.observe("I like jazz")
        record = memory.remember("Likes jazz", evidence=[episode.id])
        assert memory.forget(record.id, sources="keep").showing == (episode.id,)
        assert [hit.id for hit in memory.recall("jazz")] == [episode.id]

    def test_an_episode_can_be_forgotten(self, memory: Memory) -> None:
        (episode,) = memory.observe("a slip of the tongue")
        assert memory.forget(episode.id).unit == "episode"
        assert memory.forget(episode.id).unit == "episode"
        assert list(memory.recall("tongue")) == []
        with pytest.raises(NotFound):
            memory.get(episode.id)
        undone = memory.undo(episode.id)
        assert (undone.id, undone.record, memory.get(episode.id)) == (episode.id, None, episode)
        assert [hit.id for hit in memory.recall("tongue")] == [episode.id]

    def test_a_key_is_not_restored_over_its_holder(self, memory: Memory) -> None:
        old = memory.remember("one", key="k")
        memory.forget(old.id)
        new = memory.remember("two", key="k")
        with pytest.raises(Conflict, match=new.id) as refused:
            memory.undo(old.id)
        assert f"to={old.seq}" in (refused.value.hint or "")
        memory.forget(new.id)
        back = brought_back(memory.undo(old.id))
        assert isinstance(back, Record)
        assert (back.status, back.replaced_by) == ("active", None)

    def test_tags_and_links(self, memory: Memory) -> None:
        a, b = memory.remember("one", tags=["x"]), memory.remember("two")
        assert memory.revise(a.id, tags=["y", "x"], untag=["z"]).tags == ("x", "y")
        assert memory.revise(a.id, untag=["x"]).tags == ("y",)
        link = memory.graph.link(a.id, b.id, "supports", weight=0.5)
        assert memory.graph.link(a.id, b.id, "supports", weight=0.5) == link
        assert memory.why(b.id).links == (link,)
        assert memory.graph.link(a.id, b.id, "supports", weight=0.9).weight == 0.9
        memory.graph.unlink(a.id, b.id, "supports")
        assert memory.why(a.id).links == ()
        with pytest.raises(NotFound):
            memory.graph.unlink(a.id, b.id, "supports")
        with pytest.raises(InvalidInput):
            memory.graph.link(a.id, a.id)
        with pytest.raises(NotFound):
            memory.graph.link(a.id, "nobody")

    def test_use_reinforces_and_recall_does_not(self, memory: Memory) -> None:
        record = memory.remember("The key is under the mat")
        memory.observe("where is the key?")
        context = memory.context("key mat")
        assert [hit.id for hit in memory.recall("mat")] == [record.id]
        assert memory.get(record.id) == record
        (used,) = memory.used(context, [record.id])
        assert used.reinforcement_count == 1
        assert memory.used(context)[0].reinforcement_count == 2
        assert memory.used(None, []) == []
        with pytest.raises(InvalidInput):
            memory.used(context, ["other"])

    def test_a_batch_is_all_or_nothing(self, memory: Memory) -> None:
        before = memory.events.position
        with memory.batch() as batch:
            batch.observe("hello", id="e")
            batch.remember("one", id="a", evidence=["e"])
            batch.remember("two", id="b")
            batch.revise("b", "three")
            batch.link("a", "b")
            batch.revise("a", tags=["t"])
            batch.used(["a"])
            batch.forget("b")
            batch.undo("b")
        assert [result.id for result in batch.results] == [*"eabbaaabb"]
        texts = {record.id: record.text for record in memory.list()}
        assert texts == {"a": "one", "b": "three"}
        assert memory.events.position == before + 9
        with pytest.raises(NotFound), memory.batch() as batch:
            batch.remember("four", id="c")
            batch.forget("nobody")
        with pytest.raises(ZeroDivisionError), memory.batch() as batch:
            batch.remember("five", id="d")
            raise ZeroDivisionError
        assert len(memory.list()) == 2
        with pytest.raises(Conflict), batch:
            batch.remember("six")
            with batch:
                pass
