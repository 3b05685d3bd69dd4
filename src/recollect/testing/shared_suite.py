"""The suite of a place that several have open at once, as several processes would.

Subclass ``SharedSuite`` and define a fixture ``opened``: a function that opens the same place once
more each time; at first it is empty. Responsible for what the store port promises across them.
Leaves what one of them does alone to ``store_suite``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from recollect.errors import NotFound, RecollectError
from recollect.ledger.codec import decode
from recollect.ledger.scan import scan
from recollect.ledger.verify import verify
from recollect.lifecycle.commands import Erase
from recollect.store.port import Backend, Space
from recollect.testing.acts import command, outcome, remember
from recollect.testing.rebuilding import rebuilt_digest


def text_of(space: Space, id: str) -> str | None:
    """What a record says; None if there is no such record, or its words were erased."""
    with space.reading() as reads:
        row = reads.version(id)
    return None if row is None else row.text


class SharedSuite:
    """Every engine passes this whose places several processes may open."""

    @pytest.fixture
    def opened(self) -> Callable[[], Backend]:
        """Opens the place once more; defined by subclasses, which also close what it opened."""
        raise NotImplementedError

    @pytest.fixture
    def one(self, opened: Callable[[], Backend]) -> Space:
        """A new space, as the first has it open."""
        space = opened().space("main", create=True)
        space.head()
        return space

    @pytest.fixture
    def other(self, one: Space, opened: Callable[[], Backend]) -> Space:
        """The same space, as another has it open."""
        return opened().space("main", create=True)

    def test_what_was_acknowledged_is_in_every_read_that_begins_later(
        self, one: Space, other: Space
    ) -> None:
        for number in range(10):
            writer, reader = (one, other) if number % 2 else (other, one)
            writer.submit(command(f"c{number}", remember(f"text {number}", f"r{number}")), outcome)
            assert text_of(reader, f"r{number}") == f"text {number}"
            assert reader.head() == writer.head()
        assert one.digest() == other.digest()

    def test_of_writers_at_one_head_no_one_overwrites_another(
        self, one: Space, other: Space
    ) -> None:
        failed: list[RecollectError] = []

        def write(space: Space, name: str) -> None:
            for turn in range(20):
                try:
                    act = remember(f"{name} {turn}", f"{name}-{turn}")
                    space.submit(command(f"{name}-{turn}", act), outcome)
                except RecollectError as error:
                    failed.append(error)

        pairs = ((one, "a"), (other, "b"))
        threads = [threading.Thread(target=write, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert verify(one.pieces()).ok
        ids = [decode(line).command_id for append in scan(one.pieces()) for line in append.lines]
        assert sorted(ids[1:]) == sorted(f"{name}-{turn}" for name in "ab" for turn in range(20))
        assert one.digest() == other.digest() == rebuilt_digest(other)

    def test_a_command_happens_once_for_each_id_in_whichever_process(
        self, one: Space, other: Space
    ) -> None:
        first = one.submit(command("a", remember("one", "r1"), named=True), outcome)
        again = other.submit(command("a", remember("one", "r1"), named=True), outcome)
        assert (first.repeated, again.repeated) == (False, True)
        assert other.head() == one.head()

    def test_what_one_erases_another_answers_with_no_more(self, one: Space, other: Space) -> None:
        one.submit(command("a", remember("canary", "r1"), remember("kept", "r2")), outcome)
        assert text_of(other, "r1") == "canary"
        one.submit(command("b", Erase(id="r1")), outcome)
        one.purge()
        assert text_of(other, "r1") is None
        assert text_of(other, "r2") == "kept"
        assert b"canary" not in b"".join(other.pieces())

    def test_a_space_that_one_drops_is_gone_for_another(
        self, one: Space, other: Space, opened: Callable[[], Backend]
    ) -> None:
        other.submit(command("a", remember("one", "r1")), outcome)
        backend = opened()
        backend.drop("main", None)
        for space in (one, other):
            with pytest.raises(NotFound, match="dropped"):
                space.submit(command("b", remember("two", "r2")), outcome)
        new = backend.space("main", create=True)
        new.submit(command("c", remember("three", "r3")), outcome)
        with pytest.raises(NotFound, match="dropped"):
            other.head()
        assert text_of(new, "r1") is None
