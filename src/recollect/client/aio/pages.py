"""The calls of ``memory.pages``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Proposer
from recollect.client.parts import Pages
from recollect.model.values import (
    Condensed,
    PageChanges,
    PageInfo,
    PageLimits,
    PagesStatus,
    Rendered,
    Synced,
)

List = list  # ``list`` is also the name of a call


class AsyncPages(AsyncCalls[Pages]):
    """List, read and render the pages of a memory.

    A page is about one entity, named after what its records are about: ``person-alice`` for
    "person:Alice", ``topic-rust-async`` for "Rust async", ``unfiled`` for records about nothing.
    ``event-2026-04-22`` tells what was learned in the sessions of that day. Pages show records that
    hold, and those that were superseded, struck through. A document of the type "page" says what a
    page is called (``title``), its ``description``, ``tags``, ``status`` and ``needs_compact``."""

    async def list(self) -> List[PageInfo]:
        """Every page but the index, by name.

        A page that is active is shown as dormant once nothing has touched it for
        ``auto_dormant_days``. That depends on the clock, so it is said here and never in a file.
        """
        return await self._run(self._calls.list)

    async def read(self, name: str) -> str:
        """The text of a page as it would be rendered now, on every engine.

        Args:
            name: The name of a page, such as ``user-profile``; ``index`` lists the others.

        Raises:
            NotFound: The page does not exist.
        """
        return await self._run(self._calls.read, name)

    async def render(
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
        return await self._run(self._calls.render, folder, overwrite=overwrite)

    async def status(self, folder: str | os.PathLike[str] | None = None) -> PagesStatus:
        """What ``render`` would find in the folder. Changes nothing.

        Args:
            folder: As for ``render``.
        """
        return await self._run(self._calls.status, folder)

    async def changes(self, folder: str | os.PathLike[str] | None = None) -> PageChanges:
        """What a person changed on pages since they were rendered. Changes nothing.

        Each page is compared with the memory as it was when the page was rendered, and as it is
        now. What was deleted is a problem, not a change: only striking takes something away.

        Args:
            folder: As for ``render``.

        Raises:
            ConfigError: The folder is a link or a file.
        """
        return await self._run(self._calls.changes, folder)

    async def sync(
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
        return await self._run(
            self._calls.sync, folder, take=take, expect=expect, propose=propose, unknown=unknown
        )

    async def flag(self, name: str, reason: str | None = None) -> PageInfo:
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
        return await self._run(self._calls.flag, name, reason)

    async def unflag(self, name: str) -> PageInfo:
        """Take back a page's flag. A page that is not flagged stays as it is.

        Args:
            name: The name of a page.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            Forbidden: It was flagged with more trust than this handle has.
        """
        return await self._run(self._calls.unflag, name)

    async def archive(self, name: str) -> PageInfo:
        """Set a page's status to archived. Its records do not change; ``activate`` takes it back.

        Args:
            name: The name of a page.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            Forbidden: It was described with more trust than this handle has.
        """
        return await self._run(self._calls.archive, name)

    async def activate(self, name: str) -> PageInfo:
        """Set a page's status back to active.

        Args:
            name: The name of a page.

        Returns:
            The page as it is now.

        Raises:
            NotFound: The page does not exist.
            Forbidden: It was described with more trust than this handle has.
        """
        return await self._run(self._calls.activate, name)

    async def describe(
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
        return await self._run(
            self._calls.describe, name, title=title, description=description, tags=tags
        )

    async def care(self) -> List[PageInfo]:
        """Flag every page that is longer than the hard limit.

        Returns:
            The pages that are flagged, dormant, or so long that condensing them is suggested.

        Raises:
            Forbidden: A page is to be flagged, and the handle is unverified or bound to one user.
        """
        return await self._run(self._calls.care)

    async def condense(
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
        return await self._run(self._calls.condense, name, proposer, dry_run=dry_run)

    async def limits(self) -> PageLimits:
        """When a page is dormant, and when it is too long."""
        return await self._run(self._calls.limits)

    async def set_limits(
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
        return await self._run(
            self._calls.set_limits,
            auto_dormant_days=auto_dormant_days,
            soft_limit_tokens=soft_limit_tokens,
            hard_limit_tokens=hard_limit_tokens,
        )
