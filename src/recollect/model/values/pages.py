"""Values of pages: what a page says about itself, and what rendering did.

Responsible for their shape. Leaves the text of pages to ``mirror``. Invariant: file names are
relative to ``folder``.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.values.records import Value


class PageInfo(Value, frozen=True, kw_only=True):
    """One page, without its entries. Times are local to the writer, with their offset."""

    name: str
    title: str
    description: str
    tags: tuple[str, ...]
    status: Literal["active", "dormant", "archived"]
    created: str
    updated: str
    entry_count: int
    needs_compact: bool  # flagged, or longer than the hard limit
    position: int
    compact_reason: str | None = None  # why it is flagged, or why condensing it is suggested


class PageLimits(Value, frozen=True, kw_only=True):
    """When a page is dormant, and when it is too long. Tokens are estimated."""

    auto_dormant_days: int = 30
    soft_limit_tokens: int = 20_000  # above it condensing is suggested
    hard_limit_tokens: int = 50_000  # above it a page is always flagged


class Rendered(Value, frozen=True, kw_only=True):
    """What a rendering did with each file."""

    folder: str
    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    edited: tuple[str, ...]  # changed by a person, and left as they are


class PagesStatus(Value, frozen=True, kw_only=True):
    """What a rendering would find: files that are current, and those that are not."""

    folder: str
    current: int
    missing: tuple[str, ...]
    outdated: tuple[str, ...]  # as an earlier rendering left them
    edited: tuple[str, ...]
