"""Bad calls, slow calls, calls that are taken back: the server answers, and goes on."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.errors import Unsupported
from recollect.interfaces.mcp import serve, server
from recollect.memory import Memory
from tests.mcp.talking import SERVER, Folder, Talk, in_talk

CASES = 40
VALUES: tuple[object, ...] = (
    None, True, 0, -1, 10**30, 1.5, float("1e308"), "", " ", "x", "x" * 200_000, "\x00", "\u202e",
    "\n\r\t", "'; drop table records; --", "../../etc/passwd", "{}", "😀" * 50, [], ["x"], [None],
    [["x"]], {}, {"a": 1}, {"a": {"b": {"c": []}}}, "project", "personal", "user", "tool", "%", "_",
)  # fmt: skip
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "start",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}


def bad_arguments(chance: random.Random, names: list[str]) -> dict[str, object]:
    """Some of the names a tool takes, and some it does not, with whatever values."""
    some = chance.sample(names, chance.randint(0, len(names)))
    stray = ["nobody", "", "__class__", "id\x00"][: chance.randint(0, 1)]
    return {name: chance.choice(VALUES) for name in (*some, *stray)}


def test_no_argument_breaks_a_tool(folder: Folder) -> None:
    chance = random.Random(5)

    async def work(talk: Talk) -> None:
        codes: set[str] = set()
        for tool in (await talk.session.list_tools()).tools:
            names = list(tool.input_schema["properties"])
            for _ in range(CASES):
                said = await talk.call(tool.name, **bad_arguments(chance, names))
                if said.is_error:
                    codes.add(said.error["code"])
        assert codes <= {"invalid_input", "limit_exceeded", "not_found", "conflict", "forbidden"}
        assert "invalid_input" in codes
        made = await talk.ask("remember", text="Still here.")
        assert (await talk.ask("recall", query="still here")).data["hits"][0]["id"] == made.data[
            "id"
        ]

    in_talk(folder, work, "all")
    with Memory.open(folder.home / ".recollect") as memory:
        assert memory.admin.verify().ok


def test_what_is_not_there_is_an_answer(folder: Folder) -> None:
    async def work(talk: Talk) -> None:
        for tool in ("history", "forget"):
            assert (await talk.call(tool, id="20260101-0000-abcdef")).error["code"] == "not_found"
        with pytest.raises(MCPError, match="unknown tool"):
            await talk.call("erase", id="x")
        with pytest.raises(MCPError, match="unknown prompt"):
            await talk.session.get_prompt("approve")
        with pytest.raises(MCPError, match="unknown argument"):
            await talk.session.get_prompt("distill", {"tokens": "9"})

    in_talk(folder, work)


def test_garbage_on_the_wire_breaks_nothing(folder: Folder) -> None:
    garbage = [
        b"", b"{", b"null", b"[]", b"[[]]", b'"x"', b"0", b"\xff\xfe\x00", b"{}" * 1000,
        b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', b'{"jsonrpc":"1.0","id":1}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}',
        b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":7}}',
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"recall","arguments":[]}}',
        b'{"jsonrpc":"2.0","id":10,"method":"nothing/like/it"}',
        b'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"recall",'
        b'"arguments":{"query":"\\ud800"}}}',
        b"[" * 100_000, b'{"a":' * 100_000, b"x" * 1_000_000,
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":404}}',
    ]  # fmt: skip
    started = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = {"name": "remember", "arguments": {"text": "After all that."}}
    last = {"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": call}
    lines = [json.dumps(INITIALIZE).encode(), json.dumps(started).encode(), *garbage]
    with subprocess.Popen(
        [sys.executable, *SERVER],
        cwd=folder.project,
        env=folder.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        alarm = threading.Timer(60, process.kill)
        alarm.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"\n".join([*lines, json.dumps(last).encode()]) + b"\n")
            process.stdin.flush()
            answers = (json.loads(line) for line in process.stdout)
            answer = next(one for one in answers if one.get("id") == "last")
            assert answer["result"]["structuredContent"]["status"] == "active"
            process.stdin.close()
            assert process.wait(timeout=60) == 0
        finally:
            alarm.cancel()


class SlowMounts(Mounts):
    """Mounts whose recall waits until it is let go."""

    def __init__(self, folder: Folder) -> None:
        at = places(start=folder.project, home=folder.home, environment={})
        super().__init__(at, scope=Scoping(trust="agent"))
        self.entered = threading.Event()
        self.let_go = threading.Event()

    def recall(self, *given: object, **named: object) -> object:  # type: ignore[override]
        self.entered.set()
        assert self.let_go.wait(timeout=60)
        return super().recall(*given, **named)  # type: ignore[arg-type]


def test_a_slow_call_does_not_block_others_and_can_be_cancelled(folder: Folder) -> None:
    from mcp import Client

    async def run() -> None:
        slow = SlowMounts(folder)
        with anyio.fail_after(60):
            async with (
                Client(server.build(slow), mode="legacy") as session,
                anyio.create_task_group() as group,
            ):
                group.start_soon(session.call_tool, "recall", {"query": "anything"})
                await anyio.to_thread.run_sync(slow.entered.wait)
                await session.list_tools()
                made = await session.call_tool("remember", {"text": "Meanwhile."})
                assert not made.is_error
                group.cancel_scope.cancel()
                slow.let_go.set()

    anyio.run(run)


def test_without_the_extra_the_next_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(Unsupported) as refused:
        serve(http=True)
    assert refused.value.hint is not None
    assert "pip install 'recollect[mcp]'" in refused.value.hint


def test_only_the_program_itself_starts_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    from recollect.interfaces.cli import main

    assert main(["mcp"]) == 6
    assert "python -m recollect mcp" in capsys.readouterr().err


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    from recollect.errors import ConfigError

    with pytest.raises(ConfigError):
        serve(folder=str(tmp_path / "${workspaceFolder}"))
