"""What something rests on, and the trust that is left of it.

Responsible for finding what evidence names and for whether a change may rest on it. Leaves what
the change is to ``lifecycle.decide``. Invariants: trust is the minimum over the actor and every
episode and record of this memory that the evidence names; a name that leads to nothing the actor
can see at that moment is a reference to elsewhere, which lends no trust and lowers none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recollect.errors import Forbidden
from recollect.index.rows import EpisodeRow, VersionRow, is_held
from recollect.lifecycle import commands as c
from recollect.lifecycle.trust import at_least, lowest
from recollect.lifecycle.view import View, visible
from recollect.model.events import Trust


class Lineage(NamedTuple):
    """Who says something, and what of this memory they name as its evidence."""

    actor: c.Actor
    episodes: tuple[EpisodeRow, ...] = ()
    records: tuple[VersionRow, ...] = ()

    @property
    def trust(self) -> Trust:
        """The trust of something that rests on all of this."""
        heard = (episode.trust for episode in self.episodes)
        return lowest([self.actor.trust, *heard, *map(lent_by, self.records)])


def lent_by(record: VersionRow) -> Trust:
    """The trust that a record lends to what is derived from it: what is held lends none."""
    return "unverified" if is_held(record) else record.trust


def lineage(view: View, actor: c.Actor, evidence: Iterable[str]) -> Lineage:
    """The actor, and what they can see now of what they name."""
    episodes: list[EpisodeRow] = []
    records: list[VersionRow] = []
    for name in evidence:
        episode = view.episode(name)
        record = view.version(name) if episode is None else None  # an id names one of them
        if episode is not None and visible(actor, episode):
            episodes.append(episode)
        elif record is not None and visible(actor, record):
            records.append(record)
    return Lineage(actor, tuple(episodes), tuple(records))


def may_change(line: Lineage, target: VersionRow) -> bool:
    """True if a reversible change applies at once.

    An agent may correct a person's record when a person's own words are the evidence. Nobody
    rests a trusted record on unverified words.
    """
    if target.trust != "unverified" and line.trust == "unverified":
        return False
    if at_least(line.actor.trust, target.trust):
        return True
    return line.actor.trust == "agent" and any(said.trust == "person" for said in line.episodes)


def require_change(line: Lineage, target: VersionRow) -> None:
    """Refuses a change that ``may_change`` does not allow."""
    if not may_change(line, target):
        raise Forbidden(
            f"{target.id} has the trust of {target.trust!r}; "
            f"{line.actor.trust!r} may not change it",
            hint="a person may, without unverified evidence; an agent may on a person's words",
        )
