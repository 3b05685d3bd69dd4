"""What a command may expect of the memory that it changes: the part of the store suite about it.

Responsible for ``Command.expect`` on every engine. Leaves the rest of the port to ``store_suite``.
Invariant: each test is a sentence about one expectation.
"""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from recollect.errors import (
    Changed,
    Conflict,
    NotFound,
)
from recollect.lifecycle.commands import (
    Actor,
    Forget,
    Revise,
)
from recollect.store.port import Backend, Space
from recollect.testing.acts import (
    command,
    hand,
    observe,
    outcome,
    remember,
)

Won = list[int]


class ExpectSuite:
    """Commands that are refused if something has changed."""

    @pytest.fixture
    def backend(self) -> Backend:
        """An empty place; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def space(self, backend: Backend) -> Space:
        """A new space in it."""
        return backend.space("main", create=True)

    def test_a_command_is_refused_if_the_record_it_expects_has_changed(self, space: Space) -> None:
        seen = space.submit(command("a", remember("one", "r1")), outcome).last
        revised = command("b", Revise(id="r1", text="two"), expect=("r1", seen))
        now = space.submit(revised, outcome).last
        before = space.head()
        with pytest.raises(Changed, match=f"at event {now} now, not at {seen}") as refusal:
            space.submit(command("c", Forget(id="r1"), expect=("r1", seen)), outcome)
        assert isinstance(refusal.value, Conflict)
        assert (refusal.value.code, refusal.value.hint) == ("changed", "read it again, then decide")
        assert space.head() == before
        space.submit(command("d", Forget(id="r1"), expect=("r1", now)), outcome)

    def test_what_a_command_expects_may_be_anything_with_an_id(self, space: Space) -> None:
        things = (observe("said", "e1"), hand("c1"), remember("one", "r1"))
        first = space.submit(command("a", *things), outcome).first
        for id, seq in (("e1", first), ("c1", first + 1), ("r1", first + 2)):
            space.submit(command(f"b-{id}", remember(id), expect=(id, seq)), outcome)
            with pytest.raises(Changed):
                space.submit(command(f"c-{id}", remember("no"), expect=(id, seq + 1)), outcome)

    def test_what_is_not_ones_own_is_expected_in_vain(self, space: Space) -> None:
        ann, ben = (Actor(trust="person", user=name) for name in ("ann", "ben"))
        seq = space.submit(command("a", remember("one", "r1"), actor=ann), outcome).last
        answers = []
        for id in ("r1", "nobody"):
            with pytest.raises(NotFound) as refusal:
                space.submit(command("b", remember("x"), actor=ben, expect=(id, seq)), outcome)
            answers.append(str(refusal.value).replace(id, ""))
        assert answers[0] == answers[1]
        space.submit(command("c", remember("x"), actor=ann, expect=("r1", seq)), outcome)

    def test_a_command_is_refused_if_the_memory_changed_since_a_position(
        self, space: Space
    ) -> None:
        seen = space.submit(command("a", remember("one", "r1")), outcome).last
        space.submit(command("b", remember("two", "r2"), expect=seen), outcome)
        for position in (seen, seen + 2):
            with pytest.raises(Changed, match=f"since position {position}"):
                space.submit(command("c", remember("three", "r3"), expect=position), outcome)
        space.submit(command("d", remember("three", "r3"), expect=seen + 1), outcome)

    def test_receipts_that_ride_along_change_nothing_that_is_expected(self, space: Space) -> None:
        seen = space.submit(command("a", remember("one", "r1")), outcome).last
        assert space.later(command("b", hand("c1")))
        got = space.submit(command("c", remember("two", "r2"), expect=seen), outcome)
        assert got.first == seen + 2
        assert space.later(command("d", remember("three", "r3")))  # the control
        with pytest.raises(Changed):
            space.submit(command("e", remember("four", "r4"), expect=got.last), outcome)

    def test_receipts_that_were_written_change_nothing_that_is_expected(self, space: Space) -> None:
        seen = space.submit(command("a", remember("one", "r1")), outcome).last
        for id in ("c1", "c2"):
            assert space.later(command(f"b-{id}", hand(id)))
            space.flush()
        assert space.later(command("b-c3", hand("c3")))
        got = space.submit(command("c", remember("two", "r2"), expect=seen), outcome)
        assert got.first == seen + 4
        space.submit(command("d", hand("c4")), outcome)
        for position in (seen, seen + 2, got.last + 2):  # the control: a record was added since
            with pytest.raises(Changed):
                space.submit(command("e", remember("three"), expect=position), outcome)
        space.submit(command("f", remember("three"), expect=got.last), outcome)

    def test_a_repeated_command_is_answered_whatever_it_expects(self, space: Space) -> None:
        seen = space.submit(command("a", remember("one", "r1")), outcome).last
        sent = command("b", Revise(id="r1", text="two"), named=True, expect=("r1", seen))
        first = space.submit(sent, outcome)
        again = space.submit(sent, outcome)
        assert again.repeated
        assert again.last == first.last

    def test_of_many_who_expect_the_same_one_is_first(self, space: Space) -> None:
        seen = space.submit(command("a", remember("one", "r1")), outcome).last
        for round in range(10):
            won: list[int] = []

            def write(number: int, round: int = round, seen: int = seen, won: Won = won) -> None:
                act = Revise(id="r1", text=f"round {round}, number {number}")
                asked = command(f"{round}-{number}", act, expect=("r1", seen))
                with suppress(Changed):
                    won.append(space.submit(asked, outcome).last)

            threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            (seen,) = won
