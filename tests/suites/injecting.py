"""Strikes one system call of a writing process, and judges what is left.

Responsible for finding every point of a run (a dry run under the tracer), for striking each with
each fault, and for the judge. Leaves what the writer does to `tests.suites.injected`. Invariants:
the judge is never traced; a point counts only if the tracer's log or the writer's end shows that it
was struck.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import groupby
from pathlib import Path

import msgspec

from recollect import Memory, Store
from recollect.errors import RecollectError
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.injected import GROUP, IDLE, PLANS, SECRET, Order, Said, ids_of, text_of
from tests.suites.killing import EVERYTHING

ROOT = Path(__file__).resolve().parents[2]
SHARED_MEMORY = Path("/dev/shm")
INDEX = re.compile(r"index\.db(-wal|-shm|-journal)?[\">]")
NEW_INDEX = re.compile(r"index\.db\.new(-wal|-shm|-journal)?[\">]")
AFTER = 3  # acts after the one that is struck
CHUNK_POINTS = 40
FEW_POINTS = 10
MARGIN = 400  # calls that a server may make more than the one that was surveyed, under load
CHUNK_SPAN = 800  # empty calls that the first point of a chunk may cost
PATIENCE_S = 120
SERVER_TRIES = 3
FILTER = (
    "--seccomp-bpf"  # faster, because only the calls asked for stop; but no signal gets through
)
KILLED = -9
DEEP_EVERY = 5  # how often the judge also rebuilds after the long run


class Fault(msgspec.Struct, frozen=True):
    """What happens at a call: ``kill``, or an error, once or from then on."""

    what: str
    lasts: bool = False

    def __str__(self) -> str:
        return f"{self.what} from then on" if self.lasts else self.what

    def injection(self, call: str, when: int) -> str:
        how = "signal=KILL" if self.what == "KILL" else f"error={self.what}"
        return f"inject={call}:{how}:when={when}{'+' if self.lasts else ''}"


# A process killed once is killed for good.
FAULTS = (
    Fault("KILL"),
    Fault("EIO"),
    Fault("EIO", lasts=True),
    Fault("ENOSPC"),
    Fault("ENOSPC", lasts=True),
)


class Point(msgspec.Struct, frozen=True):
    """The ``when``-th ``call`` of a run; it belongs to one act of the plan."""

    call: str
    when: int
    act: int
    of_sqlite: bool
    line: str


class Survey(msgspec.Struct, frozen=True):
    """What a dry run shows."""

    plan: str
    points: list[Point]
    own: dict[str, int]  # how many of each call the server makes itself while it starts
    all: dict[str, int]  # how many of each call a writer makes


class Chunk(msgspec.Struct, frozen=True):
    """Points that one tracer strikes, one after the other."""

    plan: str
    fault: Fault
    points: tuple[Point, ...]
    when: dict[str, int]  # at which number each call is struck, in every process
    control: str = ""


class Found(msgspec.Struct, kw_only=True):
    """What the judge counted."""

    runs: int = 0
    acknowledged: int = 0
    healed: int = 0  # struck, and nobody noticed
    lost: list[str] = []
    half: list[str] = []
    refused: list[str] = []  # what must work and did not
    unclear: list[str] = []  # an error that is none of ours
    missed: list[str] = []  # points that were not struck: the run made fewer calls this time

    def add(self, other: Found) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def problems(self) -> list[str]:
        return self.lost + self.half + self.refused + self.unclear


# --- the traced process


class ServerGoneError(Exception):
    """The server ended by itself: it made more calls than were spared, and was struck."""


class Traced:
    """A server of writers under strace."""

    def __init__(self, log: Path, options: Sequence[str]) -> None:
        self._log = log
        self._read = 0
        mine, theirs = socket.socketpair()
        mine.settimeout(PATIENCE_S)
        self._socket = mine
        self._lines = mine.makefile("rb")
        command = [sys.executable, "-m", "tests.suites.injected", str(theirs.fileno())]
        self._process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", str(log), *options, *command],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def run(self, order: Order) -> list[Said]:
        """One writer, heard out; its last word is the server's, ``dead``."""
        try:
            self._socket.sendall(msgspec.json.encode(order) + b"\n")
        except ConnectionError as error:
            raise ServerGoneError from error
        heard: list[Said] = []
        while not heard or heard[-1].what != "dead":
            line = self._lines.readline()
            if not line:
                raise ServerGoneError
            heard.append(msgspec.json.decode(line, type=Said))
        return heard

    def new_lines(self) -> list[tuple[int, str]]:
        """What the tracer saw since it was last asked, and of which process."""
        with open(self._log, "rb") as log:
            log.seek(self._read)
            data = log.read()
        self._read += len(data)
        lines = (line.partition(" ") for line in data.decode("utf-8", "replace").splitlines())
        return [(int(pid), rest.lstrip()) for pid, _, rest in lines]

    def close(self) -> None:
        self._lines.close()
        self._socket.close()
        self._process.wait(PATIENCE_S)


