"""The master key, which wraps the keys of subjects.

Responsible for getting it: as it was given, from a command, or from a file that is made with the
first subject. Leaves reading the environment to ``config``. Invariant: it is held in memory only.
"""

from __future__ import annotations

import binascii
import shlex
import stat
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError, KeyMissing
from recollect.ledger.cipher import KEY_BYTES
from recollect.store.disk.disk import alone, make_folder, replace_file
from recollect.store.disk.layout import SUBJECTS
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

VARIABLE: Final = "RECOLLECT_MASTER_KEY"  # as ``config`` reads them
COMMAND_VARIABLE: Final = "RECOLLECT_MASTER_KEY_COMMAND"
FILE: Final = "master.key"
_MOST_BYTES: Final = 4096
_FILE_MAX_BYTES: Final = 1 << 28
_COMMAND_S: Final = 30
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class _Wrapped(msgspec.Struct, frozen=True):
    """What is read of a file of keys: whether there are any."""

    subjects: tuple[msgspec.Raw, ...] = ()


class MasterKey:
    """The master key of this person, got when it is first needed."""

    def __init__(self, folder: Path, given: str | None, command: str | None, seam: Seam) -> None:
        self._folder = folder  # of this person
        self._given = given
        self._command = command
        self._seam = seam
        self._key: bytes | None = None

    def __call__(self, create: bool) -> bytes:
        """The key; with ``create`` a file with one is made if there is no other."""
        if self._key is None:
            self._key = self._found(create)
        return self._key

    def _found(self, create: bool) -> bytes:
        if self._given is not None:
            return _decoded(self._given, VARIABLE)
        if self._command is not None:
            return _decoded(_printed(self._command), COMMAND_VARIABLE)
        try:
            return self._in_file(create)
        except OSError as error:
            raise as_ours(error) from error

    def _in_file(self, create: bool) -> bytes:
        path = self._folder / FILE
        if not path.exists():
            if not create:
                raise KeyMissing(
                    f"the master key is missing: {path}",
                    hint=f"put it back, or set {VARIABLE} or {COMMAND_VARIABLE}",
                )
            make_folder(self._seam, path.parent)
            with alone(self._seam, path.parent):
                if not path.exists():  # another process may have made it since
                    self._check_unneeded(path)
                    made = b64encode(self._seam.random(KEY_BYTES)) + b"\n"
                    replace_file(self._seam, path, [made])  # others may read it at any time
        if path.stat().st_mode & _OTHERS:
            raise ConfigError(f"{path} can be read by others", hint=f"run: chmod go= {path}")
        return _decoded(read_regular(path, _MOST_BYTES).decode("latin-1"), str(path))

    def _check_unneeded(self, path: Path) -> None:
        """Refuses to make another master key while there are keys that a missing one wraps."""
        files = sorted((self._folder / SUBJECTS).glob("*.json"))
        needed = [one for one in files if _has_keys(one)]
        if needed:
            raise KeyMissing(
                f"the master key is missing: {path}, and {needed[0]} needs it",
                hint=f"put it back, or set {VARIABLE} or {COMMAND_VARIABLE}. If it is lost for "
                "good, run `recollect admin doctor` for the memory that you need; move the files "
                "of others away",
            )


def _has_keys(path: Path) -> bool:
    try:
        found = msgspec.json.decode(read_regular(path, _FILE_MAX_BYTES), type=_Wrapped)
    except ValueError:
        return True  # it cannot be told
    return bool(found.subjects)


def _printed(command: str) -> str:
    """What the command prints; it is run without a shell."""
    try:
        words = shlex.split(command)
        done = subprocess.run(  # noqa: S603 - the person's own command, without a shell
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_COMMAND_S, check=True
        )
        return done.stdout[:_MOST_BYTES].decode("ascii")
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        # What it printed is not shown: it may be the key.
        raise ConfigError(
            f"the command in {COMMAND_VARIABLE} did not print a key ({type(error).__name__})",
            hint="run it yourself: it must print 32 bytes in base64 within 30 seconds",
        ) from error


def _decoded(text: str, where: str) -> bytes:
    try:
        key = binascii.a2b_base64(text.strip().encode("ascii"), strict_mode=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(
            f"the master key in {where} is not 32 bytes in base64",
            hint="make one with: head -c 32 /dev/urandom | base64",
        )
    return key
