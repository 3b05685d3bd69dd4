"""The keys of subjects on a server: the suite, what the server sees, and what a machine keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg
import pytest

from recollect.errors import ConfigError, NotFound, Unavailable
from recollect.index.rows import Row
from recollect.model.events import Head
from recollect.store.keys.master_key import MasterKey
from recollect.store.keys.subject_keys import FileKeys
from recollect.store.keys.wrapped_keys import Wrapping
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.subject_keys import SpaceKeys
from recollect.store.postgres.subjects import Keeping
from recollect.store.postgres.vacuum import rewrite_keys, vacuum
from recollect.store.seam import REAL
from recollect.testing.subject_keys_suite import LEDGER, OTHER, Place, SubjectKeysSuite, key
from tests.postgres.conftest import drop_space

SPACES = {LEDGER: "alice", OTHER: "bob"}
NOBODY = "0" * 32
LINE = b'{"v":1,"seq":1,"hash":"%s"}' % (b"1" * 64)
Opened = Callable[[str], SpaceKeys]


class Following(SpaceKeys):
    """As a space uses them, which forgets what an order destroys when it reads the order."""

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        self.forget(self.destroyed())
        return super().key(pseudonym, cipher)


class Counted(Pool):
    """Counts the statements."""

    asked = 0

    def ask(self, name: str, params: Mapping[str, object]) -> list[Row]:
        self.asked += 1
        return super().ask(name, params)


def space_id(pool: Pool, name: str) -> int:
    """A space, which is made if it is not there."""
    pool.ask("make_space", {"name": name})
    with pool.connection() as connection:
        row = connection.execute("SELECT id FROM recollect.spaces WHERE name = %s", (name,))
        return int(row.fetchall()[0][0])


def opener(pool: Pool, folder: Path, kind: type[SpaceKeys] = SpaceKeys) -> Opened:
    master = MasterKey(folder, None, None, REAL)

    def opened(ledger: str) -> SpaceKeys:
        id = space_id(pool, SPACES[ledger])
        wrapping = Wrapping(ledger, master, REAL, f"database, space {SPACES[ledger]}")
        return kind(pool, lambda: id, wrapping, REAL)

    return opened


class TestOnAServer(SubjectKeysSuite):
    @pytest.fixture
    def place(self, pool: Pool, tmp_path: Path) -> Place:
        return opener(pool, tmp_path, Following)


@pytest.fixture
def opened(pool: Pool, tmp_path: Path) -> Opened:
    return opener(pool, tmp_path)


def keeping(folder: Path) -> Keeping:
    master = MasterKey(folder, None, None, REAL)

    def noted(first: str, erased: Mapping[int, str]) -> None:
        if not erased:
            raise Unavailable("no room")

    return Keeping(
        master, lambda ledger: FileKeys(folder / "subjects", ledger, master, REAL), noted
    )


def test_control_a_key_that_is_held_is_given_until_it_is_forgotten(opened: Opened) -> None:
    mine, its = opened(LEDGER), opened(LEDGER)
    one = mine.add("ann")
    its.destroy([one.pseudonym], 7)
    assert mine.key(one.pseudonym, one.cipher) is not None
    assert mine.named("ann") == []  # this is asked each time
    mine.forget([one.pseudonym])
    assert mine.key(one.pseudonym, one.cipher) is None


def test_the_server_has_no_name_and_no_key_in_the_clear(opened: Opened, database: str) -> None:
    keys = opened(LEDGER)
    secret = key(keys, keys.add("Zebulon"))
    with psycopg.connect(database) as owner:
        rows = owner.execute("SELECT k.*, k::text FROM recollect.subject_keys k").fetchall()
    assert len(rows) == 1
    whole = b"".join(each if isinstance(each, bytes) else str(each).encode() for each in rows[0])
    for word in (b"Zebulon", b"Zebulon".hex().encode(), secret, secret.hex().encode()):
        assert word not in whole


def test_another_master_key_is_refused_before_anybody_is_looked_for(
    opened: Opened, pool: Pool, tmp_path: Path
) -> None:
    opened(LEDGER).add("ann")
    (tmp_path / "other").mkdir()
    other = MasterKey(tmp_path / "other", None, None, REAL)
    other(True)
    id = space_id(pool, "alice")
    wrong = SpaceKeys(pool, lambda: id, Wrapping(LEDGER, other, REAL, "database"), REAL)
    for call in (lambda: wrong.named("ann"), lambda: wrong.add("bob")):
        with pytest.raises(ConfigError, match="master key"):
            call()
    assert len(opened(LEDGER).every()) == 1


def test_many_keys_are_read_in_one_trip_and_none_before_they_are_needed(
    database: str, tmp_path: Path
) -> None:
    pool = Counted(database)
    made = [opener(pool, tmp_path)(LEDGER).add(f"user{number}") for number in range(20)]
    pool.asked = 0
    keys = opener(pool, tmp_path)(LEDGER)
    assert pool.asked == 1  # the space
    keys.look_up([one.pseudonym for one in made])
    assert len({key(keys, one) for one in made}) == 20
    keys.look_up([one.pseudonym for one in made])
    assert pool.asked == 2
    pool.close()


def test_what_an_append_destroys_is_destroyed(opened: Opened, pool: Pool) -> None:
    keys, id = opened(LEDGER), space_id(pool, "alice")
    first, second = keys.add("ann"), keys.add("bob")
    order = {
        "space": id, "head": 0, "headed": "0" * 64, "lines": [LINE], "hashed": "1" * 64,
        "dated": "2026-01-01T00:00:00.000000Z", "targets": [], "subjects": [first.pseudonym],
    }  # fmt: skip
    assert pool.ask("append", order) == [(True,)]
    keys.forget([first.pseudonym])
    assert keys.key(first.pseudonym, first.cipher) is None
    assert keys.destroyed() == {first.pseudonym: 1}
    assert key(keys, second)


def test_a_destroyed_key_does_not_come_back(opened: Opened) -> None:
    keys = opened(LEDGER)
    gone, left = keys.add("ann"), keys.add("bob")
    copies = keys.wrapped([gone.pseudonym, left.pseudonym])
    keys.destroy([gone.pseudonym], 7)
    again = opened(LEDGER)
    again.take(copies)
    assert again.key(gone.pseudonym, gone.cipher) is None
    assert [one.pseudonym for one in again.every()] == [left.pseudonym]
    assert again.lacks([gone.pseudonym, left.pseudonym, NOBODY]) == {NOBODY}


def test_keys_are_carried_to_a_database_that_lacks_them(
    opened: Opened, pool: Pool, database: str
) -> None:
    keys = opened(LEDGER)
    made = [keys.add("ann"), keys.add("bob")]
    before = {key(keys, one) for one in made}
    copies = keys.every()
    with psycopg.connect(database) as owner:
        owner.execute("DELETE FROM recollect.subject_keys")
    again = opened(LEDGER)
    again.take(copies)
    assert again.named("ann") == [made[0]]
    assert {key(again, one) for one in made} == before


def test_a_dropped_space_takes_no_key(opened: Opened, database: str) -> None:
    keys = opened(LEDGER)
    one = keys.add("ann")
    copies = keys.every()
    with psycopg.connect(database) as owner:
        drop_space(owner, "alice")
    for call in (
        lambda: keys.add("bob"),
        lambda: keys.destroy([one.pseudonym], 7),
        lambda: keys.take(copies),
    ):
        with pytest.raises(NotFound, match="dropped"):
            call()
    with psycopg.connect(database) as owner:
        for table in ("subject_keys", "destroyed_keys"):
            assert owner.execute(f"SELECT 1 FROM recollect.{table}".encode()).fetchall() == []


def test_what_is_ordered_destroyed_is_destroyed_on_this_machine_too(
    pool: Pool, tmp_path: Path
) -> None:
    mine, id = keeping(tmp_path), space_id(pool, "alice")
    keys = mine.keys(pool, lambda: id, LEDGER, "database, space alice", REAL)
    mine.keep_copies(keys)  # there is nothing yet
    first, second, third = keys.add("ann"), keys.add("bob"), keys.add("cyd")
    mine.keep_copies(keys)
    copies, names = mine.copies(LEDGER), [one.pseudonym for one in (first, second, third)]
    assert {one.pseudonym for one in copies.wrapped(names)} == set(names)
    told = mine.finish(keys, {first.pseudonym: 7, second.pseudonym: 9})
    assert keys.destroyed() == {first.pseudonym: 7, second.pseudonym: 9}
    assert [one.pseudonym for one in copies.wrapped(names)] == [third.pseudonym]
    assert sum(first.pseudonym in each for each in told) == 2  # on the server, and here
    assert told[-1].startswith("NOT cleaned")
    assert "ann" not in " ".join(told).split()
    assert mine.finish(keys, {}) == []
    keys.destroy([third.pseudonym], 11)  # by another machine
    mine.keep_copies(keys)
    assert copies.wrapped(names) == []


def test_what_was_erased_is_noted_for_backups_or_told(tmp_path: Path) -> None:
    mine = keeping(tmp_path)
    assert mine.note_heads(LEDGER, [Head(seq=3, hash="c" * 64, at="")]) == []
    assert "NOT noted" in mine.note_heads(LEDGER, [])[0]


def test_no_page_has_a_key_that_was_destroyed_once_they_are_written_again(
    opened: Opened, database: str
) -> None:
    keys = opened(LEDGER)
    gone, left = keys.add("ann"), keys.add("bob")
    (wrapped,) = keys.wrapped([gone.pseudonym])
    keys.destroy([gone.pseudonym], 7)
    assert wrapped.key in pages_of(database, "subject_keys")  # the control
    told = rewrite_keys(database)
    assert told == ("subject_keys and cache_keys: their pages and indexes were written again",)
    pages = pages_of(database, "subject_keys")
    assert wrapped.key not in pages
    assert gone.pseudonym.encode() not in pages
    assert key(keys, left)
    assert vacuum(database).tables > 10


def pages_of(database: str, table: str) -> bytes:
    """The file of a table, with everything that the server has of it in memory."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("CHECKPOINT")
        row = owner.execute(
            "SELECT current_setting('data_directory'), pg_relation_filepath(%s)",
            (f"recollect.{table}",),
        ).fetchall()[0]
    return Path(*row).read_bytes()
