"""The door for engines of other packages: one is found by the scheme of an address.

A package names its engine among the entry points of the group ``recollect.engines``; the name is
the scheme, the value a function from ``Opening`` to a store. Responsible for finding that function,
calling it and refusing what is not a store. Leaves what a store must do to ``store.port``, and
which schemes are built in to ``compose``. Invariant: nothing of a package is imported unless an
address with its scheme was named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from inspect import getattr_static
from typing import Final

import msgspec

from recollect.errors import ConfigError, RecollectError, Unsupported
from recollect.store.entered import EnteredBackend, Local
from recollect.store.keys.subjects import SubjectKeys
from recollect.store.port import Backend
from recollect.store.seam import REAL, Seam

GROUP: Final = "recollect.engines"
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")
_USE: Final = "use a folder or a postgresql:// address, or install the package that has this engine"
_WANTED: Final = sorted(
    name for port in (Backend, Local) for name in vars(port) if not name.startswith("_")
)


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine gets when a store is opened."""

    where: str  # the whole address, as it was given
    seam: Seam = REAL  # the clock and chance
    keys: Callable[[str], SubjectKeys] | None = None  # of a ledger's subjects, with this person
    # Notes on this machine what was erased in a ledger, for backups of before.
    note_erased: Callable[[str, Mapping[int, str]], None] | None = None

    @property
    def path(self) -> str:
        """The address without its scheme."""
        return self.where.partition("://")[2]

    def __repr__(self) -> str:
        return f"Opening({self.where.partition('://')[0]}://…)"  # it may contain a password


def open_engine(opening: Opening, token: str | None = None) -> Backend:
    """The store at an address of another package's engine, for its owner or a token's holder."""
    entry = _entry(opening.where.partition("://")[0])
    store = _opened(entry, opening)
    if token is None:
        return store
    return EnteredBackend(store, token, store.space, close=store.close)


def _entry(scheme: str) -> EntryPoint:
    """The only engine for a scheme."""
    named = scheme if _SCHEME.fullmatch(scheme) else ""
    found: list[EntryPoint] = [*entry_points(group=GROUP, name=named)] if named else []
    if not found:
        raise Unsupported(f"no installed engine opens {scheme}:// addresses", hint=_USE)
    if len(found) > 1:
        who = " and ".join(sorted(_package(one) for one in found))
        raise ConfigError(
            f"{len(found)} engines are installed for {scheme}://: of {who}",
            hint="uninstall all but the one that wrote the memory",
        )
    return found[0]


def _opened(entry: EntryPoint, opening: Opening) -> Local:
    engine = f"the engine for {entry.name}:// ({_package(entry)})"
    try:
        make = entry.load()
    except Exception as error:
        raise Unsupported(
            f"{engine} could not be loaded: {_told(error)}",
            hint="install what it needs, or another release of it",
        ) from error
    try:
        store: Local = make(opening)
    except RecollectError:
        raise
    except Exception as error:
        raise Unsupported(
            f"{engine} failed: {_told(error)}",
            hint="tell its authors; your memory was not opened",
        ) from error
    lacking = [name for name in _WANTED if getattr_static(store, name, None) is None]
    if lacking:
        raise Unsupported(
            f"{engine} did not open a store: {type(store).__name__} lacks {', '.join(lacking)}",
            hint="use the release of it that was made for this release of Recollect",
        )
    return store


def _package(entry: EntryPoint) -> str:
    """Who brought an entry point."""
    return "an unnamed package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
