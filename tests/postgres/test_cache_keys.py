"""Caches of a space that has subjects: encrypted, under a key that each erasure ends."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from recollect import Memory
from recollect.finding.vectors import Leg, catch_up
from recollect.ledger.cipher import Unopened, unwrap
from recollect.memory.handle.handle import handle_of
from recollect.store.indexed import follower, index
from recollect.store.indexed.ledger import Block, Snapshot
from recollect.store.indexed.space import IndexedSpace
from recollect.store.postgres.cache_keys import _bound
from recollect.store.postgres.ledger import PostgresLedger
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.embedders import WordEmbedder
from recollect.testing.rebuilding import rebuilt_digest

WORD = "zanzibarish"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(follower, "_SNAPSHOT_MIN_EVENTS", 4)


def ask(database: str, text: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute(text.encode(), values)
        return found.fetchall() if found.description else []


def images(database: str) -> list[bytes]:
    return [
        bytes(data)  # type: ignore[call-overload]
        for (data,) in ask(database, "SELECT image FROM recollect.snapshots")
    ]


def space_of(memory: Memory) -> IndexedSpace:
    space = handle_of(memory).space
    assert isinstance(space, IndexedSpace)
    return space


def ledger_of(memory: Memory) -> PostgresLedger:
    ledger = space_of(memory).ledger
    assert isinstance(ledger, PostgresLedger)
    return ledger


def leg_of(memory: Memory) -> Leg:
    embedder = WordEmbedder()
    return Leg(embedder, space_of(memory).vectors(embedder.name, embedder.dimensions))


@contextmanager
def opened(url: str) -> Iterator[Memory]:
    with Memory.open(url, embedder="none") as memory:
        yield memory


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    """A space in which every user is a subject, with a snapshot and a block."""
    with opened(url) as memory:
        memory.settings.set_subjects("users")
        for number in range(6):
            memory.scoped(user="ann").remember(f"{WORD} {number}", id=f"ann-{number}")
        memory.remember("It is open to all.", id="open")
        catch_up(space_of(memory), leg_of(memory))
        yield memory


def shows(image: bytes) -> bool:
    """True if this image holds the word in the clear, compressed or not."""
    if WORD.encode() in image:
        return True
    try:
        return WORD.encode() in zlib.decompress(image)
    except zlib.error:
        return False


def test_snapshots_and_blocks_of_a_space_with_subjects_are_encrypted(
    memory: Memory, database: str
) -> None:
    assert images(database)
    assert not [image for image in images(database) if shows(image)]
    assert ask(database, "SELECT DISTINCT encrypted FROM recollect.snapshots") == [(True,)]
    assert ask(database, "SELECT DISTINCT encrypted FROM recollect.blocks") == [(True,)]


def test_control_those_of_another_space_are_not(url: str, database: str) -> None:
    with opened(url) as memory:
        for number in range(8):
            memory.scoped(user="ann").remember(f"{WORD} {number}")
        catch_up(space_of(memory), leg_of(memory))
    assert [image for image in images(database) if shows(image)]
    assert ask(database, "SELECT DISTINCT encrypted FROM recollect.snapshots") == [(False,)]
    assert ask(database, "SELECT DISTINCT encrypted FROM recollect.blocks") == [(False,)]
    assert ask(database, "SELECT 1 FROM recollect.cache_keys") == []


def test_another_process_wakes_from_them(memory: Memory, url: str) -> None:
    with opened(url) as other:
        assert len(other.list()) == 7
        assert space_of(other)._kept > 0, "it was folded"
        leg = leg_of(other)
        assert leg.vectors.through() > 0
        query = WordEmbedder().embed_query(WORD)
        assert len(leg.vectors.best(query, 9, set)) == 7
        assert other.admin.digest() == rebuilt_digest(other.admin)


def test_a_process_without_the_master_key_neither_reads_nor_writes_them(
    memory: Memory, database: str
) -> None:
    backend = PostgresBackend(database)
    ledger = backend.space("main", create=False).ledger
    version, before = index.version(), images(database)
    epoch = ledger.tail(0).epoch
    assert ledger.wake(version, epoch).snapshot is None
    assert ledger.blocks(f"{WordEmbedder().name} {WordEmbedder().dimensions}", 0) == []
    for _ in range(2):  # first it does not know that there are subjects
        assert not ledger.keep_snapshot(epoch, version, Snapshot(1 << 30, b"clear"))
        assert not ledger.keep_block(epoch, Block("e", 0, 9, b"clear"))
    assert images(database) == before
    backend.close()


def test_a_snapshot_under_another_master_key_is_not_used(
    memory: Memory, url: str, database: str
) -> None:
    ask(database, "UPDATE recollect.cache_keys SET key = decode(repeat('00', 60), 'hex')")
    with opened(url) as other:
        assert len(other.list()) == 7
        assert leg_of(other).vectors.through() == 0
    assert not [image for image in images(database) if shows(image)]


def test_an_erasure_ends_the_key(memory: Memory, url: str, database: str) -> None:
    """What lies in old pages and copies of the server opens with no key that is left."""
    ((before,),) = ask(database, "SELECT key FROM recollect.cache_keys")
    old, ledger = images(database)[0], ledger_of(memory)
    held = ledger._cache_keys._held
    assert held is not None
    place = ledger._here()
    ((seq,),) = ask(database, "SELECT seq FROM recollect.snapshots")
    what = f"snapshot\n{index.version()}\n{seq}"
    assert shows(unwrap(held[1], old, _bound(place, what)))  # the control: so it opened
    memory.erase("ann-0")
    leg = leg_of(memory)
    assert leg.vectors.through() > 0, "blocks come back under another key"
    ((after,),) = ask(database, "SELECT key FROM recollect.cache_keys")
    assert after != before
    now = ledger._cache_keys._held
    assert now is not None
    assert now[1] != held[1]
    with pytest.raises(Unopened):
        unwrap(now[1], old, _bound(place, what))
    with opened(url) as other:
        assert len(other.list()) == 6
        query = WordEmbedder().embed_query(WORD)
        assert len(leg_of(other).vectors.best(query, 9, set)) == 6


def test_what_was_encrypted_with_an_ended_key_is_refused(memory: Memory, database: str) -> None:
    """Also with the present epoch: the key itself must be the present one."""
    ledger, version = ledger_of(memory), index.version()
    place, epoch = ledger._here(), space_of(memory).epoch
    closed = ledger._cache_keys.close(place, epoch, b"image", "snapshot")
    assert closed is not None
    memory.erase("ann-0")
    kept = {
        "space": place, "version": version, "seq": 1 << 30,
        "image": closed.data, "key": closed.key,
    }  # fmt: skip
    for at in (epoch, space_of(memory).epoch):
        assert ledger._pool.ask("keep_snapshot", {**kept, "epoch": at}) == [(False,)]
    assert not ledger.keep_snapshot(epoch, version, Snapshot(1 << 30, b"image"))


def test_two_processes_that_make_a_key_have_one(memory: Memory, url: str, database: str) -> None:
    memory.erase("ann-0")
    ask(database, "DELETE FROM recollect.cache_keys")
    with opened(url) as other:
        other.list()
        place, epoch = ledger_of(memory)._here(), space_of(other).epoch
        keys = [each._cache_keys._made(place, epoch) for each in map(ledger_of, (memory, other))]
    assert keys[0] is not None
    assert keys[0] == keys[1]
    assert ledger_of(memory)._cache_keys._made(place, epoch - 1) is None
