"""Every public call of a memory, and every tool, takes as long as its input: the table's suite."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from recollect import Memory
from recollect.interfaces.mcp.calls import TOOLS
from recollect.memory.admin import Admin
from recollect.memory.batch import Batch
from recollect.memory.contexts.presets import Presets
from recollect.memory.contexts.receipts import Receipts
from recollect.memory.events import Events
from recollect.memory.graph.links import Links
from recollect.memory.pages.pages import Pages
from recollect.memory.proof.proofs import Proofs
from recollect.memory.sessions import Sessions
from recollect.memory.settings import MemorySettings
from tests.suites.growing import CASES, Case, each, everything
from tests.suites.growing_tools import TOOL_CASES
from tests.suites.growth import FLAT, GROWTH_MAX_RATIO, TWICE, Call, growth, noticed

# Calls in the table that are not among the names of ``Memory`` and its listed doors.
BESIDE = {"capture", "restore_backup", "review.confirm", "settings.rules.run"}
# Calls whose input cannot grow, and why.
SMALL = {
    "admin": "gives an object; its methods are listed",
    "admin.accept_loss": "takes a reason, which has a limit, and appends one event",
    "admin.embed": "needs an embedder; each text is encoded once, in pieces of a fixed length",
    "branches": "gives an object; each of its calls reads or writes one branch, or lists a page",
    "close": "takes nothing; lets go of files",
    "events": "gives an object; its methods are listed",
    "events.tail": "gives what ``events.list`` lists, page by page",
    "events.wait": "asks for a position again and again",
    "graph": "gives an object; its methods are listed",
    "on": "reads one branch by its name",
    "pages": "gives an object; its methods are listed",
    "events.position": "a number that the space holds",
    "proof": "gives an object; its methods are listed",
    "proof.audit": "a page of events, with what each entry names, which has a limit",
    "proof.check_certificate": "reads the whole ledger, as verify does",
    "proof.checkpoint": "needs a key in the home folder; reads each event since the last one once",
    "proof.prove": "needs a key in the home folder; test_proofs.py measures it to a million events",
    "proof.receipts": "gives an object; its methods are listed",
    "review": "gives an object; each of its calls reads or writes one proposal, or lists a page",
    "scope": "three words that the handle holds",
    "scoped": "takes names, which have a limit, and reads nothing",
    "sessions": "gives an object; its methods are listed",
    "settings": "gives an object; its methods are listed",
    "settings.documents": "gives an object; each call reads or writes one document, or lists them",
    "settings.presets": "gives an object; its methods are listed",
    "settings.retention": "a number from one document",
    "settings.rules": "gives an object; each call reads or writes one rule, or lists them",
    "settings.set_retention": "sets one document to a number",
    "settings.set_subjects": "sets one document to a word",
    "settings.subjects": "a word from one document",
    "where": "a place that the handle holds",
}
DOORS: dict[str, type[object]] = {
    "admin.": Admin,
    "events.": Events,
    "graph.": Links,
    "pages.": Pages,
    "proof.": Proofs,
    "proof.receipts.": Receipts,
    "sessions.": Sessions,
    "settings.": MemorySettings,
    "settings.presets.": Presets,
}


@pytest.fixture
def prepare(tmp_path: Path) -> Iterator[Callable[[Case], Callable[[int], Call]]]:
    """Makes the input of a case, each time in a new memory."""
    with ExitStack() as stack:
        folders = (tmp_path / str(number) for number in itertools.count())

        def of(case: Case) -> Callable[[int], Call]:
            def make(size: int) -> Call:
                where = next(folders) if case.on_disk else ":memory:"
                memory = stack.enter_context(Memory.open(where, embedder="none"))
                return case.prepare(memory, size)

            return cache(make) if case.reads else make

        yield of


@pytest.mark.timing
@pytest.mark.parametrize(
    "case",
    [pytest.param(one, id=f"{one.call}: {one.grows}") for one in (*CASES, *TOOL_CASES)],
)
def test_a_call_takes_as_long_as_its_input(
    case: Case, prepare: Callable[[Case], Callable[[int], Call]]
) -> None:
    times = FLAT if case.flat else TWICE
    assert growth(prepare(case), case.size, most=case.most, times=times) < GROWTH_MAX_RATIO


def public(kind: type[object], prefix: str = "") -> set[str]:
    return {prefix + name for name in dir(kind) if not name.startswith("_")}


def unlisted(kind: type[Memory]) -> set[str]:
    """Public names of a memory that the table does not have."""
    return listed(kind) - {one.call for one in CASES} - set(SMALL)


def listed(kind: type[Memory]) -> set[str]:
    return public(kind).union(*(public(door, prefix) for prefix, door in DOORS.items()))


def test_every_public_call_is_in_the_table() -> None:
    assert unlisted(Memory) == set()
    assert set(SMALL) <= listed(Memory)
    assert {one.call for one in CASES} <= {*listed(Memory), *BESIDE}
    assert {one.call for one in CASES} & set(SMALL) == set()


def test_every_method_of_a_batch_is_in_its_case() -> None:
    source = next(one for one in CASES if (one.call, one.grows) == ("batch", "acts")).prepare
    used = {
        name
        for code in source.__code__.co_consts
        if hasattr(code, "co_names")
        for name in code.co_names
    }
    assert public(Batch) - {"results"} <= used


def test_every_tool_is_in_the_table() -> None:
    tools = {f"tool {tool.name}" for tool in TOOLS["all"]}
    assert tools == {one.call for one in TOOL_CASES} | {"tool get_schema"}  # it takes nothing


# Controls.


def test_control_a_new_call_is_noticed() -> None:
    class More(Memory):
        def invent(self) -> None: ...

    assert unlisted(More) == {"invent"}


@pytest.mark.timing
def test_control_a_call_that_looks_at_all_before_it_is_noticed(
    prepare: Callable[[Case], Callable[[int], Call]],
) -> None:
    """What each write of the kind would be that this suite is there to find."""

    def listing(memory: Memory, size: int) -> Call:
        def write(text: str) -> None:
            memory.remember(text)
            for _ in range(10):
                memory.list(limit=10_000)

        return each(write, map(str, range(size)))

    assert noticed(prepare(Case("remember", "records", 30, listing)), 30, most=240)


@pytest.mark.timing
def test_control_a_page_that_reads_what_comes_before_it_is_noticed(
    prepare: Callable[[Case], Callable[[int], Call]],
) -> None:
    def reading(memory: Memory, size: int) -> Call:
        everything(memory, size)
        return lambda: memory.events.list(before=size, limit=10_000)[-100:]

    case = Case("events", "events before the page", 1_000, reading, reads=True, flat=True)
    assert noticed(prepare(case), 1_000, most=8_000, times=FLAT)
