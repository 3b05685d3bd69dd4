"""The commands, their groups, and where each one lives.

Responsible for the one table of commands and for finding the one that a command line names. Leaves
what a command does to its module. Invariant: a run imports the one module that its command needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Final, NamedTuple, TypeAlias

from recollect.interfaces.cli.declare import Option, Parameter

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from recollect.interfaces.cli.call import Verb

_HERE: Final = "recollect.interfaces.cli"
ABOUT: Final = "A memory for AI agents that you can read, correct, undo and check."


class Group(NamedTuple):
    """Commands under one name; a command is its module, and its name there if that is another."""

    about: str
    commands: Mapping[str, Entry]
    alone: str = ""  # what runs if no command of the group is named


Entry: TypeAlias = str | Group

# The options before a command, beside those that every command takes.
BEFORE: Final = (
    Parameter(
        "debug", bool, Option("--debug", help="Show the traceback of an unexpected error."), False
    ),
    Parameter("version", bool, Option("--version", "-V", help="Show the version and exit."), False),
    Parameter("help", bool, Option("--help", "-h", help="Show the help and exit."), False),
)

# Under each heading of the help.
EVERY_DAY: Final[dict[str, Entry]] = {
    "init": "daily.init",
    "remember": "daily.write",
    "observe": "daily.write",
    "recall": "daily.read",
    "context": "daily.context",
    "list": "daily.read:list_all",
    "show": "daily.read",
    "revise": "daily.write",
    "forget": "daily.forget",
    "undo": "daily.undo",
    "erase": "daily.erase",
}
AT_TIMES: Final[dict[str, Entry]] = {
    "status": "daily.read",
    "log": "daily.log",
    "import": "daily.transfer:import_",
    "export": "daily.transfer",
    "mcp": Group(
        "Serve memory to assistants; `mcp install` adds it to a client.",
        {"install": "assistants.mcp", "status": "assistants.installed:mcp_status"},
        alone="assistants.mcp:serve",
    ),
    "hooks": Group(
        "Let an assistant read and write this memory automatically.",
        {
            "install": "assistants.hooks",
            "status": "assistants.installed:hooks_status",
            "capture": "assistants.hooks",
        },
    ),
    "serve": "daily.serve",
    "ui": "daily.ui",
    "demo": "daily.demo",
}
GROUPS: Final[dict[str, Entry]] = {
    "review": Group(
        "Decide what waits for you; confirm or refute a hypothesis.",
        {
            "list": "review.review:list_all",
            "show": "review.review",
            "approve": "review.review",
            "reject": "review.review",
            "confirm": "review.verdicts",
            "refute": "review.verdicts",
        },
        alone="review.review:review",
    ),
    "graph": Group(
        "Link records; show how they are linked.",
        {
            "show": "graph",
            "path": "graph",
            "link": "graph",
            "unlink": "graph",
        },
        alone="graph:show",
    ),
    "pages": Group(
        "The memory as Markdown pages that you can edit.",
        {
            "sync": "pages.sync",
            "list": "pages.pages:list_all",
            "show": "pages.pages",
            "render": "pages.pages",
            "status": "pages.pages",
            "describe": "pages.page_care",
            "flag": "pages.page_care",
            "unflag": "pages.page_care",
            "archive": "pages.page_care",
            "activate": "pages.page_care",
            "condense": "pages.page_care",
            "care": "pages.page_care",
            "limits": "pages.page_care",
        },
    ),
    "branches": Group(
        "Changes that are kept apart until you merge them.",
        {
            "open": "branches:open_branch",
            "list": "branches:list_all",
            "show": "branches",
            "diff": "branches",
            "merge": "branches",
            "abandon": "branches",
            "condense": "branches",
        },
    ),
    "sessions": Group(
        "Open, close and list sessions, such as conversations.",
        {
            "open": "sessions:open_session",
            "close": "sessions",
            "list": "sessions:list_all",
        },
    ),
    "proof": Group(
        "What was handed out, signed and erased, and proofs of it.",
        {
            "audit": "proof.audit",
            "receipts": "proof.receipts",
            "erasures": "proof.receipts",
            "prove": "proof.proofs",
            "checkpoint": "proof.proofs",
            "key": Group(
                "The keys that sign checkpoints.",
                {
                    "create": "proof.keys",
                    "rotate": "proof.keys",
                    "pin": "proof.keys",
                    "list": "proof.keys:list_all",
                },
            ),
            "witness": Group(
                "Others who keep checkpoints.",
                {
                    "add": "proof.witnesses",
                    "list": "proof.witnesses:list_all",
                    "remove": "proof.witnesses",
                    "serve": "proof.witnesses",
                },
            ),
        },
    ),
    "settings": Group(
        "What agents may change, how long things are kept, rules, presets.",
        {
            "policy": "settings.policy",
            "retention": "settings.policy",
            "rule": Group(
                "Rules, which turn episodes into records.",
                {
                    "set": "settings.rules:set_rule",
                    "list": "settings.rules:list_all",
                    "show": "settings.rules",
                    "run": "settings.rules",
                    "drop": "settings.rules",
                },
            ),
            "preset": Group(
                "Presets, which shape a context.",
                {
                    "set": "settings.presets:set_preset",
                    "list": "settings.presets:list_all",
                    "show": "settings.presets",
                    "drop": "settings.presets",
                },
            ),
        },
    ),
    "admin": Group(
        "Check, back up, copy, archive and rebuild; tokens and jobs.",
        {
            "doctor": "admin.doctor",
            "verify": "admin.files",
            "backup": "admin.files",
            "restore-backup": "admin.files",
            "push": "admin.copies",
            "pull": "admin.copies",
            "embed": "admin.embed",
            "why-not": "admin.why_not",
            "archive": "admin.archive",
            "clean": "admin.clean",
            "drop-space": "admin.drop",
            "dropped": "admin.drop",
            "rebuild": "admin.files",
            "rebuild-index": "pages.sync",
            "close-segment": "admin.files",
            "migrate": "admin.files",
            "vacuum": "admin.files",
            "work": "admin.jobs",
            "model": Group(
                "Models for search by meaning.",
                {"list": "admin.models:list_all", "get": "admin.models"},
                alone="admin.models:list_all",
            ),
            "job": Group(
                "Background work: ask for it, and see what became of it.",
                {
                    "ask": "admin.jobs",
                    "list": "admin.jobs:list_all",
                    "show": "admin.jobs",
                    "cancel": "admin.jobs",
                },
            ),
            "schedule": Group(
                "When background work is asked for again and again.",
                {
                    "set": "admin.jobs:set_schedule",
                    "list": "admin.jobs:list_schedules",
                    "drop": "admin.jobs:drop_schedule",
                },
            ),
            "token": Group(
                "Tokens, which open the spaces of a store.",
                {
                    "create": "admin.tokens",
                    "list": "admin.tokens:list_all",
                    "rotate": "admin.tokens",
                    "revoke": "admin.tokens",
                },
            ),
        },
    ),
}
HEADINGS: Final = {"Every day": EVERY_DAY, "From time to time": AT_TIMES, "Groups": GROUPS}
TOP: Final = Group(
    ABOUT, {name: entry for part in HEADINGS.values() for name, entry in part.items()}
)

# What installed files may still call: the hooks of assistants.
_INSTALLED: Final = {"capture": ("hooks", "capture")}


class Found(NamedTuple):
    """What a command line names, and the words that are left."""

    path: tuple[str, ...]
    entry: Entry
    rest: Sequence[str]

    @property
    def line(self) -> str:
        """What is typed for it."""
        return " ".join(("recollect", *self.path))


def find(words: Sequence[str]) -> Found:
    """The command, or the group, at the beginning of these words."""
    if words and words[0] in _INSTALLED:
        words = [*_INSTALLED[words[0]], *words[1:]]
    entry: Entry = TOP
    place = 0
    while isinstance(entry, Group) and place < len(words) and words[place] in entry.commands:
        entry = entry.commands[words[place]]
        place += 1
    return Found(tuple(words[:place]), entry, words[place:])


def every(
    group: Group = TOP, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Entry]]:
    """All commands and groups below a group, each with the words that name it."""
    for name, entry in group.commands.items():
        yield (*path, name), entry
        if isinstance(entry, Group):
            yield from every(entry, (*path, name))


def verb_at(home: str, name: str) -> Verb:
    """A verb: ``home`` is its module, with its name there if that is another one."""
    module, _, attribute = home.partition(":")
    found: Verb = getattr(import_module(f"{_HERE}.{module}"), attribute or name.replace("-", "_"))
    return found


def summary(entry: Entry, name: str) -> str:
    """One sentence about a command or a group."""
    if isinstance(entry, Group):
        return entry.about
    text = " ".join((verb_at(entry, name).function.__doc__ or "").partition("\n\n")[0].split())
    first, stop, _ = text.partition(". ")
    return first + stop.strip()
