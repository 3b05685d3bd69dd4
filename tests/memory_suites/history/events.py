"""The conformance suite of the list of events: it is the same on every engine.

Subclass ``EventsSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

import msgspec
import pytest

from recollect.errors import InvalidInput, NotFound, Unsupported
from recollect.ledger.scan import scan
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from tests.memory_suites.behind import BehindSuite

LONG = "Likes swing. " * 40


def fill(memory: Memory, engine: Memory) -> tuple[str, str]:
    """An event of each kind that a caller can cause; the ids of an episode and a record."""
    ids = fill_own(memory)
    preset = {**memory.settings.presets.get("task").to_dict(), "name": "mine"}
    memory.settings.presets.set(preset)
    memory.settings.presets.set({**preset, "tokens": 700})
    memory.settings.presets.drop("mine")
    engine.admin.seal()
    memory.admin.flush()
    return ids


def fill_own(memory: Memory) -> tuple[str, str]:
    """The same for what one user can do."""
    (said,) = memory.observe("I like jazz", role="user", session="s")
    record = memory.remember("Likes jazz", evidence=[said.id], key="music")
    other = memory.remember("Likes tea")
    for _ in range(2):  # said again, a link is added again
        memory.graph.link(record.id, other.id, "relates_to")
    memory.graph.unlink(record.id, other.id, "relates_to")
    memory.revise(record.id, LONG)
    memory.revise(other.id, tags=["drink"])
    memory.used(memory.context("tea"))
    memory.forget(said.id)
    memory.undo(said.id)
    memory.forget(other.id)
    memory.undo(other.id)
    memory.remember("Likes fado", key="music")
    memory.admin.flush()
    return said.id, record.id


class EventsSuite(BehindSuite):
    """The list says what the ledger says, and to whom it may."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; subclasses say where."""
        raise NotImplementedError

    def test_every_event_is_listed_in_its_order(self, memory: Memory, engine: Memory) -> None:
        fill(memory, engine)
        lines = [line for append in scan(handle_of(engine).space.pieces()) for line in append.lines]
        found = memory.events.list()
        assert [(one.seq, one.kind, one.at, one.by) for one in found] == [
            (line.seq, line.kind, line.at, line.origin) for line in lines
        ]
        assert {one.kind for one in found} >= {
            "space.opened",
            "link.removed",
            "frame.dropped",
            "episode.restored",
            "context.handed",
            "record.superseded",
            "ledger.sealed",
        }
        engine.admin.rebuild()
        assert memory.events.list() == found

    def test_an_event_says_what_happened_to_what(self, memory: Memory, engine: Memory) -> None:
        said, record = fill(memory, engine)
        found = {one.kind: one for one in memory.events.list()}
        first = found["episode.observed"]
        assert (first.unit, first.id, first.what, first.text) == (
            "episode",
            said,
            "observed",
            "I like jazz",
        )
        assert (first.scope.session, first.trust, first.erased) == ("s", "person", False)
        revised = found["record.revised"]
        assert (revised.id, revised.key, revised.text) == (record, "music", LONG[:280])
        assert found["link.removed"].text == f"{record} relates_to {found['record.tagged'].id}"
        assert found["frame.set"].id == found["frame.dropped"].id == "mine"
        assert found["ledger.sealed"].unit == "ledger"

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
    def test_pages_make_up_the_whole(self, memory: Memory, engine: Memory, size: int) -> None:
        fill(memory, engine)
        memory.erase(memory.remember("Gone.").id)
        whole = memory.events.list()
        forward = list(page := memory.events.list(limit=size))
        while page:
            page = memory.events.list(after=page[-1].seq, limit=size)
            forward += page
        assert forward == whole
        backward = page = memory.events.list(before=whole[-1].seq + 1, limit=size)
        while page:
            page = memory.events.list(before=page[0].seq, limit=size)
            backward = [*page, *backward]
        assert backward == whole
        between = memory.events.list(after=3, before=6)
        assert between == whole[3:5]

    def test_events_of_some_kinds_or_of_one_id(self, memory: Memory, engine: Memory) -> None:
        said, record = fill(memory, engine)
        whole = memory.events.list()
        kinds = ["record.added", "frame.set", "ledger.sealed", "link.removed"]
        assert memory.events.list(kinds=kinds) == [one for one in whole if one.kind in kinds]
        assert [one.what for one in memory.events.list(id=said)] == [
            "observed",
            "forgotten",
            "restored",
        ]
        about = memory.events.list(id=record)
        assert about == [
            one for one in whole if one.id == record or record in (one.text or "").split()
        ]
        assert {one.kind for one in about} >= {"link.added", "link.removed", "record.superseded"}
        revised = [one for one in about if one.what == "revised"]
        last = memory.events.list(
            id=record, before=about[-1].seq, limit=2, kinds=["record.revised"]
        )
        assert last == revised
        assert [one.what for one in memory.events.list(id="mine")] == ["set", "set", "dropped"]
        assert memory.events.list(id="nobody") == []

    def test_what_was_erased_shows_its_place_alone(self, memory: Memory, engine: Memory) -> None:
        said, record = fill(memory, engine)
        before = memory.events.list()
        memory.erase(record)
        after = {one.seq: one for one in memory.events.list()}
        gone = {one.seq for one in before if one.id in (said, record)}
        assert {seq for seq, one in after.items() if one.erased} == gone
        for seq in gone:
            one = after[seq]
            assert (one.kind, one.id, one.text, one.key, one.unit) == (None,) * 5
            assert one.at == next(old.at for old in before if old.seq == seq)
        assert "jazz" not in str(after)
        assert after[max(after)].kind == "events.erased"
        engine.admin.rebuild()
        assert {one.seq: one for one in memory.events.list()} == after

    def test_events_of_then(self, memory: Memory, engine: Memory) -> None:
        fill(memory, engine)
        whole = memory.events.list()
        for position in range(1, whole[-1].seq + 1):
            then = memory.at(position)
            known = whole[: then.events.position]  # commands that were complete by then
            assert then.events.list() == known
            assert then.events.list(before=position + 1, limit=2) == known[-2:]

    def test_a_handle_for_one_user_lists_its_own(self, memory: Memory, engine: Memory) -> None:
        fill(memory, engine)
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        mine, theirs = fill_own(ann), fill_for(ben)
        memory.graph.link(mine[1], theirs[1], "relates_to")  # tells ann of ben's record
        memory.erase(theirs[1])
        for one in ann.events.list():
            assert one.scope.user == "ann"
            assert theirs[1] not in str(one)
        whole = memory.events.list(limit=1000)
        assert ann.events.list() == [
            one
            for one in whole
            if one.scope.user == "ann" and theirs[1] not in (one.text or "").split()
        ]
        assert ann.events.list(id=theirs[0]) == ann.events.list(id=theirs[1]) == []
        assert {one.kind for one in ann.events.list()} >= {"record.revised", "link.removed"}

    def test_an_event_is_shown_as_the_ledger_has_it(self, memory: Memory, engine: Memory) -> None:
        _, record = fill(memory, engine)
        appends = list(scan(handle_of(engine).space.pieces()))
        for line in (line for append in appends for line in append.lines):
            shown = memory.events.get(line.seq)
            header = (shown.seq, shown.first, shown.last, shown.id, shown.at)
            assert header == (line.seq, line.first, line.last, line.id, line.at)
            assert (shown.kind, shown.by) == (line.kind, line.origin)
            assert (shown.hash, shown.previous_hash) == (line.hash, line.prev)
            assert line.data is not None
            assert shown.body == msgspec.json.decode(line.data)
            assert shown.erased_by is None
        revised = memory.events.list(id=record, kinds=["record.revised"])[0]
        assert (memory.events.get(revised.seq).body or {})["text"] == LONG  # not cut

    def test_an_erased_event_names_the_one_that_erased_it(
        self, memory: Memory, engine: Memory
    ) -> None:
        _, record = fill(memory, engine)
        gone = [one.seq for one in memory.events.list(id=record)]
        erased = memory.erase(record)
        for seq in gone:
            shown = memory.events.get(seq)
            assert (shown.body, shown.erased_by) == (None, erased.seq)
            assert "jazz" not in str(shown)
        assert (memory.events.get(erased.seq).body or {})["targets"] == list(erased.events)

    def test_a_handle_for_one_user_is_shown_its_own_events(self, memory: Memory) -> None:
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        mine, theirs = fill_own(ann), fill_for(ben)
        memory.graph.link(mine[1], theirs[1], "relates_to")
        ann.erase(mine[1])
        own = {one.seq for one in ann.events.list()}
        refused = set()
        for seq in range(memory.events.position + 2):
            if seq in own:
                assert "canary7f3a" not in str(ann.events.get(seq))
                continue
            with pytest.raises(NotFound) as refusal:
                ann.events.get(seq)
            refused.add(str(refusal.value).replace(str(seq), ""))
        assert len(refused) == 1  # another's, erased and not there: the same words

    def test_an_event_that_cannot_be_shown(self, memory: Memory) -> None:
        memory.remember("Likes tea")
        for bad in (-1, True, "3", None):
            with pytest.raises(InvalidInput, match="position"):
                memory.events.get(bad)  # type: ignore[arg-type]
        with pytest.raises(NotFound):
            memory.at(1).events.get(2)
        memory.branches.open("plans")
        with pytest.raises(Unsupported, match="not in the ledger"):
            memory.on("plans").events.get(2)

    def test_the_key_of_a_repeated_call_is_told(self, memory: Memory) -> None:
        record = memory.remember("Likes tea", idempotency_key="tea-1")
        assert memory.events.list()[-1].idempotency_key == "tea-1"
        memory.remember("Likes jazz")
        assert memory.events.list()[-1].idempotency_key is None
        memory.erase(record.id)
        assert "tea-1" not in str([msg.to_dict() for msg in memory.events.list()])

    def test_what_cannot_be_asked_for_is_refused(self, memory: Memory) -> None:
        memory.remember("Likes tea")
        with pytest.raises(InvalidInput, match="unknown kind") as refusal:
            memory.events.list(kinds=["record.eaten"])
        assert "record.added" in str(refusal.value.hint)
        with pytest.raises(InvalidInput, match="list of names"):
            memory.events.list(kinds="record.added")
        with pytest.raises(InvalidInput, match="list of names, not None"):
            memory.events.list(kinds=None)  # type: ignore[arg-type]
        unknown: tuple[object, ...] = ([], 5, None)
        for kind in unknown:
            with pytest.raises(InvalidInput, match="unknown kind"):
                memory.events.list(kinds=[kind])  # type: ignore[list-item]
        for bad in (-1, True, "3"):
            with pytest.raises(InvalidInput, match="position"):
                memory.events.list(after=bad)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput, match="position"):
                memory.events.list(before=bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            memory.events.list(limit=0)
        assert memory.events.list(after=10**20) == []


def fill_for(memory: Memory) -> tuple[str, str]:
    """An episode and a record of another user."""
    (said,) = memory.observe("canary7f3a was said", role="user")
    return said.id, memory.remember("canary7f3a holds").id
