"""Ways to run the command: inside this process, as a real one, and on a terminal.

Responsible for a workspace of its own for each test. Leaves what is expected to the tests.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("recollect"))


@dataclass(frozen=True)
class Ran:
    """What one run left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


@dataclass(frozen=True)
class Shell:
    """A folder with a home of its own."""

    folder: Path
    home: Path
    run: Callable[..., Ran] = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RECOLLECT", "COLUMNS"))}
        return kept | {"HOME": str(self.home)}

    def process(self, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> Ran:
        """The installed command, as a process of its own."""
        done = subprocess.run(
            [COMMAND, *words],
            cwd=self.folder,
            env=self.environment | (env or {}),
            input=stdin.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def terminal(
        self, *words: str, typed: str = "", meanwhile: Callable[[], object] | None = None
    ) -> Ran:
        """The same on a terminal, with something typed; both outputs come as one.

        With ``meanwhile`` the command is first awaited until it asks; then that is done, and only
        then is anything typed.
        """
        mine, its = pty.openpty()
        if meanwhile is None:
            os.write(mine, typed.encode())
        process = subprocess.Popen(
            [COMMAND, *words],
            cwd=self.folder,
            env=self.environment | {"TERM": "xterm", "COLUMNS": "100"},
            stdin=its,
            stdout=its,
            stderr=its,
        )
        os.close(its)
        asked = ""
        if meanwhile is not None:
            asked = _read_until(mine, "[y/N]")
            meanwhile()
            os.write(mine, typed.encode())
        shown = asked + _read_all(mine)
        return Ran(process.wait(timeout=60), shown, "")


def _read_until(fd: int, question: str) -> str:
    """What is printed up to a question; a command that ends without it fails the test."""
    shown = b""
    while question.encode() not in shown:
        shown += os.read(fd, 65_536)
    return shown.decode()


def _read_all(fd: int) -> str:
    """Everything until the other side closes."""
    pieces: list[bytes] = []
    try:
        while piece := os.read(fd, 65_536):
            pieces.append(piece)
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(fd)
    return b"".join(pieces).decode()
