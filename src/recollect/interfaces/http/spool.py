"""Long answers in files without a name.

Responsible for bytes between the store and a reader that may be slow: it then holds no connection
and no lock of the store. Leaves sending them to ``app``. Invariant: nothing with a name is left
when an answer begins, so a crash leaves no copy of a memory behind.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from recollect.interfaces.http.call import File
from recollect.memory import Memory
from recollect.model.values import Exported

_MEMORY_MAX_BYTES: Final = 1_048_576  # a shorter answer stays in memory


def spooled(pieces: Iterable[bytes]) -> File:
    """Bytes, ready to be sent."""
    file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_MAX_BYTES)  # noqa: SIM115 - sent later
    try:
        for piece in pieces:
            file.write(piece)
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return File(file, size)


def exported(memory: Memory, format: str) -> tuple[File, Exported]:
    """An export, ready to be sent."""
    with tempfile.TemporaryDirectory(prefix="recollect-export-") as folder:
        target = Path(folder) / "export"
        done = memory.admin.export(format, target)
        return File(target.open("rb"), done.size_bytes), done
