"""Erased means no readable byte in any file of the workspace, and the ledger still verifies."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import NotFound
from recollect.ledger.scan import scan
from recollect.memory.handle import acts
from recollect.model.values import Erasure
from recollect.store.sqlite import SqliteDb
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.canaries import (
    Subject,
    files_hit,
    filler,
    forms,
    found,
    hits,
    subject,
    words_hit,
)
from tests.suites.conftest import Tell
from tests.suites.writers import Order, begin, end, ending, go, problems

ROOT = Path(__file__).resolve().parents[2]
OTHERS = 320
SOME_OTHERS = 80


class Scene:
    """A workspace with subjects among many other records."""

    def __init__(self, where: Path, *, subjects: int, others: int, space: str = "main") -> None:
        self.seed = random.randrange(2**32)
        self.rng = random.Random(self.seed)
        self.where = where
        self.space = space
        self.subjects: list[Subject] = []
        self.others: list[str] = []
        with self.open() as memory:
            for _ in range(subjects):
                self.others += filler(memory, self.rng, others // subjects)
                neighbour = self.rng.choice(self.others)
                self.subjects.append(subject(memory, self.rng, neighbour))
            self.others += filler(memory, self.rng, others // subjects)

    def open(self) -> Memory:
        return Memory.open(self.where, space=self.space)

    def hits(self, *subjects: Subject) -> list[str]:
        return hits(self.where, [word for one in subjects for word in one.all])

    def unseen(self, one: Subject) -> list[str]:
        """The parts of a subject that the search does not find: before erasure there are none."""
        seen = words_hit(self.where, one.all)
        return [part for part, word in one.words.items() if word not in seen]


def lines_of(where: Path) -> dict[int, bytes]:
    lines = (where / "events.wal").read_bytes().split(b"\n")[:-1]
    return dict(enumerate(lines, 1))


def knows_nothing(memory: Memory, one: Subject) -> None:
    for id in (one.id, *one.episodes):
        with pytest.raises(NotFound):
            memory.get(id, include=["replaced", "forgotten", "hidden", "waiting"])
    for word in one.all:  # others may be near it by their meaning, but none has it
        found = memory.recall(word).hits
        assert not [hit for hit in found if word in hit.text or "words" in hit.shares]


# --- the rule


@pytest.mark.parametrize(
    ("subjects", "others"), [(3, SOME_OTHERS), pytest.param(6, OTHERS, marks=pytest.mark.nightly)]
)
def test_no_byte_is_left_in_any_file(
    subjects: int, others: int, tmp_path: Path, tell: Tell
) -> None:
    started = time.perf_counter()
    scene = Scene(tmp_path, subjects=subjects, others=others)
    gone, kept = scene.subjects[: subjects * 2 // 3], scene.subjects[subjects * 2 // 3 :]
    with scene.open() as memory:
        memory.admin.backup()
        leave_a_torn_copy(memory, tmp_path, gone[0])
        before = {id: memory.get(id).to_dict() for id in scene.others}
    every = {word for one in scene.subjects for word in one.all}
    seen = found(tmp_path, every)
    assert {word for _, word, _ in seen} == every
    places = {name for name, _, _ in seen}
    assert {name.partition("/")[0] for name in places} >= {"events.wal", "index.db", "backup"}
    assert any(name.endswith(".torn") for name in places)
    lines = lines_of(tmp_path)
    erased: set[int] = set()
    with scene.open() as memory:
        for one in gone:
            report = memory.erase(one.id)
            assert sorted(report.episodes) == sorted(one.episodes)
            erased.update(report.events)
            assert scene.hits(one) == [], f"seed {scene.seed}"
        check_the_rest(scene, memory, before, lines, erased)
        for one in gone:
            knows_nothing(memory, one)
        live = memory.admin.digest()
        assert rebuilt_digest(memory.admin) == live
    assert scene.hits(*gone) == [], f"seed {scene.seed}"
    left = {word for one in kept for word in one.all}
    assert words_hit(tmp_path, left) == left
    tell(
        f"erasure: {len(gone)} of {len(scene.subjects)} subjects, {len(scene.others)} others, "
        f"{len(every)} canaries in up to {len(forms(gone[0].all[0]))} forms, "
        f"{len(seen):,} hits in {len(places)} files before, 0 of the erased after; "
        f"{len(erased)} events erased, "
        f"chain valid, digest = rebuild, {time.perf_counter() - started:.0f} s"
    )


def check_the_rest(
    scene: Scene,
    memory: Memory,
    before: Mapping[str, Mapping[str, object]],
    lines: dict[int, bytes],
    erased: set[int],
) -> None:
    """Headers untouched; every other line and record as it was, byte for byte."""
    check = memory.admin.verify()
    assert (check.ok, check.problem, check.erased) == (True, None, len(erased))
    after = lines_of(scene.where)
    for seq, line in lines.items():
        if seq in erased:
            header = line.partition(b',"salt":')[0]
            assert after[seq].startswith(header + b',"erased":"')
        else:
            assert after[seq] == line
    assert {id: memory.get(id).to_dict() for id in scene.others} == before


def leave_a_torn_copy(memory: Memory, where: Path, one: Subject) -> None:
    """A crash in the middle of an append about the subject; the next write cuts it off."""
    line = next(raw for raw in lines_of(where).values() if one.words["text"].encode() in raw)
    with open(where / "events.wal", "ab") as ledger:
        ledger.write(line[30:-1])
    memory.remember("written after the crash")
    assert list(where.glob("*.torn"))


@pytest.mark.parametrize("what", ["record", "record without sources", "episode"])
def test_one_subject_goes_and_nothing_else(tmp_path: Path, what: str) -> None:
    scene = Scene(tmp_path, subjects=2, others=20)
    one, other = scene.subjects
    spoken = {"first episode", "second episode", "metadata", "user", "session", "agent"}
    with scene.open() as memory:
        assert scene.unseen(one) == []
        if what == "record":
            memory.erase(one.id)
            left = set()
        elif what == "record without sources":
            assert sorted(memory.erase(one.id, sources=False).kept) == sorted(one.episodes)
            left = spoken
        else:
            for id in one.episodes:
                memory.erase(id)
            left = set(one.words) - {"first episode", "second episode", "metadata"}
        assert set(one.words) - set(scene.unseen(one)) == left
        assert scene.unseen(other) == []
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)


def test_a_source_that_another_record_needs_is_kept_and_named(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        (episode,) = memory.observe("Both rest on quolbrazk")
        first = memory.remember("One says quemdivazk", evidence=[episode.id])
        second = memory.remember("Two says quistofazk", evidence=[episode.id])
        report = memory.erase(first.id)
        assert (report.episodes, report.kept) == ((), (episode.id,))
        assert hits(tmp_path, ["quemdivazk"]) == []
        assert hits(tmp_path, ["quolbrazk"])
        assert memory.get(second.id) == second
        report = memory.erase(second.id)
        assert (report.episodes, report.kept) == ((episode.id,), ())
        assert hits(tmp_path, ["quolbrazk", "quistofazk"]) == []


def test_other_spaces_are_their_own(tmp_path: Path) -> None:
    main = Scene(tmp_path, subjects=1, others=10)
    team = Scene(tmp_path, subjects=2, others=10, space="Team A")
    gone, kept = team.subjects
    assert [part for one in (*main.subjects, gone, kept) for part in team.unseen(one)] == []
    with team.open() as memory:
        memory.admin.backup()
        memory.erase(gone.id)
    assert team.hits(gone) == []
    assert [part for one in (*main.subjects, kept) for part in team.unseen(one)] == []


# --- controls


def test_control_forgetting_is_not_erasing(tmp_path: Path) -> None:
    """The same search after a forget hits everything: it is the erasure that removes bytes."""
    scene = Scene(tmp_path, subjects=1, others=10)
    with scene.open() as memory:
        memory.forget(scene.subjects[0].id)
    assert scene.unseen(scene.subjects[0]) == []


def let_go(*what: object) -> list[str]:
    """A step that does nothing, but for closing what it was given to close."""
    for given in what:
        if isinstance(given, SqliteDb):
            given.close()
    return []


@pytest.mark.parametrize("guard", ["erase_bodies", "clean_index", "erase_copies"])
def test_control_every_step_of_the_purge_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    """Without one of the three steps bytes are left, and the search sees them."""
    scene = Scene(tmp_path, subjects=1, others=60)
    with scene.open() as memory:
        memory.admin.backup()
        module = {"erase_bodies": "ledger.segments", "clean_index": "erased_bodies"}.get(
            guard, "copies.copies"
        )
        monkeypatch.setattr(f"recollect.store.files.{module}.{guard}", let_go)
        memory.erase(scene.subjects[0].id)
        found = {name.partition("/")[0] for name in files_hit(tmp_path, scene.subjects[0].all)}
    assert (
        found
        & {
            "erase_bodies": {"events.wal"},
            "clean_index": {"index.db", "index.db-wal"},
            "erase_copies": {"backup"},
        }[guard]
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_control_the_search_finds_a_planted_word(tmp_path: Path, encoding: str) -> None:
    word = "Vrélqomůdazk"
    (tmp_path / "deep").mkdir()
    names = {f"deep/{before}" for before in range(9)}
    for before, name in enumerate(sorted(names)):
        (tmp_path / name).write_bytes(b"\xff" * before + word.encode(encoding) + b"\x00")
    assert files_hit(tmp_path, [word]) == names
    assert hits(tmp_path, ["Brélqomůdazk"[::-1]]) == []


# --- crashes


def erased_without_purge(memory: Memory, one: Subject) -> None:
    """The moment between the event that says so and the purge: what a crash there leaves."""
    act = acts.erase(one.id, True, None)
    memory._handle.write((act,), lambda reads, outcome: None, None)


@pytest.mark.parametrize("index", ["kept", "deleted"])
@pytest.mark.parametrize("first", ["list", "remember", "backup", "rebuild"])
def test_the_next_open_finishes_an_erasure(tmp_path: Path, index: str, first: str) -> None:
    """Whatever the next process does first."""
    scene = Scene(tmp_path, subjects=2, others=40)
    one, other = scene.subjects
    with scene.open() as memory:
        memory.admin.backup()
        erased_without_purge(memory, one)
    assert files_hit(tmp_path, one.all) >= {"events.wal"}
    if index == "deleted":
        (tmp_path / "index.db").unlink()
    with scene.open() as memory:
        calls: dict[str, Callable[[], object]] = {
            "list": memory.list,
            "remember": lambda: memory.remember("life goes on"),
            "backup": memory.admin.backup,
            "rebuild": memory.admin.rebuild,
        }
        calls[first]()
        assert files_hit(tmp_path, one.all) == set()
        knows_nothing(memory, one)
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    assert scene.unseen(other) == []


@contextmanager
def another_process(where: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A second process on the workspace; it says `ready` and waits for lines on its input."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.suites.neighbour", str(where), *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield child
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.nightly)])
def test_an_erasure_killed_at_any_moment_is_finished_or_never_began(
    rounds: int, tmp_path: Path, tell: Tell
) -> None:
    scene = Scene(tmp_path, subjects=rounds, others=60)
    finished = never = interrupted = 0
    moments = [None, *(scene.rng.uniform(0, 0.04) for _ in range(rounds - 1))]
    for one, moment in zip(scene.subjects, moments, strict=True):
        with another_process(tmp_path, "erase", one.id) as child:
            assert child.stdin is not None
            child.stdin.write(b"go\n")
            child.stdin.flush()
            if moment is None:
                assert child.stdout is not None
                assert child.stdout.readline() == b"nothing\n"  # it erased
            else:
                time.sleep(moment)
            child.send_signal(signal.SIGKILL)
            child.wait()
        left = bool(scene.hits(one))
        with scene.open() as memory:
            memory.list()
            erased = is_erased(memory, one)
            if erased:
                assert scene.hits(one) == [], f"seed {scene.seed}"
                finished += 1
                interrupted += left
            else:
                assert scene.unseen(one) == [], f"seed {scene.seed}"
                never += 1
            assert memory.admin.verify().ok
    with scene.open() as memory:
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    tell(
        f"erasure: {rounds} kills around an erasure: {never} before it, {interrupted} in the "
        f"middle (finished at the next open), {finished - interrupted} after it, 0 left half"
    )
    assert finished


def is_erased(memory: Memory, one: Subject) -> bool:
    try:
        memory.get(one.id)
    except NotFound:
        return True
    return False


# --- what else may lie in the workspace


def leave_an_unfinished_backup(scene: Scene, memory: Memory) -> None:
    """What a crash leaves between a backup's copy of the ledger and its manifest."""
    (Path(memory.admin.backup().path) / "manifest.json").unlink()


