"""A crash while a checkpoint is signed: whole notes, and none contradicts another."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.config import keys_folder
from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.memory.keys import Keys
from recollect.proof.checkpoints import read
from recollect.store.checkpoints import checkpoint_files, checkpoints, key_ring
from recollect.store.disk.disk import write_file
from recollect.store.files.space import FileSpace
from recollect.store.seam import REAL, Seam
from tests.suites.conftest import Tell
from tests.suites.crash_choices import draw
from tests.suites.crash_disk import Disk, lay_out
from tests.suites.crash_log import Acked, Imaged, Journal, Kept, Recorder
from tests.suites.crash_runs import scratch

GOOD = {"as before", "as after"}


@contextmanager
def opened(root: Path, seam: Seam = REAL) -> Iterator[Memory]:
    """The memory and the home folder of a disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root / "home"))
        space = FileSpace(root / "ws", "main", create=True, seam=seam)
        try:
            yield Memory(Handle(space, seam))
        finally:
            space.close()


def begin(root: Path) -> None:
    """A memory with a key and one checkpoint."""
    (root / "home").mkdir(parents=True)
    with opened(root) as memory:
        memory.remember("Alice sits in 14C.")
        Keys(memory).create()
        memory.proof.checkpoint()


def story(root: Path, seam: type[Recorder]) -> Journal:
    """Two more checkpoints, and a rotation, on a disk that is watched."""
    journal = Journal(root)
    with opened(root, seam(journal, 7)) as memory:
        for text in ("Bob sits in 3A.", "Carol sits in 9F."):
            memory.remember(text)
            size = memory.proof.checkpoint().size
            journal.look(closely=True)
            journal.ops.append(Acked("ws", size))
        Keys(memory).rotate()
    return journal


def judged(root: Path, told: int) -> str:
    """``as before`` or ``as after`` the last checkpoint that somebody was told of, or a fault."""
    try:
        with opened(root) as memory:
            return _judged(memory, root, told)
    except RecollectError as error:
        return f"refused: {type(error).__name__} {error}"


def _judged(memory: Memory, root: Path, told: int) -> str:
    report = memory.admin.verify()
    if report.status != "anchored":
        return f"{report.status} at {report.broken_at}"
    if (report.anchored_through or 0) < told:
        return "a checkpoint was lost"
    ring = checkpoints.ring_of(memory._handle.space, keys_folder(), REAL)
    for path in (root / "ws" / "checkpoints").glob("*.note"):
        if read(path.read_bytes(), ring.public())[0].size != int(path.stem):
            return "a note under another size"
    through = report.anchored_through
    memory.remember("One more.")
    made = memory.proof.checkpoint()
    after = memory.admin.verify()
    if (after.status, after.anchored_through) != ("anchored", made.size):
        return "the next checkpoint is not kept"
    return "as before" if through == told else "as after"


def crash_states(seam: type[Recorder], per_step: int) -> Counter[str]:
    """Every step of the story, and some of the states that a crash after it may leave."""
    found: Counter[str] = Counter()
    with scratch() as root:
        begin(root / "disk")
        journal = story(root / "disk", seam)
        disk, told = Disk(), 2
        for step, op in enumerate(journal.ops):
            disk.do(op)
            if isinstance(op, Acked):
                told = op.seq
            if step < journal.start or isinstance(op, Imaged | Kept):
                continue
            for _, tree in draw(disk, random.Random(f"checkpoint {step}"), per_step):
                lay_out(tree, root / "state")
                restrict(root / "state" / "home")
                found[judged(root / "state", told)] += 1
                shutil.rmtree(root / "state")
    return found


def restrict(home: Path) -> None:
    """The rights that the real folders have; the model of the disk has none."""
    for path in (home / ".recollect").rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def states(per_step: int, tell: Tell) -> None:
    found = crash_states(Recorder, per_step)
    tell(f"checkpoint: {sum(found.values())} crash states, {dict(found)}")
    assert set(found) == GOOD
    assert min(found.values()) > 10


def test_after_any_crash_the_next_checkpoint_follows_the_last(tell: Tell) -> None:
    states(2, tell)


@pytest.mark.nightly
def test_many_crash_states_of_a_checkpoint(tell: Tell) -> None:
    states(12, tell)


class Forgetful(Recorder):
    """A control: a sync that does nothing."""

    def fsync(self, fd: int) -> None:
        """Says it is done."""


def test_control_without_syncs_a_checkpoint_is_lost_or_torn() -> None:
    assert set(crash_states(Forgetful, 3)) - GOOD


def in_place(seam: Seam, path: Path, pieces: Iterable[bytes]) -> int:
    """The bytes of a file, written over the old ones."""
    return write_file(seam, path, pieces)


def test_control_a_note_that_is_written_in_place_is_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (checkpoint_files, key_ring):
        monkeypatch.setattr(module, "replace_file", in_place)
    assert set(crash_states(Recorder, 3)) - GOOD
