"""A writing process to be killed, and the judge of what it leaves.

`python -m tests.suites.killing` forks a writer for each line on its input, so that a writer starts
in milliseconds; the server itself opens nothing. Writers and server share one pipe. A writer says
what it begins (``try …``) and that the call came back (``ack …``); the server says ``dead …`` after
a writer's last word. Invariant: an honest writer says ``ack`` only after the call came back, in one
unbuffered write.
"""

from __future__ import annotations

import gc
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.errors import NotFound, RecollectError
from recollect.model.values import Include, Record
from recollect.testing.rebuilding import rebuilt_digest

ROOT = Path(__file__).resolve().parents[2]
KEYS = 4
MESSAGES = 3
BATCH = 5
OPS_MAX_COUNT = 5_000
EVERYTHING: tuple[Include, ...] = ("replaced", "forgotten", "waiting", "expired", "archived")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer is to do, and how honest it is."""

    where: str
    name: str
    seed: int
    early: bool = False  # control: says it is done before it is
    apart: bool = False  # control: the writes of a batch happen one by one


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One call: what it is to leave behind."""

    op: str
    ids: list[str]
    text: str = ""


class Heard(msgspec.Struct, kw_only=True):
    """What one writer said before it died."""

    acks: list[Act] = []
    begun: Act | None = None  # begun last, and perhaps not acknowledged
    open: bool = False  # true if it was not


class Found(msgspec.Struct, kw_only=True):
    """What the judge counted."""

    kills: int = 0
    paired: int = 0
    acknowledged: int = 0
    lost: list[str] = []
    half: list[str] = []
    unclean: list[str] = []

    def add(self, other: Found) -> None:
        self.kills += other.kills
        self.paired += other.paired
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
        self._heard: dict[int, Heard] = {}
        self._dead: set[int] = set()

    def start(self, order: Order) -> int:
        """One more writer; returns its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        before = set(self._heard)
        while set(self._heard) == before:
            self._listen()
        return (set(self._heard) - before).pop()

    def wait_for_ack(self, pid: int) -> None:
        """Until the writer has said that something is done."""
        while not self._heard[pid].acks:
            assert pid not in self._dead, "a writer ended by itself"
            self._listen()

    def kill(self, pid: int) -> Heard:
        """End a writer, whatever it is doing, and hear it out."""
        os.kill(pid, signal.SIGKILL)
        while pid not in self._dead:
            self._listen()
        self._dead.remove(pid)
        return self._heard.pop(pid)

    def close(self) -> None:
        for pid in set(self._heard) - self._dead:
            os.kill(pid, signal.SIGKILL)
        self._process.communicate(timeout=60)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.endswith(b"\n"), line
        kind, pid, *rest = line.rstrip().split(b" ", 2)
        if kind == b"pid":
            self._heard[int(pid)] = Heard()
        elif kind == b"dead":
            self._dead.add(int(pid))
        else:
            heard = self._heard[int(pid)]
            act = msgspec.json.decode(rest[0], type=Act)
            heard.begun, heard.open = act, kind == b"try"
            if kind == b"ack":
                heard.acks.append(act)


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


def judge(where: Path, heard: Heard) -> Found:
    """Open what a killed writer left and look for everything it had been told.

    Looks at that writer's acts alone, so it costs the same however long the ledger is.
    """
    found = Found(acknowledged=len(heard.acks))
    try:
        with Memory.open(where) as memory:
            found.lost = lost(memory, heard.acks)
            if heard.open and heard.begun is not None:
                found.half = half(memory, heard.begun)
    except RecollectError as error:
        found.unclean.append(f"{type(error).__name__}: {error}")
    return found


def judge_all(where: Path, acks: list[Act]) -> Found:
    """Everything that was ever acknowledged in a workspace, and all that must hold in it."""
    found = Found()
    try:
        with Memory.open(where) as memory:
            found.lost = lost(memory, acks)
            found.half = halves(memory)
            check = memory.admin.verify()
            if not check.ok or check.problem is not None:
                found.unclean.append(f"verify: {check}")
            if memory.admin.digest() != rebuilt_digest(memory.admin):
                found.unclean.append("a rebuild does not agree with the live index")
    except RecollectError as error:
        found.unclean.append(f"{type(error).__name__}: {error}")
    return found


def lost(memory: Memory, acks: list[Act]) -> list[str]:
    return [f"{ack.op} {ack.ids}" for ack in acks if not is_there(memory, ack)]


def is_there(memory: Memory, ack: Act) -> bool:
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


def half(memory: Memory, act: Act) -> list[str]:
    """An act under way when its writer died: all of it may be there, or nothing.

    Another writer may bring it into the index between two reads, so all of them see one state.
    """
    if act.op not in ("observe", "batch"):
        return []
    then = memory.at(memory.events.position)
    there = sum(exists(then, id) for id in act.ids)
    return [] if there in (0, len(act.ids)) else [f"{act.op}: {there} of {len(act.ids)}"]


def exists(memory: Memory, id: str) -> bool:
    try:
        memory.get(id)
    except NotFound:
        return False
    return True


def halves(memory: Memory) -> list[str]:
    """Groups that are there in part: batches, conversations, and a key's change of holder."""
    records = all_of(memory)
    batches = Counter(record.data["batch"] for record in records.values() if "batch" in record.data)
    talks = Counter(episode.metadata["talk"] for episode in memory.sessions.episodes(limit=10_000))
    found = [f"batch {name}: {count}" for name, count in batches.items() if count != BATCH]
    found += [f"talk {name}: {count}" for name, count in talks.items() if count != MESSAGES]
    for record in records.values():
        old = records.get(record.replaces) if record.replaces else None
        if record.replaces and (old is None or old.replaced_by != record.id):
            found.append(f"{record.id} took a place that is not free")
        if record.replaced_by and record.replaced_by not in records:
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
        act = msgspec.json.encode(Act(op=op, ids=ids, text=text))
        say("ack" if self._order.early else "try", act)
        call()
        if not self._order.early:
            say("ack", act)

    def _name(self, part: str = "r") -> str:
        return f"{self._order.name}.{self._count}.{part}"

    def _text(self) -> str:
        return f"{self._order.name} says {self._rng.getrandbits(64):016x}"


def say(kind: str, rest: bytes = b"") -> None:
    """One line in one write: short enough for a pipe to keep it whole."""
    os.write(1, b"%s %d %s\n" % (kind.encode(), os.getpid(), rest))


def warm_up() -> None:
    """Load what is loaded on first use, so that no writer has to."""
    with tempfile.TemporaryDirectory() as folder, Memory.open(folder) as memory:
        memory.remember("warm")
    gc.collect()
    gc.freeze()  # what is shared with the writers stays shared


def serve() -> None:
    """Fork a writer for each line; say when one has ended.

    Both come as bytes to wait for: a signal that arrived just before a blocking read would not be
    looked at until the next line.
    """
    warm_up()
    ended, wake_up = os.pipe()
    os.set_blocking(wake_up, False)
    signal.set_wakeup_fd(wake_up)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    rest = b""
    while True:
        ready, _, _ = select.select([0, ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            reap()
        if 0 in ready:
            piece = os.read(0, 65_536)
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                fork(line)


def fork(line: bytes) -> None:
    """A writer that does what the line says."""
    if os.fork() == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        say("pid")
        try:
            Writer(msgspec.json.decode(line, type=Order)).run()
        finally:
            os._exit(1)


def reap() -> None:
    """Every writer that has ended since."""
    with suppress(ChildProcessError):
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            os.write(1, b"dead %d\n" % pid)


if __name__ == "__main__":
    serve()
