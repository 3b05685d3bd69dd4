"""Every public call is known to read, to take a key and an expectation, or to need neither."""

from __future__ import annotations

import inspect

import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.memory.branches import Branches
from recollect.memory.documents import Documents
from recollect.memory.frames import Frames
from recollect.memory.pages import Pages
from recollect.memory.receipts import Receipts
from recollect.memory.review import Review
from recollect.memory.rules import Rules
from recollect.memory.sessions import Sessions
from tests.memory_suites.records.writes import PASSES, WRITES

GROUPS = {
    "": Memory,
    "branches.": Branches,
    "documents.": Documents,
    "frames.": Frames,
    "pages.": Pages,
    "receipts.": Receipts,
    "review.": Review,
    "rules.": Rules,
    "sessions.": Sessions,
}
READS = set(
    """
    at audit backup check check_certificate close digest doctor embed episodes erasures event events
    export flush get graph history keyed list neighbours on overview path prove rebuild recall
    recall_many recent replay retention scoped status subjects verify why why_not
    branches.diff branches.list branches.show documents.get documents.list frames.get frames.list
    frames.since pages.changes pages.limits pages.list pages.read pages.render pages.status
    receipts.get receipts.list review.list review.show rules.due rules.get rules.list
    sessions.active sessions.list
    """.split()
)


def calls(groups: dict[str, type]) -> dict[str, set[str]]:
    """The names of the arguments of each public call."""
    return {
        prefix + name: set(inspect.signature(call).parameters)
        for prefix, group in groups.items()
        for name, call in inspect.getmembers(group, inspect.isfunction)
        if not name.startswith("_")
    }


def test_every_write_takes_a_key_and_an_expectation() -> None:
    found = calls(GROUPS)
    both = {name for name, given in found.items() if {"idempotency_key", "expect"} <= given}
    assert both == set(WRITES)
    assert set(found) - both == READS | set(PASSES)


def test_control_a_new_call_is_noticed() -> None:
    class More(Memory):
        def invent(self) -> None: ...

    assert set(calls({**GROUPS, "": More})) - set(WRITES) - READS - set(PASSES) == {"invent"}


def test_a_curation_with_a_key_is_one_command() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("Likes tea")
        with pytest.raises(InvalidInput, match="at most"):
            memory.curate(limit=1_001, idempotency_key="once")
        with pytest.raises(InvalidInput, match="at most"):
            memory.curate(limit=1_001, expect=memory.position)
        assert memory.curate(limit=1_001).records == ()
