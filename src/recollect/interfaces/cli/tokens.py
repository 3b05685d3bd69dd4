"""The verbs under ``recollect admin token``: tokens open the spaces of a server.

Responsible for the options and the answer. Leaves tokens to the engine. Invariant: a token is shown
only by the run that created it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated, Literal

from recollect import compose
from recollect.config import TOKEN_VARIABLE, load
from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.model import instants
from recollect.model.counts import counted
from recollect.model.values import MadeToken, Token
from recollect.store.seam import REAL

Label = Annotated[str, Option(metavar="NAME", help="A name for the token.")]
OneSpace = Annotated[
    str | None,
    Option("--space", metavar="NAME", help="The space it opens; or use --every-space."),
]
EverySpace = Annotated[
    bool, Option("--every-space", help="Open every space instead of one --space.")
]
Verbs = Annotated[
    list[str] | None,
    Option(metavar="WORDS", help="read, write, erase, create, drop.  [default: read,write]"),
]
Origin = Annotated[
    Literal["person", "agent", "unverified"],
    Option(help="The highest trust of anything written with it."),
]
Login = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Also let this login of the server in: grants it the role recollect_app.",
    ),
]
Which = Annotated[str, Argument(metavar="LABEL|ID", help="A token's label or id.")]


@partial(verb, space=OneSpace)
def create(
    call: Call,
    label: Label,
    every_space: EverySpace = False,
    verbs: Verbs = None,
    origin: Origin = "agent",
    user: o.User = None,
    agent: o.Agent = None,
    expires: o.Expires = None,
    login: Login = None,
) -> None:
    """Create a token and show it once."""
    if every_space == (call.named is not None):
        raise InvalidInput(
            "a token opens either one space or every space",
            hint="give either --space NAME or --every-space",
        )
    made = compose.tokens(load(call.store)).create(
        label,
        space=call.named,
        verbs=("read", "write") if verbs is None else o.words(verbs),
        origin=origin,
        user=user,
        agent=agent,
        expires=_instant(expires),
        login=login,
    )
    call.answer(made, _created)


def _created(made: MadeToken) -> None:
    plain.say(f"Created token {made.id} {plain.bold(plain.one_line(made.label))}")
    plain.say("  " + _details(made), "", made.token, "")
    plain.say(plain.dim("The token is not stored and will not be shown again."))
    plain.next_step(f"set {TOKEN_VARIABLE} to it where the space is used")


def _instant(given: str | None) -> str | None:
    moment = o.expiry(given)
    if moment is None:
        return None
    if isinstance(moment, timedelta):
        return instants.later(REAL.now(), moment)
    return instants.instant(moment)


@verb
def list_all(call: Call) -> None:
    """List the tokens with their labels and rights, never the secret."""
    found = compose.tokens(load(call.store)).list()
    call.answer(found, _listed)


def _listed(found: Sequence[Token]) -> None:
    if not found:
        plain.say("There are no tokens.")
    for token in found:
        plain.say(f"{token.id:>4}  {plain.bold(plain.one_line(token.label))}")
        plain.say("      " + _details(token))


@verb
def revoke(call: Call, which: Which) -> None:
    """Revoke a token by its id, or all tokens with a label."""
    count = compose.tokens(load(call.store)).revoke(which)
    done = {"which": which, "revoked": count}
    said = f"Revoked {counted(count, 'token')}: {plain.safe(which)}"
    call.answer(done, lambda _: plain.say(said))


def _details(token: Token) -> str:
    ended = None if token.live else "expired"
    if token.revoked:
        ended = f"revoked {plain.moment(token.revoked)}"
    return plain.details(
        "every space" if token.space is None else f"space {token.space}",
        ", ".join(token.verbs),
        token.origin,
        f"user {token.user}" if token.user else None,
        f"agent {token.agent}" if token.agent else None,
        f"until {plain.moment(token.expires)}" if token.expires else None,
        ended,
    )
