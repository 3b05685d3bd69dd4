"""How programs ask a model: Anthropic's Messages, OpenAI's Responses and Chat, Gemini.

Responsible for reading a request and for writing an answer as each of them streams it. Leaves what
is answered to ``model``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Body = dict[str, Any]


class Use(NamedTuple):
    """A tool that the model calls, by the name that the program gave it."""

    name: str
    given: Body
    id: str
    namespace: str | None = None


class Tool(NamedTuple):
    """A tool that a program offers."""

    name: str
    namespace: str | None = None


def event(data: Body, name: str | None = None) -> bytes:
    """One event of a stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


class Anthropic:
    """The Messages API, which Claude Code speaks."""

    end = "/messages"

    @staticmethod
    def tools(body: Body) -> list[Tool]:
        return [Tool(tool["name"]) for tool in body.get("tools", []) if "name" in tool]

    @staticmethod
    def answer(body: Body, said: str | Use) -> Iterator[bytes]:
        if isinstance(said, Use):
            block: Body = {"type": "tool_use", "id": said.id, "name": said.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(said.given)}
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": said}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        }
        stop = "tool_use" if isinstance(said, Use) else "end_turn"
        if not body.get("stream"):
            whole = block | ({"input": said.given} if isinstance(said, Use) else {"text": said})
            yield json.dumps(message | {"content": [whole], "stop_reason": stop}).encode()
            return
        ended = {"stop_reason": stop, "stop_sequence": None}
        for kind, data in (
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": ended, "usage": {"output_tokens": 5}}),
            ("message_stop", {}),
        ):
            yield event({"type": kind, **data}, kind)


class Responses:
    """OpenAI's Responses API, which Codex speaks."""

    end = "/responses"

    @staticmethod
    def tools(body: Body) -> list[Tool]:
        found = []
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                found += [Tool(one["name"], tool["name"]) for one in tool.get("tools", [])]
            elif "name" in tool:
                found.append(Tool(tool["name"]))
        return found

    @staticmethod
    def answer(body: Body, said: str | Use) -> Iterator[bytes]:
        if isinstance(said, Use):
            item: Body = {
                "type": "function_call",
                "id": f"fc_{said.id}",
                "call_id": said.id,
                "name": said.name,
                "arguments": json.dumps(said.given),
            }
            if said.namespace:
                item["namespace"] = said.namespace
        else:
            text = {"type": "output_text", "text": said, "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
        usage = {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        }
        response: Body = {"id": "resp_1", "object": "response", "output": [], "usage": None}
        for kind, data in (
            ("response.created", {"response": response}),
            ("response.output_item.added", {"output_index": 0, "item": item}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            (
                "response.completed",
                {"response": response | {"output": [item], "usage": usage, "status": "completed"}},
            ),
        ):
            yield event({"type": kind, **data}, kind)


class Chat:
    """OpenAI's Chat Completions, which opencode speaks with a server of one's own."""

    end = "/chat/completions"

    @staticmethod
    def tools(body: Body) -> list[Tool]:
        return [Tool(tool["function"]["name"]) for tool in body.get("tools", [])]

    @staticmethod
    def answer(body: Body, said: str | Use) -> Iterator[bytes]:
        if isinstance(said, Use):
            called = {"name": said.name, "arguments": json.dumps(said.given)}
            call = {"index": 0, "id": said.id, "type": "function", "function": called}
            delta: Body = {"role": "assistant", "tool_calls": [call]}
        else:
            delta = {"role": "assistant", "content": said}
        stop = "tool_calls" if isinstance(said, Use) else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        base = {"id": "c1", "created": 1, "model": body.get("model", "scripted")}
        kind = "chat.completion.chunk" if body.get("stream") else "chat.completion"
        base |= {"object": kind}
        if not body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": stop}
            yield json.dumps(base | {"choices": [choice], "usage": usage}).encode()
            return
        yield event(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield event(
            base | {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}
        )
        yield b"data: [DONE]\n\n"


class Gemini:
    """Gemini's own API, which Gemini CLI speaks."""

    end = "GenerateContent"

    @staticmethod
    def tools(body: Body) -> list[Tool]:
        groups = (tool.get("functionDeclarations", []) for tool in body.get("tools", []))
        return [Tool(one["name"]) for group in groups for one in group]

    @staticmethod
    def answer(body: Body, said: str | Use) -> Iterator[bytes]:
        if isinstance(said, Use):
            part: Body = {"functionCall": {"id": said.id, "name": said.name, "args": said.given}}
        else:
            part = {"text": said}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        candidate = {"index": 0, "content": content, "finishReason": "STOP"}
        yield event({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"})


PROTOCOLS = (Anthropic, Responses, Chat, Gemini)
