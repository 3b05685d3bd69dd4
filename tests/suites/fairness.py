"""One caller that does its worst on a route, and how long another caller waits meanwhile.

The worst are requests that cost the most within every limit, over a memory that the attacker has
filled. Both callers have tokens of their own and spaces of their own, on one service.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from benchmarks.service.load import Load, Outcome, request
from recollect.memory.store import Store

BIG, SMALL = "/v1/spaces/big", "/v1/spaces/small"
CONNECTIONS: Final = 8
VICTIM_PER_S: Final = 20.0
RECORDS: Final = 3_000
_WORDS: Final = [f"w{number}" for number in range(3_000)]
_BRANCH: Final = {"Recollect-Branch": "idea"}
_MCP: Final = {"Accept": "application/json, text/event-stream"}


class Filled(NamedTuple):
    """A store with a large memory of an attacker and a small one of somebody else."""

    attacker: str
    victim: str


class Ask(NamedTuple):
    """One request, before it has a token."""

    method: str
    path: str
    body: object = None
    headers: Mapping[str, str] = MappingProxyType({})


def filled(where: str, records: int = RECORDS) -> Filled:
    """Fills both memories; returns the tokens."""
    draw = random.Random(1)
    with Store.open(where, embedder="none") as store:
        big, small = store.space("big", create=True), store.space("small", create=True)
        with big.batch() as batch:
            for number in range(records):
                text = " ".join(draw.choices(_WORDS, k=12))
                tags, about = [f"t{number % 50}"], f"topic:{number % 20}"
                batch.remember(text, id=f"r{number}", key=f"k{number}", tags=tags, about=about)
        for number in range(4):
            big.remember(" ".join(draw.choices(_WORDS, k=100_000)), id=f"long{number}")
        big.branches.open("idea")
        idea = big.on("idea")
        for number in range(4):
            idea.remember(f"{number} " + " ".join(draw.choices(_WORDS, k=170_000))[:1_000_000])
        for number in range(50):
            small.remember(f"Gate {number} opens at {number % 24}.", id=f"g{number}")
        verbs = ("read", "write")
        made = [
            store.tokens.create(name, space=name, verbs=verbs, trust="person").token
            for name in ("big", "small")
        ]
    return Filled(*made)


def _many_words(count: int) -> str:
    return " ".join(_WORDS[:count])


def _long(number: int) -> str:
    """A text of the greatest length that looks like addresses with passwords."""
    return ("://a:" * 250_000)[: 1_000_000 - number % 1_000]


# What costs most on a route; a number makes each request differ from the others.
WORST: Final[dict[str, Callable[[int], Ask]]] = {
    "recall": lambda n: Ask("POST", f"{BIG}/recall", {"query": _many_words(500 + n % 7), "k": 100}),
    "recall_many": lambda n: Ask(
        "POST", f"{BIG}/recall/many",
        {"queries": [_many_words(100 + n % 7 + each) for each in range(8)], "k": 100},
    ),
    "why_not": lambda n: Ask(
        "POST", f"{BIG}/why-not", {"query": _many_words(300 + n % 7), "id": "r9"}
    ),
    "context": lambda n: Ask(
        "POST", f"{BIG}/context", {"query": _many_words(300 + n % 7), "tokens": 30_000}
    ),
    "list_records": lambda n: Ask("GET", f"{BIG}/records?limit=1000"),
    "list_filtered": lambda n: Ask(
        "GET", f"{BIG}/records?limit=1000&filter=" + quote(f"text contains 'w{n % 99}'")
    ),
    "list_then": lambda n: Ask("GET", f"{BIG}/records?limit=1000&at={RECORDS // 2}"),
    "events": lambda n: Ask("GET", f"{BIG}/events?after={n % 9}&limit=1000"),
    "diff": lambda n: Ask("GET", f"{BIG}/diff?from={n % 9}&to=950"),
    "graph": lambda n: Ask("GET", f"{BIG}/graph"),
    "neighbours": lambda n: Ask("GET", f"{BIG}/records/r{n % 99}/graph?hops=3"),
    "overview": lambda n: Ask("GET", f"{BIG}/overview"),
    "recent": lambda n: Ask("GET", f"{BIG}/recent"),
    "audit": lambda n: Ask("GET", f"{BIG}/audit"),
    "check": lambda n: Ask("GET", f"{BIG}/check"),
    "digest": lambda n: Ask("GET", f"{BIG}/digest"),
    "verify": lambda n: Ask("GET", f"{BIG}/verify"),
    "export": lambda n: Ask("GET", f"{BIG}/export?format=json"),
    "get_ledger": lambda n: Ask("GET", f"{BIG}/ledger"),
    "get": lambda n: Ask("GET", f"{BIG}/records/long{n % 4}"),
    "branch_read": lambda n: Ask("GET", f"{BIG}/records?limit=1", None, _BRANCH),
    "branch_diff": lambda n: Ask("GET", f"{BIG}/branches/idea/diff"),
    "remember": lambda n: Ask("POST", f"{BIG}/records", {"text": f"{n} {_long(n)}"}),
    "remember_forms": lambda n: Ask(
        "POST", f"{BIG}/records", {"text": f"{n} " + "\ufdfa" * 340_000}
    ),
    "observe": lambda n: Ask(
        "POST", f"{BIG}/episodes",
        {"messages": [{"content": f"{n} {each} {_many_words(90)}"} for each in range(500)]},
    ),
    "revise": lambda n: Ask("PATCH", f"{BIG}/records/r{n % 999}", {"text": f"{n} {_long(n)}"}),
    "mcp_recall": lambda n: _tool(n, "recall", {"query": _many_words(500 + n % 7)}),
    "mcp_remember": lambda n: _tool(n, "remember", {"text": f"{n} {_long(n)}"[:900_000]}),
    "no_such_token": lambda n: Ask("POST", f"{BIG}/recall", {"query": "gate"}),
}  # fmt: skip


def _tool(number: int, name: str, given: dict[str, object]) -> Ask:
    called = {"name": name, "arguments": given}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": called}
    return Ask("POST", f"{BIG}/mcp", body, _MCP)


def sent(ask: Ask, port: int, token: str) -> bytes:
    """The bytes of a request."""
    raw = b"" if ask.body is None else msgspec.json.encode(ask.body)
    headers = {"Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {token}", **ask.headers}
    if raw:
        headers["Content-Type"] = "application/json"
    return request(ask.method, ask.path, headers, raw)


def everyday(port: int, token: str, seconds: float) -> Outcome:
    """What a caller waits who reads, asks and writes a little, at its own pace."""
    kinds: list[Callable[[int], Ask]] = [
        lambda n: Ask("GET", f"{SMALL}/records/g{n % 50}"),
        lambda n: Ask("GET", f"{SMALL}/records?limit=10"),
        lambda n: Ask("POST", f"{SMALL}/recall", {"query": f"gate {n % 50}", "k": 5}),
        lambda n: Ask("POST", f"{SMALL}/records", {"text": f"Gate {n} is open."}),
    ]
    count = int(seconds * VICTIM_PER_S)
    with Load(port, 4) as load:
        asks = (sent(kinds[n % len(kinds)](n), port, token) for n in range(count))
        return load.run(asks, rate=VICTIM_PER_S)


@contextmanager
def attacked(kind: str, port: int, token: str, seconds: float) -> Iterator[dict[str, int]]:
    """Has another process send its worst on one route; what came of it is there at the end."""
    words = [sys.executable, "-m", "tests.suites.fairness", kind, str(port), str(seconds)]
    found: dict[str, int] = {}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{token}\n".encode())
        process.stdin.flush()
        try:
            assert process.stdout.readline() == b"ready\n"
            yield found
            found.update(json.loads(process.stdout.readline()))
        finally:
            process.kill()


def _attack(kind: str, port: int, seconds: float) -> None:
    token, until = sys.stdin.readline().strip(), time.monotonic() + seconds

    def asks() -> Iterator[bytes]:
        number = 0
        while time.monotonic() < until:
            yield sent(WORST[kind](number), port, token)
            number += 1

    sent(WORST[kind](0), port, token)
    with Load(port, CONNECTIONS) as load:
        _say("ready")
        outcome = load.run(asks())
    _say(json.dumps(outcome.statuses))


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _attack(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
