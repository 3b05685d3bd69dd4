"""The verbs and where each one lives.

Responsible for finding a verb by name and for the options before it. Leaves what a verb does to
its module. Invariant: a run imports the one module that its verb needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final, cast

import typer
from msgspec import structs
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from recollect import __version__
from recollect.errors import InvalidInput
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli.call import Call, Verb, shared_parameters
from recollect.interfaces.cli.declare import Option, Parameter

_HERE: Final = "recollect.interfaces.cli"
_DEBUG_HELP: Final = "Show the traceback of an unexpected error."
_VERSION_HELP: Final = "Show the version and exit."
_ABOUT: Final = "A memory for AI agents that you can read, correct, undo and check."

# Under each heading of the help: verbs and the modules they live in.
_DAILY: Final = {
    "init": "upkeep",
    "remember": "write",
    "observe": "write",
    "recall": "read",
    "context": "read",
    "why-not": "read",
    "replay": "frames",
    "list": "read:list_all",
    "recent": "recent",
    "show": "show",
    "graph": "graph",
    "path": "graph",
    "log": "log",
    "mcp": "",
    "serve": "serve",
    "ui": "ui",
    "capture": "hooks",
    "hooks": "",
}
_CORRECT: Final = {
    "review": "review",
    "branch": "",
    "revise": "write",
    "supersede": "write",
    "forget": "write",
    "undo": "undo",
    "revert": "undo",
    "restore": "undo",
    "retract": "correct",
    "settle": "correct",
    "curate": "correct",
    "erase": "erase",
    "retain": "records",
    "tag": "write",
    "sync": "sync",
    "link": "write",
}
_CARE: Final = {
    "status": "read",
    "doctor": "upkeep",
    "receipts": "records",
    "erasures": "records",
    "checkpoint": "checkpoint",
    "prove": "proofs",
    "audit": "audit",
    "embed": "embed",
    "model": "",
    "import": "bring:import_",
    "export": "bring",
    "push": "carry",
    "pull": "carry",
    "policy": "policy",
    "rule": "",
    "consolidate": "rules",
    "job": "",
    "schedule": "",
    "preset": "",
    "session": "",
    "page": "",
    "clean": "clean",
    "rebuild-index": "sync",
    "demo": "demo",
    "admin": "",
}
_MCP: Final = {"install": "mcp", "status": "working:mcp_status"}
_HOOKS: Final = {"install": "hooks", "status": "working:hooks_status"}
_ADMIN: Final = {
    "verify": "admin",
    "seal": "admin",
    "backup": "admin",
    "restore-backup": "admin",
    "rebuild": "admin",
    "migrate": "admin",
    "vacuum": "admin",
    "drop-space": "drop",
    "dropped": "drop",
    "work": "jobs",
    "key": "",
    "witness": "",
    "token": "",
}
_PRESET: Final = {
    "list": "frames:list_all",
    "show": "frames",
    "set": "frames:set_preset",
    "drop": "frames",
}
_BRANCH: Final = {
    "open": "branches:open_branch",
    "list": "branches:list_all",
    "show": "branches",
    "diff": "branches",
    "merge": "branches",
    "abandon": "branches",
    "condense": "branches",
}
_MODEL: Final = {
    "list": "models:list_all",
    "get": "models",
}
_SESSION: Final = {
    "open": "sessions:open_session",
    "close": "sessions",
    "list": "sessions:list_all",
}
_RULE: Final = {
    "set": "rules:set_rule",
    "list": "rules:list_all",
    "show": "rules",
    "drop": "rules",
}
_PAGE: Final = {
    "list": "pages:list_all",
    "show": "pages",
    "render": "pages",
    "status": "pages",
    "describe": "page_care",
    "flag": "page_care",
    "unflag": "page_care",
    "archive": "page_care",
    "activate": "page_care",
    "condense": "page_care",
    "care": "page_care",
    "limits": "page_care",
}
_JOB: Final = {
    "ask": "jobs",
    "list": "jobs:list_all",
    "show": "jobs",
    "cancel": "jobs",
}
_SCHEDULE: Final = {
    "set": "jobs:set_schedule",
    "list": "jobs:list_schedules",
    "drop": "jobs:drop_schedule",
}
_KEY: Final = {
    "create": "keys",
    "rotate": "keys",
    "pin": "keys",
    "list": "keys:list_all",
}
_WITNESS: Final = {
    "add": "witnesses",
    "list": "witnesses:list_all",
    "remove": "witnesses",
    "serve": "witnesses",
}
_TOKEN: Final = {
    "create": "tokens",
    "list": "tokens:list_all",
    "rotate": "tokens",
    "revoke": "tokens",
}


# What people type first, and the verb that does it.
_OTHER_WORDS: Final = {
    **dict.fromkeys(("search", "find", "query", "ask", "get"), "recall QUERY"),
    **dict.fromkeys(("add", "save", "store", "note", "new", "set"), "remember TEXT"),
    **dict.fromkeys(("delete", "remove", "rm", "del"), "forget ID` or `recollect erase ID"),
    **dict.fromkeys(("update", "edit", "correct", "change"), "revise ID TEXT"),
    **dict.fromkeys(("replace",), "supersede ID TEXT"),
    **dict.fromkeys(("ls", "all"), "list"),
    **dict.fromkeys(("history", "view", "cat", "why"), "show ID"),
    **dict.fromkeys(("stats", "info", "where"), "status"),
    **dict.fromkeys(("check", "repair", "fix"), "doctor"),
    **dict.fromkeys(("server", "service", "api", "http"), "serve"),
    **dict.fromkeys(("web", "browse", "inspect", "dashboard", "open"), "ui"),
    **dict.fromkeys(("install", "setup"), "mcp install CLIENT"),
    **dict.fromkeys(("approve", "accept", "reject", "pending", "queue"), "review"),
    **{verb: f"admin {verb}" for verb in _ADMIN},
    "version": "--version",
}


class Verbs(TyperGroup):
    """A group whose verbs are imported when one is asked for."""

    headings: ClassVar[dict[str, dict[str, str]]] = {
        "Daily use": _DAILY,
        "Correct and undo": _CORRECT,
        "Maintenance": _CARE,
    }

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._modules = {
            name: module for part in self.headings.values() for name, module in part.items()
        }
        self.commands = cast(Any, dict.fromkeys(self._modules))  # the names, for suggestions

    def list_commands(self, ctx: object) -> list[str]:
        """All names, in the order of the help."""
        return list(self._modules)

    def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | TyperGroup | None:
        """A verb by name."""
        if cmd_name not in self._modules:
            return None
        if not self._modules[cmd_name]:
            return cast(TyperGroup, get_command(_group(cmd_name)))
        lone = typer.Typer(add_completion=False, rich_markup_mode=None)
        lone.command(name=cmd_name)(_command(verb_at(self._modules[cmd_name], cmd_name)))
        return cast(TyperCommand, get_command(lone))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb of a command line; words of other programs are answered with ours."""
        other = _OTHER_WORDS.get(args[0]) if type(self) is Verbs else None
        if other is not None and args[0] not in self._modules:
            raise InvalidInput(f"unknown command {args[0]!r}", hint=f"use `recollect {other}`")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The verbs under their headings."""
        for heading, part in self.headings.items():
            found = [(name, self.get_command(ctx, name)) for name in part]
            rows = [(name, verb.get_short_help_str(72)) for name, verb in found if verb]
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=16)


class AdminVerbs(Verbs):
    """The verbs that maintain a memory's files."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _ADMIN}


