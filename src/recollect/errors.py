"""Every exception Recollect raises on purpose, grouped by what the caller can do next.

    RecollectError
    ├── InvalidInput     the call itself is wrong: change the arguments
    │   ├── LimitExceeded    a stated limit was passed: send less
    │   └── Ambiguous        a name could mean several things: use one of the listed ids
    ├── NotFound         nothing here has that id (or it is not yours to see)
    ├── Forbidden        this handle may not do that: use one with more trust
    ├── Conflict         the memory is in another state: read again, then decide
    │   └── Changed          what the call expected has changed since the caller read it
    ├── Unavailable      the disk or the server failed: open again, then retry
    ├── Unsupported      this release or this handle cannot do that
    │   └── NotInstalled     an optional package is missing: install it
    ├── ConfigError      the settings or the location of the workspace are wrong
    │   └── KeyMissing       the key of a subject is not on this machine: bring it here
    └── IntegrityError   the ledger or its index is damaged: run `recollect admin doctor`

Each error carries a stable ``code`` for programs and, where there is one, a ``hint`` that
names the next step for a person. Errors of drivers never leave the package as they are.
"""

from __future__ import annotations

from typing import ClassVar


class RecollectError(Exception):
    """The root of the tree; catch it to catch everything Recollect raises on purpose."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def to_dict(self) -> dict[str, str | None]:
        """The error as JSON-ready data, as ``--json`` prints it and services return it."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class InvalidInput(RecollectError):
    """The call itself is wrong; nothing was written."""

    code = "invalid_input"


class LimitExceeded(InvalidInput):
    """A stated limit was passed; see ``recollect.model.limits``."""

    code = "limit_exceeded"


class Ambiguous(InvalidInput):
    """A key or the beginning of an id could mean several things; the message lists their ids."""

    code = "ambiguous"


class NotFound(RecollectError):
    """Nothing visible to this handle has that id; data of other users is reported the same way."""

    code = "not_found"

    def __init__(self, message: str, *, hint: str | None = None, is_seen: bool = False) -> None:
        """``is_seen``: it is there and the handle sees it; only this call leaves it out."""
        super().__init__(message, hint=hint)
        self.is_seen = is_seen


class Forbidden(RecollectError):
    """The handle's trust or scope does not allow the act."""

    code = "forbidden"


class Conflict(RecollectError):
    """The current state of the memory does not allow the act."""

    code = "conflict"


class Changed(Conflict):
    """The state that the call expected (``expect=``) has changed; nothing was written."""

    code = "changed"


class Unavailable(RecollectError):
    """The disk or the server failed; the outcome of this call alone is unknown."""

    code = "unavailable"


class Unsupported(RecollectError):
    """This release, or this kind of handle, cannot do that."""

    code = "unsupported"


class NotInstalled(Unsupported, ImportError):
    """A package that this part needs is not installed; the hint names the extra that has it."""

    code = "not_installed"


class ConfigError(RecollectError):
    """The settings or the location of the workspace are wrong."""

    code = "config"


class KeyMissing(ConfigError):
    """Memory is encrypted with a key that is not on this machine; it was not erased."""

    code = "key_missing"


class IntegrityError(RecollectError):
    """Acknowledged data was lost or altered; a person must decide how to go on."""

    code = "integrity"
