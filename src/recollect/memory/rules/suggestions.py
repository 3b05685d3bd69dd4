"""From episodes to proposals: a proposer is asked, and everything it says is checked.

Responsible for what a proposer is given, for the checks of what it suggests and for filing what is
left. Leaves which episodes to ``memory.rules.proposer_pass``, and what becomes of a proposal to a
person. Invariants: a suggestion is filed as it is or reported as skipped, never repaired; what is
filed rests on quoted words of an episode that was given, belongs to the same user and has at most
the trust of an agent; episodes that were filed from are not filed from again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec import UnsetType, structs

from recollect.errors import Conflict, InvalidInput, LimitExceeded, NotFound, RecollectError
from recollect.index.proposals import ProposalRow
from recollect.index.reads import Reads
from recollect.lifecycle.commands import Propose
from recollect.lifecycle.decide import decide
from recollect.lifecycle.filed import LIVE, is_stale
from recollect.memory.handle.handle import Handle
from recollect.memory.reading import Reading
from recollect.memory.review import proposal_act
from recollect.model import limits, validate
from recollect.model.rules import lowest
from recollect.model.values import Derived, Episode, Quote, Record, Rule, Skipped, Suggestion
from recollect.propose.port import Proposer, Unusable
from recollect.store.port import Outcome

_RELATED_EACH: Final = 5  # records that are looked for with each episode
_QUERY_MAX_CHARS: Final = 1_000
_TRIES: Final = 3  # if what was checked has changed before it was written


class Filed(NamedTuple):
    """What came of some episodes."""

    proposals: tuple[Derived, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class Asker(NamedTuple):
    """On whose behalf a proposer is asked: the handle, the rule, and where the rule stands."""

    handle: Handle
    rule: Rule
    stands_at: int  # the event that noted how far the rule has looked
    dry_run: bool = False

    def narrowed(self, user: str | None) -> Asker:
        """The same for one user, with at most an agent's trust."""
        actor = self.handle.actor
        trust = lowest([actor.trust, self.rule.trust, "agent"])
        return self._replace(
            handle=self.handle.narrowed(structs.replace(actor, user=user, trust=trust))
        )


class _Given(NamedTuple):
    """What a proposer was given, and on whose behalf."""

    asker: Asker
    episodes: tuple[Episode, ...]
    related: tuple[Record, ...]

    @property
    def handle(self) -> Handle:
        """The handle that files what is suggested."""
        return self.asker.handle

    def skipped(self, reason: str, episode: str | None = None) -> Skipped:
        """What was not filed, by an episode that it was about."""
        known = episode if episode in _ids(self.episodes) else None
        return Skipped(episode=known or self.episodes[0].id, reason=reason)


def batches(episodes: Iterable[Episode]) -> Iterator[tuple[Episode, ...]]:
    """Episodes that may be given together: of one user, and unverified ones apart from others."""
    groups: dict[tuple[str | None, bool], list[Episode]] = {}
    for episode in episodes:
        apart = episode.trust == "unverified"
        groups.setdefault((episode.scope.user, apart), []).append(episode)
    size = limits.PROPOSER_MAX_EPISODES
    for group in groups.values():
        for start in range(0, len(group), size):
            yield tuple(group[start : start + size])


def file_proposals(asker: Asker, proposer: Proposer, batch: Sequence[Episode]) -> Filed:
    """Asks a proposer about one batch and files what passes the checks, in one command.

    What was filed from these episodes before is not asked for again.

    Raises:
        LimitExceeded: The proposer may cost no more.
        Unavailable: The proposer did not answer.
    """
    mine = asker.narrowed(batch[0].scope.user)
    fresh = batch[_done(mine, batch) :]
    if not fresh:
        return Filed()
    given = _Given(mine, tuple(fresh), _related(mine.handle, fresh))
    try:
        suggestions = list(_first(proposer(given.episodes, given.related)))
    except Unusable as error:
        return Filed(skipped=tuple(given.skipped(str(error), id) for id in _ids(fresh)))
    return _filed(given, suggestions)


