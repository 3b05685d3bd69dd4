"""An import: what another program knew becomes records, episodes and links.

Responsible for storing what an importer found: each item is one command named after its id, many in
one append. Leaves formats to ``exchange`` and files to ``memory.exchange.import_files``.
Invariants: an item is stored once for the life of the ledger, and one that was forgotten or erased
here does not come back; redacted text is never hashed; nothing is written with more than an agent's
trust.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from msgspec import structs

from recollect.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RecollectError,
)
from recollect.exchange.cleaned import Cleaning
from recollect.exchange.items import (
    Chain,
    Entity,
    EpisodeItem,
    Found,
    GoneItem,
    Item,
    LeftOut,
    LinkItem,
    RecordItem,
    SettingItem,
    Trouble,
    names_in,
)
from recollect.index.reads import Reads
from recollect.index.rows import unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.marks import same_command
from recollect.memory.exchange import import_pages
from recollect.memory.exchange.import_changes import under_known_ids, up_to_date
from recollect.memory.exchange.import_commands import ItemCommands
from recollect.memory.exchange.import_entities import Compared, compare, missing, things
from recollect.memory.exchange.import_graphs import as_here, edge_command, is_change, is_of_graph
from recollect.memory.exchange.import_own import is_hidden, is_same_setting
from recollect.memory.handle.handle import Handle
from recollect.memory.handle.healed import asked_again
from recollect.model import limits
from recollect.model.events import Trust
from recollect.model.rules import lowest
from recollect.model.values.exchange import Checked, Imported, Refused
from recollect.store.port import Outcome

_AT_ONCE: Final = 1_000  # items in one append
_AT_ONCE_MAX_CHARS: Final = 4_000_000
_LATE_MAX_COUNT: Final = 100_000  # links and successors that wait for what they name
_PROBLEMS_MAX_COUNT: Final = 100
_KINDS_MAX_COUNT: Final = 50  # of what is left out
_REFUSALS: Final = (Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound)
_TOLD: Final = (RecordItem, EpisodeItem)
_WAITING: Final = "links to something that is not there yet"


class Importing:
    """Stores items in a memory, and counts what became of them."""

    def __init__(
        self, handle: Handle, format: str, *, hold: bool = False, dry_run: bool = False
    ) -> None:
        self._handle = handle
        self._format = format
        self._dry_run = dry_run
        # A token opens a store that others share: what comes from elsewhere waits there.
        is_held = hold or handle.space.widest is not None
        least: Trust = "unverified" if is_held else "agent"
        self._trust = lowest([handle.actor.trust, least])
        self._make = ItemCommands(handle, format, self._trust)
        self._some: list[Item] = []
        self._spans: list[tuple[int, Entity]] = []  # where each begins among these items
        self._chars = 0
        self._users: set[str | None] = set()  # that items have
        self._seen: set[int] = set()  # hashes of the ids of records
        self._said: set[str] = set()  # ids of what is said of things, of this append
        self._replacing: set[str] = set()  # ids of records that take the place of others
        self.left_out: Counter[str] = Counter()
        self._late: list[tuple[Item, c.Command]] = []
        self._count: Counter[str] = Counter()
        self._cleaning = Cleaning()
        self._problems: list[Refused] = []
        self._chains: list[Checked] = []

    def take(self, found: Iterable[Found], *, is_whole: bool = False) -> None:
        """Stores everything that an importer finds."""
        for one in self._readable(found):
            self._add(one)
        self._flush()
        late, self._late = self._late, []
        for start in range(0, len(late), _AT_ONCE):
            self._write(late[start : start + _AT_ONCE], is_last=True)
        if is_whole and (self._count["known"] or self._count["changed"]):
            self._count["missing"] = self._missing()

    def _readable(self, found: Iterable[Found]) -> Iterator[Found]:
        """What is found; if a file cannot be read on, what came before it counts."""
        some = iter(found)
        is_begun = False
        while True:
            try:
                one = next(some, None)
            except (InvalidInput, LimitExceeded) as error:
                if not is_begun:
                    raise
                one = Trouble(where="the import ends early", why=error.message)
                some = iter(())
            if one is None:
                return
            is_begun = True
            yield one

    def report(self, source: str) -> Imported:
        """What was done."""
        count = self._count
        return Imported(
            format=self._format,
            source=source,
            kept=count["kept"],
            changed=count["changed"],
            known=count["known"],
            refused=count["refused"],
            forgotten=count["forgotten"],
            missing=count["missing"],
            records=count["RecordItem"],
            episodes=count["EpisodeItem"],
            links=count["LinkItem"],
            waiting=self._trust == "unverified",
            dry_run=self._dry_run,
            redacted=dict(sorted(self._cleaning.redacted.items())),
            left_out={what: many for what, many in sorted(self.left_out.items()) if many},
            chains=tuple(self._chains),
            problems=tuple(self._problems),
        )

    def _add(self, found: Found) -> None:
        if isinstance(found, Trouble):
            self._refuse(found.where, found.why)
        elif isinstance(found, LeftOut):
            is_new = found.what not in self.left_out and len(self.left_out) >= _KINDS_MAX_COUNT
            self.left_out["other things" if is_new else found.what] += found.count
        elif isinstance(found, Chain):
            self._chains.append(msgspec.convert(msgspec.to_builtins(found), Checked))
        elif isinstance(found, Entity):
            thing = structs.replace(found, says=tuple(filter(self._fits, found.says)))
            self._spans.append((len(self._some), thing))
            self._collect(thing.record, *thing.says, *thing.links)
        elif not isinstance(found, _TOLD) or self._fits(found):
            if self._some and type(found) is not type(self._some[-1]) and _needs_others(found):
                self._flush()
            self._collect(found)

    def _fits(self, item: RecordItem | EpisodeItem) -> bool:
        """False for a text that no memory takes: searching it for secrets would take long."""
        if len(item.text) <= limits.TEXT_MAX_BYTES:
            return True
        self._refuse(item.where, f"a text is longer than {limits.TEXT_MAX_BYTES:,} bytes")
        return False

    def _collect(self, *items: Item) -> None:
        """Adds items that are stored in the same append."""
        self._some += items
        self._chars += sum(len(item.text) for item in items if isinstance(item, _TOLD))
        if len(self._some) >= _AT_ONCE or self._chars >= _AT_ONCE_MAX_CHARS:
            self._flush()

    def _flush(self) -> None:
        """Stores what was collected, in one append."""
        some, self._some, self._chars = self._some, [], 0
        items = self._resolved(self._under_known_ids(self._cleaning.clean(some)))
        items = import_pages.as_here(self._handle, items)
        compared = self._compared(items)
        self._spans = []
        self._said = compared.said
        self._replacing.update(compared.replaced)
        self._seen.update(map(hash, compared.replaced.values()))  # before they have ended
        self._seen.update(hash(end.id.partition("@")[0]) for end in compared.ends)
        made: list[tuple[Item, c.Command]] = []
        for found in self._wanted(items):
            item = found
            if isinstance(item, RecordItem):
                self._users.add(self._handle.actor.user or item.user)
                self._seen.add(hash(item.id))
                if item.id in compared.torn:
                    self._refuse(item.where, compared.torn[item.id])
                    continue
                if item.id in compared.replaced:
                    item = structs.replace(item, replaces=compared.replaced[item.id])
            try:
                command = self._command(item)
            except _REFUSALS as error:
                self._refuse(item.where, error.message)
                continue
            if command is None:
                self._count["known"] += 1
            else:
                id = compared.again.get(command.id, command.id)
                made.append((item, structs.replace(command, id=id)))
        if made:
            self._write(made, is_last=False)
        self._end(compared)

    @asked_again
    def _compared(self, items: list[Item]) -> Compared:
        """What earlier imports brought of the things among these items, compared with them."""
        found, spans = Compared.nothing(), self._spans
        if not spans:
            return found
        try:
            with self._handle.reading() as reads:
                for thing in things(items, spans):
                    compare(found, reads, thing, self._make)
        except NotFound:
            pass  # no memory was created yet
        return found

    def _end(self, compared: Compared) -> None:
        """Ends what is said there no longer."""
        for where, why in compared.kept:
            self._refuse(where, why)
        if self._dry_run or not compared.ends:
            self._count["forgotten"] += len(compared.ends)
            return
        done = self._submit_all(compared.ends)
        for command, outcome in zip(compared.ends, done, strict=True):
            if isinstance(outcome, Outcome):
                self._count["forgotten"] += 1
            elif isinstance(outcome, _REFUSALS):
                self._refuse(command.id.partition("@")[0], outcome.message)
            else:
                raise outcome

    @asked_again
    def _missing(self) -> int:
        with self._handle.reading() as reads:
            return missing(reads, self._format, self._users, self._seen)

    @asked_again
    def _resolved(self, items: list[Item]) -> list[Item]:
        """The parts of graphs under the ids that they have here."""
        if not any(map(is_of_graph, items)):
            return items
        try:
            with self._handle.reading() as reads:
                return [as_here(reads, item) for item in items]
        except NotFound:
            return items  # no memory was created yet

    def _wanted(self, items: list[Item]) -> list[Item]:
        """The items without settings that are here, and episodes that no import brought."""
        if not any(_needs_others(item) for item in items):
            return items
        known = self._known(items)
        for item, is_same in zip(items, known, strict=True):
            if is_same is False:
                self._refuse(item.where, f"{item.id} says something else here")  # type: ignore[union-attr]
            elif is_same and not is_hidden(item):
                self._count["known"] += 1
        return [item for item, is_same in zip(items, known, strict=True) if is_same is None]

    @asked_again
    def _under_known_ids(self, items: list[Item]) -> list[Item]:
        if not any(names_in(item) for item in items):
            return items
        try:
            with self._handle.reading() as reads:
                return under_known_ids(reads, items)
        except NotFound:
            return items  # no memory was created yet

    @asked_again
    def _known(self, items: list[Item]) -> list[bool | None]:
        """Of each item whether it is here, the same (True) or another (False); else None."""
        try:
            with self._handle.reading() as reads:
                return [self._is_known(reads, item) for item in items]
        except NotFound:
            return [None] * len(items)  # no memory was created yet

    def _is_known(self, reads: Reads, item: Item) -> bool | None:
        if isinstance(item, SettingItem):
            return self._is_filled(reads, item) if item.fills else is_same_setting(reads, item)
        if not isinstance(item, GoneItem):
            return None
        row = reads.episode(item.id)
        writer = None if row is None else reads.command_of(row.seq)
        return None if writer is not None and writer.id == self._make.name(item) else True

    def _is_filled(self, reads: Reads, item: SettingItem) -> bool | None:
        """The same for the document of a page, to which only what is missing is added."""
        document, merged = (
            reads.document(*item.id.split("/", 1)),
            import_pages.filled(reads, item),
        )
        for name in import_pages.other_fields(item, merged):
            self._refuse(item.where, f"its {name} is another one here, which stays")
        return True if document and unpack_object(document.data) == merged else None

    def _refuse(self, where: str, why: str) -> None:
        self._count["refused"] += 1
        if len(self._problems) < _PROBLEMS_MAX_COUNT:
            self._problems.append(Refused(where=where, why=why))

    def _command(self, item: Item) -> c.Command | None:
        """What brings an item in; None for an edge that is here as it is there."""
        first = self._make.command(item)
        if not isinstance(item, LinkItem) or item.edge is None:
            return first
        if self._trust == "unverified" or first.actor.user is not None:  # it writes no documents
            if item.data:
                self._refuse(item.where, f"of the edge {item.edge!r} only the link was kept")
            return first
        return self._edge_command(item, first)

    @asked_again
    def _edge_command(self, item: LinkItem, first: c.Command) -> c.Command | None:
        try:
            with self._handle.reading() as reads:
                return edge_command(reads, item, first)
        except NotFound:  # no memory was created yet
            return first

    # What became of a command.

    def _write(self, some: list[tuple[Item, c.Command]], *, is_last: bool) -> None:
        if self._dry_run:
            self._would_write(some, is_last=is_last)
            return
        commands = [command for _, command in some]
        outcomes = self._submit_all(commands)
        again: list[tuple[Item, c.Command, Conflict]] = []
        for (item, command), outcome in zip(some, outcomes, strict=True):
            if isinstance(outcome, Outcome):
                self._settle(item, outcome, "changed" if is_change(item, command) else "kept")
            elif isinstance(outcome, NotFound) and self._may_wait(item, is_last):
                self._late.append((item, command))
            elif isinstance(outcome, Conflict):
                again.append((item, command, outcome))
            else:
                self._refused(item, outcome)
        if again:
            self._write_changes(self._known_here(again))

    def _submit_all(self, commands: list[c.Command]) -> list[Outcome | RecollectError]:
        outcomes = self._handle.space.submit_all(commands, _outcome)
        self._handle.writes += len(commands)
        done = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
        events = sum(one.last - one.first + 1 for one in done if not one.repeated)
        self._handle.due.after(max((one.last for one in done), default=0), events)
        return outcomes

    def _settle(self, item: Item, outcome: Outcome, word: str = "kept") -> None:
        if outcome.repeated or outcome.last < outcome.first:
            self._count["known"] += 0 if is_hidden(item) else 1
            return
        if is_hidden(item):
            return  # its episode was counted
        if isinstance(item, RecordItem) and item.id in self._replacing:
            word = "changed"
        is_gone = isinstance(item, RecordItem) and item.status == "forgotten" and word == "changed"
        self._count["forgotten" if is_gone else word] += 1
        if word == "kept":
            self._count[type(item).__name__] += 1

    def _may_wait(self, item: Item, is_last: bool) -> bool:
        waits = isinstance(item, LinkItem) or getattr(item, "replaces", None) is not None
        return waits and not is_last and len(self._late) < _LATE_MAX_COUNT

    def _refused(self, item: Item, error: RecollectError) -> None:
        if isinstance(error, NotFound) and _may_be_missing(item):
            self.left_out[_WAITING] += isinstance(item, LinkItem)
            return
        if not isinstance(error, _REFUSALS):
            raise error
        self._refuse(item.where, error.message)

    def _known_here(self, some: list[tuple[Item, c.Command, Conflict]]) -> list[Item]:
        """The items that came in before; the conflicts of the others are reported."""
        known = self._ids_known([(item, command) for item, command, _ in some])
        for (item, _, error), is_known in zip(some, known, strict=True):
            if not is_known:
                self._refused(item, error)
        return [item for (item, _, _), is_known in zip(some, known, strict=True) if is_known]

    @asked_again
    def _ids_known(self, some: list[tuple[Item, c.Command]]) -> list[bool]:
        with self._handle.reading() as reads:
            return [
                reads.command(command.id) is not None
                or (isinstance(item, RecordItem) and reads.has_version(item.id))
                for item, command in some
            ]

    def _write_changes(self, items: list[Item]) -> None:
        """Items whose command exists with other content: changed there since, or erased here."""
        refused = self._count["refused"]
        changed = self._changed(items)
        refused = self._count["refused"] - refused
        self._count["known"] += len(items) - len(changed) - refused
        outcomes = self._submit_all([command for _, command in changed])
        for (item, _), outcome in zip(changed, outcomes, strict=True):
            if isinstance(outcome, Outcome):
                self._settle(item, outcome, "changed")
            else:
                self._refused(item, outcome)

    @asked_again
    def _changed(self, items: list[Item]) -> list[tuple[Item, c.Command]]:
        with self._handle.reading() as reads:
            found = [(item, up_to_date(reads, item, self._make, self._said)) for item in items]
        made: list[tuple[Item, c.Command]] = []
        for item, one in found:
            if isinstance(one, str):
                self._refuse(item.where, one)
            elif one is not None:
                made.append((item, one))
        return made

    def _would_write(self, some: list[tuple[Item, c.Command]], *, is_last: bool) -> None:
        unclear: list[Item] = []
        for (item, command), (marks, error) in zip(some, self._foreseen(some), strict=True):
            if isinstance(item, GoneItem):
                continue
            if marks is None and isinstance(item, RecordItem) and item.id in self._replacing:
                self._count["changed"] += 1
            elif marks is None and error is not None and not is_last:
                self._late.append((item, command))  # what it joins may come later
            elif marks is None and error is not None:
                self._refused(item, error)
            elif marks is None:
                self._count["kept"] += 1
                self._count[type(item).__name__] += 1
            elif same_command(marks, command) and not isinstance(item, RecordItem):
                self._count["known"] += 1
            else:
                unclear.append(item)
        refused = self._count["refused"]
        changed = len(self._changed(unclear)) if unclear else 0
        refused = self._count["refused"] - refused
        self._count["changed"] += changed
        self._count["known"] += len(unclear) - changed - refused

    @asked_again
    def _foreseen(
        self, some: list[tuple[Item, c.Command]]
    ) -> list[tuple[str | None, NotFound | None]]:
        """Of each command its marks, if it happened, and which record is missing for it."""
        try:
            with self._handle.reading() as reads:
                rows = [reads.command(command.id) for _, command in some]
                marks = [None if row is None else row.marks for row in rows]
                return [
                    (one, self._missing_for(item, reads.has_version))
                    for (item, _), one in zip(some, marks, strict=True)
                ]
        except NotFound:  # no memory was created yet
            return [(None, self._missing_for(item, lambda id: False)) for item, _ in some]

    def _missing_for(self, item: Item, is_here: Callable[[str], bool]) -> NotFound | None:
        if isinstance(item, LinkItem):
            for end in (item.source, item.target):
                if hash(end) not in self._seen and not is_here(end):
                    return NotFound(f"record {end!r} was not found")
        return None


def _outcome(reads: Reads, outcome: Outcome) -> Outcome | Conflict:
    """The outcome, or a conflict if the record was changed after the command that is repeated."""
    rows = [reads.version(id) for id in outcome.subjects] if outcome.repeated else []
    if any(row is not None and row.seq > outcome.last for row in rows):
        return Conflict("it was changed since")
    return outcome


def _may_be_missing(item: Item) -> bool:
    """True for a hidden episode that was never imported, and a link to a note nobody wrote."""
    return isinstance(item, GoneItem) or (isinstance(item, LinkItem) and item.may_dangle)


def _needs_others(item: Item) -> bool:
    """True if what came before must be written first: it is looked at."""
    is_edge = isinstance(item, LinkItem) and item.edge is not None
    return is_edge or isinstance(item, SettingItem) or is_hidden(item)
