"""A damaged index: what reads come to, and what a deep check finds.

Bits of ``index.db`` are flipped and pages zeroed. Every answer afterwards is right, or the deep
check says that the index is wrong and a rebuild puts it right. Only a changed bit that leaves a row
whole may change an answer, and the deep check finds each of those.
"""

from __future__ import annotations

import logging
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.assistants import prompts
from recollect.errors import IntegrityError, NotFound
from recollect.model.values import INCLUDES, Include
from recollect.store import compare
from recollect.store.files.catch_up import Healing
from recollect.store.files.quick_read import quick_read
from recollect.store.files.readers import Readers

Damage = Callable[[bytearray], None]
QUESTIONS = ("server 7 port", "team lead", "what was said about the harbour")
PAGE = 4_096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with some of everything, closed, its index in one file."""
    folder = tmp_path_factory.mktemp("healing") / "memory"
    with Memory.open(folder) as memory:
        for i in range(40):
            memory.remember(
                f"Server {i} listens on port {5000 + i} and belongs to team {i % 7}.",
                id=f"m{i}",
                key=f"server.{i}",
                tags=("server", f"team-{i % 7}"),
                data={"port": 5000 + i},
            )
        for i in range(20):
            memory.observe(f"Turn {i}: somebody spoke about the harbour and the tide.", id=f"e{i}")
        memory.revise("m3", text="Server 3 moved to port 6003.")
        memory.forget("m4")
        memory.graph.link("m5", "m6", "relates_to")
        memory.context("server 7 port")
        memory.admin.embed()  # a recall makes missing vectors for 20 ms only, so answers would vary
        memory.admin.flush()
    with sqlite3.connect(folder / "index.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return folder


def copied(sound: Path, tmp_path: Path, damage: Damage | None = None) -> Path:
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    if damage is not None:
        data = bytearray((folder / "index.db").read_bytes())
        damage(data)
        (folder / "index.db").write_bytes(data)
    return folder


def answers(memory: Memory) -> list[object]:
    """What the public reads say, in one value; a row that is wrong may also say "not here"."""
    try:
        return answered(memory)
    except NotFound as error:
        return [str(error)]


def answered(memory: Memory) -> list[object]:
    ever: tuple[Include, ...] = INCLUDES
    then = memory.at(30)
    return [
        memory.list(limit=1_000),
        memory.list(limit=1_000, include=ever),
        memory.list(filter="tags contains 'team-3'"),
        memory.sessions.episodes(limit=1_000, include=ever),
        [memory.get(f"m{i}") for i in (0, 7, 39)],
        memory.get(key="server.9"),
        [memory.history(f"m{i}") for i in (3, 4, 5)],
        memory.why("m3"),
        [memory.recall(question).hits for question in QUESTIONS],
        memory.context("server 7 port", receipt=False).text,
        [receipt.items for receipt in memory.proof.receipts.list()],
        then.list(limit=1_000),
        then.recall("server 7 port").hits,
    ]


def check(folder: Path, expected: list[object], what: str) -> str:
    """One damaged workspace: "right", "healed" on the way, or "found" by a deep check.

    A row that is whole and wrong may be served until a later read meets damage that shows.
    """
    with healings() as healed, Memory.open(folder) as memory:
        is_right = answers(memory) == expected
        if not is_right and healed:
            assert answers(memory) == expected, what
            is_right = True
        verified = memory.admin.verify(deep=True)
        problems = [finding for finding in memory.admin.doctor() if finding.level == "problem"]
        assert verified.ok == (not problems), (what, verified, problems)
        assert is_right or not verified.ok, f"{what}: a wrong answer, and no check finds it"
        if not verified.ok:
            memory.admin.rebuild()
            assert memory.admin.verify(deep=True).ok, what
            assert answers(memory) == expected, what
    return "found" if not is_right else "healed" if healed else "right"


@contextmanager
def healings() -> Iterator[list[str]]:
    """What the log says of indexes that were built again."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    log, handler = logging.getLogger("recollect.store.files.index"), Keep()
    log.addHandler(handler)
    try:
        yield lines
    finally:
        log.removeHandler(handler)


def flipped(at: int, bit: int) -> Damage:
    def damage(data: bytearray) -> None:
        data[at] ^= 1 << bit

    return damage


def zeroed(page: int) -> Damage:
    def damage(data: bytearray) -> None:
        data[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)

    return damage


def expected_of(sound: Path, tmp_path: Path) -> list[object]:
    with Memory.open(copied(sound, tmp_path)) as memory:
        return answers(memory)


def flips(sound: Path, tmp_path: Path, count: int, seed: int) -> list[str]:
    expected, rng = expected_of(sound, tmp_path), random.Random(seed)
    size = (sound / "index.db").stat().st_size
    found = []
    for _ in range(count):
        at, bit = rng.randrange(size), rng.randrange(8)
        folder = copied(sound, tmp_path, flipped(at, bit))
        found.append(check(folder, expected, f"bit {bit} of byte {at}"))
    return found


