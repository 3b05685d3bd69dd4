"""What an erasure removes, in bounded commands, and what it leaves.

Responsible for choosing records, episodes, receipts and sessions, and for one command for each few
of them. Leaves which events are about them to ``lifecycle.removal``, and bytes to the store.
Invariants: what is erased is what was planned, and nothing written after that; what one command
ordered is removed even if the process ends; the same call again continues with the rest; what stays
of the same keys is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

from msgspec import UNSET, structs

from recollect.errors import Ambiguous, Changed, Conflict, Forbidden, NotFound
from recollect.finding import search
from recollect.index import selections
from recollect.index.caches import forget_texts
from recollect.index.erasures import events_erased_by
from recollect.index.full_text import Shelf
from recollect.index.reads import Reads
from recollect.index.rows import AuthorRow, EpisodeRow, SessionRow, VersionRow, searched_text
from recollect.index.sessions import sessions_opened_by
from recollect.index.statements import STILL
from recollect.index.words.text import token_list
from recollect.lifecycle.commands import EraseAll, Expect
from recollect.lifecycle.marks import key_reused
from recollect.lifecycle.removal import of_branch, sources_of
from recollect.lifecycle.sessions import events_about
from recollect.lifecycle.trust.expiry import end_of
from recollect.memory.handle.handle import Handle
from recollect.model import limits
from recollect.model.counts import counted
from recollect.model.rules import is_visible
from recollect.model.values import INCLUDES, Erasure, Unit
from recollect.store.port import Outcome, Progress

T = TypeVar("T")
_Kind = Literal["memory", "receipt", "session", "proposal", "branch", "author"]


class Chosen(NamedTuple):
    """The ids of what is to be erased."""

    records: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    sessions: tuple[SessionRow, ...] = ()  # of one user, that were opened
    proposals: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    authors: tuple[AuthorRow, ...] = ()  # whose names


Choosing = Callable[[Handle, Reads], Chosen]


class Order(NamedTuple):
    """How the commands of one erasure are made."""

    sources: bool
    reason: str | None
    idempotency_key: str | None = None
    expect: Expect | None = None
    progress: Progress | None = None
    user: str | None = None  # whose sessions
    subjects: tuple[str, ...] = ()  # whose keys are destroyed


def by_author(name: str) -> Choosing:
    """The name of who acted, as it stands in the ledger, or by their id there."""

    def choose(handle: Handle, reads: Reads) -> Chosen:
        ids = [name] if reads.author(name) else [row.id for row in reads.authors_named(name)]
        return Chosen(authors=_namings(handle, reads, ids))

    return choose


def by_key(key: str) -> Choosing:
    """Every record that has a key: its holder and its earlier values."""

    def choose(handle: Handle, reads: Reads) -> Chosen:
        rows = reads.under_key(key, handle.actor.user, limits.LIST_MAX_RECORDS)
        asked = selections.proposals_under(reads, key, handle.actor.user)
        proposals = [one for one in map(reads.proposal, asked) if one is not None]
        users = sorted({*(row.user or "" for row in rows), *(one.user or "" for one in proposals)})
        if len(users) > 1:
            listed = ", ".join(user or "no user" for user in users)
            raise Ambiguous(
                f"the key {key!r} has values of {listed}", hint="use a handle for one user"
            )
        return Chosen(tuple(row.id for row in rows), proposals=tuple(asked))

    return choose


def by_about(about: str) -> Choosing:
    """Every record about something."""
    return lambda handle, reads: Chosen(
        tuple(selections.records_about(reads, about, handle.actor.user)),
        proposals=tuple(selections.proposals_about(reads, about, handle.actor.user)),
    )


def by_expiry(before: str) -> Choosing:
    """Every record that expired before an instant, if its end was set by one who may."""

    def choose(handle: Handle, reads: Reads) -> Chosen:
        ids = selections.records_expired(reads, before, handle.actor.user)
        return Chosen(tuple(id for id in ids if (end_of(reads.versions(id)) or before) < before))

    return choose


def by_user(user: str) -> Choosing:
    """Everything that is a user's."""

    def choose(handle: Handle, reads: Reads) -> Chosen:
        if handle.actor.user not in (None, user):
            raise Forbidden(f"this handle is for {handle.actor.user!r}, not for {user!r}")
        return Chosen(
            tuple(selections.records_of(reads, user)),
            tuple(selections.episodes_of(reads, user)),
            tuple(selections.receipts_of(reads, user)),
            tuple(sessions_opened_by(reads.db, user)),
            tuple(selections.proposals_of(reads, user)),
            tuple(selections.branches_of(reads, user)),
            _namings(handle, reads, [row.id for row in reads.authors_of_user(user)]),
        )

    return choose


