"""A session of the OpenAI Agents SDK, driven by the SDK's own runner, on every engine."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.items import ModelResponse, TResponseInputItem, TResponseStreamEvent
from agents.memory import Session, SessionSettings, SQLiteSession
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
)

from recollect import Memory
from recollect.errors import InvalidInput, LimitExceeded
from recollect.integrations.openai_agents import RecollectSession, role_of, text_of

QUIET = RunConfig(tracing_disabled=True)


def item(role: str, content: object) -> TResponseInputItem:
    return cast(TResponseInputItem, {"role": role, "content": content})


def says(text: str) -> ResponseOutputItem:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[part]
    )


def calls(name: str, arguments: str) -> ResponseOutputItem:
    return ResponseFunctionToolCall(
        id="f", call_id="call-1", type="function_call", name=name, arguments=arguments
    )


class Scripted(Model):
    """A model that answers from a list and keeps what it was asked."""

    def __init__(self, *answers: ResponseOutputItem) -> None:
        self.answers = list(answers)
        self.asked: list[list[TResponseInputItem]] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        given = args[1] if len(args) > 1 else kwargs["input"]
        self.asked.append([item("user", given)] if isinstance(given, str) else list(given))
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError("this script is not streamed")


@function_tool
def weather(city: str) -> str:
    """The weather somewhere."""
    return f"It rains frogs in {city}"


@pytest.fixture
def loop() -> Iterator[None]:
    """The loop that the runner's plain call takes, and leaves open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
    asyncio.set_event_loop(None)


def test_it_is_a_session(memory: Memory) -> None:
    assert isinstance(RecollectSession("s", memory), Session)


@pytest.mark.usefixtures("loop")
def test_a_conversation_goes_on_and_is_remembered(memory: Memory) -> None:
    model = Scripted(says("Noted: 14C."), says("You sit in 14C."))
    agent = Agent(name="steward", model=model)
    first = RecollectSession("trip", memory)
    Runner.run_sync(agent, "I sit in 14C now.", session=first, run_config=QUIET)
    again = RecollectSession("trip", memory)
    done = Runner.run_sync(agent, "Where do I sit?", session=again, run_config=QUIET)
    assert done.final_output == "You sit in 14C."
    contents = [text_of(cast(dict[str, Any], asked)) for asked in model.asked[1]]
    assert contents == ["I sit in 14C now.", "Noted: 14C.", "Where do I sit?"]
    found = memory.recall("14C", unit="episode")
    said = {"I sit in 14C now.", "Noted: 14C.", "You sit in 14C."}
    assert {hit.text for hit in found if "14C" in hit.text} == said
    assert {hit.trust for hit in found} == {"agent"}


def test_what_a_tool_returned_is_in_the_session_and_apart_in_recall(memory: Memory) -> None:
    model = Scripted(calls("weather", '{"city": "Bergen"}'), says("It rains."))
    agent = Agent(name="meteorologist", model=model, tools=[weather])
    session = RecollectSession("s", memory)

    async def story() -> list[TResponseInputItem]:
        await Runner.run(agent, "Weather in Bergen?", session=session, run_config=QUIET)
        return await session.get_items()

    items = asyncio.run(story())
    kinds = [cast(dict[str, Any], given).get("type") for given in items]
    assert kinds[1:3] == ["function_call", "function_call_output"]
    found = memory.recall("frogs")
    assert list(found) == []
    assert [hit.text for hit in found.unverified] == ["It rains frogs in Bergen"]
    roles = [episode.role for episode in memory.sessions.episodes(include=["waiting"])][::-1]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_sessions_do_not_mix(memory: Memory) -> None:
    names = ["a", "A", "a ", " a", "\u00e9", "e\u0301", "it's", "x" * 300, "x" * 301, "a\nb"]
    sessions = [RecollectSession(name, memory) for name in names]
    sessions.append(RecollectSession("a", memory.scoped(user="bob")))

    async def story() -> None:
        for n, session in enumerate(sessions):
            await session.add_items([item("user", f"words of {n}")])
        for n, session in enumerate(sessions):
            assert await session.get_items() == [item("user", f"words of {n}")]
        await sessions[0].clear_session()
        assert await sessions[1].pop_item() == item("user", "words of 1")
        assert await sessions[0].get_items() == await sessions[1].get_items() == []
        assert len([s for s in sessions if await s.get_items()]) == len(sessions) - 2

    asyncio.run(story())


def test_a_popped_item_is_forgotten_a_cleared_session_is_not(memory: Memory) -> None:
    session = RecollectSession("s", memory)

    async def story() -> None:
        await session.add_items([item("user", f"heron {n}") for n in range(30)])
        await session.add_items([item("user", "a slip about ospreys")])
        assert await session.pop_item() == item("user", "a slip about ospreys")
        await session.clear_session()
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([item("user", "a cleared start")])
        assert await session.get_items() == [item("user", "a cleared start")]

    asyncio.run(story())
    assert list(memory.recall("ospreys")) == []
    assert sum("heron" in hit.text for hit in memory.recall("heron", k=50)) == 30
    assert memory.recall("session was cleared").hits[0].text == "a cleared start"