def leave_a_half_built_index(scene: Scene, memory: Memory) -> None:
    """What a rebuild leaves in another process that was killed."""
    # By another process: opening and closing the file here would take SQLite's locks off it.
    subprocess.run(["cp", scene.where / "index.db", scene.where / "index.db.new"], check=True)


def leave_a_half_written_ledger(scene: Scene, memory: Memory) -> None:
    """What an earlier erasure leaves if it was killed before the new file had its name."""
    shutil.copy(scene.where / "events.wal", scene.where / "events.wal.new")


def leave_a_half_cleaned_backup(scene: Scene, memory: Memory) -> None:
    """The same in a backup."""
    path = Path(memory.admin.backup().path)
    shutil.copy(path / "events.wal", path / "events.wal.new")


def leave_a_named_backup(scene: Scene, memory: Memory) -> None:
    """A backup inside the workspace under a name of the caller's."""
    memory.admin.backup(scene.where / "backup" / "before-the-move")


def leave_a_backup_elsewhere(scene: Scene, memory: Memory) -> None:
    """A backup inside the workspace, but not where backups go by default."""
    memory.admin.backup(scene.where / "copies" / "monday")


@pytest.mark.parametrize(
    "leave",
    [
        leave_an_unfinished_backup,
        leave_a_half_built_index,
        leave_a_half_written_ledger,
        leave_a_half_cleaned_backup,
        leave_a_named_backup,
        leave_a_backup_elsewhere,
    ],
)
def test_leftovers_in_the_workspace_keep_nothing(
    tmp_path: Path, leave: Callable[[Scene, Memory], None]
) -> None:
    scene = Scene(tmp_path, subjects=1, others=20)
    (one,) = scene.subjects
    with scene.open() as memory:
        memory.list()
        fold_into_file(scene)
        leave(scene, memory)
        assert len(files_hit(tmp_path, one.all) - {"index.db-wal"}) >= 3
        memory.erase(one.id)
        assert files_hit(tmp_path, one.all) == set()


