"""A call that an exception from outside ends: Ctrl-C, or a time limit of whoever runs the thread.

Such an exception comes between any two steps, also right after a transaction began and in the
``finally`` that would end it. It is raised there on purpose, once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import RecollectError
from recollect.store.indexed.follower import Follower
from recollect.store.sqlite import SqliteDb

_CALLS: dict[str, Callable[[Memory], object]] = {
    "remember": lambda memory: memory.remember("Interrupted."),
    "recall": lambda memory: memory.recall("tea"),
    "rebuild": lambda memory: memory.admin.rebuild(),
}


@contextmanager
def interrupted(monkeypatch: pytest.MonkeyPatch, step: str) -> Iterator[list[str]]:
    """Ctrl-C at a step of the index: after a begin, and in place of a rollback or a commit."""
    plain, done = SqliteDb.run, list[str]()

    def run(self: SqliteDb, name: str) -> None:
        is_here = name == step and not done
        if is_here and not name.startswith("begin"):
            done.append(name)
            raise KeyboardInterrupt
        plain(self, name)
        if is_here:
            done.append(name)
            raise KeyboardInterrupt

    with monkeypatch.context() as there:
        there.setattr(SqliteDb, "run", run)
        yield done


def opened(where: str, folder: Path) -> Memory:
    return Memory.open(":memory:" if where == "volatile" else folder / "w", embedder="none")


@pytest.mark.parametrize("step", ["begin_write", "begin_read", "commit", "rollback"])
@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("where", ["volatile", "files"])
def test_the_memory_goes_on(
    where: str, call: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(where, tmp_path) as memory:
        memory.remember("Tea is at four.")
        with interrupted(monkeypatch, step):
            try:
                _CALLS[call](memory)
            except KeyboardInterrupt:
                """As it should."""
            except RecollectError:
                """It was told in our words."""
        texts = {record.text for record in memory.list()}
        assert texts - {"Interrupted."} == {"Tea is at four."}
        memory.remember("Afterwards.")
        assert [hit.text for hit in memory.recall("afterwards")] == ["Afterwards."]
        assert memory.admin.verify(deep=True).ok
        assert texts <= {record.text for record in memory.list()}  # what was seen stays


_LEFT_OPEN: dict[str, Callable[[Memory], object]] = {
    "begin_write": _CALLS["remember"],
    "rollback": lambda memory: memory.revise("nothing", "Refused."),
}


@pytest.mark.parametrize("step", _LEFT_OPEN)
def test_a_transaction_that_is_left_open_stops_no_write(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("Tea is at four.")
        with interrupted(monkeypatch, step) as done, pytest.raises(KeyboardInterrupt):
            _LEFT_OPEN[step](memory)
        assert done == [step]
        memory.remember("Afterwards.")
        assert len(memory.list()) == 2


@pytest.mark.parametrize("step", _LEFT_OPEN)
def test_control_if_nobody_looks_it_stops_every_write(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Follower, "_leave_unfinished", lambda self: None)
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("Tea is at four.")
        with interrupted(monkeypatch, step), pytest.raises(KeyboardInterrupt):
            _LEFT_OPEN[step](memory)
        with pytest.raises(sqlite3.OperationalError, match="within a transaction"):
            memory.remember("Afterwards.")
