"""How long a page may be, and after how many days it is dormant.

Responsible for the document ``settings/pages`` and for what a list of pages says by it. Leaves the
flags to ``memory.pages.page_care``. Invariant: only lists ask the clock; no text of a page depends
on it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from msgspec import structs

from recollect.errors import InvalidInput
from recollect.index.reads import Reads
from recollect.index.rows import unpack_object
from recollect.lifecycle.commands import SetDocument
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Handle
from recollect.mirror.page import Page, PageStatus
from recollect.mirror.render import render
from recollect.model import validate
from recollect.model.instants import to_datetime
from recollect.model.validate import Json
from recollect.model.values import PageLimits
from recollect.recall.pack import count_tokens

_SETTINGS: Final = ("settings", "pages")
_DAYS_MAX_COUNT: Final = 36_500
_TOKENS_MAX_COUNT: Final = 1_000_000_000
_MOST: Final = {"auto_dormant_days": _DAYS_MAX_COUNT}
# What an entry adds to a page beside its words: its heading, at most.
_HEADING_MAX_CHARS: Final = 400


def limits_of(reads: Reads) -> PageLimits:
    """The limits that hold here; the default for what is not set, or cannot be read."""
    row = reads.document(*_SETTINGS)
    said = {} if row is None else unpack_object(row.data)
    known = {
        name: said[name] for name in PageLimits.__struct_fields__ if _is_limit(name, said.get(name))
    }
    return structs.replace(PageLimits(), **known)


def set_limits(handle: Handle, changes: dict[str, int | None]) -> None:
    """Sets some of the limits; the others stay."""
    for name, value in changes.items():
        if value is not None and not _is_limit(name, value):
            raise InvalidInput(
                f"{name} must be a number from 1 to {_most(name):,}, not {validate.shown(value)}"
            )
    given = {name: value for name, value in changes.items() if value is not None}
    with handle.reading() as reads:
        limits = structs.replace(limits_of(reads), **given)
    if limits.soft_limit_tokens > limits.hard_limit_tokens:
        raise InvalidInput("the soft limit is above the hard limit", hint="set both")
    data: dict[str, Json] = {name: getattr(limits, name) for name in PageLimits.__struct_fields__}
    type, name = _SETTINGS
    handle.write((SetDocument(type=type, name=name, data=data),), answers.nothing)


def status_at(page: Page, now: str, limits: PageLimits) -> PageStatus:
    """The status of a page at an instant: dormant if nothing touched it for so many days."""
    untouched = to_datetime(now) - to_datetime(page.updated)
    is_old = untouched > timedelta(days=limits.auto_dormant_days)
    return "dormant" if page.status == "active" and is_old else page.status


def page_tokens(page: Page) -> int:
    """About how many tokens the text of a page has."""
    return count_tokens(render(page))


def is_above(tokens: int | None, limits: PageLimits) -> bool:
    """True if a page of so many tokens, if they were counted, is longer than the hard limit."""
    return (tokens or 0) > limits.hard_limit_tokens


def tokens_above(page: Page, limits: PageLimits) -> int | None:
    """The tokens of a page that is longer than the soft limit; None for any other."""
    # A character makes at most two tokens, and rendering at most doubles a text: most pages need
    # not be rendered to be known as short.
    chars = sum(2 * len(entry.text) + _HEADING_MAX_CHARS for entry in page.entries)
    tags = sum(2 * len(tag) for entry in page.entries for tag in entry.tags)
    links = sum(len(name) + 2 * len(title) for name, title in page.links)
    if 2 * (chars + tags + links) <= limits.soft_limit_tokens:
        return None
    tokens = page_tokens(page)
    return tokens if tokens > limits.soft_limit_tokens else None


def why_long(tokens: int, limits: PageLimits) -> str:
    """Why condensing a page is suggested."""
    is_over = tokens > limits.hard_limit_tokens
    limit = limits.hard_limit_tokens if is_over else limits.soft_limit_tokens
    return f"about {tokens:,} tokens, more than {limit:,}"


def _most(name: str) -> int:
    return _MOST.get(name, _TOKENS_MAX_COUNT)


def _is_limit(name: str, value: object) -> bool:
    return type(value) is int and 1 <= value <= _most(name)
