"""Random requests of strangers over HTTP: not a byte of others, and one 404.

Every operation of the table is asked for by those who may not: a token of another space, a token of
another user, one that was revoked, rotated away, has expired or never was, and requests with a
header twice. What is not theirs must look like what is not there, byte for byte.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import timedelta
from http.client import HTTPConnection, RemoteDisconnected
from typing import Any, NamedTuple

import msgspec
import pytest

from recollect import Store
from recollect.interfaces.http import gate, routes
from tests.http.serving import INSTANCE, served

CANARY = "canary7f3a"
WORDS = "ben too"  # finds what has the canary, and does not repeat it
THEIRS, NONE = "r-theirs", "r-nobodys"
QUERY = {"diff": "from=0", "export": "format=json", "name": "of=x", "drop_space": "dry_run=true"}
DOUBLED = ("Host", "Authorization", "Recollect-User", "Idempotency-Key", "X-Any")


class Asked(NamedTuple):
    """An answer, without what the question itself says."""

    status: int
    body: bytes
    raw: bytes


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
                mine.link(id, mine.remember(f"{secret} too").id, "knows")
                mine.context("who?", receipt=True)
        store.space("dora").remember("hers")
        make = store.tokens.create
        self.valid = {
            "another space": make("dora", space="dora", origin="person").token,
            "another user": make("ann", space="alice", user="ann", origin="person").token,
        }
        self.ended = self._ended()

    def _ended(self) -> dict[str, str]:
        make, every = self.store.tokens.create, {"space": "alice", "origin": "person"}
        found = {"unknown": "rct_" + "x" * 43}
        found["revoked"] = make("revoked", **every).token  # type: ignore[arg-type]
        self.store.tokens.revoke("revoked")
        found["rotated"] = make("rotated", **every).token  # type: ignore[arg-type]
        self.store.tokens.rotate("rotated", overlap=timedelta())
        short = timedelta(milliseconds=200)
        found["expired"] = make("expired", expires=short, **every).token  # type: ignore[arg-type]
        time.sleep(0.3)
        return found


def body_of(name: str, id: str) -> object:
    found: dict[str, Any] = {
        "remember": {"text": "mine"}, "revise": {"text": "mine now"}, "tag": {"add": ["x"]},
        "erase": {"dry_run": True}, "observe": {"messages": [{"content": "mine"}]}, "link": {},
        "batch": {"acts": [{"act": "forget", "id": id}]}, "recall": {"query": WORDS},
        "recall_many": {"queries": [WORDS]}, "why_not": {"id": id, "query": WORDS},
        "context": {"query": WORDS, "receipt": False}, "used": {}, "replay": {"query": WORDS},
        "approve": {"digest": "0" * 64}, "reject": {"digest": "0" * 64}, "rotate_token": {},
        "create_space": {"name": "alice"}, "create_token": {"label": "l", "space": "alice"},
    }  # fmt: skip
    return found.get(name)


class Prober:
    """Asks a service at random, and judges each answer."""

    def __init__(self, world: World, port: int, seed: int) -> None:
        self._world, self._chance, self._port = world, random.Random(seed), port
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self.wrong: list[str] = []
        self.asked: Counter[str] = Counter()
        self.not_found: set[bytes] = set()

    def run(self, count: int) -> None:
        kinds = (self._ended, self._doubled, self._space, self._user)
        while self.asked.total() < count:
            route = self._chance.choice(routes.TABLE)
            self._chance.choice(kinds)(route)
        self._connection.close()

    def _ended(self, route: routes.Route) -> None:
        kind, token = self._chance.choice(list(self._world.ended.items()))
        said = self._ask(kind, route, token, "alice", THEIRS)
        self._expect(said.status == 401, kind, route, said)

    def _doubled(self, route: routes.Route) -> None:
        name, token = self._chance.choice(DOUBLED), self._world.valid["another user"]
        said = self._ask("doubled", route, token, "alice", THEIRS, twice=name)
        self._expect(said.status == 400, f"doubled {name}", route, said)

    def _space(self, route: routes.Route) -> None:
        """The space of others, and one that does not exist."""
        if "{space}" not in route.path:
            return
        pair = [
            self._ask("space", route, self._world.valid["another space"], name, THEIRS)
            for name in ("alice", "nowhere")
        ]
        self._expect(pair[0][:2] == pair[1][:2], "space", route, pair[0])
        self._expect(400 <= pair[0].status < 500, "space", route, pair[0])
        if pair[0].status == 404:
            self.not_found.add(pair[0].raw)

    def _user(self, route: routes.Route) -> None:
        """Something of another user, and something that does not exist."""
        if "{space}" not in route.path or route.name == "push_ledger":
            return
        token = self._world.valid["another user"]
        pair = [self._ask("user", route, token, "alice", id) for id in (THEIRS, NONE)]
        if pair[0].status >= 400 or "{" in route.path.replace("{space}", ""):
            self._expect(pair[0][:2] == pair[1][:2], "user", route, pair[0])
        if pair[0].status == 404 and "{name}" not in route.path:  # names that the caller may list
            self.not_found.add(pair[0].raw)

    def _expect(self, holds: bool, kind: str, route: routes.Route, said: Asked) -> None:
        if not holds:
            self.wrong.append(f"{kind} {route.name}: {said.status} {said.body[:200]!r}")

    def _ask(
        self, kind: str, route: routes.Route, token: str, space: str, id: str, twice: str = ""
    ) -> Asked:
        self.asked[kind] += 1
        path = route.path.replace("{space}", space)
        for part in route.path.split("/"):
            if part.startswith("{") and part != "{space}":
                path = path.replace(part, "3" if part in ("{seq}", "{token}") else id)
        query = QUERY.get(route.name)
        body = body_of(route.name, id)
        raw = b"" if body is None else msgspec.json.encode(body)
        connection = self._connection
        connection.putrequest(route.method, f"{path}?{query}" if query else path, skip_host=True)
        headers = {"Host": f"127.0.0.1:{self._port}", "Authorization": f"Bearer {token}",
                   "Content-Length": str(len(raw))}  # fmt: skip
        for name, value in [*headers.items(), *_again(twice, headers)]:
            connection.putheader(name, value)
        try:
            connection.endheaders(raw)
            answer = connection.getresponse()
            said = answer.read()
        except (ConnectionError, RemoteDisconnected):  # refused while the body was on its way
            connection.close()
            if twice == "Host":
                return Asked(400, b"", b"")
            raise
        shown = said + str(answer.headers).encode()
        if CANARY.encode() in shown.replace(raw, b"") or b"of ben" in shown:
            self.wrong.append(f"{kind} {route.name}: leaked {said[:200]!r}")
        said = INSTANCE.sub(b"", said)  # the name of the request, which is new each time
        neutral = said.replace(id.encode(), b"ID").replace(space.encode(), b"SPACE")
        return Asked(answer.status, neutral, said)


def _again(twice: str, headers: dict[str, str]) -> list[tuple[str, str]]:
    if not twice:
        return []
    value = headers.get(twice, "ben")
    return [(twice, value)] * (1 if twice in headers else 2)


def probed(store: Store, count: int, seed: int = 7) -> Prober:
    world = World(store)
    with served(store) as port:
        prober = Prober(world, port, seed)
        prober.run(count)
    return prober


@pytest.mark.parametrize("count", [600, pytest.param(20_000, marks=pytest.mark.slow)])
def test_strangers_get_nothing_and_one_404(store: Store, count: int) -> None:
    prober = probed(store, count)
    print(f"{prober.asked.total()} probes {dict(prober.asked)}: {len(prober.wrong)} wrong, "  # noqa: T201
          f"{len(prober.not_found)} form of 404")  # fmt: skip
    assert prober.wrong == []
    assert len(prober.not_found) == 1


def test_a_token_with_too_many_rights_is_caught(store: Store) -> None:  # a control
    world = World(store)
    world.valid["another space"] = store.tokens.create("oops", space=None, origin="person").token
    with served(store) as port:
        prober = Prober(world, port, 7)
        prober.run(300)
    assert any("leaked" in each for each in prober.wrong)


def test_a_gate_that_takes_headers_twice_is_caught(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:  # a control
    monkeypatch.setattr(gate, "_MANY", frozenset(each.lower() for each in DOUBLED))
    assert any(each.startswith("doubled") for each in probed(store, 200).wrong)
