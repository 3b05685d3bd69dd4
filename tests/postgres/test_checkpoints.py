"""A signed memory on a server: it is compared with what is known, and signing is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.errors import Unsupported
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.memory.keys import Keys
from recollect.store.postgres.backend import PostgresBackend


@pytest.fixture
def shared(database: str) -> Iterator[Memory]:
    backend = PostgresBackend(database)
    yield Memory(Handle(backend.space("main", create=True)))
    backend.close()


def test_a_pushed_memory_is_anchored_by_what_is_kept_here(
    shared: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with Memory.open(tmp_path / "w", embedder="none") as memory:
        memory.remember("Alice sits in 14C.")
        Keys(memory).create()
        note = memory.checkpoint().note
        assert memory.copy_to(shared).checkpoints == 0  # no table for them yet
        assert shared.verify().status == "anchored"
        shared.remember("More.")
        assert shared.verify(anchor=note).anchored_through == 2
        with pytest.raises(Unsupported, match="cannot be kept in"):
            shared.checkpoint()
        assert shared.seal().checkpoint is None
        backup = Path(shared.backup(tmp_path / "copy").path)
        assert not (backup / "checkpoints").exists()
        assert shared.copy_to(memory).events == 2
        assert memory.checkpoint().size == 4
        notes = shared._handle.space.checkpoints()
        with pytest.raises(Unsupported, match="not supported yet"):
            notes.note(2)
        with pytest.raises(Unsupported, match="not supported yet"):
            notes.keep(2, b"")
