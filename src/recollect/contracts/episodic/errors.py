"""The errors of this API.

Responsible for their names. Leaves their codes to ``recollect.errors``, whose tree they belong to.
Invariant: each says what the caller can do next, as its parent does.
"""

from __future__ import annotations

from recollect.errors import InvalidInput, Unsupported


class MigrationNotSupported(Unsupported):
    """A migration has an operation other than adding a nullable column."""


class MemoryScopeError(InvalidInput, ValueError):
    """A user, a session or an agent cannot be a scope, or is not the one of the episode."""


class ConsolidationRuleError(InvalidInput, ValueError):
    """A rule, its filter or a delta is malformed; nothing was read or written by it."""
