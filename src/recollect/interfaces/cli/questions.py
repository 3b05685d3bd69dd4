"""Questions to a person at a terminal.

Responsible for asking on stderr, so that stdout holds only the answer, and for reading a line.
Leaves when to ask to the commands. Invariant: the end of the input declines.
"""

from __future__ import annotations

import sys
from typing import Final

from recollect.interfaces.cli import plain
from recollect.interfaces.cli.declare import Abort

_YES: Final = ("y", "yes")
_NO: Final = ("", "n", "no")


def confirm(question: str) -> bool:
    """True if a person says yes; Enter alone means no."""
    while True:
        said = _line(f"{question} [y/N]: ").lower()
        if said in (*_YES, *_NO):
            return said in _YES
        plain.say_to_stderr("Please answer y or n.")


def prompt(question: str, default: str = "") -> str:
    """What a person types; Enter alone takes the default."""
    shown = f" [{default}]" if default else ""
    return _line(f"{question}{shown}: ") or default


def _line(question: str) -> str:
    sys.stderr.write(plain.safe(question))
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        plain.say_to_stderr("")
        raise Abort
    return line.strip()
