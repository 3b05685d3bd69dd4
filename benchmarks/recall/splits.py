"""Which questions may be learned from, and a lock on the others.

Responsible for the parts (dev and test) and for what each reader may know of a question. Leaves
reading files to ``sets``. Invariant: the gold of a test question never leaves it, only marks do;
while something is fitted, its id and its text do not leave it either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal

from benchmarks.recall.metrics import Marks, inside, marks

Part = Literal["dev", "test"]

LOCOMO_DEV: Final = range(1, 4)  # conversations
BEAM_DEV: Final = range(1, 7)  # chats
_LONGMEMEVAL_FOLDS: Final = 5  # the first of them is dev

_FITTING: ContextVar[bool] = ContextVar("fitting", default=False)


class Leak(Exception):
    """Something asked for what it must not know."""


def of_longmemeval(question_id: str) -> Part:
    """The part of a LongMemEval question, for the sets A and D alike."""
    number = int(hashlib.sha256(question_id.encode()).hexdigest(), 16)
    return "dev" if number % _LONGMEMEVAL_FOLDS == 0 else "test"


def of_locomo(conversation: int) -> Part:
    """The part of a LoCoMo conversation, counted from one."""
    return "dev" if conversation in LOCOMO_DEV else "test"


def of_beam(chat: int) -> Part:
    """The part of a BEAM chat, counted from one."""
    return "dev" if chat in BEAM_DEV else "test"


class Question:
    """What is asked of a haystack, and, locked away, what should be found in it."""

    __slots__ = ("_gold", "_id", "_text", "asked_at", "category", "haystack", "part")

    def __init__(
        self,
        id: str,
        text: str,
        gold: Collection[str],
        *,
        category: str,
        haystack: str,
        part: Part,
        asked_at: str | None = None,
    ) -> None:
        if not gold:
            raise ValueError(f"{id} has no gold")
        self._id = id
        self._text = text
        self._gold = frozenset(gold)
        self.category = category
        self.haystack = haystack
        self.part = part
        self.asked_at = asked_at

    @property
    def id(self) -> str:
        """Its name; not to be read from the test part while something is fitted."""
        self._refuse_while_fitting()
        return self._id

    @property
    def text(self) -> str:
        """What is asked; not to be read from the test part while something is fitted."""
        self._refuse_while_fitting()
        return self._text

    @property
    def gold(self) -> frozenset[str]:
        """What should be found: for questions of the dev part only."""
        if self.part != "dev":
            raise Leak("the gold of a test question is for its own marks only")
        return self._gold

    def judge(self, ranked: Sequence[str]) -> Marks:
        """The marks of a ranking, which is all that callers learn about the gold."""
        self._refuse_while_fitting()
        return marks(ranked, self._gold)

    def judge_context(self, packed: Sequence[str]) -> Marks:
        """The same for what a context packed, in any order."""
        self._refuse_while_fitting()
        return inside(packed, self._gold)

    def _refuse_while_fitting(self) -> None:
        if self.part != "dev" and _FITTING.get():
            raise Leak("a test question was read while fitting")


@contextmanager
def fitting() -> Iterator[None]:
    """Inside, questions of the test part refuse to be read."""
    token = _FITTING.set(True)
    try:
        yield
    finally:
        _FITTING.reset(token)


def dev(questions: Iterable[Question]) -> Iterator[Question]:
    """Those that may be learned from."""
    return (question for question in questions if question.part == "dev")
