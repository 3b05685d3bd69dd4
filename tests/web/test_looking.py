"""Looking writes nothing: no page appends an event when it is opened."""

from __future__ import annotations

import pytest

from recollect import Memory
from recollect.interfaces.web.demo import told
from recollect.interfaces.web.table import STORE_PAGES
from tests.web.addresses import addresses
from tests.web.visiting import served


def opened() -> tuple[list[str], int]:
    """The pages that moved the head, and how many receipts had waited all the while."""
    moved = []
    with told() as store, served(store) as inspector:
        memory, visitor = store.space("demo"), inspector.enter()
        memory.erase(memory.remember("A secret.").id)
        memory.context("Where does Alice sit?")  # its receipt waits for the next append
        head = memory.events.position
        for path in [*addresses(memory), *(f"/-/{each.path}" for each in STORE_PAGES)]:
            joint = "&" if "?" in path else "?"
            for address in (path, f"{path}{joint}as=json"):
                assert visitor.get(address).status in (200, 303), address
                if memory.events.position != head:
                    moved.append(address)
                    head = memory.events.position
        memory.admin.flush()
        return moved, memory.events.position - head


def test_no_page_writes() -> None:
    assert opened() == ([], 1)


def test_control_a_page_that_writes_what_waits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "at", lambda self, position: self)
    assert len(opened()[0]) == 1  # then nothing waits any more
