"""Emptying a memory: its records and pages, or everything that was said in it.

Responsible for choosing what goes and for the order. Leaves removing bytes to
``memory.erasure.erasure``. Invariants: documents that are settings, policies and rules stay, and so
do presets, the settings file, and files that this memory did not write, which are named; what is
erased is what was planned; the same call again finishes an interrupted one.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final, Literal, NamedTuple, get_args

from recollect.errors import ConfigError, InvalidInput
from recollect.index import selections
from recollect.index.page_reads import documents_changed
from recollect.index.reads import Reads
from recollect.index.rows import document_id
from recollect.index.sessions import sessions_opened
from recollect.lifecycle.commands import Erase, Expect
from recollect.memory.erasure.erasure import Chosen, Order, cleaned, erase_planned, would_erase
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Handle
from recollect.mirror.names import DOCUMENT, FLAG
from recollect.model import validate
from recollect.model.values import Cleaned, Erasure
from recollect.store.pages.page_files import foreign_files
from recollect.store.port import Progress

What = Literal["memory", "all"]

_DOCUMENTS: Final = (DOCUMENT, FLAG)  # they describe pages; all others are settings
_AT_ONCE: Final = 100  # documents of one command


class _Planned(NamedTuple):
    """What goes, as it was read at one position."""

    parts: list[Erasure]  # everything but sessions, then the sessions of each user
    users: list[str | None]  # of each part
    documents: list[str]


def clean(
    handle: Handle,
    what: What,
    *,
    dry_run: bool = False,
    reason: str | None = None,
    expect: Expect | None = None,
    progress: Progress | None = None,
) -> Cleaned:
    """Erases what a memory holds, for good; its settings stay.

    ``memory`` is what is believed: records, proposals, branches, and what describes pages. ``all``
    is also what was said and done: episodes, sessions and receipts.

    Raises:
        InvalidInput: ``what`` is another word.
        Forbidden: The handle has less than a person's trust, or is bound to one user.
        Changed: ``expect`` does not hold any more; nothing was erased.
    """
    if what not in get_args(What):
        raise InvalidInput(f"clean memory or all, not {validate.shown(what)}")
    handle.require_now()
    handle.require_whole("cleaning a memory")
    handle.require_person("erasing")
    reason = validate.reason(reason)
    handle.space.flush()  # receipts that still wait go too
    with handle.reading() as reads:
        planned = _plan(reads, what)
    if dry_run:
        return _answer(handle, what, planned, ())
    for planned_part, user in zip(planned.parts, planned.users, strict=True):
        if planned_part.events:
            order = Order(False, reason, expect=expect, progress=progress, user=user)
            erase_planned(handle, planned_part, order)
            expect = None  # of the first command only: the next ones follow it
    for start in range(0, len(planned.documents), _AT_ONCE):
        names = planned.documents[start : start + _AT_ONCE]
        acts = tuple(Erase(id=name, what="document", reason=reason) for name in names)
        handle.write(acts, answers.nothing, None, expect)
        expect = None
    return _answer(handle, what, planned, cleaned(handle))


def _plan(reads: Reads, what: What) -> _Planned:
    is_all = what == "all"
    chosen = Chosen(
        tuple(selections.everything(reads, "record")),
        tuple(selections.everything(reads, "episode")) if is_all else (),
        tuple(selections.everything(reads, "receipt")) if is_all else (),
        proposals=tuple(selections.everything(reads, "proposal")),
        branches=tuple(selections.everything(reads, "branch")),
    )
    users: list[str | None] = [None]
    parts = [would_erase(reads, chosen, sources=False)]
    sessions = sorted(sessions_opened(reads.db), key=lambda row: row.user) if is_all else []
    for user, rows in groupby(sessions, key=lambda row: row.user):
        parts.append(would_erase(reads, Chosen(sessions=tuple(rows)), sources=False))
        users.append(user or None)
    named = (one for one in documents_changed(reads, 0) if one[0] in _DOCUMENTS)
    return _Planned(parts, users, [document_id(*one) for one in named])


def _files_kept(handle: Handle) -> tuple[str, ...]:
    """What in the memory's own folder of pages this memory did not write."""
    try:
        folder = handle.space.pages_folder()
        return () if folder is None else foreign_files(folder)
    except (ConfigError, OSError):  # the report of places names it
        return ()


def _answer(handle: Handle, what: What, planned: _Planned, places: tuple[str, ...]) -> Cleaned:
    first = planned.parts[0]
    return Cleaned(
        what=what,
        records=len(first.records),
        episodes=len(first.episodes),
        proposals=len(first.proposals),
        receipts=len(first.receipts),
        sessions=sum(len(part.sessions) for part in planned.parts[1:]),
        documents=tuple(planned.documents),
        places=places,
        files_kept=_files_kept(handle),
    )
