"""A graph workspace on the command line: the files around a memory in ``.recollect``.

Responsible for recognizing a workspace beside a memory, so that ``doctor`` looks at its files,
``import`` writes them and ``export`` has its events. Leaves the files to ``contracts.graph``.
Invariants: a folder that does not say it is a workspace is left alone; a workspace that cannot be
read is a finding and not a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from recollect.config import FOLDER, Settings
from recollect.errors import InvalidInput, RecollectError
from recollect.exchange import workspace as layout
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.validate import Json
from recollect.model.values import Finding
from recollect.store import posix
from recollect.store.disk.regular_files import read_regular

_HEAD_MAX_BYTES: Final = 1_000_000
_SPACE: Final = "main"  # the one that a workspace shows
_PREFIX: Final = "recollect.workspace."
_AGAIN: Final = "follow the other findings first, then run this again"


def findings(settings: Settings, space: str, known: Sequence[Finding]) -> list[Finding]:
    """What of the workspace around this memory should be repaired, beside what is known."""
    root = _around(settings.folder, space)
    if root is None:
        return []
    from recollect.contracts.graph import FileBackedMemoryGraphStore, PhaseMemoryRuntime

    try:
        with FileBackedMemoryGraphStore(root) as store:
            found = PhaseMemoryRuntime(store).diagnostics()
    except (RecollectError, OSError) as error:
        return [_failed(f"the files in {root} were not checked", error)]
    return [one for one in found if one not in known] or [_sound(root)]


def show(memory: Memory) -> list[Finding]:
    """Writes the files of the workspace around a memory; what was left or failed is found."""
    root = _around_memory(memory)
    if root is None:
        return []
    from recollect.contracts.graph import FileBackedMemoryGraphStore

    try:
        with FileBackedMemoryGraphStore(root) as store:
            store.render()
            return list(store.findings)
    except (RecollectError, OSError) as error:
        return [_failed(f"the files in {root} were not written", error)]


def events_beside(memory: Memory) -> list[dict[str, Json]]:
    """The events in the log of the workspace around a memory."""
    root = _around_memory(memory)
    if root is None:
        return []
    from recollect.contracts.graph import JsonlMemoryEventLog

    return JsonlMemoryEventLog(root / layout.EVENTS).list()


def files_beside(memory: Memory, kind: layout.Kind) -> int:
    """How many things of a kind the workspace around a memory has files of."""
    root = _around_memory(memory)
    return 0 if root is None else len(list((root / layout.FOLDERS[kind]).glob(f"*{layout.SUFFIX}")))


def _failed(what: str, error: RecollectError | OSError) -> Finding:
    fix = error.hint if isinstance(error, RecollectError) else None
    return Finding(level="problem", what="workspace", detail=f"{what}: {error}", fix=fix or _AGAIN)


def _sound(root: Path) -> Finding:
    return Finding(level="ok", what="workspace", detail=f"the files in {root} show the memory")


def _around_memory(memory: Memory) -> Path | None:
    space = handle_of(memory).space
    return _around(Path(space.where), space.name)


def _around(folder: Path | None, space: str) -> Path | None:
    """The folder of the workspace, if the memory is in one."""
    if folder is None or folder.name != FOLDER or space != _SPACE:
        return None
    root = folder.absolute().parent
    try:
        head = layout.parse(read_regular(root / layout.HEAD, _HEAD_MAX_BYTES, posix.NO_LINK), "it")
    except (OSError, InvalidInput):  # not there, or the file of another program
        return None
    return root if str(head.get("schema_version")).startswith(_PREFIX) else None
