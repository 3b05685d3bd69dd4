"""The verbs for assistants that speak the Model Context Protocol.

Responsible for starting the server, and for telling clients about it. Leaves serving to whoever
starts it, clients' files to ``clients`` and writing them to ``entries``. Invariant: no client's
file is changed unseen, or without a yes.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from recollect.config import config_home, load
from recollect.errors import Unsupported
from recollect.interfaces.cli import changes, clients, entries
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.program import command

Http = Annotated[
    bool, typer.Option("--http", help="Listen on loopback instead of speaking over stdio.")
]
Port = Annotated[
    int, typer.Option(metavar="N", min=0, max=65_535, help="For --http; 0 takes a free one.")
]
ToolSet = Annotated[
    Literal["daily", "all"],
    typer.Option("--tools", help="Five tools for every day, or all of them."),
]
Folder = Annotated[
    str | None,
    typer.Option("--folder", metavar="DIR", help="The project's folder; else the current one."),
]
ClientName = Annotated[clients.Name, typer.Argument(metavar="CLIENT", help=clients.HELP)]
Project = Annotated[bool, typer.Option("--project", help="In this folder's settings.")]
User = Annotated[bool, typer.Option("--user", help="In your own settings.  [default]")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change; write nothing.")]
Undo = Annotated[bool, typer.Option("--undo", help="Take it back.")]


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
            "this entry starts no server",
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
    """Tell a client where the server is; shows the change first."""
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
        call.note("Taken back." if undo else f"Written. Restart {client} to see it.")
        if not undo:
            call.note_strange()
            _note_missing(call)


def _note_missing(call: Call) -> None:
    """A client would only see a server that ends at once, and not why."""
    if find_spec("mcp") is None:
        call.note("The server is not installed yet: pip install 'recollect[mcp]'")


def _options(call: Call) -> list[str]:
    """A memory that was named stays named, wherever the client starts the server."""
    store = [] if call.store is None else ["--store", load(call.store).where]
    return [*store, *([] if call.named is None else ["--space", call.named])]
