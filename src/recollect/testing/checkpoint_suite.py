"""The conformance suite of checkpoints: one test for each sentence of the port.

Responsible for behaviour. Leaves how an engine creates its spaces to the fixture ``backend``.
Invariant: the tests only use the port, and what ``store.checkpoints.checkpoints`` does with it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import NotFound
from recollect.proof.checkpoints import Checkpoint
from recollect.proof.notes import KEY_ID_BYTES, Note, Signature, render
from recollect.store.checkpoints import checkpoints
from recollect.store.checkpoints.key_ring import KeyRing
from recollect.store.port import Backend, Space
from recollect.store.seam import REAL
from recollect.testing.acts import command, outcome, remember


def filled(backend: Backend, name: str = "main", count: int = 3) -> Space:
    """A space with so many events, and one before them."""
    space = backend.space(name, create=True)
    for number in range(count):
        space.submit(command(f"{name}{number}", remember(f"Fact {number}.")), outcome)
    return space


def note_of(space: Space, size: int, signatures: int = 1) -> bytes:
    """A note in the form of a checkpoint, whose signatures no key made."""
    ledger = checkpoints.ring_of(space, Path(), REAL).ledger
    by = [Signature(ledger, bytes([n] * KEY_ID_BYTES), bytes(64)) for n in range(signatures)]
    return render(Note(Checkpoint(ledger, size, bytes(32)).text, tuple(by)))


class CheckpointSuite:
    """Subclass it, and define a fixture ``backend``."""

    @pytest.fixture
    def backend(self) -> Backend:
        """An empty place; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def ring(self, backend: Backend, tmp_path: Path) -> KeyRing:
        """A key that signs the space ``main``."""
        ring = checkpoints.ring_of(filled(backend), tmp_path / "signing", REAL)
        ring.add()
        return ring

    def test_a_note_is_given_back_as_it_was_kept(self, backend: Backend) -> None:
        space = filled(backend)
        kept = space.checkpoints()
        assert kept.keeps
        for size in (2, 1):
            kept.keep(size, note_of(space, size))
        assert [kept.note(size) for size in (1, 2)] == [note_of(space, size) for size in (1, 2)]
        assert space.checkpoints().note(2) == note_of(space, 2)  # another look at the same space

    def test_sizes_come_in_order(self, backend: Backend) -> None:
        space = filled(backend, count=12)
        kept = space.checkpoints()
        assert kept.sizes() == []
        for size in (10, 2, 13, 9):
            kept.keep(size, note_of(space, size))
        assert kept.sizes() == [2, 9, 10, 13]

    def test_a_note_takes_the_place_of_another_one_of_its_size(self, backend: Backend) -> None:
        space = filled(backend)
        kept = space.checkpoints()
        for signatures in (1, 2):
            kept.keep(2, note_of(space, 2, signatures))
        assert (kept.sizes(), kept.note(2)) == ([2], note_of(space, 2, 2))

    def test_a_note_that_was_not_kept_is_not_found(self, backend: Backend) -> None:
        kept = filled(backend).checkpoints()
        with pytest.raises(NotFound, match="no checkpoint was signed at 3 events"):
            kept.note(3)

    def test_spaces_do_not_share_notes(self, backend: Backend) -> None:
        mine, other = filled(backend), filled(backend, "other")
        mine.checkpoints().keep(2, note_of(mine, 2))
        mine.checkpoints().keep_frontier(b"[]")
        assert other.checkpoints().sizes() == []
        assert other.checkpoints().frontier() is None

    def test_a_dropped_space_leaves_no_note(self, backend: Backend) -> None:
        space = filled(backend)
        space.checkpoints().keep(2, note_of(space, 2))
        space.checkpoints().keep_frontier(b"[]")
        backend.drop("main", None)
        again = filled(backend)
        assert (again.checkpoints().sizes(), again.checkpoints().frontier()) == ([], None)

    def test_looking_writes_nothing(self, backend: Backend) -> None:
        space = filled(backend)
        head = space.head()
        assert (space.checkpoints().sizes(), space.checkpoints().frontier()) == ([], None)
        assert space.head() == head

    def test_the_frontier_is_the_last_one_or_none(self, backend: Backend) -> None:
        kept = filled(backend).checkpoints()
        for data in (b"1", b"22"):
            kept.keep_frontier(data)
        assert kept.frontier() in (b"22", None)

    def test_what_is_signed_does_not_depend_on_the_frontier(
        self, backend: Backend, ring: KeyRing
    ) -> None:
        space = backend.space("main", create=False)
        checkpoints.make(space, ring)
        space.submit(command("more", remember("More.")), outcome)
        with_it = checkpoints.make(space, ring)
        for lost in (b"", b"[", b"{}"):
            space.checkpoints().keep_frontier(lost)
            assert checkpoints.make(space, ring) == with_it

    def test_what_was_signed_is_known_again(self, backend: Backend, ring: KeyRing) -> None:
        space = backend.space("main", create=False)
        made = [checkpoints.make(space, ring)]
        space.submit(command("more", remember("More.")), outcome)
        made.append(checkpoints.make(space, ring))
        assert space.checkpoints().sizes() == [each.size for each in made]
        found = checkpoints.known(space, ring)
        assert {each.checkpoint.size for each in found} == {each.size for each in made}
        assert {each.where for each in found} == {"beside", "outside"}