def by_filter(filter: str, unit: Unit) -> Choosing:
    """Every record, or every episode, that matches a filter, in any state."""

    def choose(handle: Handle, reads: Reads) -> Chosen:
        wish = handle.wish(unit, INCLUDES, filter=filter)
        before, found, page_size = search.first_page(handle.position), [], limits.LIST_MAX_RECORDS
        while True:
            page: Sequence[VersionRow | EpisodeRow] = (
                search.listing(reads, wish, before, page_size)
                if unit == "record"
                else search.episode_listing(reads, wish, before, page_size)
            )
            found += [row.id for row in page]
            if len(page) < page_size:
                break
            before = page[-1].seq
        return Chosen(tuple(found)) if unit == "record" else Chosen((), tuple(found))

    return choose


def would_erase(reads: Reads, chosen: Chosen, *, sources: bool) -> Erasure:
    """What erasing these would remove, and what it would leave."""
    records = dict.fromkeys(chosen.records)
    named = _sources(reads, records)
    own = {} if sources is False else _own(reads, named, records)
    episodes = dict.fromkeys((*chosen.episodes, *own))
    gone = {seq for id in (*records, *episodes) for seq in reads.events_about(id)}
    receipts = (reads.receipt(id) for id in chosen.receipts)
    gone.update(row.seq for row in receipts if row is not None)
    asked = (reads.proposal(id) for id in chosen.proposals)
    gone.update(seq for row in asked if row for seq in (row.seq, row.until) if seq != STILL)
    gone.update(seq for session in chosen.sessions for seq in events_about(session))
    lines = (reads.branch(id) for id in chosen.branches)
    gone.update(seq for row in lines if row for seq in of_branch(reads, row))
    gone.update(author.seq for author in chosen.authors)
    remaining = _remaining(reads, records, episodes)
    kept = dict.fromkeys((*named, *_sources(reads, remaining)))
    return Erasure(
        id=None,
        seq=0,
        events=tuple(sorted(gone)),
        records=tuple(records),
        episodes=tuple(episodes),
        receipts=chosen.receipts,
        sessions=tuple(session.id for session in chosen.sessions),
        proposals=chosen.proposals,
        branches=chosen.branches,
        kept=tuple(id for id in kept if id not in episodes),
        remaining=tuple(remaining),
        reasons=tuple(_with_reasons(reads, records)),
        places=(),
        authors=tuple(dict.fromkeys(author.id for author in chosen.authors)),
    )


def erase_planned(handle: Handle, planned: Erasure, order: Order) -> Erasure:
    """Erases exactly what was planned, a slice in each command; what is written later stays."""
    handle.require_person("erasing")
    subjects, at_once = _subjects(planned), limits.ERASE_AT_ONCE_MAX_COUNT
    last, events = 0, list[int]()
    for start in range(0, len(subjects) or 1, at_once):
        batch = subjects[start : start + at_once]
        is_last = start + at_once >= len(subjects)
        doing = order if is_last else order._replace(subjects=())
        seq, gone = _erase_slice(handle, batch, doing, is_first=start == 0)
        last, events = max(last, seq), [*events, *gone]
        if order.progress is not None:
            order.progress(start + len(batch), len(subjects))
    alone = () if events else handle.space.destroy_keys(order.subjects, last)
    left = tokens_left(handle, order.user) if order.user is not None else ()
    places = (*cleaned(handle, planned), *alone, *left)
    return structs.replace(
        planned,
        seq=last,
        events=tuple(sorted(events)),
        places=places,
        subjects=order.subjects,
    )


def cleaned(handle: Handle, planned: Erasure | None = None) -> tuple[str, ...]:
    """Removes what was erased from files and caches; returns the places that were cleaned."""
    from recollect.memory.erasure.page_files import clean_chosen

    places = handle.space.purge() or ("everywhere, by another process",)
    forget_texts()
    return (*places, *clean_chosen(handle, () if planned is None else planned.records))


def repeated(
    handle: Handle, idempotency_key: str | None, *, dry_run: bool = False
) -> Erasure | None:
    """The answer to a call that was made before and has nothing left to erase.

    It says which other processes have dropped it by now.
    """
    with handle.space.reading() as reads:
        command = reads.command(idempotency_key) if idempotency_key is not None else None
        events = [] if command is None else events_erased_by(reads, command.seq)
    if command is None:
        return None
    if not events:
        raise key_reused(command.id)
    places = () if dry_run else handle.space.purge()
    done = tuple(events)
    return Erasure(id=None, seq=command.seq, events=done, episodes=(), kept=(), places=places)


def nothing_found(what: str) -> NotFound:
    """The refusal of an erasure that would remove nothing: a name may be misspelled."""
    return NotFound(
        f"nothing here has {what}", hint="`list` shows what there is; upper and lower case matter"
    )


def _erase_slice(
    handle: Handle, batch: list[tuple[str, _Kind]], order: Order, *, is_first: bool
) -> tuple[int, tuple[int, ...]]:
    """One command; the first has the caller's key and what the caller expects."""
    act = EraseAll(
        ids=_of(batch, "memory"),
        receipts=_of(batch, "receipt"),
        reason=order.reason,
        sessions=_of(batch, "session"),
        proposals=_of(batch, "proposal"),
        branches=_of(batch, "branch"),
        user=order.user,
        subjects=order.subjects or UNSET,
        authors=_of(batch, "author") or UNSET,
    )
    if not is_first:
        return handle.write((act,), erased)
    try:
        return handle.write((act,), erased, order.idempotency_key, order.expect)
    except Conflict as error:
        if order.idempotency_key is None or isinstance(error, Changed):
            raise
        # The key cannot tell what an interrupted call left from what was written later.
        raise Conflict(
            f"the idempotency key {order.idempotency_key!r} was already used, and there is "
            "something to erase that the call with it did not erase",
            hint="call again without the key to erase what is there now",
        ) from error


