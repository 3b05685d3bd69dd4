"""A crash while a subject is erased: all of the person is there, or nothing, and no key.

The workspace and the folder with the keys are one disk. What is enumerated is what a crash may make
of the calls of a whole ``erase(subject=…)``; each state is opened with the real code.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.compose import open_backend
from recollect.config import load
from recollect.errors import RecollectError
from recollect.ledger.codec import decode
from recollect.ledger.scan import scan
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model import limits
from recollect.model.events import EventsErased
from recollect.store.disk.disk import replace_file, write_all
from recollect.store.files import build, erased_bodies
from recollect.store.keys.subject_keys import FileKeys
from recollect.store.keys.subjects import Subjects
from recollect.store.seam import REAL, Seam
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.canaries import ROOT
from tests.suites.conftest import Tell
from tests.suites.crash_choices import draw
from tests.suites.crash_disk import Disk, lay_out
from tests.suites.crash_log import Acked, Imaged, Journal, Kept, Recorder, Synced, Wrote
from tests.suites.crash_runs import scratch

CANARY = "zebraquagga71"
PLAIN = f"{CANARY} before she was a subject"
ANN, BOB = "ann", "bob"
ORDER = b"events.erased"
GOOD = {"never began", "finished"}
LOST_ONE_IN = 3  # steps of accepting a loss after which a crash is looked at


class Before(NamedTuple):
    """What the memory was before the erasure."""

    seq: int
    digest: str
    ann: list[str]
    bob: list[str]
    pseudonym: str
    wrapped: bytes  # her key, as it stands in the file


@contextmanager
def opened(root: Path, seam: Seam = REAL) -> Iterator[Memory]:
    """The memory and the home folder of a disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root / "home"))
        backend = open_backend(load(root / "ws", embedder="none"), seam)
        space = backend.space("main", create=True)
        try:
            yield Memory(Handle(space, seam))
        finally:
            space.close()


def begin(root: Path) -> Before:
    """A memory of two people in two files, with a backup, pages and an export.

    One event is older than the setting, and plain.
    """
    (root / "home").mkdir(parents=True)
    with opened(root) as memory:
        memory.scoped(user=ANN).remember(PLAIN)
        memory.settings.set_subjects("users")
        ann, bob = memory.scoped(user=ANN), memory.scoped(user=BOB)
        (said,) = ann.observe(f"I saw {CANARY}")
        one = ann.remember(f"{CANARY} one", key="seen", evidence=[said.id])
        bob.remember("Bob saw nothing", key="seen")
        memory.admin.seal()
        memory.revise(one.id, text=f"{CANARY} two")
        ann.observe(f"And {CANARY} again")
        ann.remember(f"{CANARY} three")
        memory.admin.backup(None)
        memory.pages.render()
        memory.admin.export("ndjson", root / "ws" / "all.ndjson")
        seq, digest = memory._handle.space.head().seq, memory.admin.digest()
        found = Before(seq, digest, texts(memory, ANN), texts(memory, BOB), *kept(root, memory))
    assert len(found.ann) == 4
    assert files_with(root / "ws", CANARY.encode())
    return found


def kept(root: Path, memory: Memory) -> tuple[str, bytes]:
    """Her pseudonym, and her key as it stands in the file."""
    subjects = memory._handle.space.subjects
    assert subjects is not None
    (pseudonym,) = subjects.pseudonyms(ANN)
    (path,) = (root / "home" / ".recollect" / "subjects").glob("*.json")
    lines = path.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if pseudonym in line)
    wrapped = next(line for line in lines[place:] if '"key"' in line)
    return pseudonym, wrapped.split('"')[3].encode()


def texts(memory: Memory, user: str) -> list[str]:
    """What is known of a user: records and episodes."""
    handle = memory.scoped(user=user)
    said = [one.text for one in handle.sessions.episodes()]
    return sorted([*(record.text for record in handle.list()), *said])


def files_with(folder: Path, word: bytes) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and word in path.read_bytes()
    ]


