"""The verbs for assistants that speak the Model Context Protocol.

Responsible for starting the server, and for adding it to clients. Leaves serving to the function
that ``__main__`` hands in, clients' files to ``clients`` and writing them to ``entries``.
Invariant: a client's file is changed only after the change was shown and confirmed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from recollect.config import config_home, load
from recollect.errors import Unsupported
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.assistants import changes, clients, entries, plugged
from recollect.interfaces.cli.assistants.program import command, note_if_fragile
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option

Http = Annotated[bool, Option("--http", help="Listen on 127.0.0.1 instead of using stdio.")]
Port = Annotated[
    int,
    Option(metavar="N", min=0, max=65_535, help="The port for --http; 0 picks a free one."),
]
ToolSet = Annotated[
    Literal["daily", "all"],
    Option("--tools", help="The five daily tools, or all tools."),
]
Folder = Annotated[
    str | None,
    Option("--folder", metavar="DIR", help="The project's folder.  [default: the current one]"),
]
ClientName = Annotated[clients.Name, Argument(metavar="CLIENT", help=clients.HELP)]
Project = Annotated[bool, Option("--project", help="Use this folder's settings.")]
User = Annotated[bool, Option("--user", help="Use your own settings.  [default]")]
DryRun = Annotated[bool, Option("--dry-run", help="Show the change without writing it.")]
Undo = Annotated[bool, Option("--undo", help="Undo the change.")]


@verb
def serve(
    call: Call,
    http: Http = False,
    port: Port = 0,
    tools: ToolSet = "daily",
    folder: Folder = None,
) -> None:
    """Serve this folder's memory and your own to an assistant."""
    start = (call.start or {}).get("mcp")
    if start is None:
        raise Unsupported(
            "this entry point cannot start the MCP server",
            hint="run it as `recollect mcp` or `python -m recollect mcp`",
        )
    start(store=call.store, space=call.space, folder=folder, tools=tools, http=http, port=port)


@verb
def install(
    call: Call,
    client: ClientName,
    project: Project = False,
    user: User = False,
    dry_run: DryRun = False,
    undo: Undo = False,
    yes: o.Yes = False,
) -> None:
    """Add the server to a client's settings; shows the change first."""
    config = config_home()
    place = clients.place(
        client, project=project, user=user, here=Path.cwd(), home=Path.home(), config=config
    )
    keep = changes.Kept(config / "recollect" / "undo")
    if undo:
        change = keep.undoing(place.file) or clients.removal(place)
    else:
        program, *args = command()
        change = clients.addition(place, clients.entry(place, program, args, _options(call)))
    if entries.install(call, keep, change, dry_run=dry_run, undo=undo, yes=yes):
        call.note("Undone." if undo else f"Written. Restart {client} to load it.")
        if not undo:
            if fragile := note_if_fragile():
                call.note(fragile)
            if client == "claude-code" and _is_plugged():
                call.note(
                    "The plugin starts the server, too, under another name: keep one of them."
                )
            call.note_if_unknown()


def _is_plugged() -> bool:
    """True if Claude Code has our plugin. The others start one server of a name."""
    return any(name == "claude-code" for name, _ in plugged.found(Path.cwd(), Path.home()))


def _options(call: Call) -> list[str]:
    """The options for a memory that was named, so that the client's folder does not matter."""
    store = [] if call.store is None else ["--store", load(call.store).where]
    return [*store, *([] if call.named is None else ["--space", call.named])]
