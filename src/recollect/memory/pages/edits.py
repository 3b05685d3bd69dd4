"""Hand edits on pages become events, or proposals for a program that watches a folder.

Responsible for applying what ``memory.pages.sync`` found: one command for each entry, which expects
that its record has not changed since it was compared; and for asking a person once about each edit.
Leaves rendering to ``memory.pages`` and deciding proposals to ``memory.review``. Invariants: a
proposal has no trust, so nothing that a file says is believed before a person has approved it; the
same edit is proposed once, also after it was rejected; a conflict is applied only if a side was
taken; what is applied is what was compared; a file is given up to rendering only if the memory says
everything that it says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from msgspec import UNSET, structs

from recollect.errors import Changed, Forbidden, InvalidInput, RecollectError
from recollect.index.proposals import ProposalRow
from recollect.index.reads import Reads
from recollect.index.rows import DocumentRow, document_id, pack_object, unpack_object
from recollect.index.selections import proposals_about
from recollect.lifecycle import commands as c
from recollect.lifecycle.commands import Propose
from recollect.memory.handle import acts, answers
from recollect.memory.handle.handle import Handle
from recollect.memory.pages.adoption import adopt
from recollect.memory.pages.page_care import checked_line, checked_tags, flag_long
from recollect.memory.pages.sync import Comparison, FilePlan, document_at, flag_at, shown
from recollect.memory.review import proposal_act
from recollect.mirror.merge import FIELDS
from recollect.mirror.names import DOCUMENT, FLAG, document_name
from recollect.mirror.page import Page
from recollect.model import validate
from recollect.model.events import Intent
from recollect.model.instants import dated
from recollect.model.record_fields import RecordFields
from recollect.model.validate import Json
from recollect.model.values import PageChange, Refusal, Rendered, Suggestion, Synced

Side = Literal["page", "memory"]
Take = Side | Mapping[str, Side] | None
Unknown = Literal["leave", "adopt", "aside"]
_TRIES: Final = 3  # another process may write in between
_BUSY: Final = "the memory changed while this was taken over; run sync again"
_INTENTS: Final[dict[str, Intent]] = {"text": "update", "struck": "delete", "added": "add"}
_WAITING_MAX_COUNT: Final = 1_000
_NEEDS_SYNC: Final = "only `recollect pages sync` can take this over"


class Applied(NamedTuple):
    """What became of the changes, and the files as they were compared last."""

    done: tuple[PageChange, ...]
    sent: frozenset[str]  # what was submitted without an error
    refused: tuple[Refusal, ...]
    files: list[FilePlan]
    settled: dict[str, str]  # files that the memory can give back, by their digests


def checked_take(take: Take) -> Callable[[PageChange], Side | None]:
    """Which side is taken in a conflict."""
    given = take.values() if isinstance(take, Mapping) else () if take is None else (take,)
    for side in given:
        if side not in ("page", "memory"):
            raise InvalidInput(f"take must be page or memory, not {side!r}")
    if isinstance(take, Mapping):
        return lambda change: take.get(change.ref)
    return lambda change: take


def _check_refs(take: Take, files: Iterable[FilePlan]) -> None:
    """Refuses a side for a change that is not there: its name may be misspelled."""
    refs = {change.ref for file in files for change in file.changes}
    unknown = [ref for ref in take if ref not in refs] if isinstance(take, Mapping) else []
    if unknown:
        raise InvalidInput(
            f"take names {validate.shown(unknown[0])}, but no change has this ref",
            hint="`pages.changes()` lists every change with its ref",
        )


class Applying:
    """One run over the changes of a folder."""

    def __init__(
        self, handle: Handle, folder: Path, side: Callable[[PageChange], Side | None]
    ) -> None:
        self._handle = handle
        self._folder = folder
        self._side = side
        self._done: dict[str, PageChange] = {}  # also what a person has still to review
        self._refused: dict[str, Refusal] = {}

    def run(self, first: list[FilePlan], again: Callable[[], list[FilePlan]]) -> Applied:
        """Applies what can be applied; what changed meanwhile is compared once more."""
        shown = {change.ref: change for file in first for change in file.changes}
        digests = {file.name: file.digest for file in first}
        files = first
        for _ in range(_TRIES):
            todo = self._todo(files, shown, digests)
            if not any(changes for _, changes in todo):
                break
            for file, changes in todo:
                self._file(file, changes)
            files = again()
        for _, changes in self._todo(files, shown, digests):
            self._refused |= {one.ref: Refusal(change=one, reason=_BUSY) for one in changes}
        left = {change.ref for file in files for change in file.changes}
        done = tuple(change for ref, change in self._done.items() if ref not in left)
        settled = {
            file.name: file.digest
            for file in files
            if digests.get(file.name) == file.digest
            and not file.is_kept
            and all(self._is_given_up(one, shown) for one in file.changes)
        }
        return Applied(done, frozenset(self._done), tuple(self._refused.values()), files, settled)

    def _todo(
        self, files: list[FilePlan], shown: Mapping[str, PageChange], digests: Mapping[str, str]
    ) -> list[tuple[FilePlan, list[PageChange]]]:
        """What is still to be applied, of files that are as they were shown."""
        return [
            (file, [one for one in file.changes if self._is_wanted(one, shown)])
            for file in files
            if digests.get(file.name) == file.digest
        ]

    def _is_wanted(self, change: PageChange, shown: Mapping[str, PageChange]) -> bool:
        """True if a change is to be applied, and is one that was shown."""
        if change.ref in self._done or change.ref in self._refused or change.ref not in shown:
            return False
        if (change.before, change.after) != (shown[change.ref].before, shown[change.ref].after):
            return False
        return change.state == "ready" or (
            change.state == "conflict" and self._side(change) == "page"
        )

    def _is_given_up(self, change: PageChange, shown: Mapping[str, PageChange]) -> bool:
        """True if a person chose what the memory says, as it was shown."""
        same = change.ref in shown and change.now == shown[change.ref].now
        return same and change.state == "conflict" and self._side(change) == "memory"

    def _file(self, file: FilePlan, changes: list[PageChange]) -> None:
        fields = [change for change in changes if change.field is not None]
        if fields:
            self._submit(fields, partial(self._document, file.page, fields))
        groups: dict[str, list[PageChange]] = {}
        for change in changes:
            if change.what in ("added", "replaced"):
                self._submit([change], partial(self._added, file, change), self._key(file, change))
            elif change.field is None:
                groups.setdefault(change.id or "", []).append(change)
        # What is struck first: it may hold the key of an entry that is restored.
        for group in sorted(groups.values(), key=lambda group: group[-1].what != "struck"):
            self._submit(group, partial(self._entry, file, group))

    def _submit(
        self,
        changes: list[PageChange],
        make: Callable[[], tuple[tuple[c.Act, ...], c.Expect | None]],
        key: str | None = None,
    ) -> None:
        try:
            made, expect = make()
            self._handle.write(made, answers.nothing, key, expect)
        except Changed:
            return  # compared again
        except RecollectError as error:
            for change in changes:
                self._refused[change.ref] = Refusal(change=change, reason=str(error))
            return
        self._done |= {change.ref: change for change in changes}

    def _key(self, file: FilePlan, change: PageChange) -> str | None:
        """The same for everyone who takes over the same save of a file: an entry is added once.

        Nothing of the text is in it: a key stays in the ledger when its record is erased, and a
        guess of the text could be tested with it.
        """
        if change.what != "added" or change.state != "ready":
            return None
        try:
            seen = os.lstat(self._folder / file.name)
        except OSError:
            return None  # removed a moment ago
        actor = self._handle.actor
        parts = (seen.st_ino, seen.st_mtime_ns, change.ref, actor.trust, actor.user)
        return f"page-{sha256(repr(parts).encode()).hexdigest()}"

    def _entry(
        self, file: FilePlan, changes: list[PageChange]
    ) -> tuple[tuple[c.Act, ...], c.Expect | None]:
        """Everything about one record, in an order that the memory accepts."""
        by: dict[str, PageChange] = {change.what: change for change in changes}
        id, reason = changes[0].id or "", f"edited on {file.name}"
        made: list[c.Act] = []
        is_gone = any(change.now.startswith("(") for change in changes)
        if "unstruck" in by or (is_gone and changes[0].state == "conflict"):
            made.append(acts.restore(id))
        if {"text", "moved", "dated"} & by.keys():
            made.append(self._revise(id, by, file.about, reason))
        if "tags" in by:
            made.append(acts.tag(id, by["tags"].add, by["tags"].remove))
        if "struck" in by:
            made.append(self._handle.acts.strike(id, reason, files=self._handle.files))
        return tuple(made), (id, changes[0].seq)

    def _revise(
        self, id: str, by: Mapping[str, PageChange], about: str | None, reason: str
    ) -> c.Revise:
        date = dated(by["dated"].said_at or "") if "dated" in by else UNSET
        place = about if "moved" in by else UNSET
        if "text" not in by:
            return c.Revise(id=id, about=place, said_at=date, reason=reason)
        act = self._handle.acts.revise(
            id,
            by["text"].after,
            reason=reason,
            evidence=(),
            data=None,
            expires=UNSET,
            files=self._handle.files,
        )
        return structs.replace(act, about=place, said_at=date)

    def _added(
        self, file: FilePlan, change: PageChange
    ) -> tuple[tuple[c.Act, ...], c.Expect | None]:
        make = self._handle.acts.remember
        fields: RecordFields = {"about": file.about, "tags": change.add}
        if change.said_at is not None:
            fields["said_at"] = change.said_at
        if change.id is None:
            return (structs.replace(make(change.after, fields), fresh=True),), None
        fields |= {"replaces": change.id, "tags": change.add or None}
        fields["reason"] = f"edited on {file.name}"
        return (make(change.after, fields, files=self._handle.files),), (change.id, change.seq)

    def _document(
        self, page: Page, changes: list[PageChange]
    ) -> tuple[tuple[c.Act, ...], c.Expect | None]:
        """The page's document with the fields that were changed."""
        name = document_name(page.name)
        old = next((one.before for one in changes if one.what == "moved"), None)
        with self._handle.reading() as reads:
            row = document_at(reads, page.name)
            before = None if old is None else document_at(reads, old)
            flag = flag_at(reads, page.name)
            moved = None if old is None else flag_at(reads, old)
        data: dict[str, Json] = {}
        for one in (before, row):
            data |= {} if one is None else unpack_object(one.data)
        fields = [one.field for one in changes if one.what == "field" and one.field is not None]
        data |= {field: _value(page, field) for field in fields}
        expect = None if row is None else (document_id(DOCUMENT, name), row.seq)
        if any((0 if row is None else row.seq) != one.seq for one in changes):
            raise Changed(f"the description of {page.name} has changed")
        made: list[c.Act] = []
        if fields or before is not None:
            made.append(c.SetDocument(type=DOCUMENT, name=name, data=_checked(data)))
        if before is not None:
            made.append(c.DropDocument(type=DOCUMENT, name=before.name))
        is_unflagged = "needs_compact" in fields and not page.needs_compact
        made += _flagging(name, flag, moved, is_unflagged)
        return tuple(made), expect


