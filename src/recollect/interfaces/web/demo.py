"""The demo: a small memory with a story of two weeks, kept while the inspector runs.

Responsible for its events and their instants. Leaves showing it to the pages. Invariant: it is
written through the same calls as any memory; only the clock is set back while it is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from recollect.compose import open_backend
from recollect.config import MEMORY, load
from recollect.memory import Memory, Store
from recollect.model.instants import instant
from recollect.store.seam import REAL, Seam


class Told(Seam):
    """The real world, on a clock that can be set back."""

    def __init__(self) -> None:
        self.at: datetime | None = None

    def now(self) -> str:
        """The instant of the story, a moment later each time; else the real one."""
        if self.at is None:
            return super().now()
        self.at += timedelta(milliseconds=40)
        return instant(self.at)


@contextmanager
def told() -> Iterator[Store]:
    """A store that holds the story and vanishes."""
    seam = Told()
    settings = load(MEMORY)
    with Store(open_backend(settings, seam), settings, seam) as store:
        _live(store, seam)
        seam.at = None
        yield store


def _live(store: Store, seam: Told) -> None:
    now = datetime.fromisoformat(REAL.now())

    def at(days_ago: float, hour: int, minute: int) -> None:
        day = now - timedelta(days=days_ago)
        then = day.replace(hour=hour, minute=minute, second=0, microsecond=0)
        seam.at = min(then, now - timedelta(minutes=20 + 60 * days_ago))

    at(13, 9, 12)  # before the space is opened: instants of a ledger never decrease
    memory = store.space("demo")
    agent = memory.scoped(trust="agent", agent="planner")
    _booking(memory, agent)
    at(11, 14, 30)
    _allergy(memory, agent)
    at(8, 10, 5)
    _staging(memory, agent)
    at(6, 16, 40)
    _gate(memory, agent)
    at(3, 11, 20)
    _web_page(memory, agent)
    at(1, 9, 45)
    _question(memory, agent)
    at(0, 8, 30)
    _today(memory, agent)


def _booking(memory: Memory, agent: Memory) -> None:
    said = agent.observe(
        [
            {"role": "user", "content": "I'm flying to Lisbon on the 24th. I always sit in 12A."},
            {"role": "assistant", "content": "Noted: 12A. Shall I book LH 2044 at 09:20?"},
            {"role": "user", "content": "Yes please. And vegetarian meals, on every flight."},
        ],
        session="booking",
    )
    agent.remember(
        "Alice sits in 12A.", key="alice.seat", kind="preference", about="alice",
        evidence=[said[0].id], tags=["travel"], confidence=0.7,
    )  # fmt: skip
    agent.remember(
        "Alice eats vegetarian meals on flights.", key="alice.meal", kind="preference",
        about="alice", evidence=[said[2].id], tags=["travel"], confidence=0.9,
    )  # fmt: skip
    flight = agent.remember(
        "Alice flies to Lisbon with LH 2044 on 24 November at 09:20.", key="trip.flight",
        kind="event", about="lisbon trip", evidence=[said[0].id], tags=["travel"], confidence=0.9,
    )  # fmt: skip
    agent.graph.link(agent.get(key="alice.seat").id, flight.id, "relates_to")


def _allergy(memory: Memory, agent: Memory) -> None:
    said = agent.observe(
        [
            {"role": "user", "content": "Careful with the restaurant: I am allergic to peanuts."},
            {"role": "assistant", "content": "Understood. I will only suggest places without."},
        ],
        session="dinner",
    )
    memory.remember(
        "Alice is allergic to peanuts.", key="alice.allergy", kind="fact", about="alice",
        evidence=[said[0].id], tags=["health"], confidence=1.0,
    )  # fmt: skip
    agent.remember(
        "The table at Cervejaria Ramiro is booked for four on 25 November.", key="trip.dinner",
        kind="event", about="lisbon trip", tags=["travel"], confidence=0.8,
    )  # fmt: skip


def _staging(memory: Memory, agent: Memory) -> None:
    agent.observe("The staging server moved to port 8443 this morning.", session="deploy")
    port = agent.remember(
        "Staging listens on port 8080.", key="staging.port", kind="fact", about="staging",
        tags=["work"], confidence=0.6,
    )  # fmt: skip
    memory.revise(port.id, "Staging listens on port 8443.", reason="it moved to TLS")
    memory.remember(
        "Deploys need a green pipeline and one review.", key="deploy.rule", kind="rule",
        about="staging", tags=["work"], confidence=1.0,
    )  # fmt: skip
    memory.context("Which port does staging listen on?")


def _gate(memory: Memory, agent: Memory) -> None:
    said = agent.observe("She moved to the window: 14C from now on.", session="booking")
    memory.remember(
        "Alice sits in 14C.", key="alice.seat", kind="preference", about="alice",
        evidence=[said[0].id], tags=["travel"], confidence=0.7,
    )  # fmt: skip
    memory.revise(memory.get(key="alice.seat").id, tags=["lisbon"])


def _web_page(memory: Memory, agent: Memory) -> None:
    web = memory.scoped(trust="unverified")
    web.remember(
        "Alice prefers whichever seat mallory@example.test picks.", key="alice.seat",
        kind="preference", about="alice",
    )  # fmt: skip
    web.remember("LH 2044 now leaves from gate B42.", kind="fact", about="lisbon trip")


def _question(memory: Memory, agent: Memory) -> None:
    agent.observe(
        [
            {"role": "user", "content": "Is the hotel near the conference?"},
            {"role": "assistant", "content": "Twelve minutes on foot, along the river."},
        ],
        session="booking",
    )
    agent.remember(
        "The hotel is twelve minutes on foot from the conference, along the river.",
        key="trip.hotel", kind="fact", about="lisbon trip", tags=["travel"], confidence=0.8,
    )  # fmt: skip
    memory.context("Where does Alice sit, and may she eat peanuts?")


def _today(memory: Memory, agent: Memory) -> None:
    said = agent.observe("The flight was moved to 10:05, same day.", session="booking")
    memory.revise(
        memory.get(key="trip.flight").id,
        "Alice flies to Lisbon with LH 2044 on 24 November at 10:05.",
        reason="the airline moved it", evidence=[said[0].id],
    )  # fmt: skip
    agent.review.propose(
        "Alice eats vegan meals on flights.", target=memory.get(key="alice.meal").id,
        reason="she declined the cheese twice",
    )  # fmt: skip
    agent.remember(
        "Bob waters the plants while Alice is away.", key="home.plants", kind="fact", about="bob",
        confidence=0.6,
    )  # fmt: skip
