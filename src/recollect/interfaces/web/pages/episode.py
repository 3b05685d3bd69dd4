"""Something that was said, with what was said around it.

Responsible for one episode in its conversation. Leaves the whole of it to ``talk``. Invariant: the
words are shown as they were stored.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.pages.records import quoted
from recollect.interfaces.web.pages.talk import Turn, resting, turn_of
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Episode, Record

_AROUND: Final = 4


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    episode: Episode
    talk: tuple[Turn, ...]  # in the order it was said, this one among them


def page(asked: Asked, memory: Memory) -> View:
    """Reads one episode."""
    found = memory.get(asked.names["id"], include=INCLUDES)
    if isinstance(found, Record):
        return View(title=found.id, main=None, answer=found, to=asked.url("r", found.id))
    talk = _talk(memory, found)
    rests = resting(memory, talk)
    return View(
        title=found.id,
        main=Main(episode=found, talk=tuple(turn_of(each, rests) for each in talk)),
        answer=found,
        calls=(
            asked.call(
                asked.python("get", found.id, include=list(INCLUDES)), asked.cli("show", found.id)
            ),
        ),
    )


def _talk(memory: Memory, found: Episode) -> tuple[Episode, ...]:
    """What was said just before and after it in its session."""
    session = found.scope.session
    if session is None:
        return (found,)
    in_it = f"session = {quoted(session)}"
    later = memory.sessions.episodes(
        filter=f"{in_it} and said_at >= '{found.said_at}'", include=INCLUDES, limit=500
    )
    after = [each for each in reversed(later) if each.seq > found.seq][:_AROUND]
    before = memory.sessions.episodes(
        filter=in_it, include=INCLUDES, limit=_AROUND, after=found.seq
    )
    return (*reversed(before), found, *after)
