"""What the real code is put through while its calls are recorded.

Responsible for workloads that run from a seed, through the public API where there is one, with a
mark for everything that somebody was told. A story has a name such as ``erase`` or, for one whose
first process is killed at its 17th call, ``lives:erase:17``. Leaves judging to ``crash_judge``.
Invariant: the same name and seed give the same log.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from recollect.compose import restore_backup
from recollect.config import Settings
from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.files.space import FileSpace
from recollect.store.indexed.backend import MemoryBackend
from recollect.testing.seams import FixedSeam
from tests.suites.crash_log import Acked, Journal, Killed, Recorder

HOME = "w"  # the workspace below the root
RESTORED = "r"


class Process:
    """One process that has a space open."""

    def __init__(self, story: Story, folder: str, recorder: Recorder) -> None:
        self._story = story
        self._folder = folder
        self.seam = recorder
        self.space = FileSpace(story.root / folder, "main", create=True, seam=recorder)
        self.memory = Memory(Handle(self.space, recorder))

    def ack(self, command: str = "", backup: str = "") -> None:
        """Somebody has been told; whatever a reader sees counts too."""
        seq = self.space.head().seq
        journal = self._story.journal
        journal.look(closely=True)
        journal.ops.append(Acked(self._folder, seq, command, backup))

    def remember(self, size: int = 0, key: str | None = None) -> str:
        text, command = self._story.text(size), self._story.command()
        record = self.memory.remember(text, key=key, idempotency_key=command)
        self.ack(command)
        return record.id

    def remember_on(self, size: int) -> None:
        """A write that nobody reads for now: its rows may wait."""
        command = self._story.command()
        record = self.memory.remember(self._story.text(size), idempotency_key=command)
        journal = self._story.journal
        journal.look(closely=True)
        journal.ops.append(Acked(self._folder, record.seq, command))

    def batch(self, sizes: Iterable[int]) -> None:
        command = self._story.command()
        with self.memory.batch(idempotency_key=command) as batch:
            for size in sizes:
                batch.remember(self._story.text(size))
        self.ack(command)

    def group(self, count: int) -> None:
        """Commands of several threads that end up in one append."""
        group = self.space._files.group
        texts = [(self._story.text(60), self._story.command()) for _ in range(count)]
        threads = [
            threading.Thread(
                target=self.memory.remember, args=(text,), kwargs={"idempotency_key": command}
            )
            for text, command in texts
        ]
        with group.turn:
            for number, thread in enumerate(threads, 1):
                thread.start()
                while len(group._waiting) < number and thread.is_alive():
                    time.sleep(0.0005)
        for thread in threads:
            thread.join()
        for _, command in texts:
            self.ack(command)

    def receive(self, ledger: bytes) -> None:
        with pytest.MonkeyPatch.context() as patch:  # several parcels, of a few pages each
            patch.setattr("recollect.store.received.PARCEL_MIN_BYTES", 3_000)
            self.space.receive([ledger])
        self.ack()

    def read(self) -> None:
        self.memory.list()
        self.ack()

    def backup(self) -> Path:
        path = Path(self.memory.admin.backup().path)
        self.ack(backup=str(path.relative_to(self._story.root)))
        return path

    def erase(self, id: str) -> None:
        self.memory.erase(id)
        self.ack()

    def rebuild(self) -> None:
        self.memory.admin.rebuild()
        self.ack()

    def seal(self) -> None:
        self.memory.admin.seal()
        self.ack()

    def close(self) -> None:
        self.space.close()


class Story:
    """A run under way."""

    def __init__(self, root: Path, seed: int) -> None:
        root.mkdir(parents=True)
        self.root = root
        self.seed = seed
        self.journal = Journal(root)
        self.rng = random.Random(seed)
        self.open_processes: list[Process] = []
        self._told = 0
        self._started = 0

    def process(
        self,
        folder: str = HOME,
        *,
        kill_at: int = 0,
        torn_bytes: int = 0,
        fail_sync_at: Iterable[int] = (),
        short_at: int = 0,
        links: bool = True,
    ) -> Process:
        self._started += 1
        recorder = Recorder(
            self.journal,
            self.seed * 100 + self._started,
            kill_at=kill_at,
            torn_bytes=torn_bytes,
            fail_sync_at=fail_sync_at,
            short_at=short_at,
            links=links,
        )
        process = Process(self, folder, recorder)
        self.open_processes.append(process)
        return process

    def text(self, size: int = 0) -> str:
        self._told += 1
        filler = self.rng.randbytes(size // 2).hex()
        return f"canary{self.seed:x}x{self._told} {filler}".strip()

    def command(self) -> str:
        return f"c{self._told}-{self.rng.getrandbits(32):08x}"

    def close(self) -> None:
        for process in self.open_processes:
            process.close()


# The workloads.


def appends(story: Story) -> None:
    one = story.process()
    for number in range(4):
        one.remember(40 + 80 * number, key=f"k{number % 2}")
    one.memory.observe(story.text(30), idempotency_key=story.command())
    one.ack()
    one.close()
    two = story.process()
    two.remember(900)
    two.remember(0)


def waits(story: Story) -> None:
    """Rows that wait, when the process goes on, another one comes, and the first is killed."""
    one, two = story.process(), story.process()
    for size in (30, 200, 900):
        one.remember_on(size)
    for process in (two, one, two):
        for size in (40, 60):
            process.remember_on(size)
    two.batch([100, 20])
    three = story.process()
    for size in (10, 20, 30):
        three.remember_on(size)
    three.seam.die_at(1, 5)
    with suppress(Killed, RecollectError):
        three.remember_on(70)
    three.close()
    one.remember_on(50)
    one.read()


def batches(story: Story) -> None:
    one = story.process()
    one.batch([200] * 3)
    one.batch([700] * 4)
    one.batch([1500, 10, 1500, 10, 1500, 10, 1500])
    one.batch([150] * 24)
    one.batch([9000, 20, 9000, 20, 9000])


def pages(story: Story) -> None:
    """Appends of one to three pages, which meet at other places each time, and longer ones."""
    one = story.process()
    for number in range(18):
        one.remember(story.rng.randrange(40, 400))
        one.batch([story.rng.randrange(300, 500 * (number % 3 + 3)) for _ in range(2, 6)])
    one.remember(20)
    one.batch([4000] * 9)
    one.remember(20)
    one.batch([4000] * 13)


def groups(story: Story) -> None:
    one = story.process()
    one.remember(20)
    one.group(3)
    one.group(5)


def torn(story: Story) -> None:
    """A write stops half-way; the next process cuts it and goes on."""
    one = story.process()
    one.remember(100)
    one.close()
    for torn_bytes in (1, 700, 5000):
        dies(story, lambda p: p.batch([900] * 6), kill_at=1, torn_bytes=torn_bytes)
        two = story.process()
        two.remember(50)
        two.remember(50)
        two.close()


def backups(story: Story) -> None:
    one = story.process()
    one.remember(300)
    one.backup()
    one.batch([800] * 6)
    one.backup()
    one.remember(30)


def erase(story: Story) -> None:
    one = story.process()
    ids = [one.remember(200) for _ in range(4)]
    one.backup()
    one.close()
    dies(story, lambda p: p.remember(300), kill_at=1, torn_bytes=100)
    two = story.process()
    two.remember(20)
    reader = story.process()
    reader.read()  # so that the index has a log when another takes its place
    two.erase(ids[1])
    two.remember(20)
    two.erase(ids[2])
    reader.close()
    two.backup()
    two.remember(20)


def rebuilds(story: Story) -> None:
    one = story.process()
    one.remember(300)
    one.rebuild()
    one.remember(300)
    one.close()
    story.journal.gone(story.root / HOME / "index.db")
    two = story.process()
    two.read()
    two.remember(30)
    two.rebuild()
    two.remember(30)


def logs(story: Story) -> None:
    """An index of many pages whose log holds a few of them, when another takes its place."""
    one = story.process()
    for number in range(12):
        one.batch([30 + number] * 8)
    one.close()
    two = story.process()
    for number in range(5):
        two.remember(900 * number, key="k")
        two.batch([60] * (number * 3 + 1))
        two.rebuild()
    two.remember(30)


def restores(story: Story) -> None:
    one = story.process()
    ids = [one.remember(300) for _ in range(3)]
    backup = one.backup()
    one.erase(ids[0])
    one.close()
    settings = Settings(where=str(story.root / RESTORED), why="a story")
    two = story.process(RESTORED)
    restore_backup(backup, settings, two.seam)
    two.read()
    two.remember(100)
    two.remember(100)


def killed(story: Story) -> None:
    """A writer dies between its write and its fsync; one that was open goes on."""
    one = story.process()
    one.remember(100)
    for act in (lambda p: p.remember(100), lambda p: p.batch([900] * 6)):
        dies(story, act, kill_at=2)
        one.read()
        one.remember(50)
    one.close()
    dies(story, lambda p: p.remember(100), kill_at=2)
    two = story.process()
    two.remember(20)


def failed(story: Story) -> None:
    """Syncs fail and writes are short; another process comes and goes on."""
    one = story.process()
    one.remember(100)
    one.close()
    for faults in ({"fail_sync_at": (1,)}, {"short_at": 1}):
        two = story.process(**faults)
        for _ in range(2):
            tried(lambda two=two: two.batch([900] * 6))  # type: ignore[misc]
        tried(two.read)
        three = story.process()
        three.read()
        three.remember(40)
        two.close()
        three.close()


def seals(story: Story) -> None:
    one = story.process()
    one.remember(300)
    one.seal()
    ids = [one.remember(100) for _ in range(2)]
    one.batch([900] * 6)
    one.seal()
    one.remember(30)
    one.backup()
    one.erase(ids[0])
    one.rebuild()
    one.remember(30)
    one.close()
    dies(story, Process.seal, kill_at=4)  # the segment has its name, and the active file its own
    two = story.process()
    two.remember(30)
    two.erase(ids[1])
    two.remember(30)
    two.seal()
    two.remember(30)


def copies(story: Story) -> None:
    """Sealing where there are no links, stopped before the new file has its name."""
    one = story.process(links=False)
    id = one.remember(100)
    one.batch([900] * 6)
    one.seam.die_before("events.wal")
    with suppress(Killed):
        one.seal()
    one.close()
    two = story.process(links=False)
    two.remember(30)
    two.seal()
    two.remember(30)
    two.erase(id)


def elsewhere(story: Story) -> tuple[bytes, bytes]:
    """A ledger of another store, and what it came to later: one event erased, and far from it."""
    seam = FixedSeam(story.seed)
    with closing(MemoryBackend(seam=seam)) as backend:
        memory = Memory(Handle(backend.space("main", create=True), seam))
        for size in (100, 1_500, 1_500, 40):
            memory.remember(story.text(size))
        early = b"".join(memory._handle.space.pieces())
        secret = memory.remember(story.text(100))
        memory.admin.seal()
        for size in (1_500, 1_500, 900):
            memory.remember(story.text(size))
        memory.erase(secret.id)
        memory.remember(story.text(60))
        return early, b"".join(memory._handle.space.pieces())


def receives(story: Story) -> None:
    """Parcels of another store: over a first event alone, then on, with processes that die."""
    early, whole = elsewhere(story)
    one = story.process()
    one.memory.list()  # a ledger of its own, of which nobody was told
    one.close()
    for call in (3, 9, 14):
        two = story.process(kill_at=call)
        with closing(two), suppress(Killed):
            two.receive(early)
    three = story.process()
    three.receive(early)
    three.close()
    for call in (4, 6, 7):
        four = story.process(kill_at=call, torn_bytes=700)
        with closing(four), suppress(Killed):
            four.receive(whole)
    five = story.process()
    five.receive(whole)
    five.remember(30)


def begins(story: Story) -> None:
    """A first event that is given up for another ledger's."""
    one = story.process()
    one.memory.list()
    one.receive(elsewhere(story)[0])