def _first(suggestions: Iterable[Suggestion]) -> Iterator[Suggestion]:
    """As many suggestions as are looked at, and one more, which says that there were too many."""
    for count, suggestion in enumerate(suggestions):
        yield suggestion
        if count == limits.SUGGESTIONS_MAX_COUNT:
            return


def _related(handle: Handle, episodes: Sequence[Episode]) -> tuple[Record, ...]:
    """The records that the user of these episodes has about the same things, best first."""
    queries = [episode.text[:_QUERY_MAX_CHARS] for episode in episodes]
    nobody = "user = null" if handle.actor.user is None else None
    recalls = Reading(handle).recall(queries, k=_RELATED_EACH, unit="record", filter=nobody)
    hits = sorted((hit for recall in recalls for hit in recall), key=lambda hit: -hit.relevance)
    found = {hit.id: hit.record for hit in hits if hit.record is not None and hit.until is None}
    return tuple(found.values())[: limits.PROPOSER_MAX_RECORDS]


def _filed(given: _Given, suggestions: Sequence[Suggestion]) -> Filed:
    """Files what passes; checks again if something else was written meanwhile."""
    problem: RecollectError | None = None
    for _ in range(_TRIES):
        with given.handle.reading() as reads:
            acts, skipped = _checked(reads, given, suggestions)
        if not acts or given.asker.dry_run:
            return Filed(tuple(_derived(given, act) for act in acts), skipped)
        try:
            made = given.handle.write(tuple(acts), _made, _key(given.asker, given.episodes))
        except (Conflict, NotFound, InvalidInput) as error:
            if _done(given.asker, given.episodes):  # by another process
                return Filed()
            problem = error
        else:
            done = zip(acts, made, strict=True)
            return Filed(tuple(_derived(given, act, id) for act, id in done), skipped)
    raise Conflict(
        f"the memory changed each time before proposals could be filed: {problem}",
        hint="run the pass again",
    )


def _made(_: Reads, outcome: Outcome) -> tuple[str, ...]:
    return outcome.subjects


def _derived(given: _Given, act: Propose, id: str | None = None) -> Derived:
    """What an act asks for; of what would be forgotten, its text."""
    forgotten = (record.text for record in given.related if record.id == act.target)
    return Derived(
        episode=act.evidence[0],
        intent=act.intent,
        text=act.text or next(forgotten, ""),
        key=act.key,
        outcome="waiting",
        id=id,
    )


def _checked(
    reads: Reads, given: _Given, suggestions: Sequence[Suggestion]
) -> tuple[list[Propose], tuple[Skipped, ...]]:
    """The acts of the suggestions that pass every check, and why each other one does not."""
    chosen: dict[str, tuple[Propose, Suggestion]] = {}  # by what they are about
    skipped: list[Skipped] = []
    waiting = set(_waiting(reads, given.handle.actor.user))
    for suggestion in suggestions[: limits.SUGGESTIONS_MAX_COUNT]:
        try:
            act = _act(reads, given, suggestion)
            if (act.intent, act.target, act.text) in waiting:
                raise InvalidInput("the same waits for a review already")
        except (InvalidInput, NotFound, Conflict) as error:
            skipped.append(given.skipped(error.message, _quoted(suggestion)))
            continue
        # With two of them, a person who approves one makes the other stale.
        subject = _subject(reads, given, act)
        held = chosen.get(subject)
        if held is None or _said(given, held[0]) <= _said(given, act):
            older = None if held is None else held[1]
            chosen[subject] = act, suggestion
        else:
            older = suggestion
        if older is not None:
            reason = f"a newer suggestion is about {subject!r} too"
            skipped.append(given.skipped(reason, _quoted(older)))
    if len(suggestions) > limits.SUGGESTIONS_MAX_COUNT:
        most = limits.SUGGESTIONS_MAX_COUNT
        skipped.append(given.skipped(f"more than {most} suggestions in one answer"))
    return [act for act, _ in chosen.values()], tuple(skipped)


def _said(given: _Given, act: Propose) -> str:
    """When the last of what it quotes was said."""
    return max(episode.said_at for episode in given.episodes if episode.id in act.evidence)


