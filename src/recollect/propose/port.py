"""The proposer port: what turns episodes into suggestions.

Responsible for the contract. Leaves asking a model to ``propose.chat`` and checking what comes back
to ``memory.rules.suggestions``. Invariant: importing this loads no client.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.errors import Unavailable

if TYPE_CHECKING:  # a memory that is only read or written needs no suggestions
    from recollect.model.values import Episode, Record, Suggestion


class Proposer(Protocol):
    """A function, or an object that is called like one. It may only suggest.

    - It is given episodes of one user, in order, and the records that this user has about them.
    - Episodes that are unverified are never given together with others, so that they cannot
      influence what is suggested from those.
    - Each suggestion quotes an episode, and names no record, that it was not given; any other is
      reported and left out.
    """

    def __call__(
        self, episodes: Sequence[Episode], related: Sequence[Record], /
    ) -> Iterable[Suggestion]:
        """What these episodes change about what is known."""
        ...


@runtime_checkable
class Limited(Protocol):
    """A proposer with a limit for each pass."""

    def begin(self) -> None:
        """A pass begins: count from zero."""
        ...


class Unusable(Unavailable):
    """A proposer answered with something that cannot be read; asking again is unlikely to help."""
