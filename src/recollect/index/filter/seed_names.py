"""Filters that name the columns of an earlier design (``docs/reference/contracts.md``, S2).

Responsible for writing them with the fields of episodes. Leaves the grammar to
``index.filter.parse``. Invariant: a text without such names stays as it is.

    content  text        timestamp  said_at        source_node  metadata.episodic.source_node
    scope_key = '/user/a/session/s/agent/g/'       user = 'a' and session = 's' and agent = 'g'
    scope_key starts with '/user/a/'               user = 'a'
"""

from __future__ import annotations

import re
from typing import Final

from recollect.errors import InvalidInput
from recollect.index.filter.fields import quoted

_NAMES: Final = {
    "content": "text",
    "timestamp": "said_at",
    "source_node": "metadata.episodic.source_node",  # where the store of S2 has it
}
# A text, which is left as it is; a name after a dot, too; a comparison of the scope; a name.
_PART: Final = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    | \.\s*[A-Za-z_]\w*
    | scope_key\s*(?P<verb>=|starts\s+with)\s*'(?P<scope>(?:[^']|'')*)'
    | (?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_LEVELS: Final = ("user", "session", "agent")


def translated(text: str) -> str:
    """The same filter with the names of fields."""
    return _PART.sub(_one, text)


def _one(part: re.Match[str]) -> str:
    if part["scope"] is not None:
        return _scope(part["scope"].replace("''", "'"), is_whole=part["verb"] == "=")
    name = part["name"]
    if name is not None and name.lower() == "scope_key":
        raise InvalidInput(
            "scope_key is compared with = or starts with", hint="or compare user, session and agent"
        )
    return part[0] if name is None else _NAMES.get(name, part[0])


def _scope(key: str, *, is_whole: bool) -> str:
    """The levels of a scope key, such as ``/user/a/session/s/agent/g/``."""
    parts = key.split("/")
    names = tuple(parts[1:-1:2])
    is_key = parts[0] == parts[-1] == "" and len(parts) % 2 == 0 and all(parts[1:-1])
    if not is_key or names != _LEVELS[: len(names)] or not names or (is_whole and len(names) < 3):
        raise InvalidInput(
            f"{quoted(key)} is not a scope key",
            hint="write '/user/a/session/s/agent/g/', or starts with '/user/a/'",
        )
    terms = zip(names, parts[2:-1:2], strict=True)
    return "(" + " and ".join(f"{level} = {quoted(value)}" for level, value in terms) + ")"
