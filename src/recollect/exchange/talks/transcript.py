"""A talk as an assistant's program keeps it: lines of JSON, one for each message or event.

Responsible for what is the same for every program: a message, a line that cannot be parsed, the
words of a tool. Leaves what a line means to the module of the program. Invariants: the same line
always gives the same messages with the same ids; the program's own notes, a model's thinking, and
memory that was handed out are left out; a line that cannot be parsed is counted and skipped.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import ClassVar, Final, Literal

import msgspec

from recollect.exchange.injected import spoken, storable
from recollect.exchange.items import moment_of

LINE_MAX_BYTES: Final = 67_108_864
_NAME_MAX_CHARS: Final = 80
_DIGEST_CHARS: Final = 32
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")
_OWN_TOOLS: Final = re.compile(r"recollect", re.IGNORECASE)

Entry = Mapping[str, object]
Speaker = Literal["user", "assistant"]
_DECODER: Final = msgspec.json.Decoder(dict[str, object])


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said, with an id that stays the same whenever the line is read."""

    id: str
    role: Literal["user", "assistant", "tool"]
    text: str
    at: str | None
    session: str | None


class Transcript(ABC):
    """The messages of a transcript, and the number of lines that could not be parsed."""

    agent: ClassVar[str]  # the program, as the other verbs call it
    before_id: ClassVar[str]  # what its ids begin with

    def __init__(self, *, tool_results: bool = False, strip: bool = True) -> None:
        self._tool_results = tool_results
        self._strip = strip  # the negative control of a test switches it off
        self.lines = 0
        self.bad_lines = 0
        self.undated = 0  # messages whose time cannot be read

    def read(self, lines: Iterable[bytes]) -> Iterator[Message]:
        """The messages of these lines, in order."""
        for line in lines:
            if not line.strip():
                continue
            self.lines += 1
            entry = decoded(line)
            if entry is None:
                self.bad_lines += 1
            else:
                yield from self.said(entry)

    @abstractmethod
    def said(self, entry: Entry) -> Iterator[Message]:
        """What was said in one line."""

    def message(
        self,
        id: str,
        part: str,
        role: Literal["user", "assistant", "tool"],
        text: str,
        *,
        at: object,
        session: object,
    ) -> Message:
        """A message; ``part`` tells it from others of the same id."""
        return Message(
            id=f"{self.before_id}{id if _ID.fullmatch(id) else digest(id)}{part}",
            role=role,
            text=text,
            at=self.time_of(at),
            session=session if isinstance(session, str) and session else None,
        )

    def time_of(self, at: object) -> str | None:
        """When something was said, if it is written as an instant."""
        found = moment_of(at) if isinstance(at, str) and _INSTANT.fullmatch(at) else None
        self.undated += found is None and at is not None
        return found

    def result(self, tool: str, output: object, *, failed: bool) -> str:
        """A tool's name on one line; if results are wanted, its output below."""
        name = " ".join(storable(tool).split())[:_NAME_MAX_CHARS] or "unknown"
        line = f"{'tool failed' if failed else 'tool'}: {name}"
        if not self._tool_results or (self._strip and _OWN_TOOLS.search(tool)):
            return line
        said = self.words(text_of(output))
        return f"{line}\n{said}" if said else line

    @property
    def result_part(self) -> str:
        """What the id of a tool's result ends with: its name and its output are two things."""
        return ".r" if self._tool_results else ".t"

    def words(self, text: str) -> str:
        """What was said of a text."""
        return spoken(text) if self._strip else storable(text).strip()

    def joined(self, texts: Iterable[object]) -> str:
        """What was said of these texts, each on lines of its own."""
        said = (self.words(text) for text in texts if isinstance(text, str))
        return "\n".join(words for words in said if words)


def decoded(line: bytes) -> Entry | None:
    """The object on a line; None if it is something else."""
    if len(line) > LINE_MAX_BYTES:
        return None
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def digest(*parts: object) -> str:
    """A short name for these parts."""
    text = "\n".join(str(part) for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


def inside(entry: object, *names: str) -> Entry:
    """The object under these names, each inside the one before; empty if it is something else."""
    for name in names:
        entry = entry.get(name) if isinstance(entry, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def objects(value: object) -> list[Entry]:
    """The objects of a list; empty if it is something else."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_of(content: object) -> str:
    """The text of a tool's output, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in objects(content)]
    return "\n".join(text for text in texts if isinstance(text, str))
