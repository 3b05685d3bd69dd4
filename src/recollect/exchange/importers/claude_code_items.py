"""Transcripts of Claude Code, as items.

Responsible for the files of a folder of sessions. Leaves the lines to
``exchange.importers.claude_code``. Invariant: a message has the id that capturing the session gives
it, so that it is stored once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.exchange.importers.claude_code import Transcript
from recollect.exchange.items import (
    Altered,
    EpisodeItem,
    Found,
    Source,
    Trouble,
    lines_of,
    moment_of,
    name_of,
)


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    return name.endswith(".jsonl") and b'"sessionId"' in head and b'"uuid"' in head


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """What was said in some sessions."""
    for source in sources:
        if not source.name.endswith(".jsonl"):
            continue
        transcript = Transcript()
        lines = (b"{" if line is None else line for _, line in lines_of(source))
        for message in transcript.read(lines):
            if message.text:
                yield EpisodeItem(
                    id=message.id,
                    text=message.text,
                    where=source.name,
                    role=message.role,
                    said_at=moment_of(message.at),
                    session=name_of(message.session),
                    agent="claude-code",
                )
        if transcript.undated:
            why = f"{transcript.undated:,} messages have a time that cannot be read"
            yield Altered(where=source.name, why=why)
        if transcript.bad_lines:
            why = f"{transcript.bad_lines:,} lines could not be read"
            yield Trouble(where=source.name, why=why)
