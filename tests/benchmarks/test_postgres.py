"""The benchmark of a server runs, with the questions of the SQLite benchmark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.postgres import SIZES, Sizes, run
from benchmarks.report import SERVED, served_lines
from benchmarks.server import started

TINY = Sizes(
    write_rounds=1,
    writes=3,
    batches=1,
    batch=10,
    spaces=120,
    awake=60,
    wakes=(40, 1_000, 10_000),
    records=200,
    read_rounds=1,
    reads=2,
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with started(in_memory=True) as own:
        yield own.get_uri()


def test_every_figure_is_reported(server: str) -> None:
    said: list[str] = []
    found = run(TINY, server, said.append)
    assert said == ["remember_ratio", "bulk_ratio", "recall", "wake", "awake_kb", "spaces_growth"]
    for aim in SERVED:
        figure = found.figure(aim)
        assert figure is not None
        assert figure > 0
        assert found.reached[aim.name] is aim.reached(figure)
        assert found.reached[aim.name] is aim.reached(figure)
    assert found.room_over_ledger is not None
    assert found.room_over_ledger > 1
    assert found.measured_at["recall_over_files"] == TINY.records
    assert len(served_lines(found)) == len(SERVED) + 1


def test_some_figures_alone(server: str) -> None:
    found = run(TINY, server, lambda what: None, only=["remember_ratio"])
    assert [aim.name for aim in SERVED if found.figure(aim) is not None] == ["remember_ratio"]


def test_a_round_has_twenty_writes() -> None:
    assert {sizes.writes for sizes in SIZES.values()} == {20}
