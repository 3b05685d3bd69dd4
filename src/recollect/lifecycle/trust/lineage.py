"""The evidence of something, and the trust that follows from it.

Responsible for finding what evidence names and for whether it allows a change. Leaves the change
itself to ``lifecycle.records``. Invariants: trust is the minimum over the actor and every episode
and record of this memory that the evidence names; a name that matches nothing the actor can see at
that moment is a reference to elsewhere, which neither raises nor lowers trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from msgspec import UNSET, UnsetType

from recollect.errors import Forbidden, InvalidInput
from recollect.index.rows import EpisodeRow, VersionRow, is_held, unpack_names
from recollect.index.words.claims import Claims, claims_of
from recollect.index.words.text import telling_tokens, token_list
from recollect.lifecycle import commands as c
from recollect.lifecycle.settings.policy import What, at_once, policy_of, require_at_once
from recollect.lifecycle.trust.expiry import weakens
from recollect.lifecycle.trust.persons_word import may_alter, standing
from recollect.lifecycle.view import View, visible
from recollect.model.events import Trust
from recollect.model.rules import lowest
from recollect.model.values import Quote


class Lineage(NamedTuple):
    """The actor who says something, and the evidence in this memory that they name."""

    actor: c.Actor
    episodes: tuple[EpisodeRow, ...] = ()
    records: tuple[VersionRow, ...] = ()
    quotes: tuple[Quote, ...] = ()  # each occurs in one of the episodes

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


def lineage(
    view: View,
    actor: c.Actor,
    evidence: Iterable[str],
    quotes: tuple[Quote, ...] | UnsetType = UNSET,
) -> Lineage:
    """The actor, and the evidence that they name and can see now; refuses a quote that is wrong."""
    episodes: list[EpisodeRow] = []
    records: list[VersionRow] = []
    for name in evidence:
        episode = view.episode(name)
        record = view.version(name) if episode is None else None  # an id names only one
        if episode is not None and visible(actor, episode):
            episodes.append(episode)
        elif record is not None and visible(actor, record):
            records.append(record)
    if isinstance(quotes, UnsetType):
        return Lineage(actor, tuple(episodes), tuple(records))
    _require_said(quotes, episodes)
    return Lineage(actor, tuple(episodes), tuple(records), quotes)


def _require_said(quotes: Iterable[Quote], episodes: Iterable[EpisodeRow]) -> None:
    """Refuses a quote whose words are not in its episode."""
    said = {one.id: in_one_line(one.text) for one in episodes}
    for quote in quotes:
        if quote.episode not in said:
            raise InvalidInput(
                f"a quote names {quote.episode!r}, and no episode here has this id",
                hint="`recollect list --recent` lists what was said, with ids",
            )
        if in_one_line(quote.words) not in said[quote.episode]:
            raise InvalidInput(
                f"the quoted words do not occur in the episode {quote.episode!r}",
                hint="quote a part of its text as it is written, upper and lower case included",
            )


def in_one_line(text: str) -> str:
    """A text as quotes are compared: every run of white space is one blank."""
    return " ".join(text.split())


def spans(line: Lineage) -> tuple[tuple[int, int, int], ...]:
    """Where the quoted words stand: the event of the episode, the first character and the end."""
    said = {one.id: one for one in line.episodes}
    return tuple(
        (said[quote.episode].seq, *_place(said[quote.episode].text, quote.words))
        for quote in line.quotes
    )


def _place(text: str, words: str) -> tuple[int, int]:
    """Where words stand in a text that has them, however its white space runs."""
    import re  # rarely needed: a write of a plain sentence has no quote

    found = re.search(r"\s+".join(map(re.escape, words.split())), text)
    return (0, len(text)) if found is None else found.span()


def may_change(
    view: View,
    line: Lineage,
    target: VersionRow,
    text: str | None = None,
    what: What = "update",
) -> bool:
    """True if a reversible change is allowed at once; ``text`` is the new text of the record.

    Unverified evidence never supports a trusted record. An agent may correct what a person vouched
    for if it quotes what a person said about it since. The policy of the space may ask for more.
    """
    if not at_once(view, line.actor, what):
        return False
    if target.trust != "unverified" and line.trust == "unverified":
        return False
    if may_alter(view, line.actor, target):
        return True
    may_correct = line.actor.trust == "agent" and _was_said(view, line, target, text)
    return may_correct and policy_of(view, line.actor).correct == "quoted"


def may_replace(
    view: View, line: Lineage, target: VersionRow, act: c.Remember, key: str | None
) -> bool:
    """True if what is remembered with this key may take the place of another record at once.

    An agent's correction of a person's word keeps its key, by which the next change is judged, and
    makes it no weaker: a record that ends in a second would leave nothing under the key.
    """
    if not may_change(view, line, target, act.text):
        return False
    return may_alter(view, line.actor, target) or (key == target.key and not weakens(act, target))


def _was_said(view: View, line: Lineage, target: VersionRow, text: str | None) -> bool:
    """True if a quote of a person, from after the record was last confirmed, has a new word.

    The episode is of the record's user: nobody speaks for another. A word is new if the change adds
    it to the text, and both say that it is so, or both that it is not. A quote may begin inside a
    word, so only words that the episode has too count: "433" is not a word of who said "5433".
    """
    if not line.quotes:
        return False
    brought = _brought(target, text or "")
    if not (brought.so or brought.not_so):
        return False
    since, confirmed_at = _confirmed(view, target)
    said = {
        one.id: _agreed(brought, claims_of(one.text))
        for one in line.episodes
        if (one.trust, one.user) == ("person", target.user)
        and one.seq > since
        and min(one.at, one.said_at) >= confirmed_at  # an import or a merge brings older words
        and one.hidden != "forgotten"
        and _is_about(view, one, target)
    }
    return any(
        not said[quote.episode].isdisjoint(token_list(quote.words))
        for quote in line.quotes
        if quote.episode in said
    )


def _brought(target: VersionRow, text: str) -> Claims:
    """What a new text claims with words that the record does not have."""
    telling, had, claims = telling_tokens(text), token_list(target.text), claims_of(text)
    return Claims(*((claimed & telling).difference(had) for claimed in claims))


def _agreed(brought: Claims, said: Claims) -> frozenset[str]:
    return (brought.so & said.so) | (brought.not_so & said.not_so)


def _is_about(view: View, episode: EpisodeRow, target: VersionRow) -> bool:
    """True if an episode names what a record is about, or could be about nothing else.

    "It is on 5433 now" may be about any record. So it opens one: what another one rests on already
    opens none but that one.
    """
    filed = (target.key or "", target.about or "", *unpack_names(target.tags))
    told = telling_tokens(" ".join((target.text, *filed)))
    if not told.isdisjoint(token_list(episode.text)):
        return True
    return all(row.id == target.id for row in view.evidence_for(episode))


def _confirmed(view: View, target: VersionRow) -> tuple[int, str]:
    """When a record was last confirmed; use and an agent's restatement do not count."""
    if target.what != "reinforced":
        return target.seq, target.at
    return max(
        (row.seq, row.at)
        for row in view.versions(target.id)
        if row.what != "reinforced" or (row.note == "restated" and row.origin == "person")
    )


def require_change(view: View, line: Lineage, target: VersionRow, what: What = "update") -> None:
    """Refuses a change that ``may_change`` does not allow."""
    if not may_change(view, line, target, what=what):
        refused(view, line, target, what)


def refused(view: View, line: Lineage, target: VersionRow, what: What = "update") -> NoReturn:
    """Refuses a change."""
    require_at_once(view, line.actor, what)
    need = standing(view, target)
    told = f"has the trust of {need!r}" if need == target.trust else "is what a person vouched for"
    raise Forbidden(
        f"{target.id} {told}; {line.actor.trust!r} may not change it",
        hint="a person may, without unverified evidence; an agent may with a Quote of what a "
        "person said after that, with a word that the change adds",
    )
