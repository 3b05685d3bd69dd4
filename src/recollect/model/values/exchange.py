"""Values of the way in and out: what an import or an export did.

Responsible for their shape. Leaves the work to ``memory``. Invariant: none of them contains the
text of a memory.
"""

from __future__ import annotations

from recollect.model.values.records import Value


class Refused(Value, frozen=True, kw_only=True):
    """Something that was not imported: where it stands, and why."""

    where: str
    why: str


class Checked(Value, frozen=True, kw_only=True):
    """How far a foreign chain of hashes holds; ``broken_at`` is the number of a line."""

    where: str
    lines: int
    dialect: str
    broken_at: int | None = None


class Imported(Value, frozen=True, kw_only=True):
    """What an import did, or would do.

    ``known`` was imported before and has not changed there since. ``problems`` names the first of
    what was ``refused``. ``left_out`` counts what the format has and a memory does not take.
    """

    format: str
    source: str
    kept: int = 0
    changed: int = 0
    known: int = 0
    refused: int = 0
    forgotten: int = 0  # deleted there, and so forgotten here
    missing: int = 0  # imported before and not in it now; unchanged here
    records: int = 0  # of those kept
    episodes: int = 0
    links: int = 0
    waiting: bool = False  # what was kept waits for a review
    dry_run: bool = False
    redacted: dict[str, int] = {}
    left_out: dict[str, int] = {}
    chains: tuple[Checked, ...] = ()
    problems: tuple[Refused, ...] = ()


class Exported(Value, frozen=True, kw_only=True):
    """What an export wrote: everything that the handle saw at one position.

    ``digest`` is over what a complete export has, without seq, instants of writing and receipts:
    a memory that imported it has the same one when it is exported.
    """

    format: str
    target: str
    position: int
    records: int
    episodes: int
    links: int
    size_bytes: int
    digest: str | None = None
    pages: int = 0