class TokenVerbs(Verbs):
    """The verbs that manage access to a server's spaces."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _TOKEN}


class KeyVerbs(Verbs):
    """The verbs about the keys that sign checkpoints."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _KEY}


class WitnessVerbs(Verbs):
    """The verbs about those who keep checkpoints."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _WITNESS}


class McpVerbs(Verbs):
    """The verbs around the MCP server."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _MCP}


class HookVerbs(Verbs):
    """The verbs around an assistant's hooks."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _HOOKS}


class PresetVerbs(Verbs):
    """The verbs about presets."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _PRESET}


class ModelVerbs(Verbs):
    """The verbs about models for search by meaning."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _MODEL}


class SessionVerbs(Verbs):
    """The verbs about sessions."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _SESSION}


class BranchVerbs(Verbs):
    """The verbs about branches."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _BRANCH}


class RuleVerbs(Verbs):
    """The verbs about rules."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _RULE}


class JobVerbs(Verbs):
    """The verbs about background work."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _JOB}


class ScheduleVerbs(Verbs):
    """The verbs about work that is asked for again and again."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _SCHEDULE}


class PageVerbs(Verbs):
    """The verbs about pages."""

    headings: ClassVar[dict[str, dict[str, str]]] = {"Verbs": _PAGE}


# For each group: its class, its help, and the function that runs without a verb ("" shows help).
GROUPS: Final[dict[str, tuple[type[Verbs], str, str]]] = {
    "preset": (
        PresetVerbs,
        "List, show, set and drop presets, which shape a context.",
        "",
    ),
    "rule": (RuleVerbs, "Set, list, show and drop rules.", ""),
    "model": (
        ModelVerbs,
        "List and fetch models for search by meaning.",
        "models:list_all",
    ),
    "job": (JobVerbs, "Ask for background work, and see what became of it.", ""),
    "schedule": (ScheduleVerbs, "Set, list and drop when work is asked for again and again.", ""),
    "branch": (BranchVerbs, "Open, compare, merge and close branches.", ""),
    "session": (SessionVerbs, "Open, close and list sessions.", ""),
    "page": (PageVerbs, "List, show, render and care for Markdown pages.", ""),
    "admin": (AdminVerbs, "Check, copy and rebuild a memory's files; migrate a server.", ""),
    "token": (
        TokenVerbs,
        "Create, list, rotate and revoke tokens for a store's spaces.",
        "",
    ),
    "key": (KeyVerbs, "Create, replace, trust and list the keys that sign checkpoints.", ""),
    "witness": (WitnessVerbs, "Add, list, remove and serve those who keep checkpoints.", ""),
    "mcp": (McpVerbs, "Serve memory to assistants; `install` adds it to a client.", "mcp:serve"),
    "hooks": (HookVerbs, "Let an assistant read and write this memory automatically.", ""),
}


