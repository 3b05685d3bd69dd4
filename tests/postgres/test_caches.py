"""Snapshots and blocks of vectors in the database: used only if they are what they should be."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from recollect.finding.vectors import catch_up
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.indexed import index
from recollect.store.indexed.backend import MemoryBackend
from recollect.testing.acts import command, remember
from recollect.testing.vector_suite import everything, numbers
from tests.postgres.test_between import Process, ask, one, other, same
from tests.postgres.test_vectors import EMBEDDER, leg_of

__all__ = ["one", "other"]


def image_of(process: Process) -> bytes:
    assert process.space.index is not None
    return zlib.decompress(process.space.index.image())


def patched(image: bytes, statement: str) -> bytes:
    """An image after a statement of SQL."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(image)
        db.execute(statement)
        db.commit()
        return db.serialize()


def elsewhere(name: str, id: str = "first-0") -> bytes:
    """The image of another memory, with as many events."""
    memory = MemoryBackend()
    space = memory.space(name, create=True)
    for number in range(5):
        space.submit(command(f"e{number}", remember(id, f"e{number}")), lambda *_: None)
    assert space.index is not None
    return zlib.decompress(space.index.image())


def changed(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


SNAPSHOTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda image: b"",
    "no bytes of zlib": lambda image: image,
    "cut": lambda image: zlib.compress(image)[:-100],
    "a changed byte": lambda image: changed(zlib.compress(image), 900),
    "cut before it was compressed": lambda image: zlib.compress(image[:5_000]),
    "no database": lambda image: zlib.compress(b"x" * len(image)),
    "an empty database": lambda image: zlib.compress(b""),
    "a database without tables": lambda image: zlib.compress(sqlite_without_tables()),
    "without a position": lambda image: zlib.compress(patched(image, "DELETE FROM position")),
    "a changed position": lambda image: zlib.compress(
        patched(image, "UPDATE position SET hash = 'x'")
    ),
    "another index version": lambda image: zlib.compress(
        patched(image, "UPDATE position SET version = version - 1")
    ),
    "another tokenizer": lambda image: zlib.compress(
        patched(image, "UPDATE made_with SET tokens = 'tokens 0'")
    ),
    "another space": lambda image: zlib.compress(elsewhere("beside")),
    "a space of this name elsewhere": lambda image: zlib.compress(elsewhere("main")),
}


def sqlite_without_tables() -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE t (c)")
        db.execute("DROP TABLE t")
        return db.serialize()


@pytest.mark.parametrize("change", [None, *SNAPSHOTS], ids=["the control", *SNAPSHOTS])
@pytest.mark.parametrize("is_at_head", [True, False])
def test_a_snapshot_is_believed_only_if_it_is_this_space_s(
    one: Process,
    other: Process,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    change: str | None,
    is_at_head: bool,
) -> None:
    """What is not is folded from the ledger, and gives the same state."""
    for number in range(5):
        one.submit(f"first-{number}")
    image = image_of(one)
    data = zlib.compress(image) if change is None else bytes(SNAPSHOTS[change](image))
    seq = one.space.head().seq
    if not is_at_head:
        one.submit("later")
    ask(database, "INSERT INTO recollect.snapshots SELECT id, %s, %s, %s, false FROM"
        " recollect.spaces",
        index.version(), seq, data)  # fmt: skip
    folded, real = list[str](), index.Index.folded

    def noted(space: str, *given: Any, **named: Any) -> index.Index:
        folded.append(space)
        return real(space, *given, **named)

    monkeypatch.setattr(index.Index, "folded", noted)
    assert other.memory.get("first-0").text == "first-0"
    assert folded == ([] if change is None else ["main"])
    same(one, other)
    other.submit("after")
    same(one, other)


def test_a_snapshot_of_another_version_is_not_looked_at(
    one: Process, other: Process, database: str
) -> None:
    for number in range(5):
        one.submit(f"first-{number}")
    for version in (f"{index.version()} ", "5 tokens 0", ""):
        ask(database, "INSERT INTO recollect.snapshots SELECT id, %s, 6, 'x', false FROM"
            " recollect.spaces",
            version)  # fmt: skip
    assert other.space.ledger.wake(index.version(), 0).snapshot is None
    same(one, other)
    assert len(ask(database, "SELECT 1 FROM recollect.snapshots")) == 3  # others may read them


# A block of vectors.


BLOCKS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "empty": lambda mine, theirs: b"",
    "no block": lambda mine, theirs: b"x" * len(mine),
    "cut": lambda mine, theirs: mine[:-9],
    "a changed text": lambda mine, theirs: changed(mine, 2),
    "a changed row": lambda mine, theirs: changed(mine, len(mine) // 2),
    "another space": lambda mine, theirs: theirs,
}


def filled(process: Process, name: str) -> bytes:
    """A space with two texts, and the block of their vectors."""
    space = process.backend.space(name, create=True)
    memory = Memory(Handle(space))
    for text in ("coffee", "bread"):
        memory.observe(text)
    catch_up(space, leg_of(space))
    (block,) = space.ledger.blocks(f"{EMBEDDER.name} {EMBEDDER.dimensions}", 0)
    return block.rows


@pytest.mark.parametrize("change", [None, "through", *BLOCKS], ids=str)
def test_a_block_is_believed_only_if_it_is_this_space_s(
    one: Process, other: Process, database: str, change: str | None
) -> None:
    """What is not is made again, and takes its place."""
    mine, theirs = filled(one, "main"), filled(one, "beside")
    id = "(SELECT id FROM recollect.spaces WHERE name = 'main')"
    if change == "through":
        ask(database, f"UPDATE recollect.blocks SET through = through + 1 WHERE space = {id}")
    elif change is not None:
        text = f"UPDATE recollect.blocks SET rows = %s WHERE space = {id}"
        ask(database, text, BLOCKS[change](mine, theirs))
    ask(database, "UPDATE recollect.spaces SET blocks = blocks + 1")
    third = other.memory.observe("rain")[0]
    leg = leg_of(other.space)
    query = leg.embedder.embed_query("coffee")
    before = leg.vectors.best(query, 5, everything)
    assert bool(before) == (change is None)
    assert catch_up(other.space, leg).texts == (1 if change is None else 3)
    catch_up(one.space, leg_of(one.space))  # it had the first two in memory
    for process in (one, other, again := Process(database)):
        mended = leg_of(process.space)
        assert catch_up(process.space, mended).texts == 0
        found = mended.vectors.best(query, 5, everything)
        assert found[0][0] == 2
        assert sorted(seq for seq, _ in found) == numbers(process.space)
    again.backend.close()
    other.memory.erase(third.id)
    assert catch_up(one.space, leg_of(one.space)).missing == 0


@pytest.mark.parametrize("change", BLOCKS)
def test_an_erasure_is_not_kept_up_by_a_block_that_cannot_be_used(
    one: Process, database: str, change: str
) -> None:
    mine, theirs = filled(one, "main"), filled(one, "beside")
    gone = one.memory.sessions.episodes()[0]
    text = "UPDATE recollect.blocks SET rows = %s WHERE rows = %s"
    ask(database, text, BLOCKS[change](mine, theirs), mine)
    one.memory.erase(gone.id)
    assert one.memory.admin.verify(deep=True).ok
    assert len(ask(database, "SELECT 1 FROM recollect.blocks")) == 1  # that of the other space
