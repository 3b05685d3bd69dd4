"""Erased words in folders of pages that a person named.

Responsible for removing pages there that show erased events: after an erasure, in the folder that
is remembered, and before pages are read or written in any such folder, in case an erasure was
stopped. Leaves the memory's own folder to the store. Invariant: only files that were rendered are
removed.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from recollect.errors import ConfigError
from recollect.memory.handle.handle import Handle
from recollect.places.page_folders import chosen
from recollect.store.pages.page_notes import is_of
from recollect.store.pages.pages import erase_noted


def chosen_folder(handle: Handle) -> Path | None:
    """Where a person keeps the pages of this memory, if not beside it."""
    if handle.embedders is None:  # made without settings
        return None
    return chosen(handle.embedders.settings, handle.space.name)


def clean_folder(handle: Handle, folder: Path, ids: Collection[str] = ()) -> list[str]:
    """Removes the pages in a folder that show something erased; reports what was done.

    ``ids`` are those of records that were erased just now: their entries are also taken out of
    pages that a person changed.
    """
    if folder == handle.space.pages_folder():
        return []
    with handle.space.reading() as reads:
        last = reads.position()
        erased = reads.erased_between(0, last.seq if last else 0)
        if not erased:
            return []
        return erase_noted(handle.seam, folder, erased, partial(is_of, reads), ids)


def clean_chosen(handle: Handle, ids: Collection[str] = ()) -> list[str]:
    """The same in the folder that is remembered."""
    try:
        folder = chosen_folder(handle)
    except ConfigError as error:
        return [f"NOT checked: {error.message}"]
    return [] if folder is None else clean_folder(handle, folder, ids)