def command() -> Callable[..., object]:
    """The whole command line."""
    root = typer.Typer(
        cls=Verbs,
        help=_ABOUT,
        epilog=answer.EPILOG,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    root.callback()(_before)
    return get_command(root)


def _group(name: str) -> typer.Typer:
    verbs, about, alone = GROUPS[name]
    group = typer.Typer(
        name=name,
        cls=verbs,
        help=about,
        rich_markup_mode=None,
        invoke_without_command=True,
        add_completion=False,
    )
    # A group that is also a verb runs it when no verb of the group is named.
    group.callback()(_command(verb_at(alone, name)) if alone else _help_alone)
    return group


def verb_at(home: str, name: str) -> Verb:
    """A verb: ``home`` is its module, with its name there if that is another one."""
    module, _, attribute = home.partition(":")
    found: Verb = getattr(import_module(f"{_HERE}.{module}"), attribute or name.replace("-", "_"))
    return found


def _command(verb: Verb) -> Callable[..., None]:
    """A verb as a function that Typer can read."""

    def command(ctx: typer.Context, **given: Any) -> None:
        if ctx.invoked_subcommand is None:
            verb.run(ctx.obj if isinstance(ctx.obj, Call) else Call(), given)

    _sign(command, verb.parameters())
    command.__name__, command.__doc__ = verb.function.__name__, verb.function.__doc__
    return command


def _sign(function: Callable[..., None], parameters: Sequence[Parameter]) -> None:
    """Declares the parameters of a function to Typer, behind its context."""
    first = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    every = [first, *map(_declared, parameters)]
    function.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]


def _declared(one: Parameter) -> inspect.Parameter:
    declared = one.declared
    shown: dict[str, Any] = {
        "metavar": declared.metavar,
        "help": declared.help if isinstance(declared.help, str) else declared.help(),
        "show_default": declared.show_default,
        "autocompletion": declared.autocompletion,
        "min": declared.min,
        "max": declared.max,
    }
    info = typer.Option(*one.flags, **shown) if declared.is_option else typer.Argument(**shown)
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if one.default is ... else one.default,
        annotation=Annotated[one.typed, info],
    )


def _before(
    ctx: typer.Context,
    store: str | None,
    space: str | None,
    json: bool,
    debug: bool,
    version: bool,
) -> None:
    if version:
        plain.say(f"recollect {__version__}")
        raise typer.Exit
    before = ctx.obj if isinstance(ctx.obj, Call) else Call()
    ctx.obj = structs.replace(before, store=store, named=space, json=json)
    _help_alone(ctx)


_sign(
    _before,
    [
        *shared_parameters(),
        Parameter("debug", bool, Option("--debug", help=_DEBUG_HELP), False),
        Parameter("version", bool, Option("--version", "-V", help=_VERSION_HELP), False),
    ],
)


def _help_alone(ctx: typer.Context) -> None:
    """Prints the help when no verb is named."""
    if ctx.invoked_subcommand is None:
        plain.say(ctx.get_help())
        raise typer.Exit(answer.USAGE)
