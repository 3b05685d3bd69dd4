"""What ``store.checkpoints.walk_shared`` runs in other processes: checks one stretch after the
other.

Responsible for the messages between the two, over one socket. Leaves the check to
``ledger.verify``. Invariants: it opens no file and keeps nothing; it ends when the socket does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from recollect.ledger.stretch import Stretch
from recollect.ledger.verify import Sound, sound
from recollect.model.events import Head

M = TypeVar("M")
_LENGTH_BYTES: Final = 8


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A stretch to check; its bytes follow."""

    size: int
    head: Head
    wanted: tuple[int, ...]
    hashes: bool


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """What was found in it."""

    found: Sound | None


class Form(Generic[M]):
    """The bytes of a kind of message: its length, then itself."""

    def __init__(self, kind: type[M]) -> None:
        self._decode = msgspec.msgpack.Decoder(kind).decode

    def framed(self, message: M) -> bytes:
        """A message with its length."""
        data = msgspec.msgpack.encode(message)
        return len(data).to_bytes(_LENGTH_BYTES, "big") + data

    def read(self, receive: Callable[[int], bytes]) -> M | None:
        """The next message; None if the other side ended, or does not send one."""
        size = receive(_LENGTH_BYTES)
        data = receive(int.from_bytes(size, "big")) if len(size) == _LENGTH_BYTES else b""
        try:
            return self._decode(data)
        except msgspec.DecodeError:
            return None


QUESTION: Final = Form(Asked)
ANSWER: Final = Form(Answered)


def main() -> None:
    """Answers until there is nothing more to read."""
    with os.fdopen(0, "rb") as questions, os.fdopen(1, "wb") as answers:
        while asked := QUESTION.read(questions.read):
            data = questions.read(asked.size)
            if len(data) < asked.size:
                return
            found = sound(Stretch(data, asked.head), asked.wanted, asked.hashes)
            answers.write(ANSWER.framed(Answered(found)))
            answers.flush()
