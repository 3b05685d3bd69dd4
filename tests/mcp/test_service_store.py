"""``recollect --store http://… mcp``: an assistant on this machine with the memory of a service."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from recollect import Store
from tests.http.serving import served
from tests.mcp.talking import TIME_LIMIT_S, Folder, Talk


def test_an_assistant_remembers_and_recalls_through_a_service(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "project", tmp_path / "home")
    folder.project.mkdir()
    folder.home.mkdir()
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("The kettle is green.", key="kettle.colour")
        token = store.tokens.create("assistant", space="main", origin="person").token
        with served(store) as port:
            anyio.run(_talk, folder, f"http://127.0.0.1:{port}", token)
        kept = {one.text: one.trust for one in store.space("main").list()}
    assert kept["The teapot is blue."] == "agent"  # also with a person's token: a model chose it
    assert not (folder.home / ".recollect" / "events.wal").exists()


async def _talk(folder: Folder, url: str, token: str) -> None:
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
            talk = Talk(session)
            assert "green" in (await talk.ask("recall", query="Which colour has the kettle?")).text
            await talk.ask("remember", text="The teapot is blue.")
            assert "blue" in (await talk.ask("recall", query="teapot")).text
