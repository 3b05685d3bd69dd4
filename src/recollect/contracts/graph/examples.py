"""The fixtures that ship: a graph and a profile.

Responsible for finding and reading them. Leaves importing them to a store. Invariant: they are
files as another program would hand them over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from recollect.exchange.workspace import SUFFIX, parse
from recollect.model.validate import Json

FIXTURES: Final = Path(__file__).parent / "fixtures"


def fixture(name: Literal["graph", "profile"]) -> dict[str, Json]:
    """One of them, as an object."""
    file = FIXTURES / f"{name}{SUFFIX}"
    return parse(file.read_bytes(), file.name)