def _flagging(
    name: str, flag: DocumentRow | None, moved: DocumentRow | None, is_unflagged: bool
) -> Iterator[c.Act]:
    """A flag is taken off a page, or follows it to its new name."""
    if flag is not None and is_unflagged:
        yield c.DropDocument(type=FLAG, name=name)
    if moved is not None:
        if flag is None and not is_unflagged:
            yield c.SetDocument(type=FLAG, name=name, data=unpack_object(moved.data))
        yield c.DropDocument(type=FLAG, name=moved.name)


def _checked(data: dict[str, Json]) -> dict[str, Json]:
    return validate.data(data, "what the page says about itself")


def _value(page: Page, field: str) -> Json:
    """A field of a page as its document holds it."""
    if field not in FIELDS:
        raise InvalidInput(f"a page has no field {field!r}")
    if field in ("title", "description", "created"):
        return checked_line(getattr(page, field), field)
    if field == "tags":
        return checked_tags(page.tags)
    value = getattr(page, field)
    return list(value) if isinstance(value, tuple) else value


def waiting(files: Iterable[FilePlan], done: Iterable[str]) -> tuple[PageChange, ...]:
    """The changes that a person has still to review."""
    sent = set(done)
    return tuple(
        change
        for file in files
        for change in file.changes
        if change.state == "waits" or change.ref in sent
    )


