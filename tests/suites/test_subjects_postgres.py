"""A tenth of many subjects is erased on a server that never had a word of them in the clear.

Every table of the schema is read as the owner reads it, all columns, and searched as bytes in every
form that ``canaries`` knows; so are the files of the database. The control is the same without
subjects: what is said lies in the tables, until it is erased and they are written again.
"""

from __future__ import annotations

import json
import random
import time
from base64 import b64encode
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
import psycopg
import pytest

from recollect import Memory, Store
from recollect.errors import IntegrityError
from recollect.ledger.codec import decode
from recollect.memory.keys import Keys
from recollect.model.events import Head
from recollect.store.indexed.ledger import Erased, Meanwhile
from recollect.store.postgres.ledger import PostgresLedger
from recollect.store.postgres.subjects import Keeping
from recollect.store.postgres.vacuum import vacuum
from tests.postgres.conftest import database, server, template, url
from tests.suites.canaries import canary
from tests.suites.conftest import Tell
from tests.suites.test_subjects import (
    World,
    encrypted,
    hits,
    recalled,
    stored,
    swaps,
)

__all__ = ["database", "server", "template", "url"]  # fixtures


class Searched(NamedTuple):
    """The hits of one search: in rows, and in the files of the database."""

    rows: Counter[str]
    tables: set[str]
    files: Counter[str]


def made(address: str, tmp_path: Path, subjects: int, *, plain: bool = False) -> World:
    """Each person has said a word, in the clear and encoded; a backup was made."""
    memory, rng = Memory.open(address, embedder="none"), random.Random(subjects)
    if not plain:
        memory.settings.set_subjects("users")
    Keys(memory).create()
    names = [f"person{n}" for n in range(subjects)]
    words = {name: canary(rng) for name in names}
    for name, word in words.items():
        handle = memory.scoped(user=name)
        (said,) = handle.observe(f"I live in {word}")
        record = handle.remember(f"Lives in {word}", key="home", evidence=[said.id])
        raw = word.encode()
        coded = f"{b64encode(raw).decode()} {raw.hex()} {json.dumps(word)}"
        memory.revise(record.id, text=f"Moved to {word}, that is {coded}")
    memory.proof.checkpoint()
    backup = memory.admin.backup(str(tmp_path / "outside")).path
    gone = names[::10]
    return World(memory, tmp_path, backup, words, gone, [one for one in names if one not in gone])


def searched(address: str, folder: Path, words: list[str]) -> Searched:
    """Every row of every table, as its owner reads it, and every file of the database."""
    folder.mkdir()
    with psycopg.connect(address, autocommit=True) as owner:
        tables = owner.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace"
            " AND c.relkind = 'r' ORDER BY 1"
        ).fetchall()
        for (name,) in tables:
            with (
                (folder / str(name)).open("wb") as file,
                owner.cursor().copy(f"COPY recollect.{name} TO STDOUT (FORMAT binary)") as rows,
            ):
                for piece in rows:
                    file.write(piece)
        owner.execute("CHECKPOINT")
        base = owner.execute(
            "SELECT current_setting('data_directory') || '/base/' || oid FROM pg_database"
            " WHERE datname = current_database()"
        ).fetchone()
    found, places = hits(folder, words)
    here = Path(str(base[0] if base else ""))
    return Searched(found, places, hits(here, words)[0] if here.exists() else Counter())