def fold_into_file(scene: Scene) -> None:
    """Let the index's own file hold everything, so that a copy of it does."""
    connection = sqlite3.connect(scene.where / "index.db")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    connection.close()


def test_a_backup_in_the_workspace_is_cleaned_and_restores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    scene = Scene(workspace, subjects=3, others=60)
    first, second, kept = scene.subjects
    with scene.open() as memory:
        inside = [memory.admin.backup().path]
        outside = memory.admin.backup(elsewhere / "backup").path
        memory.erase(first.id)
        inside.append(memory.admin.backup().path)
        memory.remember("written between")
        memory.erase(second.id)
        others = {id: memory.get(id).to_dict() for id in scene.others}
    assert scene.hits(first, second) == []
    assert files_hit(elsewhere, [*first.all, *second.all])  # the search sees what it cannot reach
    for number, backup in enumerate(inside):
        target = tmp_path / f"restored-{number}"
        with Store.restore_backup(backup, target) as restored:
            assert restored.admin.verify().ok
            knows_nothing(restored, first)
            knows_nothing(restored, second)
            assert {id: restored.get(id).to_dict() for id in scene.others} == others
            assert restored.admin.digest() == rebuilt_digest(restored.admin)
            restored.remember("and life goes on")
            assert restored.admin.verify().ok
        assert hits(target, [*first.all, *second.all]) == []
        assert words_hit(target, kept.all) == set(kept.all)
    with Store.restore_backup(outside, tmp_path / "restored-outside") as restored:
        knows_nothing(restored, first)
        knows_nothing(restored, second)
    monkeypatch.setenv("HOME", str(tmp_path / "another"))  # where nothing is known of the erasure
    with Store.restore_backup(outside, tmp_path / "restored-there") as restored:
        assert restored.get(first.id).id == first.id


