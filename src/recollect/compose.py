"""From settings to an engine, its embedders and a proposer: the only module that names them.

Responsible for choosing and creating them, and for recording a choice. Leaves everything else to
them. Invariants: nothing is read or written before the first use of a space; no embedder is loaded
before a vector is needed; texts are sent to another machine only if this process was told to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from recollect import config
from recollect import embedder_names as names
from recollect.config import MEMORY, Recorded, Settings, keys_folder, known_file, shown
from recollect.errors import ConfigError, RecollectError, Unavailable, Unsupported
from recollect.model import validate
from recollect.model.values import Migrated, Vacuumed
from recollect.places import models
from recollect.store.disk.layout import CHOSEN, ERASED, PERSON, SETTINGS, SUBJECTS
from recollect.store.disk.regular_files import read_regular
from recollect.store.port import Backend, Progress, Space
from recollect.store.seam import REAL, Seam

if TYPE_CHECKING:  # drivers and encoders are loaded only when used
    from recollect.embed.port import Embedder
    from recollect.propose.port import Proposer
    from recollect.propose.settings import ProposerSettings
    from recollect.store.erased_lists import ErasedLists
    from recollect.store.keys.master_key import MasterKey
    from recollect.store.keys.subjects import SubjectKeys

_SERVERS: Final = ("postgres", "postgresql")


def open_backend(settings: Settings, seam: Seam = REAL) -> Backend:
    """The engine that these settings ask for."""
    if settings.where == MEMORY:
        from recollect.store.indexed.backend import MemoryBackend

        return MemoryBackend(seam=seam)
    folder = settings.folder
    if folder is None:
        return _server(settings, seam) if _is_server(settings) else _foreign(settings, seam)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file", hint="name a folder")
    from recollect.store.files.backend import FileBackend

    return FileBackend(
        folder,
        seam=seam,
        keys=_subject_keys(seam),
        note_erased=_note_erased(seam),
    )


def scratch_space(name: str, seam: Seam = REAL) -> Space:
    """An empty space in this process, to fold another ledger in."""
    from recollect.store.indexed.backend import MemorySpace

    return MemorySpace(name, seam)


def _subject_keys(seam: Seam) -> Callable[[str], SubjectKeys]:
    """Where the keys of the subjects of a ledger are: with this person, not in the workspace."""

    def keys(ledger: str) -> SubjectKeys:
        from recollect.store.keys.subject_keys import FileKeys

        folder = config.master_key()[0]
        return FileKeys(folder / SUBJECTS, ledger, _master_key(seam), seam)

    return keys


def _master_key(seam: Seam) -> Callable[[bool], bytes]:
    """The master key of this person, got when it is first needed."""

    @cache
    def made() -> MasterKey:
        from recollect.store.keys.master_key import MasterKey

        return MasterKey(*config.master_key(), seam)

    def key(create: bool) -> bytes:
        return made()(create)

    return key


def erased_list(seam: Seam = REAL) -> ErasedLists:
    """Which events were erased on this machine: numbers and hashes, for backups of before."""
    from recollect.store.erased_lists import ErasedLists

    return ErasedLists(config.master_key()[0] / ERASED, seam)


def _note_erased(seam: Seam) -> Callable[[str, Mapping[int, str]], None]:
    """Keeps in that list what was erased in a ledger."""
    return lambda first, erased: erased_list(seam).add(first, erased)


def _foreign(settings: Settings, seam: Seam) -> Backend:
    """The engine of another package; built-in schemes never get here."""
    if settings.is_service:
        raise Unsupported(
            f"{shown(settings.where)} is the address of a service",
            hint="name the folder or database behind it",
        )
    from recollect.store.engines import Opening, open_engine

    opening = Opening(
        where=settings.where, seam=seam, keys=_subject_keys(seam), note_erased=_note_erased(seam)
    )
    return open_engine(opening, settings.token)


def _server(settings: Settings, seam: Seam) -> Backend:
    """The database at an address."""
    try:
        from recollect.store.postgres.ledgers import PostgresBackend
    except ImportError as error:
        raise _no_driver() from error
    from recollect.store.postgres.subjects import Keeping

    keeping = Keeping(
        master=_master_key(seam),
        copies=_subject_keys(seam),
        note_erased=_note_erased(seam),
    )
    if not settings.token:
        return PostgresBackend(settings.where, seam=seam, keeping=keeping)
    backend = PostgresBackend(settings.where, seam=seam, keeping=keeping, may_make=False)
    return backend.entered_alone(settings.token)


def _no_driver() -> Unsupported:
    return Unsupported(
        "the driver for PostgreSQL is not installed",
        hint="install it with: pip install 'recollect[postgres]'",
    )


def migrate(settings: Settings) -> Migrated:
    """Brings a database on a server to this release."""
    _check_server(settings, "migrate")
    try:
        from recollect.store.postgres.schema import migrate as bring
    except ImportError as error:
        raise _no_driver() from error
    return bring(settings.where)


def vacuum(settings: Settings, progress: Progress | None = None) -> Vacuumed:
    """Rewrites a server's tables, so that no page contains erased bytes."""
    _check_server(settings, "vacuum")
    try:
        from recollect.store.postgres.vacuum import vacuum as write_again
    except ImportError as error:
        raise _no_driver() from error
    return write_again(settings.where, progress)