def test_a_flipped_bit_is_healed_or_found(sound: Path, tmp_path: Path) -> None:
    assert flips(sound, tmp_path, 12, seed=5)


def test_a_schema_that_is_not_text_is_healed(sound: Path, tmp_path: Path) -> None:
    """SQLite quotes the damaged words in its message, which its driver then cannot decode."""
    expected, data = expected_of(sound, tmp_path), (sound / "index.db").read_bytes()
    words = [b"CREATE TABLE versions", b"CREATE INDEX"]
    found: list[str] = []
    for at in (data.index(word) + letter for word in words for letter in (1, 8, 14)):
        what = f"the letter at {at}"
        found.append(check(copied(sound, tmp_path, flipped(at, 7)), expected, what))
    assert found == ["healed"] * len(found)


def test_a_column_under_another_name_is_healed_or_found(sound: Path, tmp_path: Path) -> None:
    """The rows are whole and read in the same order: only a statement that names it fails."""
    expected, data = expected_of(sound, tmp_path), (sound / "index.db").read_bytes()
    columns = ((b"tags TEXT NOT NULL", "healed"), (b"metadata TEXT NOT NULL", "right"))
    for column, outcome in columns:
        renamed, what = flipped(data.index(column), 1), column.decode()
        assert check(copied(sound, tmp_path, renamed), expected, what) == outcome, what
        with Memory.open(copied(sound, tmp_path, renamed)) as memory:
            assert "tables of the index" in str(memory.admin.verify(deep=True).problem), what


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_many_flipped_bits_are_healed_or_found(sound: Path, tmp_path: Path, seed: int) -> None:
    flips(sound, tmp_path, 300, seed=100 + seed)


def pages(sound: Path) -> int:
    return (sound / "index.db").stat().st_size // PAGE


def test_a_zeroed_page_is_healed_or_found(sound: Path, tmp_path: Path) -> None:
    expected = expected_of(sound, tmp_path)
    for page in range(0, pages(sound), 9):
        check(copied(sound, tmp_path, zeroed(page)), expected, f"page {page}")


@pytest.mark.nightly
def test_every_zeroed_page_is_healed_or_found(sound: Path, tmp_path: Path) -> None:
    expected = expected_of(sound, tmp_path)
    for page in range(pages(sound)):
        check(copied(sound, tmp_path, zeroed(page)), expected, f"page {page}")


def broken_reads(sound: Path, tmp_path: Path) -> Iterator[int]:
    """The zeroed pages that a listing and a recall do not survive."""
    for page in range(1, pages(sound), 9):
        with Memory.open(copied(sound, tmp_path, zeroed(page))) as memory:
            try:
                answers(memory)
            except Exception:  # noqa: BLE001 - whatever damage comes to when nothing heals it
                yield page


def test_reads_survive_zeroed_pages(sound: Path, tmp_path: Path) -> None:
    assert list(broken_reads(sound, tmp_path)) == []


def test_without_healing_they_do_not(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Readers, "_is_damaged", lambda self, error, db: False)
    assert any(broken_reads(sound, tmp_path))


def spoil(folder: Path, statement: str) -> None:
    """Changes rows as a failing disk or a hand might, behind the engine's back."""
    with sqlite3.connect(folder / "index.db") as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(statement)
    db.close()


CHANGED = {
    "text": "UPDATE versions SET text = 'The gate code is 9911.' WHERE id = 'm7'",
    "trust": "UPDATE versions SET trust = 'unverified' WHERE id = 'm7'",
    "episode": "DELETE FROM episodes WHERE id = 'e3'",
    "tag": "DELETE FROM tags WHERE record = 'm7'",
    "facts": "UPDATE recallable_content SET c1 = c1 + 1",
    "word": "INSERT INTO recallable (rowid, tokens) VALUES (999999, 'gate code')",
    "size": "UPDATE recallable_docsize SET sz = X'7F' WHERE id = (SELECT MIN(id) FROM "
    "recallable_docsize)",
}


@pytest.mark.parametrize("statement", CHANGED.values(), ids=CHANGED)
def test_a_row_that_is_whole_and_wrong_is_found_by_a_deep_check(
    sound: Path, tmp_path: Path, statement: str
) -> None:
    folder = copied(sound, tmp_path)
    with Memory.open(folder) as memory:
        memory.list()  # opened before: nothing is built again for it
        spoil(folder, statement)
        assert memory.admin.verify().ok  # the ledger is
        found = memory.admin.verify(deep=True)
        assert not found.ok
        assert "rebuild" in str(found.problem)
        (problem,) = [each for each in memory.admin.doctor() if each.level == "problem"]
        assert problem.what == "index rows"
        assert "recollect admin rebuild" in str(problem.fix)
        memory.admin.rebuild()
        assert memory.admin.verify(deep=True).ok
        assert memory.admin.verify(deep=True).problem is None


def test_the_control_a_check_that_does_not_compare_finds_no_wrong_row(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "state_digest", lambda db, at: "")
    folder = copied(sound, tmp_path)
    spoil(folder, CHANGED["text"])
    with Memory.open(folder) as memory:
        assert memory.admin.verify(deep=True).ok


