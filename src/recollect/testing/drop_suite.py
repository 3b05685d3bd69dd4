"""Dropping a space: the part of the store suite about it.

Responsible for ``Backend.drop`` on every engine. Leaves the rest of the port to ``store_suite``.
Invariant: each test is a sentence about what goes, what stays, or who is refused.
"""

from __future__ import annotations

import threading

import pytest

from recollect.errors import Conflict, NotFound, RecollectError
from recollect.ledger.scan import scan
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.port import Backend, Space
from recollect.testing.acts import command, observe, outcome, remember

BOB = "Üser/../bob"


def fill(backend: Backend, name: str, word: str) -> Space:
    """A space with two records, an earlier version, an episode and a seal."""
    space = backend.space(name, create=True)
    space.submit(command("a", remember(f"{word} one", "r1", "k")), outcome)
    space.seal()
    space.submit(command("b", remember(f"{word} two", "r2", "k"), observe(word, "e1")), outcome)
    return space


def first_hash(space: Space) -> str:
    """What tells a ledger from every other."""
    return next(iter(scan(space.pieces()))).lines[0].hash


class DropSuite:
    """A space is dropped whole."""

    @pytest.fixture
    def backend(self) -> Backend:
        """An empty place; defined by subclasses."""
        raise NotImplementedError

    def test_a_dropped_space_is_gone_and_a_note_of_it_stays(self, backend: Backend) -> None:
        bob = fill(backend, BOB, "secret")
        head, first = bob.head(), first_hash(bob)
        fill(backend, "main", "other")
        done = backend.drop(BOB, "left the team")
        note = done.dropped
        assert note is not None
        assert (note.space, note.seq, note.head) == (BOB, head.seq, head.hash)
        assert (note.first, note.reason) == (first, "left the team")
        assert note.by
        assert note.at > "2026"
        assert (done.records, done.episodes, done.events) == (2, 1, head.seq)
        assert backend.spaces() == ["main"]
        assert backend.dropped() == [note]
        with pytest.raises(NotFound):
            backend.space(BOB, create=False).head()
        assert "secret" not in str(done) + str(backend.dropped())

    def test_other_spaces_stay_as_they_are(self, backend: Backend) -> None:
        others = [fill(backend, name, name) for name in ("main", "bo", "bob%", "BOB")]
        fill(backend, "bob", "secret")
        before = [(b"".join(space.pieces()), space.digest()) for space in others]
        backend.drop("bob", None)
        assert [(b"".join(space.pieces()), space.digest()) for space in others] == before
        assert [space.index_problem() for space in others] == [None] * len(others)
        for space in others:
            space.submit(command("c", remember("three")), outcome)

    def test_the_space_main_is_dropped_like_any_other(self, backend: Backend) -> None:
        bob, main = fill(backend, BOB, "bob"), fill(backend, "main", "secret")
        before = bob.digest()
        backend.drop("main", None)
        assert backend.spaces() == [BOB]
        assert bob.digest() == before
        with pytest.raises(NotFound, match="dropped"):
            main.head()

    def test_a_handle_of_a_dropped_space_is_refused_also_if_there_is_a_new_one_of_that_name(
        self, backend: Backend
    ) -> None:
        old, other = fill(backend, "bob", "old"), backend.space("bob", create=True)
        assert other.head().seq == old.head().seq
        backend.drop("bob", None)
        for handle in (old, other):
            with pytest.raises(NotFound, match="dropped"):
                handle.submit(command("c", remember("back", "r9")), outcome)
            with pytest.raises(NotFound, match="dropped"):
                handle.head()
            assert handle.is_dropped
        assert backend.spaces() == []
        new = fill(backend, "bob", "new")
        before = b"".join(new.pieces())
        for handle in (old, other):
            with pytest.raises(NotFound, match="dropped"):
                handle.submit(command("c", remember("back", "r9")), outcome)
            with pytest.raises(NotFound, match="dropped"):
                handle.head()
            handle.close()
        assert b"".join(new.pieces()) == before
        assert not new.is_dropped

    def test_a_new_space_of_that_name_has_another_identity(self, backend: Backend) -> None:
        old = fill(backend, "bob", "old")
        first, head, ledger = first_hash(old), old.head(), b"".join(old.pieces())
        anchor = f"{head.seq}:{head.hash}"
        assert Memory(Handle(old)).admin.verify(anchor=anchor).status == "anchored"
        backend.drop("bob", None)
        new = fill(backend, "bob", "new")
        assert first_hash(new) != first
        assert new.head().seq == head.seq
        assert Memory(Handle(new)).admin.verify(anchor=anchor).status == "not anchored"
        with pytest.raises(Conflict):
            new.receive([ledger])
        with new.reading() as reads:
            row = reads.version("r1")
        assert row is not None
        assert row.text == "new one"

    def test_a_space_that_does_not_exist_is_not_dropped(self, backend: Backend) -> None:
        fill(backend, "main", "x")
        for name in ("bob", "Main", "mai", "main/../main"):
            with pytest.raises(NotFound):
                backend.drop(name, None)
            with pytest.raises(NotFound):
                backend.would_drop(name)
        assert backend.spaces() == ["main"]
        assert backend.dropped() == []

    def test_asking_what_a_drop_would_remove_changes_nothing(self, backend: Backend) -> None:
        bob = fill(backend, "bob", "x")
        before = b"".join(bob.pieces())
        found = backend.would_drop("bob")
        assert (found.records, found.episodes, found.dropped) == (2, 1, None)
        assert found.size_bytes > 0
        assert (b"".join(bob.pieces()), backend.dropped()) == (before, [])

    def test_a_space_can_be_dropped_again_and_every_note_stays(self, backend: Backend) -> None:
        for word in ("one", "two", "three"):
            fill(backend, "bob", word)
            backend.drop("bob", word)
        notes = backend.dropped()
        assert [note.reason for note in notes] == ["one", "two", "three"]
        assert len({note.first for note in notes}) == 3

    def test_writers_meanwhile_are_refused_and_nothing_comes_back(self, backend: Backend) -> None:
        fill(backend, "bob", "x")
        handles = [backend.space("bob", create=True) for _ in range(3)]
        for handle in handles:
            handle.head()
        refused: list[RecollectError] = []

        def write(number: int, space: Space) -> None:
            for turn in range(1_000):
                try:
                    act = remember(f"more {number} {turn}")
                    space.submit(command(f"w{number}-{turn}", act), outcome)
                except RecollectError as error:
                    refused.append(error)
                    return

        threads = [threading.Thread(target=write, args=pair) for pair in enumerate(handles)]
        for thread in threads:
            thread.start()
        backend.drop("bob", None)
        for thread in threads:
            thread.join()
        assert [type(error) for error in refused] == [NotFound] * len(handles)
        assert backend.spaces() == []
