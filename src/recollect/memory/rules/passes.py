"""A pass of a rule: from the episodes that it has not looked at to records and proposals.

Responsible for reading episodes in batches, for the few records that a new one is compared with,
for submitting what they ask for, and for the report. Leaves what an episode asks for to
``lifecycle.proposals.intents``, what may happen to ``lifecycle.proposals.derived`` and comparing to
``lifecycle.proposals.alike``. Invariants: the number of candidates has a limit; a batch and the
note that the rule has looked at it are one command, so that whatever stops a pass, the next one
repeats nothing and leaves nothing out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from recollect.errors import Changed, Conflict, Forbidden, InvalidInput, NotFound
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, unpack_object
from recollect.index.statements import NOW
from recollect.index.words.text import telling_tokens
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import decide
from recollect.lifecycle.ids import ID_MIN_CHARS, record_id
from recollect.lifecycle.proposals.alike import ALIKE_MAX_CHARS
from recollect.lifecycle.proposals.derived import wanted
from recollect.lifecycle.proposals.intents import Heard, Intended, Unfit, intended
from recollect.lifecycle.settings.policy import policy_of
from recollect.memory.handle.acts import stamp
from recollect.memory.handle.handle import Handle
from recollect.memory.rules.unread import BATCH_MAX_COUNT, filter_of, unread
from recollect.model import events as e
from recollect.model import limits, validate
from recollect.model.rules import lowest
from recollect.model.validate import Json
from recollect.model.values import Derived, Pass, Rule, Skipped
from recollect.store.port import Outcome, Progress

if TYPE_CHECKING:
    from recollect.memory.rules.proposer_pass import Asking
    from recollect.propose.port import Proposer

# What one episode can cause; anything else, such as a full disk, ends the pass.
_OWN: Final = (InvalidInput, NotFound, Forbidden, Conflict)
_Outcome = Literal["applied", "waiting", "unchanged"]
_CANDIDATES_MAX_COUNT: Final = 8
_WORDS_MAX_COUNT: Final = 20_000


class _Item(NamedTuple):
    """An episode of a batch: what it asks for, and the act that does it."""

    seq: int
    asked: Intended
    act: c.Derive | None  # None if nothing is to be done


def consolidate(
    handle: Handle,
    find: Callable[[Reads], Rule],
    *,
    dry_run: bool,
    limit: int | None,
    proposer: Proposer | None,
    progress: Progress | None,
) -> Pass:
    """Runs a rule; ``Rules.run`` documents the arguments."""
    handle.require_whole("consolidate")
    with handle.reading() as reads:
        rule = find(reads)
        position = reads.position()
    end = min(handle.position, 0 if position is None else position.seq)
    where = None if rule.filter is None else filter_of(rule.filter)
    _require_allowed(handle, rule)
    run = _run(handle, rule, proposer, dry_run=dry_run)
    run.begin()
    left, after = limit, rule.through
    while after < end and left != 0 and run.stopped is None:
        most = run.page_max_count if left is None else min(left, run.page_max_count)
        with handle.reading() as reads:
            found, after = unread(reads, where, after, end, most)
            run.look(reads, found)
        run.write(after)
        left = None if left is None else left - len(found)
        if progress is not None:
            progress(after - rule.through, end - rule.through)
    return run.report()


def _run(handle: Handle, rule: Rule, proposer: Proposer | None, *, dry_run: bool) -> _Run | Asking:
    """The pass that fits the rule."""
    if rule.propose and proposer is None:
        raise InvalidInput(
            f"the rule {rule.name!r} asks a proposer, and none was given",
            hint="pass proposer=, or name one in RECOLLECT_PROPOSER for the command line",
        )
    if proposer is None:
        return _Run(handle, rule, dry_run=dry_run)
    if not rule.propose:
        raise InvalidInput(
            f"the rule {rule.name!r} asks no proposer",
            hint="set a rule of its own with propose=True: a rule looks at an episode once",
        )
    from recollect.memory.rules.proposer_pass import Asking

    return Asking(handle, rule, proposer, dry_run=dry_run)


def _require_allowed(handle: Handle, rule: Rule) -> None:
    """Refuses a pass that is not allowed, also one that would write nothing."""
    act = c.Pass(rule=rule.name, after=rule.through, set_at=rule.seq, through=rule.through)
    with handle.reading() as reads:
        if handle.position == NOW:
            decide(reads, handle.actor, act)


class _Run:
    """One pass, from batch to batch."""

    page_max_count: Final = BATCH_MAX_COUNT
    stopped: Final = None  # it goes on to the end

    def __init__(self, handle: Handle, rule: Rule, *, dry_run: bool) -> None:
        self._handle = handle
        self._rule = rule
        self._dry_run = dry_run
        self._stands = rule.through  # as it is written
        self._items: list[_Item] = []  # of the batch
        self._seen = self._skipping = 0  # of the batch, and not yet written
        self._forgets = 0  # asked for with less than a person's trust
        self._at_once = 0  # so many of them are done without a review
        self._looked = 0
        self._counts = {"applied": 0, "waiting": 0, "unchanged": 0}
        self._derived: list[Derived] = []
        self._skipped: list[Skipped] = []
        self._through = rule.through
        self._beside = Beside()

    def begin(self) -> None:
        """Reads how much may be forgotten without a review."""
        with self._handle.reading() as reads:
            self._at_once = policy_of(reads, c.Actor(trust="agent")).forget_at_once

    def look(self, reads: Reads, episodes: Sequence[EpisodeRow]) -> None:
        """Reads what the episodes of a batch ask for."""
        self._items = []
        self._seen += len(episodes)
        self._looked += len(episodes)
        metadata = [unpack_object(row.metadata) for row in episodes]
        heard = (
            Heard(row.id, row.text, data, row.user)
            for row, data in zip(episodes, metadata, strict=True)
        )
        asked = intended(heard, {})
        for row, data, one in zip(episodes, metadata, asked, strict=True):
            try:
                if isinstance(one, Unfit):
                    raise InvalidInput(one.reason)
                act = self._act(row, data, one)
                if act is not None:
                    act = msgspec.structs.replace(act, beside=self._beside.of(reads, act))
                self._items.append(_Item(row.seq, one, act))
            except InvalidInput as error:
                self._skip(row.id, error.message)
        if self._dry_run:
            self._try(reads)

    def _act(self, row: EpisodeRow, metadata: dict[str, Json], asked: Intended) -> c.Derive | None:
        """The act that does what an episode asks for."""
        if asked.intent == "noop":
            return None
        trust = self._rule.trust
        if asked.intent == "delete":
            lent = lowest([self._handle.actor.trust, trust, row.trust])
            self._forgets += lent != "person"
            if self._forgets > self._at_once and lent != "person":
                trust = "unverified"  # so many at once wait for a person
        # A key that was met before is found by its holder.
        replaces = asked.replaces if "replaces" in metadata else ()
        seam = self._handle.seam
        return c.Derive(
            rule=self._rule.name,
            trust=trust,
            episode=row.id,
            user=row.user,
            intent=asked.intent,
            text=validate.text(asked.text),
            said_at=row.said_at,
            stamp=stamp(seam.now()),
            chance=seam.random(16).hex(),
            key=validate.optional_name(asked.key, "key"),
            about=validate.optional_name(asked.about, "subject"),
            replaces=tuple(validate.reference(name) for name in replaces),
            tags=self._rule.channels,
            data=validate.data(_told(self._rule.name, asked)),
        )

    def _try(self, reads: Reads) -> None:
        """Decides each act as if it was the only one, and writes none."""
        for item in self._items:
            if item.act is None:
                self._note(item, "unchanged", None)
                continue
            try:
                bodies, _ = decide(reads, self._handle.actor, item.act)
            except _OWN as error:
                self._skip(item.asked.episode, error.message)
            else:
                self._note(item, _foreseen(bodies), None)

    def write(self, through: int) -> None:
        """Submits the batch; without anything to write, the note waits until it is far enough."""
        self._through = through
        if self._dry_run:
            return
        if self._items:
            self._submit(self._items, through)
        if self._seen or through - self._stands >= limits.PASS_NOTE_MAX_EVENTS:
            self._command([], through)

    def _submit(self, items: list[_Item], through: int) -> None:
        """Submits episodes as one command; if one of them is refused, in halves."""
        try:
            self._command(items, through)
        except Changed:  # of the rule, not of an episode
            raise
        except _OWN as error:
            if len(items) == 1:
                self._skip(items[0].asked.episode, error.message)
                self._items = self._items[1:]
                return
            half = len(items) // 2
            self._submit(items[:half], items[half - 1].seq)
            self._submit(items[half:], through)

    def _command(self, items: Sequence[_Item], through: int) -> None:
        """The note and the acts, in one command."""
        acts = [item.act for item in items if item.act is not None]
        rest = len(self._items) - len(items) if items else 0
        note = c.Pass(
            rule=self._rule.name,
            set_at=self._rule.seq,
            after=self._stands,
            through=through,
            seen=self._seen - rest,
            made=len(acts),
            skipped=self._skipping,
        )
        outcomes = self._handle.write((note, *acts), _outcomes)
        self._stands = through
        self._seen, self._skipping = rest, 0
        self._items = self._items[len(items) :]
        told = iter(outcomes)
        for item in items:
            outcome, id = ("unchanged", None) if item.act is None else next(told)
            self._note(item, outcome, id)

    def _note(self, item: _Item, outcome: _Outcome, id: str | None) -> None:
        self._counts[outcome] += 1
        if len(self._derived) < limits.LIST_MAX_PASSED:
            episode, intent, text, key, *_ = item.asked
            self._derived.append(
                Derived(episode=episode, intent=intent, text=text, key=key, outcome=outcome, id=id)
            )

    def _skip(self, episode: str, reason: str) -> None:
        self._skipping += 1
        if len(self._skipped) < limits.LIST_MAX_PASSED:
            self._skipped.append(Skipped(episode=episode, reason=reason))

    def report(self) -> Pass:
        """What the pass did."""
        return Pass(
            rule=self._rule.name,
            proposals=tuple(self._derived),
            applied=self._counts["applied"],
            waiting=self._counts["waiting"],
            skipped=tuple(self._skipped),
            seen=self._looked,
            through=self._through,
            dry_run=self._dry_run,
        )


def _told(rule: str, asked: Intended) -> dict[str, Json]:
    """The data of a derived record: the rule, and the triple."""
    if asked.triple is None:
        return {"rule": rule}
    subject, predicate, value = asked.triple
    return {"rule": rule, "subject": subject, "predicate": predicate, "object": value}


def _outcomes(reads: Reads, outcome: Outcome) -> list[tuple[_Outcome, str | None]]:
    """What came of each act after the first, which is the note."""
    return [_outcome(reads, id) for id in outcome.subjects[1:]]


def _outcome(reads: Reads, id: str) -> tuple[_Outcome, str | None]:
    """What a subject says: a record or a proposal; of an episode nothing came."""
    record = reads.version(id)
    if record is not None:
        return ("waiting" if record.status == "held" else "applied"), id
    return ("unchanged", None) if reads.proposal(id) is None else ("waiting", id)


def _foreseen(bodies: Sequence[e.AnyBody]) -> _Outcome:
    """The same from the events that an act would make."""
    if not bodies:
        return "unchanged"
    applied = {body.id for body in bodies if isinstance(body, e.ProposalApplied)}
    waits = any(
        (isinstance(body, e.ProposalMade) and body.id not in applied)
        or (isinstance(body, e.RecordAdded) and body.status == "held")
        for body in bodies
    )
    return "waiting" if waits else "applied"


class Beside:
    """The words of what a pass made lately, each with the last records that have it."""

    def __init__(self) -> None:
        self._having: dict[tuple[str | None, str], deque[str]] = {}

    def of(self, reads: Reads, act: c.Derive) -> tuple[str, ...]:
        """Candidates for a statement, which is noted for those that follow.

        A key has one holder, so what has a key is not compared.
        """
        if act.key is not None or act.intent == "delete" or len(act.text) > ALIKE_MAX_CHARS:
            return ()
        names = [(act.user, word) for word in sorted(telling_tokens(act.text))]
        shared = Counter(id for name in names for id in self._having.get(name, ()))
        best = [id for id, count in shared.most_common(_CANDIDATES_MAX_COUNT) if count > 1]
        if act.about is not None:
            best += reads.about_now(act.about, act.user, _CANDIDATES_MAX_COUNT)
        if len(self._having) > _WORDS_MAX_COUNT:
            self._having.clear()
        new = record_id(wanted(act), ID_MIN_CHARS)  # if it is free, as almost always
        for name in names:
            self._having.setdefault(name, deque(maxlen=_CANDIDATES_MAX_COUNT)).append(new)
        return tuple(dict.fromkeys(best))