def _check_server(settings: Settings, verb: str) -> None:
    if not _is_server(settings):
        raise ConfigError(
            f"{verb} needs a database server, but the store is {shown(settings.where)}",
            hint="name a database with --store postgresql://...",
        )


def _is_server(settings: Settings) -> bool:
    return settings.where.partition("://")[0] in _SERVERS


def restore_backup(backup: Path, settings: Settings, seam: Seam = REAL) -> str:
    """Restores a backup as a space of a workspace; returns the name of the space."""
    from recollect.store.backup import read_manifest
    from recollect.store.checkpoints.seen_heads import forget
    from recollect.store.files.backend import FileBackend
    from recollect.store.files.copies import restore

    backend = open_backend(settings, seam)
    if not isinstance(backend, FileBackend):
        raise Unsupported(
            "a backup can only be restored into a folder",
            hint="restore it into one, then `recollect admin push` it to this place",
        )
    name = read_manifest(backup).space
    try:
        keys, erased = _subject_keys(seam), erased_list(seam)
        restore.restore_backup(backup, backend.folder_of(name), seam, keys, erased.of)
        forget(backend.space(name, create=False), keys_folder(), seam)
    except OSError as error:
        raise Unavailable(
            f"the backup could not be restored: {error}",
            hint="check both folders and the free disk space, then restore into another folder",
        ) from error
    return name


class Embedders:
    """The embedders of one store, each created when a vector is first needed."""

    def __init__(self, settings: Settings, seam: Seam = REAL) -> None:
        self.settings = settings
        self._seam = seam
        self._made: dict[str, Embedder] | None = None
        self._missing: tuple[str, ...] = ()
        self._before: tuple[Embedder, ...] | None = None

    def ready(self) -> tuple[Embedder, ...]:
        """The embedders that this process can use."""
        return tuple(self._all().values())

    def before(self) -> tuple[Embedder, ...]:
        """Those that were used before, until the vectors of the new ones are there.

        Loaded when first asked for. One that cannot be loaded any more is left out.
        """
        if self._before is None:
            made = []
            named = structs.replace(self.settings, embedder_is_named=True)  # in the environment
            for word in names.embedders(self.settings.before) if self.settings.before else []:
                with suppress(RecollectError):
                    made.append(_embedder(word, named))
            self._before = tuple(made)
        return self._before

    def static(self) -> Embedder | None:
        """The embedder whose vectors cost next to nothing, if it is one of them."""
        is_one = self._made is not None or names.STATIC in self._words()
        return self._all().get(names.STATIC) if is_one else None

    def available(self) -> tuple[tuple[Embedder, ...], tuple[str, ...]]:
        """Those embedders, and what an answer should say: what is ignored and what is missing."""
        ignored = (self.settings.ignored,) if self.settings.ignored else ()
        return self.ready(), (*ignored, *self.missing())

    def missing(self) -> tuple[str, ...]:
        """A sentence, with the next step, for each embedder that it cannot use."""
        self._all()
        return self._missing

    def _all(self) -> dict[str, Embedder]:
        if self._made is None:
            made, missing = {}, []
            for word in self._words():
                try:
                    if word != names.NONE:
                        made[word] = _embedder(word, self.settings)
                except RecollectError as error:
                    missing.append(f"recall uses full text only, without {word}: {error}")
            self._made, self._missing = made, tuple(missing)
        return self._made

    def _words(self) -> list[str]:
        return names.embedders(record_embedder(self.settings, seam=self._seam))


