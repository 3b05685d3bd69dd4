"""Over MCP and in hooks, what is doubtful says so, and what was refuted is left out."""

from __future__ import annotations

from recollect.assistants.mounts import Mounts
from recollect.config import places
from recollect.finding import briefing
from recollect.interfaces.mcp.answers import Recalled
from recollect.interfaces.mcp.tools import DAILY
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from tests.mcp.talking import Folder

ASKED = "checkout latency cache"


def _told(memory: Memory) -> None:
    memory.remember("The cache halves the checkout latency.", id="no", confidence=0.0)
    memory.remember("The cache slows the checkout: latency.", id="maybe", is_hypothesis=True)
    memory.remember("The checkout latency without the cache is 400 ms.", id="yes")


def test_recall_marks_a_hypothesis_and_leaves_out_what_was_refuted(folder: Folder) -> None:
    with Memory.open(folder.home / ".recollect") as memory:
        _told(memory)
    with Mounts(places(start=folder.project, home=folder.home)) as mounts:
        answer = DAILY[0].call(mounts, {"query": ASKED})
        recent = DAILY[0].call(mounts, {"query": ""})
    assert isinstance(answer, Recalled)
    assert {hit.id: hit.doubt or None for hit in answer.hits} == {
        "maybe": "hypothesis",
        "yes": None,
    }
    (marked,) = (line for line in answer.short().splitlines() if "[maybe]" in line)
    assert "[maybe] (hypothesis)" in marked
    assert isinstance(recent, Recalled)
    (refuted,) = (hit.line() for hit in recent.hits if hit.id == "no")
    assert "[no] (refuted)" in refuted, "a list names it, with the word"


def test_a_briefing_marks_and_leaves_out_the_same() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        _told(memory)
        handle = handle_of(memory)
        with handle.reading() as reads:
            viewer = briefing.Viewer(handle.now(), None)
            for hits in (briefing.in_general(reads, viewer), briefing.about(reads, ASKED, viewer)):
                packed = briefing.packed(hits, 1_000)
                assert "400 ms" in packed
                assert "latency. [maybe] (hypothesis)" in packed
                assert "[no]" not in packed
