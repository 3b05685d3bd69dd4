"""Settings, and where a store is found.

Responsible for reading environment variables, and the files that say where a store is, what was set
for it and which stores are known; no other module reads them. Leaves opening a store and recording
a setting to ``compose``. Invariant: the same folder, home and environment always lead to the same
store.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from recollect import embedder_names
from recollect.errors import ConfigError, RecollectError
from recollect.store.disk.layout import CHOSEN, KEYS, KNOWN, PERSON, SETTINGS, is_empty, is_moved
from recollect.store.disk.regular_files import read_regular
from recollect.store.disk.repository import Repository, repository_of

if TYPE_CHECKING:  # a hook asks no model
    from recollect.propose.settings import ProposerSettings

Where = str | os.PathLike[str] | None  # a place as callers name it; None for the nearest one

FOLDER: Final = ".recollect"
IN_GIT: Final = "recollect"  # in the git folder that a repository's worktrees share
MEMORY: Final = ":memory:"
STORE_VARIABLE: Final = "RECOLLECT_STORE"
NAME_VARIABLE: Final = "RECOLLECT_NAME"
TOKEN_VARIABLE: Final = "RECOLLECT_TOKEN"  # noqa: S105 - a name, not a token
MCP_TOKEN_VARIABLE: Final = "RECOLLECT_MCP_TOKEN"  # noqa: S105 - a name, not a token
EMBEDDER_VARIABLE: Final = "RECOLLECT_EMBEDDER"
EMBEDDER_BEFORE_VARIABLE: Final = "RECOLLECT_EMBEDDER_BEFORE"
EMBEDDER_KEY_VARIABLE: Final = "RECOLLECT_EMBEDDER_KEY"
PROPOSER_VARIABLE: Final = "RECOLLECT_PROPOSER"
MASTER_KEY_VARIABLE: Final = "RECOLLECT_MASTER_KEY"
MASTER_KEY_COMMAND_VARIABLE: Final = "RECOLLECT_MASTER_KEY_COMMAND"
AUTO: Final = embedder_names.AUTO
NONE: Final = embedder_names.NONE
RECORDED_MAX_BYTES: Final = 65_536
KNOWN_MAX_BYTES: Final = 16_777_216
_NAME_MAX_BYTES: Final = 4_096


class Recorded(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings that are stored in a workspace."""

    embedder: str = AUTO
    # The embedder that answers until every text has a vector of the one above.
    before: str = ""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set, resolved."""

    where: str  # a folder, ":memory:" or a URL
    why: str  # how it was found, in words
    token: str | None = None  # the token for a server
    # "none", or one or more of "static", "model:NAME", "onnx:FOLDER", "https://HOST/v1#MODEL"
    embedder: str = AUTO
    before: str = ""  # the embedder that answers until every text has a vector of that one
    embedder_is_named: bool = False  # by an argument or a variable, not by a file
    embedder_key: str | None = None  # the API key of an endpoint
    # A sentence about a setting of the folder that is ignored, because only a person may choose it.
    ignored: str | None = None
    # Where this memory is moved when it is opened, because git could overwrite it in its old place.
    moves_to: str | None = None
    second: str | None = None  # another memory in the work tree, which is not used
    name: str | None = None  # of the person here; "" keeps every name out of the ledger
    # The file that must list this memory before an assistant sees it; None if named or own.
    known_in: str | None = None

    @property
    def is_service(self) -> bool:
        """True if this is the address of a service."""
        return self.where.startswith(embedder_names.ENDPOINTS)

    @property
    def folder(self) -> Path | None:
        """The folder on this machine; None for a server and for ``:memory:``."""
        return Path(self.where) if _is_folder(self.where) else None

    def __repr__(self) -> str:
        return f"Settings(where={shown(self.where)!r}, why={self.why!r})"


class _Location(NamedTuple):
    """A place, and how it was found."""

    where: str
    why: str
    moves_to: str | None = None
    second: str | None = None


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The places of the two memories that an assistant sees side by side."""

    project: Settings  # where it is, or would be made
    personal: Settings
    named: bool  # the place of the project's memory was given explicitly
    in_repository: bool = False  # the project is a git repository

    @property
    def is_one(self) -> bool:
        """True if the project's memory is the person's own."""
        return place_of(self.project.where) == place_of(self.personal.where)

    @property
    def writes_to_project(self) -> bool:
        """True if a write that names no memory goes to the project's, which it may create.

        In a repository it does, so that two projects never share a key. In any other folder it does
        only if the project has a memory: not every folder is a project.
        """
        if self.is_one:
            return False
        folder = self.project.folder
        return self.named or self.in_repository or folder is None or folder.is_dir()


