"""One run: from the words that were typed to an exit code.

Responsible for the options before the command, for help, and for running what was found. Leaves the
words behind the command to ``words``, and errors to ``answer``. Invariant: what was not
understood runs nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from recollect.interfaces.cli import lean

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from recollect.interfaces.cli.commands import Found

Start = Mapping[str, Callable[..., object]] | None
Work = Callable[[], int]

_BRIEF: Final = ("remember", "recall", "context", "list")
_COMPLETION: Final = ("--complete", "--install-completion", "--show-completion")


def run(given: Sequence[str], start: Start, *, alone: bool) -> int:
    """Runs a command line and returns the exit code; ``alone`` in its process, it may end that."""
    if alone:
        gc.disable()  # loading leaves no garbage
    lean.load_msgspec()
    from recollect.interfaces.cli import answer
    from recollect.interfaces.cli.declare import Exit

    is_brief = False
    try:
        is_brief, work = _understood(given, start)
        if not is_brief:
            gc.enable()
        code = work()
    except Exit as ended:
        code = ended.code
    except SystemExit:  # Rich's answer to a closed pipe
        code = answer.CLOSED
    except Exception as error:  # noqa: BLE001 - the last place that can report it readably
        code = answer.refuse(error, given)
    if alone and is_brief:
        lean.leave(code)
    return code


def _understood(given: Sequence[str], start: Start) -> tuple[bool, Work]:
    """True if it ends soon, and what a command line asks for."""
    from recollect.interfaces.cli.call import Call, shared_parameters
    from recollect.interfaces.cli.commands import BEFORE, Group, find, verb_at
    from recollect.interfaces.cli.words import after_options, values

    if given and given[0] in _COMPLETION:
        return False, partial(_complete, given[0], given[1:])
    if given[:1] == ["help"]:
        return False, partial(_help_about, given[1:])
    options = [*shared_parameters(), *BEFORE]
    place = after_options(options, given)
    before = values(options, given[:place], "recollect")
    found = find(given[place:])
    if before["version"]:
        return False, _version
    if before["help"] or _asks_for_help(found):
        return False, partial(_help, found)
    entry = found.entry
    if isinstance(entry, Group):
        if not entry.alone:
            return False, partial(_help_alone, found)
        entry = entry.alone
    verb = verb_at(entry, found.path[-1])
    call = Call(store=before["store"], named=before["space"], json=before["json"], start=start)
    told = values(verb.parameters(), found.rest, found.line)
    return found.path[0] in _BRIEF, partial(_run, partial(verb.run, call, told))


def _run(work: Callable[[], None]) -> int:
    work()
    return 0


def _version() -> int:
    from recollect import __version__
    from recollect.interfaces.cli import plain

    plain.say(f"recollect {__version__}")
    return 0


def _asks_for_help(found: Found) -> bool:
    """True for ``--help`` behind a command; an unknown word before it is refused."""
    from recollect.interfaces.cli.commands import Group

    rest = list(found.rest)
    if isinstance(found.entry, Group) and rest and not rest[0].startswith("-"):
        from recollect.interfaces.cli import former

        raise former.unknown(found)
    words = rest[: rest.index("--")] if "--" in rest else rest
    return "--help" in words or "-h" in words


def _help(found: Found) -> int:
    from recollect.interfaces.cli import help_text, plain

    plain.say(help_text.of(found.path, found.entry))
    return 0


def _help_alone(found: Found) -> int:
    """A group without a command shows its help; an option there has no command."""
    from recollect.interfaces.cli import answer
    from recollect.interfaces.cli.declare import UsageError

    if found.rest:
        hint = f"name one, such as `{found.line} {next(iter(_names(found)))} {found.rest[0]}`"
        raise UsageError(f"a command of `{found.line}` is missing", hint)
    _help(found)
    return answer.USAGE


def _names(found: Found) -> Sequence[str]:
    from recollect.interfaces.cli.commands import Group

    return list(found.entry.commands) if isinstance(found.entry, Group) else []


def _help_about(words: Sequence[str]) -> int:
    """``help``, ``help all``, ``help GROUP`` and ``help COMMAND``."""
    from recollect.interfaces.cli import former, help_text, plain
    from recollect.interfaces.cli.commands import find

    named = [word for word in words if not word.startswith("-")]
    if named == ["all"]:
        plain.say(help_text.of_all())
        return 0
    found = find(named)
    if found.rest:
        raise former.unknown(found)
    return _help(found)


def _complete(option: str, words: Sequence[str]) -> int:
    from recollect.interfaces.cli import completion, plain

    if option == "--complete":
        completion.answer(words)
    elif option == "--show-completion":
        plain.say(completion.script(words[0] if words else None).rstrip())
    else:
        completion.install(words[0] if words else None)
    return 0
