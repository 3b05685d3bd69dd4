"""Capture: storing a talk with an assistant from the file in which its program keeps it.

Responsible for storing each message once, without secrets, with at most the trust of an agent.
Leaves the file to ``assistants.programs``, secrets to ``exchange.redaction``. Invariants: each
message is one command named after the message's id, so that it is stored once for the life of the
ledger, however often it is captured, and an erased message does not come back; redacted text is
never hashed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec import field, structs

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.assistants.programs import talks_in
from recollect.assistants.typed import Said, Typed, metadata_for, stored_text
from recollect.config import Places, project
from recollect.errors import Conflict, InvalidInput, LimitExceeded, NotFound, RecollectError
from recollect.exchange.talks.transcript import Message
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.handle.healed import asked_again
from recollect.model.counts import counted
from recollect.model.values import Value
from recollect.places.consent import Prompts

_AT_ONCE: Final = 200  # messages whose commands are looked up in one read
_TIME_LIMIT_S: Final = 600.0


class Captured(Value, frozen=True, kw_only=True):
    """The result of a capture."""

    where: str
    agent: str = ""  # whose talk it is
    messages: int  # in the file
    kept: int  # stored by this capture
    known: int
    refused: int = 0  # not accepted by any memory
    bad_lines: int = 0
    left: int = 0  # when time was up; the next capture continues with them
    redacted: dict[str, int] = field(default_factory=dict)  # by kind, in the stored messages

    def summary(self) -> str:
        """One line of counts, without any text of the session."""
        parts = [f"kept {self.kept} of {self.messages} messages"]
        parts += [f"{self.refused} refused"] if self.refused else []
        parts += [counted(self.bad_lines, "bad line")] if self.bad_lines else []
        parts += [f"{self.left} left for the next capture"] if self.left else []
        parts += [f"redacted {count} {kind}" for kind, count in self.redacted.items()]
        return ", ".join(parts)


def captured(
    places: Places,
    path: Path,
    *,
    session: str | None = None,
    space: str = "main",
    tool_results: bool = False,
    prompts: Prompts = "quoting",
    time_limit_s: float = _TIME_LIMIT_S,
) -> Captured:
    """Stores the talk in a file in the project's memory, or else in the person's own."""
    until = monotonic() + time_limit_s
    program, lines = talks_in(path, _is_of_this_project)
    transcript = program(tool_results=tool_results)
    messages = [
        message for message in transcript.read(lines) if message.role != "user" or prompts != "none"
    ]
    scope = Scoping(agent=program.agent, trust="agent")
    with closing(Mounts(places, space=space, scope=scope)) as mounts:
        if not messages:  # do not create a memory for nothing
            done = Captured(where="", messages=0, kept=0, known=0)
        else:
            _, memory = mounts.writer()
            keeping = Keeping(memory, session, prompts=prompts)
            keeping.keep(messages, until)
            done = keeping.report()
    return structs.replace(done, agent=program.agent, bad_lines=transcript.bad_lines)


def _is_of_this_project(folder: str) -> bool:
    """True if a folder has the memory that the current one has."""
    there = Path(folder)
    try:
        return there.is_absolute() and project(there).where == project(Path.cwd()).where
    except (OSError, ValueError):  # what no system has as a path
        return False


class Keeping:
    """Stores the messages of one transcript in a memory."""

    def __init__(
        self,
        memory: Memory,
        session: str | None = None,
        *,
        prompts: Prompts = "quoting",
        redacts: bool = True,
    ) -> None:
        self._memory = memory
        self._prompts = prompts
        self._session = session
        self._redacts = redacts  # the negative control of a test switches it off
        self._handles: dict[str | None, Memory] = {}
        self._typed: dict[str, Typed] = {}
        self._forked: dict[str | None, set[str]] = {}  # from which talks one has messages
        self._said = Said(memory, [])
        self._count: Counter[str] = Counter()
        self._redacted: Counter[str] = Counter()

    def keep(self, messages: Iterable[Message], until: float) -> None:
        """Stores the new messages in order, until time is up."""
        rest = iter(messages)
        while some := list(islice(rest, _AT_ONCE)):
            self._count["messages"] += len(some)
            known = self._known(some)
            typed = [one.at for one in some if one.role == "user" and one.id not in known]
            if typed:
                self._said = Said(self._memory, typed)
                self._note_forks([one for one in some if one.id in known])
            for message in some:
                is_known = message.id in known
                known.add(message.id)  # a resumed transcript may hold a line twice
                is_late = not is_known and monotonic() > until
                word = "known" if is_known else "left" if is_late else self._observe(message)
                self._count[word] += 1

    def report(self) -> Captured:
        """The result so far."""
        count = self._count
        return Captured(
            where=self._memory.where,
            messages=count["messages"],
            kept=count["kept"],
            known=count["known"],
            refused=count["refused"],
            left=count["left"],
            redacted=dict(sorted(self._redacted.items())),
        )

    @asked_again
    def _known(self, messages: list[Message]) -> set[str]:
        """The ids of messages that were stored before, even if forgotten or erased since."""
        try:
            with handle_of(self._memory).reading() as reads:
                return {each.id for each in messages if reads.command(each.id) is not None}
        except NotFound:
            return set()  # no memory was created yet

    @asked_again
    def _note_forks(self, known: list[Message]) -> None:
        """Which talks these were stored from: a fork copies them, and what was typed there."""
        if not known:
            return
        with handle_of(self._memory).reading() as reads:
            for message in known:
                talk, before = self._session or message.session, reads.episode(message.id)
                if before is not None and before.session and before.session != talk:
                    self._forked.setdefault(talk, set()).add(before.session)

    def _observe(self, message: Message) -> str:
        """Stores one message; returns ``kept``, ``known`` or ``refused``."""
        text, found = message.text, dict[str, int]()
        if self._redacts:
            text, found = stored_text(text, message.role)
        if message.role == "user" and self._was_typed(message, text):
            return "known"
        try:
            self._handle(message).observe(
                text,
                role=message.role,
                said_at=self._at(message),
                metadata=metadata_for(self._prompts) if message.role == "user" else None,
                id=message.id,
                idempotency_key=message.id,
            )
        except (Conflict, NotFound):
            return "known"  # another process was first, maybe with other redaction rules
        except (InvalidInput, LimitExceeded):
            return "refused"
        self._redacted.update(found)
        return "kept"

    def _was_typed(self, message: Message, text: str) -> bool:
        """True if the hook of the prompt stored these words already, here or before a fork."""
        talk = self._session or message.session
        talks = [talk, *sorted(self._forked.get(talk, ()))] if talk else []
        return any(self._typed_in(one).covers(text) for one in talks) or self._said.covers(
            text, message.at
        )

    def _typed_in(self, session: str) -> Typed:
        if session not in self._typed:
            self._typed[session] = Typed(self._memory, session)
        return self._typed[session]

    def _at(self, message: Message) -> str | None:
        """When it was said; a time that is still to come is not believed."""
        is_past = message.at is not None and message.at <= handle_of(self._memory).now()
        return message.at if is_past else None

    def _handle(self, message: Message) -> Memory:
        session = self._session or message.session
        if session not in self._handles:
            self._handles[session] = _in_session(self._memory, session)
        return self._handles[session]


def _in_session(memory: Memory, session: str | None) -> Memory:
    try:
        return memory.scoped(session=session)
    except RecollectError:  # not a valid name for a session
        return memory
