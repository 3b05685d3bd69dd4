"""What is said about a page: flags, status and description.

Responsible for the documents about pages. Leaves which pages there are to ``memory.pages`` and what
they show to ``mirror``. Invariants: a change keeps what another process said about the same page; a
flag is a document of its own, so an agent can flag a page that a person described.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Final

from msgspec import structs

from recollect.errors import Changed, Conflict, Forbidden, NotFound
from recollect.index.reads import Reads
from recollect.index.rows import DocumentRow, document_id, unpack_object
from recollect.index.statements import NOW
from recollect.lifecycle.commands import Act, DropDocument, SetDocument
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Handle
from recollect.memory.pages.page_limits import (
    is_above,
    limits_of,
    status_at,
    tokens_above,
    why_long,
)
from recollect.memory.pages.page_sources import Sources
from recollect.mirror import words
from recollect.mirror.gather import Made
from recollect.mirror.names import DOCUMENT, FLAG, PREFERENCES, PROFILE, document_name
from recollect.mirror.page import Page
from recollect.model import validate
from recollect.model.rules import at_least
from recollect.model.validate import Json
from recollect.model.values import PageInfo, PageLimits

_TRIES: Final = 100  # how often another process may change the same document
_TAGS_MAX_COUNT: Final = 50
_SUGGESTED_MAX_COUNT: Final = 3
PRESEEDED: Final[Mapping[str, tuple[str, ...]]] = {  # the tags of the pages that are always there
    PROFILE: ("identity", "background"),
    PREFERENCES: ("preferences",),
}


def no_page(name: str, names: Iterable[str]) -> NotFound:
    """The error for a page that does not exist, with the nearest names."""
    near = get_close_matches(name, list(names), n=_SUGGESTED_MAX_COUNT)
    did = f"did you mean {' or '.join(near)}?" if near else "`recollect pages list` lists all pages"
    return NotFound(f"page {name!r} was not found", hint=did)


def info_of(made: Made, limits: PageLimits, now: str) -> PageInfo:
    """A page as lists show it at an instant."""
    page, tokens = made.page, tokens_above(made.page, limits)
    long = None if tokens is None else why_long(tokens, limits)
    return PageInfo(
        name=page.name,
        title=page.title,
        description=page.description,
        tags=page.tags,
        status=status_at(page, now, limits),
        created=page.created,
        updated=page.updated,
        entry_count=len(page.entries),
        needs_compact=page.needs_compact or is_above(tokens, limits),
        position=page.position,
        compact_reason=made.flagged_for or long,
    )


def is_flagged(page: Page, limits: PageLimits) -> bool:
    """True if a page is flagged to be condensed, or is longer than the hard limit."""
    return page.needs_compact or is_above(tokens_above(page, limits), limits)


def preseed(handle: Handle) -> None:
    """Describes the two pages that are always there, unless that was done; agents may go on."""
    actor = handle.actor
    if actor.trust == "unverified" or actor.user is not None or handle.position != NOW:
        return
    agent = handle.narrowed(structs.replace(actor, trust="agent"))
    for name, tags in PRESEEDED.items():
        try:
            _write(agent, name, partial(_preseeding, agent, name, tags))
        except NotFound:  # no memory was created yet
            said: dict[str, Json] = {"tags": list(tags), "created": created_now(agent)}
            agent.write((_stating(name, said),), answers.nothing)
        except Forbidden:  # a token or a policy keeps documents from agents
            return


def _preseeding(handle: Handle, name: str, tags: Iterable[str], reads: Reads) -> list[Act]:
    """The act that describes a page which was created when its first entry was, or the memory."""
    if reads.document(DOCUMENT, name) is not None:
        return []
    (made,) = Sources(handle, reads).pages({name})
    began = made.page.created
    if not made.page.entries:  # no entry says in which zone
        began = words.with_offset(words.local(began, handle.actor.tz_minutes))
    return [_stating(name, {"tags": list(tags), "created": began})]


def created_now(handle: Handle) -> str:
    """When a page is created, as its document keeps it."""
    return words.with_offset(words.local(handle.seam.now(), handle.actor.tz_minutes))


def is_long(handle: Handle, reads: Reads, page: str) -> bool:
    """True if a page is longer than the hard limit, so that it stays flagged."""
    limits = limits_of(reads)
    found = (tokens_above(one.page, limits) for one in Sources(handle, reads).pages({page}))
    return any(is_above(tokens, limits) for tokens in found)


def flag_long(handle: Handle, pages: Callable[[Reads], Iterable[Made]]) -> None:
    """Flags every page that is longer than the hard limit."""
    with handle.reading() as reads:
        made, limits, now = list(pages(reads)), limits_of(reads), handle.now()
    for page in (info_of(one, limits, now) for one in made):
        if page.needs_compact:
            flag_once(handle, page.name, page.compact_reason)


def flag_once(handle: Handle, page: str, reason: str | None) -> None:
    """Flags a page that no document flags yet."""
    name = document_name(page)
    with handle.reading() as reads:
        known = reads.document(FLAG, name)
        said = _said(reads.document(DOCUMENT, name)).get("needs_compact") is True
    if known is None and not said:
        flag(handle, page, reason)


def flag(handle: Handle, page: str, reason: str | None) -> None:
    """Flags a page; a flag of someone with more trust stays as it is."""
    name, reason = document_name(page), validate.reason(reason)
    with handle.reading() as reads:
        known = reads.document(FLAG, name)
    if known is None or (reason is not None and at_least(handle.actor.trust, known.trust)):
        data: dict[str, Json] = {} if reason is None else {"reason": reason}
        handle.write((SetDocument(type=FLAG, name=name, data=data),), answers.nothing)


def unflag(handle: Handle, page: str) -> None:
    """Takes back a flag, however it was set."""
    name = document_name(page)
    _write(handle, name, lambda reads: _unflagging(reads, name))


def unflagging(handle: Handle, reads: Reads, page: str) -> list[Act]:
    """The acts that take back a flag, if this handle may."""
    name, trust = document_name(page), handle.actor.trust
    known = (reads.document(FLAG, name), reads.document(DOCUMENT, name))
    may = trust != "unverified" and all(at_least(trust, row.trust) for row in known if row)
    return _unflagging(reads, name) if may else []


def _unflagging(reads: Reads, name: str) -> list[Act]:
    said = _said(reads.document(DOCUMENT, name))
    found: list[Act] = []
    if reads.document(FLAG, name) is not None:
        found.append(DropDocument(type=FLAG, name=name))
    if said.pop("needs_compact", None) is True:
        found.append(_stating(name, said))
    return found


def describe(handle: Handle, page: str, fields: Mapping[str, str | list[Json] | None]) -> None:
    """Sets these fields of a page's document; an empty one is removed, None stays as it is."""
    name = document_name(page)

    def acts(reads: Reads) -> list[Act]:
        known = reads.document(DOCUMENT, name)
        before = _said(known)
        said = before | {field: value for field, value in fields.items() if value is not None}
        after = {field: value for field, value in said.items() if value not in ("", [])}
        return [] if before == after else [_stating(name, after)]

    _write(handle, name, acts)


