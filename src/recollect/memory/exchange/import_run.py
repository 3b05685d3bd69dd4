"""An import from a path: its files, their format, and what became of them.

Responsible for finding the format of files. Leaves opening them to ``memory.exchange.import_files``
and storing what they say to ``memory.exchange.imports``. Invariant: nothing is stored before the
format is known.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from recollect.errors import InvalidInput
from recollect.exchange.formats import HEAD_BYTES, Format, format_named, listed, recognized
from recollect.memory.exchange.import_files import FileSource, files_at
from recollect.memory.exchange.imports import Importing
from recollect.memory.handle.handle import Handle
from recollect.model.values.exchange import Imported
from recollect.store.port import Progress

_RECOGNIZED_BY: Final = 64  # files that are looked into
_TEXTS: Final = (".json", ".jsonl", ".ndjson", ".md", ".wal", ".db")  # before images and sounds


def run_import(
    handle: Handle,
    path: Path,
    format: str | None,
    *,
    hold: bool,
    dry_run: bool,
    progress: Progress | None,
) -> Imported:
    """Imports a file, a folder or an archive."""
    handle.require_now()
    chosen = None if format is None else format_named(format)
    read = 0
    total = 0

    def tick(count: int) -> None:
        nonlocal read
        read += count
        if progress is not None:
            progress(min(read, total), total)

    left_out: Counter[str] = Counter()
    files = files_at(path, tick, left_out)
    total = sum(file.size for file in files)
    chosen = chosen or _recognized(path, files)
    importing = Importing(handle, chosen.name, hold=hold, dry_run=dry_run)
    importing.left_out.update(left_out)
    importing.take(chosen.read(files), is_whole=chosen.is_whole)
    return importing.report(str(path))


def _recognized(path: Path, files: list[FileSource]) -> Format:
    first = sorted(files, key=lambda file: (not file.name.endswith(_TEXTS), file.name.count("/")))
    heads = [(file.name, file.head(HEAD_BYTES)) for file in first[:_RECOGNIZED_BY]]
    found = recognized(heads)
    if found is None:
        raise InvalidInput(f"the format of {path} was not recognized", hint=f"name it: {listed()}")
    return found
