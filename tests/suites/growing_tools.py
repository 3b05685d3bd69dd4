"""What can be made large for each tool that a model may call: more of the growth suite's table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from recollect import Memory
from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.interfaces.mcp.calls import TOOLS
from tests.suites.growing import Case, chain, facts, linked, resting, words
from tests.suites.growth import Call

Given = dict[str, object]
State = Callable[[Memory, int], Given]

TOOL_CASES: Final[list[Case]] = []
_TOOLS: Final = {tool.name: tool for tool in TOOLS["all"]}


def case(
    tool: str,
    grows: str,
    size: int,
    *,
    most: int | None = None,
    times: int = 1,
) -> Callable[[State], State]:
    """Enters a tool into the table; the function makes the memory and says what is given."""

    def enter(state: State) -> State:
        def prepare(memory: Memory, size: int) -> Call:
            given = state(memory, size)
            memory.close()
            folder = Path(memory.where)
            home = folder.parent / "home"
            home.mkdir(exist_ok=True)
            at = places(folder, start=home, home=home, environment={})
            mounts = Mounts(at, scope=Scoping(trust="agent"))

            def run() -> None:
                for _ in range(times):
                    _TOOLS[tool].call(mounts, given).short()
                mounts.close()

            return run

        reads = _TOOLS[tool].reads
        TOOL_CASES.append(Case(f"tool {tool}", grows, size, prepare, most, reads, True))
        return state

    return enter


@case("recall", "records that match", 1_000, most=9_000)
def _(memory: Memory, size: int) -> Given:
    facts(memory, size)
    return {"query": "Which crane stands at the harbour?", "k": 100}


@case("recall", "explained hits", 40, most=100, times=5)
def _(memory: Memory, size: int) -> Given:
    facts(memory, 100)
    return {"query": "Which crane?", "k": size, "explain": True}


@case("remember", "text", 8_000, most=100_000)
def _(memory: Memory, size: int) -> Given:
    memory.remember("The harbour has a crane.")
    return {"text": words(size)}


@case("remember", "tags", 32, most=64, times=10)
def _(memory: Memory, size: int) -> Given:
    memory.remember("The harbour has a crane.")
    return {"text": "Red.", "tags": [f"tag {number}" for number in range(size)]}


@case("revise", "text", 8_000, most=100_000)
def _(memory: Memory, size: int) -> Given:
    record = memory.scoped(trust="agent").remember("The harbour has a crane.")
    return {"id": record.id, "text": words(size)}


@case("forget", "records on one episode", 400, most=9_000)
def _(memory: Memory, size: int) -> Given:
    return {"id": resting(memory.scoped(trust="agent"), size)[0]}


@case("history", "records in whose place it is", 400, most=9_000)
def _(memory: Memory, size: int) -> Given:
    return {"id": chain(memory, size)}


@case("history", "links", 1_000, most=9_000)
def _(memory: Memory, size: int) -> Given:
    return {"id": linked(memory, size)}


@case("observe", "blocks of memory", 2_000, most=40_000)
def _(memory: Memory, size: int) -> Given:
    memory.remember("The harbour has a crane.")
    return {"text": "crane <recollect>" * size}


@case("context", "records that match", 500, most=9_000)
def _(memory: Memory, size: int) -> Given:
    facts(memory, size)
    return {"query": "Which crane stands at the harbour?", "tokens": 50_000}


@case("list", "length of the filter", 30, most=64, times=10)
def _(memory: Memory, size: int) -> Given:
    facts(memory, 100)
    return {"filter": " or ".join(f"text contains 'a{number}'" for number in range(size))}


@case("propose", "characters of text", 3_000, most=90_000, times=5)
def _(memory: Memory, size: int) -> Given:
    return {"text": words(size)}


@case("review_list", "records that are held", 100, most=200, times=5)
def _(memory: Memory, size: int) -> Given:
    facts(memory.scoped(trust="unverified"), size)
    return {"limit": 200}


@case("events", "events", 500, most=9_000, times=5)
def _(memory: Memory, size: int) -> Given:
    facts(memory, size)
    return {"limit": 200}


@case("list_memories", "records about one thing", 200, most=9_000)
def _(memory: Memory, size: int) -> Given:
    with memory.batch() as batch:
        for number in range(size):
            tags = [f"tag {number} {other}" for other in range(32)]
            batch.remember(f"Crane {number} is red.", about="cranes", tags=tags)
    return {}


@case("read_memory", "records about one thing", 400, most=1_000)
def _(memory: Memory, size: int) -> Given:
    with memory.batch() as batch:
        for number in range(size):
            batch.remember(f"Crane {number} is red.", about="cranes")
    return {"name": "cranes", "limit": 1_000}


@case("flag_compact", "records about one thing", 200, most=9_000)
def _(memory: Memory, size: int) -> Given:
    with memory.batch() as batch:
        for number in range(size):
            batch.remember(f"Crane {number} stands.", about="harbour")
    return {"name": "topic-harbour"}


@case("search", "versions of the hits", 40, most=100, times=5)
def _(memory: Memory, size: int) -> Given:
    facts(memory, 100)
    return {"query": "Which crane?", "k": size, "include_superseded": True}
