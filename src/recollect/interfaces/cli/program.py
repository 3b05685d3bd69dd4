"""How other programs start this one.

Responsible for a command line that works from any folder. Leaves where it is written down to its
callers. Invariant: it starts the very installation that wrote it.
"""

from __future__ import annotations

import sys
from pathlib import Path


def command() -> list[str]:
    """The words before the verb."""
    script = Path(sys.argv[0])
    if script.is_absolute() and script.name == "recollect" and script.is_file():
        return [str(script)]
    return [sys.executable, "-m", "recollect"]
