"""Over MCP, a correction in a conversation comes first and says so."""

from __future__ import annotations

from recollect.assistants.mounts import Mounts
from recollect.config import places
from recollect.interfaces.mcp.answers import Recalled
from recollect.interfaces.mcp.tools import DAILY
from recollect.memory import Memory
from tests.mcp.talking import Folder
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
