"""Tokens as another token looks after them.

Responsible for what a token with the verb ``admin`` may do to others. Leaves storing them to the
engine. Invariants: a token never creates one, nor puts one in the place of another, that allows
more than itself or ends later; tokens of other spaces and those that do not exist look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from recollect.errors import Forbidden, LimitExceeded
from recollect.model import limits
from recollect.model.events import Trust
from recollect.model.rules import at_least
from recollect.model.values import MadeToken, Token
from recollect.store.tokens.tokens import (
    Tokens,
    not_admin,
    not_found,
    only_one,
    opens_none,
    too_much,
)

OF_A_SPACE_MAX_COUNT: Final = 1_000  # valid tokens of one space that tokens create


class AdminTokens:
    """The tokens of a store for the holder of one of them."""

    def __init__(
        self, tokens: Tokens, mine: Callable[[], Token], has: Callable[[str], bool]
    ) -> None:
        self._tokens = tokens
        self._mine = mine
        self._has = has

    def create(
        self,
        label: str,
        *,
        space: str | None,
        verbs: Iterable[str] = ("read", "write"),
        trust: Trust = "agent",
        user: str | None = None,
        agent: str | None = None,
        expires: str | None = None,
        by: Token | None = None,
    ) -> MadeToken:
        """Creates a token that allows no more than this one."""
        mine, verbs = self._admin(), ("read", *verbs)
        if space is None and mine.space is not None:
            raise too_much(f"it is for the space {mine.space!r} alone")
        if space is not None and not self._may_name(mine, space):
            raise opens_none(space, None)
        _check_within(mine, verbs, trust)
        self._check_room(space)
        if mine.expires is not None and (expires is None or expires > mine.expires):
            raise too_much(f"it expires on {mine.expires[:10]}")
        return self._tokens.create(
            label,
            space=space,
            verbs=verbs,
            trust=trust,
            user=user,
            agent=agent,
            expires=expires,
            by=mine,
        )

    def list(self) -> list[Token]:
        """The tokens of the spaces that this one opens."""
        mine = self._admin()
        return [token for token in self._tokens.list() if mine.space in (None, token.space)]

    def named(self, which: str) -> Sequence[Token]:
        """Those of them with this label, or the one with this id, the oldest first."""
        mine, found = self._admin(), self._tokens.named(which)
        return [token for token in found if mine.space in (None, token.space)]

    def get(self, which: str) -> Token:
        """The token with this id, or the only one with this label."""
        return only_one(which, self.named(which))

    def rotate(
        self, which: str, *, overlap_s: int = limits.TOKEN_OVERLAP_S, by: Token | None = None
    ) -> MadeToken:
        """Creates a token that allows the same, within the life of this one."""
        mine = self._admin()
        old = only_one(which, [each for each in self.named(which) if each.live])
        _check_within(mine, old.verbs, old.trust)
        if overlap_s:  # both are valid for a while
            self._check_room(old.space)
        return self._tokens.rotate(str(old.id), overlap_s=overlap_s, by=mine)

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        found = [each for each in self.named(which) if each.revoked is None]
        if not found:
            raise not_found(which)
        return sum(self._tokens.revoke(str(token.id)) for token in found)

    def find(self, hash: bytes) -> Token | None:
        """Refused: a token finds no other by its hash."""
        raise Forbidden("a token finds no other by its hash")

    def _admin(self) -> Token:
        mine = self._mine()
        if "admin" not in mine.verbs:
            raise not_admin()
        return mine

    def _check_room(self, space: str | None) -> None:
        """Refuses one more where there are many: the room of a store is that of all its spaces."""
        count = sum(each.live and each.space == space for each in self._tokens.list())
        if count >= OF_A_SPACE_MAX_COUNT:
            raise LimitExceeded(
                f"there are {count:,} valid tokens like this, and a token creates no more",
                hint="revoke those that are not used, or let the owner of the store create it",
            )

    def _may_name(self, mine: Token, space: str) -> bool:
        if mine.space is not None:
            return space == mine.space
        return "create" in mine.verbs or self._has(space)


def _check_within(mine: Token, verbs: Iterable[str], trust: Trust) -> None:
    more = [verb for verb in dict.fromkeys(verbs) if verb not in mine.verbs]
    if more:
        raise too_much(f"it lacks {', '.join(more)}")
    if not at_least(mine.trust, trust):
        raise too_much(f"its trust is {mine.trust!r}")
