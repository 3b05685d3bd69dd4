"""``memory.rules``: which episodes become records, and how often.

Responsible for checking a rule, and for reading and writing it as a document of the type "rules".
Leaves running it to ``memory.rules.passes``. Invariant: a rule that was set here has a filter that
can be evaluated and at most one cadence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.index.reads import Reads
from recollect.index.rows import RULES, DocumentRow, document_id, unpack_object
from recollect.lifecycle.commands import Act, DropDocument, Erase, Expect, SetDocument
from recollect.lifecycle.commands import Pass as PassOver
from recollect.lifecycle.settings.documents import no_document
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.memory.rules.unread import filter_of, is_due
from recollect.model import limits, validate
from recollect.model.cron import parse_cron
from recollect.model.validate import Json
from recollect.model.values import Pass, Rule
from recollect.propose.port import Proposer
from recollect.store.port import Outcome, Progress

EVERY_MAX_COUNT: Final = 1_000_000
List = list  # ``list`` is also the name of a call


@heals
class Rules(Calls):
    """List, get, set and drop the rules of a space; ``run`` runs one.

    A rule is the document "rules/NAME". Running it needs at least the trust that set it.
    """

    def list(self, *, limit: int = 100, after: str | None = None) -> List[Rule]:
        """Rules, by name; other documents of the type "rules" are left out.

        Args:
            limit: At most this many, up to 1,000.
            after: The name of the last rule of the page before.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_DOCUMENTS)
        start = "" if after is None else validate.document(RULES, after)[1]
        found: List[Rule] = []
        with self._handle.reading() as reads:
            while len(found) < limit:
                rows = reads.documents(RULES, (RULES, start), limit)
                found += _rules_of(reads, rows)
                if len(rows) < limit:
                    break
                start = rows[-1].name
        return found[:limit]

    def get(self, name: str) -> Rule:
        """One rule.

        Args:
            name: The name.

        Raises:
            NotFound: The rule does not exist.
            InvalidInput: The document "rules/NAME" is not a rule.
        """
        with self._handle.reading() as reads:
            return found_rule(reads, name)

    def set(
        self,
        name: str,
        *,
        filter: str | None = None,
        every: int | None = None,
        cron: str | None = None,
        channels: Iterable[str] = (),
        propose: bool = False,
        from_start: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Rule:
        """Set a rule, whole. It goes on after the last episode that it has looked at.

        Args:
            name: An id; with "rules/" at most 120 characters.
            filter: Which episodes; all by default. The columns ``content``, ``timestamp``,
                ``source_node`` and ``scope_key`` of an earlier design are translated.
            every: Run it when this many episodes are new.
            cron: Run it at these times of this machine's clock: minute, hour, day, month, weekday.
            channels: Tags of what it makes.
            propose: A proposer says what the episodes change, not their metadata; all that it
                suggests waits for a person. ``run`` then needs a proposer.
            from_start: Look at every episode again, from the first.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: The filter or the cadence cannot be understood.
            Forbidden: The rule was set with more trust than this handle has.
        """
        _, name = validate.document(RULES, name)
        acts: List[Act] = [
            SetDocument(type=RULES, name=name, data=_data(filter, every, cron, channels, propose))
        ]
        if validate.flag(from_start, "from_start"):
            acts.append(PassOver(rule=name))

        def answer(reads: Reads, outcome: Outcome) -> Rule:
            return found_rule(reads, name)

        return self._handle.write(tuple(acts), answer, idempotency_key, expect)

    def run(
        self,
        name: str,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        proposer: Proposer | None = None,
        progress: Progress | None = None,
    ) -> Pass:
        """Run a rule: make records and proposals of the episodes that it has not looked at.

        Episodes are taken in the order of the ledger. What the trust of this handle, of the rule
        and of the episode allows is done at once; the rest waits in ``memory.review``. An episode
        that cannot be used is reported and skipped. A pass that was stopped goes on where it was.

        Args:
            name: The name of the rule.
            dry_run: Write nothing; each episode is judged as if it was the only one.
            limit: Look at so many matching episodes at most.
            proposer: For a rule that was set with ``propose``: a function, or ``ChatProposer``,
                that says what the episodes change.
            progress: Called with the events done and the events in all.

        Returns:
            What was done, what waits, and what was skipped and why.

        Raises:
            NotFound: The rule does not exist.
            InvalidInput: The rule asks a proposer and none was given, or the other way round.
            Forbidden: The rule was set with more trust than this handle has.
            Conflict: The rule was changed, or run by another process, meanwhile.
            Unavailable: The proposer did not answer; what was filed before stays.
        """
        from recollect.memory.rules.passes import consolidate

        most = None if limit is None else validate.count(limit, "limit", at_most=limits.INTEGER_MAX)
        dry_run = validate.flag(dry_run, "dry_run")
        return consolidate(
            self._handle, lambda reads: found_rule(reads, name),
            dry_run=dry_run, limit=most, proposer=proposer, progress=progress,
        )  # fmt: skip

    def drop(
        self,
        name: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove a rule; what it made stays. Set again, it goes on where it stood.

        Args:
            name: The name.
            erase: Also remove every byte of it and of how far it has looked; needs a person.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: The rule does not exist.
            Forbidden: The rule was set with more trust than this handle has, or ``erase`` is asked
                for without a person's trust.
        """
        _, name = validate.document(RULES, name)
        id = document_id(RULES, name)
        erase = validate.flag(erase, "erase")
        act = Erase(id=id, what="document") if erase else DropDocument(type=RULES, name=name)
        self._handle.write((act,), answers.nothing, idempotency_key, expect)
        if erase:
            self._handle.space.purge()

    def due(self) -> List[Rule]:
        """The rules whose cadence has come; nothing runs them but ``run``."""
        return [rule for rule in self.list(limit=1_000) if is_due(self._handle, rule)]


def found_rule(reads: Reads, name: str) -> Rule:
    """A rule; refused if its document does not exist or is not one."""
    _, name = validate.document(RULES, name)
    row = reads.document(RULES, name)
    if row is None:
        raise no_document(RULES, name)
    try:
        return _rule_of(reads, row)
    except InvalidInput as error:
        raise InvalidInput(
            f"the document {document_id(RULES, name)!r} is not a rule: {error.message}",
            hint="set it with `rules.set`",
        ) from error


def _rules_of(reads: Reads, rows: Iterable[DocumentRow]) -> Iterator[Rule]:
    """Those documents that are rules."""
    for row in rows:
        with suppress(InvalidInput):
            yield _rule_of(reads, row)


def _rule_of(reads: Reads, row: DocumentRow) -> Rule:
    """A rule from its document, which may have been set without a check."""
    try:
        given = msgspec.convert(unpack_object(row.data), _Data)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from error
    _data(given.filter, given.every, given.cron, given.channels, given.propose)
    last = reads.last_pass(row.name)
    return Rule(
        name=row.name,
        filter=given.filter,
        every=given.every,
        cron=given.cron,
        channels=given.channels,
        propose=given.propose,
        trust=row.trust,
        at=row.at,
        seq=row.seq,
        through=0 if last is None else last.through,
        passed_at=None if last is None else last.at,
    )


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the document of a rule holds."""

    filter: str | None = None
    every: int | None = None
    cron: str | None = None
    channels: tuple[str, ...] = ()
    propose: bool = False


def _data(
    filter: str | None,
    every: int | None,
    cron: str | None,
    channels: Iterable[str],
    propose: bool,
) -> dict[str, Json]:
    """A rule as the data of its document."""
    if every is not None and cron is not None:
        raise InvalidInput("a rule has one cadence", hint="give either every or cron")
    data: dict[str, Json] = {}
    if filter is not None and filter.strip():
        data["filter"] = str(filter_of(filter))
    if every is not None:
        data["every"] = validate.count(every, "every", at_most=EVERY_MAX_COUNT)
    if cron is not None:
        parse_cron(validate.plain(cron, "cron"))
        data["cron"] = " ".join(cron.lower().split())
    names = validate.names(channels, "channels", at_most=limits.TAGS_MAX_COUNT)
    if names:
        data["channels"] = [*names]
    if validate.flag(propose, "propose"):
        data["propose"] = True
    if names and propose:
        raise InvalidInput("what a proposer suggests has no channels", hint="leave channels out")
    return data
