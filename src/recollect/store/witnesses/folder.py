"""A witness in a folder: another disk, a git work tree, a store that can only be added to.

    FOLDER/witness.pub                         its public key
    FOLDER/logs/HASH/log.keys                  the pinned keys of one log; HASH is of its name
    FOLDER/logs/HASH/checkpoints/SIZE.note     each checkpoint that was cosigned
    FOLDER/logs/HASH/seen/SIZE                 that it was, also if its note is lost

Responsible for what these files say, and for the lock between processes. Leaves reading and writing
them to ``store.witnesses.files``, and the rule to ``proof.witness``. Its private key is not in the
folder, which may be copied or published: it lies with the keys of the person who runs the witness.
Invariants: a checkpoint is on the disk before its cosignature is handed out; no note is ever
written again; one that is lost or cannot be read stops the witness; nothing is shown of the folder
but a note of a pinned log that this witness has cosigned.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError, IntegrityError, InvalidInput, NotFound, Unavailable
from recollect.model.instants import to_microseconds
from recollect.proof.checkpoints import Checkpoint, parse_text
from recollect.proof.keys import LOG, PrivateKey, PublicKey, parse_key, signers
from recollect.proof.notes import BadNote, Note, parse, render
from recollect.proof.witness import Accepted, Answer, Cosigned, Request, judge, unknown
from recollect.store import posix
from recollect.store.disk.disk import make_folder, sync_folder
from recollect.store.disk.layout import CHECKPOINTS, LOG_KEYS, LOGS, WITNESS_KEY
from recollect.store.seam import Seam
from recollect.store.witnesses.files import Notes, check_no_link, read_plain, write_plain

_MOST_BYTES: Final = 1 << 20
_LOCK_MAX_S: Final = 10.0
_LOCK_AGAIN_S: Final = 0.01
_US: Final = 1_000_000


class FolderWitness:
    """A witness whose memory is a folder. Without its private key it can only be read."""

    def __init__(
        self, folder: Path, key: PublicKey, seam: Seam, private: PrivateKey | None = None
    ) -> None:
        self.folder = folder
        self._key, self._private = key, private
        self._seam = seam

    @property
    def key(self) -> PublicKey:
        """The key with which it cosigns."""
        return self._key

    def add(self, request: Request) -> Answer:
        """Cosigns the checkpoint of a request, or says why not."""
        own = self._private
        if own is None:
            raise NotFound(
                f"the private key of the witness {self._key.name} is not on this machine",
                hint="ask there where it is run",
            )
        origin = request.checkpoint.origin
        with self._ours():
            pinned = self.pinned(origin)
            if not pinned:
                return unknown(origin)
            with self._alone(origin):
                return self._answer(request, pinned, own)

    def _answer(self, request: Request, pinned: list[PublicKey], own: PrivateKey) -> Answer:
        origin = request.checkpoint.origin
        # A process that was killed may have left a note whose name is not on the disk yet.
        self._sync(self._log(origin))
        latest = self._latest(origin, pinned)
        decision = judge(request, pinned, latest)
        if not isinstance(decision, Accepted):
            return decision
        text = decision.note.text
        signature = own.cosign(text, to_microseconds(self._seam.now()) // _US)
        if latest is None or latest.size < decision.checkpoint.size:
            note = Note(text, (*decision.note.signatures, signature))
            self._notes(origin).keep(decision.checkpoint.size, render(note))
        self._notes(origin).mark(decision.checkpoint.size)
        return Cosigned((signature,))

    def latest(self, origin: str) -> bytes | None:
        """The last checkpoint of a log that it cosigned."""
        return self.latest_by_hash(_hash(origin))

    def latest_by_hash(self, digest: str) -> bytes | None:
        """The last checkpoint of the pinned log whose name has this SHA-256."""
        log = self.folder / LOGS / digest
        with self._ours():
            pinned = [key for key in self._keys_in(log) if _hash(key.name) == digest]
            if not pinned:
                return None
            if self._private is not None:
                self._sync(log)  # nobody may be shown what a crash could take back
            found = self._last_note(pinned[0].name, pinned)
            return None if found is None else render(found[1])

    def pinned(self, origin: str) -> list[PublicKey]:
        """The keys of a log whose checkpoints are cosigned; none if it is not known here."""
        with self._ours():
            return self._keys_in(self._log(origin))

    def logs(self) -> list[str]:
        """The names of the logs whose checkpoints are cosigned."""
        with self._ours():
            check_no_link(self.folder, self.folder / LOGS)
            try:
                found = sorted(os.listdir(self.folder / LOGS))
            except FileNotFoundError:
                return []
            keys = [(each, self._keys_in(self.folder / LOGS / each)) for each in found]
        return [*dict.fromkeys(k.name for each, of in keys for k in of if _hash(k.name) == each)]

    def _keys_in(self, log: Path) -> list[PublicKey]:
        path = log / LOG_KEYS
        try:
            raw = read_plain(self.folder, path, _MOST_BYTES)
        except FileNotFoundError:
            return []
        return [_key_in(path, line) for line in raw.decode(errors="replace").splitlines() if line]

    def pin(self, keys: Iterable[PublicKey]) -> None:
        """Lets checkpoints of these logs be cosigned from now on."""
        for key in keys:
            check_log(key)
            with self._ours():
                check_no_link(self.folder, self._log(key.name))
                make_folder(self._seam, self._log(key.name))
                with self._alone(key.name):
                    lines = dict.fromkeys([*map(str, self.pinned(key.name)), str(key)])
                    data = "".join(f"{line}\n" for line in lines).encode()
                    path = self._log(key.name) / LOG_KEYS
                    write_plain(self._seam, self.folder, path, data)

    def _latest(self, origin: str, pinned: list[PublicKey]) -> Checkpoint | None:
        """The last checkpoint, which must be one that this witness has cosigned."""
        found = self._last_note(origin, pinned)
        return None if found is None else found[0]

    def _last_note(self, origin: str, pinned: list[PublicKey]) -> tuple[Checkpoint, Note] | None:
        notes = self._notes(origin)
        marked = notes.seen()  # before the notes, to which another process may add meanwhile
        sizes = notes.sizes()
        if marked > max(sizes, default=0):
            raise self._lost(marked)
        if not sizes:
            return None
        try:
            note = parse(notes.note(sizes[-1]))
            found, signed = parse_text(note.text), signers(note, [*pinned, self._key])
        except BadNote as error:
            raise self._damaged(sizes[-1], error.message) from error
        if (found.origin, found.size) != (origin, sizes[-1]) or self._key not in signed:
            raise self._damaged(sizes[-1], "it is not what this witness cosigned")
        return found, note

    def _lost(self, size: int) -> IntegrityError:
        return IntegrityError(
            f"the witness in {self.folder} has cosigned {size:,} events, and that note is gone",
            hint="restore that file from a copy, or use a new witness elsewhere",
        )

    def _damaged(self, size: int, problem: str) -> IntegrityError:
        return IntegrityError(
            f"the note for {size:,} events in the witness {self.folder} is damaged: {problem}",
            hint="restore that file from a copy; an older one must not take its place",
        )

    def _log(self, origin: str) -> Path:
        """The folder of a log: the hash of its name, which may be anything."""
        return self.folder / LOGS / _hash(origin)

    def _notes(self, origin: str) -> Notes:
        return Notes(self.folder, self._log(origin), self._seam)

    def _sync(self, log: Path) -> None:
        notes = log / CHECKPOINTS
        check_no_link(self.folder, notes)
        if notes.is_dir():
            sync_folder(self._seam, notes)

    @contextmanager
    def _alone(self, origin: str) -> Iterator[None]:
        """A lock for one log, across threads and processes; waits a while for it."""
        check_no_link(self.folder, self._log(origin))
        fd = self._seam.open(self._log(origin), posix.FOLDER | posix.NO_LINK)
        end = time.monotonic() + _LOCK_MAX_S
        try:
            while True:
                try:
                    posix.lock(fd, wait=False)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > end:
                        raise self._unusable(error) from error
                    time.sleep(_LOCK_AGAIN_S)
            yield
        finally:
            self._seam.close(fd)

    @contextmanager
    def _ours(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> Unavailable:
        return _unusable(f"the witness in {self.folder} could not be used", error)


def check_log(key: PublicKey) -> None:
    """Refuses to pin a key that is not of a log."""
    if key.kind != LOG:
        raise InvalidInput(
            f"{key.name} is the key of a witness, not of a ledger",
            hint="pin the line that `recollect proof key list` shows",
        )


def _hash(origin: str) -> str:
    return sha256(origin.encode()).hexdigest()


def _unusable(told: str, error: OSError) -> Unavailable:
    """The error for a file or a folder, with its name and what to do."""
    is_strange = error.errno in (errno.ELOOP, errno.EINVAL)
    of = f"{error.filename}: " if error.filename else ""
    return Unavailable(
        f"{told}: {of}{error.strerror or error}",
        hint="delete that file if you do not know what it is for, and restore it from a copy"
        if is_strange
        else "check that the folder is mounted and can be written, then try again",
    )


def _key_in(path: Path, line: str) -> PublicKey:
    try:
        return parse_key(line)
    except InvalidInput as error:
        raise ConfigError(
            f"{path} of the witness could not be parsed: {error.message}",
            hint="restore that file from a copy; each line of it is a public key",
        ) from error


def public_key(folder: Path) -> PublicKey | None:
    """The key of the witness in a folder; None if there is no witness."""
    try:
        raw = read_plain(folder, folder / WITNESS_KEY, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(f"the witness in {folder} could not be read", error) from error
    return _key_in(folder / WITNESS_KEY, raw.decode(errors="replace"))


def make_home(folder: Path, seam: Seam) -> None:
    """Makes a folder for a witness, and refuses one in which it could keep nothing."""
    try:
        make_folder(seam, folder)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is not a folder", str(folder))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "it may not be written", str(folder))
    except OSError as error:
        raise _unusable(f"a witness could not be created in {folder}", error) from error


def put_public_key(folder: Path, key: PublicKey, seam: Seam) -> None:
    """Makes a folder the home of a witness."""
    try:
        write_plain(seam, folder, folder / WITNESS_KEY, f"{key}\n".encode())
    except OSError as error:
        raise _unusable(f"a witness could not be created in {folder}", error) from error
