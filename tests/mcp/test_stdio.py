"""The server over stdio as a process and in pieces: what it loads, and what a client can send."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from recollect.assistants.mounts import Mounts
from recollect.interfaces import mcp
from recollect.interfaces.cli import main
from recollect.interfaces.mcp.protocol import Conversation
from recollect.interfaces.mcp.stdio import LINE_MAX_BYTES, Connection, Engine
from recollect.memory import Memory
from tests.mcp.talking import SERVER, Folder, Talk
from tests.mcp.test_same_answers import START, mounts, request

INITIALIZE = request(0, "initialize", START)
LIST = request(1, "tools/list")
RECALL = request(2, "tools/call", {"name": "recall", "arguments": {"query": "anything"}})


def remembering(id: int, text: str) -> dict[str, Any]:
    return request(id, "tools/call", {"name": "remember", "arguments": {"text": text}})


def lines(*asked: dict[str, Any] | bytes) -> bytes:
    told = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in asked)
    return b"".join(line + b"\n" for line in told)


def talked(
    folder: Folder, *asked: dict[str, Any] | bytes, before: Iterable[str] = (), after: str = ""
) -> tuple[dict[Any, Any], str]:
    """The answers of a process by their ids, and what it wrote to stderr; it ends with 0."""
    done = subprocess.run(
        [sys.executable, *before, *SERVER, *after.split()],
        cwd=folder.project,
        env=folder.environment,
        input=lines(*asked),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer["id"]: answer for answer in answers}, done.stderr.decode()


# What is loaded, and when.


def loaded(told: str) -> set[str]:
    """The packages that a process loaded, from what ``-X importtime`` wrote."""
    rows = (line.rpartition("|")[2].strip() for line in told.splitlines() if "import time" in line)
    return {name if name.startswith("recollect") else name.partition(".")[0] for name in rows}


OURS = ("lists", "messages", "protocol", "stdio")
HEAVY = {"anyio", "asyncio", "mcp", "msgspec", "pydantic", "sqlite3", "typer"}


def test_before_the_list_only_the_standard_library_is_loaded(folder: Folder) -> None:
    timed = ("-X", "importtime")
    _, told = talked(folder, INITIALIZE, request(7, "ping"), before=timed)
    first = loaded(told)
    assert not first & HEAVY
    assert {name for name in first if name.startswith("recollect")} == {
        "recollect",
        "recollect.interfaces",
        "recollect.interfaces.mcp",
        *(
            f"recollect.interfaces.mcp.{name}"
            for name in ("lists", "messages", "protocol", "stdio")
        ),
    } - {"recollect.__main__"}
    _, told = talked(folder, INITIALIZE, RECALL, before=timed)  # the control
    assert loaded(told) & HEAVY == {"msgspec", "sqlite3"}  # and the SDK never


def test_the_engine_is_loaded_once_the_list_was_told(folder: Folder) -> None:
    with Memory.open(folder.home / ".recollect") as memory:
        memory.remember("Something.")
    with conversing(folder) as talk:
        talk.say(INITIALIZE)
        assert not talk.engine_is_open()
        talk.say(LIST)
        while not talk.engine_is_open():  # nothing else is asked
            pass


class Conversing:
    """A process that is asked one thing after the other."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, asked: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(lines(asked))
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def engine_is_open(self) -> bool:
        """True if it has the file of the memory's index open."""
        for file in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(OSError):  # it was closed meanwhile
                if "index" in os.readlink(file):
                    return True
        return False


@contextmanager
def conversing(folder: Folder) -> Iterator[Conversing]:
    with subprocess.Popen(
        [sys.executable, *SERVER],
        cwd=folder.project,
        env=folder.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        alarm = threading.Timer(60, process.kill)
        alarm.start()
        try:
            yield Conversing(process)
        finally:
            alarm.cancel()
            process.kill()


def test_listing_and_asking_create_nothing(folder: Folder) -> None:
    answers, _ = talked(folder, INITIALIZE, LIST, RECALL)
    assert answers[2]["result"]["isError"] is False
    assert [file for file in folder.home.rglob("*") if file.is_file()] == []


# The SDK's own client.


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_is_served_in_both_forms_of_the_protocol(folder: Folder, mode: Any) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=[*SERVER], env=folder.environment, cwd=folder.project
    )

    async def run() -> None:
        with anyio.fail_after(60):
            async with Client(server, mode=mode) as session:
                names = [tool.name for tool in (await session.list_tools()).tools]
                assert names[0] == "recall"
                talk = Talk(session)
                made = await talk.ask("remember", text="Both forms are served.")
                found = await talk.ask("recall", query="both forms")
                assert found.data["hits"][0]["id"] == made.data["id"]
                read = await session.read_resource("recollect://status")
                assert "records" in read.contents[0].text  # type: ignore[union-attr]
                assert (await session.get_prompt("distill")).messages

    anyio.run(run)


