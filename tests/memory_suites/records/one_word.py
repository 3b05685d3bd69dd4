"""One word for each act: what each spelling does, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.presets import Preset
from recollect.model.values import INCLUDES, Record
from tests.memory_suites.recall.context import ONLY_SIMILAR
from tests.undone import brought_back


def _record(memory: Memory, id: str) -> Record:
    found = memory.get(id, include=INCLUDES)
    assert isinstance(found, Record)
    return found


class OneWordSuite:
    """``undo``, and the arguments that took the place of calls."""

    def test_an_undo_of_an_event_takes_back_its_command(self, memory: Memory) -> None:
        seat = memory.remember("Sits in row 3", id="seat")
        meal = memory.remember("Eats fish", id="meal")
        memory.revise(seat.id, "Sits in row 4")
        done = memory.undo(meal.seq)
        assert [change.id for change in done.events] == ["meal"]
        assert (done.record, _record(memory, "meal").status) == (None, "forgotten")
        assert _record(memory, "seat").text == "Sits in row 4"
        memory.undo(done.position)
        assert _record(memory, "meal").status == "active"

    def test_an_event_of_a_batch_stands_for_all_of_it(self, memory: Memory) -> None:
        with memory.batch() as batch:
            batch.remember("one", id="a")
            batch.remember("two", id="b")
            batch.link("a", "b", "near")
        first = _record(memory, "a").seq
        memory.remember("three", id="c")
        assert len(memory.undo(first, dry_run=True).events) == 3
        memory.undo(first)
        assert [record.id for record in memory.list()] == ["c"]

    def test_what_was_changed_again_is_not_taken_back_with_it(self, memory: Memory) -> None:
        seat = memory.remember("Sits in row 3", id="seat")
        later = memory.revise(seat.id, "Sits in row 4")
        with pytest.raises(Conflict, match=f"seat was changed again by event {later.seq}") as said:
            memory.undo(seat.seq)
        assert "with to= chooses" in (said.value.hint or "")  # before it nothing was there
        with pytest.raises(Conflict, match="changed again"):
            memory.undo(seat.seq, dry_run=True)
        memory.undo(later.seq)
        assert _record(memory, "seat").text == "Sits in row 3"

    def test_the_next_step_after_a_refused_undo_leads_there(self, memory: Memory) -> None:
        first = memory.remember("v1", id="v")
        second = memory.revise("v", "v2")
        memory.revise("v", "v3")
        with pytest.raises(Conflict, match="changed again") as said:
            memory.undo(second.seq)
        assert f"with to={first.seq} brings back" in (said.value.hint or "")
        assert brought_back(memory.undo("v", to=first.seq)).text == "v1"
        memory.settings.documents.set("note", "n", {"a": 1})
        here = memory.events.position
        memory.settings.documents.set("note", "n", {"a": 2})
        with pytest.raises(Conflict, match="changed again") as said:
            memory.undo(here)
        assert said.value.hint == "set it again as it should be"

    def test_a_preset_is_told_apart_from_a_record_of_the_same_name(self, memory: Memory) -> None:
        first = Preset(name="mine", weights=ONLY_SIMILAR, floor=0.0)
        memory.settings.presets.set(first)
        memory.settings.presets.set(structs.replace(first, floor=0.5))
        here = memory.events.position
        memory.remember("one", id="mine")
        memory.undo(here)
        assert memory.settings.presets.get("mine").floor == 0.0
        with pytest.raises(Conflict, match="mine was changed again by event"):
            memory.undo(here)

    def test_an_undo_of_an_event_replaces_no_later_record(self, memory: Memory) -> None:
        first = memory.remember("A", id="A", key="k")
        memory.forget("A")
        forgotten = memory.events.position
        memory.remember("B", id="B", key="k")
        for dry_run in (True, False):
            with pytest.raises(Conflict, match="'k' of A is held by B now") as refused:
                memory.undo(forgotten, dry_run=dry_run)
            assert f"with to={first.seq} " in (refused.value.hint or "")
        assert memory.get(key="k").id == "B"
        assert brought_back(memory.undo("A", to=first.seq)).id == "A"  # the next step
        assert _record(memory, "B").replaced_by == "A"

    def test_an_undo_of_an_event_gives_a_key_back_to_its_last_holder(self, memory: Memory) -> None:
        memory.remember("A", id="A", key="k")
        second = memory.remember("B", id="B", key="k")
        memory.used(None, ["B"])
        memory.undo(second.seq)  # B is of the same command
        assert memory.get(key="k").id == "A"

    def test_a_link_that_was_changed_again_is_not_taken_back(self, memory: Memory) -> None:
        memory.remember("one", id="a")
        memory.remember("two", id="b")
        memory.graph.link("a", "b", "near", weight=0.5)
        linked = memory.events.position
        memory.graph.link("a", "b", "near", weight=0.9)
        with pytest.raises(Conflict, match="link from a to b was changed again"):
            memory.undo(linked)
        memory.undo(memory.events.position)
        assert [link.weight for link in memory.graph.list().links] == [0.5]

    @pytest.mark.parametrize("wrong", [-1, True, 1.5, b"a"])
    def test_an_event_is_a_number(self, memory: Memory, wrong: Any) -> None:
        memory.remember("one", id="a")
        with pytest.raises(InvalidInput, match="a position"):
            memory.undo(wrong)
        assert _record(memory, "a").status == "active"

    def test_an_event_that_no_undo_takes_back(self, memory: Memory) -> None:
        first = memory.remember("one", id="a")
        for after in (99, 10**30):
            with pytest.raises(NotFound) as refused:
                memory.undo(after)
            said = f"the last event is {first.seq}" in refused.value.message
            assert said or memory.where.startswith("http")  # a service tells less
        memory.used(None, ["a"])
        with pytest.raises(Conflict, match="cannot be undone"):
            memory.undo(memory.events.position)  # a reinforcement
        memory.erase("a")
        with pytest.raises(Conflict, match="erased"):
            memory.undo(memory.events.position)
        with pytest.raises(Conflict, match=f"event {first.seq} was erased"):
            memory.undo(first.seq)
        with pytest.raises(NotFound):
            memory.get("a", include=INCLUDES)
        memory.remember("mine", id="m")
        waits = memory.scoped(trust="agent").revise("m", "its own").pending or ""
        asked = memory.events.position
        memory.review.reject(waits, memory.review.show(waits).digest)
        with pytest.raises(Conflict, match=f"proposal of event {asked} was decided"):
            memory.undo(asked)

    def test_a_number_as_text_is_told_apart(self, memory: Memory) -> None:
        memory.remember("one", id="a")
        with pytest.raises(NotFound) as refused:
            memory.undo("2")
        assert "pass the number 2" in (refused.value.hint or "") or memory.where.startswith("http")
        memory.remember("two", id="22222")  # an id may be all digits
        assert memory.undo("22222", dry_run=True).id == "22222"

    def test_another_users_event_is_not_there(self, memory: Memory) -> None:
        anns = memory.scoped(user="ann").remember("ann's", id="anns")
        bob = memory.scoped(user="bob")
        for dry_run in (True, False):
            with pytest.raises(NotFound):
                bob.undo(anns.seq, dry_run=dry_run)
        assert _record(memory, "anns").status == "active"

    def test_an_undo_of_the_same_twice_takes_back_the_first(self, memory: Memory) -> None:
        memory.remember("one", id="a")
        memory.revise("a", "two")
        assert brought_back(memory.undo("a")).text == "one"
        assert brought_back(memory.undo("a")).text == "two"
        memory.forget("a")
        assert brought_back(memory.undo("a")).status == "active"
        assert brought_back(memory.undo("a")).status == "forgotten"

    def test_an_undo_with_a_key_happens_once(self, memory: Memory) -> None:
        memory.remember("one", id="a")
        memory.forget("a")
        first = memory.undo("a", idempotency_key="once")
        assert memory.undo("a", idempotency_key="once") == first
        assert _record(memory, "a").status == "active"
        with pytest.raises(Conflict, match="once"):
            memory.undo("a", to=first.position, idempotency_key="once")

    def test_a_version_needs_its_record(self, memory: Memory) -> None:
        seat = memory.remember("one", id="a")
        memory.revise("a", "two")
        for what in (None, seat.seq):
            with pytest.raises(InvalidInput, match="version of one record"):
                memory.undo(what, to=seat.seq)
        planned = memory.undo("a", to=seat.seq, dry_run=True)
        assert ([change.what for change in planned.events], planned.undone_by) == (["revised"], ())
        assert brought_back(memory.undo("a", to=seat.seq)).text == "one"
        again = memory.undo("a", to=seat.seq)  # it is so already
        assert (again.undone_by, brought_back(again).text) == ((), "one")

    def test_what_was_replaced_comes_back_in_the_place_of_the_new_one(self, memory: Memory) -> None:
        for key in (None, "seat"):
            old = memory.remember(f"Row 3 {key}", key=key)
            new = memory.remember(f"Row 4 {key}", replaces=old.id)
            for holds, gone in ((old, new), (new, old), (old, new)):
                assert brought_back(memory.undo(new.id)).id == holds.id
                assert _record(memory, gone.id).replaced_by == holds.id
            assert brought_back(memory.undo(new.id)).id == new.id
            assert brought_back(memory.undo(old.id)).id == old.id  # named by the old one

    def test_a_batch_brings_nothing_back_beside_what_replaced_it(self, memory: Memory) -> None:
        for key in (None, "seat"):
            old = memory.remember(f"Row 3 {key}", key=key)
            new = memory.remember(f"Row 4 {key}", replaces=old.id)
            is_replaced = pytest.raises(Conflict, match=f"replaced by {new.id}")
            with is_replaced as refused, memory.batch() as batch:
                batch.undo(old.id)
            assert "outside the batch" in (refused.value.hint or "")
            assert _record(memory, old.id).status == "replaced"
            assert brought_back(memory.undo(old.id)).id == old.id
            assert _record(memory, new.id).replaced_by == old.id

    @pytest.mark.parametrize("by_version", [False, True])
    def test_a_key_has_its_holder_after_two_undos_of_an_old_one(
        self, memory: Memory, by_version: bool
    ) -> None:
        for text in ("A", "B", "C"):
            memory.remember(text, id=text, key="k")
        to = _record(memory, "A").created_at if by_version else None
        back = memory.undo("A", to=to)
        assert (brought_back(back).id, memory.get(key="k").id) == ("A", "A")
        shown = memory.undo("A", dry_run=True)
        assert {change.id for change in shown.events} == {"A", "C"}
        assert brought_back(memory.undo("A")).id == "C"
        assert memory.get(key="k").id == "C"
        assert [_record(memory, id).replaced_by for id in "ABC"] == ["B", "C", None]
        memory.undo("A")
        assert memory.get(key="k").id == "A"
        memory.forget("C")  # by its own change it stays gone
        memory.undo("A")
        assert _record(memory, "C").status == "forgotten"

    def test_a_dry_run_is_refused_like_the_undo(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        memory.remember("mine", id="p")
        memory.forget("p")
        memory.remember("new", id="n")
        agent.remember("its own", id="o")
        memory.revise("o", "a person's")
        memory.remember("second", id="s", replaces=memory.remember("first", id="f").id)
        memory.undo("f")
        for dry_run in (True, False):
            for id in "pofs":
                with pytest.raises(Forbidden):
                    agent.undo(id, dry_run=dry_run)
            with pytest.raises(Conflict, match="nothing came before"):
                memory.undo("n", to=0, dry_run=dry_run)
        assert memory.undo("p", dry_run=True).events
        assert brought_back(memory.undo("p")).status == "active"

    def test_replacing_what_does_not_hold_says_the_next_step(self, memory: Memory) -> None:
        mine = memory.remember("Row 3.", id="mine")
        memory.forget(mine.id)
        with pytest.raises(Conflict, match="is forgotten") as refused:
            memory.remember("Row 4.", replaces=mine.id)
        assert "`undo` brings it back" in (refused.value.hint or "")
        memory.scoped(user="ann").remember("Row 5.", id="anns")
        with pytest.raises(NotFound):
            memory.scoped(user="bob").remember("Row 6.", replaces="anns")
        with pytest.raises(InvalidInput, match="reason"):
            memory.remember("Row 7.", reason="moved")
        assert [record.text for record in memory.list()] == ["Row 5."]

    def test_a_new_record_has_the_tags_of_the_old_one_unless_some_are_given(
        self, memory: Memory
    ) -> None:
        for tags, told in ((None, ("a",)), (["b"], ("b",)), ([], ())):
            old = memory.remember(f"before {told}", tags=["a"])
            assert memory.remember(f"after {told}", replaces=old.id, tags=tags).tags == told

    def test_words_and_tags_change_together(self, memory: Memory) -> None:
        memory.remember("one", id="a", tags=["x"])
        here = memory.events.position
        made = memory.revise("a", "two", tags=["y"], untag=["x"], reason="moved")
        assert (made.text, made.tags) == ("two", ("y",))
        kinds = [event.kind for event in memory.events.list(after=here)]
        assert kinds == ["record.revised", "record.tagged"]
        memory.undo()
        assert (_record(memory, "a").text, _record(memory, "a").tags) == ("one", ("x",))
        with pytest.raises(InvalidInput, match="nothing to change") as refused:
            memory.revise("a", tags=[])
        assert "tags, untag, evidence" in (refused.value.hint or "")
        with memory.batch() as batch:
            batch.revise("a", "three", tags=["z"])
            batch.remember("four", id="b")
        assert [one.text for one in batch.results] == ["three", "four"]

    def test_words_that_only_wait_say_so_beside_tags_that_changed(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        made = agent.remember("one", id="a")
        memory.settings.documents.set("policy", "agents", {"update": "review"})
        alone = agent.revise(made.id, "two", idempotency_key="once")
        assert agent.revise(made.id, "two", idempotency_key="once") == alone
        tagged = agent.revise(made.id, "three", tags=["T"], idempotency_key="both")
        assert agent.revise(made.id, "three", tags=["T"], idempotency_key="both") == tagged
        assert (tagged.text, tagged.tags) == ("one", ("T",))
        waiting = {each.id: each.text for each in memory.review.list()}
        assert [waiting[str(each.pending)] for each in (alone, tagged)] == ["two", "three"]
        again = agent.revise(made.id, "three", tags=["U"])  # the same proposal waits already
        assert (again.tags, again.pending) == (("T", "U"), tagged.pending)
        assert agent.revise(made.id, tags=["V"]).pending is None
        memory.settings.documents.drop("policy", "agents")
        assert agent.revise(made.id, "four", tags=["W"]).pending is None

    def test_forgetting_with_what_was_derived_takes_no_more_words(self, memory: Memory) -> None:
        memory.remember("one", id="a")
        wrong: tuple[dict[str, Any], ...] = (
            {"dry_run": True}, {"derived": True, "reason": "wrong"},
            {"derived": True, "sources": "hide"}, {"derived": "yes"}, {"sources": ""},
        )  # fmt: skip
        for given in wrong:
            with pytest.raises(InvalidInput):
                memory.forget("a", **given)
        assert _record(memory, "a").status == "active"
        shown = memory.forget("a", derived=True, dry_run=True)
        assert (shown.taken, shown.seq) == (("a",), 0)
        assert memory.forget("a", derived=True, sources="keep").seq == memory.events.position

    def test_what_was_derived_comes_back_with_the_event_of_the_forgetting(
        self, memory: Memory
    ) -> None:
        memory.remember("one", id="a")
        memory.remember("two", id="b", evidence=["a"])
        memory.remember("old", id="c", key="k")
        memory.remember("three", id="d", key="k", evidence=["b"])
        done = memory.forget("a", derived=True)
        assert {record.id for record in memory.list()} == {"c"}
        memory.undo(done.seq)
        assert {record.id for record in memory.list()} == {"a", "b", "d"}
        memory.forget("a", derived=True)
        memory.undo("a")
        assert {record.id for record in memory.list()} == {"a", "c"}  # the source only

    def test_a_forgetting_names_its_event(self, memory: Memory) -> None:
        (said,) = memory.observe("one")
        memory.remember("two", id="b")
        for id in (said.id, "b"):
            done = memory.forget(id, idempotency_key=id)
            assert done.seq == memory.events.position
            assert memory.forget(id, idempotency_key=id) == done
            assert memory.forget(id).seq == 0
            memory.undo(done.seq)
        assert _record(memory, "b").status == "active"
        assert memory.sessions.episodes() == [said]

    def test_one_thing_says_what_is_erased(self, memory: Memory) -> None:
        memory.remember("one", id="a")
        wrong: tuple[dict[str, Any], ...] = (
            {"id": "a", "expired": True}, {"key": "k", "expired": True}, {},
        )  # fmt: skip
        for given in wrong:
            with pytest.raises(InvalidInput, match="exactly one of"):
                memory.erase(**given)
        with pytest.raises(InvalidInput):
            memory.erase(expired="yes")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="certificate"):
            memory.erase(expired=True, certificate=True)
        for unit in ("episode", "zzz"):
            for what in ({"expired": True}, {"key": "k"}, {"id": "a"}):
                with pytest.raises(InvalidInput, match="unit"):
                    memory.erase(**what, unit=unit)  # type: ignore[arg-type]
        assert memory.erase(expired=True).events == ()  # there is no retention
        assert _record(memory, "a").status == "active"

    def test_an_id_or_a_key_is_read(self, memory: Memory) -> None:
        record = memory.remember("one", key="k")
        assert memory.get(key="k") == memory.get(record.id) == record
        with pytest.raises(NotFound):
            memory.get(key=record.id)
        wrong: tuple[dict[str, Any], ...] = ({}, {"id": "k", "key": "k"})
        for given in wrong:
            with pytest.raises(InvalidInput, match="an id or a key"):
                memory.get(**given)
