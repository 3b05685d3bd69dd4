"""The store with one guard taken out, to see that the crash suite notices.

Responsible for the ways in which a store may be written wrongly, each a patch of the real code
and the workload that shows it. Leaves enumeration and judging to the suite itself, unchanged.
Invariant: each patch takes out one guard and nothing else.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from recollect.index.rows import PositionRow
from recollect.ledger.line import BadLine, Line, header_of, parse
from recollect.ledger.scan import Append, Damage, Recovered
from recollect.model.events import Head
from recollect.store.disk.disk import sync_file, sync_folder, write_all
from recollect.store.files import receive
from recollect.store.files.append import moved_to, write
from recollect.store.files.index import SpaceIndex
from recollect.store.files.ledger.active import ActiveFile
from recollect.store.files.ledger.backlog import Backlog
from recollect.store.files.ledger.stamp import active_stamp
from recollect.store.files.open_files import OpenFiles
from recollect.store.seam import Seam
from recollect.store.sqlite import SqliteDb
from recollect.store.write_path import Writing
from tests.suites.crash_log import Journal, Recorder
from tests.suites.crash_runs import Report, open_states, recover_states

Patch = pytest.MonkeyPatch
_fsync = Recorder.fsync
_append = ActiveFile.append


def _is_folder(fd: int) -> bool:
    return os.path.isdir(f"/proc/self/fd/{fd}")


def no_file_fsync(patch: Patch) -> None:
    def fsync(self: Recorder, fd: int) -> None:
        if _is_folder(fd):
            _fsync(self, fd)

    patch.setattr(Recorder, "fsync", fsync)


def no_folder_fsync(patch: Patch) -> None:
    def fsync(self: Recorder, fd: int) -> None:
        if not _is_folder(fd):
            _fsync(self, fd)

    patch.setattr(Recorder, "fsync", fsync)


def acknowledge_early(patch: Patch) -> None:
    """The sync of an append comes with the next one."""

    def append(self: ActiveFile, data: bytes, offset: int) -> None:
        self._seam.fsync(self._fd)
        self._seam.pwrite(self._fd, data, offset)

    patch.setattr(ActiveFile, "append", append)


def rename_early(patch: Patch) -> None:
    """A new file has its name before its bytes are on the disk."""

    def replace_file(seam: Seam, path: Path, pieces: Iterable[bytes]) -> int:
        fresh = path.with_name(path.name + ".new")
        data = b"".join(pieces)
        fd = seam.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            write_all(seam, fd, data, 0)
            seam.replace(fresh, path)
            sync_folder(seam, path.parent)
            seam.fsync(fd)
        finally:
            seam.close(fd)
        return len(data)

    modules = ("append", "copies.copies", "receive", "copies.restore", "ledger.segments")
    for module in ("backup", *(f"files.{name}" for name in modules)):
        patch.setattr(f"recollect.store.{module}.replace_file", replace_file)


def retry_a_failed_fsync(patch: Patch) -> None:
    def append(self: ActiveFile, data: bytes, offset: int) -> None:
        try:
            _append(self, data, offset)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self._seam.fsync(self._fd)

    patch.setattr(ActiveFile, "append", append)


def fold_unsynced_bytes(patch: Patch) -> None:
    """Whoever finds bytes of a killed writer takes them for durable."""
    patch.setattr(ActiveFile, "settle", lambda self, start: None)


def log_left_behind(patch: Patch) -> None:
    """A new index has its name while the log of the old one is there."""

    def move_into_place(seam: Seam, fresh: Path, path: Path) -> None:
        sync_file(seam, fresh)
        with Patch.context() as blind:  # looking at the index would play the old log into it now
            blind.setattr(Journal, "look", lambda self: None)
            seam.replace(fresh, path)
            sync_folder(seam, path.parent)
            for end in ("-wal", "-shm"):
                seam.unlink(path.with_name(path.name + end))
            sync_folder(seam, path.parent)

    patch.setattr("recollect.store.files.build.move_into_place", move_into_place)
    # An index that is half another one is healed by whoever reads it: that guard goes, too.
    patch.setattr(
        "recollect.store.files.readers.Readers._is_damaged", lambda self, error, db: False
    )


def index_left_behind(patch: Patch) -> None:
    """A first event is given up while the index still says that it was there."""
    take_back = ActiveFile.take_back

    def cut_first(
        files: OpenFiles, index: SpaceIndex, db: SqliteDb
    ) -> tuple[SqliteDb, PositionRow]:
        take_back(files.opened(), 0)
        with Patch.context() as once:
            once.setattr(ActiveFile, "take_back", lambda self, end: None)
            return begin_anew(files, index, db)

    begin_anew = receive.begin_anew
    patch.setattr(receive, "begin_anew", cut_first)


def fold_early(patch: Patch) -> None:
    """The index has the rows of an append before the ledger has its bytes."""

    def append(files: OpenFiles, backlog: Backlog, writing: Writing) -> None:
        data, head, active_us = writing.chained()
        before = backlog.position
        moved = moved_to(before, head, active_us, before.offset + len(data))
        backlog.send(moved)
        backlog.db.run("commit")
        write(files, data, before.offset)
        files.start_backlog(backlog.db, moved, active_stamp(files.ledger_path))

    patch.setattr("recollect.store.files.space.append", append)


def recover_without_tx(data: bytes, head: Head) -> Recovered:
    """A recovery that does not know appends: each good line counts, a good one after a bad is
    damage."""
    appends: list[Append] = []
    end = 0
    *lines, rest = data.split(b"\n")
    for place, raw in enumerate(lines):
        line = _good(raw)
        if line is None or (line.seq, line.prev) != (head.seq + 1, head.hash):
            if any(header_of(later) for later in [*lines[place + 1 :], rest]):
                raise Damage(head.seq + 1, "this event is incomplete, but another follows it")
            break
        end += len(raw) + 1
        head = line.head
        appends.append(Append((line,), end))
    return Recovered(tuple(appends), head, end, data[end:])


def _good(raw: bytes) -> Line | None:
    try:
        return parse(raw)
    except BadLine:
        return None


# What is taken out, how, and the story in which it shows.
CONTROLS: dict[str, tuple[Callable[[Patch], None], str]] = {
    "no file fsync": (no_file_fsync, "appends"),
    "no folder fsync": (no_folder_fsync, "appends"),
    "acknowledged early": (acknowledge_early, "appends"),
    "acknowledged early, while rows wait": (acknowledge_early, "waits"),
    "rows folded before their events are written": (fold_early, "appends"),
    "a parcel acknowledged early": (acknowledge_early, "receives"),
    "an index left behind by a first event": (index_left_behind, "begins"),
    "renamed early": (rename_early, "erase"),
    "a failed fsync retried": (retry_a_failed_fsync, "failed"),
    "unsynced bytes folded": (fold_unsynced_bytes, "killed"),
    "the old log left beside a new index": (log_left_behind, "logs"),
}
# An index that is half another one is mostly seen to be broken, and built anew: it takes luck to
# have one that reads, and reads wrong.
_TRIES = 6


def caught(name: str, seed: int, per_step: int) -> Report:
    """The suite, run over a store without one of its guards, up to the first fault."""
    breaking, story = CONTROLS[name]
    report = Report()
    with Patch.context() as patch:
        breaking(patch)
        for attempt in range(_TRIES):
            report.add(open_states(story, seed + attempt, per_step, stop=True))
            if report.faults:
                break
    return report


def caught_without_tx(seed: int, budget: int) -> Report:
    """The same for the rule of the torn tail."""
    return recover_states("groups", seed, budget, recover_without_tx)
