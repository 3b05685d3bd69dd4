"""Over MCP nothing is erased, undone or reverted: models forget, and people do the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.errors import Forbidden
from recollect.interfaces.mcp.entities import ENTITIES
from recollect.interfaces.mcp.reviewing import REVIEWING
from recollect.interfaces.mcp.tools import DAILY, EXPLAINING, MORE
from tests.undone import brought_back

WORDS = ("erase", "undo", "revert", "retain", "drop", "restore")


def named(tools: tuple[str, ...]) -> list[str]:
    """The tools whose name holds one of the words."""
    return [tool for tool in tools if any(word in tool for word in WORDS)]


def test_no_tool_takes_anything_back_for_good() -> None:
    assert (
        named(tuple(tool.name for tool in (*DAILY, *EXPLAINING, *MORE, *REVIEWING, *ENTITIES)))
        == []
    )
    assert named(("erase_all", "recall")) == ["erase_all"]  # the control
    assert [word for word in WORDS if hasattr(Mounts, word)] == []
    assert hasattr(Mounts, "forget")


def test_an_agent_behind_the_mounts_may_not_either(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    where = places(start=tmp_path / "code", home=tmp_path, environment={})
    with Mounts(where) as mine:
        record = mine.remember("The port is 5432.", key="port", mount="personal").value
        mine.remember("The port is 5433.", key="port", mount="personal")
    with Mounts(where, scope=Scoping(trust="agent")) as mounts:
        _, memory = mounts.writer("personal")
        for call in (memory.undo, memory.erase):
            with pytest.raises(Forbidden):
                call("port")
        with pytest.raises(Forbidden):
            memory.undo()
        assert memory.get(key="port").text == "The port is 5433."
    with Mounts(where) as mine:  # the control: a person may
        assert brought_back(mine.writer("personal")[1].undo("port")).id == record.id
