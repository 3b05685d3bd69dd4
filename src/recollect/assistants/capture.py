"""Capture: an assistant's session, observed from its transcript.

Responsible for keeping each message once, without secrets, with no more trust than an agent's.
Leaves a transcript's form to ``exchange``, secrets to ``exchange.redaction``. Invariants: a
message is one command named after its id, so that it is kept once for the life of the ledger,
whoever captures it how often, and one that was erased does not come back; what was redacted is
never hashed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec import field

from recollect.assistants.mounts import Mounts, Scoping
from recollect.config import Places
from recollect.errors import Conflict, InvalidInput, LimitExceeded, NotFound, RecollectError
from recollect.exchange.claude_code import LINE_MAX_BYTES, Message, Transcript
from recollect.exchange.redaction import redact
from recollect.memory.face import Memory
from recollect.memory.healing import asked_again
from recollect.memory.reading import reading
from recollect.model.values import Value

AGENT: Final = "claude-code"
_AT_ONCE: Final = 200  # messages whose commands are looked up in one read
_TIME_LIMIT_S: Final = 600.0
_TEXT_MAX_CHARS: Final = 200_000
_RESULT_MAX_CHARS: Final = 16_000


class Captured(Value, frozen=True, kw_only=True):
    """What came of a capture."""

    where: str
    messages: int  # that the transcript has
    kept: int  # of them now for the first time
    known: int
    refused: int = 0  # that no memory takes
    bad_lines: int = 0
    left: int = 0  # when time was up; the next capture goes on with them
    redacted: dict[str, int] = field(default_factory=dict)  # by kind, among what was kept

    def summary(self) -> str:
        """One line of figures, without a word of what was said."""
        parts = [f"kept {self.kept} of {self.messages} messages"]
        parts += [f"{self.refused} refused"] if self.refused else []
        parts += [f"{self.bad_lines} bad lines"] if self.bad_lines else []
        parts += [f"{self.left} left for the next time"] if self.left else []
        parts += [f"redacted {count} {kind}" for kind, count in self.redacted.items()]
        return ", ".join(parts)


def claude_code(
    places: Places,
    path: Path,
    *,
    session: str | None = None,
    space: str = "main",
    tool_results: bool = False,
    time_limit_s: float = _TIME_LIMIT_S,
) -> Captured:
    """Observes a transcript of Claude Code into the project's memory, or else the person's own."""
    until = monotonic() + time_limit_s
    transcript = Transcript(tool_results=tool_results)
    messages = list(transcript.read(_lines(path)))
    with closing(Mounts(places, space=space, scope=Scoping(agent=AGENT, origin="agent"))) as mounts:
        if not messages:  # nothing to keep is no reason to make a memory
            return Captured(where="", messages=0, kept=0, known=0, bad_lines=transcript.bad_lines)
        _, memory = mounts.writing()
        keeping = Keeping(memory, session)
        keeping.keep(messages, until)
        return keeping.report(bad_lines=transcript.bad_lines)


class Keeping:
    """Messages on their way into a memory."""

    def __init__(self, memory: Memory, session: str | None = None, *, redacts: bool = True) -> None:
        self._memory = memory
        self._session = session
        self._redacts = redacts  # a test's negative control switches it off
        self._handles: dict[str | None, Memory] = {}
        self._count: Counter[str] = Counter()
        self._redacted: Counter[str] = Counter()

    def keep(self, messages: Iterable[Message], until: float) -> None:
        """Observes those that are new, in order, as long as there is time."""
        rest = iter(messages)
        while some := list(islice(rest, _AT_ONCE)):
            self._count["messages"] += len(some)
            known = self._known(some)
            for message in some:
                is_known = message.id in known
                known.add(message.id)  # a transcript that was resumed may hold a line twice
                is_late = not is_known and monotonic() > until
                word = "known" if is_known else "left" if is_late else self._observe(message)
                self._count[word] += 1

    def report(self, *, bad_lines: int = 0) -> Captured:
        """What came of it so far."""
        count = self._count
        return Captured(
            where=self._memory.where,
            messages=count["messages"],
            kept=count["kept"],
            known=count["known"],
            refused=count["refused"],
            left=count["left"],
            bad_lines=bad_lines,
            redacted=dict(sorted(self._redacted.items())),
        )

    @asked_again
    def _known(self, messages: list[Message]) -> set[str]:
        """Those that were kept before, even if they were forgotten or erased since."""
        try:
            with reading(self._memory) as reads:
                return {each.id for each in messages if reads.command(each.id) is not None}
        except NotFound:
            return set()  # there is no memory yet

    def _observe(self, message: Message) -> str:
        """Keeps one message; the word for what came of it."""
        text, found = redact(message.text) if self._redacts else (message.text, {})
        try:
            self._handle(message).observe(
                _bounded(text, message.role),
                role=message.role,
                at=message.at,
                id=message.id,
                command=message.id,
            )
        except (Conflict, NotFound):
            return "known"  # another process was faster, and may have redacted by other rules
        except (InvalidInput, LimitExceeded):
            return "refused"
        self._redacted.update(found)
        return "kept"

    def _handle(self, message: Message) -> Memory:
        session = self._session or message.session
        if session not in self._handles:
            self._handles[session] = _in_session(self._memory, session)
        return self._handles[session]


def _in_session(memory: Memory, session: str | None) -> Memory:
    try:
        return memory.scoped(session=session)
    except RecollectError:  # a session that no memory takes as a name
        return memory


def _bounded(text: str, role: str) -> str:
    """A text cut short after redaction, so that no cut hides a secret."""
    at_most = _RESULT_MAX_CHARS if role == "tool" else _TEXT_MAX_CHARS
    more = len(text) - at_most
    return f"{text[:at_most]} … ({more:,} more characters)" if more > 0 else text


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; one that is too long comes in pieces, which do not read."""
    try:
        with open(path, "rb") as file:
            while line := file.readline(LINE_MAX_BYTES + 1):
                yield line
    except OSError as error:
        raise InvalidInput(f"{path} does not read: {error.strerror}") from error
