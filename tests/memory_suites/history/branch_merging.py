"""The conformance suite of what a merge keeps: no change is lost, and nothing gains by waiting.

``BranchSuite`` includes it.
"""

from __future__ import annotations

import pytest

from recollect.errors import Changed
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from tests.memory_suites.behind import BehindSuite


def _texts(memory: Memory) -> list[str]:
    return sorted(record.text for record in memory.list(limit=1_000))


def _merged(memory: Memory, name: str) -> list[str]:
    """What the memory says after a merge without conflicts."""
    memory.branches.merge(name, memory.branches.diff(name).digest)
    return _texts(memory)


class BranchMergeSuite(BehindSuite):
    """Texts that are said twice, records that are gone, and the trust of what waits."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; subclasses say where."""
        raise NotImplementedError

    def test_a_text_whose_record_the_branch_forgets_is_added_again(self, memory: Memory) -> None:
        tea = memory.remember("Tea is green")
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.forget(tea.id)
        again = branch.remember("Tea is green")
        assert (again.id != tea.id, _texts(branch)) == (True, ["Tea is green"])
        assert _merged(memory, "plans") == ["Tea is green"]
        assert [record.id for record in memory.list()] == [again.id]

    def test_a_text_whose_record_the_branch_revises_is_added_beside_it(
        self, memory: Memory
    ) -> None:
        tea = memory.remember("Tea is green")
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.revise(tea.id, "Tea is black")
        branch.remember("Tea is green")
        assert _texts(branch) == ["Tea is black", "Tea is green"]
        change = memory.branches.diff("plans").changes[0]
        assert _merged(memory, "plans") == ["Tea is black", "Tea is green"]
        assert change.record == tea.id

    def test_a_text_that_the_memory_keeps_is_not_added_twice(self, memory: Memory) -> None:
        tea = memory.remember("Tea is green")
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.revise(tea.id, "Tea is black")
        branch.remember("Tea is green")
        diff = memory.branches.diff("plans")
        memory.branches.merge("plans", diff.digest, choose={diff.changes[0].id: "ours"})
        assert [(record.id, record.text) for record in memory.list()] == [(tea.id, "Tea is green")]

    def test_a_key_that_goes_back_to_its_text_names_the_record(self, memory: Memory) -> None:
        seat = memory.remember("Alice sits in Berlin", key="alice.seat")
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.revise("alice.seat", "Alice sits in Paris")
        assert branch.remember("Alice sits in Berlin", key="alice.seat").id == seat.id
        assert _merged(memory, "plans") == ["Alice sits in Berlin"]

    def test_a_text_that_came_into_the_memory_meanwhile_names_its_record(
        self, memory: Memory
    ) -> None:
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.remember("Tea is green")
        tea = memory.remember("Tea is green")
        assert branch.remember("Tea is green").id == tea.id
        assert _merged(memory, "plans") == ["Tea is green"]

    def test_what_is_written_on_a_users_branch_is_that_users(self, memory: Memory) -> None:
        ann = memory.scoped(user="ann")
        hers = ann.remember("Ann likes tea")
        ann.branches.open("plans")
        branch = memory.on("plans")  # a handle for everyone
        made = branch.remember("Ann likes coffee")
        branch.revise(hers.id, "Ann likes green tea")
        assert made.scope.user == "ann"
        assert [change.text for change in ann.branches.diff("plans").changes] == [
            "Ann likes coffee",
            "Ann likes green tea",
        ]
        assert _merged(memory, "plans") == ["Ann likes coffee", "Ann likes green tea"]
        assert _texts(ann) == ["Ann likes coffee", "Ann likes green tea"]

    def test_the_diff_shows_the_record_that_a_merge_would_end(self, memory: Memory) -> None:
        seat = memory.remember("Alice sits in Berlin", key="alice.seat")
        memory.branches.open("plans")
        memory.on("plans").revise(seat.id, "Alice sits in Paris")
        memory.forget(seat.id)
        shown = memory.branches.diff("plans")
        (change,) = shown.conflicts
        assert change.ours is not None
        assert (change.ours.id, change.ours.status) == (seat.id, "forgotten")
        memory.remember("Alice sits in Rome", key="alice.seat")
        with pytest.raises(Changed, match="not what was shown"):
            memory.branches.merge("plans", shown.digest, choose={change.id: "theirs"})
        assert _texts(memory) == ["Alice sits in Rome"]
        (change,) = memory.branches.diff("plans").conflicts
        assert change.ours is not None
        assert change.ours.text == "Alice sits in Rome"

    def test_a_revision_of_what_is_gone_keeps_the_other_fields(self, memory: Memory) -> None:
        port = memory.remember(
            "The port is 1",
            tags=["net"],
            data={"n": 1, "m": 2},
            expires="2100-01-01T00:00:00Z",
            valid_to="2099-01-01T00:00:00Z",
        )
        memory.branches.open("plans")
        memory.on("plans").revise(port.id, "The port is 2", data={"n": 2})
        memory.forget(port.id)
        diff = memory.branches.diff("plans")
        memory.branches.merge("plans", diff.digest, choose={diff.changes[0].id: "theirs"})
        (left,) = memory.list()
        assert (left.text, left.tags, left.data) == ("The port is 2", ("net",), {"n": 2})
        assert (left.expires, left.valid_to) == (port.expires, port.valid_to)

    def test_nothing_gains_trust_before_a_person_merges(self, memory: Memory) -> None:
        seat = memory.remember("Alice sits in Berlin", key="alice.seat")
        port = memory.remember("The port is 5432")
        (page,) = memory.scoped(trust="unverified").observe("Alice sits in Oz", role="tool")
        agent = memory.scoped(trust="agent")
        agent.branches.open("plans")
        branch = agent.on("plans")
        made = branch.remember("Alice sits in Oz", key="alice.seat", evidence=[page.id])
        assert (made.status, made.trust) == ("waiting", "unverified")
        assert branch.revise(port.id, "The port is 1").trust == "agent"
        assert branch.get("alice.seat").id == seat.id  # what is held takes no key
        assert _texts(branch) == ["Alice sits in Berlin", "The port is 1"]
        assert "Oz" not in branch.context("where does Alice sit?").text
        assert _merged(memory, "plans") == ["Alice sits in Oz", "The port is 1"]
        assert {record.trust for record in memory.list()} == {"person"}

    def test_erasing_a_record_erases_what_the_branch_said_before(
        self, memory: Memory, engine: Memory
    ) -> None:
        memory.branches.open("plans")
        branch = memory.on("plans")
        made = branch.remember("canary one")
        branch.remember("Tea is green")
        branch.revise(made.id, "canary two")
        assert _merged(memory, "plans") == ["Tea is green", "canary two"]
        memory.erase(made.id)
        held = b"".join(handle_of(engine).space.pieces())
        assert (b"canary" in held, b"Tea is green" in held) == (False, True)
        assert memory.branches.show("plans").how == "merged"
        assert memory.admin.verify().ok
