"""``MemoryFiles``: a memory as a folder of Markdown files.

Responsible for the calls that create, write, read and search files, for the ids of entries and for
naming the files that cleaning leaves. Leaves checks of names and tags to ``checks``, and what is on
a page to the memory. Invariants: the ledger is the truth, and the
files show it; a write is durable, and its file is written, when the call returns; what a person
changed in a file is never overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hashlib import blake2s
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

import msgspec

from recollect.config import FOLDER, load
from recollect.contracts.pages import checks
from recollect.contracts.pages.reads import contents_of, file_of, hits_of, read_page, rebuilt_of
from recollect.contracts.pages.values import Contents, IndexRebuilt, MemoryFile, SearchHit
from recollect.contracts.pages.writer import CONFIG, SCHEMA, apply_knobs, read_knobs
from recollect.errors import Changed, ConfigError, Conflict, NotFound, RecollectError
from recollect.lifecycle.commands import Remember
from recollect.memory import Memory
from recollect.memory.erasure import clean
from recollect.memory.handle.acts import Acts, stamp
from recollect.memory.handle.handle import handle_of
from recollect.memory.pages.page_care import created_now, flag_once, is_flagged, preseed
from recollect.memory.pages.page_limits import status_at, why_long
from recollect.mirror import words
from recollect.mirror.names import DOCUMENT, INDEX, document_name
from recollect.mirror.page import SUFFIX
from recollect.model import validate
from recollect.model.counts import counted
from recollect.model.events import Trust
from recollect.model.validate import Json
from recollect.model.values import Cleaned, Condensed, PageLimits
from recollect.propose.port import Proposer
from recollect.recall.pack import count_tokens
from recollect.store.disk.layout import PAGE_FOLDERS
from recollect.store.pages.page_files import foreign_files, unchecked
from recollect.store.pages.page_notes import Notes, read_notes
from recollect.store.seam import Seam

HOME: Final = f"~/{FOLDER}"
_TO_FORGET: Final = "strike its entries through (~~), or forget them"
_TRIES: Final = 100  # how often another program may write in between
_ID_TRIES: Final = 16
_CHANCE_BYTES: Final = 8
_DIGEST_BYTES: Final = 3
_NAMED_MAX_COUNT: Final = 5


class MemoryFiles:
    """The Markdown files of a memory, in the folder ``memory`` of ``root``."""

    #: What could have been better about the last write; it was stored all the same.
    advice: tuple[str, ...] = ()

    def __init__(
        self,
        root: str | os.PathLike[str] = HOME,
        *,
        space: str = "main",
        trust: Trust = "agent",
        session: str | None = None,
    ) -> None:
        """Open the memory at a folder, which is created if it is not there.

        Writes have the trust ``trust``; by default an agent's, so that a program cannot change
        what a person said. What is written in a ``session`` is also on the page of its day.
        """
        settings = load(root)
        if settings.folder is None:
            raise ConfigError(
                f"{settings.where} is not a folder",
                hint="open the memory, then use MemoryFiles.over(memory, folder)",
            )
        knobs = read_knobs(settings.folder / CONFIG)
        memory = Memory.open(space=space, settings=settings).scoped(trust=trust, session=session)
        try:
            self._take(memory, Path(memory.where) / PAGE_FOLDERS[-1])
            self.advice += apply_knobs(memory, knobs)
        except RecollectError:
            memory.close()
            raise

    @classmethod
    def over(cls, memory: Memory, folder: str | os.PathLike[str]) -> Self:
        """The files of a memory that is open, on any engine; closing closes both."""
        made = cls.__new__(cls)
        made._take(memory, Path(folder).expanduser().absolute())
        return made

    def _take(self, memory: Memory, folder: Path) -> None:
        self._memory, self._folder = memory, folder
        preseed(handle_of(memory))
        self._render()

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder

    # Writing.

    def create(
        self, path: str | os.PathLike[str], description: str, tags: Iterable[str] = ()
    ) -> Path:
        """Create a file without entries; its name begins with a prefix such as ``project-``."""
        name = checks.entity_page(checks.page_name(path, self._folder))
        now = created_now(handle_of(self._memory))
        said: dict[str, Json] = {
            "description": validate.name(description, "description"),
            "created": now,
        }
        topics = checks.file_tags(tags)
        self._describe(name, said | ({"tags": topics} if topics else {}))
        self._render()
        return self._folder / f"{name}{SUFFIX}"

    def _describe(self, name: str, data: dict[str, Json]) -> None:
        """Describes a page that nobody else has, or is about to."""
        for _ in range(_TRIES):
            position = self._memory.events.position
            if self._is_there(name):
                raise Conflict(f"{name}{SUFFIX} exists", hint="append to it")
            try:
                self._memory.settings.documents.set(
                    DOCUMENT, document_name(name), data, expect=position or None
                )
                return
            except Changed:
                continue
        raise Conflict("other programs did not stop writing", hint="try again")

    def append(self, path: str | os.PathLike[str], content: str, tags: Iterable[str]) -> str:
        """Append an entry of one to three sentences with one to three tags; returns its id."""
        name = checks.entity_page(self._existing(path))
        words = checks.entry_tags(tags)
        id = self._add(lambda acts: acts.remember(content, {"about": name, "tags": words}))
        self._wrote(name, checks.advice(content))
        return id

    def supersede(
        self,
        path: str | os.PathLike[str],
        old_id: str,
        new_content: str,
        reason: str | None = None,
        tags: Iterable[str] | None = None,
    ) -> str:
        """Strike an entry and append another in its place, in one step; returns the new id.

        The new entry has the tags of the old one, unless others are given. If this store may not
        change the entry, because a person wrote it, the change waits for a review: the answer is
        then the old id, and ``advice`` names the review.
        """
        name = self._existing(path)
        words = None if tags is None else checks.entry_tags(tags)
        self._entry(name, old_id)
        files = handle_of(self._memory).files
        id = self._add(
            lambda acts: acts.remember(
                new_content, {"replaces": old_id, "reason": reason, "tags": words}, files=files
            )
        )
        known = self._has(id)
        waits = () if known else (f"{old_id} stays until a person approves: `recollect review`",)
        self._wrote(name, (*checks.advice(new_content), *waits))
        return id if known else old_id

    def flag_compact(self, path: str | os.PathLike[str], reason: str | None = None) -> None:
        """Flag a file that has become long, for the compact stage."""
        self._memory.pages.flag(self._existing(path), reason)
        self._render()

    def compact(self, path: str | os.PathLike[str], proposer: Proposer | None = None) -> Condensed:
        """Make a file shorter and keep its facts.

        Entries that say the same are merged. What a proposer suggests waits for a review, unless
        it drops more than 5 % of the facts: then nothing is changed and the file is flagged.
        """
        done = self._memory.pages.condense(self._existing(path), proposer)
        self._render()
        return done

    def _add(self, make: Callable[[Acts], Remember]) -> str:
        """Adds a record under a free id. One that is used is refused, and another is made."""
        handle = handle_of(self._memory)
        for _ in range(_ID_TRIES):
            id = make_id(handle.seam, handle.actor.tz_minutes)
            act = msgspec.structs.replace(make(handle.acts), id=id, fresh=True)
            try:
                self._memory.events.submit(act)
                return id
            except Conflict:
                if not self._has(id):
                    raise
        raise Conflict("no free id was found", hint="try again")

    # Reading.

    def limits(self) -> PageLimits:
        """The knobs of the writer, as they hold here."""
        return self._memory.pages.limits()

    def list_memories(self) -> list[MemoryFile]:
        """Every file with its description, by name."""
        return [file_of(page) for page in self._memory.pages.list()]

    def read_memory(
        self,
        path: str | os.PathLike[str],
        *,
        tags: Iterable[str] | None = None,
        include_superseded: bool = False,
    ) -> Contents:
        """A file and its entries, oldest first; with ``tags`` those that have all of them."""
        name, wanted = self._existing(path), checks.asked_tags(tags)
        page = read_page(self._memory, name)
        # A file shows neither the clock nor the limits. The answer says what list_memories says.
        now, limits = handle_of(self._memory).now(), self.limits()
        page = page._replace(
            status=status_at(page, now, limits), needs_compact=is_flagged(page, limits)
        )
        return contents_of(page, wanted, include_superseded=include_superseded)

    def search(
        self,
        query: str,
        *,
        tags: Iterable[str] | None = None,
        include_superseded: bool = False,
        top_k: int = 10,
    ) -> list[SearchHit]:
        """The entries that match, best first; with ``tags`` those that have all of them."""
        terms = [f"tags contains {_literal(tag)}" for tag in checks.asked_tags(tags)]
        found = self._memory.recall(
            query,
            k=top_k,
            unit="record",
            filter=" and ".join(terms) or None,
            include=("replaced",) if include_superseded else (),
        )
        return hits_of(self._memory, found.hits)

    def get_schema(self) -> str:
        """How files are organized, for a model that writes to them."""
        return SCHEMA

    # Files that a person changed.

    def rebuild_index(
        self,
        *,
        take: Literal["page", "memory"] | None = None,
        unknown: Literal["leave", "adopt", "aside"] = "leave",
    ) -> IndexRebuilt:
        """Take over what was changed in the files by hand, and build the index from scratch.

        It can be called at any time, and again. A file that cannot be read, or that contradicts
        what was written since, stays as it is and is named; the others are taken over. With
        ``take`` the file, or the memory, is right where they contradict each other. ``unknown``
        says what becomes of entries that are not in this memory, as for ``pages.sync``.
        """
        self._memory.admin.rebuild()
        done = self._memory.pages.sync(self._folder, take=take, unknown=unknown)
        self.advice = ()
        return rebuilt_of(done, self._memory.pages.list())

    # Wiping.

    def clean(
        self, what: Literal["memory", "all"], *, confirm: Callable[[str], bool]
    ) -> Cleaned | None:
        """Erase every entry and file for good, if ``confirm`` answers the question with True.

        ``all`` also erases what was said and done: episodes, sessions and receipts. Settings and
        ``config.toml`` stay, and so do files that this memory did not write: the question names
        them. It needs a person's trust. None if it was not confirmed.
        """
        handle, position = handle_of(self._memory), self._memory.events.position
        planned = clean.clean(handle, what, dry_run=True)
        question = f"Erase {counted(planned.records, 'record')} and the files in {self._folder}?"
        if not confirm(f"{question} It cannot be undone.{in_question(self._folder)}"):
            return None
        done = clean.clean(handle, what, expect=position)
        before = lines_of(self._folder)
        self._memory.pages._render(self._folder, "gone")  # a person said yes to that
        preseed(handle_of(self._memory))
        self._render()
        places = [place for place in done.places if place not in before]
        return msgspec.structs.replace(
            done,
            places=(*places, *lines_of(self._folder)),
            files_kept=foreign_files(self._folder),
        )

    # Shared.

    def _existing(self, path: str | os.PathLike[str]) -> str:
        name = checks.page_name(path, self._folder)
        if not self._is_there(name):
            raise NotFound(f"file {name}{SUFFIX} was not found", hint="create it first")
        return name

    def _is_there(self, name: str) -> bool:
        try:
            return name != INDEX and bool(self._memory.pages.read(name))
        except NotFound:
            return False

    def _entry(self, name: str, id: str) -> None:
        """Refuses an entry that is not in this file."""
        if not any(one.id == id for one in read_page(self._memory, name).entries):
            raise NotFound(
                f"entry {validate.shown(id)} was not found in {name}{SUFFIX}",
                hint="read_memory lists the ids of a file",
            )

    def _has(self, id: str) -> bool:
        with handle_of(self._memory).reading() as reads:
            return reads.has_version(id)

    def _wrote(self, name: str, advice: tuple[str, ...]) -> None:
        """Flags a file that has become too long, and writes what changed."""
        limits, tokens = self.limits(), count_tokens(self._memory.pages.read(name))
        if tokens > limits.soft_limit_tokens:
            why = why_long(tokens, limits)
            advice = (*advice, f"{name}{SUFFIX} should be compacted: {why}")
            if tokens > limits.hard_limit_tokens:
                flag_once(handle_of(self._memory), name, why)
        self._render(advice)

    def _render(self, advice: tuple[str, ...] = ()) -> None:
        done = self._memory.pages.render(self._folder)
        edited = [f"{name} says more than the memory: call rebuild_index" for name in done.edited]
        gone = [f"{name} was deleted, and is written again: {_TO_FORGET}" for name in done.restored]
        self.advice = (*advice, *edited, *gone)

    def close(self) -> None:
        """Release files and connections; closing twice is fine."""
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._folder)!r})"


def _literal(text: str) -> str:
    """A text as a literal of a filter."""
    return "'" + text.replace("'", "''") + "'"


def make_id(seam: Seam, tz_minutes: int) -> str:
    """An id of this minute, in local time as the heading has it."""
    local = words.local(seam.now(), tz_minutes)
    chance = blake2s(seam.random(_CHANCE_BYTES), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{stamp(words.clock_time(local))}-{chance}"


def in_question(folder: Path) -> str:
    """The sentence about them that is added to a question; empty if there are none."""
    found = [name if name.isprintable() else repr(name) for name in foreign_files(folder)]
    more = len(found) - _NAMED_MAX_COUNT
    named = ", ".join(found[:_NAMED_MAX_COUNT]) + (f" and {more} more" if more > 0 else "")
    return f" Not written by this memory, so not erased: {named}." if found else ""


def lines_of(folder: Path) -> list[str]:
    """What a report of an erasure says about them."""
    return unchecked(folder, read_notes(folder) or Notes()) if folder.is_dir() else []
