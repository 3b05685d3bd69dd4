"""A writing process to be killed, and the judge of what it leaves.

`python -m tests.suites.killing` forks one writer for each line on its input, so that a writer
starts in milliseconds; the server itself opens nothing. Writer and server share one pipe: a
writer's lines (``ack …``) stand before the server's ``dead``. Invariant: an honest writer says
``ack`` only after the call came back, in one unbuffered write.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.errors import RecollectError
from recollect.model.values import Record

ROOT = Path(__file__).resolve().parents[2]
KEYS = 4
MESSAGES = 3
BATCH = 5
OPS_MAX_COUNT = 5_000
EVERYTHING = ("superseded", "forgotten", "held", "expired", "archived")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer is to do, and how honest it is."""

    where: str
    seed: int
    round: int
    early: bool = False  # control: says it is done before it is
    apart: bool = False  # control: the writes of a batch happen one by one


class Ack(msgspec.Struct, frozen=True, kw_only=True):
    """One acknowledged call."""

    op: str
    ids: list[str]
    text: str = ""


class Found(msgspec.Struct, kw_only=True):
    """What the judge counted."""

    acknowledged: int = 0
    lost: list[str] = []
    half: list[str] = []
    unclean: list[str] = []

    def add(self, other: Found) -> None:
        self.acknowledged += other.acknowledged
        self.lost += other.lost
        self.half += other.half
        self.unclean += other.unclean


# --- the side of the test


class Server:
    """Starts writers and kills them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.suites.killing"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def round(self, order: Order, delay_s: float, *, opening: bool) -> list[Ack]:
        """One writer, killed ``delay_s`` after its first ack or, if ``opening``, its start."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        pid = int(self._line("pid"))
        acks = [] if opening else [self._ack(self._line("ack"))]
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
        while (line := self._any_line()) != b"dead":
            acks.append(self._ack(line.removeprefix(b"ack ")))
        return acks

    def close(self) -> None:
        self._process.communicate(timeout=30)

    def _line(self, kind: str) -> bytes:
        line = self._any_line()
        assert line.startswith(f"{kind} ".encode()), line
        return line.partition(b" ")[2]

    def _any_line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.endswith(b"\n"), line
        return line.removesuffix(b"\n")

    def _ack(self, line: bytes) -> Ack:
        return msgspec.json.decode(line, type=Ack)


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


def judge(where: Path, acks: list[Ack], *, rebuild: bool) -> Found:
    """Open what a killed writer left and look for everything it had been told."""
    found = Found(acknowledged=len(acks))
    try:
        with Memory.open(where) as memory:
            found.lost = [f"{ack.op} {ack.ids}" for ack in acks if not is_there(memory, ack)]
            found.half = halves(memory)
            check = memory.verify()
            if not check.ok or check.problem is not None:
                found.unclean.append(f"verify: {check}")
            if rebuild and memory.digest() != memory.rebuild().digest:
                found.unclean.append("a rebuild does not agree with the live index")
    except RecollectError as error:
        found.unclean.append(f"{type(error).__name__}: {error}")
    return found


def is_there(memory: Memory, ack: Ack) -> bool:
    """True if what was acknowledged happened; later writes may have changed it since."""
    try:
        if ack.op == "observe":
            return all(memory.get(id).id == id for id in ack.ids)
        histories = [memory.history(id) for id in ack.ids]
    except RecollectError:
        return False
    if ack.op == "forget":
        return all(any(v.what == "forgotten" for v in versions) for versions in histories)
    if ack.op == "batch":
        return len(histories) == BATCH
    return all(any(v.record.text == ack.text for v in versions) for versions in histories)


