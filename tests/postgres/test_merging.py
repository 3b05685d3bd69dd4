"""Two ledgers that both grew come together between a folder and a server, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.memory.handle.handle import Handle, handle_of
from recollect.store.files.space import FileSpace
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.rebuilding import rebuilt_digest
from tests.postgres.conftest import as_address, database, server, template

__all__ = ["as_address", "database", "server", "template"]


@pytest.fixture
def sides(database: str, tmp_path: Path) -> Iterator[tuple[Memory, Memory]]:
    """A memory in a folder, and the copy of it on a server."""
    space = FileSpace(tmp_path / "mine", "main", create=True)
    mine = Memory(Handle(space))
    mine.remember("The seat is 12A.", key="seat")
    mine.observe("I sit by the window.", role="user", id="said")
    backend = PostgresBackend(database)
    there = Memory(Handle(backend.space("main", create=True)))
    mine.admin.copy_to(there)
    yield mine, there
    space.close()
    backend.close()


@pytest.mark.parametrize("way", ["push", "pull"])
def test_a_folder_and_a_server_come_together(sides: tuple[Memory, Memory], way: str) -> None:
    target, source = sides if way == "pull" else sides[::-1]
    target.remember("The seat is 14C.", key="seat")
    source.remember("The seat is 33B.", key="seat")
    source.scoped(trust="agent", agent="bot").remember("Noted by a bot.", tags=["travel"])
    source.erase("said")
    shown = target.admin.merge_from(source, is_mine=True, dry_run=True)
    choose = {one.id: "theirs" for one in shown.conflicts}
    target.admin.merge_from(source, is_mine=True, choose=choose)  # type: ignore[arg-type]
    source.admin.merge_from(target, is_mine=True)
    found = [
        {one.id: (one.text, one.status, one.trust, one.tags) for one in memory.list()}
        for memory in sides
    ]
    assert found[0] == found[1]
    assert target.get(key="seat").text == "The seat is 33B."
    for memory in sides:
        assert memory.sessions.episodes() == []
        assert memory.admin.verify(deep=True).ok
        space = handle_of(memory).space
        assert rebuilt_digest(space) == space.digest()
        assert memory.admin.merge_from(sides[memory is sides[0]], is_mine=True).commands == 0
