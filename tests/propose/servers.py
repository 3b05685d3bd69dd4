"""Answers of a server with OpenAI's chat API: good, bad and hostile."""

from __future__ import annotations

import json
from typing import Any

from tests.endpoint.servers import JsonServer, Reply

__all__ = ["JsonServer", "Reply", "data_of", "raw", "saying", "suggesting"]


def raw(status: int, body: bytes = b"{}") -> Reply:
    """The same bytes for every request."""
    return lambda asked: (status, body)


def saying(content: str | None, **more: Any) -> Reply:
    """A model that says this."""
    return lambda asked: (200, said(content, **more))


def said(content: str | None, **more: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "choices": [choice], **more}
    ).encode()


def suggesting(*suggestions: dict[str, Any], **more: Any) -> Reply:
    """A model that suggests this, in the form that was asked for."""
    return saying(json.dumps({"suggestions": list(suggestions)}), **more)


def data_of(asked: dict[str, Any]) -> dict[str, Any]:
    """The episodes and records that a request holds."""
    system, user = asked["messages"]
    fence, data, end = user["content"].split("\n")
    assert fence == end
    assert fence in system["content"]
    found: dict[str, Any] = json.loads(data)
    return found
