"""Whether an index matches the events of its ledger.

Responsible for finding and describing a difference. Leaves repairing it to
``store.files.catch_up``. Invariants: the comparison changes nothing and takes no lock; its data is
in SQLite's unnamed temporary files, so memory stays bounded and no file is left behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from hashlib import sha256
from typing import Final

from recollect.errors import IntegrityError
from recollect.index.digest import log_digest, state_digest
from recollect.index.reads import Reads
from recollect.index.statements import INDEX_VERSION, NOW
from recollect.index.words.bm25 import totals
from recollect.ledger.cipher import Ciphers
from recollect.ledger.scan import Scanner
from recollect.store.fold_ledger import Folded, fold_appends
from recollect.store.port import Progress
from recollect.store.sqlite import SqliteDb, memory_index, scratch_index

_WRONG: Final = "does not match the events; rebuild the index"


def difference_of(
    copy: SqliteDb,
    space: str,
    pieces: Iterable[bytes],
    size_bytes: int,
    progress: Progress | None,
    ciphers: Ciphers | None = None,
) -> str | None:
    """Folds a ledger and compares the rows with this copy of its index.

    Returns None if they are equal, or a sentence about the difference.
    """
    found = copy.own_check()
    if found is not None:
        return f"the index is damaged ({found}); rebuild it"
    with closing(memory_index(space)) as fresh:
        if copy.rows("definitions") != fresh.rows("definitions"):
            return "the tables of the index differ from those of this release; rebuild the index"
    position = Reads(copy).position()
    if position is None or (position.version, position.space) != (INDEX_VERSION, space):
        return f"the metadata of the index {_WRONG}"
    with closing(scratch_index(space)) as scratch:
        scratch.run("begin_write")
        try:
            scanner = Scanner()
            folded = fold_appends(
                scratch,
                scanner,
                pieces,
                progress,
                size_bytes,
                through=position.seq,
                ciphers=ciphers,
            )
            if scanner.head.seq <= position.seq:
                scanner.torn()  # raises for damage; the index has no unfinished append
        except IntegrityError as error:
            return f"{error.message}; run `recollect admin doctor` to see what can be done"
        scratch.run("commit")
        if not _stands_at(copy, folded):
            return f"the position of the index {_WRONG}"
        if state_digest(scratch, NOW) != state_digest(copy, NOW):
            return f"the index of records, episodes, links or erasures {_WRONG}"
        if log_digest(scratch) != log_digest(copy):
            return f"the list of events in the index {_WRONG}"
        if any(_words(scratch, shelf) != _words(copy, shelf) for shelf in ("recallable", "rest")):
            return f"the full-text index {_WRONG}"
    return None


def _stands_at(db: SqliteDb, folded: Folded) -> bool:
    """The position: the last event, the active time and the last finished erasure."""
    position = Reads(db).position()
    if position is None or db.one("is_position_whole") != (1,):
        return False
    head = folded.head
    return (position.seq, position.hash, position.at, position.active_us) == (
        *(head.seq, head.hash, head.at),
        folded.active_us,
    ) and position.purged < folded.erasures.first_unfinished


def _words(db: SqliteDb, shelf: str) -> str:
    """A digest over every word of a shelf, its positions and its counts."""
    digest = sha256()
    db.run(f"show_words_{shelf}")
    kept = ("kept_recallable",) if shelf == "recallable" else ()
    for name in (f"words_{shelf}", f"sizes_{shelf}", *kept):
        for row in db.stream(name, ()):
            digest.update(repr(row).encode())
    for row in db.stream(f"totals_{shelf}", ()):
        digest.update(repr(totals(row)).encode())  # a shelf that was emptied counts like a new one
    return digest.hexdigest()
