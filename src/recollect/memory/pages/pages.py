"""``memory.pages``: the memory as Markdown, one page for each entity.

Responsible for the calls. Leaves the text of pages to ``mirror``, what they are made from to
``memory.pages.page_sources``, which of them to make to ``memory.pages.page_plans`` and files to
``store.pages``. Invariants: pages are written only when this is called, never by a write; what is
erased while pages are written is not on them afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from recollect.errors import Conflict, InvalidInput, Unsupported
from recollect.index.erasures import was_erased_since
from recollect.index.statements import NOW
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import (
    Condensed,
    PageChanges,
    PageInfo,
    PageLimits,
    PagesStatus,
    Rendered,
    Synced,
)
from recollect.propose.port import Proposer

if TYPE_CHECKING:  # pages are loaded only by calls that make them
    from recollect.index.reads import Reads
    from recollect.mirror.gather import Made
    from recollect.store.pages.page_notes import Notes
    from recollect.store.pages.pages import Over, Plan


List = list  # ``list`` is also the name of a call
_TRIES: Final = 100  # how often an erasure may come in between


@heals
class Pages(Calls):
    """List, read and render the pages of a memory.

    A page is about one entity, named after what its records are about: ``person-alice`` for
    "person:Alice", ``topic-rust-async`` for "Rust async", ``unfiled`` for records about nothing.
    ``event-2026-04-22`` tells what was learned in the sessions of that day. Pages show records that
    hold, and those that were replaced, struck through. A document of the type "page" says what a
    page is called (``title``), its ``description``, ``tags``, ``status`` and ``needs_compact``.
    """

    def list(self) -> List[PageInfo]:
        """Every page but the index, by name.

        A page that is active is shown as dormant once nothing has touched it for
        ``auto_dormant_days``. That depends on the clock, so it is said here and never in a file.
        """
        from recollect.memory.pages.page_care import info_of
        from recollect.memory.pages.page_limits import limits_of

        with self._handle.reading() as reads:
            made, limits, now = self._made(reads), limits_of(reads), self._handle.now()
        return [info_of(one, limits, now) for one in made]

    def read(self, name: str) -> str:
        """The text of a page as it would be rendered now, on every engine.

        Args:
            name: The name of a page, such as ``user-profile``; ``index`` lists the others.

        Raises:
            NotFound: The page does not exist.
        """
        from recollect.memory.pages.page_care import no_page

        name = validate.name(name, "name").removesuffix(".md")
        with self._handle.reading() as reads:
            text = self._text(reads, name)
            if text is None:
                raise no_page(name, (one.page.name for one in self._made(reads)))
        return text

    def render(
        self, folder: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> Rendered:
        """Write the pages that differ from what is in the folder, and remove those that ended.

        A file that says more than this memory ever said is left as it is and named in the answer.

        Args:
            folder: Where to; by default ``pages`` in the folder of the memory. A memory in a server
                or in the process has no folder, so it must be named there. After an erasure render
                again into a folder that you named: only the default folder is cleaned by itself.
            overwrite: Also write over such files; they are moved to the folder ``aside``.

        Raises:
            Unsupported: This memory has no folder, or the handle shows the past.
            Forbidden: Without a folder: the handle is bound to one user.
            Unavailable: The folder could not be written.
        """
        over: Over = "aside" if validate.flag(overwrite, "overwrite") else ""
        return self._render(self._folder(folder), over)

    def _render(
        self,
        target: Path,
        overwrite: Over = "",
        settled: Mapping[str, str] | None = None,
        aside: Collection[str] = (),
    ) -> Rendered:
        """Renders; ``settled`` names files, by their digests, whose words the memory has."""
        from recollect.memory.pages.page_gaps import restored
        from recollect.memory.pages.page_plans import noted_files
        from recollect.store.pages.pages import desk

        with desk(self._handle.seam, target) as writer:
            writer.notes, more = noted_files(self._handle, target, self._made)
            settled = more if settled is None else settled
            moved = tuple(writer.set_aside(name) for name in sorted(aside))
            for _ in range(_TRIES):
                plan = self._plan(target, writer.notes)
                writer.note(plan)
                before = writer.notes
                # From here on an erasure finds the note, and waits a moment for the pages.
                if self._was_erased_since(plan.position):
                    continue
                found = writer.write(plan, overwrite=overwrite, settled=settled)
                if found is not None and not self._was_erased_since(plan.position):
                    break
            else:
                raise Conflict(
                    "erasures or changes of files did not stop while pages were made",
                    hint="try again",
                )
        wanted, old = plan.files, found.old
        return Rendered(
            folder=str(target),
            written=tuple(sorted((*found.new, *(name for name in old if name in wanted)))),
            removed=tuple(sorted((*found.extra, *(name for name in old if name not in wanted)))),
            unchanged=len(found.same),
            edited=tuple(found.edited),
            aside=(*moved, *found.aside),
            restored=restored(before, found.new),
        )

    def status(self, folder: str | os.PathLike[str] | None = None) -> PagesStatus:
        """What ``render`` would find in the folder. Changes nothing.

        Args:
            folder: As for ``render``.
        """
        from recollect.memory.pages.page_plans import noted_files
        from recollect.store.pages.pages import compare

        target = self._folder(folder)
        notes, settled = noted_files(self._handle, target, self._made)
        found = compare(target, notes, self._plan(target, notes).files, settled)
        return PagesStatus(
            folder=str(target),
            current=len(found.same),
            missing=tuple(found.new),
            outdated=tuple(sorted((*found.old, *found.extra))),
            edited=tuple(found.edited),
        )

    def changes(self, folder: str | os.PathLike[str] | None = None) -> PageChanges:
        """What a person changed on pages since they were rendered. Changes nothing.

        Each page is compared with the memory as it was when the page was rendered, and as it is
        now. What was deleted is a problem, not a change: only striking takes something away.

        Args:
            folder: As for ``render``.

        Raises:
            ConfigError: The folder is a link or a file.
        """
        from recollect.memory.pages.sync import Comparison, shown

        target = self._pages_in(folder)
        return shown(target, Comparison(self._handle, target, self._made).files())

    def sync(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        take: Literal["page", "memory"] | Mapping[str, Literal["page", "memory"]] | None = None,
        expect: str | None = None,
        propose: bool = False,
        unknown: Literal["leave", "adopt", "aside"] = "leave",
    ) -> Synced:
        """Take over what a person changed on pages, then render.

        What was changed is written with the trust of this handle. If the memory has changed too,
        nothing is written and the file stays as it is, unless a side is taken. What cannot be read
        is reported, and its file is left as it is.

        Args:
            folder: As for ``render``.
            take: In a conflict take what the "page" says, or the "memory"; or a side for each
                ``ref`` of a change.
            expect: The ``digest`` of the changes that were looked at; ``Conflict`` if there are
                others now.
            propose: Apply nothing: new and changed texts and struck entries become proposals that
                wait in ``memory.review``, each once and without trust.
            unknown: What becomes of entries that are not in this memory: they were erased, or came
                from elsewhere. ``leave`` or ``adopt`` them, or move their files ``aside``.

        Returns:
            What was applied, what waits for a review, and what is left.

        Raises:
            Changed: The pages are not those of ``expect`` any more.
            Forbidden: Only a person adopts entries.
            ConfigError: The folder is a link or a file.
            Unavailable: The folder could not be read or written.
        """
        from recollect.memory.erasure.page_files import clean_folder
        from recollect.memory.pages.edits import proposed, synced
        from recollect.memory.pages.sync import Comparison

        self._handle.require_now()
        target = self._pages_in(folder)
        clean_folder(self._handle, target)
        said = None if expect is None else validate.plain(expect, "expect")
        files = Comparison(self._handle, target, self._made)
        if validate.flag(propose, "propose"):
            if take is not None or said is not None or unknown != "leave":
                raise InvalidInput("propose takes no side and no digest, and leaves the unknown")
            return proposed(files, partial(self._render, target, ""))
        return synced(files, take, said, unknown, partial(self._render, target, ""))

    def _pages_in(self, folder: str | os.PathLike[str] | None) -> Path:
        """A folder whose pages are read."""
        from recollect.store.pages.page_files import check_pages_folder

        target = self._folder(folder)
        check_pages_folder(target)
        return target

    def flag(self, name: str, reason: str | None = None) -> PageInfo:
        """Flag a page that should be condensed. It stays flagged until that is done, or ``unflag``.

        An agent may flag any page, also one that a person described.

        Args:
            name: The name of a page, such as ``user-profile``.
            reason: Why, in a sentence.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            Forbidden: The handle is unverified, or bound to one user.
        """
        from recollect.memory.pages import page_care

        page_care.flag(self._handle, self._page(name).name, reason)
        return self._page(name)

    def unflag(self, name: str) -> PageInfo:
        """Take back a page's flag. A page that is not flagged stays as it is.

        Args:
            name: The name of a page.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            Forbidden: It was flagged with more trust than this handle has.
        """
        from recollect.memory.pages import page_care

        page_care.unflag(self._handle, self._page(name).name)
        return self._page(name)

    def archive(self, name: str) -> PageInfo:
        """Set a page's status to archived. Its records do not change; ``activate`` takes it back.

        Args:
            name: The name of a page.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            Forbidden: It was described with more trust than this handle has.
        """
        return self._describe(name, {"status": "archived"})

    def activate(self, name: str) -> PageInfo:
        """Set a page's status back to active.

        Args:
            name: The name of a page.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            Forbidden: It was described with more trust than this handle has.
        """
        return self._describe(name, {"status": ""})

    def describe(
        self,
        name: str,
        *,
        title: str | None = None,
        description: str | None = None,
        tags: Iterable[str] | None = None,
    ) -> PageInfo:
        """Set what a page says about itself. What is not given stays; what is empty is removed.

        Args:
            name: The name of a page.
            title: Its heading; an empty one brings back the name of the entity.
            description: One line about it, for lists of pages.
            tags: Tags of the page, not of its entries.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            InvalidInput: A title or a description has several lines, or is longer than 200
                characters.
            Forbidden: It was described with more trust than this handle has.
        """
        from recollect.memory.pages.page_care import checked_line, checked_tags

        fields: dict[str, str | List[Json] | None] = {
            "title": checked_line(title, "title"),
            "description": checked_line(description, "description"),
            "tags": checked_tags(tags),
        }
        return self._describe(name, fields)

    def care(self) -> List[PageInfo]:
        """Flag every page that is longer than the hard limit.

        Returns:
            The pages that are flagged, dormant, or so long that condensing them is suggested.

        Raises:
            Forbidden: A page is to be flagged, and the handle is unverified or bound to one user.
        """
        from recollect.memory.pages import page_care

        page_care.flag_long(self._handle, self._made)
        return [
            p for p in self.list() if p.compact_reason or p.needs_compact or p.status == "dormant"
        ]

    def condense(
        self, name: str, proposer: Proposer | None = None, *, dry_run: bool = False
    ) -> Condensed:
        """Make a page shorter without losing what it says.

        Without a proposer, entries that say the same are merged: of one user, one trust and one
        kind, in the same words. Nothing is asked and nothing is lost: ``history`` has what was
        merged, and ``undo`` takes it back. A page that is not too long is not flagged any more.

        A proposer is given records that hold and have no key, of one user and trust at a time, and
        no episodes. It suggests to ``update`` or ``delete`` them. If that keeps all but
        5 % of the facts (numbers, dates, names, quoted words, keys), says nothing that the page
        does not say, and is shorter, its suggestions wait for a person (``memory.review``). Else
        nothing is filed and the page is flagged.

        Args:
            name: The name of a page.
            proposer: A function or a ``ChatProposer`` that suggests shorter entries.
            dry_run: Only return what would be done.

        Raises:
            NotFound: The page does not exist.
            Forbidden: The handle is bound to one user, or may not change documents.
            Unavailable: The proposer did not answer.
        """
        from recollect.memory.pages import condensed, page_care

        handle, dry_run = self._handle, validate.flag(dry_run, "dry_run")
        handle.require_now()
        handle.require_whole("condensing a page")
        page = self._page(name).name
        if proposer is None:
            done = condensed.merge(handle, page, dry_run=dry_run)
        else:
            done = condensed.propose(handle, page, proposer, dry_run=dry_run)
        if done.problem is not None and not dry_run:
            page_care.flag_once(handle, page, done.problem)
        return done

    def limits(self) -> PageLimits:
        """When a page is dormant, and when it is too long."""
        from recollect.memory.pages.page_limits import limits_of

        with self._handle.reading() as reads:
            return limits_of(reads)

    def set_limits(
        self,
        *,
        auto_dormant_days: int | None = None,
        soft_limit_tokens: int | None = None,
        hard_limit_tokens: int | None = None,
    ) -> PageLimits:
        """Set some of the limits; the others stay. They are the document ``settings/pages``.

        Args:
            auto_dormant_days: A page that nothing has touched for longer is listed as dormant.
            soft_limit_tokens: Above it condensing a page is suggested.
            hard_limit_tokens: Above it a page is always flagged.

        Raises:
            InvalidInput: A number cannot be used, or the soft limit is above the hard one.
            Forbidden: They were set with more trust than this handle has.
        """
        from recollect.memory.pages import page_limits

        changes = {
            "auto_dormant_days": auto_dormant_days,
            "soft_limit_tokens": soft_limit_tokens,
            "hard_limit_tokens": hard_limit_tokens,
        }
        page_limits.set_limits(self._handle, changes)
        return self.limits()

    def _describe(self, name: str, fields: Mapping[str, str | List[Json] | None]) -> PageInfo:
        from recollect.memory.pages import page_care

        page_care.describe(self._handle, self._page(name).name, fields)
        return self._page(name)

    def _page(self, name: str) -> PageInfo:
        """One page as it is now."""
        from recollect.memory.pages.page_care import info_of, no_page
        from recollect.memory.pages.page_limits import limits_of

        name = validate.name(name, "name").removesuffix(".md")
        with self._handle.reading() as reads:
            for one in self._made(reads, name):
                return info_of(one, limits_of(reads), self._handle.now())
            raise no_page(name, (one.page.name for one in self._made(reads)))

    def _folder(self, folder: str | os.PathLike[str] | None) -> Path:
        handle = self._handle
        if folder is not None:
            return Path(folder).expanduser().absolute()
        handle.require_whole("rendering into the memory's own folder")
        if handle.position != NOW:
            raise Unsupported(
                "this handle shows the past", hint="name another folder for pages of the past"
            )
        from recollect.memory.erasure.page_files import chosen_folder

        own = chosen_folder(handle) or handle.space.pages_folder()
        if own is None:
            raise Unsupported("this memory has no folder for pages", hint="name one")
        return own

    def _plan(self, folder: Path, notes: Notes) -> Plan:
        """Every file as it should be."""
        from recollect.memory.pages.page_plans import plan

        with self._handle.reading() as reads:
            return plan(self._handle, reads, folder, notes)

    def _was_erased_since(self, position: int) -> bool:
        with self._handle.reading() as reads:
            return was_erased_since(reads, position)

    def _made(self, reads: Reads, name: str | None = None) -> List[Made]:
        """Every page but the index, or only the one of this name, if it exists."""
        from recollect.memory.pages.page_sources import Sources, every_page

        if name is not None and self._handle.position == NOW:
            return Sources(self._handle, reads).pages({name})
        made = every_page(self._handle, reads)
        return [one for one in made if name in (None, one.page.name)]

    def _text(self, reads: Reads, name: str) -> str | None:
        from recollect.mirror.names import INDEX
        from recollect.mirror.render import render, render_index

        if name == INDEX:
            return render_index(one.page for one in self._made(reads))
        return next((render(one.page) for one in self._made(reads, name)), None)
