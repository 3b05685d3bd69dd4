"""The private keys of witnesses that this person runs: ``~/.recollect/keys/HEX.witness.json``.

Responsible for these files. Leaves the witness itself to its folder. Invariant: the private key of
a witness is never in its folder, which may be copied or published.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError
from recollect.proof.keys import WITNESS, PrivateKey, PublicKey
from recollect.store.checkpoints.key_ring import check_private
from recollect.store.disk.disk import make_folder, replace_file
from recollect.store.disk.layout import WITNESS_SUFFIX
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

_PREFIX: Final = "recollect-witness/"
_NAME_DIGITS: Final = 32
_MOST_BYTES: Final = 1 << 16


class _Own(msgspec.Struct, frozen=True):
    seed: bytes
    made: str

    def __repr__(self) -> str:
        return f"<private key of {self.made}>"


def create(folder: Path, seam: Seam) -> PrivateKey:
    """Creates the key of a new witness. Its name says nothing about a person or a place."""
    own = _Own(seam.random(32), seam.now())
    public = PrivateKey(_PREFIX, WITNESS, own.seed).public.key
    stem = sha256(public).hexdigest()[:_NAME_DIGITS]
    try:
        make_folder(seam, folder)
        replace_file(seam, folder / f"{stem}{WITNESS_SUFFIX}", [msgspec.json.encode(own)])
    except OSError as error:
        raise as_ours(error) from error
    return PrivateKey(_PREFIX + stem, WITNESS, own.seed)


def remove(folder: Path, key: PublicKey, seam: Seam) -> None:
    """Removes the key of a witness that could not be created."""
    try:
        seam.unlink(_path(folder, key))
    except OSError as error:
        raise as_ours(error) from error


def find(folder: Path, key: PublicKey) -> PrivateKey | None:
    """The private half of a witness's key, if it is on this machine."""
    path = _path(folder, key)
    try:
        check_private(folder, path)
        own = msgspec.json.decode(read_regular(path, _MOST_BYTES), type=_Own)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise as_ours(error) from error
    except ValueError as error:
        raise ConfigError(
            f"{path} could not be parsed",
            hint="restore it from a copy; without it, this witness cannot sign with the same key",
        ) from error
    found = PrivateKey(key.name, WITNESS, own.seed)
    return found if found.public == key else None


def _path(folder: Path, key: PublicKey) -> Path:
    return folder / f"{sha256(key.key).hexdigest()[:_NAME_DIGITS]}{WITNESS_SUFFIX}"