def require_usable(settings: Settings) -> None:
    """Refuses an embedder that this process cannot use, with the next step."""
    lacking = Embedders(settings).missing()
    if lacking:
        raise Unsupported(lacking[0], hint="or choose another with --embedder")


def proposer(settings: ProposerSettings, seam: Seam = REAL) -> Proposer:
    """The proposer that these settings name."""
    from recollect.propose.chat import MAX_CALLS, MAX_TOKENS, ChatProposer

    return ChatProposer(
        settings.url,
        settings.model,
        settings.key,
        max_calls=settings.max_calls or MAX_CALLS,
        max_tokens=settings.max_tokens or MAX_TOKENS,
        seam=seam,
    )


class Searching(msgspec.Struct, frozen=True):
    """What recall searches with, and what to do if that is words alone or not all of it."""

    embedder: str
    by_words: bool = False
    next_step: str | None = None  # a part of a sentence
    lacking: str | None = None  # what is missing of what was chosen, with the next step

    def __str__(self) -> str:
        if not self.by_words:
            but = f", but {self.lacking}" if self.lacking else ""
            return f"search is by words and by meaning ({self.embedder}){but}"
        if self.lacking:
            return f"search is by words alone: {self.lacking}"
        return f"search is by words alone; to search by meaning too, {self.next_step}"


def searching(settings: Settings) -> Searching:
    """What recall searches with at a place, as far as it is installed; nothing is loaded."""
    chosen = _resolved(settings)
    if chosen == names.NONE:
        install, able = _install("encoder"), _installed() != names.NONE
        then = "run `recollect admin embed`" if able else f"{install}, then `recollect admin embed`"
        return Searching(chosen, by_words=True, next_step=then)
    steps = {word: _step(word, settings) for word in names.embedders(chosen)}
    lacking = {word: step for word, step in steps.items() if step is not None}
    if len(lacking) == len(steps):
        return Searching(chosen, by_words=True, next_step=next(iter(lacking.values())))
    said = "; ".join(f"{word} cannot be used: {step}" for word, step in lacking.items())
    return Searching(chosen, lacking=said or None)


def _step(word: str, settings: Settings) -> str | None:
    """What to do before an embedder can be used; None if it can, as far as one sees."""
    if word == names.STATIC:
        return None if _has_static() else _install("local")
    if word.startswith(names.MODEL):
        return models.step(word.removeprefix(names.MODEL))
    if word.startswith(names.ONNX):
        if not models.has_runtime():
            return _install("onnx")
        folder = Path(word.removeprefix(names.ONNX))
        is_there = any(folder.glob("*.onnx")) or any(folder.glob("onnx/*.onnx"))
        return None if is_there else f"put an exported encoder into {folder}"
    if not _has("numpy"):
        return _install("local")
    return None if settings.embedder_is_named else f"name it in {config.EMBEDDER_VARIABLE}"


def _install(extra: str) -> str:
    return f"run `pip install 'recollect[{extra}]'`"


def _resolved(settings: Settings) -> str:
    if settings.embedder != names.AUTO:
        return settings.embedder
    return _installed()


def _installed() -> str:
    """What ``auto`` stands for: everything that came with a package, so nothing is fetched."""
    word = names.MODEL + models.DEFAULT
    found = [names.STATIC] if _has_static() else []
    if models.has_runtime() and models.packaged() is not None:
        found.append(word)
    return "+".join(found) or names.NONE


def record_embedder(
    settings: Settings, *, replace: bool = False, done: bool = False, seam: Seam = REAL
) -> str:
    """The embedder of a place: ``auto`` is resolved once, and the first choice is kept.

    With ``replace`` the choice in the settings replaces the recorded one, which is used until the
    vectors of the new one are ``done``; then a file that cannot be changed without losing
    something is an error.
    """
    chosen = _resolved(settings)
    before = "" if done or not replace else _before(settings, chosen)
    folder = settings.folder
    if folder is not None and folder.is_dir():
        # A read-only disk can still be read.
        with suppress(OSError, *(() if replace else (ConfigError,))):
            if replace or not (folder / SETTINGS).exists():
                _record(folder / SETTINGS, Recorded(chosen, before), seam)
                _record_choice(settings, Recorded(chosen, before), seam)
    return chosen


