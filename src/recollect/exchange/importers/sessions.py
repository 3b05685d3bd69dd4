"""Sessions with assistants, as items.

Responsible for the files of a folder of sessions. Leaves the lines to ``exchange.talks``.
Invariant: what was said comes without the output of tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from recollect.exchange.talks.transcript import Transcript


def items(sources: Sequence[Source], program: type[Transcript]) -> Iterator[Found]:
    """What was said in the sessions of a program."""
    for source in sources:
        if not source.name.endswith(".jsonl"):
            continue
        transcript = program()
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
                    agent=program.agent,
                )
        if transcript.undated:
            why = f"{transcript.undated:,} messages have a time that cannot be read"
            yield Altered(where=source.name, why=why)
        if transcript.bad_lines:
            why = f"{transcript.bad_lines:,} lines could not be read"
            yield Trouble(where=source.name, why=why)