def story(root: Path, seam: type[Recorder]) -> Journal:
    """The erasure, on a disk that is watched."""
    journal = Journal(root)
    with opened(root, seam(journal, 7)) as memory:
        memory.erase(subject=ANN)
        journal.look(closely=True)
        journal.ops.append(Acked("ws", 0))
    return journal


def judged(root: Path, before: Before, *, acked: bool) -> str:
    """``never began``, ``finished``, or what is wrong; a rest is erased by the same call again."""
    try:
        with opened(root) as memory:
            found = texts(memory, ANN)
            if found == before.ann:
                return _whole(memory, before, acked=acked)
            if found and not acked and len(found) < len(before.ann):
                memory.erase(subject=ANN)  # what an interrupted call left
                problem = _left(root, memory, before)
                return problem or "continued"
            if found:
                return f"half: {len(found)} of {len(before.ann)} texts"
            return _left(root, memory, before) or "finished"
    except RecollectError as error:
        return f"refused: {type(error).__name__} {error}"


def _whole(memory: Memory, before: Before, *, acked: bool) -> str:
    if acked:
        return "back after it was erased"
    subjects = memory._handle.space.subjects
    assert subjects is not None
    if subjects.pseudonyms(ANN) != (before.pseudonym,):
        return "all of it is there, but not its key"
    then = memory._handle.space.digest(before.seq)  # a torn tail adds an event that says so
    if then != before.digest or rebuilt_digest(memory.admin) != memory.admin.digest():
        return "all of it is there, but something else changed"
    memory.scoped(user=ANN).remember("She goes on")  # her key still encrypts
    return "never began"


def _left(root: Path, memory: Memory, before: Before) -> str | None:
    """What is left of an erasure that somebody takes for finished."""
    if found := files_with(root, CANARY.encode()):
        return f"gone, but {found} has her words"
    if found := files_with(root, before.wrapped):
        return f"gone, but {found} has her key"
    subjects = memory._handle.space.subjects
    assert subjects is not None
    if subjects.pseudonyms(ANN) or before.pseudonym not in subjects.keys.destroyed():
        return "gone, but her key is not"
    lines = [line for one in scan(memory._handle.space.pieces()) for line in one.lines]
    if any(line.subject == before.pseudonym and line.data is not None for line in lines):
        return "gone, but her encrypted events have bodies"
    bodies = (decode(line).body for line in lines if line.is_erasure)
    if not any(isinstance(b, EventsErased) and before.pseudonym in b.subjects for b in bodies):
        return "gone without an order"
    if texts(memory, BOB) != before.bob:
        return "another person changed"
    if (
        not memory.admin.verify(deep=True).ok
        or rebuilt_digest(memory.admin) != memory.admin.digest()
    ):
        return "the index is not that of the ledger"
    return None


def crash_states(seam: type[Recorder], per_step: int, one_in: int) -> Counter[str]:
    """Steps of the erasure, and some of the states that a crash after each may leave."""
    with scratch() as root:
        before = begin(root / "disk")
        journal = story(root / "disk", seam)
        return Counter(judgements(root, journal, before, per_step, one_in))


def judgements(
    root: Path, journal: Journal, before: Before, per_step: int, one_in: int = 1
) -> Iterator[str]:
    """What becomes of the states after each step of a journal; of more before the order is.

    Or after one in so many, beginning with any of them, and after every step around the order.
    """
    disk, acked, ordering, first = Disk(), False, -1, random.randrange(one_in)
    for step, op in enumerate(journal.ops):
        disk.do(op)
        acked |= isinstance(op, Acked)
        if step < journal.start or isinstance(op, Imaged | Kept):
            continue
        if isinstance(op, Wrote) and ORDER in op.data:
            ordering = op.ino
        elif isinstance(op, Synced) and op.ino == ordering:
            ordering = -1
        if ordering < 0 and not acked and step % one_in != first:
            continue
        count = per_step if ordering < 0 else per_step * 12
        for _, tree in draw(disk, random.Random(f"subject {step}"), count):
            lay_out(tree, root / "state")
            restrict(root / "state" / "home")
            yield judged(root / "state", before, acked=acked)
            shutil.rmtree(root / "state")


