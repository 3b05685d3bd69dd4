"""Suggestions from any server with OpenAI's ``/chat/completions`` API.

Responsible for one request for each batch, for what a pass may cost, and for the form of the
answer. Leaves sending to ``recollect.endpoint``, and whether a suggestion holds to
``memory.rules.suggestions``. Invariants: a request is counted before it is sent, with an estimate
that the server's own count can only raise; an answer is read whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from recollect.endpoint import Endpoint, Refused
from recollect.errors import LimitExceeded, Unavailable
from recollect.model.validate import Json
from recollect.model.values import Episode, Record, Suggestion
from recollect.propose.port import Unusable
from recollect.propose.prompt import SCHEMA, messages
from recollect.recall.pack import count_tokens
from recollect.store.seam import REAL, Seam

MAX_CALLS: Final = 50  # of one pass, by default
MAX_TOKENS: Final = 200_000
_ANSWER_MAX_TOKENS: Final = 4_096
_ANSWER_MAX_BYTES: Final = 1 << 20
_FENCE_BYTES: Final = 16
_WAIT_S: Final = 1.0  # before the second try; doubled before each next
_TRIES: Final = 3
_TIMEOUT_S: Final = 120.0  # of one try: a model on this machine may be slow
_UNKNOWN: Final = (400, 422)  # what servers answer to an option that they do not know
_STRICT: Final[Json] = {
    "type": "json_schema",
    "json_schema": {"name": "suggestions", "strict": True, "schema": SCHEMA},
}
# Servers differ in what they know: the first of these that one accepts is used from then on.
_FORMS: Final[tuple[dict[str, Json], ...]] = (
    {"response_format": _STRICT, "max_tokens": _ANSWER_MAX_TOKENS, "temperature": 0},
    {"response_format": _STRICT, "max_completion_tokens": _ANSWER_MAX_TOKENS},
    {"max_tokens": _ANSWER_MAX_TOKENS},
)


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Usage(msgspec.Struct):
    total_tokens: int = 0


class _Answer(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class _Suggestions(msgspec.Struct):
    suggestions: list[Suggestion]


class ChatProposer:
    """A language model that suggests what episodes change. What is sent to it leaves this machine.

    ``max_calls`` and ``max_tokens`` are for one pass: what would pass them is not sent.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        max_calls: int = MAX_CALLS,
        max_tokens: int = MAX_TOKENS,
        timeout_s: float = _TIMEOUT_S,
        seam: Seam = REAL,
    ) -> None:
        self._server = Endpoint(
            url,
            model,
            "chat/completions",
            key,
            what="proposer",
            hint="check its address, model and key; it must have OpenAI's /v1/chat/completions",
            answer_max_bytes=_ANSWER_MAX_BYTES,
            timeout_s=timeout_s,
            tries=_TRIES,
            wait_s=_WAIT_S,
        )
        self._model = model
        self._seam = seam
        self._max_calls, self._max_tokens = max_calls, max_tokens
        self._form = 0
        self.calls = self.tokens = 0  # of this pass

    def __repr__(self) -> str:
        return f"ChatProposer({self._server.place!r}, {self._model!r})"

    def begin(self) -> None:
        """A pass begins: count from zero."""
        self.calls = self.tokens = 0

    def __call__(
        self, episodes: Sequence[Episode], related: Sequence[Record], /
    ) -> list[Suggestion]:
        """What the model suggests.

        Raises:
            LimitExceeded: The pass would cost more than it may; nothing was sent.
            Unusable: The answer is not what was asked for.
            Unavailable: The server did not answer.
        """
        fence = f"=== {self._seam.random(_FENCE_BYTES).hex()} ==="
        asked = messages(episodes, related, fence)
        sent = sum(count_tokens(message["content"]) for message in asked)
        answer = self._parsed(self._answered(asked, sent + _ANSWER_MAX_TOKENS))
        content = answer.choices[0].message.content or ""
        told = 0 if answer.usage is None else answer.usage.total_tokens
        # The last try was counted with the longest answer; now its length is known.
        self.tokens += max(told, sent + count_tokens(content)) - sent - _ANSWER_MAX_TOKENS
        return self._suggestions(content)

    def _answered(self, asked: list[dict[str, str]], tokens: int) -> bytes:
        """The server's answer, in the first form of a request that it accepts."""
        while True:
            body = {"model": self._model, "messages": asked, **_FORMS[self._form]}
            try:
                return self._server.ask(msgspec.json.encode(body), lambda: self._count(tokens))
            except Refused as error:
                if error.status not in _UNKNOWN or self._form + 1 == len(_FORMS):
                    raise
                self._form += 1

    def _count(self, tokens: int) -> None:
        """Counts a try before it is made, and refuses one that may cost too much."""
        if self.calls + 1 > self._max_calls:
            raise LimitExceeded(
                f"the proposer may be asked {self._max_calls:,} times in one pass",
                hint="run another pass, or raise RECOLLECT_PROPOSER_MAX_CALLS",
            )
        if self.tokens + tokens > self._max_tokens:
            raise LimitExceeded(
                f"the proposer may use {self._max_tokens:,} tokens in one pass; "
                f"{self.tokens:,} are used and the next request may take {tokens:,}",
                hint="run another pass, or raise RECOLLECT_PROPOSER_MAX_TOKENS",
            )
        self.calls += 1
        self.tokens += tokens

    def _parsed(self, data: bytes) -> _Answer:
        try:
            answer = msgspec.json.decode(data, type=_Answer)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._unusable("could not be parsed") from error
        if not answer.choices:
            raise self._unusable("has no choice")
        return answer

    def _suggestions(self, content: str) -> list[Suggestion]:
        try:
            return msgspec.json.decode(_bare(content), type=_Suggestions).suggestions
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._unusable("does not hold suggestions in the form asked for") from error

    def _unusable(self, what: str) -> Unusable:
        error: Unavailable = self._server.strange(what)
        return Unusable(error.message, hint=error.hint)


def _bare(content: str) -> str:
    """A JSON text without the code fence that some models put around it."""
    content = content.strip()
    lines = content.split("\n")
    if len(lines) > 2 and lines[0].strip() in ("```", "```json") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1])
    return content
