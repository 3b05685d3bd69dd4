"""Random graphs on PostgreSQL and in files: their answers equal a plain dictionary's."""

from __future__ import annotations

from pathlib import Path

from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from tests.suites.test_graph import run

GRAPHS = 8


def test_answers_equal_a_dictionarys(database: str) -> None:
    backend = PostgresBackend(database)

    def opened(seed: int) -> Memory:
        return Memory(Handle(backend.space(f"graph-{seed}", create=True)))

    assert run(GRAPHS, opened, first_seed=5_000) is None
    backend.close()


def test_answers_in_files_equal_a_dictionarys(tmp_path: Path) -> None:
    def opened(seed: int) -> Memory:
        return Memory.open(tmp_path / str(seed), embedder="none")

    assert run(GRAPHS, opened, first_seed=5_000) is None
