"""What something rests on, and the trust that is left of it.

Responsible for finding what evidence names and for whether a change may rest on it. Leaves what
the change is to ``lifecycle.records``. Invariants: trust is the minimum over the actor and every
episode and record of this memory that the evidence names; a name that leads to nothing the actor
can see at that moment is a reference to elsewhere, which lends no trust and lowers none.
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


def may_change(view: View, line: Lineage, target: VersionRow, text: str | None = None) -> bool:
    """True if a reversible change applies at once; ``text`` is what the record would say then.

    Nobody rests a trusted record on unverified words. An agent corrects a person's record on what
    a person said about it since.
    """
    if target.trust != "unverified" and line.trust == "unverified":
        return False
    if at_least(line.actor.trust, target.trust):
        return True
    return line.actor.trust == "agent" and _was_said(view, line, target, text)


def _was_said(view: View, line: Lineage, target: VersionRow, text: str | None) -> bool:
    """True if a person said, after the record was last confirmed, a word that the text brings in.

    Else any old "hello" of theirs would do as evidence.
    """
    brought = telling_tokens(text or "").difference(token_list(target.text))
    said = [one for one in line.episodes if one.trust == "person"]
    if not brought or not said:
        return False
    since = _confirmed(view, target)
    return any(one.seq > since and not brought.isdisjoint(token_list(one.text)) for one in said)


def _confirmed(view: View, target: VersionRow) -> int:
    """The seq at which a record was last stood by: its use, or an agent's echo, does not count."""
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