def checked_tags(tags: Iterable[str] | None) -> list[Json] | None:
    """Tags of a page, each once; None if nothing is said about them."""
    if tags is None:
        return None
    return list(validate.names(tags, "tags", at_most=_TAGS_MAX_COUNT))


def checked_line(text: str | None, what: str) -> str | None:
    """One line about a page; an empty one is allowed."""
    return text if text is None or text == "" else validate.name(text, what)


def _stating(name: str, said: dict[str, Json]) -> Act:
    """The act that makes a page's document say this."""
    return SetDocument(type=DOCUMENT, name=name, data=validate.data(said))


def _said(row: DocumentRow | None) -> dict[str, Json]:
    return {} if row is None else dict(unpack_object(row.data))


def _write(handle: Handle, name: str, acts: Callable[[Reads], list[Act]]) -> None:
    """Writes what follows from the present documents, once more if another process was faster."""
    for _ in range(_TRIES):
        with handle.reading() as reads:
            made, known, position = (
                tuple(acts(reads)),
                reads.document(DOCUMENT, name),
                reads.position(),
            )
        if not made:
            return
        here = position.seq if position else 0
        expect = here if known is None else (document_id(DOCUMENT, name), known.seq)
        try:
            handle.write(made, answers.nothing, None, expect)
            return
        except (Changed, NotFound):  # changed or dropped since it was read
            continue
    raise Conflict(f"the page {name!r} did not stop changing", hint="try again")
