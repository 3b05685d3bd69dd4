"""A server on this machine that answers as an OpenAI-compatible one does, or as a bad one."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.endpoint.servers import JsonServer

Answer = Callable[[list[str]], tuple[int, bytes]]


def vectors(texts: list[str]) -> tuple[int, bytes]:
    """Three numbers for each text, last text first: the index counts, not the order."""
    data = [
        {"index": n, "embedding": [len(text), sum(map(ord, text)) % 97, 3.0], "object": "embedding"}
        for n, text in enumerate(texts)
    ]
    return 200, json.dumps({"object": "list", "data": data[::-1], "model": "small"}).encode()


class Server(JsonServer):
    """Gives each answer the texts that it was asked about."""

    def __init__(self, *answers: Answer, headers: dict[str, str] | None = None) -> None:
        replies = [partial(_reply, answer) for answer in answers or (vectors,)]
        super().__init__(*replies, headers=headers)


def _reply(answer: Answer, body: dict[str, Any]) -> tuple[int, bytes]:
    return answer(body["input"])
