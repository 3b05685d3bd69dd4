"""Where a person keeps the pages of each memory, if not beside it.

Responsible for that choice, in a list of the person's own. Leaves writing pages to ``store.pages``.
Invariants: nothing in the memory's folder or in a project counts as a choice, so a clone cannot
make pages be written anywhere; the choice is for the memory with that first event; a folder that
has become a link, or lies behind one, is refused.
"""

from __future__ import annotations

import os
from pathlib import Path

from recollect import config
from recollect.config import Settings
from recollect.errors import ConfigError
from recollect.places import known
from recollect.store.disk.layout import PAGES_CHOSEN, folder_of
from recollect.store.seam import REAL, Seam

_SERVER = "-"  # in place of the first event, for a memory that is not in a folder


def chosen(settings: Settings, space: str = "main") -> Path | None:
    """The folder that a person chose for the pages of a memory."""
    found = config.known(known.list_of(settings, PAGES_CHOSEN)).get(_key(settings, space), "")
    first, _, folder = found.partition(" ")
    if not folder or first != _first(settings, space):
        return None
    if os.path.realpath(folder) != folder:
        raise ConfigError(
            f"the folder of the pages, {folder}, leads elsewhere now",
            hint="run `recollect pages sync FOLDER` with the folder that you want",
        )
    return Path(folder)


def choose(settings: Settings, space: str, folder: Path, seam: Seam = REAL) -> None:
    """Records the choice. Call it only when a person asked for it."""
    first = _first(settings, space)
    if first is None:
        return
    file, key = known.list_of(settings, PAGES_CHOSEN), _key(settings, space)
    entry = f"{first} {os.path.realpath(folder)}"
    if config.known(file).get(key) != entry:
        with known.lock(settings, seam):
            known.write({**known.listed(file), key: entry}, file, seam)


def _key(settings: Settings, space: str) -> str:
    if settings.folder is None:
        return f"{config.shown(settings.where)} {space}"
    return known.place(settings, space)


def _first(settings: Settings, space: str) -> str | None:
    if settings.folder is None:
        return _SERVER
    return known.first_hash(folder_of(Path(settings.where), space))
