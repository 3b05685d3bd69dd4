"""What Recollect needs of POSIX: everything that Windows does differently.

Responsible for locks between processes (``flock``), for opening a folder to sync the names in it,
for refusing a symbolic link when a file is opened, for renaming over a file that others have open,
for the number of files a process may open, and for the account's name and shell. Leaves when to do
it to its callers, and the other calls of the system to ``store.seam``. Invariant: no other module
imports a module that only POSIX systems have. So a port to Windows starts here, and until there is
one, importing this module says so instead of naming a missing module.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from recollect.errors import Unsupported

try:
    import fcntl
except ImportError as error:
    raise Unsupported(
        "Recollect does not support Windows yet; use WSL",
        hint="run `wsl --install`, then install and run Recollect inside WSL",
    ) from error

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY  # to open a folder, for a sync or a lock
NO_LINK: Final = os.O_NOFOLLOW  # refuses a symbolic link: its author would choose the file


def lock(fd: int, *, wait: bool = True) -> None:
    """Locks an open file for this descriptor alone.

    Raises ``BlockingIOError`` if it is taken and this call does not wait.
    """
    fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_shared(fd: int) -> None:
    """Locks an open file together with others that only read."""
    fcntl.flock(fd, fcntl.LOCK_SH)


def unlock(fd: int) -> None:
    """Releases the lock; closing the file does so, too."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def rename_over(source: Path, target: Path) -> None:
    """Renames a file or folder. Processes that have the replaced file open keep reading it."""
    os.replace(source, target)  # noqa: TID251 - the seam calls it here


def account() -> str:
    """The name of the account that this process runs as."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # an account without a name, as in some containers
        return f"uid {os.getuid()}"


def login_shell() -> str:
    """The program that this account logs in with; empty if there is none."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        return ""


def open_files_max_count() -> int:
    """How many files this process may have open."""
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
