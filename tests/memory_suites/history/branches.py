"""The conformance suite of branches: they behave the same on every engine.

Subclass ``BranchSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

import pytest

from recollect.errors import (
    Ambiguous,
    Changed,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    Unsupported,
)
from recollect.lifecycle.branches import branch_writes
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Branch, Diff
from tests.memory_suites.history.branch_merging import BranchMergeSuite


def _texts(memory: Memory) -> list[str]:
    return sorted(record.text for record in memory.list(limit=1_000))


def _told(diff: Diff) -> list[tuple[str, str | None, bool]]:
    return [(change.intent, change.text, change.conflict) for change in diff.changes]


class BranchSuite(BranchMergeSuite):
    """Changes wait on a branch, are seen on it alone, and are merged by a person, all at once."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; subclasses say where."""
        raise NotImplementedError

    def test_a_branch_is_opened_listed_and_shown(self, memory: Memory) -> None:
        first = memory.branches.open("plans", reason="to compare")
        second = memory.scoped(trust="agent", agent="bot").branches.open("more", parent="plans")
        assert (first.name, first.reason, first.is_open) == ("plans", "to compare", True)
        assert (second.parent, second.by, second.scope.agent) == (first.id, "agent", "bot")
        assert memory.branches.list() == [second, first]
        assert memory.branches.list(limit=1) == [second]
        assert memory.branches.list(before=second.seq) == [first]
        assert memory.branches.show("plans") == memory.branches.show(first.id) == first
        kinds = [event.kind for event in memory.events.list(kinds=["branch.opened"])]
        assert kinds == ["branch.opened"] * 2
        with pytest.raises(Conflict, match="open already"):
            memory.branches.open("plans")
        with pytest.raises(NotFound, match="no branch here"):
            memory.branches.open("other", parent="nothing")
        with pytest.raises(Forbidden, match="unverified"):
            memory.scoped(trust="unverified").branches.open("other")

    def test_a_name_is_free_again_when_its_branch_is_closed(self, memory: Memory) -> None:
        first = memory.branches.open("plans")
        closed = memory.branches.abandon("plans", "no use")
        assert (closed.how, closed.note, closed.is_open) == ("abandoned", "no use", False)
        assert (closed.closed_by, closed.id) == ("person", first.id)
        assert memory.branches.list() == []
        assert memory.branches.list(closed=True) == [closed] == [memory.branches.show("plans")]
        second = memory.branches.open("plans")
        assert memory.branches.show("plans") == second
        for call in (memory.on, memory.branches.abandon):
            with pytest.raises(Conflict, match="was abandoned at"):
                call(first.id)
        assert memory.at(first.seq).branches.list() == [first]

    def test_what_is_written_on_a_branch_is_seen_there_alone(self, memory: Memory) -> None:
        seat = memory.remember("Alice sits in Berlin", key="alice.seat")
        port = memory.remember("The port is 5432")
        old = memory.remember("Lunch is at noon")
        memory.branches.open("plans")
        branch = memory.on("plans")
        moved = branch.remember("Alice sits in Paris", key="alice.seat", tags=["desk"])
        assert (moved.text, moved.status, moved.tags) == (
            "Alice sits in Paris",
            "active",
            ("desk",),
        )
        assert branch.revise(port.id, "The port is 6543", data={"n": 1}).text == "The port is 6543"
        assert branch.forget(old.id).id == old.id
        zebra = branch.remember("Zebras are striped")
        assert _texts(memory) == ["Alice sits in Berlin", "Lunch is at noon", "The port is 5432"]
        assert _texts(branch) == ["Alice sits in Paris", "The port is 6543", "Zebras are striped"]
        assert branch.get("alice.seat").id == moved.id
        assert memory.get("alice.seat").id == seat.id
        assert branch.get(key="alice.seat").id == moved.id
        assert [hit.record.id for hit in branch.recall("zebras").hits if hit.record] == [zebra.id]
        assert memory.recall("zebras").hits == ()
        context = branch.context("where does Alice sit?")
        assert ("Paris" in context.text, "Berlin" in context.text) == (True, False)
        assert context.receipt is None
        assert "Paris" not in memory.context("where does Alice sit?").text
        assert memory.review.list() == []
        assert memory.branches.show("plans").changes == 4

    def test_a_later_change_takes_the_place_of_the_earlier_one(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432", key="port")
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.revise(port.id, "The port is 1")
        branch.revise("port", "The port is 2", data={"n": 2})
        again = branch.revise(port.id, "The port is 3")
        assert (again.text, again.data) == ("The port is 3", {"n": 2})
        new = branch.remember("Tea is green")
        assert branch.revise(new.id, "Tea is black").id == new.id
        assert branch.remember("Tea is white", replaces=new.id).id != new.id
        assert _told(memory.branches.diff("plans")) == [
            ("update", "The port is 3", False),
            ("add", "Tea is white", False),
        ]
        keyed = branch.remember("The port is 4", key="port")
        assert branch.remember("The port is 5", key="port").id != keyed.id
        assert _texts(branch) == ["Tea is white", "The port is 5"]
        assert memory.branches.show("plans").changes == 2
        branch.forget("port")
        assert [one.intent for one in memory.branches.diff("plans").changes] == ["add", "delete"]
        assert _texts(branch) == ["Tea is white"]
        memory.branches.merge("plans", memory.branches.diff("plans").digest)
        assert _texts(memory) == ["Tea is white"]

    def test_what_says_nothing_new_changes_nothing(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432")
        memory.branches.open("plans")
        branch = memory.on("plans")
        assert branch.remember("The port is 5432").id == port.id
        assert branch.revise(port.id, "The port is 5432").id == port.id
        tea = branch.remember("Tea is green")
        assert branch.remember("Tea is green").id == tea.id
        assert branch.revise(tea.id, "Tea is green").id == tea.id
        branch.forget(port.id)
        before = memory.events.position
        assert branch.forget(port.id).id == port.id
        assert memory.events.position == before
        branch.forget(tea.id)
        assert _texts(branch) == []
        assert [one.intent for one in memory.branches.diff("plans").changes] == ["delete"]

    def test_a_change_that_is_sent_again_is_made_once(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432")
        memory.branches.open("plans", idempotency_key="open")
        assert memory.branches.open("plans", idempotency_key="open").name == "plans"
        branch = memory.on("plans")
        made = [branch.remember("Tea is green", idempotency_key="k").id for _ in range(2)]
        assert made[0] == made[1]
        for _ in range(2):
            assert branch.revise(port.id, "The port is 1", idempotency_key="r").id == port.id
            assert branch.forget(made[0], idempotency_key="f").id == made[0]
        diff = memory.branches.diff("plans")
        for _ in range(2):
            done = memory.branches.merge("plans", diff.digest, idempotency_key="m")
            assert (done.branch.how, done.records) == ("merged", (port.id,))

    def test_a_merge_makes_every_change_in_one_command(self, memory: Memory) -> None:
        seat = memory.remember("Alice sits in Berlin", key="alice.seat")
        port = memory.remember("The port is 5432")
        old = memory.remember("Lunch is at noon", about="lunch", kind="rule")
        agent = memory.scoped(trust="agent")
        agent.branches.open("plans")
        branch = agent.on("plans")
        moved = branch.remember("Alice sits in Paris", key="alice.seat", data={"floor": 2})
        branch.revise(port.id, "The port is 6543", expires="2100-01-01T00:00:00Z")
        later = branch.remember("Lunch is at one", replaces=old.id)
        expected = {record.id: record.text for record in branch.list()}
        diff = memory.branches.diff("plans")
        assert [
            (one.base.text, one.ours.text) for one in diff.changes if one.base and one.ours
        ] == [
            ("Alice sits in Berlin",) * 2,
            ("The port is 5432",) * 2,
            ("Lunch is at noon",) * 2,
        ]
        before = memory.events.position
        done = memory.branches.merge("plans", diff.digest, reason="read")
        assert (done.branch.how, done.branch.note, done.kept) == ("merged", "read", ())
        assert set(done.records) == {moved.id, port.id, later.id}
        assert {record.id: record.text for record in memory.list()} == expected
        assert {record.trust for record in memory.list()} == {"person"}
        found = memory.get(later.id)
        assert (found.about, found.kind) == ("lunch", "rule")  # type: ignore[union-attr]
        assert memory.get(moved.id).data == {"floor": 2}  # type: ignore[union-attr]
        assert memory.get(seat.id, include=["replaced"]).status == "replaced"
        (last,) = memory.events.list(kinds=["branch.closed"])
        assert (last.seq, last.text) == (memory.events.position, "plans")
        assert memory.at(before).branches.diff("plans").digest == diff.digest
        assert memory.admin.verify().ok

    def test_only_a_person_merges_and_exactly_what_was_shown(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432")
        agent = memory.scoped(trust="agent")
        agent.branches.open("plans")
        agent.on("plans").revise(port.id, "The port is 1")
        shown = memory.branches.diff("plans")
        with pytest.raises(Forbidden, match="needs a person"):
            agent.branches.merge("plans", shown.digest)
        agent.on("plans").revise(port.id, "The port is 666")
        before = memory.events.position
        with pytest.raises(Changed, match="not what was shown"):
            memory.branches.merge("plans", shown.digest)
        assert memory.events.position == before
        assert _texts(memory) == ["The port is 5432"]

    def test_a_moved_base_is_a_conflict_until_it_is_settled(self, memory: Memory) -> None:
        ports = [memory.remember(f"Port {number} is open") for number in range(5)]
        seat = memory.remember("Alice sits in Berlin", key="alice.seat")
        memory.branches.open("plans")
        branch = memory.on("plans")
        for record in ports:
            branch.revise(record.id, record.text.replace("open", "closed"))
        branch.remember("Alice sits in Paris", key="alice.seat")
        for record in ports[1:4]:
            memory.revise(record.id, record.text.replace("open", "blocked"))
        memory.forget(ports[4].id)
        memory.remember("Alice sits in Rome", key="alice.seat")
        diff = memory.branches.diff("plans")
        assert [one.record for one in diff.conflicts][:4] == [port.id for port in ports[1:]]
        assert [one.conflict for one in diff.changes] == [False, *[True] * 5]
        both = diff.changes[1]
        assert both.base is not None
        assert both.ours is not None
        assert [both.base.text, both.ours.text, both.text] == [
            "Port 1 is open",
            "Port 1 is blocked",
            "Port 1 is closed",
        ]
        before = memory.events.position
        with pytest.raises(Conflict, match="has changed since"):
            memory.branches.merge("plans", diff.digest)
        ids = [one.id for one in diff.changes]
        with pytest.raises(Conflict, match=ids[5]):
            memory.branches.merge("plans", diff.digest, choose=dict.fromkeys(ids[1:5], "theirs"))
        assert memory.events.position == before
        done = memory.branches.merge(
            "plans",
            diff.digest,
            choose={ids[1]: "ours", ids[2]: "theirs", ids[4]: "theirs", ids[5]: "theirs"},
            edits={ids[3]: "Port 3 is half open"},
        )
        assert done.kept == (ids[1],)
        assert _texts(memory) == [
            "Alice sits in Paris",
            "Port 0 is closed",
            "Port 1 is blocked",
            "Port 2 is closed",
            "Port 3 is half open",
            "Port 4 is closed",  # it was forgotten, so it comes as a new record
        ]
        assert memory.get(seat.id, include=["replaced"]).status == "replaced"

    def test_settling_names_changes_of_the_branch_once(self, memory: Memory) -> None:
        gone, port = memory.remember("Lunch is at noon"), memory.remember("The port is 5432")
        memory.branches.open("plans")
        memory.on("plans").forget(gone.id)
        memory.on("plans").revise(port.id, "The port is 1")
        diff = memory.branches.diff("plans")
        deletion, change = (one.id for one in diff.changes)
        refused: list[tuple[dict[str, object], str]] = [
            ({"choose": {"p-nothing": "ours"}}, "not a change on the branch"),
            ({"choose": {change: "ours"}, "edits": {change: "x"}}, "in two ways"),
            ({"edits": {deletion: "x"}}, "no text to edit"),
            ({"choose": {change: "both"}}, "use ours or theirs"),
        ]
        for settled, why in refused:
            with pytest.raises(InvalidInput, match=why):
                memory.branches.merge("plans", diff.digest, **settled)  # type: ignore[arg-type]
        memory.branches.merge("plans", diff.digest, choose={change: "ours"})
        assert _texts(memory) == ["The port is 5432"]

    def test_the_branchs_side_of_what_is_gone(self, memory: Memory) -> None:
        keyed = memory.remember("Alice sits in Berlin", key="alice.seat")
        gone, left = memory.remember("Lunch is at noon"), memory.remember("Tea is green")
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.revise(keyed.id, "Alice sits in Bern")
        branch.forget(gone.id)
        branch.remember("Tea is black", replaces=left.id)
        memory.remember("Alice sits in Rome", key="alice.seat")
        memory.forget(gone.id)
        memory.forget(left.id)
        diff = memory.branches.diff("plans")
        assert len(diff.conflicts) == 3
        assert _texts(branch) == ["Alice sits in Bern", "Tea is black"]
        choose = {one.id: "theirs" for one in diff.conflicts}
        memory.branches.merge("plans", diff.digest, choose=choose)  # type: ignore[arg-type]
        assert _texts(memory) == ["Alice sits in Bern", "Tea is black"]
        assert memory.get(key="alice.seat").text == "Alice sits in Bern"

    def test_a_chosen_id_that_was_taken_meanwhile_is_made_anew(self, memory: Memory) -> None:
        memory.branches.open("plans")
        memory.on("plans").remember("Tea is green", id="tea")
        with pytest.raises(Conflict, match="adds a record with the id"):
            memory.on("plans").remember("Tea is black", id="tea")
        memory.remember("Tea is white", id="tea")
        (change,) = memory.branches.diff("plans").changes
        done = memory.branches.merge("plans", memory.branches.diff("plans").digest)
        assert change.record == "tea"
        assert done.records != ("tea",)
        assert _texts(memory) == ["Tea is green", "Tea is white"]

    def test_abandoning_rejects_everything_with_the_reason(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432")
        agent = memory.scoped(trust="agent")
        agent.branches.open("plans")
        agent.on("plans").revise(port.id, "The port is 1")
        (change,) = memory.branches.diff("plans").changes
        memory.branches.abandon("plans", "wrong idea")
        found = memory.review.show(change.id)
        assert (found.state, found.note) == ("rejected", "wrong idea")
        agent.branches.open("own")
        agent.on("own").remember("Tea is green")
        (own,) = memory.branches.diff("own").changes
        agent.branches.abandon("own")
        assert memory.review.show(own.id).state == "withdrawn"
        assert _texts(memory) == ["The port is 5432"]

    def test_an_agent_does_not_take_back_what_a_person_wrote(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432")
        agent = memory.scoped(trust="agent")
        agent.branches.open("plans")
        memory.on("plans").revise(port.id, "The port is 1")
        with pytest.raises(Forbidden, match="by 'person'"):
            agent.on("plans").revise(port.id, "The port is 2")
        with pytest.raises(Forbidden, match="by 'person'"):
            agent.branches.abandon("plans")
        memory.branches.open("mine")
        with pytest.raises(Forbidden, match="opened by 'person'"):
            agent.branches.abandon("mine")
        agent.on("mine").remember("Tea is green")  # writing there is allowed
        with pytest.raises(Forbidden, match="unverified"):
            memory.scoped(trust="unverified").on("mine").remember("Tea is black")

    def test_condensing_keeps_one_record_with_its_lineage(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432")
        (said,) = memory.observe("try 6543")
        memory.branches.open("plans")
        memory.on("plans").revise(port.id, "The port is 6543", evidence=[said.id])
        done = memory.branches.condense("plans", "We tried 6543 and kept 5432", about="port")
        assert (done.how, done.is_open, done.changes) == ("condensed", False, 0)
        assert done.record is not None
        summary = memory.get(done.record)
        assert (summary.text, summary.evidence) == (  # type: ignore[union-attr]
            "We tried 6543 and kept 5432",
            (said.id, port.id),
        )
        assert _texts(memory) == ["The port is 5432", "We tried 6543 and kept 5432"]

    def test_other_writes_are_refused_on_a_branch(self, memory: Memory) -> None:
        port = memory.remember("The port is 5432", key="port")
        tea = memory.remember("Tea is green")
        (said,) = memory.observe("hello")
        memory.branches.open("plans")
        branch = memory.on("plans")
        for call in (
            lambda: branch.revise(port.id, tags=["x"]),
            lambda: branch.graph.link(port.id, tea.id, "about"),
            lambda: branch.observe("hello"),
            lambda: branch.erase(port.id),
            lambda: branch.branches.open("inner"),
            lambda: branch.on("plans"),
            lambda: branch.at(1).list(),
            lambda: handle_of(branch).space.submit_all((), lambda reads, outcome: None),
        ):
            with pytest.raises(Unsupported):
                call()
        new = branch.remember("Zebras are striped")
        for refused, why in (
            (lambda: branch.remember("x", evidence=[new.id]), "nothing can rest on it yet"),
            (lambda: branch.remember("x", replaces=port.id, key="tea"), "keeps its key"),
            (lambda: branch.forget(said.id), "is an episode"),
        ):
            with pytest.raises(InvalidInput, match=why):
                refused()
        branch.forget(tea.id)
        with pytest.raises(Conflict, match="forgotten on this branch"):
            branch.revise(tea.id, "Tea is black")
        made = branch.remember("The port is 1", replaces="port")
        with pytest.raises(Conflict, match=f"replaced by {made.id}"):
            branch.revise(port.id, "The port is 2")
        memory.forget(tea.id)
        memory.remember("Coffee", id="cup")
        memory.forget("cup")
        with pytest.raises(Conflict, match="cup is forgotten"):
            branch.revise("cup", "Coffee is hot")

    def test_a_branch_has_room_for_so_many_changes(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(branch_writes, "BRANCH_MAX_CHANGES", 2)
        memory.branches.open("plans")
        branch = memory.on("plans")
        first = branch.remember("one")
        branch.remember("two")
        with pytest.raises(LimitExceeded, match="has 2 changes already"):
            branch.remember("three")
        branch.revise(first.id, "one more")

    def test_a_branch_has_room_for_so_many_characters(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(branch_writes, "BRANCH_MAX_CHARS", 20)
        memory.branches.open("plans")
        branch = memory.on("plans")
        first = branch.remember("ten signs.")
        branch.remember("nine sign")
        with pytest.raises(LimitExceeded, match="have over 20 characters"):
            branch.remember("22")
        branch.revise(first.id, "eleven sign")  # what it replaces does not count

    def test_a_branch_belongs_to_its_user(self, memory: Memory) -> None:
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        hers = ann.remember("Ann likes tea")
        ann.branches.open("plans")
        ben.branches.open("plans")
        ann.on("plans").revise(hers.id, "Ann likes coffee")
        assert ben.branches.diff("plans").changes == ()
        assert [branch.scope.user for branch in memory.branches.list()] == ["ben", "ann"]
        with pytest.raises(Ambiguous, match="could be"):
            memory.branches.show("plans")
        with pytest.raises(NotFound):
            ben.on("plans").revise(hers.id, "Ben was here")
        with pytest.raises(NotFound):
            ben.branches.show(ann.branches.show("plans").id)
        mine: Branch = memory.branches.open("whole")
        memory.on("whole").revise(hers.id, "Ann likes water")
        done = memory.branches.merge("whole", memory.branches.diff("whole").digest)
        assert (mine.id, done.records) == (done.branch.id, (hers.id,))
        assert ann.get(hers.id).text == "Ann likes water"
        (conflict,) = ann.branches.diff("plans").conflicts
        assert conflict.ours is not None
        assert conflict.ours.text == "Ann likes water"

    def test_erasing_a_branch_leaves_nothing_of_it(self, memory: Memory, engine: Memory) -> None:
        port = memory.remember("The port is 5432")
        memory.branches.open("canary-name", reason="canary-reason")
        memory.on("canary-name").revise(port.id, "canary-text")
        with pytest.raises(Forbidden, match="abandon it instead"):
            memory.scoped(trust="agent").branches.erase("canary-name")
        memory.branches.abandon("canary-name", "canary-note")
        memory.branches.erase("canary-name")
        with pytest.raises(NotFound):
            memory.branches.show("canary-name")
        held = b"".join(handle_of(engine).space.pieces())
        assert b"canary" not in held
        assert memory.admin.verify().ok

    def test_erasing_a_record_takes_its_changes_on_branches_along(
        self, memory: Memory, engine: Memory
    ) -> None:
        port = memory.remember("The port is 5432")
        memory.branches.open("plans")
        memory.on("plans").revise(port.id, "canary-text")
        memory.erase(port.id)
        assert memory.branches.diff("plans").changes == ()
        assert b"canary" not in b"".join(handle_of(engine).space.pieces())

    def test_erasing_a_user_erases_the_users_branches(self, memory: Memory, engine: Memory) -> None:
        ann = memory.scoped(user="ann")
        ann.branches.open("canary-name")
        ann.on("canary-name").remember("canary-text")
        gone = memory.erase(user="ann")
        assert len(gone.branches) == 1
        assert memory.branches.list(closed=True) == []
        assert b"canary" not in b"".join(handle_of(engine).space.pieces())

    def test_a_past_position_shows_a_branch_as_it_was(self, memory: Memory) -> None:
        opened = memory.branches.open("plans")
        memory.on("plans").remember("Tea is green")
        shown = memory.branches.diff("plans")
        position = memory.events.position
        memory.branches.abandon("plans", "no use")
        then = memory.at(position)
        assert then.branches.diff("plans") == shown
        assert memory.at(opened.seq).branches.show("plans") == opened
