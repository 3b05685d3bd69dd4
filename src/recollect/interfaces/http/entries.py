"""The stores that tokens have entered, for requests over HTTP.

Responsible for the answer to a token that is not valid. Leaves keeping them to ``serving.entries``.
Invariant: such a token gets a 401, whatever was asked.
"""

from __future__ import annotations

from recollect.interfaces.http.limits.gate import unauthorized
from recollect.serving import entries
from recollect.serving.entries import Entry, NotLetIn

__all__ = ["Entries", "Entry"]


class Entries(entries.Entries):
    """Entered stores by the hash of their token."""

    def take(self, token: str, *, is_asked: bool = True) -> Entry:
        """The store for the holder of a token, until ``give_back``."""
        try:
            return super().take(token, is_asked=is_asked)
        except NotLetIn as error:
            raise unauthorized(str(error)) from error
