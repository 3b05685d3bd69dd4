"""The server over stdio: one message on each line, without the SDK.

Responsible for lines, threads and the end of the input. Leaves what a message means to
``protocol`` and calls to ``calls``. Invariants: nothing but the standard library is loaded before
the client has its list of tools; a line of any content or length leaves the server running; nothing
but answers reaches the client, whatever a library prints.

Most clients ask for the list of tools at once and do not wait for it. So the engine is loaded
after it was told, while the client waits for its model.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, Final

from recollect.interfaces.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Id,
    Message,
    Refused,
    read,
    written,
)
from recollect.interfaces.mcp.protocol import Call, Conversation

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from recollect.assistants.mounts import Mounts
    from recollect.interfaces.mcp.calls import Answers

LINE_MAX_BYTES: Final = 16_777_216
_THREADS_MAX_COUNT: Final = 8  # as many as a space has readers
_WAITING_MAX_COUNT: Final = 256  # calls; then no further line is read
_SKIPPED_AT_ONCE: Final = 65_536
_WAITING: Final = (
    "Waiting for an MCP client on stdin; `recollect mcp install` adds it to one. Ctrl-C ends.\n"
)


def serve(opening: Callable[[], Mounts], tools: str) -> None:
    """Answers one client until it closes its end; then the process ends."""
    # Waiting for a line cannot be interrupted, and no cleanup is needed: acknowledged writes are
    # on the disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    engine = Engine(opening, tools)
    if os.isatty(0):
        sys.stderr.write(_WAITING)
        engine.start()
    incoming, outgoing = _wire()
    Connection(Conversation(tools), engine, outgoing).run(incoming)
    engine.close()
    sys.stderr.flush()
    os._exit(0)  # the engine may still be loading, and nobody waits for it


def _wire() -> tuple[BinaryIO, BinaryIO]:
    """The two ends of the connection; what else is printed in this process goes to stderr."""
    for number in (0, 1, 2):  # those that a shell has closed
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb")


class Engine:
    """What answers calls. It is loaded once, in the background or for the first call."""

    def __init__(self, opening: Callable[[], Mounts], tools: str) -> None:
        self._opening = opening
        self._tools = tools
        self._loading = threading.Lock()
        self._is_started = False
        self._answers: Answers | None = None

    def start(self) -> None:
        """Begins to load; later calls do nothing."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self.answers, daemon=True).start()

    def answers(self) -> Answers:
        """What answers calls; waits until it is loaded and ready for the first question."""
        with self._loading:
            if self._answers is None:
                import concurrent.futures.thread  # noqa: F401 - the first call needs it

                from recollect.interfaces.mcp.calls import Answers

                answers = Answers(self._opening, self._tools)
                answers.prepare()
                self._answers = answers
            return self._answers

    def close(self) -> None:
        """Closes what is open; what is only being loaded is left."""
        if self._answers is not None:
            self._answers.close()


class Connection:
    """The messages of one client and the answers to them."""

    def __init__(self, conversation: Conversation, engine: Engine, outgoing: BinaryIO) -> None:
        self._conversation = conversation
        self._engine = engine
        self._outgoing = outgoing
        self._writing = threading.Lock()
        self._is_gone = False  # nobody reads the answers any more
        self._pool: ThreadPoolExecutor | None = None
        self._room = threading.BoundedSemaphore(_WAITING_MAX_COUNT)
        self._calls: dict[str, _Waiting] = {}  # that have no answer yet

    def run(self, lines: BinaryIO) -> None:
        """Answers every line; returns when the input has ended and each call is finished."""
        while not self._is_gone and (line := lines.readline(LINE_MAX_BYTES + 1)):
            try:
                if len(line) > LINE_MAX_BYTES and not line.endswith(b"\n"):
                    _skip_rest(lines)
                    raise Refused(INVALID_REQUEST, f"a line has over {LINE_MAX_BYTES} bytes")
                message = None if line.isspace() else read(line)
            except Refused as error:
                self._write(written(error.id, error=error.to_dict()))
                continue
            if message is not None:
                self._take(message)
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=self._is_gone)

    def _take(self, message: Message) -> None:
        """Answers one message, or begins to."""
        id, method, params = message
        if id is None:
            self._conversation.notice(method)
            if method == "notifications/cancelled":
                self._cancel(params.get("requestId"))
            return
        try:
            told = self._conversation.answer(method, params)
        except Refused as error:
            self._write(written(id, error=error.to_dict()))
            return
        if isinstance(told, Call):
            self._begin(id, told)
            return
        self._write(written(id, result=self._conversation.whole(method, told)))
        if method == "tools/list":
            self._engine.start()

    def _cancel(self, id: object) -> None:
        """No answer is sent to a call that is taken back; one that did not begin is not done."""
        waiting = self._calls.get(str(id))
        if waiting is not None:
            waiting.is_cancelled = True

    def _begin(self, id: Id, call: Call) -> None:
        """Hands a call to a thread."""
        from concurrent.futures import ThreadPoolExecutor

        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS_MAX_COUNT)
        self._room.acquire()
        waiting = self._calls[str(id)] = _Waiting(id, call)
        self._pool.submit(self._finish, waiting)

    def _finish(self, waiting: _Waiting) -> None:
        """Does the work of a call. One that began is finished, so that no write is half done."""
        call, id = waiting.call, waiting.id
        try:
            if waiting.is_cancelled:
                return
            result = self._engine.answers().to(call)
            answer = written(id, result=self._conversation.whole(call.method, result))
        except Refused as error:
            answer = written(id, error=error.to_dict())
        except Exception as error:  # noqa: BLE001 - the caller gets an answer and the server keeps running
            told = Refused(INTERNAL_ERROR, f"internal error: {type(error).__name__}")
            answer = written(id, error=told.to_dict())
        finally:
            self._room.release()
            if self._calls.get(str(id)) is waiting:
                del self._calls[str(id)]
        if not waiting.is_cancelled:
            self._write(answer)

    def _write(self, line: bytes) -> None:
        """Writes one line, whole."""
        with self._writing:
            try:
                if not self._is_gone:
                    self._outgoing.write(line)
                    self._outgoing.flush()
            except OSError:
                self._is_gone = True


class _Waiting:
    """A call without an answer."""

    def __init__(self, id: Id, call: Call) -> None:
        self.id = id
        self.call = call
        self.is_cancelled = False


def _skip_rest(lines: BinaryIO) -> None:
    """Reads to the end of a line without keeping it."""
    while (piece := lines.readline(_SKIPPED_AT_ONCE)) and not piece.endswith(b"\n"):
        pass
