"""What events about episodes do to the index.

Responsible for episodes and for hiding those that were forgotten. Leaves shadows to
``index.shadow`` and erasing an episode to ``index.fold.erasure``. Invariant: the text
of an episode never changes.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.rows import EpisodeRow, pack_object, recallable_episode
from recollect.index.statements import STILL
from recollect.index.words.transient import TRANSIENT, is_transient
from recollect.model import rules
from recollect.model.events import EpisodeForgotten, EpisodeObserved, EpisodeRestored, Origin


def episode_observed(
    state: State, seq: int, at: str, origin: Origin, body: EpisodeObserved
) -> None:
    if state.tables.episode(body.id) is not None:
        return
    row = EpisodeRow(
        id=body.id,
        seq=seq,
        text=body.text,
        role=body.role,
        user=body.user,
        session=body.session,
        agent=body.agent,
        said_at=body.said_at,
        at=at,
        metadata=pack_object(body.metadata),
        origin=origin,
        trust=rules.said_with(origin, body.role),
        transient=int(_is_transient(body)),
    )
    state.tables.begin_episode(row)
    if body.session:
        state.tables.name_session(body.session, body.user, seq)
    about = (row.text, row.role == "assistant")
    state.shelve(seq, row.text, recallable_episode(row), about)  # earlier evidence is not tied


def _is_transient(body: EpisodeObserved) -> bool:
    """True if it only asks or orders something; whoever stored it may have said so, or not so."""
    said = body.metadata.get(TRANSIENT)
    return said if isinstance(said, bool) else is_transient(body.text, body.role)


def episode_forgotten(
    state: State, seq: int, at: str, origin: Origin, body: EpisodeForgotten
) -> None:
    episode = _heard(state, origin, body)
    if episode is not None and episode.hidden != "forgotten":
        state.tables.write("add_hidden", (body.id, "forgotten", seq, STILL, origin), body.id)
        state.reshelve([episode])


def episode_restored(
    state: State, seq: int, at: str, origin: Origin, body: EpisodeRestored
) -> None:
    episode = _heard(state, origin, body)
    by = state.tables.forgotten_by(body.id)
    if episode is not None and by is not None and rules.at_least(origin, by):
        state.tables.write("end_hidden", (seq, body.id, "forgotten"), body.id)
        state.reshelve([episode])


def _heard(
    state: State, origin: Origin, body: EpisodeForgotten | EpisodeRestored
) -> EpisodeRow | None:
    """The episode that an event hides or shows, if a rule allows its origin to."""
    episode = state.tables.episode(body.id)
    if episode is None or not rules.is_visible(body.user, episode.user):
        return None
    return episode if rules.at_least(origin, episode.trust) else None
