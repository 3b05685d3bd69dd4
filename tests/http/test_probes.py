"""Random requests of strangers over HTTP: not a byte of others, and one 404.

Every operation of the table is asked for by those who may not: a token of another space, a token of
another user, one that was revoked, rotated away, has expired or never was, and requests with a
header twice. What is not theirs must look like what is not there, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from http.client import RemoteDisconnected
from typing import Any, NamedTuple

import msgspec
import pytest

from recollect import Store
from recollect.interfaces.http import routes
from recollect.interfaces.http.limits import gate
from tests.http import probing
from tests.http.probing import CANARY, NONE, THEIRS, WORDS, World, probed
from tests.http.serving import INSTANCE, served

pytestmark = pytest.mark.ci

QUERY = {"diff": "from=0", "export": "format=json", "name": "of=x", "drop_space": "dry_run=true"}
DOUBLED = ("Host", "Authorization", "Recollect-User", "Idempotency-Key", "X-Any")


class Asked(NamedTuple):
    """An answer, without what the question itself says."""

    status: int
    body: bytes
    raw: bytes


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


class Prober(probing.Prober):
    """Asks for any operation of the table."""

    def __init__(self, world: World, port: int, seed: int) -> None:
        super().__init__(world, port, seed)
        self.not_found: set[bytes] = set()

    def kinds(self) -> Sequence[Callable[[], None]]:
        route = self.chance.choice(routes.TABLE)
        every = (self._ended, self._doubled, self._space, self._user)
        return [partial(each, route) for each in every]

    def _ended(self, route: routes.Route) -> None:
        kind, token = self.chance.choice(list(self.world.ended.items()))
        said = self._ask(kind, route, token, "alice", THEIRS)
        self.expect(said.status == 401, f"{kind} {route.name}", said)

    def _doubled(self, route: routes.Route) -> None:
        name, token = self.chance.choice(DOUBLED), self.world.valid["another user"]
        said = self._ask("doubled", route, token, "alice", THEIRS, twice=name)
        self.expect(said.status == 400, f"doubled {name} {route.name}", said)

    def _space(self, route: routes.Route) -> None:
        """The space of others, and one that does not exist."""
        if "{space}" not in route.path:
            return
        pair = [
            self._ask("space", route, self.world.valid["another space"], name, THEIRS)
            for name in ("alice", "nowhere")
        ]
        self.expect(pair[0][:2] == pair[1][:2], f"space {route.name}", pair[0])
        self.expect(400 <= pair[0].status < 500, f"space {route.name}", pair[0])
        if pair[0].status == 404:
            self.not_found.add(pair[0].raw)

    def _user(self, route: routes.Route) -> None:
        """Something of another user, and something that does not exist."""
        if "{space}" not in route.path or route.name == "push_ledger":
            return
        token = self.world.valid["another user"]
        pair = [self._ask("user", route, token, "alice", id) for id in (THEIRS, NONE)]
        if pair[0].status >= 400 or "{" in route.path.replace("{space}", ""):
            self.expect(pair[0][:2] == pair[1][:2], f"user {route.name}", pair[0])
        if pair[0].status == 404 and "{name}" not in route.path:  # names that the caller may list
            self.not_found.add(pair[0].raw)

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
        connection = self.connection
        connection.putrequest(route.method, f"{path}?{query}" if query else path, skip_host=True)
        headers = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {token}",
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


@pytest.mark.parametrize("count", [600, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_strangers_get_nothing_and_one_404(store: Store, count: int) -> None:
    prober = probed(Prober, store, count)
    print(f"{prober.asked.total()} probes {dict(prober.asked)}: {len(prober.wrong)} wrong, "  # noqa: T201
          f"{len(prober.not_found)} form of 404")  # fmt: skip
    assert prober.wrong == []
    assert len(prober.not_found) == 1


def test_a_token_with_too_many_rights_is_caught(store: Store) -> None:  # a control
    world = World(store)
    world.valid["another space"] = store.tokens.create("oops", space=None, trust="person").token
    with served(store) as port:
        prober = Prober(world, port, 7)
        prober.run(300)
    assert any("leaked" in each for each in prober.wrong)


def test_a_gate_that_takes_headers_twice_is_caught(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:  # a control
    monkeypatch.setattr(gate, "_MANY", frozenset(each.lower() for each in DOUBLED))
    assert any(each.startswith("doubled") for each in probed(Prober, store, 200).wrong)