def caught(root: Path, journal: Journal, before: Before, per_step: int) -> str:
    """The first state that is wrong, told; empty if there is none."""
    for number, became in enumerate(judgements(root, journal, before, per_step), 1):
        if became not in GOOD:
            return f"state {number}: {became}"
    return ""


def restrict(home: Path) -> None:
    """The rights that the real folders have; the model of the disk has none."""
    for path in (home / ".recollect").rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def states(per_step: int, tell: Tell, *, one_in: int = 1) -> Counter[str]:
    found = crash_states(Recorder, per_step, one_in)
    tell(f"erase(subject=…): {sum(found.values())} crash states, {dict(found)}")
    return found


def test_a_crash_leaves_all_of_a_person_or_nothing(tell: Tell) -> None:
    found = states(1, tell, one_in=6)
    assert set(found) == GOOD
    assert min(found.values()) > 3


@pytest.mark.nightly
def test_many_crash_states_of_a_subjects_erasure(tell: Tell) -> None:
    found = states(12, tell)
    assert set(found) == GOOD
    assert min(found.values()) > 20


@pytest.mark.parametrize("one_in", [8, pytest.param(1, marks=pytest.mark.nightly)])
def test_an_erasure_in_several_commands_is_continued(
    one_in: int, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    """The key goes with the last command; the same call again erases what was left."""
    monkeypatch.setattr(limits, "ERASE_AT_ONCE_MAX_COUNT", 2)
    found = states(1, tell, one_in=one_in)
    assert set(found) == {*GOOD, "continued"}
    assert min(found.values()) > 3


# --- controls: orders of the steps that are not safe


class Forgetful(Recorder):
    """A sync that does nothing."""

    def fsync(self, fd: int) -> None:
        """Says it is done."""


def test_control_without_syncs_she_is_back_or_torn(tell: Tell) -> None:
    with scratch() as root:
        before = begin(root / "disk")
        found = caught(root, story(root / "disk", Forgetful), before, 2)
    tell(f"erase(subject=…) without syncs, {found}")
    assert found


def key_before_order(patch: pytest.MonkeyPatch) -> None:
    """The key is destroyed when the order is made, before it is in the ledger."""

    def retire(self: Subjects, pseudonyms: set[str]) -> None:
        self._retired.update(pseudonyms)
        self.keys.destroy(pseudonyms, 1)

    patch.setattr(Subjects, "retire", retire)


def key_after_bodies(patch: pytest.MonkeyPatch) -> None:
    """The bodies go first, and the key when everything else is done."""
    destroy, clean, due = Subjects.destroy, build.clean_index, list[Callable[[], object]]()

    def later(self: Subjects, pseudonyms: dict[str, int], by: int) -> tuple[str, ...]:
        due.append(lambda: destroy(self, pseudonyms, by))
        return ()

    def last(*args: object) -> None:
        clean(*args)  # type: ignore[arg-type]
        for one in due:
            one()
        due.clear()

    patch.setattr(Subjects, "destroy", later)
    patch.setattr(erased_bodies, "clean_index", last)


def blank_before_the_name(patch: pytest.MonkeyPatch) -> None:
    """The old keys are overwritten before the new file has its name."""

    def replace(self: FileKeys, data: bytes, *, blank: bool) -> None:
        if blank:
            fd = self._seam.open(self._path, 2)
            write_all(self._seam, fd, bytes(self._path.stat().st_size), 0)
            self._seam.fsync(fd)
            self._seam.close(fd)
        replace_file(self._seam, self._path, [data])

    patch.setattr(FileKeys, "_replace", replace)


@pytest.mark.parametrize(
    "wrong",
    [key_before_order, key_after_bodies, blank_before_the_name],
    ids=lambda wrong: wrong.__name__,
)
def test_control_a_wrong_order_of_the_steps_is_caught(
    wrong: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    """Only the recorded process is wrong; the states are judged with the right code."""
    with scratch() as root, monkeypatch.context() as patch:
        before = begin(root / "disk")
        wrong(patch)
        journal = story(root / "disk", Recorder)
        patch.undo()
        found = caught(root, journal, before, 1)
    tell(f"erase(subject=…), {wrong.__name__}, {found}")
    assert found


# --- a lost key, whose loss is accepted


def accepting(root: Path) -> Journal:
    """A person accepts that the keys are lost, on a disk that is watched."""
    journal = Journal(root)
    with opened(root, Recorder(journal, 7)) as memory:
        memory.admin.accept_loss(reason="the disk burnt")
        journal.look(closely=True)
        journal.ops.append(Acked("ws", 0))
    return journal


def went_on(root: Path, *, acked: bool) -> str:
    """``refused`` as long as nothing was accepted; then, or after it is repeated, ``goes on``."""
    with opened(root) as memory:
        if any(one.what == "keys" for one in memory.admin.doctor()):
            if acked:
                return "lost again"
            memory.admin.accept_loss()
            became = "refused"
        else:
            became = "goes on"
        if texts(memory, BOB) or texts(memory, ANN) != [PLAIN]:
            return "something else was lost"
        if (
            not memory.admin.verify(deep=True).ok
            or rebuilt_digest(memory.admin) != memory.admin.digest()
        ):
            return "the index is not that of the ledger"
        memory.scoped(user=ANN).remember("She goes on")
        return became


def test_a_crash_while_a_loss_is_accepted_loses_no_more(tell: Tell) -> None:
    found: Counter[str] = Counter()
    first = random.randrange(LOST_ONE_IN)
    with scratch() as root:
        begin(root / "disk")
        shutil.rmtree(root / "disk" / "home" / ".recollect" / "subjects")
        journal, disk = accepting(root / "disk"), Disk()
        for step, op in enumerate(journal.ops):
            disk.do(op)
            if step < journal.start or isinstance(op, Imaged | Kept):
                continue
            if step % LOST_ONE_IN != first and not isinstance(op, Acked):
                continue
            for _, tree in draw(disk, random.Random(f"lost {step}"), 1):
                lay_out(tree, root / "state")
                restrict(root / "state" / "home")
                found[went_on(root / "state", acked=isinstance(op, Acked))] += 1
                shutil.rmtree(root / "state")
    tell(f"accept_loss of keys: {sum(found.values())} crash states, {dict(found)}")
    assert set(found) == {"refused", "goes on"}


# --- a process that is really killed


def erasing_process(root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.suites.neighbour", str(root / "ws"), "erase-subject", ANN],
        cwd=ROOT,
        env={"HOME": str(root / "home"), "PATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def killed_after(root: Path, wait_s: float | None) -> float:
    """Kills a process that erases her, a while after it began; how long it lived."""
    child = erasing_process(root)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"ready\n"
        child.stdin.write(b"go\n")
        child.stdin.flush()
        began = time.perf_counter()
        if wait_s is None:
            assert child.stdout.readline() == b"done\n"
        else:
            time.sleep(wait_s)
        child.send_signal(signal.SIGKILL)
        return time.perf_counter() - began
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("kills", [3, pytest.param(12, marks=pytest.mark.nightly)])
def test_a_process_killed_while_it_erases_a_person(kills: int, tmp_path: Path, tell: Tell) -> None:
    before = begin(tmp_path / "before")
    found: Counter[str] = Counter()
    interrupted, seed = 0, random.randrange(1 << 32)
    rng = random.Random(seed)
    shutil.copytree(tmp_path / "before", tmp_path / "whole")
    whole_s = killed_after(tmp_path / "whole", None)
    assert judged(tmp_path / "whole", before, acked=True) == "finished"
    for number in range(kills):
        root = tmp_path / str(number)
        shutil.copytree(tmp_path / "before", root)
        killed_after(root, rng.uniform(0, whole_s))
        is_left = bool(files_with(root, CANARY.encode()) or files_with(root, before.wrapped))
        became = judged(root, before, acked=False)
        found[became] += 1
        interrupted += became == "finished" and is_left
    tell(
        f"erase(subject=…): {kills} processes killed within {whole_s:.2f} s: {dict(found)}, "
        f"{interrupted} of them in the middle and finished at the next open"
    )
    assert set(found) <= GOOD, f"seed {seed}"
    assert found["finished"] or kills < 12  # a few may all come before it begins
