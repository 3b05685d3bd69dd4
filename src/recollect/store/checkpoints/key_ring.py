"""A person's keys, in ``~/.recollect/keys``: those that sign a ledger, and those trusted for it.

    keys/HEX.json    for the ledger that checkpoints name ``recollect/HEX``
    keys/HEX.note    its last checkpoint that was made or seen here
    keys/HEX.head    the event that it ends with (``store.checkpoints.seen_heads``)
    keys/HEX.tree    hashes of its tree, so that proofs are made without reading all of it

The first also lists the witnesses that are asked for this ledger.

Responsible for these files. Leaves signing to ``recollect.proof``, and when to use which key to
``store.checkpoints.checkpoints``. Invariants: no private key lies in a workspace, a backup or a
database; a folder that others can read is refused.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError, NotFound
from recollect.proof.checkpoints import parse_text
from recollect.proof.keys import LOG, PrivateKey, PublicKey, parse_key
from recollect.proof.notes import parse
from recollect.store.checkpoints import seen_heads
from recollect.store.checkpoints.seen_heads import SeenHead
from recollect.store.disk.disk import alone, make_folder, replace_file
from recollect.store.disk.layout import NOTE_SUFFIX, TREE_SUFFIX
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

_MOST_BYTES: Final = 1 << 21
_TREE_MOST_BYTES: Final = 1 << 26  # of 250 million events
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_PREFIX: Final = "recollect/"
_NAME_DIGITS: Final = 32


def ledger_name(first: str) -> str:
    """What checkpoints call a ledger: from the hash of its first event, which reveals nothing."""
    return _PREFIX + first[:_NAME_DIGITS]


class _Seed(msgspec.Struct, frozen=True):
    """A private key."""

    seed: bytes
    made: str

    def __repr__(self) -> str:
        return f"<private key of {self.made}>"


class PinnedWitness(msgspec.Struct, frozen=True):
    """A witness that is asked for a ledger: its public key, and its folder or address."""

    key: str
    place: str
    cosigned: int = 0  # the most events of which it has cosigned a checkpoint


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of one ledger, as they are stored."""

    private: tuple[_Seed, ...] = ()
    pinned: tuple[str, ...] = ()
    witnesses: tuple[PinnedWitness, ...] = ()


