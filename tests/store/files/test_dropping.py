"""Dropping a space in files: what goes, what stays, and who is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.errors import InvalidInput, NotFound, Unavailable
from recollect.finding.vectors import Leg, catch_up
from recollect.memory import Memory, Store
from recollect.memory.handle.handle import Handle
from recollect.store import posix
from recollect.store.disk.layout import DROPPED, DROPPING, LEDGER, LOCK, is_untouched
from recollect.store.files import drop, lock, open_files
from recollect.store.files.backend import FileBackend
from recollect.store.files.quick_read import quick_read
from recollect.testing.acts import command, outcome, remember
from recollect.testing.drop_suite import fill
from recollect.testing.embedders import WordEmbedder

WRITER = """
import sys
from recollect import Memory
from recollect.errors import RecollectError
memory = Memory.open(sys.argv[1], space="bob")
memory.remember("from another process")
print("ready", flush=True)
for line in sys.stdin:
    try:
        memory.remember("again") if line.strip() == "write" else memory.list()
        print("done", flush=True)
    except RecollectError as error:
        print(error.code, flush=True)
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FileBackend]:
    with closing(FileBackend(tmp_path / "ws")) as backend:
        yield backend


def stopped(place: FileBackend, monkeypatch: pytest.MonkeyPatch, name: str = "bob") -> None:
    """Orders a drop, and is stopped before anything is removed."""

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(drop, "finish", dies)
        with pytest.raises(KeyboardInterrupt):
            place.drop(name, "stopped")


def test_nothing_of_the_folder_stays(place: FileBackend, tmp_path: Path) -> None:
    space = fill(place, "bob", "secret")
    space.backup(None)
    assert place.folder_of("bob").exists()
    done = place.drop("bob", None)
    assert not place.folder_of("bob").exists()
    assert sorted(path.name for path in (tmp_path / "ws").rglob("*")) == [DROPPED, "spaces"]
    assert "backups and other copies in this workspace: 1 removed" in done.places


def test_copies_in_the_workspace_go_and_others_are_named(
    place: FileBackend, tmp_path: Path
) -> None:
    space = fill(place, "bob", "secret")
    space.backup(str(tmp_path / "ws" / "backup" / "mine"))
    space.backup(str(tmp_path / "outside"))
    by_hand = tmp_path / "ws" / "notes" / "old.wal"
    by_hand.parent.mkdir()
    by_hand.write_bytes(b"".join(space.pieces()))
    independent = tmp_path / "ws" / "another"
    with Store.restore_backup(tmp_path / "outside", independent) as other:
        other.remember("more")
    planned = place.would_drop("bob").places
    assert by_hand.exists()
    done = place.drop("bob", None).places
    for told, word in ((planned, "removed with it"), (done, "removed")):
        assert f"backups and other copies in this workspace: 2 {word}" in told
        assert any(line.startswith(f"NOT {word}: the backup up to") for line in told)
        assert any(line.startswith(f"NOT {word}, an independent memory") for line in told)
    assert not by_hand.exists()
    assert not (tmp_path / "ws" / "backup" / "mine").exists()
    assert (tmp_path / "outside" / LEDGER).exists()


def test_files_of_others_are_kept_and_named(place: FileBackend) -> None:
    fill(place, "bob", "secret")
    note = place.folder_of("bob") / "note.txt"
    note.write_text("mine")
    done = place.drop("bob", None)
    assert f"NOT removed, not a file of Recollect: {note}" in done.places
    assert sorted(note.parent.iterdir()) == [note]
    assert place.spaces() == []


@pytest.mark.parametrize("name", ["sealed", "vectors"])
def test_a_link_in_the_folder_is_removed_and_not_followed(
    place: FileBackend, tmp_path: Path, name: str
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "letter.vec").write_text("mine")
    place.space("bob", create=True).submit(command("a", remember("one")), outcome)
    (place.folder_of("bob") / name).symlink_to(own)
    place.drop("bob", None)
    assert (own / "letter.vec").read_text() == "mine"
    assert not place.folder_of("bob").exists()


@pytest.mark.parametrize("damage", ["garbage", "cut", "missing"])
def test_a_damaged_space_can_be_dropped(place: FileBackend, damage: str) -> None:
    fill(place, "bob", "secret").close()
    ledger = place.folder_of("bob") / LEDGER
    if damage == "missing":
        ledger.unlink()
    else:
        ledger.write_bytes(b"garbage\n" if damage == "garbage" else ledger.read_bytes()[:-40])
    done = place.drop("bob", None)
    assert done.dropped is not None
    assert done.dropped.seq == 6
    assert not place.folder_of("bob").exists()