def run_suite(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subjects: int
) -> tuple[Searched, Searched, Searched, World]:
    """The search before, after erasing, and after the verb that writes the tables again."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    world = made(address, tmp_path, subjects)
    with world.memory:
        return *_run(world, address, tmp_path), world


def _run(world: World, address: str, tmp_path: Path) -> tuple[Searched, Searched, Searched]:
    memory, words = world.memory, [world.words[name] for name in world.gone]
    before = searched(address, tmp_path / "before", words)
    answers, lines = recalled(world, memory), stored(memory)
    done = [memory.erase(subject=name) for name in world.gone]
    erased = {seq for one in done for seq in one.events}
    assert all(any("write-ahead log" in place for place in one.places) for one in done)
    assert recalled(world, memory) == answers
    now = stored(memory)
    assert {seq: now[seq] for seq in lines if seq not in erased} == {
        seq: raw for seq, raw in lines.items() if seq not in erased
    }
    assert len(erased) == 3 * len(world.gone)
    after = searched(address, tmp_path / "after", words)
    vacuum(address)
    last = searched(address, tmp_path / "last", words)
    assert memory.admin.verify(deep=True).status == "anchored"  # with the checkpoint of before
    with Store.restore_backup(world.backup, tmp_path / "again") as again:
        assert again.admin.verify(deep=True).ok
        assert recalled(world, again) == answers
    return before, after, last


def keys_left(address: str) -> tuple[int, int]:
    """How many keys there are, and how many were destroyed."""
    with psycopg.connect(address, autocommit=True) as owner:
        row = owner.execute(
            "SELECT (SELECT count(*) FROM recollect.subject_keys),"
            " (SELECT count(*) FROM recollect.destroyed_keys)"
        ).fetchone() or (0, 0)
    return int(row[0]), int(row[1])


@pytest.mark.parametrize(
    "subjects", [30, pytest.param(1_000, marks=pytest.mark.nightly)], ids=["bounded", "full"]
)
def test_no_row_of_an_erased_subject_is_left_on_a_server(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell, subjects: int
) -> None:
    started = time.perf_counter()
    before, after, last, world = run_suite(url, tmp_path, monkeypatch, subjects)
    tell(
        f"subjects on PostgreSQL: {subjects:,} subjects, {len(world.gone):,} erased: "
        f"{before.rows.total():,} hits in rows before {dict(before.rows)}, {after.rows.total()} "
        f"after; in files {before.files.total():,} before, {after.files.total():,} after, "
        f"{last.files.total()} after vacuum; {len(world.kept)} others byte for byte as before; "
        f"{time.perf_counter() - started:.0f} s"
    )
    for one in (before, after, last):
        assert not one.rows
        assert not one.files
    assert keys_left(url) == (len(world.kept), len(world.gone))


def test_control_without_subjects_everything_is_found_until_it_is_written_again(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    world = made(url, tmp_path, 30, plain=True)
    words = [world.words[name] for name in world.gone]
    with world.memory as memory:
        before = searched(url, tmp_path / "before", words)
        assert set(before.rows) == {"UTF-8", "base64", "hex"}  # JSON within JSON is another form
        assert before.tables == {"events"}
        assert before.files.total() > 0
        for name in world.gone:
            memory.erase(user=name)
        assert not searched(url, tmp_path / "after", words).rows
        vacuum(url)
        assert not searched(url, tmp_path / "last", words).files


def test_control_keys_that_stay_are_counted(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = PostgresLedger.append

    def forgetful(
        self: PostgresLedger,
        before: Head,
        data: bytes,
        head: Head,
        erased: Erased | None,
        meanwhile: Meanwhile,
    ) -> bool:
        erased = None if erased is None else erased._replace(subjects=())
        return append(self, before, data, head, erased, meanwhile)

    monkeypatch.setattr(PostgresLedger, "append", forgetful)
    monkeypatch.setattr(Keeping, "finish", lambda *_: [])
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    world = made(url, tmp_path, 10)
    with world.memory as memory:
        for name in world.gone:
            memory.erase(subject=name)
    assert keys_left(url)[0] == len(world.kept) + len(world.gone)


def test_every_swapped_ciphertext_of_a_server_is_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    spaces = [Memory.open(url, space=name, embedder="none") for name in ("main", "team")]
    for memory in spaces:
        memory.settings.set_subjects("users")
        for number in range(6):
            handle = memory.scoped(user=f"person{number}")
            for place in range(3):
                handle.remember(f"{number} {place}")
    own, others = map(encrypted, spaces)
    ciphers, refused = spaces[0]._handle.space.subjects, Counter[str]()
    for line in own:
        assert decode(line, ciphers).body is not None
    for what, line, other in swaps(own, others):
        with pytest.raises(IntegrityError):
            decode(msgspec.structs.replace(line, data=other.data), ciphers)
        refused[what] += 1
    for memory in spaces:
        memory.close()
    tell(
        f"subjects on PostgreSQL: {refused.total():,} swapped ciphertexts refused: {dict(refused)}"
    )
    assert set(refused) == {"another event's", "another subject's", "another space's"}
