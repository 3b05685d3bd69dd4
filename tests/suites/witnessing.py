"""A witness in a folder under many clients, restarts and crashes, on a disk that is only a log.

Responsible for one random run: clients with a log and with forks of it ask one witness; its process
is killed at any call, two of its processes take turns, and the power fails, after which the disk is
one of the states that it may then have. Leaves what such a state is to ``crash_disk``. Invariant:
the judge knows only what was handed out: every cosigned tree, and which log it was of.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from recollect.errors import RecollectError
from recollect.proof.checkpoints import parse_text
from recollect.proof.keys import WITNESS, PrivateKey
from recollect.proof.notes import parse
from recollect.proof.witness import Behind, Cosigned, Request
from recollect.store.witnesses.folder import FolderWitness, put_public_key
from recollect.testing.seams import FixedSeam
from recollect.testing.witnesses import FakeLog
from tests.suites.crash_choices import draw
from tests.suites.crash_disk import Disk, lay_out
from tests.suites.crash_log import Journal, Killed, Recorder

KEY = PrivateKey("recollect-witness/test", WITNESS, bytes(range(32)))
MOST = 48  # events of a log
FORKS = (0, 3, 9, 17)  # after which event another history goes on

Open = Callable[[Path, Recorder], FolderWitness]


def sound(folder: Path, seam: Recorder) -> FolderWitness:
    """The witness as it is."""
    return FolderWitness(folder, KEY.public, seam, KEY)


@cache
def log(fork: int) -> FakeLog:
    """The log, or a fork of it; 0 is the log itself."""
    after = FORKS[fork]
    return FakeLog("recollect/log", fork=str(fork) if fork else "", after=after if fork else 0)


@cache
def request(fork: int, old: int, size: int) -> Request:
    """A request of a client that believes one history."""
    return log(fork).request(old, size)


class Handed(NamedTuple):
    """A cosignature that a client has got."""

    size: int
    root: bytes


class Client:
    """Believes one history, and what size the witness has."""

    def __init__(self, fork: int) -> None:
        self.fork, self.believed, self.size = fork, 0, 1

    def request(self, rng: random.Random) -> Request:
        """The next one: usually it goes on, sometimes back."""
        if rng.random() < 0.8:
            self.size = min(MOST, self.size + rng.randrange(5))
        else:
            self.size = rng.randrange(1, self.size + 1)
        old = self.believed if rng.random() < 0.9 else rng.randrange(self.size + 1)
        return request(self.fork, min(old, self.size), self.size)


class Run:
    """One run; ``problem`` says what went wrong."""

    def __init__(self, root: Path, seed: int, opens: Open) -> None:
        self.rng = random.Random(seed)
        self.root, self._opens = root, opens
        self.counts: Counter[str] = Counter()
        self.handed: list[Handed] = []
        self._disks = 0
        self.disk = root / "disk-0"
        self.disk.mkdir(parents=True)
        self._start()

    def _start(self) -> None:
        put_public_key(self.disk / "witness", KEY.public, FixedSeam())
        FolderWitness(self.disk / "witness", KEY.public, FixedSeam(), KEY).pin([log(0).key.public])
        self._boot()

    def _boot(self) -> None:
        """The machine starts: what lies on the disk is durable."""
        self.journal = Journal(self.disk)
        self.processes = [self._process(), self._process()]

    def _process(self) -> tuple[Recorder, FolderWitness]:
        seam = Recorder(self.journal, self.rng.randrange(1 << 30))
        return seam, self._opens(self.disk / "witness", seam)

    def steps(self, count: int) -> str:
        """So many steps; returns the first problem, or nothing."""
        clients = [Client(fork) for fork in (0, 0, 1, 2, 3)]
        for _ in range(count):
            if self.rng.random() < 0.12:
                self._power_fails()
            elif problem := self._asks(self.rng.choice(clients)):
                return problem
        return ""

    def _asks(self, client: Client) -> str:
        which = self.rng.randrange(2)
        seam, witness = self.processes[which]
        if self.rng.random() < 0.4:
            seam.die_at(self.rng.randrange(1, 12), self.rng.choice((0, 0, 1, 40)))
        asked = client.request(self.rng)
        try:
            answer = witness.add(asked)
        except Killed:
            self.counts["killed"] += 1
            self.processes[which] = self._process()
            return ""
        except RecollectError as error:
            return f"the witness stopped: {error}"
        seam.die_at(1 << 40)
        match answer:
            case Cosigned():
                self.counts["cosigned"] += 1
                client.believed = asked.checkpoint.size
                return self._handed(asked)
            case Behind(size=size):
                self.counts["behind"] += 1
                client.believed = size
            case _:
                self.counts["refused"] += 1
        return ""

    def _handed(self, asked: Request) -> str:
        """Judges a cosignature by all that were handed out before it."""
        now = Handed(asked.checkpoint.size, asked.checkpoint.root)
        largest = max((each.size for each in self.handed), default=0)
        self.handed.append(now)
        if now.size < largest:
            return f"a rollback from {largest} to {now.size} was cosigned"
        if not any(all(_is_in(each, fork) for each in self.handed) for fork in range(len(FORKS))):
            return f"two histories were cosigned, the second at {now.size}"
        return ""

    def _power_fails(self) -> None:
        """The disk is one of the states that it may have now, and the machine starts again."""
        self.counts["power failures"] += 1
        disk = Disk(self.journal.ops)
        states = [tree for _, tree in draw(disk, self.rng, 6)]
        self._disks += 1
        old, self.disk = self.disk, self.root / f"disk-{self._disks}"
        lay_out(self.rng.choice(states), self.disk)
        shutil.rmtree(old)
        self._boot()


@cache
def _root(fork: int, size: int) -> bytes:
    return log(fork).tree(size).root


def _is_in(each: Handed, fork: int) -> bool:
    return _root(fork, each.size) == each.root


def run(root: Path, seed: int, steps: int, opens: Open = sound) -> tuple[str, Counter[str]]:
    """One run in a folder of its own: its first problem, and what happened."""
    place = root / str(seed)
    made = Run(place, seed, opens)
    try:
        problem = made.steps(steps)
    finally:
        shutil.rmtree(place)
    return problem, made.counts


def kept(folder: Path) -> int:
    """The largest size in the folder of a witness."""
    notes = folder.glob("logs/*/checkpoints/*.note")
    return max((parse_text(parse(path.read_bytes()).text).size for path in notes), default=0)