def halves(memory: Memory) -> list[str]:
    """Groups that are there in part: batches, conversations, and a key's change of holder."""
    records = all_of(memory)
    batches = Counter(record.data["batch"] for record in records.values() if "batch" in record.data)
    talks = Counter(episode.metadata["talk"] for episode in memory.episodes(limit=10_000))
    found = [f"batch {name}: {count}" for name, count in batches.items() if count != BATCH]
    found += [f"talk {name}: {count}" for name, count in talks.items() if count != MESSAGES]
    for record in records.values():
        old = records.get(record.supersedes) if record.supersedes else None
        if record.supersedes and (old is None or old.superseded_by != record.id):
            found.append(f"{record.id} took a place that is not free")
        if record.superseded_by and record.superseded_by not in records:
            found.append(f"{record.id} gave its place to nobody")
    holders = Counter(r.key for r in records.values() if r.key and r.status == "active")
    return found + [f"{key} is held by {count}" for key, count in holders.items() if count > 1]


def all_of(memory: Memory) -> dict[str, Record]:
    return {record.id: record for record in memory.list(include=EVERYTHING, limit=10_000)}


# --- the side of the writer


class Writer:
    """Does random things and says so."""

    def __init__(self, order: Order) -> None:
        self._memory = Memory.open(order.where)
        self._rng = random.Random(order.seed)
        self._order = order
        self._count = 0
        self._mine: list[str] = []

    def run(self) -> None:
        acts: list[Callable[[], None]] = [
            self.remember,
            self.remember,
            self.keyed,
            self.keyed,
            self.observe,
            self.revise,
            self.forget,
            self.batch,
        ]
        for _ in range(OPS_MAX_COUNT):
            self._count += 1
            self._rng.choice(acts)()

    def remember(self) -> None:
        id, text = self._name(), self._text()
        self._say("remember", [id], text, lambda: self._memory.remember(text, id=id))
        self._mine.append(id)

    def keyed(self) -> None:
        id, text = self._name(), self._text()
        key = f"key-{self._rng.randrange(KEYS)}"
        self._say("keyed", [id], text, lambda: self._memory.remember(text, id=id, key=key))

    def observe(self) -> None:
        ids = [self._name(f"e{n}") for n in range(MESSAGES)]
        talk = [{"role": "user", "content": self._text(), "id": id} for id in ids]
        metadata = {"talk": ids[0]}
        self._say("observe", ids, "", lambda: self._memory.observe(talk, metadata=metadata))

    def revise(self) -> None:
        if self._mine:
            id, text = self._rng.choice(self._mine), self._text()
            self._say("revise", [id], text, lambda: self._memory.revise(id, text))

    def forget(self) -> None:
        if self._mine:
            id = self._mine.pop(self._rng.randrange(len(self._mine)))
            self._say("forget", [id], "", lambda: self._memory.forget(id))

    def batch(self) -> None:
        ids = [self._name(f"b{n}") for n in range(BATCH)]
        self._say("batch", ids, "", lambda: self._batch(ids))

    def _batch(self, ids: list[str]) -> None:
        if self._order.apart:
            for id in ids:
                self._memory.remember(self._text(), id=id, data={"batch": ids[0]})
            return
        with self._memory.batch() as batch:
            for id in ids:
                batch.remember(self._text(), id=id, data={"batch": ids[0]})

    def _say(self, op: str, ids: list[str], text: str, call: Callable[[], object]) -> None:
        line = b"ack " + msgspec.json.encode(Ack(op=op, ids=ids, text=text)) + b"\n"
        if self._order.early:
            os.write(1, line)
        call()
        if not self._order.early:
            os.write(1, line)

    def _name(self, part: str = "r") -> str:
        return f"{self._order.round}.{self._count}.{part}"

    def _text(self) -> str:
        return f"round {self._order.round} says {self._rng.getrandbits(64):016x}"


def serve() -> None:
    """Fork a writer for each line; wait for its end before the next."""
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        pid = os.fork()
        if pid == 0:
            os.write(1, f"pid {os.getpid()}\n".encode())
            try:
                Writer(order).run()
            finally:
                os._exit(1)
        os.waitpid(pid, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    serve()
