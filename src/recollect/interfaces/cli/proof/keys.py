"""The verbs under ``recollect proof key``: keys sign the checkpoints of a ledger.

Responsible for the options and the answer. Leaves keys to ``memory.keys``. Invariant: no verb shows
a private key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory.keys import Keys
from recollect.model.values import SigningKey

Line = Annotated[str, Argument(metavar="KEY", help="A public key, as `proof key list` shows it.")]
Replace = Annotated[
    bool,
    Option("--replace", help="Trust it although no checkpoint is signed by the earlier key too."),
]


@verb
def create(call: Call) -> None:
    """Create the key that signs this memory's checkpoints."""
    with call.memory() as memory:
        made = Keys(memory).create()
    call.answer(made, _created)


def _created(made: SigningKey) -> None:
    plain.say(f"Created the key that signs {plain.safe(made.ledger)}", "", made.key, "")
    plain.say(
        plain.dim("This line is public: others pin it. The private key is in ~/.recollect/keys.")
    )
    plain.next_step("recollect proof checkpoint")


@verb
def rotate(call: Call) -> None:
    """Replace the key: both sign one checkpoint, then the old one is removed."""
    with call.memory() as memory, call.progress("Signing"):
        made = Keys(memory).rotate()
    call.answer(made, _rotated)


def _rotated(made: SigningKey) -> None:
    plain.say("Replaced the key; both signed a checkpoint. The new one:", "", made.key, "")
    plain.say(
        plain.dim("Others need that checkpoint to trust it: recollect admin push, or a backup.")
    )


@verb
def pin(call: Call, key: Line, replace: Replace = False) -> None:
    """Trust a public key for this memory's checkpoints."""
    with call.memory() as memory:
        pinned = Keys(memory).pin(key, replace=replace)
    call.answer(pinned, _pinned)


def _pinned(pinned: SigningKey) -> None:
    plain.say(f"Checkpoints of {plain.safe(pinned.ledger)} that this key signed count from now on.")
    plain.next_step("recollect admin verify")


@verb
def list_all(call: Call) -> None:
    """List the keys that are trusted for this memory, and which of them can sign here."""
    with call.memory() as memory:
        found = Keys(memory).all()
    call.answer(found, _listed)


def _listed(found: Sequence[SigningKey]) -> None:
    if not found:
        plain.say("No key is trusted for this memory.")
        plain.next_step("recollect proof key create", "recollect proof key pin KEY")
    for key in found:
        plain.say(key.key, plain.dim("  signs here" if key.signs else "  trusted"))
