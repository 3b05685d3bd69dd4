"""The programs whose talks can be captured, and which of them wrote a file.

Responsible for this list and for a file's lines. Leaves what they mean to ``exchange.talks``.
Invariants: a program is told by what stands in the file, never by its name; only a regular file is
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from recollect.errors import InvalidInput
from recollect.exchange.talks import claude_code, codex, gemini_cli
from recollect.exchange.talks.opencode import OpenCode
from recollect.exchange.talks.transcript import LINE_MAX_BYTES, Entry, Transcript, decoded
from recollect.store.disk.regular_files import opener

KEPT_IN: Final = {
    "Claude Code": "~/.claude/projects/PROJECT/*.jsonl",
    "Codex": "~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl",
    "Gemini CLI": "~/.gemini/tmp/PROJECT/chats/session-*.jsonl",
    "opencode": "~/.local/share/opencode/opencode.db",
}
# In the order in which they are tried: the strictest first.
_IN_LINES: Final[tuple[tuple[Callable[[Entry], bool], type[Transcript]], ...]] = (
    (codex.recognizes, codex.Codex),
    (gemini_cli.recognizes, gemini_cli.GeminiCli),
    (claude_code.recognizes, claude_code.ClaudeCode),
)
_LOOKED_AT: Final = 20  # lines: the first ones may say nothing


def talks_in(
    path: Path, belongs: Callable[[str], bool]
) -> tuple[type[Transcript], Iterator[bytes]]:
    """The program that wrote a file, and the file's lines.

    ``belongs`` says whether a folder is one of the project, for a program that keeps the talks of
    every folder in one file.
    """
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder, not a conversation file", hint=where_they_are())
    head = _lines(path)
    first = list(islice(head, _LOOKED_AT))
    if first and first[0].startswith(b"SQLite format 3\x00"):
        from recollect.assistants import opencode_store

        return OpenCode, opencode_store.lines(path, belongs)
    return _program(path, first), chain(first, head)


def where_they_are() -> str:
    """Where each program keeps its talks, for people."""
    places = ", ".join(f"{program} {place}" for program, place in KEPT_IN.items())
    return f"give one file: {places}"


def _program(path: Path, lines: Iterable[bytes]) -> type[Transcript]:
    is_empty = True
    for line in lines:
        is_empty = is_empty and not line.strip()
        entry = decoded(line)
        for recognizes, program in _IN_LINES:
            if entry is not None and recognizes(entry):
                return program
    if is_empty:  # the talk has only begun
        return claude_code.ClaudeCode
    raise InvalidInput(
        f"{path} is not a conversation of {', '.join(list(KEPT_IN)[:-1])} or {list(KEPT_IN)[-1]}",
        hint=where_they_are(),
    )


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; a line that is too long is split, and its pieces fail to parse."""
    try:
        with open(path, "rb", opener=opener) as file:
            while line := file.readline(LINE_MAX_BYTES + 1):
                yield line
    except OSError as error:
        raise InvalidInput(
            f"{path} could not be read: {error.strerror}", hint=where_they_are()
        ) from error
