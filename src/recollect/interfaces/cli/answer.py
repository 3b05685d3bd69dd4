"""How a run answers programs: JSON and exit codes.

Responsible for one JSON document on stdout, errors on stderr and the code by an error's class.
Leaves what people see to ``plain`` and ``draw``. Invariants: stdout holds an answer or nothing; no
character of it acts on a terminal.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Final

import msgspec
import typer

from recollect import errors
from recollect.interfaces.cli import plain
from recollect.model.visible import escaped

OK: Final = 0
NO: Final = 1
USAGE: Final = 2
OWN_ERROR: Final = 70

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

# The next step where an error names none itself.
HINTS: Final = {
    USAGE: "`--help` after the verb shows what it takes",
    3: "`recollect list --include all` shows what there is",
    5: "`recollect show ID` shows how it is now",
    6: "`recollect doctor` looks at the files",
    7: "`recollect doctor` says what is damaged",
}

EPILOG: Final = """
\b
Exit codes
  0  done, or here is the answer     4  not allowed, or needs a confirmation
  1  nothing found, or the answer    5  the memory is in another state
     is no (verify, doctor)          6  the disk failed, or not in this release
  2  wrong call or settings          7  the ledger or its index is damaged
  3  no such id, or no memory here  70  an error of Recollect's own
"""


def write_json(value: object) -> None:
    """One document, in UTF-8 whatever the terminal speaks."""
    document = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.flush()
    sys.stdout.buffer.write(escaped(document).encode() + b"\n")
    sys.stdout.buffer.flush()


def refuse(error: Exception, given: Sequence[str]) -> int:
    """Says what went wrong and what to do next; returns the exit code."""
    flags = given[: given.index("--")] if "--" in given else given
    if isinstance(error, typer.Abort):
        plain.say_no("Stopped.")
        return NO
    code, word, message, hint = _explain(error)
    if code == OWN_ERROR and "--debug" in flags:
        traceback.print_exception(error)
    if "--json" in flags:
        refusal = {"error": {"code": word, "message": message, "hint": hint}}
        plain.say_no(escaped(msgspec.json.encode(refusal).decode()))
    else:
        plain.refuse(message, hint)
    return code


def _explain(error: Exception) -> tuple[int, str, str, str | None]:
    """The exit code, the word for programs, what happened, what to do next."""
    if isinstance(error, errors.RecollectError):
        code = next((code for kind, code in CODES if isinstance(error, kind)), OWN_ERROR)
        return code, error.code, error.message, error.hint or HINTS.get(code)
    tell = getattr(error, "format_message", None)  # Typer exports no root of its usage errors
    if tell is not None:
        return USAGE, "usage", str(tell()), f"`{_path(error)} --help` shows how it is used"
    message = f"an error of Recollect's own: {type(error).__name__}: {error}"
    return OWN_ERROR, "unexpected", message, "`--debug` shows where; please report it"


def _path(error: Exception) -> str:
    """The command that was being read."""
    context = getattr(error, "ctx", None)
    return str(getattr(context, "command_path", "recollect"))
