"""A person's keys, in ``~/.recollect/keys``: those that sign a ledger, and those trusted for it.

    keys/HEX.json    for the ledger that checkpoints name ``recollect/HEX``
    keys/HEX.note    its last checkpoint that was made or seen here

Responsible for these files. Leaves signing to ``recollect.proof``, and when to use which key to
``store.checkpointing``. Invariants: no private key lies in a workspace, a backup or a database; a
folder that others can read is refused.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError, NotFound
from recollect.proof.keys import LOG, PrivateKey, PublicKey, parse_key
from recollect.store.disk import alone, make_folder, replace_file
from recollect.store.layout import NOTE_SUFFIX
from recollect.store.regular_files import read_regular
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

_MOST_BYTES: Final = 1 << 21
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


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of one ledger, as they are stored."""

    private: tuple[_Seed, ...] = ()
    pinned: tuple[str, ...] = ()


class KeyRing:
    """The keys for one ledger."""

    def __init__(self, folder: Path, ledger: str, seam: Seam) -> None:
        self.ledger = ledger
        self._seam = seam
        self._folder = folder
        stem = ledger.removeprefix(_PREFIX)
        self._path = folder / f"{stem}.json"
        self._last = folder / f"{stem}{NOTE_SUFFIX}"

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
            self._write(_File(private=file.private[-1:], pinned=pinned))

    def last(self) -> bytes | None:
        """The last checkpoint that was made or seen here."""
        try:
            return read_regular(self._last, _MOST_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise as_ours(error) from error

    def keep_last(self, note: bytes) -> None:
        """Keeps a checkpoint as the last."""
        try:
            make_folder(self._seam, self._folder)
            replace_file(self._seam, self._last, [note])
        except OSError as error:
            raise as_ours(error) from error

    @contextmanager
    def _changing(self) -> Iterator[_File]:
        try:
            make_folder(self._seam, self._folder)
            with alone(self._seam, self._folder):
                yield self._read()
        except OSError as error:
            raise as_ours(error) from error

    def _read(self) -> _File:
        try:
            self._check_private()
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

    def _check_private(self) -> None:
        for path in (self._folder, self._path):
            if path.stat().st_mode & _OTHERS:
                raise ConfigError(
                    f"{path} can be read by others, and private keys are in it",
                    hint=f"run: chmod go= {path}",
                )


def no_key(ledger: str) -> NotFound:
    """The error for a ledger that cannot be signed here."""
    return NotFound(
        f"no key on this machine signs {ledger}", hint="create one: recollect admin key create"
    )
