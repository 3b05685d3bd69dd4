"""Over MCP: a correction in a conversation comes first and says so, and who wrote is named."""

from __future__ import annotations

import anyio
import mcp_types as types
import pytest

from recollect.assistants.mounts import Mounts
from recollect.config import places
from recollect.interfaces.mcp.answers import Recalled
from recollect.interfaces.mcp.tools import DAILY
from recollect.memory import Memory
from tests.mcp.talking import Folder, talking
from tests.recall.test_talk import seats


def test_a_correction_comes_first_and_says_so(folder: Folder) -> None:
    with Memory.open(folder.home / ".recollect") as memory:
        seats(memory)
    with Mounts(places(start=folder.project, home=folder.home)) as mounts:
        answer = DAILY[0].call(mounts, {"query": "Where do I sit?", "k": 8})
    assert isinstance(answer, Recalled)
    newest, older, *rest = answer.hits
    assert newest.text == "I don't sit in 14C any more, I sit in 2F now."
    assert (newest.corrects, older.corrected_by) == ((older.id,), newest.id)
    assert "Where do I sit?" not in {hit.text for hit in rest}  # asked six times before
    lines = answer.short().splitlines()
    assert f"(newer than {older.id}, which it contradicts)" in lines[0]
    assert f"(contradicted by the newer {newest.id})" in lines[1]


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("claude-code", "claude-code"),
        ("person", None),  # what lists say of a person without a name
        ("claude\u200bcode", None),
        ("line\nbreak", None),
        ("a" * 10_000, None),
        ("", None),
    ],
)
def test_what_a_client_writes_has_its_name(folder: Folder, name: str, agent: str | None) -> None:
    async def run() -> str:
        client = types.Implementation(name=name, version="1")
        async with talking(folder, client=client) as talk:
            made = await talk.ask("remember", text="Standup is at ten.")
            return str(made.data["id"])

    id = anyio.run(run)
    with Memory.open(folder.home / ".recollect") as memory:
        record = memory.get(id)
        assert record.scope.agent == agent
        assert record.trust == "agent"
        assert memory.why(id).author is None  # a name that nobody checked acts for no person