class KeyRing:
    """The keys for one ledger."""

    def __init__(self, folder: Path, ledger: str, seam: Seam) -> None:
        self.ledger = ledger
        self.folder = folder
        self._seam = seam
        stem = ledger.removeprefix(_PREFIX)
        self._path = folder / f"{stem}.json"
        self._last = folder / f"{stem}{NOTE_SUFFIX}"
        self._tree = folder / f"{stem}{TREE_SUFFIX}"

    def private(self) -> list[PrivateKey]:
        """The keys that can sign, the oldest first. There are two while one replaces another."""
        return [PrivateKey(self.ledger, LOG, each.seed) for each in self._read().private]

    def public(self) -> list[PublicKey]:
        """Every key whose signature counts: the pinned ones, and those that can sign here."""
        pinned = [parse_key(line) for line in self._read().pinned]
        return [*dict.fromkeys([*pinned, *(key.public for key in self.private())])]

    def add(self) -> PublicKey:
        """Creates a key, and returns its public half."""
        made = _Seed(self._seam.random(32), self._seam.now())
        # Computed first: without the package that signs, no key may be left behind.
        public = PrivateKey(self.ledger, LOG, made.seed).public
        with self._changing() as file:
            self._write(msgspec.structs.replace(file, private=(*file.private, made)))
        return public

    def pin(self, key: PublicKey) -> None:
        """Lets a key's signature count from now on."""
        with self._changing() as file:
            pinned = dict.fromkeys([*file.pinned, str(key)])
            self._write(msgspec.structs.replace(file, pinned=tuple(pinned)))

    def retire(self) -> None:
        """Removes all private keys but the newest; their old signatures still count."""
        with self._changing() as file:
            old = [
                str(PrivateKey(self.ledger, LOG, each.seed).public) for each in file.private[:-1]
            ]
            pinned = tuple(dict.fromkeys([*file.pinned, *old]))
            kept = file.private[-1:]
            self._write(msgspec.structs.replace(file, private=kept, pinned=pinned))

    def witnesses(self) -> tuple[PinnedWitness, ...]:
        """Those that are asked for this ledger."""
        return self._read().witnesses

    def cosigners(self) -> list[PublicKey]:
        """The keys of the witnesses."""
        return [parse_key(each.key) for each in self.witnesses()]

    def add_witness(self, key: PublicKey, place: str) -> None:
        """Asks a witness from now on; one with the same key or place is replaced."""
        with self._changing() as file:
            before = [each.cosigned for each in file.witnesses if str(key) == each.key]
            others = [each for each in file.witnesses if str(key) != each.key]
            others = [each for each in others if place != each.place]
            found = (*others, PinnedWitness(str(key), place, max(before, default=0)))
            self._write(msgspec.structs.replace(file, witnesses=found))

    def keep_size(self, witness: PinnedWitness, size: int) -> None:
        """Keeps how many events a witness has cosigned: it may not forget them."""
        with self._changing() as file:
            found = tuple(
                msgspec.structs.replace(each, cosigned=max(size, each.cosigned))
                if each.key == witness.key
                else each
                for each in file.witnesses
            )
            if found != file.witnesses:
                self._write(msgspec.structs.replace(file, witnesses=found))

    def remove_witness(self, witness: PinnedWitness) -> None:
        """Asks a witness no more, and does not count its cosignatures."""
        with self._changing() as file:
            rest = tuple(each for each in file.witnesses if each.key != witness.key)
            self._write(msgspec.structs.replace(file, witnesses=rest))

    @property
    def last_path(self) -> Path:
        """The file of the last checkpoint that was made or seen here."""
        return self._last

    def last(self) -> bytes | None:
        """The last checkpoint that was made or seen here."""
        try:
            return read_regular(self._last, _MOST_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise as_ours(error) from error

    def keep_last(self, note: bytes) -> None:
        """Keeps a checkpoint as the last, unless another process kept a larger one meanwhile."""
        try:
            make_folder(self._seam, self.folder)
            with alone(self._seam, self.folder):
                before = self.last()
                if before is None or _size(before) <= _size(note):
                    replace_file(self._seam, self._last, [note])
        except OSError as error:
            raise as_ours(error) from error

    def keep_head(self, where: str, seq: int, hash: str) -> None:
        """Keeps the event that was signed last: every reader here compares the ledger with it."""
        stem = self.ledger.removeprefix(_PREFIX)
        seen_heads.keep(self.folder, stem, SeenHead(where, seq, hash), self._seam)

    def tree(self) -> bytes:
        """What ``keep_tree`` was given last, if it is still there; it may be anything."""
        try:
            return read_regular(self._tree, _TREE_MOST_BYTES)
        except OSError:
            return b""

    def keep_tree(self, data: bytes) -> None:
        """Keeps hashes of the tree; it may be lost at any time."""
        with suppress(OSError):  # they are computed again
            make_folder(self._seam, self.folder)
            replace_file(self._seam, self._tree, [data])

    def keep_cosigned(self, before: bytes, note: bytes) -> None:
        """Keeps a checkpoint with its cosignatures, if it is still the last one."""
        with self._changing():
            if self.last() == before:
                replace_file(self._seam, self._last, [note])

    @contextmanager
    def _changing(self) -> Iterator[_File]:
        try:
            make_folder(self._seam, self.folder)
            with alone(self._seam, self.folder):
                yield self._read()
        except OSError as error:
            raise as_ours(error) from error

    def _read(self) -> _File:
        try:
            check_private(self.folder, self._path)
            return msgspec.json.decode(read_regular(self._path, _MOST_BYTES), type=_File)
        except FileNotFoundError:
            return _File()
        except OSError as error:
            raise as_ours(error) from error
        except ValueError as error:  # also for bytes that are not UTF-8
            raise ConfigError(
                f"{self._path} could not be parsed",
                hint="restore it from a copy; without it, checkpoints of this ledger cannot be "
                "signed with the same key",
            ) from error

    def _write(self, file: _File) -> None:
        data = msgspec.json.format(msgspec.json.encode(file), indent=1)
        replace_file(self._seam, self._path, [data, b"\n"])


def check_private(*paths: Path) -> None:
    """Refuses files and folders with private keys that others can read."""
    for path in paths:
        if path.stat().st_mode & _OTHERS:
            raise ConfigError(
                f"{path} can be read by others, and private keys are in it",
                hint=f"run: chmod go= {path}",
            )


def _size(note: bytes) -> int:
    """How many events a checkpoint is of."""
    return parse_text(parse(note).text).size


def no_key(ledger: str) -> NotFound:
    """The error for a ledger that cannot be signed here."""
    return NotFound(
        f"no key on this machine signs {ledger}", hint="create one: recollect proof key create"
    )
