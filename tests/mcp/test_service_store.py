"""``recollect --store http://… mcp``: an assistant on this machine with the memory of a service."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from recollect import Store
from tests.http.serving import served
from tests.http.spoiling import CONTROLS, spoiling
from tests.mcp.talking import TIME_LIMIT_S, Folder, Talk


def test_an_assistant_remembers_and_recalls_through_a_service(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "project", tmp_path / "home")
    folder.project.mkdir()
    folder.home.mkdir()
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("The kettle is green.", key="kettle.colour")
        token = store.tokens.create("assistant", space="main", trust="person").token
        with served(store) as port:
            anyio.run(_talk, folder, f"http://127.0.0.1:{port}", token)
        kept = {one.text: one.trust for one in store.space("main").list()}
    assert kept["The teapot is blue."] == "agent"  # also with a person's token: a model chose it
    assert not (folder.home / ".recollect" / "events.wal").exists()


def test_what_a_hostile_service_says_is_shown_as_marks(tmp_path: Path) -> None:
    """In ids, names and dates too, which a service of ours would have refused."""
    folder = Folder(tmp_path / "project", tmp_path / "home")
    folder.project.mkdir()
    folder.home.mkdir()
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("The kettle is green.", key="kettle.colour")
        token = store.tokens.create("assistant", space="main", trust="person").token
        with served(store) as port, spoiling(port) as proxy:
            anyio.run(_listen, folder, f"http://127.0.0.1:{proxy}", token)


async def _listen(folder: Folder, url: str, token: str) -> None:
    async with _talking(folder, url, token) as session:
        for name, given in (
            ("recall", {"query": "kettle"}),
            ("remember", {"text": "The teapot is blue."}),
        ):
            answer = (await session.call_tool(name, given)).model_dump()
            said = "".join(_texts(answer))
            assert "[U+202E" in said, name  # the control: it did arrive
            assert not CONTROLS & set(said), name


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


async def _talk(folder: Folder, url: str, token: str) -> None:
    async with _talking(folder, url, token) as session:
        talk = Talk(session)
        assert "green" in (await talk.ask("recall", query="Which colour has the kettle?")).text
        await talk.ask("remember", text="The teapot is blue.")
        assert "blue" in (await talk.ask("recall", query="teapot")).text


@asynccontextmanager
async def _talking(folder: Folder, url: str, token: str) -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "recollect", "--store", url, "mcp"],
        env={**folder.environment, "RECOLLECT_TOKEN": token},
        cwd=folder.project,
    )
    with anyio.fail_after(TIME_LIMIT_S):
        async with (
            stdio_client(parameters) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            yield session
