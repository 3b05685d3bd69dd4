"""Nothing that a caller sends appears in logs, figures, spans or the answers of others.

A marker stands in every field of every operation, in ids, spaces, users, headers and tokens, in
requests that succeed and in ones that are refused. Then all that an operator and another tenant
see is searched for it. The controls leak it, and are caught.
"""

from __future__ import annotations

import logging
import random
import re
import subprocess
import sys
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin
from urllib.parse import quote

import msgspec
import pytest

from benchmarks.service_telemetry import Collector
from recollect import Store
from recollect.interfaces.http.routes import TABLE, Route
from recollect.serving.guard import Message, Receive, Scope, Send
from tests.http.serving import Client, Said, served

MARK = "Kanarienvogel"
SPACE = f"{MARK}-space"
NOT_STARTED = "Try:"


def leaks(text: str | bytes) -> list[str]:
    """Where the marker stands in a text, as it was sent or encoded."""
    raw = text.encode() if isinstance(text, str) else text
    forms = [MARK.encode(), MARK.upper().encode(), MARK.lower().encode()]
    forms += [urlsafe_b64encode(b"x" * shift + MARK.encode())[4:16] for shift in range(3)]
    return [
        raw[max(0, found.start() - 60) : found.end() + 60].decode("latin-1")
        for form in forms
        for found in re.finditer(re.escape(form), raw)
    ]


def filled(kind: Any, chance: random.Random, depth: int = 0) -> Any:
    """A value of a type with the marker in every text of it; now and then of another type."""
    if chance.random() < 0.03:
        return chance.choice([f"{MARK} wrong", None, [MARK], {MARK: MARK}, -1])
    if get_origin(kind) is list:
        return [filled(get_args(kind)[0], chance, depth + 1) for _ in range(chance.randint(1, 2))]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and depth < 4:
        return {
            field.name: filled(field.type, chance, depth + 1)
            for field in msgspec.structs.fields(kind)
            if field.required or chance.random() < 0.6
        }
    kinds = [each for each in get_args(kind) if not isinstance(each, msgspec.Meta)]
    if get_origin(kind) is not None and kinds and get_origin(kind) is not dict:
        chosen = chance.choice(kinds)
        return chosen if isinstance(chosen, str) else filled(chosen, chance, depth)
    if kind in (int, float):
        return chance.randint(0, 3)
    return {MARK: MARK} if kind is dict or get_origin(kind) is dict else f"{MARK} sits in 12A."


