"""Random calls of strangers over MCP: not a byte of others, and what is not theirs is not there.

Every tool and every resource that the port lists is asked for, with arguments drawn from those that
it takes, by the strangers of ``test_probes``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from recollect import Memory, Store
from recollect.interfaces.mcp.over_http import OverHttp
from tests.http import probing
from tests.http.probing import CANARY, NONE, THEIRS, WORDS, World, probed
from tests.http.serving import INSTANCE

pytestmark = pytest.mark.ci

DOUBLED = ("Authorization", "Recollect-User", "Origin", "X-Any")
PAIRS = ((THEIRS, NONE), ("k.ben", "k.nil"), ("ben", "nil"))  # theirs, and what is not there
SENT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
KNOWN: dict[str, Any] = {
    "key": "k.own", "about": "own", "query": WORDS, "text": "mine", "quote": WORDS, "after": 0,
    "kinds": ["record.added"], "tags": [CANARY], "include_superseded": True, "explain": True,
    "limit": 200, "k": 100, "tokens": 5_000, "reason": "mine", "role": "user", "unverified": True,
    "session": "s",
}  # fmt: skip


class Said(msgspec.Struct, frozen=True):
    """An answer, without what the question itself says."""

    status: int
    body: bytes
    is_error: bool


class Prober(probing.Prober):
    """Asks for any tool and any resource."""

    def __init__(self, world: World, port: int, seed: int) -> None:
        super().__init__(world, port, seed)
        self.used: Counter[str] = Counter()
        self._tools = self._listed("tools/list", "tools")
        self._resources = [
            *self._listed("resources/list", "resources"),
            *self._listed("resources/templates/list", "resourceTemplates"),
        ]

    def kinds(self) -> Sequence[Callable[[], None]]:
        return (self._ended, self._doubled, self._space, self._user, self._user)

    def _ended(self) -> None:
        kind, token = self.chance.choice(list(self.world.ended.items()))
        said = self._ask(kind, token, "alice", *self._drawn(THEIRS))
        self.expect(said.status == 401, kind, said)

    def _doubled(self) -> None:
        name, token = self.chance.choice(DOUBLED), self.world.valid["another user"]
        said = self._ask("doubled", token, "alice", *self._drawn(THEIRS), twice=name)
        self.expect(said.status == 400, f"doubled {name}", said)

    def _space(self) -> None:
        """The space of others, and one that does not exist."""
        drawn, token = self._drawn(THEIRS), self.world.valid["another space"]
        pair = [self._ask("space", token, name, *drawn) for name in ("alice", "nowhere")]
        self.expect(pair[0].status == 404 and pair[0].body == pair[1].body, "space", pair[0])

    def _user(self) -> None:
        """Something of another user, and something that does not exist."""
        names, token = self.chance.choice(PAIRS), self.world.valid["another user"]
        state = self.chance.getstate()
        pair = []
        for name in names:
            self.chance.setstate(state)
            pair.append(self._ask("user", token, "alice", *self._drawn(name), name=name))
        self.expect(pair[0].status == 200, "user", pair[0])
        self.expect(pair[0].is_error == pair[1].is_error, "user", pair[0])
        if pair[0].is_error:
            self.expect(pair[0].body == pair[1].body, "user", pair[0])

    def _drawn(self, name: str) -> tuple[str, dict[str, Any]]:
        """A method and its parameters, about this name."""
        values = KNOWN | {"id": name, "name": name, "evidence": [name]}
        if self.chance.random() < 0.2:
            found = self.chance.choice(self._resources)
            address = found.get("uri") or found["uriTemplate"]
            self.used[address] += 1
            return "resources/read", {"uri": re.sub(r"\{.*\}", name, address)}
        tool = self.chance.choice(self._tools)
        self.used[tool["name"]] += 1
        if not tool["annotations"].get("readOnlyHint"):
            values["tags"] = ["own"]  # a stranger's own record would be shown with theirs
        takes = tool["inputSchema"]
        needed = takes.get("required", [])
        chosen = {
            each: values[each]
            for each in takes["properties"]
            if each in values and (each in needed or self.chance.random() < 0.5)
        }
        return "tools/call", {"name": tool["name"], "arguments": chosen}

    def _listed(self, method: str, what: str) -> list[dict[str, Any]]:
        token = self.world.valid["another user"]
        said = self._ask("listed", token, "alice", method, {})
        found: list[dict[str, Any]] = msgspec.json.decode(said.body)["result"][what]
        return found

    def _ask(
        self,
        kind: str,
        token: str,
        space: str,
        method: str,
        parameters: dict[str, Any],
        *,
        name: str = THEIRS,
        twice: str = "",
    ) -> Said:
        self.asked[kind] += 1
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        raw = msgspec.json.encode(message)
        self.connection.putrequest("POST", f"/v1/spaces/{space}/mcp?tools=all")
        headers = [*SENT.items(), ("Authorization", f"Bearer {token}")]
        headers += [(twice, f"Bearer {token}")] * (1 if twice == "Authorization" else 2)
        for header, value in headers:
            if header:
                self.connection.putheader(header, value)
        self.connection.putheader("Content-Length", str(len(raw)))
        self.connection.endheaders(raw)
        answer = self.connection.getresponse()
        said = answer.read()
        shown = said + str(answer.headers).encode()
        if CANARY.encode() in shown or b"of ben" in shown or b"said ben" in shown:
            self.wrong.append(f"{kind} {method} {parameters}: leaked {said[:300]!r}")
        neutral = INSTANCE.sub(b"", said).replace(name.encode(), b"ID")
        is_error = b'"isError":true' in said or b'"error":{' in said
        return Said(answer.status, neutral.replace(space.encode(), b"SPACE"), is_error)


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_strangers_get_nothing_over_mcp(store: Store, count: int) -> None:
    prober = probed(Prober, store, count, OverHttp())
    print(f"{prober.asked.total()} probes {dict(prober.asked)} of {len(prober.used)} tools and "  # noqa: T201
          f"resources: {len(prober.wrong)} wrong")  # fmt: skip
    assert prober.wrong == []


class Leaking(OverHttp):
    """Answers with the memory of everyone."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    async def answer(self, memory: Memory, *rest: Any) -> None:
        await super().answer(self._store.space(memory.scope.space), *rest)


def test_a_port_that_forgets_the_user_is_caught(store: Store) -> None:  # a control
    wrong = probed(Prober, store, 200, Leaking(store)).wrong
    assert any("leaked" in each for each in wrong)