# --- other processes


def test_an_idle_handle_in_another_process_keeps_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, subjects=2, others=40)
    one, other = scene.subjects
    with another_process(tmp_path, "idle", one.id) as child, scene.open() as memory:
        assert scene.unseen(one) == []
        memory.erase(one.id)
        assert child.poll() is None
        assert scene.hits(one) == []
        assert ask(child) == b"nothing\n"  # the other process reads and writes on
        assert scene.hits(one) == []
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    assert scene.unseen(other) == []


def test_a_reader_in_the_middle_of_a_read_delays_the_purge_and_no_more(tmp_path: Path) -> None:
    """Bytes that a reader still needs may stay until it is done: the report must not deny it."""
    scene = Scene(tmp_path, subjects=1, others=40)
    (one,) = scene.subjects
    reports: list[Erasure] = []
    with another_process(tmp_path, "read", one.id) as child, scene.open() as memory:
        eraser = threading.Thread(target=lambda: reports.append(memory.erase(one.id)))
        eraser.start()
        eraser.join(timeout=60)
        in_time, left = bool(reports), files_hit(tmp_path, one.all)
        assert ask(child) == b"nothing\n"
        eraser.join(timeout=60)
        assert in_time, "the erasure waits for the reader, and with it every writer"
        places = {place.partition(":")[0] for place in reports[0].places}
        assert not (left and "index.db" in places), f"{left} hold the word; told: {places}"
        memory.list()
        with scene.open() as again:
            again.list()
        assert scene.hits(one) == []