def test_a_process_that_has_it_open_is_refused(tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    words = [sys.executable, "-c", WRITER, str(ws)]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdin
        assert other.stdout

        def ask(what: str) -> str:
            assert other.stdin
            assert other.stdout
            other.stdin.write(f"{what}\n")
            other.stdin.flush()
            return other.stdout.readline().strip()

        assert other.stdout.readline() == "ready\n"
        with Store.open(ws) as store:
            done = store.drop("bob")
            assert any(f"NOT cleaned: process {other.pid}" in line for line in done.places)
            assert (ask("read"), ask("write"), ask("read")) == ("not_found",) * 3
            assert not (ws / "spaces" / "bob").exists()
            store.space("bob").remember("a new memory")
            assert (ask("write"), ask("read")) == ("not_found", "not_found")
            assert [record.text for record in store.space("bob").list()] == ["a new memory"]
        other.stdin.close()


def test_a_space_that_is_being_written_is_not_dropped(
    place: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = fill(place, "bob", "x")
    before = b"".join(space.pieces())
    monkeypatch.setattr(open_files, "WAIT_S", 0.2)
    fd = os.open(place.folder_of("bob") / LOCK, os.O_RDWR)
    posix.lock(fd)
    with pytest.raises(Unavailable, match="locked by process") as refusal:
        place.drop("bob", None)
    assert isinstance(refusal.value, lock.Locked)
    os.close(fd)
    assert b"".join(space.pieces()) == before
    assert place.dropped() == []


def test_a_store_opens_a_dropped_space_anew(tmp_path: Path) -> None:
    with Store.open(tmp_path / "ws") as mine, Store.open(tmp_path / "ws") as theirs:
        old = mine.space("bob")
        old.remember("old")
        theirs.drop("bob")
        with pytest.raises(NotFound, match="dropped"):
            old.remember("back")
        new = mine.space("bob")
        new.remember("new")
        old.close()  # closes what was dropped, not the new one
        assert [record.text for record in new.list()] == ["new"]


def test_a_store_forgets_what_it_has_open(tmp_path: Path) -> None:
    with Store.open(tmp_path / "ws") as store:
        bob = store.space("bob")
        bob.remember("old")
        assert store.drop("bob", dry_run=True).records == 1
        assert [record.text for record in bob.list()] == ["old"]
        done = store.drop("bob", reason="left")
        assert done.dropped == store.dropped()[0]
        assert store.space("bob").list() == []
    for wrong in ("", "a\nb", None):
        with Store.open(tmp_path / "ws") as store, pytest.raises(InvalidInput):
            store.drop(wrong)  # type: ignore[arg-type]


def test_what_was_interrupted_is_finished_by_the_next_that_opens_it(
    place: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place, "bob", "secret").close()
    stopped(place, monkeypatch)
    folder = place.folder_of("bob")
    assert (folder / LEDGER).exists()
    assert place.spaces() == []
    assert quick_read(folder) is None
    (finding,) = place.space("bob", create=False).examine()
    assert (finding.level, finding.what) == ("problem", "ledger")
    assert "drop-space bob" in str(finding.fix)
    with pytest.raises(NotFound):
        place.space("bob", create=False).head()
    assert not folder.exists()
    assert [note.reason for note in place.dropped()] == ["stopped"]


def test_what_was_interrupted_is_finished_before_a_new_one_begins(
    place: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place, "bob", "secret").close()
    stopped(place, monkeypatch)
    with Memory(Handle(place.space("bob", create=True))) as memory:
        memory.remember("new")
        assert [record.text for record in memory.list()] == ["new"]
    assert [note.reason for note in place.dropped()] == ["stopped"]


def test_what_was_interrupted_is_finished_by_dropping_it_again(
    place: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place, "bob", "secret").close()
    stopped(place, monkeypatch)
    done = place.drop("bob", "again")
    assert done.dropped == place.dropped()[0]
    assert place.dropped()[0].reason == "stopped"
    with pytest.raises(NotFound):
        place.drop("bob", None)


def test_a_process_that_has_it_open_is_refused_after_an_interruption(
    place: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = fill(place, "bob", "secret")
    stopped(place, monkeypatch)
    with pytest.raises(NotFound, match="dropped"):
        space.head()
    with pytest.raises(NotFound, match="dropped"):
        space.submit(command("c", remember("three")), outcome)


def test_an_interrupted_drop_shows_nothing_where_it_cannot_be_finished(
    place: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object) -> object:
        raise lock.ReadOnly("read-only")

    fill(place, "bob", "secret").close()
    stopped(place, monkeypatch)
    monkeypatch.setattr(drop, "finish", read_only)
    with pytest.raises(NotFound, match="read-only"):
        place.space("bob", create=False).head()


def test_lists_that_cannot_be_read_stop_a_drop_before_it_begins(place: FileBackend) -> None:
    space = fill(place, "bob", "secret")
    (Path(place.where) / DROPPED).write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read"):
        place.drop("bob", None)
    assert space.head().seq == 6


def test_an_order_that_cannot_be_read_removes_nothing(place: FileBackend) -> None:
    fill(place, "bob", "secret").close()
    (place.folder_of("bob") / DROPPING).write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read"):
        place.space("bob", create=True).head()
    assert (place.folder_of("bob") / LEDGER).exists()


def test_vectors_are_not_added_to_a_dropped_space(place: FileBackend) -> None:
    embedder = WordEmbedder()
    space = fill(place, "bob", "secret")
    leg = Leg(embedder, space.vectors(embedder.name, embedder.dimensions))
    rows = embedder.embed(["secret"])
    catch_up(space, leg)
    place.drop("bob", None)
    with pytest.raises(NotFound):
        leg.vectors.add(0, 4, [(2, rows[0])])
    assert not place.folder_of("bob").exists()


def test_a_workspace_without_its_main_space_is_as_before_the_first_event(
    place: FileBackend,
) -> None:
    fill(place, "main", "x")
    place.drop("main", None)
    assert is_untouched(Path(place.where))
