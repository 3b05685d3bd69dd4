"""The verb ``recollect ui``.

Responsible for its options. Leaves serving to the function that ``__main__`` hands in. Invariant:
this module does not know the inspector.
"""

from __future__ import annotations

from typing import Annotated

from recollect.errors import Unsupported
from recollect.interfaces.cli import answer
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Option

Port = Annotated[int, Option(metavar="N", min=0, max=65_535, help="The port; 0 picks a free one.")]
NoOpen = Annotated[bool, Option("--no-open", help="Only print the link; open no browser.")]
ReadOnly = Annotated[bool, Option("--read-only", help="Show everything and change nothing.")]
Demo = Annotated[
    bool, Option("--demo", help="Look at a small story, kept in memory while it runs.")
]


@verb
def ui(
    call: Call,
    port: Port = 0,
    no_open: NoOpen = False,
    read_only: ReadOnly = False,
    demo: Demo = False,
) -> None:
    """Look at a memory in the browser."""
    start = (call.start or {}).get("web")
    if start is None:
        raise Unsupported(
            "this entry point cannot start the inspector",
            hint="run it as `recollect ui` or `python -m recollect ui`",
        )
    if not demo:
        call.note_if_unknown()
    start(
        store=call.store,
        space=call.named,
        port=port,
        opens=not no_open,
        read_only=read_only,
        demo=demo,
        tell=answer.write_json if call.json else None,
    )
