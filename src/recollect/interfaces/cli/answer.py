"""How a run answers programs: JSON and exit codes.

Responsible for one JSON document on stdout, errors on stderr, and the exit code for each class of
error.
Leaves what people see to ``plain`` and ``draw``. Invariants: stdout holds an answer or nothing; no
character of it acts on a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from recollect import errors
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.declare import Abort, UsageError
from recollect.model.visible import escaped

OK: Final = 0
NO: Final = 1
USAGE: Final = 2
OWN_ERROR: Final = 70
CLOSED: Final = 141  # as shells show a program that a closed pipe ended

CODES: Final[tuple[tuple[type[errors.RecollectError], int], ...]] = (
    (errors.InvalidInput, USAGE),
    (errors.ConfigError, USAGE),
    (errors.NotFound, 3),
    (errors.Forbidden, 4),
    (errors.Conflict, 5),
    (errors.Unavailable, 6),
    (errors.Unsupported, 6),
    (errors.IntegrityError, 7),
)

# The next step for errors that carry no hint.
HINTS: Final = {
    USAGE: "add `--help` after the command to see its arguments",
    3: "run `recollect list --include all` to see every id",
    5: "run `recollect show ID` to see its current state",
    6: "run `recollect admin doctor` to check the files",
    7: "run `recollect admin doctor` to find the damage",
}

EXIT_CODES: Final = """\
Exit codes:
  0  success                         4  not allowed, or needs a confirmation
  1  nothing found, or a check       5  conflict with the memory's state
     failed (verify, doctor)         6  disk failure, or not supported
  2  invalid arguments or settings   7  the ledger or its index is damaged
  3  no such id, or no memory here  70  internal error
"""


def write_json(value: object) -> None:
    """Writes one document in UTF-8, whatever the terminal's encoding."""
    document = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    with plain.writing_an_answer():
        sys.stdout.flush()
        sys.stdout.buffer.write(escaped(document).encode() + b"\n")
        sys.stdout.buffer.flush()


def refuse(error: Exception, given: Sequence[str]) -> int:
    """Prints what went wrong and what to do next; returns the exit code."""
    flags = given[: given.index("--")] if "--" in given else given
    if isinstance(error, BrokenPipeError):  # who reads the answer has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
        return CLOSED
    if isinstance(error, Abort):
        plain.say_to_stderr("Cancelled; nothing changed.")
        return NO
    code, word, message, hint = _explain(error)
    if code == OWN_ERROR and "--debug" in flags:
        import traceback  # slow to load

        traceback.print_exception(error)
    if "--json" in flags:
        refusal = {"error": {"code": word, "message": message, "hint": hint}}
        plain.say_to_stderr(escaped(msgspec.json.encode(refusal).decode()))
    else:
        plain.refuse(message, hint)
    return code


def _explain(error: Exception) -> tuple[int, str, str, str | None]:
    """The exit code, the error code, what happened, what to do next."""
    if isinstance(error, errors.RecollectError):
        code = next((code for kind, code in CODES if isinstance(error, kind)), OWN_ERROR)
        return code, error.code, error.message, error.hint or HINTS.get(code)
    if isinstance(error, UsageError):
        return USAGE, "usage", error.message, error.hint
    message = f"internal error: {type(error).__name__}: {error}"
    return (
        OWN_ERROR,
        "unexpected",
        message,
        "run it again with `--debug` for a traceback, and please report it",
    )
