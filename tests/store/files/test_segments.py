"""Sealing: closed segments, the one-line file after them, and what goes wrong between the two."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import Conflict, Forbidden, IntegrityError, Unavailable
from recollect.ledger.line import parse
from recollect.memory.handle.handle import Handle
from recollect.model.values import Sealed
from recollect.store.files.ledger import segments
from recollect.store.files.ledger.active import ActiveFile
from recollect.store.files.space import FileSpace
from recollect.store.seam import Seam
from recollect.store.sqlite import new_index
from recollect.testing.rebuilding import rebuilt_digest


class Stopped(BaseException):
    """The process ends here."""


class Failing(Seam):
    """A world in which one call, told by its name, does not come to its end."""

    def __init__(self, call: str, error: BaseException) -> None:
        self._call = call
        self._error = error

    def link(self, source: Path, target: Path) -> None:
        self._perhaps("link")
        super().link(source, target)

    def replace(self, source: Path, target: Path) -> None:
        self._perhaps(f"replace {target.name}")
        super().replace(source, target)

    def _perhaps(self, call: str) -> None:
        if call == self._call:
            raise self._error


class Listening(Seam):
    """Writes down which names go, and what is synced."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def unlink(self, path: Path) -> None:
        self.calls.append(f"unlink {path.name}")
        super().unlink(path)

    def fsync(self, fd: int) -> None:
        self.calls.append(f"fsync {Path(f'/proc/self/fd/{fd}').resolve().name}")
        super().fsync(fd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory.open(folder) as memory:
        memory.remember("one", id="a")
        memory.remember("two", id="b")
        yield memory


def texts(folder: Path) -> set[str]:
    with Memory.open(folder) as memory:
        check = memory.admin.verify()
        assert check.ok, check
        digest = memory.admin.digest()
        assert rebuilt_digest(memory.admin) == digest
        return {record.text for record in memory.list()}


def seal_in(folder: Path, seam: Seam) -> Sealed:
    space = FileSpace(folder, "main", create=False, seam=seam)
    try:
        return space.seal()
    finally:
        space.close()


def drop_index(folder: Path) -> None:
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (folder / name).unlink(missing_ok=True)


def test_after_a_seal_the_active_file_has_one_line(memory: Memory, folder: Path) -> None:
    whole = (folder / "events.wal").read_bytes()
    digest = memory.admin.digest()
    done = memory.admin.seal()
    assert (done.events, done.seq, done.digest) == (3, 3, digest)
    assert done.segment is not None
    assert (folder / "sealed" / done.segment).read_bytes() == whole
    (raw,) = (folder / "events.wal").read_bytes().splitlines()
    line = parse(raw)
    assert (line.seq, line.prev, line.kind) == (4, done.head, "ledger.sealed")
    assert memory.admin.verify().events == 4


def test_sealing_counts_what_it_closed(memory: Memory) -> None:
    assert memory.admin.seal().events == 3
    again = memory.admin.seal()
    assert (again.events, again.segment) == (0, None)
    memory.remember("three")
    memory.remember("four")
    assert (memory.admin.seal().events, memory.status().seq) == (3, 7)


def test_a_life_goes_on_over_many_segments(memory: Memory, folder: Path) -> None:
    positions = []
    for number in range(5):
        memory.remember(f"number {number}", key="the number")
        positions.append(memory.status().seq)
        memory.admin.seal()
    for number, position in enumerate(positions):
        assert memory.at(position).list()[0].text == f"number {number}"
    memory.close()
    assert texts(folder) == {"one", "two", "number 4"}
    drop_index(folder)
    assert texts(folder) == {"one", "two", "number 4"}
    assert len(list((folder / "sealed").iterdir())) == 5


def test_two_handles_and_a_seal(memory: Memory, folder: Path) -> None:
    with Memory.open(folder) as other:
        other.remember("three")
        memory.admin.seal()
        other.remember("four")
        assert {record.text for record in memory.list()} == {"one", "two", "three", "four"}
    assert texts(folder) == {"one", "two", "three", "four"}


def test_an_agent_does_not_seal(folder: Path, memory: Memory) -> None:
    with pytest.raises(Forbidden):
        memory.scoped(trust="agent").admin.seal()


def test_an_erasure_reaches_the_segments(memory: Memory, folder: Path) -> None:
    memory.admin.seal()
    memory.remember("three", id="c")
    memory.admin.seal()
    sealed = folder / "sealed"
    untouched = (sealed / "0000000004-0000000005.wal").stat().st_ino
    copy = folder / "kept" / "by hand"
    shutil.copytree(sealed, copy)
    backup = Path(memory.admin.backup().path)
    memory.erase("b")
    for path in folder.rglob("*.wal"):
        assert b'"two"' not in path.read_bytes(), path
    assert (sealed / "0000000004-0000000005.wal").stat().st_ino == untouched
    assert memory.admin.verify().erased == 1
    memory.close()
    assert texts(folder) == {"one", "three"}
    with Store.restore_backup(backup, folder / "again") as restored:
        assert {record.text for record in restored.list()} == {"one", "three"}
        assert restored.admin.verify().ok


def test_a_backup_is_one_file_of_all_segments(memory: Memory, tmp_path: Path) -> None:
    memory.admin.seal()
    memory.remember("three")
    made = memory.admin.backup(tmp_path / "copy")
    with Store.restore_backup(made.path, tmp_path / "again") as restored:
        assert restored.admin.verify().head == memory.admin.verify().head
        assert restored.admin.digest() == memory.admin.digest()
    assert not (tmp_path / "again" / "sealed").exists()


# What a stop in the middle leaves.


@pytest.mark.parametrize("call", ["link", "replace events.wal"])
def test_a_seal_that_was_stopped_is_as_if_never_begun(
    memory: Memory, folder: Path, call: str
) -> None:
    memory.close()
    with pytest.raises(Stopped):
        seal_in(folder, Failing(call, Stopped()))
    assert texts(folder) == {"one", "two"}
    with Memory.open(folder) as again:
        again.remember("three", id="c")  # into a file that may have a second name by now
        drop_index(folder)
        assert again.admin.seal().events == 4
        again.erase("c")
    assert [path.name for path in (folder / "sealed").iterdir()] == ["0000000001-0000000004.wal"]
    assert texts(folder) == {"one", "two"}


def test_an_erasure_after_a_stopped_seal_reaches_the_second_name(
    memory: Memory, folder: Path
) -> None:
    memory.close()
    with pytest.raises(Stopped):
        seal_in(folder, Failing("replace events.wal", Stopped()))
    with Memory.open(folder) as again:
        again.remember("three", id="c")
        again.erase("c")
    assert not any(b'"three"' in path.read_bytes() for path in folder.rglob("*.wal"))
    assert texts(folder) == {"one", "two"}


def test_a_second_name_is_gone_for_good_before_the_active_file_is_replaced(
    memory: Memory, folder: Path
) -> None:
    """One that came back after a power failure would hold what was erased."""
    memory.close()
    with pytest.raises(Stopped):
        seal_in(folder, Failing("replace events.wal", Stopped()))
    seam = Listening()
    space = FileSpace(folder, "main", create=False, seam=seam)
    Memory(Handle(space)).erase("b")
    space.close()
    place = seam.calls.index("unlink 0000000001-0000000003.wal")
    assert seam.calls[place + 1] == "fsync sealed"


def test_a_seal_that_failed_stops_the_writer_and_loses_nothing(
    memory: Memory, folder: Path
) -> None:
    memory.close()
    space = FileSpace(
        folder, "main", create=False, seam=Failing("replace events.wal", OSError(errno.EIO, "bad"))
    )
    with pytest.raises(Unavailable):
        space.seal()
    with pytest.raises(Unavailable):
        space.seal()
    space.close()
    assert texts(folder) == {"one", "two"}


def test_a_file_system_without_links_gets_a_copy(memory: Memory, folder: Path) -> None:
    memory.close()
    done = seal_in(folder, Failing("link", OSError(errno.EPERM, "no links here")))
    assert done.segment is not None
    assert texts(folder) == {"one", "two"}


def test_a_disk_that_fails_to_link_is_told(memory: Memory, folder: Path) -> None:
    memory.close()
    with pytest.raises(Unavailable):
        seal_in(folder, Failing("link", OSError(errno.EIO, "bad disk")))
    assert texts(folder) == {"one", "two"}


def test_a_segment_that_is_not_a_copy_of_the_active_file_is_kept(
    memory: Memory, folder: Path
) -> None:
    (folder / "sealed").mkdir()
    stray = folder / "sealed" / "0000000001-0000000002.wal"
    stray.write_bytes(b"something else\n")
    with pytest.raises(IntegrityError):
        memory.admin.seal()
    assert stray.read_bytes() == b"something else\n"
    found = {finding.what: finding for finding in memory.admin.doctor()}
    assert found["segments"].level == "problem"
    assert stray.name in found["segments"].detail
    memory.admin.accept_loss(reason="it came from elsewhere")
    assert memory.admin.seal().events == 4
    (torn,) = folder.glob("*.torn")
    assert torn.read_bytes() == b"something else\n"
    memory.close()
    assert texts(folder) == {"one", "two"}


def test_an_index_from_before_the_last_seals_catches_up(memory: Memory, folder: Path) -> None:
    memory.close()
    kept = {path.name: path.read_bytes() for path in folder.glob("index.db*")}
    with Memory.open(folder) as again:
        again.remember("three")
        again.admin.seal()
        again.remember("four")
        again.admin.seal()
        again.remember("five")
    drop_index(folder)
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    assert texts(folder) == {"one", "two", "three", "four", "five"}


def test_an_index_that_had_folded_nothing_yet_catches_up(memory: Memory, folder: Path) -> None:
    """Its first commits may be gone after a power failure, however long ago they were."""
    memory.admin.seal()
    memory.close()
    drop_index(folder)
    (folder / "index.db").touch()
    new_index(folder / "index.db", "main").close()
    assert texts(folder) == {"one", "two"}


def test_an_index_from_just_before_a_seal_catches_up_unless_the_segment_is_gone(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    memory.close()
    kept = {path.name: path.read_bytes() for path in folder.glob("index.db*")}
    with Memory.open(folder) as again:
        again.admin.seal()
    drop_index(folder)
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    shutil.move(folder / "sealed", tmp_path / "elsewhere")
    with Memory.open(folder) as again:
        with pytest.raises(IntegrityError, match="damaged at event 1"):
            again.list()
        assert again.admin.verify().broken_at == 1
    shutil.move(tmp_path / "elsewhere", folder / "sealed")
    assert texts(folder) == {"one", "two"}


# Damage.


def sealed_twice(memory: Memory) -> None:
    memory.admin.seal()
    memory.remember("three", id="c")
    memory.admin.seal()
    memory.remember("four", id="d")
    memory.close()


def flip(path: Path, word: bytes) -> None:
    data = path.read_bytes()
    assert word in data
    path.write_bytes(data.replace(word, word.swapcase()))


def lose_segment(folder: Path) -> None:
    (folder / "sealed" / "0000000004-0000000005.wal").unlink()


def damage_segment(folder: Path) -> None:
    flip(folder / "sealed" / "0000000004-0000000005.wal", b"three")


def damage_the_active_file(folder: Path) -> None:
    flip(folder / "events.wal", b"four")


@pytest.mark.parametrize(
    ("damage", "at", "left"),
    [
        (lose_segment, 4, {"one", "two"}),
        (damage_segment, 5, {"one", "two"}),
        (damage_the_active_file, 7, {"one", "two", "three"}),
    ],
)
def test_what_is_damaged_in_a_segment_is_named_and_can_be_left_behind(
    memory: Memory,
    folder: Path,
    damage: Callable[[Path], None],
    at: int,
    left: set[str],
) -> None:
    sealed_twice(memory)
    damage(folder)
    with Memory.open(folder) as again:
        check = again.admin.verify()
        assert (check.status, check.broken_at) == ("broken", at)
        with pytest.raises(IntegrityError):
            again.admin.rebuild()
        again.admin.accept_loss(reason="the disk was old")
        assert again.admin.verify().ok
        again.remember("after")
    assert texts(folder) == {*left, "after"}
    assert list(folder.glob("*.torn"))


def test_a_missing_active_file_beside_segments_is_a_loss(memory: Memory, folder: Path) -> None:
    memory.admin.seal()
    memory.close()
    (folder / "events.wal").unlink()
    for with_index in (True, False):
        if not with_index:
            drop_index(folder)
        with Memory.open(folder) as again, pytest.raises(IntegrityError):
            again.remember("three")
        assert not (folder / "events.wal").exists()
    with Memory.open(folder) as again:
        again.admin.accept_loss(reason="it is gone")
        again.remember("three")
    assert texts(folder) == {"one", "two", "three"}


def test_a_missing_active_file_and_a_damaged_segment_can_be_left_behind(
    memory: Memory, folder: Path
) -> None:
    sealed_twice(memory)
    damage_segment(folder)
    (folder / "events.wal").unlink()
    with Memory.open(folder) as again:
        again.admin.accept_loss(reason="an old disk")
        again.remember("after")
    assert texts(folder) == {"one", "two", "after"}


def test_a_loss_is_noted_when_only_segments_are_left(memory: Memory, folder: Path) -> None:
    memory.admin.seal()
    memory.close()
    (folder / "events.wal").unlink()
    drop_index(folder)
    with Memory.open(folder) as again:
        again.admin.accept_loss(reason="it is gone")
    assert b"ledger.loss_accepted" in (folder / "events.wal").read_bytes()


class StoppedAt(Seam):
    """A process that ends before it moves a segment away."""

    def replace(self, source: Path, target: Path) -> None:
        if source.parent.name == "sealed":
            raise Stopped
        super().replace(source, target)


@pytest.mark.parametrize("word", [b"two", b"three"])
def test_a_salvage_that_was_stopped_can_be_begun_again(
    memory: Memory, folder: Path, word: bytes
) -> None:
    sealed_twice(memory)
    first, second = sorted((folder / "sealed").glob("*.wal"))
    flip(first if word == b"two" else second, word)
    space = FileSpace(folder, "main", create=False, seam=StoppedAt())
    with pytest.raises(Stopped):
        space.accept_loss("an old disk")
    space.close()
    with Memory.open(folder) as again:
        again.admin.accept_loss(reason="an old disk")
        again.remember("after", id="z")
        again.erase("a")  # would stop at a segment that is no part of the ledger
        again.admin.seal()
    assert texts(folder) == ({"after"} if word == b"two" else {"two", "after"})


def test_a_salvage_after_a_stopped_seal_leaves_no_second_name(memory: Memory, folder: Path) -> None:
    sealed_twice(memory)
    with pytest.raises(Stopped):
        seal_in(folder, Failing("replace events.wal", Stopped()))
    flip(min((folder / "sealed").glob("*.wal")), b"two")
    with Memory.open(folder) as again:
        again.admin.accept_loss(reason="an old disk")
        for number in range(9):  # past the event that the second name begins with
            again.remember(f"after {number}", id=f"z{number}")
        again.erase("a")
        again.admin.seal()
    assert texts(folder) == {f"after {number}" for number in range(9)}


def test_an_index_that_is_not_the_sealed_state_is_found(memory: Memory, folder: Path) -> None:
    import sqlite3

    memory.admin.seal()
    memory.close()
    connection = sqlite3.connect(folder / "index.db")
    connection.execute("UPDATE versions SET text = 'altered' WHERE text = 'one'")
    connection.commit()
    connection.close()
    with Memory.open(folder) as again:
        check = again.admin.verify()
        assert (check.ok, check.broken_at) == (False, 3)
        again.admin.rebuild()
        assert again.admin.verify().ok
    assert texts(folder) == {"one", "two"}


def test_an_erasure_during_a_verification_is_not_damage(memory: Memory, folder: Path) -> None:
    memory.admin.seal()
    with Memory.open(folder) as other:
        erased: list[str | None] = []

        def meanwhile(done: int, total: int) -> None:
            if not erased:
                erased.append(other.erase("a").id)

        assert memory.admin.verify(meanwhile).ok
    assert erased
    assert memory.admin.verify().ok


def test_a_ledger_behind_a_symbolic_link_is_sealed_and_erased_where_it_lies(
    memory: Memory, folder: Path
) -> None:
    memory.close()
    real = folder / "data" / "real"
    real.parent.mkdir()
    (folder / "events.wal").rename(real)
    (folder / "events.wal").symlink_to("data/real")
    with Memory.open(folder) as again:
        again.erase("a")
        assert b"one" not in real.read_bytes()
        again.admin.seal()
        again.remember("three")
    assert texts(folder) == {"two", "three"}
    assert (folder / "events.wal").is_symlink()


def test_no_backup_is_restored_beside_segments(memory: Memory, folder: Path) -> None:
    backup = memory.admin.backup().path
    memory.admin.seal()
    memory.close()
    (folder / "events.wal").unlink()
    with pytest.raises(Conflict):
        Store.restore_backup(backup, folder)


def test_files_of_other_names_are_not_segments(folder: Path, memory: Memory) -> None:
    memory.admin.seal()
    (folder / "sealed" / "notes.wal").write_text("mine")
    assert len(segments.all_segments(folder)) == 1
    memory.close()
    assert texts(folder) == {"one", "two"}


def test_a_file_that_overlaps_its_segment_is_read_once(memory: Memory, folder: Path) -> None:
    """An older active file was put back beside later segments."""
    older = (folder / "events.wal").read_bytes()
    memory.admin.seal()
    memory.close()
    active = (folder / "events.wal").read_bytes()
    overlap = b"".join(older.splitlines(keepends=True)[1:])
    (folder / "events.wal").write_bytes(overlap + active)
    drop_index(folder)
    assert texts(folder) == {"one", "two"}
    opened = ActiveFile(folder / "events.wal")
    try:
        assert b"".join(segments.pieces(opened, after=2)) == (
            overlap.splitlines(keepends=True)[-1] + active
        )
    finally:
        opened.close()
    assert os.listdir(folder / "sealed") == ["0000000001-0000000003.wal"]
