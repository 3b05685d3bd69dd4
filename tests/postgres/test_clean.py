"""Emptying a memory on a server."""

from __future__ import annotations

from recollect import Memory
from recollect.memory.erasure.clean import clean
from recollect.memory.handle.handle import handle_of


def test_everything_goes_and_settings_stay(url: str) -> None:
    with Memory.open(url) as memory:
        memory.observe("Said.", session="s")
        memory.sessions.open("s")
        memory.scoped(user="ann").sessions.open("t")
        memory.remember("Known.", about="person:Alice")
        memory.pages.describe("person-alice", description="Described.")
        memory.pages.set_limits(auto_dormant_days=7)
        memory.scoped(trust="agent").review.propose("Proposed.")
        assert clean(handle_of(memory), "memory").records == 1
        assert len(memory.recall("said", unit="episode")) == 1
        done = clean(handle_of(memory), "all")
        assert (done.records, done.episodes, done.sessions) == (0, 1, 2)
        assert len(memory.recall("said")) == 0
        assert memory.review.list() == []
        assert memory.pages.limits().auto_dormant_days == 7
