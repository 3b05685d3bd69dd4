"""The scope of an episode: one user, one session, one agent.

Responsible for which names can be a scope, and for the text that stands for one (``scope_key``).
Leaves reading by scope to the memory, which compares each name on its own. Invariants: a name is
never changed, so two that differ are two scopes; two scopes never have the same key.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from recollect.contracts.episodic.errors import MemoryScopeError
from recollect.errors import InvalidInput
from recollect.model import validate

ANY: Final = "%"  # in a pattern: every name
PARTS: Final = ("user", "session", "agent")


def name(value: str, part: str) -> str:
    """A name of a scope, exactly as given; one that would be stored differently is refused."""
    try:
        stored = validate.name(value, part)
    except InvalidInput as error:
        raise MemoryScopeError(error.message, hint=error.hint) from error
    if stored != value:
        raise MemoryScopeError(
            f"{part} {validate.shown(value)} has blanks around it or is not in composed form (NFC)",
            hint=f"write {stored!r}",
        )
    return stored


def scope_key(user: str, session: str, agent: str) -> str:
    """The text that stands for a scope, with a slash at its end."""
    return _joined(*(_written(value) for value in (user, session, agent)))


def scope_pattern(user: str, session: str | None = None, agent: str | None = None) -> str:
    """The LIKE pattern of a read; a level that is left out is ``%``."""
    return _joined(*(ANY if one is None else _written(one) for one in (user, session, agent)))


def names_in(pattern: str) -> dict[str, str] | None:
    """The names that a key or a pattern asks for, by part; None if it has another form.

    ``/user/alice/%`` is short for every session and agent of that user.
    """
    parts = pattern.split("/")
    if parts[3:] == [ANY]:
        parts = [*parts[:3], "session", ANY, "agent", ANY, ""]
    if len(parts) != 8 or (parts[0], *parts[1::2]) != ("", *PARTS, ""):
        return None
    given = {part: value for part, value in zip(PARTS, parts[2::2], strict=True) if value != ANY}
    names = {part: unquote(value) for part, value in given.items()}
    is_exact = all(value and _written(value) == given[part] for part, value in names.items())
    return names if is_exact else None


def _joined(user: str, session: str, agent: str) -> str:
    return f"/user/{user}/session/{session}/agent/{agent}/"


def _written(value: str) -> str:
    """A name in a key: its slashes, which separate names there, and its % are escaped."""
    return value.replace("%", "%25").replace("/", "%2F")
