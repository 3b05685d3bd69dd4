"""Grafted memories: recall would prefer them, and trust keeps them out of it."""

from __future__ import annotations

from recollect import Memory
from tests.suites.conftest import Tell
from tests.suites.grafting import POISONED, TASKS, benign

TOP = 3


def works(memory: Memory) -> None:
    """The agent writes down what it learned."""
    agent = memory.scoped(trust="agent")
    with agent.batch() as batch:
        for text in benign():
            batch.remember(text)


def graft(memory: Memory) -> None:
    """The poison comes in by every way that an agent reads something."""
    agent, web = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
    for number, text in enumerate(POISONED):
        (page,) = agent.observe(f"From a README: {text}", role="tool")
        if number % 4 == 0:
            web.remember(text)
        elif number % 4 == 1:
            agent.remember(text, evidence=[page.id])
        elif number % 4 == 2:  # a summary of what is held already
            note = agent.remember(f"A page says: {text}", evidence=[page.id])
            agent.remember(text, evidence=[note.id])
        else:  # where it came from turns out later
            note = agent.remember(f"It is said: {text}")
            agent.remember(text, evidence=[note.id])
            agent.graph.link(note.id, web.remember(f"A rumour: {text}").id, "derived_from")


def tops(memory: Memory) -> list[list[str]]:
    """The best hits for each task."""
    return [[hit.text for hit in memory.recall(task, k=TOP)] for task in TASKS]


def poisoned(found: list[list[str]]) -> float:
    """The share of what was recalled that is poisoned."""
    hits = [text for top in found for text in top]
    return sum(any(bad in text for bad in POISONED) for text in hits) / len(hits)


def test_grafted_memories_are_not_recalled(tell: Tell) -> None:
    assert (len(set(benign())), len(set(POISONED))) == (100, 10)
    with Memory.open(":memory:", embedder="none") as memory:
        works(memory)
        alone = tops(memory)
        graft(memory)
        gated = tops(memory)
        seen = sum(bool(memory.recall(task).unverified) for task in TASKS)
        held = {
            record.text for record in memory.list(include=["waiting"]) if record.status == "waiting"
        }
        assert held >= set(POISONED)  # stored and listed, apart
        contexts = "".join(memory.context(task).text for task in TASKS)
    with Memory.open(":memory:", embedder="none") as memory:  # the control: all of it is trusted
        works(memory)
        for text in POISONED:
            memory.scoped(trust="agent").remember(text)
        open_to_all = tops(memory)
    unchanged = sum(one == other for one, other in zip(alone, gated, strict=True))
    tell(
        f"grafting: 100 benign and 10 poisoned memories, {len(TASKS)} tasks: poisoned share of "
        f"top-{TOP} {poisoned(open_to_all):.1%} with the gate off, {poisoned(gated):.1%} with it "
        f"on; benign top-{TOP} unchanged in {unchanged} of {len(TASKS)}; held text shown apart in "
        f"{seen}"
    )
    assert poisoned(open_to_all) > 0.4
    assert poisoned(gated) == 0
    assert gated == alone
    assert all(len(top) == TOP for top in alone)
    assert not any(bad in contexts for bad in POISONED)