def proposed(
    folder: Comparison, render: Callable[[Mapping[str, str], Collection[str]], Rendered]
) -> Synced:
    """Asks a person about what was changed in a folder, then renders what is decided."""
    files, asking = folder.files(), Proposing(folder.handle)
    asking.run(files)
    changes = [change for file in files for change in file.changes]
    settled = {file.name: file.digest for file in files if file.is_settled}
    return Synced(
        folder=str(folder.folder),
        applied=(),
        waiting=(*asking.waiting, *(one for one in changes if one.state == "waits")),
        conflicts=tuple(one for one in changes if one.state == "conflict"),
        refused=tuple(asking.left),
        problems=tuple(problem for file in files for problem in file.problems),
        rendered=render(settled, ()),
    )


def synced(
    folder: Comparison,
    take: Take,
    expect: str | None,
    unknown: Unknown,
    render: Callable[[Mapping[str, str], Collection[str]], Rendered],
) -> Synced:
    """Takes over what a person changed in a folder, then renders."""
    side, first = checked_take(take), folder.files()
    if unknown not in get_args(Unknown):
        raise InvalidInput(f"unknown must be one of {', '.join(get_args(Unknown))}")
    if expect is not None and shown(folder.folder, first).digest != expect:
        raise Changed("the pages have changed since they were shown", hint="look at them again")
    _check_refs(take, first)
    adopted, refused = list[str](), list[Refusal]()
    strange = {file.name: file.digest for file in first if file.unknown}
    if unknown == "adopt" and strange:
        adopted, refused = adopt(folder.handle, first)
        seen = {file.name: file.digest for file in first}
        folder.foreign = {file.name for file in first if file.is_foreign}
        first = [file for file in folder.files() if seen.get(file.name) == file.digest]
    applied = Applying(folder.handle, folder.folder, side).run(first, folder.files)
    changes = [change for file in applied.files for change in file.changes]
    with suppress(Forbidden):  # an edit may have made a page too long; others flag it then
        flag_long(folder.handle, lambda reads: folder.pages(reads, None))
    return Synced(
        folder=str(folder.folder),
        applied=applied.done,
        waiting=waiting(applied.files, applied.sent),
        conflicts=tuple(one for one in changes if one.state == "conflict" and side(one) is None),
        refused=(*refused, *applied.refused),
        problems=tuple(problem for file in applied.files for problem in file.problems),
        rendered=render(applied.settled, strange if unknown == "aside" else ()),
        adopted=tuple(adopted),
        unknown=sum(len(file.unknown) for file in applied.files),
    )