def load(
    where: str | os.PathLike[str] | None = None,
    *,
    embedder: str = AUTO,
    token: str | None = None,
    start: Path | None = None,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings for a place that was named, or for the nearest one.

    Explicit, then ``RECOLLECT_STORE``, then the nearest up the tree: that of the git repository, in
    the folder that its worktrees share, or a ``.recollect/``; then the one in the home folder. The
    embedder is the explicit one, then ``RECOLLECT_EMBEDDER``, then what was recorded for the place.
    """
    variables = os.environ if environment is None else environment
    home = Path.home() if home is None else home
    found = _find(where, variables, start, home)
    if token is not None and (found.where == MEMORY or _is_folder(found.where)):
        raise ConfigError(f"{shown(found.where)} needs no token", hint="leave the token out")
    if token is not None:
        variables = {**variables, TOKEN_VARIABLE: token}
    is_named = where is not None or bool(variables.get(STORE_VARIABLE))
    is_own = is_named or place_of(found[0]) == place_of(home / FOLDER)
    return _settings(found, embedder, variables, home, None if is_own else known_file(home))


def _settings(
    found: _Location,
    embedder: str,
    variables: Mapping[str, str],
    home: Path,
    known_in: Path | None = None,
) -> Settings:
    """All settings of a place."""
    place = found.where
    is_folder = _is_folder(place)
    named = embedder if embedder != AUTO else variables.get(EMBEDDER_VARIABLE) or AUTO
    chosen, ignored, before = named, None, ""
    if named == AUTO and is_folder:
        chosen, ignored, before = _recorded_embedder(place, known_in)
    elif is_folder:
        with suppress(ConfigError):  # what was named is used all the same
            last, _, before = _recorded_embedder(place, known_in)
            before = before or last
    before = embedder_names.before(before, chosen, variables.get(EMBEDDER_BEFORE_VARIABLE))
    return Settings(
        where=place,
        why=found.why,
        token=None if is_folder else variables.get(TOKEN_VARIABLE) or None,
        embedder="+".join(embedder_names.embedders(chosen)),
        before=before,
        embedder_is_named=named != AUTO,
        embedder_key=variables.get(EMBEDDER_KEY_VARIABLE) or None,
        ignored=ignored,
        moves_to=found.moves_to,
        second=found.second,
        name=person(variables, home),
        known_in=None if known_in is None else str(known_in),
    )


def person(environment: Mapping[str, str], home: Path) -> str | None:
    """What the person here is called; an empty variable keeps every name out of the ledger."""
    if NAME_VARIABLE in environment:
        return _own_name(environment[NAME_VARIABLE]) or ""
    file = known_file(home).with_name(PERSON)
    with suppress(OSError, ValueError, RecollectError):
        return _own_name(read_regular(file, _NAME_MAX_BYTES).decode())
    return None


def _own_name(text: str) -> str | None:
    if text.strip() not in ("", "-"):
        from recollect.model import validate  # a hook that names nobody does without it

        return validate.own_name(text.rstrip("\n"))
    return None


def _find(where: Where, variables: Mapping[str, str], start: Path | None, home: Path) -> _Location:
    """The place, and how it was found."""
    if where is not None:
        if not isinstance(where, str | os.PathLike):
            raise ConfigError(
                f"a store cannot be opened at {repr(where)[:80]}",
                hint="name a folder, :memory: or a postgresql:// address",
            )
        return _Location(_named(os.fspath(where)), "named")
    if variables.get(STORE_VARIABLE):
        return _Location(_named(variables[STORE_VARIABLE]), f"from {STORE_VARIABLE}")
    return _nearest(Path.cwd() if start is None else start, home) or _home(home)


def places(
    where: str | os.PathLike[str] | None = None,
    *,
    start: Path | None = None,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Places:
    """The project's memory, which may not be there yet, and the one in the home folder.

    A project without one would get it in its repository's git folder, or where it was asked.
    """
    variables = os.environ if environment is None else environment
    start = Path.cwd() if start is None else start
    home = Path.home() if home is None else home
    named = where is not None or bool(variables.get(STORE_VARIABLE))
    found = _find(where, variables, start, home) if named else _of_project(start, home)
    known_in = None if named else known_file(home)
    return Places(
        project=_settings(found, AUTO, variables, home, known_in),
        personal=_settings(_home(home), AUTO, variables, home),
        named=named,
        in_repository=not named and _repository_of_project(start, home) is not None,
    )


def project(
    start: Path,
    *,
    embedder: str = AUTO,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The memory of the project that a folder belongs to, where it is or would be made."""
    variables = os.environ if environment is None else environment
    home = Path.home() if home is None else home
    found = _of_project(start, home)
    is_own = place_of(found.where) == place_of(home / FOLDER)
    return _settings(found, embedder, variables, home, None if is_own else known_file(home))


def proposer(
    named: str | None = None, environment: Mapping[str, str] | None = None
) -> ProposerSettings | None:
    """The proposer that was named, or the one in ``RECOLLECT_PROPOSER``; None if there is none.

    It gets the texts of a memory, so no file can choose it.
    """
    variables = os.environ if environment is None else environment
    words = named or variables.get(PROPOSER_VARIABLE) or NONE
    if words == NONE:
        return None
    from recollect.propose.settings import read

    return read(words, variables)


def mcp_token(environment: Mapping[str, str] | None = None) -> str | None:
    """The token that HTTP clients must send, if one is set."""
    variables = os.environ if environment is None else environment
    return variables.get(MCP_TOKEN_VARIABLE) or None


def own_variables() -> dict[str, str]:
    """Every variable of the environment with this program's prefix."""
    return {name: text for name, text in os.environ.items() if name.startswith("RECOLLECT_")}


def config_home(
    *,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
    platform: str = sys.platform,
) -> Path:
    """The folder in which programs keep a person's settings on this system."""
    variables = os.environ if environment is None else environment
    home = Path.home() if home is None else home
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(variables.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(variables.get("XDG_CONFIG_HOME") or home / ".config")


def _of_project(start: Path, home: Path) -> _Location:
    """Where a project's store is, or would be made."""
    shared = _shared(start, home)
    if shared is not None and shared.common is not None:
        return _nearest(start, home) or _Location(str(shared.common / IN_GIT), f"for {shared.root}")
    root = project_root(start, home)
    return _nearest(start, home) or _Location(str(root / FOLDER), f"for {root}")


def _nearest(start: Path, home: Path) -> _Location | None:
    """The nearest store of a project. The one in the home folder is the fallback, not a match."""
    shared = _shared(start, home)
    of_repository = None if shared is None else _in_repository(shared)
    for folder in (start, *start.parents):
        if shared is not None and folder == shared.root and of_repository is not None:
            return of_repository
        place = folder / FOLDER
        if place.is_dir() and not _is_same(folder, home) and not is_moved(place):
            is_below = shared is not None and folder.is_relative_to(shared.tree)
            if of_repository is None or (is_below and _has_listed(place, home)):
                return _Location(str(place), f"nearest to {start}")
        if shared is not None and folder == shared.tree and of_repository is not None:
            return of_repository
    return None


def _shared(start: Path, home: Path) -> Repository | None:
    """The repository around a folder, if it has a folder for all its worktrees and is not home."""
    found = repository_of(start)
    if found is None or found.common is None or _is_same(found.root, home):
        return None
    return found


def _in_repository(shared: Repository) -> _Location | None:
    """The store of a repository: in its git folder, or where an earlier release put it."""
    if shared.common is None:
        return None
    inside, old = shared.common / IN_GIT, shared.root / FOLDER
    has_old = old.is_dir() and not is_moved(old)
    if os.path.lexists(inside):
        second = str(old) if has_old and not is_empty(old) else None
        return _Location(str(inside), "of the git repository", second=second)
    if has_old:
        moves_to = None if old.is_symlink() else str(inside)
        return _Location(str(old), "of the git repository", moves_to)
    return None


def _has_listed(place: Path, home: Path) -> bool:
    """True if this person created or adopted a memory in this folder."""
    listed = known(known_file(home))
    here = place_of(place)
    return any(each == here or each.startswith(f"{here}/") for each in listed)


def _home(home: Path) -> _Location:
    return _Location(str(home / FOLDER), "in the home folder")


def recorded(folder: Path) -> Recorded:
    """The settings stored in a workspace; the defaults if there are none."""
    path = folder / SETTINGS
    try:
        return msgspec.json.decode(read_regular(path, RECORDED_MAX_BYTES), type=Recorded)
    except OSError:
        return Recorded()  # missing, or unreadable: opening the folder reports that
    except ValueError as error:  # also for bytes that are not UTF-8
        raise ConfigError(
            f"{path} could not be parsed: {error}",
            hint="delete it; the settings in it are then chosen again",
        ) from error


def load_recorded(settings: Settings) -> Recorded:
    """What was recorded for the place of these settings, as far as it counts."""
    known_in = None if settings.known_in is None else Path(settings.known_in)
    chosen, _, before = _recorded_embedder(settings.where, known_in)
    return Recorded(chosen, before)


def _recorded_embedder(place: str, known_in: Path | None) -> tuple[str, str | None, str]:
    """The embedder that was recorded for a place, a sentence if it is ignored, and the one before.

    A folder that was found by searching may come from anyone: a model in it would be run, and a
    malformed file would stop every command. So a person's choice for it is kept in a list in the
    home folder.
    """
    if known_in is None:
        found = recorded(Path(place))
        return found.embedder, None, found.before
    mine = known(known_in.with_name(CHOSEN)).get(place_of(place))
    if mine is not None:
        chosen, _, before = mine.partition("\n")
        return chosen, None, before
    try:
        found = recorded(Path(place))
    except ConfigError:
        return AUTO, f"{SETTINGS} in the memory's folder cannot be read and was ignored", ""
    if embedder_names.is_free(found.embedder):
        return found.embedder, None, found.before if embedder_names.is_free(found.before) else ""
    told = (
        f"{SETTINGS} in the memory's folder names an embedder that is used only if you choose it: "
        "`recollect admin embed --embedder NAME`"
    )
    return AUTO, told, ""


def known_file(home: Path | None = None) -> Path:
    """The list of memories that this person created or adopted on this machine."""
    return (Path.home() if home is None else home) / FOLDER / KNOWN


def keys_folder(home: Path | None = None) -> Path:
    """Where this person's keys are: never in the workspace whose ledger they sign."""
    return (Path.home() if home is None else home) / FOLDER / KEYS


def master_key() -> tuple[Path, str | None, str | None]:
    """This person's folder, and what the environment says about the key that wraps others."""
    names = (MASTER_KEY_VARIABLE, MASTER_KEY_COMMAND_VARIABLE)
    given, command = (os.environ.get(name) or None for name in names)
    return Path.home() / FOLDER, given, command


def known(file: Path) -> dict[str, str]:
    """Maps places to the hash of their first event; empty if the list cannot be read."""
    try:
        return msgspec.json.decode(read_regular(file, KNOWN_MAX_BYTES), type=dict[str, str])
    except (OSError, ValueError):  # also for bytes that are not UTF-8
        return {}


def place_of(folder: str | Path) -> str:
    """The real path of a folder: links above it are resolved, but not the folder itself."""
    parent, name = os.path.split(folder)
    return os.path.join(os.path.realpath(parent), name)


def _is_same(one: str | Path, other: str | Path) -> bool:
    """True if both are the same folder; a home folder is often a link."""
    return os.path.realpath(one) == os.path.realpath(other)


def project_root(start: Path, home: Path) -> Path:
    """The root of the git repository around a folder, or else the folder itself.

    A home folder under git (for dotfiles, say) does not make everything in it one project.
    """
    found = _repository_of_project(start, home)
    return start if found is None else found.root


def _repository_of_project(start: Path, home: Path) -> Repository | None:
    """The git repository around a folder, unless it is the home folder."""
    found = repository_of(start)
    return None if found is None or _is_same(found.root, home) else found


def shown(where: str) -> str:
    """A place without the user and password that an address may contain."""
    scheme, slashes, rest = where.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if slashes else where


def _named(where: str) -> str:
    if not where:
        raise ConfigError("the address of the store is empty", hint="name a folder")
    if not _is_folder(where):
        return where
    try:
        folder = Path(where).expanduser().absolute()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            folder.stat()  # raises if no file system takes the name
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"a store cannot be opened at {where[:80]!r}: {reason}", hint="name another folder"
        ) from error
    return str(folder)


def _is_folder(where: str) -> bool:
    """True if a place is a folder on this machine. Nothing else in the package asks the text."""
    return where != MEMORY and "://" not in where
