"""A list of tokens, for the engines that keep it whole: a file, or the memory of a process.

Responsible for what creating, replacing and revoking change in the list. Leaves storing it to
``TokenPlace``. Invariants: a list is never changed, only replaced by another; it holds hashes and
no token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final, Protocol

import msgspec
from msgspec.structs import asdict, replace

from recollect.errors import LimitExceeded
from recollect.model import instants, limits
from recollect.model.events import Trust
from recollect.model.values import MadeToken, Token
from recollect.store.seam import Seam
from recollect.store.tokens.tokens import (
    Wanted,
    checked_overlap,
    checked_which,
    hash_of,
    new_token,
    next_expiry,
    not_found,
    only_one,
    wanted,
)

TOKENS_MAX_COUNT: Final = 10_000


class KeptToken(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One token as it is stored: what it allows, and its hash."""

    id: int
    hash: str  # SHA-256, hexadecimal
    label: str
    space: str | None  # None: every space
    verbs: tuple[str, ...]
    trust: Trust = msgspec.field(name="origin")  # as stores have it on the disk
    user: str | None = None
    agent: str | None = None
    made: str
    expires: str | None = None
    revoked: str | None = None
    by: int | None = None  # the token that created or rotated it; None: the owner

    def is_live(self, now: str) -> bool:
        """True if it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or self.expires > now)

    def shown(self, now: str) -> Token:
        """What it allows, without its hash."""
        fields = asdict(self)
        del fields["hash"]
        return Token(**fields, live=self.is_live(now))

    def has_name(self, which: str) -> bool:
        """True if this is its label or its id."""
        return which in (self.label, str(self.id))


class TokenList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Every token of a store."""

    version: int = 1
    next: int = 1  # ids are not used again
    tokens: tuple[KeptToken, ...] = ()

    @cached_property
    def by_hash(self) -> dict[str, KeptToken]:
        """Each token under its hash."""
        return {token.hash: token for token in self.tokens}

    def named(self, which: str, now: str) -> list[KeptToken]:
        """The valid tokens with this label or id."""
        return [token for token in self.tokens if token.has_name(which) and token.is_live(now)]

    def added(self, asked: Wanted, hash: str, now: str, by: Token | None) -> TokenList:
        """With one more; if there is no room, without the one that ended first."""
        kept = self.tokens
        if len(kept) >= TOKENS_MAX_COUNT:
            ended = [token for token in kept if not token.is_live(now)]
            if not ended:
                raise LimitExceeded(
                    f"there are {TOKENS_MAX_COUNT:,} valid tokens, and no more are allowed",
                    hint="revoke those that are not used; `recollect admin token list` lists them",
                )
            kept = tuple(token for token in kept if token.id != ended[0].id)
        new = KeptToken(
            id=self.next, hash=hash, made=now, by=None if by is None else by.id, **asdict(asked)
        )
        return replace(self, next=self.next + 1, tokens=(*kept, new))

    def changed(self, tokens: Iterable[KeptToken]) -> TokenList:
        """With these in the place of those with the same ids."""
        new = {token.id: token for token in tokens}
        return replace(self, tokens=tuple(new.get(token.id, token) for token in self.tokens))


class TokenPlace(Protocol):
    """Where a list is kept."""

    def read(self) -> TokenList:
        """The list as it is now."""
        ...

    def change(self, how: Callable[[TokenList], TokenList]) -> TokenList:
        """Replaces the list while no other process does; it is durable when this returns."""
        ...


class ListedTokens:
    """The tokens of a store that keeps them in one list."""

    def __init__(self, place: TokenPlace, make_space: Callable[[str], None], seam: Seam) -> None:
        self._place = place
        self._make_space = make_space
        self._seam = seam

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
        """Creates a token for one space, which is created too, or with None for every space."""
        now = self._seam.now()
        asked = wanted(
            label,
            space=space,
            verbs=verbs,
            trust=trust,
            user=user,
            agent=agent,
            expires=expires,
            now=now,
        )
        if asked.space is not None:
            self._make_space(asked.space)
        token = new_token(self._seam)
        after = self._place.change(
            lambda before: before.added(asked, hash_of(token).hex(), now, by)
        )
        return _shown_once(after, after.next - 1, token, now)

    def list(self) -> list[Token]:
        """Every token, the oldest first."""
        now = self._seam.now()
        return [token.shown(now) for token in self._place.read().tokens]

    def named(self, which: str) -> Sequence[Token]:
        """The tokens with this label, or the one with this id, the oldest first."""
        which, now = checked_which(which), self._seam.now()
        return [token.shown(now) for token in self._place.read().tokens if token.has_name(which)]

    def get(self, which: str) -> Token:
        """The token with this id, or the only one with this label."""
        return only_one(which, self.named(which))

    def rotate(
        self, which: str, *, overlap_s: int = limits.TOKEN_OVERLAP_S, by: Token | None = None
    ) -> MadeToken:
        """Creates a token that allows the same; the old one ends so many seconds later."""
        which, overlap_s, now = checked_which(which), checked_overlap(overlap_s), self._seam.now()
        token = new_token(self._seam)
        id = 0

        def rotated(before: TokenList) -> TokenList:
            nonlocal id
            live = before.named(which, now)
            only_one(which, [each.shown(now) for each in live])
            old, id = live[0], before.next
            asked = Wanted(
                label=old.label,
                space=old.space,
                verbs=old.verbs,
                trust=old.trust,
                user=old.user,
                agent=old.agent,
                expires=next_expiry(old.made, old.expires, now, by),
            )
            ends = instants.from_microseconds(instants.to_microseconds(now) + overlap_s * 1_000_000)
            ending = replace(old, expires=min(ends, old.expires or ends))
            if overlap_s == 0:
                ending = replace(old, revoked=now)
            return before.changed([ending]).added(asked, hash_of(token).hex(), now, by)

        after = self._place.change(rotated)
        return _shown_once(after, id, token, now)

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        which, now = checked_which(which), self._seam.now()
        count = 0

        def revoked(before: TokenList) -> TokenList:
            nonlocal count
            found = [t for t in before.tokens if t.has_name(which) and t.revoked is None]
            count = len(found)
            if not found:
                raise not_found(which)
            return before.changed(replace(token, revoked=now) for token in found)

        self._place.change(revoked)
        return count

    def find(self, hash: bytes) -> Token | None:
        """The token with this hash, valid or not."""
        found = self._place.read().by_hash.get(hash.hex())
        return None if found is None else found.shown(self._seam.now())


def without_space(before: TokenList, space: str, now: str) -> TokenList:
    """With the tokens for one space revoked, because it was dropped."""
    return before.changed(
        replace(token, revoked=now)
        for token in before.tokens
        if token.space == space and token.revoked is None
    )


def _shown_once(after: TokenList, id: int, token: str, now: str) -> MadeToken:
    (kept,) = (each for each in after.tokens if each.id == id)
    return MadeToken(**asdict(kept.shown(now)), token=token)
