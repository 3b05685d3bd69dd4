"""Making a page shorter without losing what it says.

Responsible for what is merged, for checking what a proposer suggests, and for filing it. Leaves
what counts as a fact to ``mirror.facts``. Invariants: what is taken off a page is archived or
forgotten by ordinary acts, so ``history`` has it and ``undo`` takes it back; entries of different
users or trust are never merged; nothing is filed from a rewrite that drops too many facts; what a
proposer wrote waits for a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import structs

from recollect.errors import Changed, Conflict, InvalidInput
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, VersionRow, unpack_names
from recollect.index.values import record_of
from recollect.lifecycle.commands import Act, Archive, Forget, Link, Tag
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Handle
from recollect.memory.pages import page_care
from recollect.memory.pages.page_sources import Sources
from recollect.memory.review import proposal_act
from recollect.mirror.facts import Verdict, compare
from recollect.model import limits, validate
from recollect.model.rules import lowest
from recollect.model.values import Condensed, Suggestion
from recollect.propose.port import Limited, Proposer
from recollect.recall.pack import count_tokens
from recollect.store.port import Outcome

_TRIES: Final = 100  # how often something else may be written in between
_AT_ONCE: Final = 1_000  # records that one command takes off a page
_HEADING_TOKENS: Final = 35  # what an entry costs beside its text
_ARTICLES: Final = frozenset(("a", "an", "the"))
_LINK: Final = "near_duplicate_of"


class _Merge(NamedTuple):
    """An entry that says what another one says too."""

    gone: VersionRow
    kept: VersionRow


class _Rewrite(NamedTuple):
    """What a proposer suggests for the entries of one user and one trust."""

    rows: tuple[VersionRow, ...]
    suggestions: tuple[Suggestion, ...]


def merge(handle: Handle, page: str, *, dry_run: bool) -> Condensed:
    """Merges the entries of a page that say the same."""
    first, gone = _rows(handle, page), list[str]()
    for _ in range(_TRIES + len(first) // _AT_ONCE):
        with handle.reading() as reads:
            rows, position = Sources(handle, reads).shown_on(page), reads.position()
            unflagged = page_care.unflagging(handle, reads, page)
            is_long = page_care.is_long(handle, reads, page)
            merges = _merges(handle, reads, rows)
        verdict = _verdict(rows, merges)
        if not (dry_run or merges or is_long) and unflagged:  # there is nothing more to do
            try:
                handle.write(tuple(unflagged), answers.nothing, None, _seq(position))
            except Changed:
                continue
        if dry_run or not merges or verdict.problem is not None:
            taken = {one.gone.id for one in merges} if dry_run else set()
            return _answer(
                page, first, [row for row in rows if row.id not in taken], verdict, gone or taken
            )
        part, is_last = merges[:_AT_ONCE], len(merges) <= _AT_ONCE
        acts = [act for one in part for act in _acts(one)]
        acts += unflagged if is_last else []  # in the same command, so that one undo takes it back
        try:
            handle.write(tuple(acts), answers.nothing, None, _seq(position))
            gone += [one.gone.id for one in part]
        except Changed:
            continue
    raise Conflict("the memory did not stop changing", hint="try again")


def _seq(position: PositionRow | None) -> int:
    return 0 if position is None else position.seq


def _rows(handle: Handle, page: str) -> list[VersionRow]:
    with handle.reading() as reads:
        return Sources(handle, reads).shown_on(page)


def _answer(
    page: str,
    before: Iterable[VersionRow],
    after: Iterable[VersionRow],
    verdict: Verdict,
    merged: Iterable[str],
) -> Condensed:
    return Condensed(
        page=page,
        tokens_before=_tokens(row.text for row in before),
        tokens_after=_tokens(row.text for row in after),
        merged=tuple(sorted(merged)),
        facts=verdict.facts,
        dropped=verdict.dropped,
        problem=verdict.problem,
    )


def _tokens(texts: Iterable[str]) -> int:
    return sum(count_tokens(text) + _HEADING_TOKENS for text in texts)


def _verdict(rows: Sequence[VersionRow], merges: Sequence[_Merge]) -> Verdict:
    """The check, although merging drops nothing by itself."""
    gone = {one.gone.id for one in merges}
    return compare([row.text for row in rows], [row.text for row in rows if row.id not in gone])


def _merges(handle: Handle, reads: Reads, rows: Iterable[VersionRow]) -> list[_Merge]:
    """Which entries say what another one says, as far as this handle may change them."""
    groups: dict[tuple[object, ...], list[VersionRow]] = {}
    for row in rows:
        for state in _states(row):
            groups.setdefault((state, *_shape(row)), []).append(row)
    found: list[_Merge] = []
    for group in groups.values():
        # One that holds, has a key or is more certain stays; of equal ones the first.
        kept, *others = sorted(group, key=_rank)
        found += [
            _Merge(row, kept)
            for row in others
            if (row.key is None or row.status != "active")
            and all(may_alter(reads, handle.actor, one) for one in (row, kept))
        ]
    return found


def _rank(row: VersionRow) -> tuple[object, ...]:
    return row.status != "active", row.key is None, -row.confidence, row.created_at, row.id


def _states(row: VersionRow) -> tuple[str | None, ...]:
    """With what an entry is compared: with what holds, and with what held under the same key."""
    if row.status != "active":
        return (row.key and f"key {row.key}",)
    return ("holds",) if row.key is None else ("holds", f"key {row.key}")


def _shape(row: VersionRow) -> tuple[object, ...]:
    """What two entries must have in common to be the same statement."""
    place = (row.user, row.trust, row.kind, row.about)
    times = (row.valid_from, row.valid_to, row.expires, row.decay_tier)
    return (*place, *times, row.is_hypothesis, row.data, _same_words(row.text))


def _same_words(text: str) -> str:
    """A text without what two ways of writing a sentence may differ in."""
    words = text.strip().rstrip(".!").split()
    if len(words) > 1 and words[0].lower() in _ARTICLES:  # elsewhere "a" may be a name: "plan a"
        words = words[1:]
    if words and words[0][1:].islower():
        words[0] = words[0].lower()
    return " ".join(words)


def _acts(one: _Merge) -> Iterator[Act]:
    """Takes an entry off the page; its tags stay on the one that is kept."""
    reason = f"says what {one.kept.id} says"
    if one.gone.status != "active":
        yield Forget(id=one.gone.id, sources="keep", reason=reason)
        return
    more = [tag for tag in unpack_names(one.gone.tags) if tag not in unpack_names(one.kept.tags)]
    if more:
        yield Tag(id=one.kept.id, add=tuple(more))
    yield Link(source=one.gone.id, target=one.kept.id, kind=_LINK)
    yield Archive(id=one.gone.id, why="merged", seq=one.gone.seq, reason=reason)


def propose(handle: Handle, page: str, proposer: Proposer, *, dry_run: bool) -> Condensed:
    """Asks a proposer for shorter entries, checks them, and files what passes for a person."""
    rows = _rows(handle, page)
    try:
        rewrites = list(_asked(handle, proposer, rows))
        verdict = _checked(rows, rewrites)
    except InvalidInput as error:
        return structs.replace(
            _answer(page, rows, rows, compare((), ()), ()), problem=error.message
        )
    answer = structs.replace(
        _answer(page, rows, rows, verdict, ()), tokens_after=_tokens(_after(rows, rewrites))
    )
    if answer.problem is None and rewrites and answer.tokens_after >= answer.tokens_before:
        answer = structs.replace(answer, problem="the rewrite is not shorter")
    if answer.problem is not None or dry_run:
        return answer
    filed = [id for rewrite in rewrites for id in _filed(handle, page, rewrite)]
    return structs.replace(answer, proposals=tuple(filed))


def _asked(handle: Handle, proposer: Proposer, rows: Iterable[VersionRow]) -> Iterator[_Rewrite]:
    """What a proposer suggests. It sees entries of one user and one trust at a time."""
    if isinstance(proposer, Limited):
        proposer.begin()
    size = limits.PROPOSER_MAX_RECORDS
    for group in _apart(row for row in rows if row.status == "active" and row.key is None):
        for start in range(0, len(group), size):
            part = tuple(group[start : start + size])
            suggestions = tuple(proposer((), [record_of(row) for row in part]))
            _check_shape(part, suggestions)
            if suggestions:
                yield _Rewrite(part, suggestions)


def _check_shape(rows: Sequence[VersionRow], suggestions: Sequence[Suggestion]) -> None:
    """Refuses an answer that is not about the entries that were given, each at most once."""
    if len(suggestions) > len(rows):
        raise InvalidInput("the proposer suggests more changes than it was given entries")
    free = {row.id for row in rows}
    for one in suggestions:
        if not isinstance(one, Suggestion) or one.intent not in ("update", "delete"):
            raise InvalidInput(f"the proposer suggests {validate.shown(one)}, not update or delete")
        if one.target not in free:
            raise InvalidInput(f"the proposer names {one.target!r} twice, or was not given it")
        free.discard(one.target)
        if (one.text is None) != (one.intent == "delete"):
            raise InvalidInput(f"the proposer's {one.intent} of {one.target!r} has a wrong text")
        if one.text is not None:
            text = validate.text(one.text)
            if len(text) > limits.SUGGESTION_MAX_CHARS:
                raise InvalidInput(
                    f"an entry is longer than {limits.SUGGESTION_MAX_CHARS:,} characters"
                )


def _checked(rows: Sequence[VersionRow], rewrites: Sequence[_Rewrite]) -> Verdict:
    """The check of the whole page; one user's facts, or one trust's, never stand for another's."""
    verdicts = [
        compare([row.text for row in group], _after(group, rewrites)) for group in _apart(rows)
    ]
    return Verdict(
        sum(one.facts for one in verdicts),
        tuple(fact for one in verdicts for fact in one.dropped),
        tuple(fact for one in verdicts for fact in one.added),
        next((one.unseen for one in verdicts if one.unseen), None),
    )


