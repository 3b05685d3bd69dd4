"""The statuses of other programs, and what each is here.

Responsible for this one table. Invariant: a word that is not in it counts as active, and the
importer keeps the word in the record's data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from recollect.exchange.items import Standing

STATUSES: Final[Mapping[str, Standing]] = {
    # chronomemory and specsmith
    "active": "active",
    "implemented": "active",
    "accepted": "active",
    "hypothesis": "active",
    "proposed": "inbox",
    "draft": "inbox",
    "deprecated": "decayed",
    "superseded": "decayed",
    "invalidated": "rejected",
    "rejected": "rejected",
    "archived": "decayed",
    # OpenChronicle: the status of a page
    "dormant": "active",
}
_DEPRECATED: Final = "deprecat"


def standing(word: object) -> Standing:
    """What a status of another program is here."""
    status = word.strip().lower() if isinstance(word, str) else ""
    if _DEPRECATED in status:
        return "decayed"
    return STATUSES.get(status, "active")