UNREADABLE = {
    "JSON": "UPDATE versions SET tags = '[\"server\"' WHERE id = 'm7'",
    "UTF-8": "UPDATE versions SET text = CAST(X'FFFEFD' AS TEXT) WHERE id = 'm7'",
    "a table gone": "DROP TABLE episodes",
    "its words gone": "DELETE FROM recallable_data WHERE id > 1",
}


@pytest.mark.parametrize("statement", UNREADABLE.values(), ids=UNREADABLE)
def test_a_row_that_cannot_be_read_is_healed_once_and_logged(
    sound: Path, tmp_path: Path, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = expected_of(sound, tmp_path)
    folder = copied(sound, tmp_path)
    spoil(folder, statement)
    with caplog.at_level(logging.WARNING, "recollect"), Memory.open(folder) as memory:
        assert answers(memory) == expected
        assert memory.admin.verify(deep=True).ok
    assert len([line for line in caplog.messages if "rebuilding it from the ledger" in line]) == 1


def test_an_index_that_breaks_again_and_again_is_an_error_with_a_hint(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(sound, tmp_path)
    with Memory.open(folder) as memory:
        heal = Healing.mend

        def mend(self: Any, *args: Any) -> None:
            heal(self, *args)
            spoil(folder, UNREADABLE["JSON"])

        monkeypatch.setattr(Healing, "mend", mend)
        spoil(folder, UNREADABLE["JSON"])
        with pytest.raises(IntegrityError, match="doctor"):
            memory.get("m7")


def test_a_callers_own_mistake_is_not_taken_for_damage(
    sound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def counter(text: str) -> int:
        raise ValueError("of the caller")

    mistake = pytest.raises(ValueError, match="of the caller")
    with Memory.open(copied(sound, tmp_path)) as memory, mistake:
        memory.context("server 7 port", counter=counter)
    assert not caplog.messages


def test_a_place_that_is_wrong_is_found_by_a_deep_check(sound: Path, tmp_path: Path) -> None:
    folder = copied(sound, tmp_path)
    with Memory.open(folder) as memory:
        memory.list()
        spoil(folder, "UPDATE position SET active_us = active_us + 1")
        assert "position of the index" in str(memory.admin.verify(deep=True).problem)
        assert any(each.level != "ok" for each in memory.admin.doctor())
    with Memory.open(folder) as memory:  # opening looks at the place, and mends it
        assert memory.admin.verify(deep=True).ok


def test_a_changed_position_does_not_prove_a_loss(sound: Path, tmp_path: Path) -> None:
    """One changed byte of the hash at which the index stands must not stop everything."""
    expected = expected_of(sound, tmp_path)
    folder = copied(sound, tmp_path)
    spoil(folder, "UPDATE position SET hash = 'f' || substr(hash, 2), seq = seq + 4096")
    with Memory.open(folder) as memory:
        assert answers(memory) == expected
        memory.remember("and it goes on")
        assert memory.admin.verify(deep=True).ok


def test_a_write_over_a_damaged_index_is_right_too(sound: Path, tmp_path: Path) -> None:
    folder = copied(sound, tmp_path)
    spoil(folder, UNREADABLE["JSON"])
    with Memory.open(folder) as memory:
        assert memory.revise("m7", tags=["new"]).tags == ("server", "team-0", "new")
        assert memory.admin.verify(deep=True).ok


def test_a_batch_over_a_damaged_index_is_right_too(sound: Path, tmp_path: Path) -> None:
    """What was there before is decoded while the index can still be repaired."""
    folder = copied(sound, tmp_path)
    spoil(folder, UNREADABLE["JSON"])
    with Memory.open(folder) as memory:
        with memory.batch() as batch:
            batch.remember("something new")
            batch.used(["m7"])
        assert batch.results[1] == memory.get("m7")
        assert memory.admin.verify(deep=True).ok


def test_a_glance_over_a_damaged_index_heals_it(sound: Path, tmp_path: Path) -> None:
    """The hook's way in, which reads without opening."""
    from recollect.config import load

    folder = copied(sound, tmp_path)
    spoil(folder, UNREADABLE["JSON"])
    assert quick_read(folder) is not None

    def look(reads: Any, now: str, user: str | None) -> list[Any]:
        from recollect.index.values import record_of

        return [record_of(row) for row in reads.versions("m7")]

    found: list[Any] = prompts._by_words(look, load(folder), "main", "")
    assert found[0].tags == ("server", "team-0")


def test_deep_means_the_same_for_doctor_and_verify(sound: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with Memory.open(copied(sound, tmp_path)) as memory:
        assert memory.admin.verify(lambda *each: told.append(each), deep=True).ok
        assert told[-1][0] == told[-1][1]
        assert told == sorted(told)
        told.clear()
        assert all(
            each.level == "ok" for each in memory.admin.doctor(lambda *each: told.append(each))
        )
        assert told
