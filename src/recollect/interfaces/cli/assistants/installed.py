"""Is it working? What the server's and the hooks' settings and logs say.

Responsible for ``mcp status`` and ``hooks status``. Leaves the settings to ``clients``,
``hook_settings`` and ``plugged``. Invariants: nothing is changed; no program that a file names is
run, because a cloned repository may bring such files along.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, get_args

import msgspec

from recollect.config import config_home, places
from recollect.errors import RecollectError
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli.assistants import clients, hook_settings, plugged
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Exit
from recollect.places import consent, known
from recollect.store.disk.layout import HOOKS_LOG, LOG
from recollect.store.disk.regular_files import read_regular

_LOG_MAX_BYTES: Final = 1 << 20
# The lines of the log that say when something last happened.
_LAST: Final = {
    "handed over": re.compile(r"context \S+ handed over"),
    "captured": re.compile(r"capture \S+ kept"),
    "failed": re.compile(r"\S+ \S+ failed"),
}
_NEVER: Final = "never, as far as the log says"
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}Z")


class Installed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One place with our entry, or one that could not be read."""

    name: str
    file: str
    command: str = ""
    problem: str | None = None


@verb
def mcp_status(call: Call) -> None:
    """Show which clients start the server, and whether they can."""
    found = [*_clients(), *_plugins("mcp")]
    call.answer({"installed": found}, lambda _: _draw_clients(found))
    _exit_unless(bool(found) and not any(each.problem for each in found))


def _clients() -> Iterator[Installed]:
    here, home, config = Path.cwd(), Path.home(), config_home()
    for client in get_args(clients.Name):
        shared, _ = clients.files(client, here=here, home=home, config=config)
        for project in (False, True) if shared is not None else (False,):
            place = clients.place(
                client, project=project, user=False, here=here, home=home, config=config
            )
            try:
                told = clients.found(place)
            except RecollectError as error:
                if clients.OURS.encode() in _bytes_of(place.file):
                    yield Installed(client, str(place.file), problem=error.message)
                continue
            if told is not None:
                words = clients.words(told)
                yield Installed(client, str(place.file), shlex.join(words), _missing(words))


def _plugins(words: str) -> Iterator[Installed]:
    """The plugins, each with what it starts."""
    for assistant, file in plugged.found(Path.cwd(), Path.home()):
        command = f"{plugged.COMMAND} {words}"
        yield Installed(assistant, str(file), command, _missing(command.split()))


def _draw_clients(found: list[Installed]) -> None:
    for each in found:
        _draw(each)
    names = {each.name for each in found}
    others = [name for name in get_args(clients.Name) if name not in names]
    if not found:
        plain.say("No client starts the server.")
    if others:
        plain.say(plain.dim(f"not in the settings of: {', '.join(others)}"))
    if not found:
        plain.next_step("recollect mcp install CLIENT")


@verb
def hooks_status(call: Call) -> None:
    """Show whether hooks are installed, store sessions here, and what they last did."""
    found = [*_hooks(), *_plugins("context --hook")]
    where = places(call.store)
    known.follow(where.project, call.space)  # as the hooks do: a renamed folder keeps its yes
    is_known = where.is_one or known.is_known(where.project, call.space)
    stores = where.named or (is_known and consent.is_given(where.project, call.space))
    last = _last([where.project.folder, where.personal.folder])
    document = {
        "installed": found,
        "stores_sessions": stores,
        "where": where.project.where,
        "known": is_known,
        "last": last,
    }
    call.answer(document, lambda _: _draw_hooks(document, found, last))
    _exit_unless(bool(found) and not any(each.problem for each in found))


def _hooks() -> Iterator[Installed]:
    for assistant, file in hook_settings.places(Path.cwd(), Path.home()):
        try:
            commands = hook_settings.found(file)
        except RecollectError as error:
            if clients.OURS.encode() in _bytes_of(file):
                yield Installed(assistant, str(file), problem=error.message)
            continue
        if commands:
            command = next(iter(commands.values()))
            words = hook_settings.words_of(command)
            yield Installed(assistant, str(file), command, _missing(words))


def _draw_hooks(told: dict[str, object], found: list[Installed], last: dict[str, str]) -> None:
    for each in found:
        _draw(each)
    if not found:
        plain.say("No hooks are installed for this folder.")
    where = plain.safe(str(told["where"]))
    if told["stores_sessions"]:
        plain.say(f"  sessions     stored in {where}")
    elif told["known"]:
        plain.say("  sessions     not stored here; run `recollect init` to store them")
    else:
        plain.say(f"  sessions     not stored: {known.ELSEWHERE}; {known.HINT}")
    for name in _LAST:
        plain.say(f"  {name:<12} {_logged(last[name]) if name in last else _NEVER}")
    if not found:
        plain.next_step("recollect hooks install claude-code")


def _logged(line: str) -> str:
    """A line of the log, its instant in local time; anyone may have written the log."""
    instant, _, rest = line.partition(" ")
    if _INSTANT.fullmatch(instant):
        with suppress(ValueError, OverflowError):
            return plain.one_line(f"{plain.moment(instant)} {rest}")
    return plain.one_line(line)


def _last(folders: Sequence[Path | None]) -> dict[str, str]:
    """The newest line of the logs for each thing that a hook does."""
    found: dict[str, str] = {}
    lines = [line for folder in folders if folder is not None for line in _log(folder)]
    for line in sorted(lines):  # each begins with an instant
        found |= {name: line for name, sign in _LAST.items() if sign.search(line)}
    return found


def _log(folder: Path) -> list[str]:
    names = (f"{HOOKS_LOG}.1", HOOKS_LOG)
    data = b"".join(_bytes_of(folder / LOG / name) for name in names)
    return data.decode("utf-8", "replace").splitlines()


def _bytes_of(file: Path) -> bytes:
    """What can be read of a file that anyone may have put there."""
    try:
        return read_regular(file, _LOG_MAX_BYTES)
    except OSError:
        return b""


def _missing(words: Sequence[str]) -> str | None:
    """A sentence if the program that an entry starts is not there. It is not run."""
    program = words[0] if words else ""
    path = shutil.which(program) if program and os.sep not in program else program
    if path and os.access(path, os.X_OK) and Path(path).is_file():
        return None
    return f"{program or 'the program'} is not there any more; install it again"


def _draw(each: Installed) -> None:
    sign = "✓" if each.problem is None else "!"
    plain.say(f"{sign} {each.name:<15} {plain.safe(each.file)}")
    detail = each.problem or f"starts {each.command}"
    plain.say(plain.dim(f"  {plain.one_line(detail)}"))


def _exit_unless(is_well: bool) -> None:
    if not is_well:
        raise Exit(answer.NO)