def _of(batch: list[tuple[str, _Kind]], kind: _Kind) -> tuple[str, ...]:
    return tuple(id for id, its in batch if its == kind)


def _subjects(planned: Erasure) -> list[tuple[str, _Kind]]:
    """What is to be erased.

    Episodes come first: only a record that is still there leads to the episodes it rests on, so
    the call that continues an interrupted one still finds all of them.
    """
    named: list[tuple[_Kind, tuple[str, ...]]] = [
        ("memory", (*planned.episodes, *planned.records)),
        ("receipt", planned.receipts),
        ("session", planned.sessions),
        ("proposal", planned.proposals),
        ("branch", planned.branches),
        ("author", planned.authors),
    ]
    return [(id, kind) for kind, ids in named for id in ids]


def _sources(reads: Reads, records: Iterable[str]) -> dict[str, EpisodeRow]:
    """The episodes that any version of these records rests on."""
    return {one.id: one for id in records for one in sources_of(reads, id)}


def _own(
    reads: Reads, named: dict[str, EpisodeRow], records: dict[str, None]
) -> dict[str, EpisodeRow]:
    """Those of these episodes that are evidence for nothing but these records."""
    return {
        id: episode
        for id, episode in named.items()
        if all(row.id in records for row in reads.evidence_for(episode))
    }


def naming(handle: Handle, reads: Reads, names: Iterable[str], gone: Erasure) -> tuple[str, ...]:
    """The records and episodes with one of these names in their text, and not erased."""
    erased = {*gone.records, *gone.episodes}
    found: dict[str, None] = {}
    for words in filter(None, (tuple(dict.fromkeys(token_list(name))) for name in names)):
        for shelf in get_args(Shelf):
            docs = (
                doc
                for doc, _ in reads.match(shelf, words, limits.LIST_MAX_RECORDS, handle.actor.user)
            )
            rows = (row for doc in docs if (row := reads.by_event(doc)) and handle.may_see(row))
            found |= {row.id: None for row in rows if {*words} <= {*token_list(searched_text(row))}}
    return tuple(id for id in found if id not in erased)[: limits.LIST_MAX_RECORDS]


def tokens_left(handle: Handle, user: str) -> tuple[str, ...]:
    """The tokens that are for a person or have the name in their label: others still use them.

    The report has their ids alone, because the name is what was to be erased.
    """
    words, tokens = user.casefold(), handle.space.tokens()
    found = [one for one in tokens if user == one.user or words in one.label.casefold()]
    if not found:
        return ()
    ids, live = ", ".join(str(one.id) for one in found), sum(one.live for one in found)
    return (
        f"NOT removed: {counted(len(found), 'token')} of this person or with the name in a label "
        f"({ids}), of which {live} can still be used; revoke them",
    )


def _namings(handle: Handle, reads: Reads, ids: Iterable[str]) -> tuple[AuthorRow, ...]:
    """All events that name these authors, as far as the handle sees whose they are."""
    rows = (row for id in ids for row in reads.namings(id))
    return tuple(row for row in rows if is_visible(handle.actor.user, row.user))


def _remaining(
    reads: Reads, records: dict[str, None], episodes: dict[str, None]
) -> dict[str, None]:
    """Other records under the keys of these, and other records that rest on these episodes."""
    rows = [row for id in records if (row := reads.version(id)) is not None]
    keys = dict.fromkeys((row.key, row.user) for row in rows if row.key is not None)
    found = [row.id for key, user in keys for row in reads.keyed(key, user, holder=False)]
    said = [episode for id in episodes if (episode := reads.episode(id)) is not None]
    found += [row.id for episode in said for row in reads.evidence_for(episode)]
    return dict.fromkeys(id for id in found if id not in records)


def _with_reasons(reads: Reads, records: dict[str, None]) -> list[str]:
    """Other records that keep the reason why one of these took their place."""
    old = {name: None for id in records for name in reads.superseded_by(id)}
    rows = [row for id in records if (row := reads.version(id)) is not None]
    old |= {row.supersedes: None for row in rows if row.supersedes is not None}
    return [
        id
        for id in old
        if id not in records
        and any(
            row.what == "superseded" and row.note is not None and row.superseded_by in records
            for row in reads.versions(id)
        )
    ]


def erased(reads: Reads, outcome: Outcome) -> tuple[int, tuple[int, ...]]:
    """The event that ordered an erasure, and the events it named; none if all were gone."""
    if outcome.last < outcome.first:
        return 0, ()
    return outcome.last, tuple(events_erased_by(reads, outcome.last))
