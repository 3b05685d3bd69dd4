"""``SQLiteFactStore``: facts as records of a memory.

Responsible for applying deltas. Leaves what a fact looks like to ``fact_records`` and whether a
change is allowed to the memory. Invariants: a fact rests on episodes of the same memory and user,
and has at most their trust; in a memory without episodes it names those of another one, and has at
most an agent's trust. A delta that is applied twice has the effect of one; deltas that are applied
at the same time have the effect of one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

import msgspec

from recollect.contracts.episodic import scope
from recollect.contracts.episodic.deltas import (
    DeleteDelta,
    MemoryDelta,
    NoopDelta,
    UpdateDelta,
    check,
)
from recollect.contracts.episodic.errors import ConsolidationRuleError, MemoryScopeError
from recollect.contracts.episodic.fact_records import New, fact_of, is_fact, new_fact, where
from recollect.contracts.episodic.opened import OpenedStore
from recollect.contracts.episodic.values import Fact, FactPattern, StoreHealth
from recollect.errors import Changed, Conflict, RecollectError
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, VersionRow, unpack_names
from recollect.index.statements import STILL
from recollect.lifecycle.commands import Act
from recollect.memory import Memory
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.handle import handle_of
from recollect.memory.handle.healed import asked_again
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.rules import lowest
from recollect.model.values import Record

_LIVE = ("active", "held", "inbox")
_ATTEMPTS: Final = 100  # each one lost means that another write was made


class SQLiteFactStore(OpenedStore):
    """Facts in a folder: that of the episodes they rest on, or one without episodes."""

    async def health(self) -> StoreHealth:
        """How many facts hold; not ok if the memory is damaged."""
        try:
            found = await self.query(FactPattern())
        except RecollectError as error:
            return StoreHealth(ok=False, fragment_count=0, warnings=[str(error)])
        return StoreHealth(ok=True, fragment_count=len(found))

    async def query(self, pattern: FactPattern) -> list[Fact]:
        """The facts that hold and match, oldest first. What waits for a review is left out."""
        return await self.run(lambda memory: _query(memory, pattern))

    async def apply_delta(self, delta: MemoryDelta) -> None:
        """Apply a delta in one command, with the least trust of the episodes it rests on.

        In a memory without episodes they are references to another memory, which lend no trust and
        lower none: the fact has the trust of this store, an agent's at most.

        A change that they may not make waits for a person (``recollect review``). Names in
        ``replaces`` that nothing here has are passed over.
        """
        check(delta)
        if not isinstance(delta, NoopDelta):
            await self.run(lambda memory: _apply(memory, delta))


class Grounds(NamedTuple):
    """The episodes that a delta rests on, none if they are elsewhere, and the handle they allow."""

    episodes: list[EpisodeRow]
    memory: Memory
    is_of_any_user: bool = False  # a deletion that names nobody


class Step(NamedTuple):
    """What a delta does, and the position at which that was decided if it replaces something."""

    acts: list[Act]
    expect: int | None = None


def _apply(memory: Memory, delta: MemoryDelta) -> None:
    """Decides and submits; again if the memory changed between, so that no change is lost."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return _apply_once(memory, delta)
        except Changed:
            continue
    return _apply_once(memory, delta)


def _apply_once(memory: Memory, delta: MemoryDelta) -> None:
    grounds = _grounds(memory, delta)
    is_elsewhere = not grounds.episodes
    made = (
        None
        if isinstance(delta, DeleteDelta | NoopDelta)
        else new_fact(delta, is_elsewhere=is_elsewhere)
    )
    step = _step(grounds, delta, made)
    try:
        grounds.memory.events.submit(*step.acts, expect=step.expect)
    except Changed:
        raise
    except Conflict:
        # Two processes may apply one delta: the id of its fact is made from what it says.
        if made is None or not _has(memory, made.id):
            raise


@asked_again
def _grounds(memory: Memory, delta: MemoryDelta) -> Grounds:
    with handle_of(memory).reading() as reads:
        found = [reads.episode(id) for id in delta.source_episode_ids]
        has_none = not reads.episodes(STILL, 1)
    payload = {} if isinstance(delta, DeleteDelta | NoopDelta) else delta.fact_payload
    if has_none:
        return _elsewhere(memory, payload)
    episodes = [one for one in found if one is not None and one.hidden != "forgotten"]
    if len(episodes) < len(found):
        raise ConsolidationRuleError(
            "a delta names an episode that is not in this memory",
            hint="apply it to the store that made it, or to one without episodes",
        )
    users = {one.user for one in episodes}
    agents = {one.agent for one in episodes}
    if len(users) > 1 or payload.get("user", "") not in ("", *users):
        raise MemoryScopeError("a fact and all episodes that it rests on must be of one user")
    allowed = memory.scoped(
        user=users.pop(),
        agent=agents.pop() if len(agents) == 1 else None,
        trust=lowest([memory.scope.trust, *(one.trust for one in episodes)]),
    )
    return Grounds(episodes, allowed)