@contextmanager
def traced(folder: Path, options: Sequence[str]) -> Iterator[Traced]:
    server = Traced(folder / "log", options)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory where there is one: a fault of a call has nothing to do with a disk."""
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="recollect-", dir=place) as folder:
        yield Path(folder)


def why_not() -> str | None:
    """Why nothing can be struck here; None if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    with scratch() as folder:
        tried = subprocess.run(
            ["strace", "-f", "-qq", "--seccomp-bpf", "-o", str(folder / "log"), "true"],
            stderr=subprocess.PIPE,
            check=False,
        )
    return None if tried.returncode == 0 else f"strace may not trace: {tried.stderr.decode()}"


# --- every point of a run


@cache
def survey(plan: str) -> Survey:
    """A dry run: every call on a file of the workspace that could be struck."""
    with scratch() as folder:
        options = [FILTER, "-y", "-s", "64", "-e", f"trace={','.join(IDLE)},sendto"]
        with traced(folder, options) as server:
            order = Order(where=str(folder / "space"), plan=plan, until=len(PLANS[plan]))
            heard = server.run(order)
            wrong = [said for said in heard if said.what not in ("try", "ack", "dead")]
            assert wrong == [], wrong
            lines = server.new_lines()
    pid = heard[-1].number
    own = Counter(line.partition("(")[0] for who, line in lines if who != pid)
    mine = [line for who, line in lines if who == pid]
    whole = Counter(line.partition("(")[0] for line in mine)
    return Survey(plan, list(points(mine, str(folder))), dict(own), dict(whole))


def points(lines: Iterable[str], where: str) -> Iterator[Point]:
    """The points in a tracer's log; a writer's ``try`` tells to which act they belong."""
    counts: Counter[str] = Counter()
    act = -1
    for line in lines:
        call = line.partition("(")[0]
        if call == "sendto" and '{\\"what\\":\\"try\\"' in line:
            act += 1
        if call not in IDLE:
            continue
        counts[call] += 1
        if where in line:
            yield Point(call, counts[call], max(act, 0), is_of_sqlite(call, line), line[:120])


def is_of_sqlite(call: str, line: str) -> bool:
    """True for what SQLite does; making, syncing, naming a new index is the engine's own."""
    if call in ("fsync", "rename", "link", "linkat"):
        return False
    if call in ("pwrite64", "fdatasync", "ftruncate") and NEW_INDEX.search(line):
        return True
    return INDEX.search(line) is not None


def chunks(seen: Survey, chosen: Iterable[Point], faults: Iterable[Fault]) -> list[Chunk]:
    """Points of one call together, near enough to each other for one tracer.

    So many calls of every process are spared as the server makes itself, or none would start.
    """
    by_call = groupby(sorted(chosen, key=lambda p: (p.call, p.when)), key=lambda p: p.call)
    groups: list[list[Point]] = []
    for _, of_call in by_call:
        groups.append([])
        for point in of_call:
            group = groups[-1]
            full = len(group) == CHUNK_POINTS
            if full or (group and point.when - group[0].when > CHUNK_SPAN):
                groups.append([])
            groups[-1].append(point)
    return [
        Chunk(seen.plan, fault, tuple(group), {last.call: spared(seen, last.call) + last.when})
        for fault in faults
        for group in groups
        for last in group[-1:]
    ]


def mixed(seen: Survey, chosen: Iterable[Point], faults: Iterable[Fault]) -> list[Chunk]:
    """Points of several calls together: better for a few, because every tracer takes time to start.

    Each call is struck at a number that no writer reaches unless it makes empty calls first.
    """
    few = list(chosen)
    groups = [few[first : first + FEW_POINTS] for first in range(0, len(few), FEW_POINTS)]
    when = {call: spared(seen, call) + 2 * count for call, count in seen.all.items()}
    return [
        Chunk(seen.plan, fault, tuple(group), {point.call: when[point.call] for point in group})
        for fault in faults
        for group in groups
    ]


def spared(seen: Survey, call: str) -> int:
    return seen.own.get(call, 0) + MARGIN


# --- striking


def strike(chunk: Chunk) -> Found:
    """Strike every point of a chunk; judge each time. A server that is gone starts again."""
    for _ in range(SERVER_TRIES - 1):
        with suppress(ServerGoneError):
            return _strike(chunk)
    return _strike(chunk)


def _strike(chunk: Chunk) -> Found:
    total = Found()
    options = ["-s", "0", "-e", f"trace={','.join(chunk.when)}"]
    for call, when in chunk.when.items():
        options += ["-e", chunk.fault.injection(call, when)]
    if chunk.fault.what != "KILL":
        options.append(FILTER)
    with scratch() as folder, traced(folder, options) as server:
        for number, point in enumerate(chunk.points):
            where = folder / f"space-{number}"
            order = Order(
                where=str(where),
                plan=chunk.plan,
                until=point.act + 1 + AFTER,
                call=point.call,
                idle=chunk.when[point.call] - point.when,
                control=chunk.control,
            )
            heard = server.run(order)
            deep = chunk.plan == "short" or number % DEEP_EVERY == 0
            found = judge(where, chunk, heard, deep=deep)
            if not was_struck(chunk.fault, heard, server):
                found.missed.append("not struck")
            total.add(named(found, f"{chunk.plan}, {chunk.fault} at {point}"))
            for left in folder.glob(f"{where.name}*"):
                shutil.rmtree(left)
    return total


