"""The verbs under ``recollect admin token``: tokens open the spaces of a store.

Responsible for the options and the answer. Leaves tokens to the engine. Invariant: a token is shown
only by the run that created it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from recollect.config import MEMORY, TOKEN_VARIABLE, load
from recollect.errors import ConfigError, InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory import Store
from recollect.model.counts import counted
from recollect.model.values import MadeToken, Token
from recollect.places import known

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
    Option(
        metavar="WORDS",
        help="read, write, erase, create, drop, review, admin.  [default: read,write]",
    ),
]
TrustOption = Annotated[
    Literal["person", "agent", "unverified"],
    Option(help="The highest trust of anything written with it."),
]
Overlap = Annotated[
    str, Option(metavar="SPAN", help="How long the old one still works: 1h, 2d, 0s.")
]
Which = Annotated[str, Argument(metavar="LABEL|ID", help="A token's label or id.")]


@partial(verb, space=OneSpace)
def create(
    call: Call,
    label: Label,
    every_space: EverySpace = False,
    verbs: Verbs = None,
    trust: TrustOption = "agent",
    user: o.User = None,
    agent: o.Agent = None,
    expires: o.Expires = None,
) -> None:
    """Create a token and show it once."""
    if every_space == (call.named is not None):
        raise InvalidInput(
            "a token opens either one space or every space",
            hint="give either --space NAME or --every-space",
        )
    with _store(call) as store:
        is_known = call.named is not None and known.is_known(store.settings, call.named)
        made = store.tokens.create(
            label,
            space=call.named,
            verbs=("read", "write") if verbs is None else o.words(verbs),
            trust=trust,
            user=user,
            agent=agent,
            expires=o.expiry(expires),
        )
        if call.named is not None and is_known and store.settings.known_in is not None:
            known.adopt(store.settings, call.named)  # it may have just been created
        use = _use(store)
    call.answer(made, partial(_created, use=use))


def _store(call: Call) -> Store:
    settings = load(call.store)
    if settings.where == MEMORY:
        raise ConfigError(
            "a store in memory ends with this command, and its tokens with it",
            hint="name a folder, or a database with --store postgresql://...",
        )
    return Store.open(settings=settings)


def _use(store: Store) -> str:
    """What a new token is for."""
    if store.settings.folder is None:
        return f"set {TOKEN_VARIABLE} to it where the space is used"
    return "give it to the program that enters this store with it (`store.entered`)"


def _created(made: MadeToken, use: str) -> None:
    plain.say(f"Created token {made.id} {plain.bold(plain.one_line(made.label))}")
    plain.say("  " + _details(made), "", made.token, "")
    plain.say(plain.dim("The token is not stored and will not be shown again."))
    plain.next_step(use)


@verb
def list_all(call: Call) -> None:
    """List the tokens with their labels and rights, never the secret."""
    with _store(call) as store:
        found = store.tokens.list()
    call.answer(found, _listed)


def _listed(found: Sequence[Token]) -> None:
    if not found:
        plain.say("There are no tokens.")
    for token in found:
        plain.say(f"{token.id:>4}  {plain.bold(plain.one_line(token.label))}")
        plain.say("      " + _details(token))


@verb
def rotate(call: Call, which: Which, overlap: Overlap = "1h") -> None:
    """Create a token in the place of another; both work until the old one ends."""
    span = o.span_of(overlap)
    if span is None:
        raise InvalidInput(f"--overlap: {overlap!r} is not a span", hint="write 1h, 2d or 0s")
    with _store(call) as store:
        made, use = store.tokens.rotate(which, overlap=span), _use(store)
    after = f"after {plain.safe(overlap)}" if span else "now"
    call.answer(made, partial(_created, use=f"{use}; the old one ends {after}"))


@verb
def revoke(call: Call, which: Which) -> None:
    """Revoke a token by its id, or all tokens with a label."""
    with _store(call) as store:
        count = store.tokens.revoke(which)
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
        token.trust,
        f"user {token.user}" if token.user else None,
        f"agent {token.agent}" if token.agent else None,
        f"until {plain.moment(token.expires)}" if token.expires else None,
        f"by token {token.by}" if token.by is not None else None,
        ended,
    )
