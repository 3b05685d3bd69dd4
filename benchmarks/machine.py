"""What a figure was measured on.

Responsible for the few facts that are needed to judge a ratio; a file system in memory, for
example, makes an fsync free, and a journal makes it dearer for a file that grows. Invariant:
nothing here identifies the machine.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_ALWAYS: Final = {"ext2": "no", "ext3": "yes", "tmpfs": "no", "xfs": "yes"}


def machine(folder: Path) -> dict[str, str | int]:
    """The machine, as far as it matters here."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu_count": os.cpu_count() or 0,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "file_system": file_system(folder),
        "journal": journal(mount_of(folder)),
        "load": load(),
    }


def load() -> str:
    """How many processes wanted a processor in the last minute, on average."""
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except OSError:
        return "unknown"


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
    return mount_of(folder).kind


class Mount(NamedTuple):
    """The type of a file system, and the name of its device in ``/sys`` and ``/proc``."""

    kind: str
    device: str


def mount_of(folder: Path) -> Mount:
    """The mount that a folder is on; "unknown" where the system does not list mounts."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
    except OSError:
        return Mount("unknown", "unknown")
    best, found = "", Mount("unknown", "unknown")
    place = str(folder.resolve())
    for line in lines:
        mount, _, rest = line.partition(" - ")
        number, point = mount.split()[2], mount.split()[4]
        if len(point) >= len(best) and (place + "/").startswith(point.rstrip("/") + "/"):
            device = Path(f"/sys/dev/block/{number}").resolve().name
            best, found = point, Mount(rest.split()[0], device)
    return found


def journal(mount: Mount, proc: Path = Path("/proc/fs")) -> str:
    """Whether a file system writes a journal: "yes", "no" or "unknown"."""
    if mount.kind in _ALWAYS:
        return _ALWAYS[mount.kind]
    if mount.kind != "ext4":
        return "unknown"
    try:
        options = (proc / "ext4" / mount.device / "options").read_text("utf-8").split()
    except OSError:
        return "unknown"
    # How data is journaled is an option only where there is a journal.
    return "yes" if any(option.startswith("data=") for option in options) else "no"
