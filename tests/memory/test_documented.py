"""The numbers in the documentation of a call are those that the call checks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from recollect import Memory
from recollect.errors import LimitExceeded

CALLS: dict[str, Callable[[Memory], Callable[..., Any]]] = {
    "list": lambda memory: memory.list,
    "episodes": lambda memory: memory.sessions.episodes,
    "recent": lambda memory: memory.sessions.recent,
    "events": lambda memory: memory.events.list,
    "receipts": lambda memory: memory.proof.receipts.list,
    "documents": lambda memory: memory.settings.documents.list,
    "sessions": lambda memory: memory.sessions.list,
}


def documented(call: Callable[..., Any], argument: str) -> int:
    """The number after "up to" in what a call says of an argument."""
    said = re.search(
        rf"^ *{argument}: .*up to ([\d,]+)\.$", inspect.getdoc(call) or "", re.MULTILINE
    )
    assert said, argument
    return int(said[1].replace(",", ""))


@pytest.mark.parametrize("name", CALLS)
def test_the_limit_of_a_list_is_the_one_that_is_documented(name: str) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        call = CALLS[name](memory)
        most = documented(call, "limit")
        assert call(limit=most) == call()
        with pytest.raises(LimitExceeded):
            call(limit=most + 1)


def test_the_limit_of_a_recall_is_the_one_that_is_documented() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        most = documented(memory.recall, "k")
        memory.recall("tea", k=most)
        with pytest.raises(LimitExceeded):
            memory.recall("tea", k=most + 1)
