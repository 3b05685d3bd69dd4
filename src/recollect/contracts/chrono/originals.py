"""The log of the original and the JSON of specsmith, where a project has them.

Responsible for reading both without changing a file. Leaves what is in them to
``exchange.importers.chrono`` and ``exchange.importers.specsmith``, and storing to ``taking_over``.
Invariants: an original log is recognized by its first line; what cannot be a record is counted,
never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from recollect.errors import InvalidInput, NotFound
from recollect.exchange.importers import chrono, specsmith
from recollect.exchange.importers.chrono import LogState
from recollect.exchange.items import Found
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.memory.exchange.import_files import FileSource, files_at
from recollect.store.disk.layout import LEDGER
from recollect.store.disk.regular_files import read_regular

REQUIREMENTS: Final = "requirements.json"
TESTCASES: Final = "testcases.json"
_HEAD_BYTES: Final = 4_000


class Original(NamedTuple):
    """An original log: where it leads, and whether its last line was cut off by a crash."""

    state: LogState
    is_torn: bool

    @property
    def is_sound(self) -> bool:
        """True if the chain holds to the end of the file."""
        return self.state.chain.broken_at is None


def is_original(path: Path) -> bool:
    """True if a file is a log of the original."""
    try:
        return chrono.recognizes(LEDGER, read_regular(path, _HEAD_BYTES))
    except OSError:
        return False


def read_original(path: Path, snapshot: Path) -> Original:
    """Follow an original log, from its snapshot if it was compacted."""
    source = _source(path)
    beside = _source(snapshot) if snapshot.is_file() else None
    state = chrono.state_of(source, beside)
    broken = state.chain.broken_at
    lines, last = 0, b"\n"
    if broken is not None:
        for piece in source.chunks():
            lines, last = lines + piece.count(b"\n"), piece[-1:]
    return Original(state, is_torn=broken is not None and last != b"\n" and broken == lines + 1)


class Items(NamedTuple):
    """What a file of specsmith holds: what an importer finds, and how many elements are objects."""

    found: list[Found]
    objects: int


def items_in(folder: Path, name: str) -> Items:
    """The requirements or the test cases in a folder; none if the file is not there."""
    path = folder / name
    if not path.is_file():
        return Items([], 0)
    try:
        every = [element for _, element in elements(_source(path).chunks())]
    except BrokenJsonError as error:
        raise InvalidInput(f"{path} could not be read: {error}", hint="correct the file") from error
    objects = sum(isinstance(element, Mapping) for element in every)
    return Items(list(specsmith.read([_source(path)])), objects)


def require_folder(folder: Path) -> Path:
    """Refuses a folder that is not there, which would look like one without files."""
    if not folder.is_dir():
        raise NotFound(f"{folder} is not a folder", hint="name the folder of requirements.json")
    return folder


def _source(path: Path) -> FileSource:
    (source,) = files_at(path, lambda count: None)
    return source