class Proposing:
    """Asks about the changes of a folder."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle.narrowed(structs.replace(handle.actor, trust="unverified"))
        self.waiting: list[PageChange] = []
        self.left: list[Refusal] = []

    def run(self, files: list[FilePlan]) -> None:
        """Proposes what was not proposed before."""
        for file in files:
            for change in file.changes:
                if change.state == "ready":
                    self._ask(file, change)

    def _ask(self, file: FilePlan, change: PageChange) -> None:
        intent = _INTENTS.get(change.what)
        if intent is None or change.said_at is not None:  # no proposal says when
            self.left.append(Refusal(change=change, reason=_NEEDS_SYNC))
            return
        try:
            wanted = Suggestion(
                intent=intent,
                quotes=(),
                target=change.id,
                text=None if intent == "delete" else change.after,
                about=file.about if intent == "add" else None,
                reason=f"edited on {file.name}",
            )
            act = proposal_act(self._handle.acts, wanted, ())
            if change.what == "struck":  # as a sync does it: the entry stays, struck through
                act = structs.replace(act, why="rejected")
            earlier = self._earlier(act)
            if earlier is not None and earlier.outcome == "rejected":
                said = f"it was rejected ({earlier.id}); {_NEEDS_SYNC}"
                self.left.append(Refusal(change=change, reason=said))
                return
            if earlier is None or earlier.outcome is not None:
                self._handle.write((act,), answers.nothing)
        except RecollectError as error:
            self.left.append(Refusal(change=change, reason=str(error)))
            return
        self.waiting.append(structs.replace(change, state="waits"))

    def _earlier(self, act: Propose) -> ProposalRow | None:
        """The last proposal that asked for exactly this."""
        with self._handle.reading() as reads:
            ids = _about_record(reads, act.target) if act.target else self._additions(reads, act)
            rows = [row for row in map(reads.proposal, ids) if row is not None]
        how = pack_object({} if act.why is None else {"why": act.why})
        wanted = (act.intent, act.target, act.text, act.about, how)
        same = [
            row
            for row in rows
            if (row.intent, row.target, row.text, row.about, row.changes) == wanted
        ]
        return max(same, key=lambda row: row.seq, default=None)

    def _additions(self, reads: Reads, act: Propose) -> list[str]:
        user = self._handle.actor.user
        if act.about is not None:
            return proposals_about(reads, act.about, user)
        waiting = reads.waiting(user, 0, _WAITING_MAX_COUNT)
        return [id for unit, id, _ in waiting if unit == "proposal"]


def _about_record(reads: Reads, id: str) -> list[str]:
    """Every proposal about a record, in any state."""
    found = (
        reads.db.one("proposal_of_event", {"seq": seq}) for seq in reads.proposal_events(id, None)
    )
    return [str(row[0]) for row in found if row is not None]
