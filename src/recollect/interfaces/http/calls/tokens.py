"""Tokens: who may open which spaces, and what a caller's own token allows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.http import shapes
from recollect.interfaces.http.call import Answer, Call
from recollect.interfaces.http.calls.records import fields
from recollect.model.values import Token


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, the oldest first."""

    items: list[Token]


class Revoked(msgspec.Struct, frozen=True, kw_only=True):
    """How many tokens were ended."""

    count: int


def me(call: Call) -> Token:
    """What the token of this request allows."""
    mine = call.store.token()
    if mine is None:  # every request has entered with one
        raise NotFound("there is no token")
    return mine


def list_(call: Call) -> Tokens:
    """The tokens that this one may look after, also those that have ended."""
    return Tokens(items=call.store.tokens.list())


def create(call: Call) -> Answer:
    """Create a token that allows no more than this one. No other answer ever has it."""
    asked: dict[str, Any] = {"space": None, **fields(call.body, "label")}
    made = call.store.tokens.create(call.body.label, **asked)
    return Answer(value=made, headers={"Location": f"/v1/tokens/{made.id}"})


def get(call: Call) -> Token:
    """One token: what it allows, and until when."""
    return call.store.tokens.get(_id(call))


def revoke(call: Call) -> Revoked:
    """End a token at once."""
    return Revoked(count=call.store.tokens.revoke(_id(call)))


def rotate(call: Call) -> Answer:
    """Create a token in the place of another; both work until the overlap has passed."""
    body: shapes.Rotate = call.body
    given = (
        {} if body.overlap_s is msgspec.UNSET else {"overlap": timedelta(seconds=body.overlap_s)}
    )
    made = call.store.tokens.rotate(_id(call), **given)
    return Answer(value=made, headers={"Location": f"/v1/tokens/{made.id}"})


def _id(call: Call) -> int:
    """The number of a token; a label may mean several, so it is not one here."""
    text = call.path["token"]
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise NotFound("no token has this id")
    return int(text)
