"""The verbs under ``recollect proof witness``: those who keep checkpoints elsewhere.

Responsible for the options and the answer. Leaves the list to ``memory.witnesses`` and serving to
``web``. Invariant: no verb shows a private key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory import witnesses
from recollect.memory.witnesses import Witnesses
from recollect.model.values import WitnessKey
from recollect.store.witnesses.folder import FolderWitness

_PORT: Final = 8600  # fixed: those who ask a witness keep its address

Place = Annotated[
    str, Argument(metavar="PLACE", help="A folder elsewhere, or the address of a witness.")
]
Which = Annotated[
    str, Argument(metavar="WITNESS", help="Its name, key, folder or address, as `list` shows it.")
]
Key = Annotated[
    str | None,
    Option("--key", metavar="KEY", help="The public key of the witness; an address needs it."),
]
Folder = Annotated[str, Argument(metavar="FOLDER", help="The folder of the witness.")]
Logs = Annotated[
    list[str] | None,
    Option("--log", metavar="KEY", help="A ledger's public key, to be cosigned from now on."),
]
New = Annotated[bool, Option("--create", help="Make a new witness if there is none in FOLDER.")]
Port = Annotated[
    int, Option("--port", metavar="N", min=0, max=65_535, help="The port; 0 picks a free one.")
]


@verb
def add(call: Call, place: Place, key: Key = None) -> None:
    """Ask a witness to keep this memory's checkpoints; a folder becomes one."""
    with call.memory() as memory:
        added = Witnesses(memory).add(place, key)
    call.answer(added, _added)


def _added(added: WitnessKey) -> None:
    plain.say(f"Checkpoints of {plain.safe(added.ledger)} will be cosigned by", "", added.key, "")
    if added.signs:
        told = "Its key is in ~/.recollect/keys beside yours; what counts is that its folder is"
        plain.say(plain.dim(f"{told} kept where the memory's is not."))
    plain.next_step("recollect proof checkpoint", "recollect admin verify")


@verb
def list_all(call: Call) -> None:
    """List the witnesses that are asked for this memory."""
    with call.memory() as memory:
        found = Witnesses(memory).all()
    call.answer(found, _listed)


def _listed(found: Sequence[WitnessKey]) -> None:
    if not found:
        plain.say("No witness keeps the checkpoints of this memory.")
        plain.next_step("recollect proof witness add FOLDER")
    for each in found:
        plain.say(plain.bold(plain.safe(each.place)), f"  {plain.safe(each.key)}")


@verb
def remove(call: Call, which: Which) -> None:
    """Stop asking a witness; what it keeps stays there."""
    with call.memory() as memory:
        removed = Witnesses(memory).remove(which)
    call.answer(removed, _removed)


def _removed(removed: WitnessKey) -> None:
    plain.say(f"{plain.safe(removed.name)} is not asked any more, and vouches for nothing here.")
    plain.say(plain.dim(f"Its files in {plain.safe(removed.place)} were left as they are."))


@verb
def serve(
    call: Call, folder: Folder, log: Logs = None, create: New = False, port: Port = _PORT
) -> None:
    """Serve the witness in a folder to others on this machine, over HTTP."""
    from recollect.serving import server
    from recollect.serving.guard import Guard
    from recollect.serving.witness import WitnessApp

    server.check_installed("a witness", "mcp")
    witness = witnesses.to_serve(folder, log or [], new=create)
    with server.listen(port) as listening:
        port = listening.getsockname()[1]
        address = f"http://{server.ADDRESS}:{port}"
        pinned = witness.logs()
        told = {"address": address, "key": str(witness.key), "logs": pinned}
        call.answer(told, lambda _: _served(address, witness, pinned))
        # Nothing but a checkpoint that a pinned key signed is accepted, so there is no token.
        server.serve(Guard(WitnessApp(witness), port=port, token=None), listening)


def _served(address: str, witness: FolderWitness, pinned: Sequence[str]) -> None:
    plain.say(f"Listening on {address}; Ctrl-C ends.", "", f"  {witness.key}", "")
    for name in pinned:
        plain.say(f"Cosigns checkpoints of {plain.safe(name)}.")
    if not pinned:
        plain.say("No ledger is pinned, so nothing is cosigned. Serve it with --log KEY.")
    plain.next_step(f"recollect proof witness add {address} --key {witness.key}")
