"""Strangers at the service: a store with secrets, tokens of all who may not, and a judge.

Responsible for what ``test_probes`` and ``test_probes_mcp`` share. Leaves asking to them.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from http.client import HTTPConnection
from typing import Protocol, TypeVar

from recollect import Store
from recollect.interfaces.http.mcp_port import Speaks
from tests.http.serving import served

CANARY = "canary7f3a"
WORDS = "ben too"  # finds what has the canary, and does not repeat it
THEIRS, NONE = "r-theirs", "r-nobodys"


class World:
    """A store in which every text that a stranger could get has the canary."""

    def __init__(self, store: Store) -> None:
        self.store = store
        for name in ("alice", "carol"):
            space = store.space(name)
            for user in ("ann", "ben"):
                mine = space.scoped(user=user)
                secret = "mine" if (name, user) == ("alice", "ann") else CANARY
                id = THEIRS if (name, user) == ("alice", "ben") else f"r-{user}"
                mine.remember(f"{secret} of {user}", id=id, key=f"k.{user}", tags=[secret])
                mine.observe(f"{secret} said {user}")
                mine.graph.link(id, mine.remember(f"{secret} too").id, "knows")
                mine.context("who?", receipt=True)
        store.space("dora").remember("hers")
        make = store.tokens.create
        self.valid = {
            "another space": make("dora", space="dora", trust="person").token,
            "another user": make("ann", space="alice", user="ann", trust="person").token,
        }
        self.ended = self._ended()

    def _ended(self) -> dict[str, str]:
        make, every = self.store.tokens.create, {"space": "alice", "trust": "person"}
        found = {"unknown": "rct_" + "x" * 43}
        found["revoked"] = make("revoked", **every).token  # type: ignore[arg-type]
        self.store.tokens.revoke("revoked")
        found["rotated"] = make("rotated", **every).token  # type: ignore[arg-type]
        self.store.tokens.rotate("rotated", overlap=timedelta())
        short = timedelta(milliseconds=200)
        found["expired"] = make("expired", expires=short, **every).token  # type: ignore[arg-type]
        time.sleep(0.3)
        return found


class Answer(Protocol):
    """What a judge looks at."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...


class Prober:
    """Asks a service at random, and judges each answer."""

    def __init__(self, world: World, port: int, seed: int) -> None:
        self.world, self.chance, self.port = world, random.Random(seed), port
        self.connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self.wrong: list[str] = []
        self.asked: Counter[str] = Counter()

    def kinds(self) -> Sequence[Callable[[], None]]:
        """What it may ask."""
        raise NotImplementedError

    def run(self, count: int) -> None:
        while self.asked.total() < count:
            self.chance.choice(self.kinds())()
        self.connection.close()

    def expect(self, holds: bool, what: str, said: Answer) -> None:
        if not holds:
            self.wrong.append(f"{what}: {said.status} {said.body[:300]!r}")


P = TypeVar("P", bound=Prober)


def probed(
    make: Callable[[World, int, int], P], store: Store, count: int, mcp: Speaks | None = None
) -> P:
    """A prober that has asked a service on this store so many times."""
    world = World(store)
    with served(store, mcp=mcp) as port:
        prober = make(world, port, 7)
        prober.run(count)
    return prober
