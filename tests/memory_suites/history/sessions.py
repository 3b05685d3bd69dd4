"""The conformance suite of sessions: they behave the same on every engine.

Subclass ``SessionsSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from recollect.errors import Ambiguous, Changed, Conflict, Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Session


def _told(found: Sequence[Session]) -> list[tuple[str, str | None, str]]:
    return [(one.id, one.user, one.status) for one in found]


class SessionsSuite:
    """A session is known by its name, and active only between its opening and its closing."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; subclasses say where."""
        raise NotImplementedError

    def test_a_session_that_is_only_named_is_known_and_never_active(self, memory: Memory) -> None:
        memory.remember("in no session")
        before = memory.events.position
        memory.scoped(session="chat").observe("hello")
        memory.scoped(session="work").remember("Tea is at four.")
        memory.observe("hello again", session="chat")
        memory.scoped(session="asked").context("when is tea?")
        memory.admin.flush()
        assert memory.events.position == before + 4  # none of them has an event of its own
        found = memory.sessions.list()
        assert [one.id for one in found] == ["asked", "work", "chat"]
        assert {one.status for one in found} == {"named"}
        (first,) = memory.events.list(kinds=["episode.observed"], limit=1)
        assert (found[2].seq, found[2].started_at) == (first.seq, first.at)
        assert (found[2].task_type, found[2].ended_at) == (None, None)
        assert memory.sessions.active() is None
        with pytest.raises(NotFound, match="no session 'chat' was opened"):
            memory.sessions.close("chat")

    def test_a_session_is_opened_and_closed(self, memory: Memory) -> None:
        sessions = memory.sessions
        made = sessions.open("chat", task_type="review")
        assert (made.id, made.status, made.task_type) == ("chat", "open", "review")
        assert sessions.active() == made
        memory.scoped(session="chat").observe("hello")
        assert sessions.list() == [made]
        closed = sessions.close("chat")
        assert closed is not None
        assert (closed.status, closed.started_at, closed.seq) == (
            "closed",
            made.started_at,
            made.seq,
        )
        assert closed.ended_at == memory.events.list(kinds=["session.closed"])[0].at
        assert sessions.active() is None
        assert sessions.list() == [closed]
        position = memory.events.position
        assert sessions.close("chat") == closed
        assert memory.events.position == position
        with pytest.raises(Conflict, match="'chat' is closed"):
            sessions.open("chat")

    def test_an_id_is_made_if_none_is_given(self, memory: Memory) -> None:
        one, two = memory.sessions.open(), memory.sessions.open()
        assert one.id.startswith("s-")
        assert one.id != two.id
        assert one.task_type is None

    def test_the_last_opened_is_the_active_one(self, memory: Memory) -> None:
        sessions = memory.sessions
        for id in ("one", "two", "three"):
            sessions.open(id)
        active = sessions.active()
        assert active is not None
        assert active.id == "three"
        sessions.close("three")
        assert sessions.active() == sessions.list()[1]
        sessions.close("one")
        sessions.close("two")
        assert sessions.active() is None

    def test_opening_it_again_writes_nothing(self, memory: Memory) -> None:
        made = memory.sessions.open("chat", task_type="review")
        position = memory.events.position
        assert memory.sessions.open("chat", task_type="review") == made
        assert memory.events.position == position
        with pytest.raises(Conflict, match="open already, with the task type 'review'"):
            memory.sessions.open("chat")

    def test_a_named_session_can_be_opened(self, memory: Memory) -> None:
        memory.scoped(session="chat").observe("hello")
        (named,) = memory.sessions.list()
        position = memory.events.position
        memory.remember("something else")
        made = memory.sessions.open("chat", task_type="talk")
        assert (made.seq, made.status) == (named.seq, "open")
        assert made.started_at == memory.events.list(kinds=["session.opened"])[0].at
        assert made.start_active_hours >= named.start_active_hours
        assert memory.at(position).sessions.list() == [named]
        assert memory.at(position).sessions.active() is None

    def test_a_session_starts_at_the_active_hours_of_the_fold(self, memory: Memory) -> None:
        made = memory.sessions.open("one")
        record = memory.remember("Tea is at four.")
        memory.used(None, [record.id])
        later = memory.sessions.open("two")
        assert 0 <= made.start_active_hours <= later.start_active_hours
        with handle_of(memory).reading() as reads:
            assert later.start_active_hours == reads.hours()

    def test_sessions_of_then(self, memory: Memory) -> None:
        sessions = memory.sessions
        first = sessions.open("one", task_type="talk")
        opened = memory.events.position
        second = sessions.open("two")
        both = memory.events.position
        sessions.close("two")
        sessions.close("one")
        assert memory.at(0).sessions.list() == []
        for _ in range(2):
            assert memory.at(opened).sessions.list() == [first]
            assert memory.at(opened).sessions.active() == first
            assert memory.at(both).sessions.list() == [second, first]
            assert memory.at(both).sessions.active() == second
            assert memory.at(both + 1).sessions.active() == first
            assert memory.at(both + 2).sessions.active() is None
            memory.admin.rebuild()

    def test_sessions_are_listed_in_pages(self, memory: Memory) -> None:
        for n in range(7):
            handle = memory.scoped(session=f"s{n}", user="ann" if n % 2 else None)
            handle.remember(f"note {n}")
        whole = memory.sessions.list()
        assert [one.id for one in whole] == [f"s{n}" for n in reversed(range(7))]
        for size in (1, 3, 7):
            pages = list(page := memory.sessions.list(limit=size))
            while page:
                page = memory.sessions.list(limit=size, before=page[-1].seq)
                pages += page
            assert pages == whole
        mine = memory.scoped(user="ann").sessions.list(limit=2)
        assert [one.id for one in mine] == ["s5", "s3"]
        for wrong in (0, -1, True, "5"):
            with pytest.raises(InvalidInput):
                memory.sessions.list(limit=wrong)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput):
                memory.sessions.list(before=wrong)  # type: ignore[arg-type]

    def test_a_name_is_compared_exactly(self, memory: Memory) -> None:
        names = ["ann", "Ann", "ann_", "ann%", "ann/b", "a n"]
        for name in names:
            memory.scoped(session=name).remember(f"note of {name}")
        assert [one.id for one in memory.sessions.list()] == names[::-1]
        memory.sessions.open("ann%")
        assert [one.id for one in memory.sessions.list() if one.status == "open"] == ["ann%"]

    def test_a_session_belongs_to_its_user(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        ann.sessions.open("chat", task_type="talk")
        assert bob.sessions.list() == []
        assert bob.sessions.active() is None
        with pytest.raises(NotFound):
            bob.sessions.close("chat")
        bob.sessions.open("chat", task_type="work")
        assert _told(bob.sessions.list()) == [("chat", "bob", "open")]
        assert _told(memory.sessions.list()) == [("chat", "bob", "open"), ("chat", "ann", "open")]
        with pytest.raises(Ambiguous, match="ann, bob"):
            memory.sessions.close("chat")
        ann.sessions.close("chat")
        assert _told(memory.sessions.list()) == [("chat", "bob", "open"), ("chat", "ann", "closed")]
        memory.sessions.open("chat")  # one that belongs to nobody is a third
        memory.sessions.close("chat")
        bobs = bob.sessions.active()
        assert bobs is not None
        assert (bobs.user, bobs.task_type) == ("bob", "work")

    def test_a_handle_for_all_closes_the_session_of_a_user(self, memory: Memory) -> None:
        memory.scoped(user="ann").sessions.open("chat")
        memory.remember("in another one", id="r")
        closed = memory.sessions.close("chat")
        assert closed is not None
        assert (closed.user, closed.status) == ("ann", "closed")
        (change,) = memory.scoped(user="ann").events.list(kinds=["session.closed"])
        assert (change.id, change.scope.user) == ("chat", "ann")

    def test_who_may(self, memory: Memory) -> None:
        low, agent = (memory.scoped(trust=origin) for origin in ("unverified", "agent"))
        with pytest.raises(Forbidden, match="unverified"):
            low.sessions.open("chat")
        agent.sessions.open("chat")
        with pytest.raises(Forbidden, match="unverified"):
            low.sessions.close("chat")
        with pytest.raises(Forbidden) as refusal:
            agent.sessions.close("chat", erase=True)
        assert refusal.value.hint == "close it without erase: that it ran stays readable"
        agent.sessions.close("chat")
        low.scoped(session="named").observe("from a page")
        assert [one.id for one in memory.sessions.list()] == ["named", "chat"]

    def test_what_cannot_be_a_session_is_refused(self, memory: Memory) -> None:
        for wrong in ("", "  ", "a\nb", "x" * 201, 5):
            with pytest.raises(InvalidInput):
                memory.sessions.open(wrong)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput):
                memory.sessions.open("chat", task_type=wrong)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput):
                memory.sessions.close(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="erase must be True or False"):
            memory.sessions.close("chat", erase="no")  # type: ignore[arg-type]
        assert memory.sessions.list() == []

    def test_a_call_with_a_key_happens_once(self, memory: Memory) -> None:
        sessions = memory.sessions
        made = sessions.open(task_type="talk", idempotency_key="k1")
        closed = sessions.close(made.id, idempotency_key="k2")
        position = memory.events.position
        assert sessions.open(task_type="talk", idempotency_key="k1") == made
        assert sessions.close(made.id, idempotency_key="k2") == closed
        assert memory.events.position == position
        with pytest.raises(Conflict):
            sessions.open(task_type="work", idempotency_key="k1")
        with pytest.raises(Changed):
            sessions.open(expect=position - 1)
        sessions.open("next", expect=position)

    def test_sessions_are_in_the_list_of_events(self, memory: Memory) -> None:
        memory.sessions.open("chat", task_type="talk")
        memory.scoped(user="ann").sessions.open("anns")
        memory.sessions.close("chat")
        found = memory.events.list(id="chat")
        assert [(one.kind, one.unit, one.what, one.text) for one in found] == [
            ("session.opened", "session", "opened", "talk"),
            ("session.closed", "session", "closed", None),
        ]
        kinds = [one.kind for one in memory.events.list()]
        assert kinds[-3:] == ["session.opened", "session.opened", "session.closed"]
        assert [one.id for one in memory.scoped(user="ann").events.list()] == ["anns"]
        assert memory.events.list(kinds=["session.closed"]) == found[1:]

    def test_an_undo_passes_over_sessions(self, memory: Memory) -> None:
        memory.remember("Tea is at four.", id="tea")
        memory.sessions.open("chat")
        assert [change.id for change in memory.undo().events] == ["tea"]
        assert memory.sessions.active() is not None

    def test_every_byte_of_a_session_can_be_erased(self, memory: Memory) -> None:
        sessions = memory.sessions
        kept = sessions.open("other")
        sessions.open("canary7f3a", task_type="canary7f3b", idempotency_key="k1")
        sessions.close("canary7f3a")
        assert sessions.close("canary7f3a", erase=True) is None
        assert b"canary" not in b"".join(handle_of(memory).space.pieces())
        assert sessions.list() == [kept]
        assert memory.at(memory.events.position - 1).sessions.list() == [kept]
        with pytest.raises(NotFound):
            sessions.close("canary7f3a", erase=True)
        with pytest.raises(Conflict):
            sessions.open("canary7f3a", task_type="canary7f3b", idempotency_key="k1")
        self._same_after_a_rebuild(memory)

    def test_what_was_written_in_an_erased_session_stays(self, memory: Memory) -> None:
        chat = memory.scoped(session="chat")
        memory.sessions.open("chat", task_type="talk")
        (said,) = chat.observe("hello")
        memory.sessions.close("chat", erase=True)
        (left,) = memory.sessions.list()
        assert (left.id, left.status, left.seq, left.task_type) == (
            "chat",
            "named",
            said.seq,
            None,
        )
        self._same_after_a_rebuild(memory)
        memory.sessions.open("chat")
        self._same_after_a_rebuild(memory)

    def test_a_name_goes_with_the_last_that_has_it(self, memory: Memory) -> None:
        chat = memory.scoped(session="canary7f3a")
        (said,) = chat.observe("hello")
        tea = chat.remember("Tea is at four.")
        cake = chat.remember("Cake is on Sunday.")
        memory.scoped(session="canary7f3a", user="ann").observe("mine")
        seqs = [said.seq, tea.seq, cake.seq]
        for gone, id in enumerate((said.id, tea.id, cake.id)):
            assert [one.seq for one in memory.sessions.list() if not one.user] == [seqs[gone]]
            memory.erase(id)
            self._same_after_a_rebuild(memory)
        assert _told(memory.sessions.list()) == [("canary7f3a", "ann", "named")]
        memory.erase(filter="session = 'canary7f3a'", unit="episode")
        assert memory.sessions.list() == []
        assert b"canary" not in b"".join(handle_of(memory).space.pieces())

    def test_a_user_is_erased_with_the_sessions(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        for handle in (ann, bob, memory):
            handle.sessions.open("canary7f3a", task_type="talk")
        ann.sessions.open("canary7f3b")
        ann.sessions.close("canary7f3b")
        ann.scoped(session="canary7f3c").context("when is tea?")
        shown = memory.erase(user="ann", dry_run=True)
        gone = memory.erase(user="ann")
        assert gone.sessions == shown.sessions == ("canary7f3a", "canary7f3b")
        assert gone.events == shown.events
        assert {one.user for one in memory.sessions.list()} == {None, "bob"}
        assert b"canary7f3b" not in b"".join(handle_of(memory).space.pieces())
        assert b"canary7f3c" not in b"".join(handle_of(memory).space.pieces())
        with pytest.raises(NotFound, match="user 'ann'"):
            memory.erase(user="ann")
        self._same_after_a_rebuild(memory)

    def test_sessions_change_the_digest_and_their_absence_does_not(self, memory: Memory) -> None:
        memory.remember("Likes tea")
        before = memory.admin.digest()
        position = memory.events.position
        memory.sessions.open("chat")
        opened = memory.admin.digest()
        memory.sessions.close("chat")
        assert len({before, opened, memory.admin.digest()}) == 3
        assert memory.at(position).admin.digest() == before
        assert memory.at(position + 1).admin.digest() == opened

    def _same_after_a_rebuild(self, memory: Memory) -> None:
        digest, listed = memory.admin.digest(), memory.sessions.list()
        memory.admin.rebuild()
        assert memory.admin.digest() == digest
        assert memory.sessions.list() == listed
        assert memory.admin.verify(deep=True).ok
