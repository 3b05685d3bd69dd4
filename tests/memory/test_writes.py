"""Every public call is known to read, to take a key and an expectation, or to need neither."""

from __future__ import annotations

import inspect

import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.memory.admin import Admin
from recollect.memory.branches import Branches
from recollect.memory.contexts.presets import Presets
from recollect.memory.contexts.receipts import Receipts
from recollect.memory.documents import Documents
from recollect.memory.events import Events
from recollect.memory.graph.links import Links
from recollect.memory.pages.pages import Pages
from recollect.memory.proof.proofs import Proofs
from recollect.memory.review import Review
from recollect.memory.rules.rules import Rules
from recollect.memory.sessions import Sessions
from recollect.memory.settings import MemorySettings
from tests.memory_suites.records.writes import PASSES, WRITES

GROUPS = {
    "": Memory,
    "admin.": Admin,
    "branches.": Branches,
    "events.": Events,
    "graph.": Links,
    "pages.": Pages,
    "proof.": Proofs,
    "proof.receipts.": Receipts,
    "review.": Review,
    "sessions.": Sessions,
    "settings.": MemorySettings,
    "settings.documents.": Documents,
    "settings.presets.": Presets,
    "settings.rules.": Rules,
}
READS = set(
    """
    at close get history list on recall replay scoped status why
    admin.backup admin.check admin.digest admin.doctor admin.embed admin.export admin.flush
    admin.rebuild admin.verify admin.why_not
    branches.diff branches.list branches.show
    events.get events.list events.tail events.wait
    graph.list graph.neighbours graph.path
    pages.changes pages.limits pages.list pages.read pages.render pages.status
    proof.audit proof.check_certificate proof.erasures proof.prove
    proof.receipts.get proof.receipts.list
    review.list review.show
    sessions.active sessions.episodes sessions.list sessions.overview sessions.recent
    settings.retention settings.subjects
    settings.documents.get settings.documents.list
    settings.presets.get settings.presets.list settings.presets.since
    settings.rules.due settings.rules.get settings.rules.list
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
    assert both == {name.partition(":")[0] for name in WRITES}  # some have several uses
    assert set(found) - both == READS | set(PASSES)


def test_control_a_new_call_is_noticed() -> None:
    class More(Memory):
        def invent(self) -> None: ...

    assert set(calls({**GROUPS, "": More})) - set(WRITES) - READS - set(PASSES) == {"invent"}


def test_a_curation_with_a_key_is_one_command() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("Likes tea")
        with pytest.raises(InvalidInput, match="at most"):
            memory.admin.archive(limit=1_001, idempotency_key="once")
        with pytest.raises(InvalidInput, match="at most"):
            memory.admin.archive(limit=1_001, expect=memory.events.position)
        assert memory.admin.archive(limit=1_001).records == ()