# What a client can send.


WRONG: list[tuple[bytes, int, Any]] = [
    (b"{", -32700, None),
    (b"\xff", -32700, None),
    (b"\xef\xbb\xbf{}", -32700, None),  # a byte order mark
    (b"NaN", -32700, None),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":Infinity}}', -32700, None),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32700, None),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"\\uDFFF":1}}', -32700, None),
    (b"[" * 100_000, -32700, None),
    (b'{"a":' * 100_000, -32700, None),
    (b'{"jsonrpc":"2.0","id":' + b"1" * 5_000 + b',"method":"ping"}', -32700, None),
    (b"null", -32600, None),
    (b"7", -32600, None),
    (b"{}", -32600, None),
    (b"[]", -32600, None),
    (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
    (b'{"id":"a","method":"ping"}', -32600, "a"),
    (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":7}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
    (b" " * (LINE_MAX_BYTES + 1), -32600, None),
]
SILENT = [
    b"",
    b" \t\r",
    b'{"jsonrpc":"2.0","id":7,"result":{}}',
    b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"notifications/nothing"}',
    b'{"jsonrpc":"2.0","method":"ping"}',
    b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"forget"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
]


def answered(
    folder: Folder, *asked: dict[str, Any] | bytes, opening: Callable[[], Mounts] | None = None
) -> list[Any]:
    """The answers of a connection in this process, in the order in which they came."""
    reading, writing = os.pipe()
    engine = Engine(opening or (lambda: mounts(folder)), "daily")
    found: list[Any] = []

    def drain() -> None:
        with os.fdopen(reading, "rb") as answers:
            found.extend(json.loads(line) for line in answers)

    reader = threading.Thread(target=drain)
    reader.start()
    with os.fdopen(writing, "wb") as outgoing:
        Connection(Conversation("daily"), engine, outgoing).run(io.BytesIO(lines(*asked)))
    reader.join(timeout=60)
    engine.close()
    return found


@pytest.mark.parametrize(
    ("line", "code", "id"), WRONG, ids=[line[:40].decode("latin-1") for line, *_ in WRONG]
)
def test_what_is_not_a_message_is_refused(folder: Folder, line: bytes, code: int, id: Any) -> None:
    refused, pinged = answered(folder, line, request("after", "ping"))
    assert (refused["error"]["code"], refused["id"]) == (code, id)
    assert pinged == {"jsonrpc": "2.0", "id": "after", "result": {}}


@pytest.mark.parametrize("line", SILENT)
def test_what_asks_for_nothing_has_no_answer(folder: Folder, line: bytes) -> None:
    assert [one["id"] for one in answered(folder, INITIALIZE, line, LIST)] == [0, 1]


def test_a_message_with_whole_characters_in_escapes_is_taken(folder: Folder) -> None:
    (answer,) = answered(folder, b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00","method":"ping"}')
    assert answer["id"] == "😀"


def test_a_message_without_a_newline_at_the_end_is_answered(folder: Folder) -> None:
    asked = json.dumps(request(1, "ping")).encode()
    answers = io.BytesIO()
    engine = Engine(lambda: mounts(folder), "daily")
    Connection(Conversation("daily"), engine, answers).run(io.BytesIO(asked))
    assert json.loads(answers.getvalue())["id"] == 1


def test_a_line_of_any_length_takes_little_memory(folder: Folder) -> None:
    with conversing(folder) as talk:
        assert talk.process.stdin is not None
        for _ in range(200):
            talk.process.stdin.write(b"x" * 1_000_000)
        assert talk.say(request("x", "ping"))["error"]["code"] == -32600  # the line ends here
        assert talk.say(request("y", "ping"))["id"] == "y"
        status = Path(f"/proc/{talk.process.pid}/status").read_text()
        (most,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        assert int(most) < 100_000  # kB; the line has 200,000


def test_the_longest_line_that_is_read_is_answered(folder: Folder) -> None:
    long = request(5, "ping", {"x": ""})
    room = LINE_MAX_BYTES - len(json.dumps(long))
    whole, over = answered(
        folder,
        request(5, "ping", {"x": "x" * room}),
        request(5, "ping", {"x": "x" * (room + 1)}),
    )
    assert (whole["id"], over["error"]["code"]) == (5, -32600)


# Calls that are slow, taken back or never answered.


class SlowMounts(Mounts):
    """Mounts whose questions wait until they are let go, once they are slow."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(mounts(folder)._where)
        self.counting = threading.Condition()
        self.at_once = self.most = 0
        self.is_slow = False
        self.let_go = threading.Event()

    def of_agent(self, label: str) -> SlowMounts:
        return self

    def recall(self, *given: object, **named: object) -> Any:
        with self.counting:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            self.counting.notify_all()
        if self.is_slow:
            assert self.let_go.wait(timeout=60)
        with self.counting:
            self.at_once -= 1
        return super().recall(*given, **named)  # type: ignore[arg-type]


class Slowly:
    """A connection in this process whose recalls wait."""

    def __init__(self, folder: Folder) -> None:
        self.mounts = SlowMounts(folder)
        self._engine = Engine(lambda: self.mounts, "daily")
        self._engine.answers()
        self.mounts.is_slow = True
        (incoming, self._writing), (reading, outgoing) = os.pipe(), os.pipe()
        self._incoming, self._answers = os.fdopen(incoming, "rb"), os.fdopen(reading, "rb")
        self._outgoing = os.fdopen(outgoing, "wb")
        connection = Connection(Conversation("daily"), self._engine, self._outgoing)
        self._running = threading.Thread(target=connection.run, args=(self._incoming,))
        self._running.start()

    def give(self, *asked: dict[str, Any]) -> None:
        told = lines(*asked)
        assert os.write(self._writing, told) == len(told)

    def answer(self) -> Any:
        return json.loads(self._answers.readline())["id"]

    def wait_for(self, at_once: int) -> None:
        with self.mounts.counting:
            assert self.mounts.counting.wait_for(lambda: self.mounts.at_once == at_once, timeout=60)

    def end(self) -> list[Any]:
        """Lets every call go and ends the input; the ids of the answers that follow."""
        self.mounts.let_go.set()
        os.close(self._writing)
        self._running.join(timeout=60)
        self._outgoing.close()
        with self._answers, self._incoming:
            ids = [json.loads(line)["id"] for line in self._answers]
        self._engine.close()
        return ids


def recalls(*ids: int) -> list[dict[str, Any]]:
    return [RECALL | {"id": id} for id in ids]


def test_eight_calls_run_at_once_and_others_wait_without_blocking(folder: Folder) -> None:
    slow = Slowly(folder)
    slow.give(INITIALIZE, *recalls(*range(10, 30)), request("p", "ping"))
    slow.wait_for(8)
    assert [slow.answer(), slow.answer()] == [0, "p"]
    assert set(slow.end()) == set(range(10, 30))
    assert slow.mounts.most == 8


def cancelled(id: object) -> dict[str, Any]:
    told = {"method": "notifications/cancelled", "params": {"requestId": id, "reason": "no"}}
    return {"jsonrpc": "2.0", **told}


def test_a_call_that_is_taken_back_has_no_answer_and_if_it_waited_no_effect(folder: Folder) -> None:
    slow = Slowly(folder)
    slow.give(INITIALIZE, *recalls(*range(10, 18)))
    slow.wait_for(8)
    slow.give(remembering(20, "Taken back."), remembering(21, "Kept."))
    slow.give(cancelled(20), cancelled("11"), cancelled(404), request("p", "ping"))
    assert [slow.answer(), slow.answer()] == [0, "p"]
    assert sorted(slow.end()) == [10, *range(12, 18), 21]
    with Memory.open(folder.home / ".recollect") as memory:
        assert [record.text for record in memory.list()] == ["Kept."]


def test_what_was_asked_before_the_end_of_the_input_is_answered(folder: Folder) -> None:
    asked = [remembering(number, f"Number {number}.") for number in range(10, 60)]
    answers, _ = talked(folder, INITIALIZE, *asked, RECALL)
    assert set(answers) == {0, 2, *range(10, 60)}
    with Memory.open(folder.home / ".recollect") as memory:
        assert len(memory.list(limit=100)) == 50
        assert memory.admin.verify().ok


def test_a_client_that_no_longer_reads_ends_the_server_without_harm(folder: Folder) -> None:
    with subprocess.Popen(
        [sys.executable, *SERVER],
        cwd=folder.project,
        env=folder.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(lines(INITIALIZE))
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(lines(remembering(1, "Nobody hears it.")))
        process.stdin.flush()
        process.stdin.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""
    with Memory.open(folder.home / ".recollect") as memory:
        assert [record.text for record in memory.list()] == ["Nobody hears it."]


# The process.


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_waits(folder: Folder, which: signal.Signals) -> None:
    with conversing(folder) as talk:
        talk.say(INITIALIZE)
        talk.say(remembering(1, "Acknowledged."))
        talk.process.send_signal(which)
        assert talk.process.wait(timeout=60) == -which
    with Memory.open(folder.home / ".recollect") as memory:
        assert [record.text for record in memory.list()] == ["Acknowledged."]


NOISY = """
import os
from recollect.assistants.mounts import Mounts
from recollect.interfaces.mcp import stdio
def opening():
    print("a library prints", flush=True)
    os.write(1, b"or writes\\n")
    os.system("echo or starts something")
    print(repr(input()) if os.read(0, 1) else "no input", flush=True)
    return Mounts.open()
stdio.serve(opening, "daily")
"""


def test_what_a_library_prints_does_not_reach_the_client(folder: Folder) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NOISY],
        cwd=folder.project,
        env=folder.environment,
        input=lines(INITIALIZE, RECALL, request(3, "ping")),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {0, 2, 3}
    for noise in ("a library prints", "or writes", "or starts something", "no input"):
        assert noise in done.stderr.decode()


@pytest.mark.parametrize(
    ("options", "code"),
    [("--store nothing://there", "unsupported"), ("--space " + "x" * 65, "limit_exceeded")],
)
def test_what_cannot_be_opened_is_told_by_each_call(
    folder: Folder, options: str, code: str
) -> None:
    answers, _ = talked(folder, INITIALIZE, LIST, RECALL, after=options)
    assert len(answers[1]["result"]["tools"]) == 5
    assert answers[2]["result"]["structuredContent"]["error"]["code"] == code


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_a_closed_end_ends_it(folder: Folder, closed: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, *SERVER],
        cwd=folder.project,
        env=folder.environment,
        input=b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


# The command line.


PLAIN = [
    [],
    ["--tools", "all"],
    ["--tools=all"],
    ["--store", "x", "--space", "work"],
    ["--space=a", "--space", "b"],
    ["--folder", "."],
    ["--folder=.", "--store=x=y"],
]
NOT_PLAIN = [
    ["--tools", "some"],
    ["--tools"],
    ["--tools="],
    ["--folder", "nowhere"],
    ["--folder", ""],
    ["--store", "--space"],
    ["--http"],
    ["--help"],
    ["--json"],
    ["-x"],
    ["status"],
    ["install", "codex"],
    ["--", "x"],
]


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_a_plain_command_line_means_what_the_parser_says(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, Any]] = []
    defaults = {"store": None, "space": "main", "folder": None, "tools": "daily"}
    unset = {"http": False, "port": 0}
    monkeypatch.setattr(mcp, "serve", lambda **given: told.append(defaults | unset | given))
    assert mcp.run_plain(["mcp", *words])
    assert main(["mcp", *words], start={"mcp": lambda **given: told.append(given)}) == 0
    assert told[0] == told[1]


@pytest.mark.parametrize("words", NOT_PLAIN, ids=" ".join)
def test_any_other_command_line_is_left_to_the_parser(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**given: object) -> None:
        raise AssertionError(given)

    monkeypatch.setattr(mcp, "serve", refuse)
    assert not mcp.run_plain(["mcp", *words])
    assert not mcp.run_plain(["recall", *words])
