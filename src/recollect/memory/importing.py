"""An import: what another program knew becomes records, episodes and links.

Responsible for storing what an importer found: each item is one command named after its id, many in
one append. Leaves formats to ``exchange`` and files to ``memory.import_files``. Invariants: an item
is stored once for the life of the ledger, and one that was forgotten or erased here does not come
back; redacted text is never hashed; nothing is written with more than an agent's trust.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

import msgspec

from recollect.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RecollectError,
)
from recollect.exchange.cleaning import Cleaning
from recollect.exchange.formats import HEAD_BYTES, Format, format_named, listed, recognized
from recollect.exchange.items import (
    Chain,
    EpisodeItem,
    Found,
    GoneItem,
    Item,
    LinkItem,
    RecordItem,
    SettingItem,
    State,
    Trouble,
)
from recollect.index.reads import Reads
from recollect.index.rows import unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.marks import same_command
from recollect.lifecycle.vouching import may_alter
from recollect.memory import acts
from recollect.memory.handle import Handle
from recollect.memory.healing import asked_again
from recollect.memory.import_changes import change_of, is_torn, last_said
from recollect.memory.import_files import FileSource, files_at
from recollect.memory.import_own import (
    fields_of,
    is_same_setting,
    link_acts,
    record_acts,
    setting_acts,
)
from recollect.memory.import_pages import (
    as_here,
    earlier_id,
    filled,
    other_fields,
    takes_over,
    whole,
)
from recollect.model.events import Archival, Trust
from recollect.model.rules import lowest
from recollect.model.values.exchange import Checked, Imported, Refused
from recollect.store.port import Outcome, Progress

_AT_ONCE: Final = 1_000  # items in one append
_AT_ONCE_MAX_CHARS: Final = 4_000_000
_LATE_MAX_COUNT: Final = 100_000  # links and successors that wait for what they name
_PROBLEMS_MAX_COUNT: Final = 100
_RECOGNIZED_BY: Final = 64  # files that are looked into
_REFUSALS: Final = (Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound)
_TOLD: Final = (RecordItem, EpisodeItem)
_LIVE: Final = ("active", "held", "inbox")


def run_import(
    handle: Handle,
    path: Path,
    format: str | None,
    *,
    hold: bool,
    dry_run: bool,
    progress: Progress | None,
) -> Imported:
    """Imports a file, a folder or an archive."""
    handle.require_now()
    chosen = None if format is None else format_named(format)
    read = 0
    total = 0

    def tick(count: int) -> None:
        nonlocal read
        read += count
        if progress is not None:
            progress(min(read, total), total)

    files = files_at(path, tick)
    total = sum(file.size for file in files)
    chosen = chosen or _recognized(path, files)
    importing = Importing(handle, chosen.name, hold=hold, dry_run=dry_run)
    importing.take(chosen.read(files))
    return importing.report(str(path))


def _recognized(path: Path, files: list[FileSource]) -> Format:
    heads = [(file.name, file.head(HEAD_BYTES)) for file in files[:_RECOGNIZED_BY]]
    found = recognized(heads)
    if found is None:
        raise InvalidInput(f"the format of {path} was not recognized", hint=f"name it: {listed()}")
    return found


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
        self._some: list[Item] = []
        self._chars = 0
        self._late: list[tuple[Item, c.Command]] = []
        self._count: Counter[str] = Counter()
        self._cleaning = Cleaning()
        self._problems: list[Refused] = []
        self._chains: list[Checked] = []

    def take(self, found: Iterable[Found]) -> None:
        """Stores everything that an importer finds."""
        for one in found:
            self._add(one)
        self._flush()
        late, self._late = self._late, []
        for start in range(0, len(late), _AT_ONCE):
            self._write(late[start : start + _AT_ONCE], is_last=True)

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
            records=count["RecordItem"],
            episodes=count["EpisodeItem"],
            links=count["LinkItem"],
            held=self._trust == "unverified",
            dry_run=self._dry_run,
            redacted=dict(sorted(self._cleaning.redacted.items())),
            chains=tuple(self._chains),
            problems=tuple(self._problems),
        )

    def _add(self, found: Found) -> None:
        if isinstance(found, Trouble):
            self._refuse(found.where, found.why)
        elif isinstance(found, Chain):
            self._chains.append(msgspec.convert(msgspec.to_builtins(found), Checked))
        else:
            if self._some and type(found) is not type(self._some[-1]) and _needs_others(found):
                self._flush()
            self._some.append(found)
            self._chars += len(found.text) if isinstance(found, _TOLD) else 0
            if len(self._some) >= _AT_ONCE or self._chars >= _AT_ONCE_MAX_CHARS:
                self._flush()

    def _flush(self) -> None:
        """Stores what was collected, in one append."""
        some, self._some, self._chars = self._some, [], 0
        made: list[tuple[Item, c.Command]] = []
        for found in self._wanted(as_here(self._handle, self._cleaning.clean(some))):
            try:
                made.append((found, self._command(found)))
            except _REFUSALS as error:
                self._refuse(found.where, error.message)
        if made:
            self._write(made, is_last=False)

    def _wanted(self, items: list[Item]) -> list[Item]:
        """The items without settings that are here, and episodes that no import brought."""
        if not any(_needs_others(item) for item in items):
            return items
        known = self._known(items)
        for item, is_same in zip(items, known, strict=True):
            if is_same is False:
                self._refuse(item.where, f"{item.id} says something else here")  # type: ignore[union-attr]
            elif is_same and not _is_hidden(item):
                self._count["known"] += 1
        return [item for item, is_same in zip(items, known, strict=True) if is_same is None]

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
        if not isinstance(item, GoneItem) or item.state is None:
            return None
        row = reads.episode(item.id)
        writer = None if row is None else reads.command_of(row.seq)
        return None if writer is not None and writer.id == self._name(item) else True

    def _is_filled(self, reads: Reads, item: SettingItem) -> bool | None:
        """The same for the document of a page, to which only what is missing is added."""
        document, merged = reads.document(*item.id.split("/", 1)), filled(reads, item)
        for name in other_fields(item, merged):
            self._refuse(item.where, f"its {name} is another one here, which stays")
        return True if document and unpack_object(document.data) == merged else None

    def _refuse(self, where: str, why: str) -> None:
        self._count["refused"] += 1
        if len(self._problems) < _PROBLEMS_MAX_COUNT:
            self._problems.append(Refused(where=where, why=why))

    # From an item to a command.

    def _actor(self, item: Item) -> c.Actor:
        mine = self._handle.actor
        if mine.user is not None and item.user not in (None, mine.user):
            raise Forbidden(f"it belongs to the user {item.user!r}, this handle to {mine.user!r}")
        session = agent = tz_minutes = None
        if isinstance(item, _TOLD):
            session, agent = item.session, item.agent
        if isinstance(item, RecordItem):
            tz_minutes = item.tz_minutes
        trust = self._trust
        state = _state(item)
        if isinstance(item, EpisodeItem) and state is not None:
            trust = lowest([trust, state.trust])
        return c.Actor(
            trust=trust,
            user=mine.user or item.user,
            session=mine.session or session,
            agent=mine.agent or agent or (self._format if state is None else None),
            tz_minutes=mine.tz_minutes if tz_minutes is None else tz_minutes,
        )

    def _name(self, item: Item) -> str:
        """What the command of an item is known by. A foreign id begins with its format."""
        if isinstance(item, LinkItem):
            key = _digest([item.source, item.target, item.kind, item.user])
            return f"{self._format}-link-{key}"
        if isinstance(item, SettingItem):
            what = [item.data] if item.fills else []
            return f"{self._format}-setting-{_digest([item.is_frame, item.id, *what])}"
        if isinstance(item, RecordItem) and item.id == earlier_id(item):
            return item.id
        own = None if item.state is None else f"{self._format}-{_digest(item.id)}"
        return own or item.id

    def _command(self, item: Item) -> c.Command:
        name = f"{self._name(item)}@gone" if isinstance(item, GoneItem) else self._name(item)
        return c.Command(id=name, actor=self._actor(item), acts=self._acts(item), named=True)

    def _acts(self, item: Item) -> tuple[c.Act, ...]:
        make = self._handle.acts
        if isinstance(item, SettingItem):
            return setting_acts(whole(self._handle, item) if item.fills else item, self._position())
        if isinstance(item, GoneItem):
            forget = make.forget(item.id, "keep", f"deleted in {self._format}")
            if item.state is not None:
                is_shadowed = item.state.status == "shadowed" or msgspec.UNSET
                forget = msgspec.structs.replace(forget, reason=None, visible=is_shadowed)
            return (forget,)
        if isinstance(item, LinkItem):
            if item.state is not None:
                return link_acts(item, item.state)
            return (acts.link(item.source, item.target, item.kind, item.weight),)
        if isinstance(item, EpisodeItem):
            observed = make.observe(
                item.text,
                role=item.role,
                session=None,
                said_at=item.said_at,
                metadata=item.metadata,
                id=item.id,
            )
            return tuple(observed)
        if item.state is not None and not self._takes_over(item, item.state):
            return record_acts(make, item, item.state)
        return self._remember(item)

    def _takes_over(self, item: RecordItem, state: State) -> bool:
        before = item.supersedes or ""
        own = f"{self._format}-{_digest(before)}"  # one of an earlier release is the id itself
        names = (own, before) if before.startswith(f"{self._format}-") else (own,)
        return takes_over(self._handle, item, state, names)

    def _position(self) -> int:
        try:
            return self._handle.space.head().seq
        except NotFound:
            return 0  # no memory was created yet

    def _remember(self, item: RecordItem) -> tuple[c.Act, ...]:
        fields = fields_of(item)
        fields["source_type"] = item.source_type or "imported"
        fields["supersedes"] = None if self._trust == "unverified" else item.supersedes
        is_fresh = fields["supersedes"] is None
        act = self._handle.acts.remember(item.text, fields, fresh=is_fresh)
        if item.status == "inbox":
            act = msgspec.structs.replace(act, status="inbox")
        if item.status in ("active", "inbox") or self._trust == "unverified":
            return (act,)
        return act, c.Archive(id=item.id, why=cast(Archival, item.status))

    # What became of a command.

    def _write(self, some: list[tuple[Item, c.Command]], *, is_last: bool) -> None:
        if self._dry_run:
            self._would_write(some)
            return
        commands = [command for _, command in some]
        outcomes = self._submit_all(commands)
        again: list[tuple[Item, c.Command, Conflict]] = []
        for (item, command), outcome in zip(some, outcomes, strict=True):
            if isinstance(outcome, Outcome):
                self._settle(item, outcome)
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
            self._count["known"] += 0 if _is_hidden(item) else 1
            return
        if _is_hidden(item):
            return  # its episode was counted
        self._count["forgotten" if isinstance(item, GoneItem) else word] += 1
        if word == "kept":
            self._count[type(item).__name__] += 1

    def _may_wait(self, item: Item, is_last: bool) -> bool:
        waits = isinstance(item, LinkItem) or getattr(item, "supersedes", None) is not None
        return waits and not is_last and len(self._late) < _LATE_MAX_COUNT

    def _refused(self, item: Item, error: RecollectError) -> None:
        if isinstance(error, NotFound) and _may_be_missing(item):
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
            found = [(item, self._change(reads, item)) for item in items]
        return [(item, command) for item, command in found if command is not None]

    def _change(self, reads: Reads, item: Item) -> c.Command | None:
        """The command that brings a record up to what it says elsewhere; None if it stays."""
        row = reads.version(item.id) if isinstance(item, RecordItem) else None
        if not isinstance(item, RecordItem) or row is None or row.status not in _LIVE:
            return None
        actor = self._actor(item)
        if not self._handle.may_see(row):
            return None
        base = last_said(reads, item.id, self._name(item))
        if base is None:
            if not any(version.text == item.text for version in reads.versions(item.id)):
                self._refuse(item.where, f"{item.id} has another text there; the one here stays")
            elif item.earlier_id and item.status not in _LIVE:
                self._refuse(item.where, f"{item.id} does not hold there any more; here it does")
            return None  # it has the text of there, or had it before it was changed here
        if is_torn(base, row, item):
            self._refuse(item.where, f"{item.id} was changed both there and here")
            return None
        is_held, reason = self._trust == "unverified", f"changed in {self._format}"
        make = self._handle.acts
        made = change_of(make, base, row, item, is_held=is_held, reason=reason)
        if made and not may_alter(reads, actor, row):
            self._refuse(item.where, f"a person has changed {item.id} here")
            return None
        # What is brought up to date depends on the record, so its position is in the name.
        name = f"{self._name(item)}@{_digest([row.seq, msgspec.to_builtins(item)])[:16]}"
        return c.Command(id=name, actor=actor, acts=made, named=True) if made else None

    def _would_write(self, some: list[tuple[Item, c.Command]]) -> None:
        unclear: list[Item] = []
        for (item, command), marks in zip(some, self._marks(some), strict=True):
            if isinstance(item, GoneItem):
                continue
            if marks is None:
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
    def _marks(self, some: list[tuple[Item, c.Command]]) -> list[str | None]:
        try:
            with self._handle.reading() as reads:
                rows = [reads.command(command.id) for _, command in some]
                return [None if row is None else row.marks for row in rows]
        except NotFound:
            return [None] * len(some)  # no memory was created yet


def _outcome(reads: Reads, outcome: Outcome) -> Outcome | Conflict:
    """The outcome, or a conflict if the record was changed after the command that is repeated."""
    rows = [reads.version(id) for id in outcome.subjects] if outcome.repeated else []
    if any(row is not None and row.seq > outcome.last for row in rows):
        return Conflict("it was changed since")
    return outcome


def _state(item: Item) -> State | None:
    return None if isinstance(item, SettingItem) else item.state


def _may_be_missing(item: Item) -> bool:
    """True for something deleted that was never imported, and a link to a note nobody wrote."""
    return isinstance(item, GoneItem) or (isinstance(item, LinkItem) and item.may_dangle)


def _is_hidden(item: Item) -> bool:
    """True for an episode that another memory of ours had hidden."""
    return isinstance(item, GoneItem) and item.state is not None


def _needs_others(item: Item) -> bool:
    """True if what came before must be written first: a rule has looked at all of it."""
    return isinstance(item, SettingItem) or _is_hidden(item)


def _digest(value: object) -> str:
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]
