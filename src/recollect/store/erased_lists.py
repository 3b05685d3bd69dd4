"""Which events of a ledger were erased on this machine, for backups from before.

    ~/.recollect/erased/HEX.json    of the ledger whose first event has this hash

Responsible for these files. Leaves removing bodies to the engines. Invariant: a list has numbers
and hashes of headers, and nothing of what was erased.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError
from recollect.store.disk.disk import alone, make_folder, replace_file
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

_MOST_BYTES: Final = 1 << 28
_NAME_DIGITS: Final = 32


class ErasedLists:
    """The lists of one person, one for each ledger."""

    def __init__(self, folder: Path, seam: Seam) -> None:
        self._folder = folder
        self._seam = seam

    def of(self, first: str) -> dict[int, str]:
        """The erased events of a ledger, each with its hash."""
        path = self._path(first)
        try:
            return msgspec.json.decode(read_regular(path, _MOST_BYTES), type=dict[int, str])
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise as_ours(error) from error
        except ValueError as error:
            raise ConfigError(
                f"{path} could not be parsed",
                hint="it says what must not come back from a backup; restore it from a copy",
            ) from error

    def add(self, first: str, erased: Mapping[int, str]) -> None:
        """Notes events that are about to lose their bodies."""
        if not erased:
            return
        try:
            make_folder(self._seam, self._folder)
            with alone(self._seam, self._folder):
                listed = {str(seq): hash for seq, hash in {**self.of(first), **erased}.items()}
                replace_file(self._seam, self._path(first), [msgspec.json.encode(listed)])
        except OSError as error:
            raise as_ours(error) from error

    def _path(self, first: str) -> Path:
        return self._folder / f"{first[:_NAME_DIGITS]}.json"
