"""``store.tokens``: who may open which memories of a store.

Responsible for the arguments of these calls. Leaves tokens to the engine. Invariant: a token is
shown by the call that creates it and by no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from recollect.errors import InvalidInput
from recollect.model import instants, limits
from recollect.model.events import Trust
from recollect.model.instants import Moment
from recollect.model.values import MadeToken, Token
from recollect.store.seam import Seam
from recollect.store.tokens.tokens import Tokens as Port


class Tokens:
    """The tokens of one store: the owner's calls, or those of a token with the verb ``admin``."""

    def __init__(self, tokens: Callable[[], Port], seam: Seam) -> None:
        self._tokens = tokens
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
        expires: Moment | timedelta | None = None,
    ) -> MadeToken:
        """Create a token. The answer is the only one that ever holds it.

        Args:
            label: A name for it, such as the program that uses it.
            space: The one memory that it opens, which is created; None for every memory.
            verbs: What it allows: ``read``, ``write``, ``erase``, ``create``, ``drop``, ``review``,
                ``admin``.
            trust: The highest trust of what is written with it.
            user: It reads and writes for this user alone.
            agent: It writes for this agent alone.
            expires: When it ends, or after how long.

        Raises:
            InvalidInput: No token can be like this.
        """
        if isinstance(expires, timedelta):
            expires = instants.later(self._seam.now(), expires)
        return self._tokens().create(
            label,
            space=space,
            verbs=verbs,
            trust=trust,
            user=user,
            agent=agent,
            expires=None if expires is None else instants.instant(expires),
        )

    def list(self) -> list[Token]:
        """Every token, the oldest first, also those that have ended."""
        return self._tokens().list()

    def get(self, which: str | int) -> Token:
        """One token.

        Args:
            which: Its id, or its label if no other has it.

        Raises:
            NotFound: No token has this id or label.
            Ambiguous: Several have this label.
        """
        return self._tokens().get(_name(which))

    def rotate(
        self, which: str | int, *, overlap: timedelta = timedelta(seconds=limits.TOKEN_OVERLAP_S)
    ) -> MadeToken:
        """Create a token that allows the same as another, which ends after an overlap.

        Both work until then. The new one is valid for as long as the old one was when it was
        created, and not for longer than the token that rotates it.

        Args:
            which: The old token's id, or its label if no other valid token has it.
            overlap: How long the old one still works: 30 days at most; 0 ends it at once.

        Raises:
            NotFound: No valid token has this id or label.
            Ambiguous: Several valid tokens have this label.
        """
        if not isinstance(overlap, timedelta):
            raise InvalidInput("overlap must be a timedelta", hint="use timedelta(hours=1)")
        return self._tokens().rotate(_name(which), overlap_s=overlap // timedelta(seconds=1))

    def revoke(self, which: str | int) -> int:
        """End a token at once; returns how many were ended.

        Args:
            which: Its id, or a label: then all tokens with this label.

        Raises:
            NotFound: No token of this name is left to revoke.
        """
        return self._tokens().revoke(_name(which))


def _name(which: str | int) -> str:
    return str(which) if type(which) is int else which  # type: ignore[return-value]
