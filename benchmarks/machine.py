"""What a figure was measured on.

Responsible for the few facts without which a ratio cannot be judged; a file system in memory, for
one, makes an fsync free.
"""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path


def machine(folder: Path) -> dict[str, str | int]:
    """The machine, as far as it matters here."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu_count": os.cpu_count() or 0,
        "file_system": file_system(folder),
    }


def file_system(folder: Path) -> str:
    """The type of the file system below a folder, or "unknown"."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
    except OSError:
        return "unknown"
    best, kind = "", "unknown"
    place = str(folder.resolve())
    for line in lines:
        mount, _, rest = line.partition(" - ")
        point = mount.split()[4]
        if len(point) >= len(best) and (place + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, rest.split()[0]
    return kind
