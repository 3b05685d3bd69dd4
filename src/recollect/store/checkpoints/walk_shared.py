"""Checking a long ledger in several processes.

Responsible for starting them, for dealing out stretches and for putting the results in order.
Leaves each check to ``ledger.verify`` and what the other processes run to
``store.checkpoints.walk_process``. Invariants: a result counts only for the bytes it was made from
and after the head they claim, so the answer is that of one process; if a process cannot be started,
ends or hangs, this one does its work, and nothing is said about it.

Processes are started as programs, never forked: this one may have threads, and a lock that one of
them holds would stay locked in the child. They import nothing of the program that called.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Final, NamedTuple

from recollect.ledger.stretch import Stretch, stretches
from recollect.ledger.verify import Sound, Walked, sound
from recollect.model.events import Head
from recollect.store.checkpoints.walk_process import ANSWER, QUESTION, Asked

_STRETCH_BYTES: Final = 1 << 21
_AT_ONCE: Final = 2  # stretches that a process has: one to check, and the next
_PATIENCE_MS: Final = 30_000  # a stretch takes a few dozen
_NO_SIGNAL: Final = getattr(socket, "MSG_NOSIGNAL", 0)  # a program may let SIGPIPE end it
_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from recollect.store.checkpoints.walk_process import main; main()"
)


def shared(
    pieces: Iterable[bytes],
    wanted: Collection[int],
    count: int,
    size: int = _STRETCH_BYTES,
    *,
    hashes: bool = False,
) -> Walked:
    """Checks stretches here and in so many other processes; returns them in order."""
    asked = _Wanted(tuple(wanted), hashes)
    others = [other for other in (_started(asked) for _ in range(count)) if other is not None]
    waiting: deque[_Share] = deque()
    try:
        for stretch in stretches(pieces, size):
            share = _Share(stretch, asked)
            waiting.append(share)
            if not any(other.takes(share) for other in others):
                share.check()
            for other in others:
                other.collect()
            while waiting and (waiting[0].is_done or len(waiting) > 4 * _AT_ONCE * (count + 1)):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for other in others:
            other.end()


class _Wanted(NamedTuple):
    """What is to be handed on of every stretch."""

    seqs: tuple[int, ...]
    hashes: bool


class _Share:
    """A stretch, and what was found in it as soon as that is known."""

    def __init__(self, stretch: Stretch, wanted: _Wanted) -> None:
        self.stretch = stretch
        self.by: _Process | None = None  # who was asked
        self.is_done = False
        self._wanted = wanted
        self._found: Sound | None = None

    def check(self) -> None:
        self.answer(sound(self.stretch, *self._wanted))

    def answer(self, found: Sound | None) -> None:
        self._found, self.is_done = found, True

    def result(self) -> tuple[Stretch, Sound | None]:
        """What was found; waits for it."""
        while not self.is_done and self.by is not None:
            self.by.collect(wait=True)
        if not self.is_done:
            self.check()
        return self.stretch, self._found


def _started(wanted: _Wanted) -> _Process | None:
    """Another process; None if the system does not give one."""
    command = [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, *_paths()]
    with ExitStack() as stack, suppress(OSError, RuntimeError):  # no descriptor, process or thread
        ours, theirs = socket.socketpair()
        stack.push(ours)
        with theirs:
            started = subprocess.Popen(  # noqa: S603 - this Python, with paths of its own
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                cwd="/",
            )
        process = _Process(started, ours, wanted)
        stack.pop_all()
        return process
    return None


class _Process:
    """Another process, and what it was asked."""

    def __init__(
        self, process: subprocess.Popen[bytes], ours: socket.socket, wanted: _Wanted
    ) -> None:
        self._process: subprocess.Popen[bytes] | None = process
        self._socket = ours
        self._readable = select.poll()
        self._readable.register(ours, select.POLLIN)
        self._wanted = wanted
        self._asked: deque[_Share] = deque()
        self._questions: SimpleQueue[tuple[Head, bytes] | None] = SimpleQueue()
        # Sends while this process checks stretches of its own, so that the other need not wait.
        self._sending = Thread(target=self._send, daemon=True)
        self._sending.start()

    def takes(self, share: _Share) -> bool:
        """True if it was asked to check this; False if it has enough to do."""
        data, head = share.stretch
        if self._process is None or head is None or len(self._asked) >= _AT_ONCE:
            return False
        share.by = self
        self._asked.append(share)
        self._questions.put((head, data))
        return True

    def collect(self, *, wait: bool = False) -> None:
        """Takes the answers that are there; if asked to, waits for the first."""
        while self._asked and (wait or self._readable.poll(0)):
            answer = ANSWER.read(self._receive)
            if answer is None:
                self.end()
                return
            self._asked.popleft().answer(answer.found)
            wait = False

    def end(self) -> None:
        """Ends the process; nobody waits for what it was asked."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._questions.put(None)
            self._sending.join()
        self._socket.close()
        while self._asked:
            self._asked.popleft().by = None

    def _send(self) -> None:
        with suppress(OSError):  # it has ended
            while question := self._questions.get():
                head, data = question
                asked = QUESTION.framed(Asked(len(data), head, *self._wanted))
                self._socket.sendall(asked, _NO_SIGNAL)
                self._socket.sendall(data, _NO_SIGNAL)

    def _receive(self, count: int) -> bytes:
        """So many bytes, or fewer if the process has ended or hangs."""
        held = bytearray()
        with suppress(OSError):
            while len(held) < count and self._readable.poll(_PATIENCE_MS):
                part = self._socket.recv(count - len(held))
                if not part:
                    break
                held += part
        return bytes(held)


def _paths() -> list[str]:
    """Where this process finds modules; never the current folder, where anyone may put one."""
    own = str(Path(__file__).parents[3])
    return [path for path in dict.fromkeys([own, *sys.path]) if os.path.isabs(path)]