def test_a_limit_takes_the_last_items(memory: Memory) -> None:
    given = [item("user", str(n)) for n in range(250)]
    session = RecollectSession("s", memory, session_settings=SessionSettings(limit=2))

    async def story() -> None:
        await session.add_items(given)
        assert await session.get_items() == given[-2:]
        assert await session.get_items(limit=1) == given[-1:]
        assert await session.get_items(limit=0) == []
        assert await session.get_items(limit=-1) == given

    asyncio.run(story())


def test_any_item_is_returned_unchanged(memory: Memory) -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    items = cast(
        list[TResponseInputItem],
        [
            {"role": "user", "content": [{"type": "input_text", "text": "two"}, {"type": "x"}]},
            {"role": "user", "content": "\0 and \ud800 and é"},
            {"role": "user", "content": ""},
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "unheard_of", "n": 2**60, "f": 0.1, "deep": deep, "none": None},
            {"type": "function_call_output", "call_id": "c", "output": "out"},
        ],
    )
    session = RecollectSession("s", memory)

    async def story() -> list[TResponseInputItem]:
        await session.add_items(items)
        return await session.get_items()

    assert asyncio.run(story()) == items


def test_what_cannot_be_kept_is_refused_whole(memory: Memory) -> None:
    session = RecollectSession("s", memory)

    async def story(second: object) -> None:
        await session.add_items([item("user", "first"), item("user", second)])

    with pytest.raises(InvalidInput):
        asyncio.run(story({1, 2}))
    with pytest.raises(LimitExceeded):
        asyncio.run(story("x" * 300_000))
    assert asyncio.run(session.get_items()) == []
    with pytest.raises(InvalidInput):
        RecollectSession("", memory)


@pytest.mark.parametrize("seed", range(2))
def test_it_answers_as_the_sdks_own_session_does(memory: Memory, seed: int) -> None:
    dice = random.Random(seed)
    ours, other, theirs = (
        RecollectSession("s", memory),
        RecollectSession("other", memory),
        SQLiteSession("s"),
    )

    async def story() -> None:
        for turn in range(100):
            does = dice.random()
            if does < 0.5:
                count = dice.randrange(4)
                more = [item(dice.choice(["user", "assistant"]), f"{turn}") for _ in range(count)]
                for session in (ours, theirs, other):
                    await session.add_items(more)
            elif does < 0.7:
                assert await ours.pop_item() == await theirs.pop_item()
            elif does < 0.73:
                await ours.clear_session()
                await theirs.clear_session()
            else:
                limit = dice.choice([None, -1, 0, 1, 5])
                assert await ours.get_items(limit) == await theirs.get_items(limit)
        assert await ours.get_items() == await theirs.get_items()

    asyncio.run(story())
    theirs.close()


def test_a_session_outlives_its_process(tmp_path: Path) -> None:
    async def visit(more: list[TResponseInputItem]) -> list[TResponseInputItem]:
        session = RecollectSession.open("s", tmp_path / "w", space="chats")
        await session.add_items(more)
        found = await session.get_items()
        await session.close()
        return found

    asyncio.run(visit([item("user", "one")]))
    assert asyncio.run(visit([item("assistant", "two")])) == [
        item("user", "one"),
        item("assistant", "two"),
    ]


def test_memory_pasted_into_a_prompt_is_not_learned_as_what_was_said(memory: Memory) -> None:
    memory.remember("The vault is in room seven")
    said = item("user", f"{memory.context('vault room')}\n\nWhere is my umbrella?")

    async def story() -> list[TResponseInputItem]:
        session = RecollectSession("s", memory)
        await session.add_items([said])
        return await session.get_items()

    assert asyncio.run(story()) == [said]
    assert [hit.unit for hit in memory.recall("vault room")] == ["record"]
    asked = memory.recall("umbrella", include=["transient"])
    assert [hit.text for hit in asked] == ["Where is my umbrella?"]


@pytest.mark.parametrize(
    ("given", "role", "text"),
    [
        ({"role": "developer", "content": "Be kind"}, "system", "Be kind"),
        ({"role": "assistant", "content": [{"refusal": "No"}]}, "assistant", "No"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "assistant", "f({})"),
        ({"type": "web_search_call"}, "tool", "[web_search_call]"),
        ({"role": "root", "content": " "}, "tool", "[empty message]"),
    ],
)
def test_roles_and_words_of_items(given: dict[str, Any], role: str, text: str) -> None:
    assert (role_of(given), text_of(given)) == (role, text)
