"""``python -m benchmarks.peers``: other memories that run offline, doing the same work as ours.

Responsible for an environment for each package, for the same sentences and questions in all of
them, and for a small file with the result. It is not part of the tests, because it installs
packages. Invariant: only public calls are made, only settings named here are changed, and a package
that cannot be measured is listed with the reason.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import msgspec

from benchmarks.sentences import endless, sentences, vocabulary

RECORDS: Final = (100, 1_000, 2_500)
_BLOCK: Final = 50
_QUESTIONS: Final = 10
_SETUP_S: Final = 600
_PATIENCE_S: Final = 150  # for one package; the sizes it has not reached then stay empty


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One package: writes a second on the way to each size, and one recall there."""

    name: str
    version: str = ""
    note: str = ""
    reason: str = ""  # why it was not measured
    writes_per_s: tuple[float, ...] = ()
    recall_us: tuple[float, ...] = ()


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, in one run."""

    date: str
    machine: dict[str, str | int]
    records: tuple[int, ...]
    peers: tuple[Result, ...]


class Peer(NamedTuple):
    """How a package is installed and called; the code defines ``write`` and ``recall``."""

    name: str
    package: str
    code: str
    note: str = ""


_OURS: Final = Peer(
    "Recollect",
    "",
    """
from recollect import Memory
memory = Memory.open(folder)
def write(text): memory.remember(text)
def recall(question): return memory.recall(question, k=10).hits
""",
    "ledger and index, one fsync for each write",
)
PEERS: Final = (
    Peer(
        "inspeximus",
        "inspeximus",
        """
from inspeximus import Inspeximus
memory = Inspeximus(folder + "/memory.json")
def write(text): memory.remember(text)
def recall(question): return memory.recall(question)
""",
    ),
    Peer(
        "homestead",
        "homestead-memory",
        """
import itertools
from homestead_memory import connect
memory = connect(folder, agent="bench")
number = itertools.count()
def write(text): memory.remember("user", f"fact_{next(number)}", text)
def recall(question): return memory.search(question, k=10)
""",
        "all facts in one note",
    ),
    Peer(
        "LangGraph store",
        "langgraph-checkpoint-sqlite",
        """
import itertools
from langgraph.store.sqlite import SqliteStore
opened = SqliteStore.from_conn_string(folder + "/store.db")
memory = opened.__enter__()
memory.setup()
number = itertools.count()
def write(text): memory.put(("user",), str(next(number)), {"text": text})
def recall(question): return memory.search(("user",), query=question, limit=10)
""",
        "its search is a listing: without an embedding model it ignores the words",
    ),
)

# In the package's own environment: a line of JSON with work in, a line of JSON with seconds out.
_LOOP: Final = """
import json, sys, time
folder = sys.argv[1]
answers = sys.stdout
sys.stdout = sys.stderr
{code}
for line in sys.stdin:
    verb, items = json.loads(line)
    times = []
    for item in items:
        started = time.perf_counter()
        (write if verb == "write" else recall)(item)
        times.append(time.perf_counter() - started)
    print(json.dumps(times), file=answers, flush=True)
"""


class Running:
    """A package at work in a separate process."""

    def __init__(self, peer: Peer, python: Path | str, folder: Path) -> None:
        self.peer = peer
        store = folder / "store"
        store.mkdir(parents=True)
        self._errors = (folder / "errors.txt").open("w+")
        self._process = subprocess.Popen(
            [str(python), "-c", _LOOP.format(code=peer.code), str(store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def do(self, verb: str, items: Sequence[str]) -> list[float]:
        """The seconds that each item took; an error if the package gave up."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("both are pipes")
        try:
            self._process.stdin.write(msgspec.json.encode([verb, items]).decode() + "\n")
            self._process.stdin.flush()
            return msgspec.json.decode(self._process.stdout.readline(), type=list[float])
        except (OSError, msgspec.DecodeError):
            raise RuntimeError(self._last_words()) from None

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else "it ended without a message"

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.terminate()
        self._process.wait(timeout=30)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()


