"""The command that creates a memory, or adopts one.

Responsible for ``init``, and for asking once what the person here is called. Leaves keeping both to
``compose``. Invariants: no memory from elsewhere is adopted unless a person confirms; nobody is
named who did not say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import structs

from recollect import compose
from recollect.config import (
    AUTO,
    FOLDER,
    IN_GIT,
    MEMORY,
    Settings,
    known_file,
    load,
    project,
)
from recollect.errors import ConfigError
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain, questions
from recollect.interfaces.cli.admin.embed import search_of
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Option
from recollect.memory import Memory, Store
from recollect.model import limits, validate
from recollect.places import consent, known
from recollect.places.move import move_if_needed
from recollect.store.disk.layout import PERSON
from recollect.store.files.backend import make_workspace

_GIT: Final = ("git", "config", "--get", "user.name")
_GIT_MAX_S: Final = 5
_NONE: Final = "-"
# Whose words the records are, by the trust in the ledger.
_WHOSE: Final = {
    "person": "in a person's words",
    "agent": "in an agent's",
    "unverified": "unverified",
}

Subjects = Annotated[
    Literal["users", "named"] | None,
    Option(help="Encrypt the memory of every user, or of named ones, under keys of their own."),
]

PersonName = Annotated[
    str | None,
    Option("--name", metavar="NAME", help="What you are called in the ledger; - for no name."),
]
_ENCRYPTED: Final = {
    "users": "From now on the memory of every user is encrypted under a key of its own.",
    "named": "From now on the memory of users who are named as subjects is encrypted, each under a "
    "key of its own.",
}


@verb
def init(
    call: Call,
    folder: o.Place = None,
    embedder: o.Embedder = None,
    subjects: Subjects = None,
    name: PersonName = None,
    yes: o.Yes = False,
) -> None:
    """Create a memory in this folder, or adopt an existing one."""
    place = _place(call, folder, embedder or AUTO)
    _introduce(call, place, name, yes=yes)
    if place.folder is None:
        _on_server(call, place, subjects)
        return
    settings = move_if_needed(place)
    make_workspace(Path(settings.where))
    with Store.open(settings=settings) as store:
        made = call.space not in store.spaces()
        is_adopted = not known.is_known(settings, call.space)
        memory = store.space(call.space)
        if is_adopted:
            _ask_about(call, memory, yes=yes)
        if subjects is not None:
            memory.settings.set_subjects(subjects)
        position = memory.events.position
    try:
        known.adopt(settings, call.space)
        consent.give(settings, call.space)
        settings = move_if_needed(settings, adopted=True)
    except ConfigError as error:  # the memory exists, and a person can use it
        call.note(f"Assistants will ignore this memory: {error}")
    chosen = compose.record_embedder(settings, replace=embedder is not None)
    search = compose.searching(structs.replace(settings, embedder=chosen))
    done = {
        "where": settings.where,
        "space": call.space,
        "made": made,
        "adopted": is_adopted,
        "position": position,
        "embedder": chosen,
        "search": search,
    }
    if subjects is not None:
        call.note(_ENCRYPTED[subjects])
    call.answer(done, lambda _: _tell(settings, call.space, made, is_adopted, search))


def _ask_about(call: Call, memory: Memory, *, yes: bool) -> None:
    """Shows whose words an assistant would read as memory, and asks for confirmation."""
    call.note("The memory here was not created on this machine, or not by this release.")
    counts = [f"{_count(memory, trust)} {whose}" for trust, whose in _WHOSE.items()]
    call.note(f"Its records: {', '.join(counts)}; `recollect list` shows them.")
    call.confirm(
        "Adopt it, so that assistants can read it?",
        yes=yes,
        what="adopting a memory that was not created on this machine",
    )


def _count(memory: Memory, trust: str) -> str:
    """The number of records with a trust, up to the limit of one listing."""
    most = limits.LIST_MAX_RECORDS
    count = len(memory.list(filter=f"trust = '{trust}'", include=["waiting"], limit=most))
    return f"{count:,}" if count < most else f"{most:,} or more"


def _place(call: Call, folder: str | None, embedder: str) -> Settings:
    """The settings of a named store; else of the project that the folder belongs to."""
    if call.store is not None and folder is not None:
        raise ConfigError("init takes either FOLDER or --store", hint="give at most one of them")
    if call.store is not None:
        settings = _asking(load(call.store, embedder=embedder))
        if settings.where == MEMORY:
            raise ConfigError(
                f"{settings.where} is not a folder", hint="name a folder or a postgresql:// address"
            )
        return settings
    base = Path(folder or ".").expanduser().absolute()
    if base.name == FOLDER:
        return _asking(load(base, embedder=embedder))
    return project(base, embedder=embedder)


def _on_server(call: Call, settings: Settings, subjects: Subjects) -> None:
    """Creates a space of a database; no assistant finds one by itself, so none is adopted."""
    with Store.open(settings=settings) as store:
        made = call.space not in store.spaces()
        memory = store.space(call.space)
        if subjects is not None:
            memory.settings.set_subjects(subjects)
            call.note(_ENCRYPTED[subjects])
        where, position = memory.where, memory.events.position
        search = search_of(memory, settings)
    done = {
        "where": where,
        "space": call.space,
        "made": made,
        "adopted": False,
        "position": position,
        "embedder": search.embedder,
        "search": search,
    }
    what = "Created a memory" if made else "The memory already exists"
    said = f"{what}: space {plain.bold(plain.one_line(call.space))} in {plain.safe(where)}"
    call.answer(done, lambda _: plain.say(f"{said}\n  {plain.safe(str(search))}"))


def _asking(settings: Settings) -> Settings:
    """The same settings, but checked against the list of known memories, as if found."""
    if settings.folder is None:
        return settings
    is_own = os.path.realpath(settings.where) == os.path.realpath(known_file().parent)
    return settings if is_own else structs.replace(settings, known_in=str(known_file()))


def _tell(
    settings: Settings, space: str, made: bool, is_adopted: bool, search: compose.Searching
) -> None:
    where = settings.where
    existing = "Adopted a memory" if is_adopted else "The memory already exists"
    what = "Created a memory" if made else existing
    plain.say(f"{what}: space {plain.bold(plain.one_line(space))} in {plain.safe(where)}")
    if made and Path(where).name == IN_GIT:
        plain.say("  git neither changes it nor copies it; deleting .git deletes the memory")
    elif made:
        plain.say("  its .gitignore keeps it out of git; deleting the folder deletes the memory")
    if consent.is_given(settings, space):
        plain.say("  assistants with hooks (`recollect hooks install`) store their sessions in it")
    plain.say(f"  {plain.safe(str(search))}")
    plain.next_step('recollect remember "The staging database moved to port 5433."')


def _introduce(call: Call, settings: Settings, name: str | None, *, yes: bool) -> None:
    """Keeps the name that was given; asks a person at a terminal who was never asked."""
    is_known = settings.name is not None or known_file().with_name(PERSON).exists()
    if name is None and not is_known and not (yes or call.json) and sys.stdin.isatty():
        name = _asked()
    if name is not None:
        compose.record_person("" if name.strip() == _NONE else name)


def _asked() -> str:
    """The answer; a dash, as in ``--name``, means that they are not named."""
    question = f"Your name, for what you write and approve ({_NONE} for none)"
    return questions.prompt(question, _known_to_git() or _NONE)


def _known_to_git() -> str:
    """The name that this person gave git, as an offer.

    Git is asked in the home folder: the repository here may be another's, and offers no name.
    """
    try:
        told = subprocess.run(  # noqa: S603 - fixed words
            _GIT, cwd=Path.home(), capture_output=True, text=True, timeout=_GIT_MAX_S, check=False
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    name = " ".join(told.stdout.split())
    return name if told.returncode == 0 and validate.is_own_name(name) else ""