class Request(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


def asked(route: Route, tokens: list[str], chance: random.Random) -> Request:
    """One request of an operation, with the marker wherever a caller may put something."""
    spaces = [SPACE, SPACE, SPACE, f"{MARK}-none", "main"]
    path = route.path.replace("{space}", chance.choice(spaces))
    path = re.sub(r"\{\w+\}", lambda _: chance.choice([MARK, f"{MARK}-id", "Kan arie"]), path)
    path = path.replace(" ", "%20")
    if chance.random() < 0.1:
        path += f"?{MARK}={MARK}&limit={MARK}"
    elif route.query is not None and chance.random() < 0.3:
        field = chance.choice(msgspec.structs.fields(route.query)).name
        path += f"?{field}={quote(MARK)}"
    body = b""
    if route.takes is not None:
        body = msgspec.json.encode(filled(route.takes, chance))
        if chance.random() < 0.05:
            body = body[:-1] + f',"{MARK}":{MARK}'.encode()
    headers = {
        "Authorization": f"Bearer {chance.choice(tokens)}",
        "Idempotency-Key": f"{MARK}-{chance.random()}",
        "X-Request-Id": MARK,
        "traceparent": MARK,
        "User-Agent": MARK,
    }
    for name in ("User", "Session", "Agent", "Origin"):
        if chance.random() < 0.15:
            headers[f"Recollect-{name}"] = f"{MARK}-{name}"
    if chance.random() < 0.1:
        headers["If-Match"] = MARK
    return Request(route.method if chance.random() < 0.97 else MARK.upper(), path, body, headers)


def usual(token: str, chance: random.Random) -> Request:
    """One request that is in order, so that texts with the marker are written and found."""
    records = f"/v1/spaces/{SPACE}/records"
    text = f"{MARK} sits in {chance.randint(1, 999)}C."
    method, path, body = chance.choice(
        [
            ("POST", records, {"text": text, "tags": [MARK], "about": MARK, "data": {MARK: MARK}}),
            ("POST", f"/v1/spaces/{SPACE}/episodes", {"messages": [{"content": text}]}),
            ("POST", f"/v1/spaces/{SPACE}/recall", {"query": f"where does {MARK} sit"}),
            ("POST", f"/v1/spaces/{SPACE}/context", {"query": MARK}),
            ("PATCH", f"{records}/{MARK}-id", {"text": text}),
            ("GET", f"{records}/{MARK}-id", None),
            ("GET", f"/v1/spaces/{SPACE}/keys/{MARK}", None),
        ]
    )
    raw = b"" if body is None else msgspec.json.encode(body)
    return Request(method, path, raw, {"Authorization": f"Bearer {token}"})


def spoken(tokens: list[str], chance: random.Random) -> Request:
    """One call over MCP."""
    tool = chance.choice(["remember", "recall", "revise", "forget", "history", MARK])
    given = {"text": f"{MARK} again", "query": MARK, "id": f"{MARK}-id", MARK: MARK}
    names = {"remember": ["text"], "recall": ["query"], "revise": ["id", "text"]}
    arguments = {name: given[name] for name in names.get(tool, ["id", *chance.sample([MARK], 1)])}
    params = {"name": tool, "arguments": arguments, "_meta": {MARK: MARK}}
    call = {"jsonrpc": "2.0", "id": MARK, "method": "tools/call", "params": params}
    if chance.random() < 0.1:
        call = {"jsonrpc": MARK, "method": MARK, "params": MARK}
    headers = {
        "Authorization": f"Bearer {chance.choice(tokens)}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Session-Id": MARK,
    }
    if chance.random() < 0.2:
        headers["Mcp-Protocol-Version"] = chance.choice([MARK, "2026-07-28"])
    return Request("POST", f"/v1/spaces/{SPACE}/mcp", msgspec.json.encode(call), headers)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space(SPACE).remember(f"{MARK} came first.", id=f"{MARK}-id", key=MARK)
        store.space("main").remember("Of another tenant.")
        yield store


def tokens_of(store: Store) -> list[str]:
    create = store.tokens.create
    return [
        create(f"{MARK} person", space=SPACE, trust="person").token,
        create(f"{MARK} agent", space=SPACE, trust="agent", user=f"{MARK}-user").token,
        create(f"{MARK} all", space=None, trust="person").token,
        f"rct_{MARK}" + "A" * 30,
    ]


@pytest.mark.parametrize(
    "count",
    [pytest.param(400, marks=pytest.mark.ci), pytest.param(10_000, marks=pytest.mark.nightly)],
)
def test_nothing_that_was_sent_is_told(store: Store, tmp_path: Path, count: int) -> None:
    tokens = tokens_of(store)
    other = store.tokens.create("other", space="main", trust="person").token
    told = tmp_path / "told"
    with Collector().listening() as collector, told.open("w") as log:
        words = [sys.executable, "-m", "recollect", "--store", str(tmp_path / "w"), "serve"]
        options = ["--port", "0", "--metrics-port", "0", "--log-requests", "--traces"]
        process = subprocess.Popen([*words, *options, collector.url], stderr=log)
        try:
            port, metrics_port = ports(told, process)
            statuses = sent(port, tokens, count)
            seen = of_others(Client(port, other))
            metrics = Client(metrics_port, None).get("/metrics").raw
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
    lines = [line for line in told.read_text().splitlines() if line.startswith("{")]
    spans = sum(collector.names().values())
    told_by = f"{len(lines):,} lines, {spans:,} spans, statuses {dict(sorted(statuses.items()))}"
    sys.stderr.write(f"{told_by}\n")
    assert len(lines) >= count
    assert spans >= count
    assert statuses.get(201, 0) > count / 20  # not only refusals
    assert statuses.get(200, 0) > count / 10
    assert statuses.get(500, 0) == 0
    assert leaks(told.read_text()) == []
    assert leaks(metrics) == []
    assert [leak for data in collector.received for leak in leaks(data)] == []
    assert [leak for said in seen for leak in leaks(said.raw + repr(said.headers).encode())] == []
    assert not any(token in told.read_text() for token in (*tokens, other))


def ports(told: Path, process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The ports of a service that has just started."""
    while NOT_STARTED not in told.read_text():
        assert process.poll() is None, told.read_text()
    said = told.read_text()
    found = [re.search(words + r" .*127\.0\.0\.1:(\d+)", said) for words in ("Serving", "Metrics")]
    assert found[0]
    assert found[1]
    return int(found[0][1]), int(found[1][1])


def sent(port: int, tokens: list[str], count: int) -> dict[int, int]:
    """Sends so many requests, from four threads; how often each status was answered."""
    statuses: dict[int, int] = {}
    lock = threading.Lock()

    def run(seed: int) -> None:
        chance = random.Random(seed)
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(count // 4):
            # The rows in turns, so that each operation comes whatever the count.
            route = TABLE[(4 * number + seed) % len(TABLE)]
            kind = chance.choices(["usual", "mcp", "any"], [3, 1, 6])[0]
            if kind == "any":
                request = asked(route, tokens, chance)
            else:
                request = usual(tokens[0], chance) if kind == "usual" else spoken(tokens, chance)
            try:
                connection.request(*request)
                answer = connection.getresponse()
                answer.read()
            except (HTTPException, OSError):
                connection.close()
                continue
            with lock:
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
        connection.close()

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def of_others(client: Client) -> list[Said]:
    """What another tenant is answered, also about names that it can guess."""
    known = f"/v1/spaces/main/records/{MARK}-id"
    return [
        client.get("/v1/spaces"),
        client.get("/v1/spaces/main/records"),
        client.get(known),
        client.get(f"/v1/spaces/{SPACE}/records"),
        client.get(f"/v1/spaces/{SPACE}/status"),
        client.post(f"/v1/spaces/{SPACE}/recall", {"query": "who"}),
        client.post("/v1/spaces/main/recall", {"query": "who came first"}),
        client.ask("DELETE", known),
    ]


def test_a_logger_that_prints_the_body_is_caught(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """The control: one line of careless logging, in front of the same service."""
    token = tokens_of(store)[0]

    class Careless:
        def __init__(self, app: Any) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            async def heard() -> Message:
                message = await receive()
                logging.getLogger("careless").warning("body: %r", message.get("body"))
                return message

            await self.app(scope, heard, send)

    with served(store, around=Careless) as port:
        client = Client(port, token)
        assert client.post(f"/v1/spaces/{SPACE}/records", {"text": f"{MARK}."}).status == 201
    assert leaks(caplog.text)


@pytest.mark.parametrize("form", ["{}", "x{}", "xx{}", "{}yy"])
def test_the_marker_is_found_in_every_form(form: str) -> None:
    text = form.format(MARK)
    assert leaks(text)
    assert leaks(text.upper())
    assert leaks(text.lower())
    assert leaks(urlsafe_b64encode(text.encode()))
    assert not leaks("Of another tenant.")
