"""S0: what is on the disk, and what becomes of it when someone else changes it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.contracts.chrono import ChronoRecord, ChronoStore, EsdbBridge
from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    Unsupported,
)
from recollect.ledger.scan import scan
from recollect.lifecycle.commands import Forget, Restore
from tests.contract.test_s2_files import environment
from tests.memory_suites.pages.chrono import ids, water

CANARY = "zyzzyva-quagmire"


def home(project: Path) -> Path:
    return project / ".chronomemory"


def lines(project: Path) -> list[bytes]:
    return (home(project) / "events.wal").read_bytes().splitlines()


def filled(project: Path) -> list[ChronoRecord]:
    """A project with three records; one was changed and one deleted."""
    with ChronoStore(project) as store:
        store.upsert(water())
        store.upsert(water(confidence=0.4))
        for id in ("B", "C"):
            store.upsert(ChronoRecord(id=id, label=f"statement {id}"))
        store.delete("C")
        return store.query(status=None)


def is_valid(project: Path) -> bool:
    with ChronoStore(project) as store:
        return store.chain_valid()


# Opening.


def test_a_store_is_in_its_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # S0-2 S0-5: a path, a text, or relative to where the program runs
    store = ChronoStore(tmp_path)
    assert not home(tmp_path).exists(), "nothing is created before it is opened"
    with store:
        store.upsert(water())
    assert (home(tmp_path) / "events.wal").is_file()
    monkeypatch.chdir(tmp_path)
    for same in (str(tmp_path), ".", Path()):
        with ChronoStore(same) as again:
            assert again.query() == [water()]
    with pytest.raises(ConfigError, match="is not a folder"):
        ChronoStore(tmp_path / "typo").open()
    assert not (tmp_path / "typo").exists()


def test_a_label_in_any_script_comes_back_from_the_file(tmp_path: Path) -> None:  # S0-9
    labels = ("0°C", "naïve 日本語", "e\u0301 is not \u00e9", "🧪\u2028two lines", "\u202eabc")
    with ChronoStore(tmp_path) as store:
        for number, label in enumerate(labels):
            store.upsert(ChronoRecord(id=f"F-{number}", label=label))
    with ChronoStore(tmp_path) as store:
        assert [one.label for one in store.query()] == list(labels)
    for path in home(tmp_path).iterdir():
        if path.name != "events.wal":
            path.unlink()
    with ChronoStore(tmp_path) as store:
        assert [one.label for one in store.query()] == list(labels)
        found = store.get("F-0")
        assert found is not None
        assert found.label.encode() == b"0\xc2\xb0C"


def test_with_opens_and_closes(tmp_path: Path) -> None:  # S0-3
    with ChronoStore(tmp_path) as store:
        store.upsert(water())
        assert store.query() == [water()]
    with pytest.raises(Conflict, match="not open"):
        store.query()
    with pytest.raises(ZeroDivisionError), store:
        raise ZeroDivisionError
    with pytest.raises(Conflict, match="not open"):
        store.get("FACT-001")


def test_a_store_is_opened_and_closed_by_hand(tmp_path: Path) -> None:  # S0-4
    store = ChronoStore(tmp_path)
    with pytest.raises(Conflict, match=re.escape("call open()")):
        store.upsert(water())
    store.open()
    store.open()
    store.upsert(water())
    store.close()
    store.close()
    with pytest.raises(Conflict, match="not open"):
        store.delete("FACT-001")
    store.open()
    assert store.query() == [water()]
    store.close()


def test_everything_is_in_the_log(tmp_path: Path) -> None:  # S0-5
    records = filled(tmp_path)
    for path in home(tmp_path).iterdir():
        if path.name != "events.wal":
            path.unlink()
    with ChronoStore(tmp_path) as store:
        assert store.query(status=None) == records
        assert store.chain_valid()


def test_a_deleted_record_stays_in_the_log(tmp_path: Path) -> None:
    # S0-19: as the event that forgets it; the store calls this a tombstone
    filled(tmp_path)
    (said,) = (json.loads(line) for line in lines(tmp_path) if b'"statement C"' in line)
    assert said["kind"] == "record.added"
    last = json.loads(lines(tmp_path)[-1])
    assert (last["kind"], b'"C"' in lines(tmp_path)[-1]) == ("record.forgotten", True)
    (home(tmp_path) / "index.db").unlink()
    with ChronoStore(tmp_path) as store:
        found = store.get("C")
        assert found is not None
        assert (found.status, found.label) == ("tombstone", "statement C")


def test_the_log_is_lines_of_json_in_a_chain_of_sha256(tmp_path: Path) -> None:
    # S0-39 S0-40
    filled(tmp_path)
    before = "0" * 64
    for line in lines(tmp_path):
        event = json.loads(line)
        assert event["prev"] == before
        before = event["hash"]
        assert sha256(line.partition(b',"hash":')[0]).hexdigest() == before
        data = line.partition(b',"data":')[2].removesuffix(b"}")
        assert sha256(bytes.fromhex(event["salt"]) + data).hexdigest() == event["body"]


# What was changed behind the store's back.


def flip_a_byte(project: Path) -> None:
    path = home(project) / "events.wal"
    path.write_bytes(path.read_bytes().replace(b"statement B", b"statement X"))


def rewrite_the_chain(project: Path) -> None:
    """Another ledger, sound in itself, with the same number of events."""
    forged = project / "forged"
    forged.mkdir()
    filled(forged)
    (home(project) / "events.wal").write_bytes((home(forged) / "events.wal").read_bytes())
    shutil.rmtree(forged)


def cut_the_tail(project: Path) -> None:
    path = home(project) / "events.wal"
    os.truncate(path, list(scan([path.read_bytes()]))[-2].end)


def empty_the_file(project: Path) -> None:
    os.truncate(home(project) / "events.wal", 0)


def remove_the_file(project: Path) -> None:
    (home(project) / "events.wal").unlink()


def edit_the_index(project: Path) -> None:
    index = sqlite3.connect(home(project) / "index.db")
    index.execute("UPDATE versions SET confidence = 0.99 WHERE id = 'B'")
    index.commit()
    index.close()


def edit_the_snapshot(project: Path) -> None:
    path = home(project) / "snapshot.json"
    path.write_text(path.read_text().replace("statement B", "statement X"))


def move_the_snapshot(project: Path) -> None:
    """The records of now under an event of before."""
    path = home(project) / "snapshot.json"
    path.write_text(re.sub(r'"seq": \d+', '"seq": 2', path.read_text()))


def break_the_snapshot(project: Path) -> None:
    (home(project) / "snapshot.json").write_text("[" * 100_000)


def link_the_snapshot(project: Path) -> None:
    (home(project) / "snapshot.json").unlink()
    (home(project) / "snapshot.json").symlink_to("nowhere")


def append_a_line(project: Path) -> None:
    with (home(project) / "events.wal").open("ab") as log:
        log.write(b'{"id":"D","label":"statement D"}\n')


def append_lines_and_a_torn_one(project: Path) -> None:
    with (home(project) / "events.wal").open("ab") as log:
        log.write(b"x\n" * 500 + b'{"v":1,')


def append_the_last_line_with_another_seq(project: Path) -> None:
    last = lines(project)[-1]
    with (home(project) / "events.wal").open("ab") as log:
        log.write(re.sub(rb'"seq":\d+,"tx":\[\d+,\d+\]', b'"seq":7,"tx":[7,7]', last) + b"\n")


TAMPERING: list[Callable[[Path], None]] = [
    flip_a_byte, rewrite_the_chain, cut_the_tail, empty_the_file, remove_the_file, edit_the_index,
    edit_the_snapshot, move_the_snapshot, break_the_snapshot, link_the_snapshot, append_a_line,
    append_lines_and_a_torn_one, append_the_last_line_with_another_seq,
]  # fmt: skip


@pytest.mark.parametrize("tamper", TAMPERING)
def test_tampering_is_found(tmp_path: Path, tamper: Callable[[Path], None]) -> None:
    # S0-23: also what the original misses
    filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        store.snapshot()
    assert is_valid(tmp_path), "the control"
    tamper(tmp_path)
    assert not is_valid(tmp_path)
    assert not is_valid(tmp_path), "also when the memory has moved aside what was added"
    status = EsdbBridge(tmp_path).status()
    assert (status.available, status.chain_valid) == (True, False)


@pytest.mark.parametrize("tamper", [cut_the_tail, rewrite_the_chain])
def test_events_are_missed_without_index_and_snapshot(
    tmp_path: Path, tamper: Callable[[Path], None]
) -> None:
    # S0-23: a store notes the last event when it is closed
    filled(tmp_path)
    assert is_valid(tmp_path)
    tamper(tmp_path)
    (home(tmp_path) / "index.db").unlink()
    assert not is_valid(tmp_path)
    with ChronoStore(tmp_path) as store:
        for number in range(9):  # so that the ledger is longer than it was
            store.upsert(ChronoRecord(id=f"later-{number}", label=f"said later, {number}"))
    assert not is_valid(tmp_path), "and the note stays"


@pytest.mark.parametrize("left", [0.2, 1.0, 1.5, 2.9])
def test_what_a_crash_leaves_is_not_tampering(tmp_path: Path, left: float) -> None:
    # S0-23: the control: the beginning of an append of three events
    filled(tmp_path)
    log = home(tmp_path) / "events.wal"
    size = log.stat().st_size
    with ChronoStore(tmp_path) as store:
        store.memory.events.submit(*(Forget(id=id) for id in ("FACT-001", "B")), Restore(id="C"))
    *_, first, second, third = (line + b"\n" for line in lines(tmp_path))
    whole, part = divmod(left, 1)
    torn = b"".join([first, second, third][: int(whole)])
    torn += [first, second, third][int(whole)][: int(part * 100)]
    os.truncate(log, size)
    with log.open("ab") as end:
        end.write(torn)
    for name in ("index.db", "events.wal.noted"):
        (home(tmp_path) / name).unlink()
    assert is_valid(tmp_path)
    (aside,) = home(tmp_path).glob("*.torn")
    assert aside.read_bytes() == torn
    assert is_valid(tmp_path)


def test_a_store_that_was_not_closed_is_sound(tmp_path: Path) -> None:
    # S0-23: the note is of an earlier event then
    filled(tmp_path)
    store = ChronoStore(tmp_path).open()
    store.upsert(ChronoRecord(id="D", label="written, and the program was stopped"))
    assert store.chain_valid()
    assert is_valid(tmp_path)
    store.close()
    assert is_valid(tmp_path)


def test_a_note_that_leads_elsewhere_changes_nothing_there(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("of a person")
    (tmp_path / "p").mkdir()
    filled(tmp_path / "p")
    path = home(tmp_path / "p") / "events.wal.noted"
    path.unlink()
    path.symlink_to(other)
    with ChronoStore(tmp_path / "p") as store:
        store.upsert(ChronoRecord(id="D", label="one more"))
    assert other.read_text() == "of a person"
    assert not is_valid(tmp_path / "p")


def test_a_lost_segment_is_found(tmp_path: Path) -> None:  # S0-23
    filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        store.compact()
        assert store.chain_valid()
    (segment,) = (home(tmp_path) / "sealed").iterdir()
    segment.unlink()
    assert not is_valid(tmp_path)


def test_tampering_is_found_by_a_store_that_is_open(tmp_path: Path) -> None:  # S0-23
    filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        assert store.chain_valid()
        flip_a_byte(tmp_path)
        assert not store.chain_valid()


# Compacting and copying.


def test_compact_counts_the_events_that_it_closed(tmp_path: Path) -> None:
    # S0-24 S0-25: not those of earlier times
    records = filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        assert store.compact() == 6
        assert len(lines(tmp_path)) == 1
        assert (home(tmp_path) / "snapshot.json").is_file()
        assert store.query(status=None) == records
        store.upsert(ChronoRecord(id="D", label="after it"))
        before = len(lines(tmp_path))
        assert (before, store.compact(), len(lines(tmp_path))) == (2, 2, 1)
        assert store.compact() == 0
        assert len(store.query(status=None)) == len(records) + 1
        assert store.chain_valid()
    with ChronoStore(tmp_path) as store:
        assert ids(store.query()) == ["FACT-001", "B", "D"]


def test_nothing_is_lost_by_compacting(tmp_path: Path) -> None:  # S0-25
    records = filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        store.compact()
        assert [one.record.confidence for one in store.memory.history("FACT-001")] == [1.0, 0.4]
    (home(tmp_path) / "snapshot.json").unlink()
    (home(tmp_path) / "index.db").unlink()
    with ChronoStore(tmp_path) as store:
        assert store.query(status=None) == records


def test_a_snapshot_has_every_record_of_one_position(tmp_path: Path) -> None:
    # S0-41: it is written when it is asked for; a write costs the same with and without it
    with ChronoStore(tmp_path) as store:
        for number in range(60):
            store.upsert(ChronoRecord(id=f"F{number}", label=f"filler {number}"))
        assert not (home(tmp_path) / "snapshot.json").exists()
        store.delete("F3")
        path = Path(store.snapshot())
        assert path == home(tmp_path) / "snapshot.json"
        found = json.loads(path.read_text())
        assert list(found) == ["seq", "last_hash", "ts", "records"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["ts"])
        last = json.loads(lines(tmp_path)[-1])
        assert (found["seq"], found["last_hash"]) == (last["seq"], last["hash"])
        assert [ChronoRecord(**one) for one in found["records"]] == store.query(status=None)
        again = path.read_bytes()
        store.upsert(ChronoRecord(id="new", label="later than the snapshot"))
        assert store.chain_valid(), "a snapshot of before is one of before"
        assert path.read_bytes() == again


def test_a_backup_is_in_a_folder_named_after_its_time(tmp_path: Path) -> None:
    # S0-26 S0-27
    records = filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        before = datetime.now(UTC).replace(microsecond=0)
        path = store.backup()
        after = datetime.now(UTC)
        assert type(path) is str
        assert Path(path).parent == home(tmp_path) / "backup"
        assert re.fullmatch(r"\d{8}T\d{6}", Path(path).name)
        named = datetime.strptime(Path(path).name, "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        assert before <= named <= after
        store.upsert(ChronoRecord(id="D", label="after it"))
        assert store.backup() != path
    with Store.restore_backup(path, tmp_path / "restored") as memory:
        assert ChronoStore.over(memory).query(status=None) == records


def test_backups_of_one_second_are_kept_apart(tmp_path: Path) -> None:
    # S0-27: decided: the second one has a number after its time
    filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        names = [Path(store.backup()).name for _ in range(4)]
    assert len(set(names)) == 4
    for name in names:
        assert re.fullmatch(r"\d{8}T\d{6}(-[2-4])?", name)
    stems = [name.partition("-")[0] for name in names]
    assert [name for name in names if "-" not in name] == sorted(set(stems))


def test_evidence_counts_once_and_is_short(tmp_path: Path) -> None:
    # S0-29: decided: what is appended again changes nothing
    with ChronoStore(tmp_path) as store:
        store.upsert(ChronoRecord(id="H", label="It halves the latency.", evidence=["a", "b", "a"]))
        found = store.get("H")
        assert found is not None
        assert found.evidence == ["a", "b"]
        found.evidence += ["b", "run 7"]
        store.upsert(found)
        position = store.memory.events.position
        found.evidence.append("run 7")
        store.upsert(found)
        assert store.memory.events.position == position
        known = store.get("H")
        assert known is not None
        assert known.evidence == ["a", "b", "run 7"]
        found.evidence = [" run 8 ", "Zoe\u0308"]
        store.upsert(found)
        known = store.get("H")
        assert known is not None
        assert known.evidence == ["run 8", "Zo\u00eb"]
        found.evidence = ["run 9\nfailed"]
        with pytest.raises(InvalidInput):
            store.upsert(found)
        found.evidence = ["x" * 201]
        with pytest.raises(LimitExceeded, match="longer than 200"):
            store.upsert(found)
        found.evidence = [f"run {number}" for number in range(257)]
        with pytest.raises(LimitExceeded, match="more than 256"):
            store.upsert(found)


def test_the_layout(tmp_path: Path) -> None:  # S0-42
    filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        store.compact()
        stamp = Path(store.backup()).name
    there = {path.relative_to(home(tmp_path)).as_posix() for path in home(tmp_path).rglob("*")}
    assert {"events.wal", "snapshot.json", f"backup/{stamp}/events.wal"} <= there


def test_who_may_not_copy_the_ledger_may_not_here(tmp_path: Path) -> None:
    filled(tmp_path)
    with ChronoStore(tmp_path, trust="unverified") as store:
        for call in (store.compact, store.backup, store.snapshot):
            with pytest.raises(Forbidden):
                call()
    with Memory.open(":memory:", embedder="none") as memory, pytest.raises(Unsupported):
        ChronoStore.over(memory).snapshot()


# Files that show words of a record.


def test_erasing_reaches_the_snapshot_and_the_copies(tmp_path: Path) -> None:
    with ChronoStore(tmp_path) as store:
        store.upsert(ChronoRecord(id="secret", label=f"the word is {CANARY}"))
        store.upsert(water())
        store.compact()
        store.backup()
        holding = [path for path in home(tmp_path).rglob("*") if has_canary(path)]
        assert {"snapshot.json"} <= {path.name for path in holding}, "the control"
        with Memory.open(home(tmp_path), embedder="none") as person:
            done = person.erase("secret")
        assert any("snapshot.json" in told for told in done.places)
        assert [path for path in home(tmp_path).rglob("*") if has_canary(path)] == []
        assert store.query() == [water()]
        store.snapshot()
        assert store.chain_valid()


def has_canary(path: Path) -> bool:
    return path.is_file() and CANARY.encode() in path.read_bytes()


def test_dropping_removes_the_snapshot(tmp_path: Path) -> None:
    filled(tmp_path)
    with ChronoStore(tmp_path) as store:
        store.compact()
    with Store.open(home(tmp_path)) as place:
        place.drop("main")
    assert not list(home(tmp_path).glob("snapshot*")) + list(home(tmp_path).glob("events*"))


def test_a_snapshot_is_not_written_through_a_link(tmp_path: Path) -> None:
    filled(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (home(tmp_path) / "snapshot.json").symlink_to(victim)
    with ChronoStore(tmp_path) as store:
        store.compact()
        assert store.chain_valid()
    assert victim.read_text() == "mine"
    assert not (home(tmp_path) / "snapshot.json").is_symlink()


def lose_the_log(project: Path) -> None:
    shutil.rmtree(home(project) / "sealed")
    for path in (*home(project).glob("index.db*"), home(project) / "events.wal"):
        path.unlink()


def restore_an_older_log(project: Path) -> None:
    older = home(project) / "events.wal"
    lose_the_log(project)
    with ChronoStore(project.parent / "older") as store:
        store.upsert(ChronoRecord(id="A", label="only this"))
    older.write_bytes((home(project.parent / "older") / "events.wal").read_bytes())


def note_in_the_snapshot(project: Path) -> None:
    with (home(project) / "snapshot.json").open("a") as file:
        file.write("// my notes")


@pytest.mark.parametrize(
    "alter",
    [
        lose_the_log,
        restore_an_older_log,
        note_in_the_snapshot,
        edit_the_snapshot,
        move_the_snapshot,
    ],
)
def test_a_snapshot_that_the_memory_could_not_write_again_is_kept(
    tmp_path: Path, alter: Callable[[Path], None]
) -> None:
    project = tmp_path / "project"
    for each in (project, tmp_path / "older"):
        each.mkdir()
    filled(project)
    with ChronoStore(project) as store:
        store.compact()
    alter(project)
    was = (home(project) / "snapshot.json").read_bytes()
    with ChronoStore(project) as store:
        store.upsert(ChronoRecord(id="N", label="new"))
        sealed = store.epoch
        for call in (store.compact, store.snapshot, store.compact):
            with pytest.raises(Conflict, match=r"snapshot\.json"):
                call()
        assert store.epoch == sealed, "nothing was sealed either"
        assert (home(project) / "snapshot.json").read_bytes() == was
        (home(project) / "snapshot.json").rename(tmp_path / "moved.json")
        (home(project) / "events.wal.noted").unlink()  # the loss is known
        store.compact()
        store.compact()
    assert is_valid(project)


WRITER = """
import sys
from recollect.contracts.chrono import ChronoRecord, ChronoStore
with ChronoStore(sys.argv[1]) as store:
    for number in range(20):
        store.upsert(ChronoRecord(id=f"{sys.argv[2]}-{number}", label=f"{sys.argv[2]} {number}"))
        shared = store.get("shared") or ChronoRecord(id="shared", label="both write this")
        shared.data[sys.argv[2]] = number
        store.upsert(shared)
"""


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name], env=environment()) for name in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    with ChronoStore(tmp_path) as store:
        assert len(store.query()) == 41
        assert store.chain_valid()
