"""What a figure was measured on.

Responsible for the few facts that are needed to judge a ratio; a file system in memory, for
example, makes an fsync free. Invariant: nothing here identifies the machine.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
from pathlib import Path


def machine(folder: Path) -> dict[str, str | int]:
    """The machine, as far as it matters here."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu_count": os.cpu_count() or 0,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "file_system": file_system(folder),
    }


def commit() -> str:
    """What was measured: the commit, and whether files had been changed since; or "unknown"."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        found = subprocess.run(
            command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


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
