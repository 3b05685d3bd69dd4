"""Conversations: one session as it was said, and what rests on each turn.

Responsible for a page of a session. Leaves one episode to ``episode``. Invariant: turns are shown
in the order they were said, word for word; hidden ones stay, folded, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.pages.records import quoted
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Episode, Record

_TURNS_COUNT: Final = 100
_RECORDS_COUNT: Final = 500  # looked at for what rests on a turn
HIDDEN: Final = {
    "hidden": "what rested on it was corrected or forgotten",
    "forgotten": "it was forgotten",
}


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was said, and the records that name it as evidence."""

    episode: Episode
    rests: tuple[Record, ...]
    hidden: str | None  # why it is folded


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    name: str
    turns: tuple[Turn, ...]
    earlier: int | None
    is_first: bool
    records: tuple[Record, ...]  # written in it, without evidence in it


def page(asked: Asked, memory: Memory) -> View:
    """Reads one session, its last turns first in time order."""
    name = asked.names["name"]
    where = f"session = {quoted(name)}"
    before = asked.maybe("before")
    read = memory.sessions.episodes(
        filter=where, include=INCLUDES, limit=_TURNS_COUNT + 1, after=before
    )
    found = read[:_TURNS_COUNT]
    written = memory.list(filter=where, include=INCLUDES, limit=_TURNS_COUNT)
    if not found and not written:
        raise NotFound(
            f"nothing here belongs to the session {name!r}", hint="the timeline names sessions"
        )
    rests = resting(memory, found)
    turns = tuple(turn_of(each, rests) for each in reversed(found))
    named = {record.id for turn in turns for record in turn.rests}
    main = Main(
        name=name,
        turns=turns,
        earlier=found[-1].seq if len(read) > _TURNS_COUNT else None,
        is_first=before is None,
        records=tuple(each for each in written if each.id not in named),
    )
    python = asked.python(
        "sessions.episodes", filter=where, include=list(INCLUDES), limit=_TURNS_COUNT, after=before
    )
    cli = asked.cli("list", "--unit", "episode", "--filter", where, "--include", "all")
    return View(
        title="Session",
        main=main,
        answer={"episodes": found, "records": written},
        calls=(
            asked.call(python, cli if before is None else None),
            asked.call(asked.python("list", filter=where, include=list(INCLUDES))),
        ),
    )


def turn_of(episode: Episode, rests: Mapping[str, list[Record]]) -> Turn:
    """A turn with what rests on it."""
    hidden = None if episode.status == "visible" else HIDDEN.get(episode.status, episode.status)
    return Turn(episode=episode, rests=tuple(rests.get(episode.id, ())), hidden=hidden)


def resting(memory: Memory, episodes: Iterable[Episode]) -> dict[str, list[Record]]:
    """The records that name an episode as evidence, of those written since it was heard."""
    known = {each.id: each for each in episodes}
    if not known:
        return {}
    since = min(each.at for each in known.values())
    records = memory.list(filter=f"created_at >= '{since}'", include=INCLUDES, limit=_RECORDS_COUNT)
    found: dict[str, list[Record]] = {}
    for record in reversed(records):
        for id in record.evidence:
            if id in known:
                found.setdefault(id, []).append(record)
    return found
