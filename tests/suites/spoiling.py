"""States that files get into by accident, made for real, and what a person is then told.

Responsible for one workspace with a history and for the accidents. Leaves what must be said about
each to ``test_damage_states``. Invariant: an accident touches files only, never through the engine.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recollect import Memory
from recollect.ledger.erasure import lines_of
from recollect.ledger.scan import scan
from recollect.testing.rebuilding import rebuilt_digest

# Events: 1 genesis, 2 one, 3 two, a backup, 4 three, 5 to 7 four, five and six in one append.
LAST = 7


def workspace(folder: Path, last: str = "six") -> Path:
    """A memory with a short history, closed."""
    with Memory.open(folder) as memory:
        memory.remember("one", id="r1")
        memory.remember("two", id="r2")
        memory.admin.backup()
        memory.remember("three", id="r3")
        with memory.batch() as batch:
            for text in ("four", "five", last):
                batch.remember(text)
    return folder


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder: its rights and its bytes."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def texts(folder: Path) -> set[str]:
    """What the memory there shows, once it was checked from end to end."""
    with Memory.open(folder) as memory:
        assert memory.admin.verify().ok
        digest = memory.admin.digest()
        assert rebuilt_digest(memory.admin) == digest
        return {record.text for record in memory.list()}


def commands(advice: str) -> list[list[str]]:
    """The commands that an advice names, as words for a shell."""
    return [shlex.split(command) for command in re.findall(r"`recollect ([^`]+)`", advice)]


def moves(advice: str) -> tuple[Path, Path, list[Path]]:
    """What to move, where to, and what to delete, as the advice says."""
    step = re.search(r"move (\S+) to (\S+), and delete (\S+) and (\S+) if", advice)
    assert step is not None, advice
    source, target, *gone = map(Path, step.groups())
    return source, target, gone


# Accidents.


def _ledger(folder: Path) -> Path:
    return folder / "events.wal"


def deleted(folder: Path) -> None:
    _ledger(folder).unlink()


def emptied(folder: Path) -> None:
    _ledger(folder).write_bytes(b"")


def cut(folder: Path) -> None:
    """Between two appends."""
    data = _ledger(folder).read_bytes()
    _ledger(folder).write_bytes(data[: list(scan([data]))[-2].end])


def older_copy(folder: Path) -> None:
    (backup,) = (folder / "backup").iterdir()
    shutil.copy(backup / "events.wal", _ledger(folder))


def of_another_space(folder: Path) -> None:
    with Memory.open(folder.parent / "elsewhere", space="other") as other:
        other.remember("not mine")
    shutil.copy(folder.parent / "elsewhere" / "spaces" / "other" / "events.wal", _ledger(folder))


def of_another_history(folder: Path) -> None:
    """As many events, and others."""
    shutil.copy(workspace(folder.parent / "fork", last="6ix") / "events.wal", _ledger(folder))


def flipped(seq: int) -> Callable[[Path], None]:
    """One bit in the body of an event."""

    def flip(folder: Path) -> None:
        lines = list(lines_of([_ledger(folder).read_bytes()]))
        changed = bytearray(lines[seq - 1])
        changed[changed.index(b'"text":"') + 9] ^= 1
        _ledger(folder).write_bytes(b"".join([*lines[: seq - 1], bytes(changed), *lines[seq:]]))

    return flip


def mark_altered(folder: Path) -> None:
    """Who erased an event, told otherwise: the chain holds, and yet it is not as it was."""
    with Memory.open(folder) as memory:
        memory.erase("r2")
    data = _ledger(folder).read_bytes()
    assert data.count(b'"erased":"8"') == 1
    _ledger(folder).write_bytes(data.replace(b'"erased":"8"', b'"erased":"9"'))


def erased_then_flipped(folder: Path) -> None:
    """The event that erased another one stands behind the damage, and is lost with it."""
    with Memory.open(folder) as memory:
        memory.erase("r2")
    flipped(4)(folder)


def sealed(then: Callable[[Path, Path], None]) -> Callable[[Path], None]:
    """Closed into a segment first; then something happens to the segment or the active file."""

    def seal(folder: Path) -> None:
        with Memory.open(folder) as memory:
            memory.admin.seal()
        (segment,) = (folder / "sealed").glob("*.wal")
        then(segment, _ledger(folder))

    return seal


def segment_flipped(segment: Path, active: Path) -> None:
    segment.write_bytes(segment.read_bytes().replace(b'"text":"two"', b'"text":"tw0"'))


def segment_deleted(segment: Path, active: Path) -> None:
    segment.unlink()


def active_deleted(segment: Path, active: Path) -> None:
    active.unlink()


def index_deleted(folder: Path) -> None:
    (folder / "index.db").unlink()


def index_of_junk(folder: Path) -> None:
    (folder / "index.db").write_bytes(b"junk" * 3_000)


def index_of_the_future(folder: Path) -> None:
    connection = sqlite3.connect(folder / "index.db")
    with connection:
        connection.execute("UPDATE position SET version = 99")
    connection.close()


def a_folder_in_its_place(folder: Path) -> None:
    _ledger(folder).rename(folder / "events.aside")
    _ledger(folder).mkdir()


@dataclass(frozen=True)
class State:
    """An accident, and what must be said and possible after it."""

    name: str
    make: Callable[[Path], None]
    what: str  # which finding is the problem
    says: tuple[str, ...]  # what its detail must hold
    left: frozenset[str] | None = frozenset()  # after --accept-loss; None if that is refused
    broken_at: int | None = None  # what verify answers, where it can
    erases: bool = False  # "two" was erased before
    seals: bool = False  # the ledger was sealed before
    aside: bytes = b""  # what must be found in a torn copy after --accept-loss

    def __str__(self) -> str:
        return self.name


ONE, TWO, THREE = frozenset({"one"}), frozenset({"one", "two"}), frozenset({"one", "two", "three"})

LOSSES = (
    State("ledger deleted", deleted, "ledger", ("missing", "up to 7")),
    State("ledger emptied", emptied, "index", ("events 1 to 7 are missing",), broken_at=1),
    State("ledger cut", cut, "index", ("events 5 to 7 are missing",), left=THREE, broken_at=5),
    State("older copy", older_copy, "index", ("events 4 to 7 are",), left=TWO, broken_at=4),
    State("other space", of_another_space, "ledger", ("'other'", "'main'"), left=None),
    State(
        "other history",
        of_another_history,
        "index",
        ("event 7", "differs"),
        left=THREE | {"four", "five", "6ix"},
        broken_at=7,
    ),
    State("flip", flipped(3), "ledger", ("event 3",), left=ONE, broken_at=3, aside=b"five"),
    State(
        "flip in the last line",
        flipped(7),
        "ledger",
        ("event 7",),
        left=THREE,
        broken_at=7,
        aside=b"five",
    ),
    State(
        "flip in the last append",
        flipped(6),
        "ledger",
        ("event 6",),
        left=THREE,
        broken_at=6,
    ),
    State(
        "erasure mark",
        mark_altered,
        "ledger",
        ("event 3", "did not erase it"),
        left=THREE - {"two"} | {"four", "five", "six"},
        broken_at=3,
        erases=True,
    ),
    State(
        "erasure behind the damage",
        erased_then_flipped,
        "ledger",
        ("event 4",),
        left=ONE,
        broken_at=4,
        aside=b'"four"',
        erases=True,
    ),
    State(
        "segment flipped",
        sealed(segment_flipped),
        "ledger",
        ("event 3",),
        left=ONE,
        broken_at=3,
        seals=True,
    ),
    State("segment deleted", sealed(segment_deleted), "ledger", ("event 1",), seals=True),
    State(
        "active file deleted",
        sealed(active_deleted),
        "ledger",
        ("missing", "up to 8"),
        left=THREE | {"four", "five", "six"},
        seals=True,
    ),
)
