"""Twenty thousand ways of asking one space about another: no byte comes across.

Each of 40 spaces holds canaries in its texts, keys, tags, names and ids. A handle of one space
asks, writes, links, erases, looks back and exports with the names, ids and positions of another;
every answer and every error is searched for canaries of any space but its own.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator

import pytest

from recollect import Memory, Store
from recollect.errors import RecollectError
from recollect.memory.handle.handle import handle_of
from tests.suites.conftest import Tell, tell
from tests.undone import brought_back

__all__ = ["tell"]

SPACES = 40
CANARY = re.compile(r"canary(\d+)x")


def canary(space: int) -> str:
    return f"canary{space}x"


def command_of(word: str) -> str:
    """Without the canary, because whoever uses the same id keeps it in a ledger of its own."""
    return f"c-{word.removeprefix('canary')}"


class Town:
    """Many spaces, each with a token and a handle of its own."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self.rng = rng
        self.memories: list[Memory] = []
        for number in range(SPACES):
            name, verbs = f"space-{canary(number)}", ("read", "write", "erase")
            made = store.tokens.create(name, space=name, verbs=verbs, trust="person")
            memory = store.entered(made.token).space(name)
            self.memories.append(memory)
            self._fill(memory, canary(number))

    def _fill(self, memory: Memory, word: str) -> None:
        said = memory.observe(f"{word} was said", role="user", id=f"e-{word}")
        first = memory.remember(
            f"{word} holds", key=word, tags=[word], evidence=[said[0].id], id=f"r-{word}"
        )
        second = memory.remember(f"{word} too", about=word, id=f"s-{word}", data={word: word})
        memory.graph.link(first.id, second.id, "relates_to")
        memory.scoped(user=word).remember(f"{word} of a user", idempotency_key=command_of(word))

    def probe(self) -> str | None:
        """One question of one space about another; the canary that came across, if any."""
        asker, other = self.rng.sample(range(SPACES), 2)
        ask = self.rng.choice(self._probes())
        try:
            answer = repr(ask(self.memories[asker], canary(other)))
        except RecollectError as refusal:
            answer = repr((str(refusal), refusal.to_dict(), refusal.__cause__))
        # What the asker itself said comes back to it, and may: only others' words count.
        own = {str(asker), str(other)} if ask in self._echoing() else {str(asker)}
        found = set(CANARY.findall(answer)) - own
        return None if not found else f"{ask.__name__}: space {asker} saw {sorted(found)}"

    def _probes(self) -> list[Callable[[Memory, str], object]]:
        return [*self._echoing(), recall, listing, past, history_of_all, export, status, doctor]

    @staticmethod
    def _echoing() -> list[Callable[[Memory, str], object]]:
        """Questions that name the other's canary themselves: an answer may repeat the name."""
        return [get, why, revise, forget, restore, erase, link, tag, used, again, scoped]


def recall(memory: Memory, word: str) -> object:
    return memory.recall(word, include=("replaced", "forgotten", "waiting")).hits


def listing(memory: Memory, word: str) -> object:
    return memory.list(limit=1_000), memory.sessions.episodes(limit=1_000)


def past(memory: Memory, word: str) -> object:
    return memory.at(random.randrange(1, 12)).list(limit=1_000)


def history_of_all(memory: Memory, word: str) -> object:
    return [memory.history(record.id) for record in memory.list(limit=5)]


def export(memory: Memory, word: str) -> object:
    return b"".join(handle_of(memory).space.pieces())


def status(memory: Memory, word: str) -> object:
    return memory.status(), memory.admin.digest()


def doctor(memory: Memory, word: str) -> object:
    return memory.admin.doctor(), memory.admin.verify(deep=True)


def get(memory: Memory, word: str) -> object:
    return memory.get(f"r-{word}").text


def why(memory: Memory, word: str) -> object:
    return memory.why(f"r-{word}").sources


def revise(memory: Memory, word: str) -> object:
    return memory.revise(f"r-{word}", "mine now").text


def forget(memory: Memory, word: str) -> object:
    return memory.forget(f"r-{word}")


def restore(memory: Memory, word: str) -> object:
    return brought_back(memory.undo(f"r-{word}"))


def erase(memory: Memory, word: str) -> object:
    return memory.erase(f"r-{word}")


def link(memory: Memory, word: str) -> object:
    return memory.graph.link(memory.list(limit=1)[0].id, f"r-{word}", "relates_to")


def tag(memory: Memory, word: str) -> object:
    return memory.revise(f"r-{word}", tags=["mine"])


def used(memory: Memory, word: str) -> object:
    return memory.used(None, [f"r-{word}"])


def again(memory: Memory, word: str) -> object:
    """The other's command id: known there, unknown here."""
    return memory.remember("written here", idempotency_key=command_of(word)).text


def scoped(memory: Memory, word: str) -> object:
    return [record.text for record in memory.scoped(user=word).list()]


@pytest.fixture
def town(url: str) -> Iterator[Town]:
    with Store.open(url, embedder="none") as store:
        yield Town(store, random.Random(random.randrange(2**32)))


def run_suite(town: Town, count: int, tell: Tell) -> None:
    started = time.perf_counter()
    crossed = [found for found in (town.probe() for _ in range(count)) if found is not None]
    assert crossed == []
    for memory in town.memories[:5]:
        assert memory.admin.verify(deep=True).ok
    tell(
        f"probes: {count:,} questions between {SPACES} spaces, 0 bytes crossed, "
        f"{time.perf_counter() - started:.0f} s"
    )


def test_some_probes_bring_nothing_across(town: Town, tell: Tell) -> None:
    run_suite(town, 400, tell)


@pytest.mark.nightly
def test_twenty_thousand_probes_bring_nothing_across(town: Town, tell: Tell) -> None:
    run_suite(town, 20_000, tell)


def test_control_probes_see_what_crosses_when_spaces_are_mixed_up(town: Town) -> None:
    town.memories.append(town.memories.pop(0))  # each now asks in the space of the next
    assert any(town.probe() is not None for _ in range(80))
