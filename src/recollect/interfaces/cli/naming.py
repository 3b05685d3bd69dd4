"""What the person here is called in ledgers: asked once, at ``recollect init``.

Responsible for the question and for what git says. Leaves keeping the answer to ``compose``.
Invariant: nobody is named who did not say so.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from recollect.compose import record_person
from recollect.config import Settings, known_file
from recollect.interfaces.cli.call import Call
from recollect.model import validate
from recollect.store.disk.layout import PERSON

_GIT: Final = ("git", "config", "--get", "user.name")
_GIT_MAX_S: Final = 5
_NONE: Final = "-"


def introduce(call: Call, settings: Settings, name: str | None, *, yes: bool) -> None:
    """Keeps the name that was given; asks a person at a terminal who was never asked."""
    is_known = settings.name is not None or known_file().with_name(PERSON).exists()
    if name is None and not is_known and not (yes or call.json) and sys.stdin.isatty():
        name = _asked()
    if name is not None:
        record_person("" if name.strip() == _NONE else name)


def _asked() -> str:
    """The answer; a dash, as in ``--name``, means that they are not named."""
    from typer import prompt

    said: str = prompt(
        f"Your name, for what you write and approve ({_NONE} for none)",
        default=_known_to_git() or _NONE,
        err=True,
    )
    return said


def _known_to_git() -> str:
    """The name that this person gave git, as an offer.

    Git is asked in the home folder: the repository here may be another's, and offers no name.
    """
    try:
        told = subprocess.run(  # noqa: S603 - fixed words
            _GIT, cwd=Path.home(), capture_output=True, text=True, timeout=_GIT_MAX_S, check=False
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    name = " ".join(told.stdout.split())
    return name if told.returncode == 0 and validate.is_own_name(name) else ""
