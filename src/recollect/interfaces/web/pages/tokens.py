"""Tokens: who may open which memories, in sentences.

Responsible for what each token allows, in words, and for the sessions that are open. Leaves
creating and ending them to ``acts``. Invariant: no token itself is on this page; a new one is told
once, by its act.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import Forbidden
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.errors import told
from recollect.interfaces.web.login.logins import Login
from recollect.interfaces.web.rights import DOES, Needs, Rights
from recollect.interfaces.web.view import View
from recollect.memory import Store
from recollect.model.values import Token
from recollect.store.tokens.grants import VERBS

ENDS_DAYS: Final = {"never": None, "1": "a day", "30": "30 days", "90": "90 days", "365": "a year"}
OVERLAPS_S: Final = {"3600": "an hour", "0": "no time", "86400": "a day", "604800": "a week"}
_USUAL: Final = ("read", "write")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One token."""

    token: Token
    sentence: str
    state: str


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    refused: str | None  # why no tokens are shown
    logins: tuple[Login, ...]
    live: tuple[Row, ...]
    ended: tuple[Row, ...]
    spaces: tuple[str, ...]
    verbs: tuple[tuple[str, str, bool, bool], ...]  # name, words, is ticked, may be given
    ends: dict[str, str | None]
    overlaps: dict[str, str]


def page(asked: Asked, store: Store) -> View:
    """Reads the tokens that this session may look after."""
    found, refused = _found(store)
    held = Rights(store.token())
    rows = [Row(token=each, sentence=sentence(each), state=_state(each)) for each in found]
    main = Main(
        refused=refused,
        logins=tuple(asked.logins.all()) if asked.logins is not None else (),
        live=tuple(row for row in rows if row.token.live),
        ended=tuple(row for row in reversed(rows) if not row.token.live),
        spaces=tuple(store.spaces()),
        verbs=tuple(
            (verb, DOES[verb], verb in _USUAL, not held.lacks(Needs(verb))) for verb in VERBS
        ),
        ends=ENDS_DAYS,
        overlaps=OVERLAPS_S,
    )
    call = asked.call("store.tokens.list()", asked.cli("admin", "token", "list"))
    return View(title="Tokens", main=main, answer=None if refused else found, calls=(call,))


def _found(store: Store) -> tuple[list[Token], str | None]:
    """The tokens, or why this session sees none."""
    try:
        return store.tokens.list(), None
    except Forbidden as error:
        return [], told(error, with_hint=True)


def sentence(token: Token) -> str:
    """What a token allows, as one would say it."""
    verbs = [DOES[verb] for verb in VERBS if verb in token.verbs]
    does = " and ".join(filter(None, [", ".join(verbs[:-1]), verbs[-1] if verbs else "do nothing"]))
    where = "every memory" if token.space is None else f"the memory {token.space}"
    whose = f", for the user {token.user} alone" if token.user is not None else ""
    whose += f", as the agent {token.agent} alone" if token.agent is not None else ""
    return f"May {does} in {where}{whose}. What it writes counts as {_counts(token)}."


def _counts(token: Token) -> str:
    words = {"person": "said by a person", "agent": "said by an agent"}
    return words.get(token.trust, "unverified")


def _state(token: Token) -> str:
    if token.live:
        return "valid" if token.expires is None else "valid until"
    return "revoked" if token.revoked is not None else "expired"