def _elsewhere(memory: Memory, payload: Mapping[str, object]) -> Grounds:
    """The grounds of a delta from another memory: whom it is of is what its payload says."""
    names = {part: payload.get(part) or None for part in ("user", "agent")}
    for part, given in names.items():
        if given is not None:
            scope.name(cast(str, given), part)
    allowed = memory.scoped(**names, trust=lowest([memory.scope.trust, "agent"]))  # type: ignore[arg-type]
    return Grounds([], allowed, is_of_any_user=not payload)


@asked_again
def _step(grounds: Grounds, delta: MemoryDelta, made: New | None) -> Step:
    """What a delta does now: nothing if it was applied before."""
    handle = handle_of(grounds.memory)
    with handle.reading() as reads:
        if made is not None and _is_applied(reads, grounds, made):
            return Step([])
        named = delta.replaces if isinstance(delta, UpdateDelta | DeleteDelta) else []
        replaced = _replaced(reads, grounds, named)
        position = reads.position()
    expect = position.seq if position is not None and replaced else None
    return Step(_acts(handle.acts, replaced, made, f"rule {delta.rule_id}"), expect)


def _acts(acts: Acts, replaced: list[VersionRow], made: New | None, reason: str) -> list[Act]:
    if made is None:
        return [acts.forget(row.id, "keep", reason, files=True) for row in replaced]
    # A fact that holds is corrected, so that its history shows both. One that waits gives way: what
    # replaces it may have more trust.
    corrected = next((row for row in replaced if row.status == "active"), None)
    others = [row for row in replaced if row is not corrected]
    first = acts.remember(made.text, made.fields)
    act: Act = msgspec.structs.replace(first, id=made.id, fresh=True)
    if corrected is not None and corrected.text == made.text:
        act = msgspec.structs.replace(first, id=corrected.id)  # said again: more evidence
    elif corrected is not None:
        act = made.as_correction(acts, corrected.id, reason)
    return [act, *(acts.forget(row.id, "keep", reason, files=True) for row in others)]


def _is_applied(reads: Reads, grounds: Grounds, made: New) -> bool:
    """True if a version of a fact says the same and rests on the same episodes."""
    if reads.has_version(made.id):
        return True
    ids = {str(name) for name in made.fields["evidence"]}
    return any(
        row.text == made.text and ids <= set(unpack_names(row.evidence)) and is_fact(reads, row)
        for row in _naming(reads, grounds, next(iter(ids)))
    )


def _naming(reads: Reads, grounds: Grounds, name: str) -> list[VersionRow]:
    """Every version that rests on an episode of this name, here or elsewhere."""
    episode = reads.episode(name)
    if episode is not None:
        return reads.evidence_for(episode)
    return [] if grounds.episodes else reads.naming(name)


def _replaced(reads: Reads, grounds: Grounds, names: list[str]) -> list[VersionRow]:
    """The facts of the same user that these names mean: their own ids, or those of episodes."""
    user = grounds.memory.scope.user
    found: dict[str, VersionRow] = {}
    for name in names:
        naming = {row.id for row in _naming(reads, grounds, name)}
        for id in naming or {name}:
            row = reads.version(id)
            if row is None or row.status not in _LIVE:
                continue
            if row.user != user and not grounds.is_of_any_user:
                continue
            if naming and name not in unpack_names(row.evidence):
                continue
            if is_fact(reads, row):
                found[row.id] = row
    if len({row.user for row in found.values()}) > 1:
        raise MemoryScopeError("a delta replaces facts of one user")
    return list(found.values())


@asked_again
def _has(memory: Memory, id: str) -> bool:
    with handle_of(memory).reading() as reads:
        return reads.has_version(id)


def _query(memory: Memory, pattern: FactPattern) -> list[Fact]:
    still = memory.at(memory.events.position)
    found: list[Fact] = []
    last: str | None = None
    while True:
        page = still.list(filter=where(pattern), limit=LIST_MAX_RECORDS, after=last)
        found += _facts(still, page)
        if len(page) < LIST_MAX_RECORDS:
            return found[::-1]
        last = page[-1].id


@asked_again
def _facts(memory: Memory, records: list[Record]) -> list[Fact]:
    with handle_of(memory).reading() as reads:
        made = [fact_of(reads, record) for record in records]
    return [fact for fact in made if fact is not None]