def was_struck(fault: Fault, heard: list[Said], server: Traced) -> bool:
    dead = heard[-1]
    if fault.what == "KILL":
        return dead.attempt == KILLED
    lines = server.new_lines()
    return any(pid == dead.number and line.endswith("(INJECTED)") for pid, line in lines)


def named(found: Found, name: str) -> Found:
    """The same, each problem with the point it came from."""
    for problems in (found.lost, found.half, found.refused, found.unclear, found.missed):
        problems[:] = [f"{problem} ({name})" for problem in problems]
    return found


# --- judging


def judge(where: Path, chunk: Chunk, heard: list[Said], *, deep: bool) -> Found:
    """Look at what a writer left, and at what it said."""
    plan = PLANS[chunk.plan]
    acks = [said.number for said in heard if said.what == "ack"]
    refusals = [said for said in heard if said.what == "refused"]
    found = Found(runs=1, acknowledged=len(acks))
    found.unclear = [said.text for said in heard if said.what == "unclear"]
    if chunk.fault.what != "KILL" and heard[-1].attempt != 0:
        found.unclear.append(f"the writer ended with {heard[-1].attempt}")
    if not chunk.fault.lasts:  # the fault is over, and the memory was opened anew
        again = [said for said in refusals if said.attempt > 0]
        found.refused = [f"{plan[said.number]} again: {said.text}" for said in again]
    found.healed = int(not refusals and chunk.fault.what != "KILL")
    tried = 1 + max((said.number for said in heard if said.what == "try"), default=-1)
    partly = any(said.what == "partly" for said in heard)
    try:
        with Memory.open(where) as memory:
            memory.remember("the judge writes", id="judge")
            look(memory, plan[:tried], acks, found)
            if deep:
                look_deeper(memory, where, found)
            kept = any(id.startswith("secret-") for id in records_of(memory))
    except RecollectError as error:
        found.refused.append(f"the judge: {type(error).__name__}: {error}")
    else:
        if not kept:
            found.half += [f"erased, but in {path}" for path in holding_secret(where, partly)]
    return found


def look(memory: Memory, done: Sequence[str], acks: list[int], found: Found) -> None:
    """Everything acknowledged is there; whatever was begun is there whole or not at all."""
    there = records_of(memory)
    for episode in memory.sessions.episodes(limit=10_000):
        there[episode.id] = episode.text
    for number, verb in enumerate(done):
        ids = ids_of(verb, number)
        have = [id for id in ids if there.get(id) == text_of(number)]
        if verb in ("batch", "talk") and len(have) not in (0, GROUP):
            found.half.append(f"{verb} {number}: {len(have)} of {GROUP}")
        if number in acks and not holds(memory, verb, number, there, done, acks):
            found.lost.append(f"{verb} {number}")
    check = memory.admin.verify()
    if not check.ok or check.problem is not None:
        found.refused.append(f"verify: {check}")


def look_deeper(memory: Memory, where: Path, found: Found) -> None:
    """The index is what the ledger says, and every finished backup makes a memory."""
    if memory.admin.digest() != rebuilt_digest(memory.admin):
        found.refused.append("a rebuild does not agree with the live index")
    for number, manifest in enumerate(sorted(where.glob("backup/*/manifest.json"))):
        with Store.restore_backup(manifest.parent, f"{where}-judged-{number}") as restored:
            if not restored.admin.verify().ok:
                found.refused.append(f"verify of {manifest.parent.name}: {restored.admin.verify()}")


def holds(
    memory: Memory,
    verb: str,
    number: int,
    there: dict[str, str],
    done: Sequence[str],
    acks: list[int],
) -> bool:
    """True if an acknowledged act can still be seen."""
    if verb == "erase":
        return f"secret-{done.index('secret')}" not in there
    if verb == "secret":
        return f"secret-{number}" in there or "erase" in done
    if verb in ("revise", "forget"):
        versions = memory.history("remember-0")
        if verb == "forget":
            return any(version.what == "forgotten" for version in versions)
        return any(version.record.text == text_of(number) for version in versions)
    if verb == "remember" and number == 0 and "revise" in done:
        return any(v.record.text == text_of(0) for v in memory.history("remember-0"))
    return all(there.get(id) == text_of(number) for id in ids_of(verb, number))


def records_of(memory: Memory) -> dict[str, str]:
    return {r.id: r.text for r in memory.list(include=EVERYTHING, limit=10_000)}


def holding_secret(where: Path, partly: bool) -> list[str]:
    """Files that hold what was erased; where the writer was told so, backups may."""
    names = [path for path in where.rglob("*") if path.is_file()]
    return [
        path.relative_to(where).as_posix()
        for path in names
        if SECRET.encode() in path.read_bytes() and not (partly and path.parent != where)
    ]
