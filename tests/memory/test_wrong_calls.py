"""A wrong call in Python gets an error of Recollect's own, with the call that works."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from recollect import AsyncMemory, InvalidInput, Memory, RecollectError
from recollect.lifecycle.commands import Revise

EXTRAS = {
    "anthropic": ("anthropic", "anthropic"),
    "langgraph": ("langgraph", "langgraph"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
}


@pytest.mark.parametrize("given", ["x", 3, None])
def test_a_memory_is_opened(given: Any) -> None:
    hint = "Memory.open()" if given is None else f"Memory.open({given!r})"
    for kind in (Memory, AsyncMemory):
        with pytest.raises(InvalidInput, match="opened, not constructed") as refused:
            kind(given)
        assert hint in str(refused.value.hint)
        with pytest.raises(InvalidInput, match="opened, not constructed"):
            kind()


def test_the_control_opens() -> None:
    async def opened() -> str:
        async with await AsyncMemory.open(":memory:") as memory:
            return (await memory.remember("x")).text

    assert asyncio.run(opened()) == "x"


WRONG: dict[str, Callable[[Any], object]] = {
    "expires=30": lambda m: m.remember("x", expires=30),
    "expires=30 on revise": lambda m: m.revise("x", "y", expires=30.5),
    "valid_from=3": lambda m: m.remember("x", valid_from=3),
    "said_at=3": lambda m: m.observe("x", said_at=3),
    "at(None)": lambda m: m.at(None),
    "get(3)": lambda m: m.get(3),
    "tags=3": lambda m: m.remember("x", tags=3),
    "evidence=3": lambda m: m.remember("x", evidence=3),
    "observe(3)": lambda m: m.observe(3),
    "observe([3])": lambda m: m.observe([{"role": "user", "content": "x"}, 3]),
    "open(3)": lambda m: type(m).open(3),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_is_refused_with_our_own_error(call: Callable[[Any], object]) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        with pytest.raises(RecollectError):
            call(memory)
        assert memory.list() == []
        assert memory.sessions.episodes() == []


def test_a_number_of_days_is_told_how_to_write_it() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        with pytest.raises(InvalidInput) as refused:
            memory.remember("x", expires=30)  # type: ignore[arg-type]
        assert refused.value.hint == "pass timedelta(days=30)"


def test_the_first_of_no_hits_is_named() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        with pytest.raises(IndexError, match="no hits for 'tea'"):
            memory.recall("tea")[0]
        memory.remember("Tea is at four.")
        assert memory.recall("tea")[0].text == "Tea is at four."
        with pytest.raises(IndexError, match="1 hit for 'tea'"):
            memory.recall("tea")[1]
        assert list(memory.recall("tea")[5:]) == []


@pytest.mark.parametrize("name", EXTRAS)
def test_an_integration_without_its_extra_names_it(name: str) -> None:
    package, extra = EXTRAS[name]
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "try:\n"
        f"    import recollect.integrations.{name}\n"
        "except ImportError as error:\n"
        "    print(type(error).__name__, error.code, error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        f"NotInstalled not_installed install it with: pip install 'recollect[{extra}]'"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"source_type": "bogus"},
        {"is_hypothesis": 7},
        {"confidence": float("nan")},
        {"text": "\ud800"},
    ],
)
def test_an_act_that_no_event_can_hold_is_refused(fields: dict[str, Any]) -> None:
    with Memory.open(":memory:") as memory:
        record = memory.remember("Alice sits in 14C.")
        with pytest.raises(InvalidInput, match="Revise cannot be stored"):
            memory.events.submit(Revise(id=record.id, **fields))
        memory.events.submit(Revise(id=record.id, kind="decision"))  # the control
        assert [each.kind for each in memory.list()] == ["decision"]
        assert memory.admin.verify(deep=True).ok
