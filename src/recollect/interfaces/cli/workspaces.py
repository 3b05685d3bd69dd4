"""What ``doctor`` says of a graph workspace: the files around a memory in ``.recollect``.

Responsible for recognizing a workspace beside a memory. Leaves what to repair in it to
``contracts.graph``. Invariants: a folder that does not say it is a workspace is left alone; nothing
in its files is changed; a workspace that cannot be read is a finding and not a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from recollect.config import FOLDER, Settings
from recollect.errors import InvalidInput, RecollectError
from recollect.exchange import workspace as layout
from recollect.model.values import Finding
from recollect.store import posix
from recollect.store.regular_files import read_regular

_HEAD_MAX_BYTES: Final = 1_000_000
_SPACE: Final = "main"  # the one that a workspace shows
_PREFIX: Final = "recollect.workspace."
_AGAIN: Final = "follow the other findings first, then run this again"


def findings(settings: Settings, space: str, known: Sequence[Finding]) -> list[Finding]:
    """What of the workspace around this memory should be repaired, beside what is known."""
    root = _around(settings)
    if root is None or space != _SPACE:
        return []
    from recollect.contracts.graph import FileBackedMemoryGraphStore, PhaseMemoryRuntime

    try:
        with FileBackedMemoryGraphStore(root) as store:
            found = PhaseMemoryRuntime(store).diagnostics()
    except (RecollectError, OSError) as error:
        fix = error.hint if isinstance(error, RecollectError) else None
        detail = f"the files in {root} were not checked: {error}"
        return [Finding(level="problem", what="workspace", detail=detail, fix=fix or _AGAIN)]
    return [one for one in found if one not in known] or [_sound(root)]


def _sound(root: Path) -> Finding:
    return Finding(level="ok", what="workspace", detail=f"the files in {root} show the memory")


def _around(settings: Settings) -> Path | None:
    """The folder of the workspace, if the memory is in one."""
    if settings.folder is None or settings.folder.name != FOLDER:
        return None
    root = settings.folder.absolute().parent
    try:
        head = layout.parse(read_regular(root / layout.HEAD, _HEAD_MAX_BYTES, posix.NO_LINK), "it")
    except (OSError, InvalidInput):  # not there, or the file of another program
        return None
    return root if str(head.get("schema_version")).startswith(_PREFIX) else None
