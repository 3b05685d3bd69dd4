"""The command line with which other programs start this one.

Responsible for a command line that works from any folder, and for recognizing an unsafe one of an
earlier release, which runs code from the current folder. Leaves writing it down to its callers.
Invariants: it starts the installation that wrote it; the current folder is never on its
``sys.path``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_SAFE_PATH: Final = "-P"  # without it, `-m` imports from the current folder first
_MODULE: Final = ["-m", "recollect"]
_MODULE_IN_TEXT: Final = re.compile(r"(?<=\s)-m(?=\s+recollect(?:\s|$))")
_SAFE_FLAGS: Final = re.compile(r"-[A-Za-z]*[IP][A-Za-z]*")


def command() -> list[str]:
    """The command line up to the verb.

    Assistants run them with a project as the current folder. A repository could hold a
    ``msgspec.py``, so Python must not import from there.
    """
    script = Path(sys.argv[0])
    if script.is_absolute() and script.name == "recollect" and script.is_file():
        return [str(script)]
    return [sys.executable, _SAFE_PATH, *_MODULE]


def note_if_fragile() -> str | None:
    """A sentence if this program disappears together with a virtual environment."""
    parts = Path(sys.prefix).parts
    if sys.prefix == sys.base_prefix or "pipx" in parts or "uv" in parts:
        return None
    return (
        f"It starts the program in the virtual environment {sys.prefix}, and stops working without "
        "it; `pipx install` or `uv tool install` keeps the program apart."
    )


def is_exposed(words: Sequence[str]) -> bool:
    """True if this command line imports modules from the current folder."""
    at = _module_at(words)
    return at is not None and not any(_SAFE_FLAGS.fullmatch(word) for word in words[:at])


def guarded(words: Sequence[str]) -> list[str]:
    """The same command line without the current folder on ``sys.path``."""
    at = _module_at(words)
    return list(words) if at is None else [*words[:at], _SAFE_PATH, *words[at:]]


def guarded_text(text: str) -> str:
    """The same for a shell's command line; its other characters stay unchanged."""
    return _MODULE_IN_TEXT.sub(f"{_SAFE_PATH} -m", text, count=1)


def _module_at(words: Sequence[str]) -> int | None:
    pairs = range(1, len(words) - 1)
    return next((at for at in pairs if list(words[at : at + 2]) == _MODULE), None)