def _apart(rows: Iterable[VersionRow]) -> list[list[VersionRow]]:
    """Entries of one user and one trust each."""
    groups: dict[tuple[object, ...], list[VersionRow]] = {}
    for row in rows:
        groups.setdefault((row.user, row.trust), []).append(row)
    return list(groups.values())


def _after(rows: Iterable[VersionRow], rewrites: Iterable[_Rewrite]) -> list[str]:
    """The texts of a page as they would be."""
    changed = {one.target: one for rewrite in rewrites for one in rewrite.suggestions}
    texts = [(changed[row.id].text if row.id in changed else row.text) for row in rows]
    return [text for text in texts if text is not None]


def _filed(handle: Handle, page: str, rewrite: _Rewrite) -> tuple[str, ...]:
    """Files the suggestions for one user with at most an agent's trust; a person decides."""
    first = rewrite.rows[0]
    trust = lowest([handle.actor.trust, first.trust, "agent"])
    mine = handle.narrowed(structs.replace(handle.actor, user=first.user, trust=trust))
    texts = {row.id: row.text for row in rewrite.rows}
    homes = _homes(texts, rewrite.suggestions)
    acts = tuple(
        proposal_act(
            mine.acts,
            structs.replace(one, reason=one.reason or _why(page, one, homes)),
            [gone for gone, home in homes.items() if home == one.target]
            if one.intent == "update"
            else (),
        )
        for one in rewrite.suggestions
    )
    return mine.write(acts, _subjects)


def _homes(texts: dict[str, str], suggestions: Sequence[Suggestion]) -> dict[str, str]:
    """For each entry that would go, the one that would say most of its facts."""
    updates = [one for one in suggestions if one.intent == "update"]
    found: dict[str, str] = {}
    for one in suggestions:
        if one.intent == "delete" and one.target and updates:
            text = texts[one.target]
            best = min(updates, key=lambda new: len(compare([text], [new.text or ""]).dropped))
            found[one.target] = best.target or ""
    return found


def _why(page: str, one: Suggestion, homes: dict[str, str]) -> str:
    if one.intent == "update":
        return f"condenses {page}"
    home = homes.get(one.target or "")
    return f"condenses {page}" + (f": approve the change of {home} first" if home else "")


def _subjects(_: Reads, outcome: Outcome) -> tuple[str, ...]:
    return outcome.subjects
