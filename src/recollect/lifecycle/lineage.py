"""The evidence of something, and the trust that follows from it.

Responsible for finding what evidence names and for whether it allows a change. Leaves the change
itself to ``lifecycle.records``. Invariants: trust is the minimum over the actor and every episode
and record of this memory that the evidence names; a name that matches nothing the actor can see at
that moment is a reference to elsewhere, which neither raises nor lowers trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recollect.errors import Forbidden
from recollect.index.rows import EpisodeRow, VersionRow, is_held
from recollect.index.text import telling_tokens, token_list
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View, visible
from recollect.model.events import Trust
from recollect.model.rules import at_least, lowest


class Lineage(NamedTuple):
    """The actor who says something, and the evidence in this memory that they name."""

    actor: c.Actor
    episodes: tuple[EpisodeRow, ...] = ()
    records: tuple[VersionRow, ...] = ()

    @property
    def trust(self) -> Trust:
        """The trust of something with this actor and evidence."""
        if not self.episodes and not self.records:
            return self.actor.trust
        heard = (episode.trust for episode in self.episodes)
        return lowest([self.actor.trust, *heard, *map(lent_by, self.records)])


def lent_by(record: VersionRow) -> Trust:
    """The trust that a record passes on to derived records: ``unverified`` if it is held."""
    return "unverified" if is_held(record) else record.trust


def lineage(view: View, actor: c.Actor, evidence: Iterable[str]) -> Lineage:
    """The actor, and the evidence that they name and can see now."""
    episodes: list[EpisodeRow] = []
    records: list[VersionRow] = []
    for name in evidence:
        episode = view.episode(name)
        record = view.version(name) if episode is None else None  # an id names only one
        if episode is not None and visible(actor, episode):
            episodes.append(episode)
        elif record is not None and visible(actor, record):
            records.append(record)
    return Lineage(actor, tuple(episodes), tuple(records))


def may_change(view: View, line: Lineage, target: VersionRow, text: str | None = None) -> bool:
    """True if a reversible change is allowed; ``text`` is the new text of the record.

    Unverified evidence never supports a trusted record. An agent may correct a person's record if
    its evidence is what a person said about it since.
    """
    if target.trust != "unverified" and line.trust == "unverified":
        return False
    if at_least(line.actor.trust, target.trust):
        return True
    return line.actor.trust == "agent" and _was_said(view, line, target, text)


def _was_said(view: View, line: Lineage, target: VersionRow, text: str | None) -> bool:
    """True if a person said, after the record was last confirmed, a word that is new in the text.

    Otherwise any old "hello" of that person would count as evidence.
    """
    brought = telling_tokens(text or "").difference(token_list(target.text))
    said = [one for one in line.episodes if one.trust == "person"]
    if not brought or not said:
        return False
    since = _confirmed(view, target)
    return any(one.seq > since and not brought.isdisjoint(token_list(one.text)) for one in said)


def _confirmed(view: View, target: VersionRow) -> int:
    """The seq at which a record was last confirmed; use and an agent's restatement do not count."""
    if target.what != "reinforced":
        return target.seq
    return max(
        row.seq
        for row in view.versions(target.id)
        if row.what != "reinforced"
        or (row.note == "restated" and at_least(row.origin, target.trust))
    )


def require_change(view: View, line: Lineage, target: VersionRow, text: str | None = None) -> None:
    """Refuses a change that ``may_change`` does not allow."""
    if not may_change(view, line, target, text):
        raise Forbidden(
            f"{target.id} has the trust of {target.trust!r}; "
            f"{line.actor.trust!r} may not change it",
            hint="a person may, without unverified evidence; an agent may if its evidence is "
            "something that a person said after that, with a word that the change brings in",
        )
