"""The words that people meet in place of codes that a ledger keeps.

Responsible for the pairs, in both directions, and for the status of a record. Leaves using them to
what makes values of rows, to filters, and to the import. Invariants: codes are in events, rows and
acts, words in values and everything that shows them; each word stands for one code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast

from recollect.model.events.body import Status
from recollect.model.reasons import Reason
from recollect.model.validate import Json

RecordStatus = Literal["inbox", "active", "waiting", "replaced", "archived", "forgotten"]
RecordReason = Literal[
    "replaced", "was_waiting", "sources_kept", "rejected", "decayed", "merged", "refuted"
]
Sources = Literal["hide", "keep"]  # what becomes of an episode when its record is forgotten

# Codes without an entry are words already.
WORDS: Final = {
    "held": "waiting",
    "superseded": "replaced",
    "was_held": "was_waiting",
    "shadow": "hide",
}
CODES: Final = {word: code for code, word in WORDS.items()}
# Names that filters have for columns, and the columns.
COLUMNS: Final = {
    "replaces": "supersedes",
    "replaced_by": "superseded_by",
    "how_known": "source_type",
    "by": "origin",
}
FORMER: Final = {column: name for name, column in COLUMNS.items()}
_CHANGES: Final = FORMER | {"supersede": "replaces"}


def status_of(status: Status, reason: Reason | None) -> RecordStatus:
    """The status of a record, as people read it."""
    if status == "archived" and reason == "superseded":
        return "replaced"
    return cast(RecordStatus, WORDS.get(status, status))


def reason_of(reason: Reason | None) -> RecordReason | None:
    """Why a record does not hold, as people read it."""
    return None if reason is None else cast(RecordReason, WORDS.get(reason, reason))


def status_code(status: RecordStatus) -> Status:
    """The status that events have for a word."""
    return "archived" if status == "replaced" else cast(Status, CODES.get(status, status))


def reason_code(reason: RecordReason | None) -> Reason | None:
    """The reason that events have for a word."""
    return None if reason is None else cast(Reason, CODES.get(reason, reason))


def changes_of(changes: Mapping[str, Json]) -> dict[str, Json]:
    """What a proposal changes, by the names that people know."""
    return {_CHANGES.get(name, name): value for name, value in changes.items()}
