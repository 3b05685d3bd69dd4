"""The writing process whose system calls are made to fail, and what it is to do.

`python -m tests.suites.injected FD` runs under a tracer and forks a writer for each order that
comes in on the socket FD. The tracer strikes every process at its own call number N; a writer whose
turn is earlier makes so many empty calls first (``IDLE``), so that one tracer serves many points.
Everything is said with ``send``, which is never struck. Invariant: ``ack`` is said only after the
call came back.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress

import msgspec

from recollect import Memory, Store
from recollect.errors import NotFound, RecollectError
from recollect.store.files.ledger.active import ActiveFile

GROUP = 3  # records of a batch, messages of a conversation
KEYS = 3
SECRET = "quillwort"  # erased in the short run, so no file may hold it afterwards
TRIES = 2
NOWHERE = 999  # a descriptor that is not open

LONG = ("remember", "keyed", "remember", "batch", "talk") * 100
SHORT = (
    *("remember", "batch", "keyed", "secret", "talk", "keyed", "revise", "backup", "reopen"),
    *("remember", "seal", "forget", "verify", "doctor", "read", "erase", "remember", "batch"),
    *("rebuild", "read", "seal", "backup", "restore", "keyed", "talk", "reopen", "remember"),
)
PLANS = {"long": LONG, "short": SHORT}


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer is to do."""

    where: str
    plan: str
    until: int  # how many acts of the plan
    call: str = ""  # the call that is struck
    idle: int = 0  # how many such calls are made for nothing before the first act
    control: str = ""  # how the writer is dishonest: careless or apart


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a writer says; ``what`` is try, ack, partly, refused, unclear or dead."""

    what: str
    number: int = 0
    attempt: int = 0
    text: str = ""


# --- the verbs: each leaves the same traces whenever it is done; a new one is a line in VERBS


def text_of(number: int) -> str:
    return f"act {number} leaves these words behind"


def ids_of(verb: str, number: int) -> list[str]:
    """The records or episodes that an act makes."""
    if verb in ("batch", "talk"):
        return [f"{verb}-{number}-{part}" for part in range(GROUP)]
    return [f"{verb}-{number}"] if verb in ("remember", "keyed", "secret") else []


class Writer:
    """Does the acts of a plan, one after the other."""

    def __init__(self, order: Order, say: Callable[[Said], None]) -> None:
        self._order = order
        self._plan = PLANS[order.plan]
        self._say = say
        self._memory = Memory.open(order.where)
        self._attempt = 0
        self._partly = False
        self._copy = ""  # the last backup

    def run(self) -> None:
        for number in range(min(self._order.until, len(self._plan))):
            self._say(Said(what="try", number=number))
            for self._attempt in range(TRIES):
                if self._done(number):
                    break
                self.reopen(number)
        self._memory.close()

    def _done(self, number: int) -> bool:
        """Do an act and say what came of it; false if it was refused."""
        try:
            VERBS[self._plan[number]](self, number)
        except RecollectError as error:
            text = f"{error.code}: {error}"
            said = Said(what="refused", number=number, attempt=self._attempt, text=text)
            self._say(said)
            return False
        self._say(Said(what="partly" if self._partly else "ack", number=number))
        self._partly = False
        return True

    def remember(self, number: int) -> None:
        id = f"remember-{number}"
        self._memory.remember(text_of(number), id=id, idempotency_key=f"command-{number}")

    def keyed(self, number: int) -> None:
        id, key = f"keyed-{number}", f"key-{number % KEYS}"
        self._memory.remember(text_of(number), id=id, key=key, idempotency_key=f"command-{number}")

    def secret(self, number: int) -> None:
        self._memory.remember(f"{SECRET} {number}", id=f"secret-{number}")

    def batch(self, number: int) -> None:
        if self._order.control == "apart":  # the control: its records happen one by one
            for id in ids_of("batch", number):
                self._memory.remember(text_of(number), id=id)
            return
        with self._memory.batch(idempotency_key=f"command-{number}") as batch:
            for id in ids_of("batch", number):
                batch.remember(text_of(number), id=id)

    def talk(self, number: int) -> None:
        messages = [
            {"role": "user", "content": text_of(number), "id": id} for id in ids_of("talk", number)
        ]
        self._memory.observe(messages, idempotency_key=f"command-{number}")

    def revise(self, number: int) -> None:
        self._memory.revise("remember-0", text_of(number), idempotency_key=f"command-{number}")

    def forget(self, number: int) -> None:
        self._memory.forget("remember-0", idempotency_key=f"command-{number}")

    def erase(self, _: int) -> None:
        secret = f"secret-{self._plan.index('secret')}"
        try:
            places = self._memory.erase(secret).places
        except NotFound:
            if self._attempt == 0:
                raise
            self._partly = True  # the first attempt did it, but nobody heard of the places
        else:
            self._partly = any(place.startswith("NOT") for place in places)

    def backup(self, _: int) -> None:
        self._copy = self._memory.admin.backup().path

    def restore(self, number: int) -> None:
        target = f"{self._order.where}-restored-{self._attempt}"
        with Store.restore_backup(self._copy, target) as restored:
            restored.remember(text_of(number))

    def seal(self, _: int) -> None:
        self._memory.admin.seal()

    def rebuild(self, _: int) -> None:
        self._memory.admin.rebuild()

    def verify(self, _: int) -> None:
        assert self._memory.admin.verify().ok

    def doctor(self, _: int) -> None:
        self._memory.admin.doctor()

    def read(self, _: int) -> None:
        self._memory.recall("words left behind")
        self._memory.list()
        self._memory.admin.digest()

    def reopen(self, _: int) -> None:
        self._memory.close()
        self._memory = Memory.open(self._order.where)


VERBS: dict[str, Callable[[Writer, int], None]] = {
    "remember": Writer.remember,
    "keyed": Writer.keyed,
    "secret": Writer.secret,
    "batch": Writer.batch,
    "talk": Writer.talk,
    "revise": Writer.revise,
    "forget": Writer.forget,
    "erase": Writer.erase,
    "backup": Writer.backup,
    "restore": Writer.restore,
    "seal": Writer.seal,
    "rebuild": Writer.rebuild,
    "verify": Writer.verify,
    "doctor": Writer.doctor,
    "read": Writer.read,
    "reopen": Writer.reopen,
}

# --- calls that do nothing but count

IDLE: dict[str, Callable[[], object]] = {
    "write": lambda: os.write(NOWHERE, b""),
    "pwrite64": lambda: os.pwrite(NOWHERE, b"", 0),
    "fsync": lambda: os.fsync(NOWHERE),
    "fdatasync": lambda: os.fdatasync(NOWHERE),
    "ftruncate": lambda: os.ftruncate(NOWHERE, 0),
    "openat": lambda: os.open("", os.O_RDONLY),
    "rename": lambda: os.rename("", ""),
    "link": lambda: os.link("", ""),
    "linkat": lambda: os.link("", "", follow_symlinks=False),
    "unlink": lambda: os.unlink(""),
    "mkdir": lambda: os.mkdir(""),
}


def idle(order: Order) -> None:
    for _ in range(order.idle):
        with suppress(OSError):
            IDLE[order.call]()


# --- the process


def be_careless() -> None:
    """The control: what the disk answers to an append is ignored."""
    append = ActiveFile.append

    def ignore(self: ActiveFile, data: bytes, offset: int) -> None:
        with suppress(OSError):
            append(self, data, offset)

    ActiveFile.append = ignore  # type: ignore[method-assign]


def write(order: Order, channel: socket.socket) -> None:
    """What a forked writer does until it ends."""

    def say(said: Said) -> None:
        channel.send(msgspec.json.encode(said) + b"\n")

    try:
        if order.control == "careless":
            be_careless()
        idle(order)
        Writer(order, say).run()
    except BaseException as error:  # noqa: BLE001  # the test has to hear of every kind
        say(Said(what="unclear", text=f"{type(error).__name__}: {error}"))


def warm_up() -> None:
    """Load what is loaded on first use: a module's file is not what is to be struck."""
    with tempfile.TemporaryDirectory() as folder:
        order = Order(where=f"{folder}/warm", plan="short", until=len(SHORT))
        Writer(order, lambda said: None).run()
        with suppress(RecollectError), Memory.open(f"{folder}/warm") as memory:
            memory.get("nothing")
    gc.collect()
    gc.freeze()  # what is shared with the writers stays shared


def serve(channel: socket.socket) -> None:
    """Fork a writer for each order; say how it ended before taking the next."""
    warm_up()
    for line in channel.makefile("rb"):
        pid = os.fork()
        if pid == 0:
            write(msgspec.json.decode(line, type=Order), channel)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said = Said(what="dead", number=pid, attempt=status)
        channel.send(msgspec.json.encode(said) + b"\n")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