def install(peer: Peer, folder: Path) -> Path:
    """An environment with nothing but this package; its Python."""
    python = folder / "bin" / "python"
    uv = shutil.which("uv")
    make = [uv, "venv", "--quiet", str(folder)] if uv else [sys.executable, "-m", "venv", folder]
    pip = [python, "-m", "pip", "install", "--quiet", peer.package]
    add = [uv, "pip", "install", "--quiet", "--python", python, peer.package] if uv else pip
    for command in (make, add):
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=_SETUP_S,
            check=False,
        )
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise RuntimeError(f"it could not be installed: {lines[-1] if lines else '?'}")
    return python


def version_of(python: Path | str, package: str) -> str:
    """Which release an environment holds."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def questions(count: int) -> list[str]:
    """Three words of middling frequency each."""
    words = vocabulary()[100:1_000]
    return [" ".join(words[(7 * n + 31 * m) % len(words)] for m in range(3)) for n in range(count)]


class _Taken:
    """What one package has shown so far."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.spent_s = 0.0
        self.reason = ""
        self.writes_per_s: list[float] = []
        self.recall_us: list[float] = []

    def do(self, verb: str, items: Sequence[str]) -> list[float]:
        """The seconds of each; nothing from a package that failed or ran out of time."""
        if self.reason or self.spent_s > _PATIENCE_S:
            return []
        try:
            times = self.running.do(verb, items)
        except RuntimeError as error:
            self.reason = f"{verb} failed: {error}"
            return []
        self.spent_s += sum(times)
        return times

    def result(self) -> Result:
        name = self.running.peer.name
        if self.reason:
            return Result(name=name, reason=self.reason)
        return Result(
            name=name, writes_per_s=tuple(self.writes_per_s), recall_us=tuple(self.recall_us)
        )


def compare(running: Sequence[Running], records: Sequence[int]) -> dict[str, Result]:
    """Blocks of writes in turns up to each size, then questions; who fails is left out."""
    texts = endless(3)
    written = 0
    taken = [_Taken(each) for each in running]
    for size in records:
        seconds: list[list[float]] = [[] for _ in taken]
        while written < size:
            block = [next(texts) for _ in range(min(_BLOCK, size - written))]
            written += len(block)
            for each, times in zip(taken, seconds, strict=True):
                times.extend(each.do("write", block))
        for each, times in zip(taken, seconds, strict=True):
            recalls = each.do("recall", questions(_QUESTIONS))
            if recalls:
                each.recall_us.append(round(median(recalls) * 1e6, 1))
                each.writes_per_s.append(round(1 / median(times), 2))
    return {each.running.peer.name: each.result() for each in taken}


def run(folder: Path, peers: Sequence[Peer], records: Sequence[int]) -> Comparison:
    """Installs, measures and takes everything down again."""
    from benchmarks.machine import machine

    running: list[Running] = []
    found: dict[str, Result] = {}
    versions: dict[str, str] = {}
    try:
        for peer in (_OURS, *peers):
            place = folder / peer.name.replace(" ", "-").lower()
            try:
                python = install(peer, place / "env") if peer.package else Path(sys.executable)
                versions[peer.name] = version_of(python, peer.package or "recollect")
                each = Running(peer, python, place)
                running.append(each)
                each.do("write", sentences(1, seed=4))
                each.do("recall", questions(1))
            except (RuntimeError, subprocess.SubprocessError) as error:
                found[peer.name] = Result(name=peer.name, reason=str(error))
        able = [each for each in running if each.peer.name not in found]
        found |= compare(able, records)
    finally:
        for each in running:
            each.close()
    return Comparison(
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        machine=machine(folder),
        records=tuple(records),
        peers=tuple(
            msgspec.structs.replace(
                found[peer.name], version=versions.get(peer.name, ""), note=peer.note
            )
            for peer in (_OURS, *peers)
        ),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="Install other memories, each in its own environment, and measure them.",
    )
    parser.add_argument("--out", type=Path, help="write the result to this file")
    parser.add_argument("--dir", type=Path, help="measure on the disk of this folder")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="recollect-peers-", dir=chosen.dir) as folder:
        found = run(Path(folder), PEERS, RECORDS)
    text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
    if chosen.out is not None:
        chosen.out.write_text(text + "\n", "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