WORKLOADS: dict[str, Callable[[Story], None]] = {
    story.__name__: story
    for story in (
        appends,
        waits,
        batches,
        groups,
        torn,
        backups,
        erase,
        rebuilds,
        restores,
        killed,
        failed,
        seals,
        copies,
        receives,
    )
}


# First lives: each is killed at each of its calls, and another process goes on.


def _birth(process: Process) -> None:
    process.remember(50)
    process.batch([900] * 5)


def _erasing(process: Process) -> None:
    ids = [process.remember(50) for _ in range(2)]
    process.backup()
    process.erase(ids[0])


def _rebuilding(process: Process) -> None:
    process.remember(50)
    process.rebuild()
    process.backup()


def _sealing(process: Process) -> None:
    process.remember(50)
    process.seal()
    process.remember(50)


def _receiving(process: Process) -> None:
    early, whole = elsewhere(process._story)
    process.memory.list()
    process.receive(early)
    process.receive(whole)


LIVES: dict[str, Callable[[Process], None]] = {
    "birth": _birth,
    "erase": _erasing,
    "rebuild": _rebuilding,
    "seal": _sealing,
    "receive": _receiving,
}


def dies(
    story: Story, act: Callable[[Process], object], *, kill_at: int, torn_bytes: int = 0
) -> bool:
    """A process of its own opens, and is killed at a call of the act; False if it was not."""
    process = story.process()
    process.memory.list()  # opening has calls of its own
    process.seam.die_at(kill_at, torn_bytes)
    try:
        act(process)
    except Killed:
        return True
    except RecollectError:
        if process.seam.is_dead:  # another thread's request hears of it as an error
            return True
        raise
    finally:
        process.close()
    return False


def tried(act: Callable[[], None]) -> None:
    """An act that may fail."""
    with suppress(RecollectError):
        act()


def tell_story(name: str, seed: int, root: Path) -> Story:
    """Runs a workload by its name."""
    story = Story(root, seed)
    try:
        if name.startswith("lives:"):
            _, life, call = name.split(":")
            _two_lives(story, LIVES[life], int(call))
        else:
            {**WORKLOADS, "pages": pages, "logs": logs, "begins": begins}[name](story)
    finally:
        story.close()
    return story


def _two_lives(story: Story, first: Callable[[Process], None], call: int) -> None:
    process = story.process(kill_at=call)
    with closing(process), suppress(Killed):
        first(process)
    second = story.process()
    second.read()
    id = second.remember(40)
    second.backup()
    second.erase(id)
    second.seal()
    second.remember(40)


def calls_of(life: str, scratch: Path) -> int:
    """How many calls a first life makes."""
    story = Story(scratch, 1)
    process = story.process()
    LIVES[life](process)
    story.close()
    shutil.rmtree(scratch)
    return process.seam.calls