def _quoted(suggestion: Suggestion) -> str | None:
    """The first episode that a suggestion quotes; it may be anything."""
    quotes = getattr(suggestion, "quotes", None)
    first = quotes[0] if isinstance(quotes, tuple) and quotes else None
    return first.episode if isinstance(first, Quote) else None


_What = tuple[str, str | None, str | None]


def _waiting(reads: Reads, user: str | None) -> Iterator[_What]:
    """What waits already, as intent, target and text."""
    for unit, id, _ in reads.waiting(user, 0, limits.LIST_MAX_WAITING):
        row: ProposalRow | None = reads.proposal(id) if unit == "proposal" else None
        if row is not None and row.user == user and not is_stale(reads, row):
            yield row.intent, None if row.intent == "add" else row.target, row.text


def _act(reads: Reads, given: _Given, suggestion: Suggestion) -> Propose:
    """The act of a suggestion; refuses one that does not hold."""
    if not isinstance(suggestion, Suggestion):
        raise InvalidInput(f"{validate.shown(suggestion)} is not a Suggestion")
    if suggestion.intent == "noop":
        raise InvalidInput("nothing is to be done")
    act = proposal_act(given.handle.acts, suggestion, suggestion.quotes, given.asker.rule.name)
    if len(act.text or "") > limits.SUGGESTION_MAX_CHARS:
        raise LimitExceeded(f"the text is longer than {limits.SUGGESTION_MAX_CHARS:,} characters")
    _check_quotes(given, act)
    _check_target(reads, given, act)
    _check_key(reads, given, act)
    decide(reads, given.handle.actor, act)  # whether the words occur, and all else
    return act


def _subject(reads: Reads, given: _Given, act: Propose) -> str:
    """What a suggestion is about: a record, or what would become one."""
    holder = reads.holder(act.key, given.handle.actor.user) if act.key else None
    return act.target or (holder.id if holder else act.key) or act.text or ""


def _check_quotes(given: _Given, act: Propose) -> None:
    """Refuses a suggestion without a quote, and a quote of something else than was given."""
    if isinstance(act.quotes, UnsetType):
        raise InvalidInput("it quotes no episode")
    shown = _ids(given.episodes)
    for quote in act.quotes:
        if quote.episode not in shown:
            raise InvalidInput(f"it quotes {quote.episode!r}, which it was not given")


def _check_target(reads: Reads, given: _Given, act: Propose) -> None:
    """Refuses a target that the proposer was not given, and a change that changes nothing."""
    if act.target is None:
        row = reads.twin(act.text or "", given.handle.actor.user)
    elif act.target in _ids(given.related):
        row = reads.version(act.target)
    else:
        raise NotFound(f"the target {act.target!r} is not a record that it was given")
    if row is not None and row.status in LIVE and row.text == act.text:
        raise InvalidInput(f"the record {row.id} says this already")


def _check_key(reads: Reads, given: _Given, act: Propose) -> None:
    """Refuses an addition that would replace a record which the proposer does not know."""
    holder = reads.holder(act.key, given.handle.actor.user) if act.key else None
    if holder is not None and holder.id not in _ids(given.related):
        raise InvalidInput(f"the key {act.key!r} has a record that it was not given")


def _done(asker: Asker, batch: Sequence[Episode]) -> int:
    """How many of these episodes, from the first on, were filed from before.

    A batch that is made again may have grown since, so each beginning of it is looked for.
    """
    with asker.handle.reading() as reads:
        for count in range(len(batch), 0, -1):
            if reads.command(_key(asker, batch[:count])) is not None:
                return count
    return 0


def _key(asker: Asker, batch: Sequence[Episode]) -> str:
    """The idempotency key of what is filed from these episodes, until the rule moves on."""
    parts = [asker.rule.name, str(asker.stands_at), *_ids(batch)]
    return f"propose-{sha256(chr(0).join(parts).encode()).hexdigest()[:40]}"


def _ids(values: Iterable[Episode | Record]) -> tuple[str, ...]:
    return tuple(value.id for value in values)
