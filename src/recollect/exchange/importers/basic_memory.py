"""The notes of Basic Memory.

Responsible for recognizing them. Leaves reading them to ``exchange.importers.markdown``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange.importers.markdown import read_as
from recollect.exchange.items import Found, Source

FORMAT: Final = "basic-memory"
IS_WHOLE: Final = True


def recognizes(name: str, head: bytes) -> bool:
    """True if a note has the frontmatter of Basic Memory."""
    return name.endswith(".md") and head.startswith(b"---") and b"\npermalink:" in head[:4000]


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """What all notes say."""
    return read_as(FORMAT, sources)
