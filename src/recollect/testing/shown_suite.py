"""The part of the conformance suite of reviews about what a person is shown.

``ReviewSuite`` includes it.
"""

from __future__ import annotations

from recollect.memory import Memory
from recollect.model.values import Proposal


def only(memory: Memory) -> Proposal:
    """The one thing that waits."""
    (found,) = memory.review.list()
    return found


class ShownSuite:
    """Every engine passes this."""

    def test_what_rests_on_the_target_is_shown(self, memory: Memory) -> None:
        mine = memory.remember("Staging runs on port 5432", key="staging.port")
        named = memory.remember("The tunnel goes to 5432", evidence=[mine.id])
        linked = memory.remember("The script has the port too")
        memory.link(linked.id, mine.id, "derived_from")
        memory.link(mine.id, memory.remember("Ports are in a table").id, "relates_to")
        moved = memory.remember("The docs name the port", evidence=[mine.id])
        memory.forget(memory.remember("A note has the port", evidence=[mine.id]).id)
        memory.scoped(origin="agent").forget(mine.id)
        before, waits = memory.position, only(memory)
        expected = sorted([named.id, linked.id, moved.id])
        assert [record.id for record in waits.resting] == expected
        memory.revise(moved.id, "The docs name another port")
        now = [record.id for record in only(memory).resting]
        assert now == sorted([named.id, linked.id])
        assert [record.id for record in only(memory.at(before)).resting] == expected

    def test_a_users_handle_sees_only_what_is_theirs_on_it(self, memory: Memory) -> None:
        ann = memory.scoped(user="ann")
        mine = ann.remember("Tea is at four")
        hers = ann.remember("Cake is at four too", evidence=[mine.id])
        memory.remember("Ann has tea at four", evidence=[mine.id])
        ann.scoped(origin="agent").forget(mine.id)
        for handle in (ann, memory):
            assert [record.id for record in only(handle).resting] == [hers.id]