def test_erasing_while_another_process_writes(tmp_path: Path) -> None:
    scene = Scene(tmp_path, subjects=3, others=30)
    order = Order(where=str(tmp_path), name="ada", count=150)
    with ending(begin(order)) as child, scene.open() as memory:
        memory.list()
        go(child)
        for one in scene.subjects:
            report = memory.erase(one.id)
            assert sorted(report.episodes) == sorted(one.episodes)
            assert len(report.events) == 13, report
            assert scene.hits(one) == [], f"seed {scene.seed}"
        told = end(child)
        assert len(told.writes) == 150
        assert [one for one in scene.subjects if not is_erased(memory, one)] == []
    assert problems(tmp_path, [told], exactly=False) == []
    assert scene.hits(*scene.subjects) == [], f"seed {scene.seed}"


def ask(child: subprocess.Popen[bytes]) -> bytes:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"again\n")
    child.stdin.flush()
    return child.stdout.readline()


def test_the_chain_counts_what_was_erased(tmp_path: Path) -> None:
    scene = Scene(tmp_path, subjects=1, others=10)
    with scene.open() as memory:
        report = memory.erase(scene.subjects[0].id)
        lines = [line for append in scan(memory._handle.space.pieces()) for line in append.lines]
        assert {line.seq for line in lines if line.data is None} == set(report.events)
        assert {line.erased_by for line in lines if line.data is None} == {report.seq}