def _before(settings: Settings, chosen: str) -> str:
    """The last embedder of a place whose vectors were all made, if that is another one."""
    with suppress(ConfigError):
        now = config.load_recorded(settings)
        if names.NONE != chosen != (last := now.before or now.embedder):
            return "" if last in (names.AUTO, names.NONE) else last
    return ""


def record_person(name: str, seam: Seam = REAL) -> None:
    """Keeps what the person here is called; with an empty name they are not asked again."""
    from recollect.store.disk.disk import make_folder, replace_file

    name = validate.own_name(name) if name.strip() else ""
    file = known_file().with_name(PERSON)
    try:
        make_folder(seam, file.parent)
        replace_file(seam, file, [f"{name}\n".encode()])
    except OSError as error:
        raise ConfigError(
            f"{file} could not be written: {error.strerror}",
            hint="set RECOLLECT_NAME to your name instead",
        ) from error


def _record(file: Path, chosen: Recorded, seam: Seam) -> None:
    """Writes the choice; what else the file says stays. Another program's file is refused."""
    from recollect.store.disk.disk import replace_file

    kept = {name: value for name, value in _parts(file).items() if name != "before"}
    data = msgspec.json.encode({**kept, **msgspec.to_builtins(chosen)})
    replace_file(seam, file, [data])


def _parts(file: Path) -> dict[str, msgspec.Raw]:
    """Everything that a file of settings says, to be written again with a change.

    A file without one of ours is another program's, which is not overwritten.
    """
    try:
        data = read_regular(file, config.RECORDED_MAX_BYTES)
        found = msgspec.json.decode(data or b"{}", type=dict[str, msgspec.Raw])
    except FileNotFoundError:
        return {}
    except ValueError:  # also for bytes that are not UTF-8
        found = None
    if found is None or (found and not found.keys() & set(Recorded.__struct_fields__)):
        raise ConfigError(
            f"{file} is not a file of Recollect, so it was not changed",
            hint="move it away, or use another folder for the memory",
        )
    return found


def _record_choice(settings: Settings, made: Recorded, seam: Seam) -> None:
    """Records the choice for a folder that is found by searching in the person's own list."""
    if settings.known_in is None:
        return
    from recollect.places import known
    from recollect.store.disk.disk import alone, replace_file
    from recollect.store.files.backend import make_workspace

    file = Path(settings.known_in).with_name(CHOSEN)
    place, before = config.place_of(settings.where), config.known(file)
    chosen = f"{made.embedder}\n{made.before}" if made.before else made.embedder
    is_free = names.is_free(made.embedder) and (not made.before or names.is_free(made.before))
    if before.get(place, names.AUTO) == chosen or (is_free and place not in before):
        return  # a folder may choose this by itself
    make_workspace(file.parent, seam)
    with alone(seam, file.parent):
        listed = {**known.listed(file), place: chosen}
        replace_file(seam, file, [msgspec.json.format(msgspec.json.encode(listed)), b"\n"])


def _has_static() -> bool:
    return _has("numpy", "tokenizers", "wordllama")


def _has(*names: str) -> bool:
    return all(find_spec(name) is not None for name in names)


@cache
def _sentences(folder: Path) -> Embedder:
    """One for the whole process, as below."""
    from recollect.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(folder)


@cache
def _static() -> Embedder:
    """One for the whole process: loading its vocabulary takes a while."""
    from recollect.embed.static import StaticEmbedder

    return StaticEmbedder()


def _embedder(word: str, settings: Settings) -> Embedder:
    """The embedder that a setting names."""
    if find_spec("numpy") is None:
        raise Unsupported(
            "numpy is not installed", hint="install it with: pip install 'recollect[local]'"
        )
    if word == names.STATIC:
        return _static()
    if word.startswith(names.ONNX):
        from recollect.embed.onnx import OnnxEmbedder

        return OnnxEmbedder(Path(word.removeprefix(names.ONNX)))
    if word.startswith(names.MODEL):
        return _sentences(models.required(word.removeprefix(names.MODEL)))
    url, _, model = word.partition("#")
    if not settings.embedder_is_named:
        raise Unavailable(
            f"this memory uses the remote embedder {url}, which this process has not enabled",
            hint=f"name it in {config.EMBEDDER_VARIABLE}, with its key in "
            f"{config.EMBEDDER_KEY_VARIABLE}",
        )
    from recollect.embed.endpoint import EndpointEmbedder

    return EndpointEmbedder(url, model, settings.embedder_key)
