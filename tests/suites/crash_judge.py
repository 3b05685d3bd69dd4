"""What must be true of a disk after any crash.

Responsible for what is expected at a point of an operation log, and for opening a state with the
real code and comparing. Invariant: the judge knows only what was written and who was told what;
nothing in it knows how the store works inside.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.index.digest import state_digest
from recollect.index.fold import Clock, Fold
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.ledger.codec import decode
from recollect.ledger.line import Line
from recollect.ledger.scan import Append, recover
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.events import GENESIS, EventsErased
from recollect.store.backup import read_manifest
from recollect.store.files.copies.restore import restore_backup
from recollect.store.files.space import FileSpace
from recollect.store.sqlite import memory_index
from recollect.testing.seams import FixedSeam
from tests.suites.crash_disk import Disk

LEDGER = "events.wal"
SEALED = "sealed"
_SEGMENT = re.compile(r"\d{10}-\d{10}\.wal")
NOTE = "ledger.tail_cut"
KINDS = ("lost", "half", "refused", "invented", "wrong")


class Fault(msgspec.Struct, frozen=True):
    """Something that must not be."""

    kind: str  # one of KINDS
    what: str


class Written(msgspec.Struct):
    """One event that somebody wrote."""

    seq: int
    last: int  # of its append
    hash: str
    id: str
    data: bytes | None


class Expected(msgspec.Struct):
    """What must be true of one space."""

    events: list[Written] = []
    told: int = 0  # all events up to this one were acknowledged, or seen by a reader
    commands: set[str] = set()
    backups: set[str] = set()


class Witness:
    """Follows a disk call by call, and says what is expected if it crashes now."""

    def __init__(self, spaces: Iterable[str]) -> None:
        self._spaces = {name: Expected() for name in spaces}
        self._bytes: dict[str, bytes] = {}
        self._bodies: dict[str, bytes] = {}  # by hash, as first written
        self._acks = 0

    def look(self, disk: Disk) -> None:
        """One more call happened."""
        for name, space in self._spaces.items():
            raw = cached_ledger(disk, name)
            if raw != self._bytes.get(name, b""):
                self._bytes[name] = raw
                space.events = [self._event(line) for line in lines_of(raw)]
        for ack in disk.acks[self._acks :]:
            space = self._spaces[ack.space]
            space.told = max(space.told, ack.seq)
            space.commands |= {ack.command} - {""}
            space.backups |= {ack.backup} - {""}
        self._acks = len(disk.acks)

    def _event(self, line: Line) -> Written:
        if line.data is not None:
            self._bodies.setdefault(line.hash, line.data)
        return Written(line.seq, line.last, line.hash, line.id, self._bodies.get(line.hash))

    def expected(self) -> dict[str, Expected]:
        """A copy that stays as it is."""
        return {
            name: Expected(list(s.events), s.told, set(s.commands), set(s.backups))
            for name, s in self._spaces.items()
        }


def cached_ledger(disk: Disk, space: str) -> bytes:
    """A space's ledger as readers see it."""
    sealed = disk.cached(space, SEALED)
    names = {} if sealed is None else disk.folders[sealed].names()
    active = disk.cached(space, LEDGER)
    return joined(
        {name: disk.files[ino].cache for name, ino in names.items()},
        b"" if active is None else disk.files[active].cache,
    )


def ledger_bytes(folder: Path) -> bytes:
    """A space's ledger as it lies there."""
    sealed = {path.name: path.read_bytes() for path in (folder / SEALED).glob("*")}
    return joined(sealed, (folder / LEDGER).read_bytes())


def joined(sealed: Mapping[str, bytes], active: bytes) -> bytes:
    """One ledger, as the format says: a segment that begins with the active file is left out."""
    first = _seq(active)
    parts = [
        sealed[name]
        for name in sorted(sealed)
        if _SEGMENT.fullmatch(name) and (first is None or int(name[:10]) < first)
    ]
    return b"".join([*parts, active])


def _seq(line: bytes) -> int | None:
    found = re.match(rb'\{"v":1,"seq":(\d+),', line)
    return None if found is None else int(found[1])


def lines_of(raw: bytes) -> list[Line]:
    return [line for append in recover(raw).appends for line in append.lines]


# Judging.


class Judge:
    """Opens states and compares; remembers digests of ledgers it has folded before."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self.seen: Counter[str] = Counter()

    def judge(self, root: Path, expected: dict[str, Expected]) -> list[Fault]:
        """Opens every space of a state, reads, writes, and looks at its backups."""
        faults: list[Fault] = []
        for name, space in expected.items():
            if not space.told and not space.events and not (root / name).exists():
                continue
            faults += self._space(root / name, space)
            faults += self._backups(root, name, space)
        return faults

    def _space(self, folder: Path, expected: Expected) -> list[Fault]:
        seam = FixedSeam(7_777)
        space = FileSpace(folder, "main", create=True, seam=seam)
        try:
            memory = Memory(Handle(space, seam))
            digest = memory.admin.digest()
            raw = ledger_bytes(folder)
            found = recover(raw)
            faults = _compare([*_events(found.appends)], expected)
            if found.torn:
                faults.append(Fault("wrong", "a torn tail is still there"))
            if digest != self._replayed(found.appends):
                faults.append(Fault("wrong", "the index does not equal a replay of the ledger"))
            faults += _goes_on(memory)
        except Exception as error:  # noqa: BLE001 - whatever it is, the start was refused
            return [Fault("refused", f"{type(error).__name__}: {error}")]
        finally:
            space.close()
        return faults + _leaked(folder, expected, found.appends)

    def _replayed(self, appends: tuple[Append, ...]) -> str:
        """The digest of a replay in memory."""
        head = appends[-1].head.hash if appends else ""
        if head not in self._digests:
            db = memory_index("main")
            tables = Tables(db)
            fold = Fold(tables, Clock(GENESIS.at, 0))
            for append in appends:
                fold.append([decode(line) for line in append.lines])
            tables.flush()
            self._digests[head] = state_digest(db, NOW)
            db.close()
        return self._digests[head]

    def _backups(self, root: Path, name: str, expected: Expected) -> list[Fault]:
        """One that has a manifest is whole; one that was acknowledged has a manifest."""
        faults = []
        for folder in sorted((root / name).glob("backup/*")):
            where = str(folder.relative_to(root))
            target = root / "again"
            try:
                restore_backup(folder, target, FixedSeam(8_888))
                self.seen["backups"] += 1
            except (NotFound, InvalidInput) as error:
                if where in expected.backups:
                    faults.append(Fault("lost", f"the backup {where}: {error}"))
            except RecollectError as error:
                faults.append(Fault("wrong", f"the backup {where}: {error}"))
            else:
                faults += _prefix(target, read_manifest(folder).head, expected)
                shutil.rmtree(target)
        missing = [where for where in expected.backups if not (root / where).exists()]
        return faults + [Fault("lost", f"the backup {where} is gone") for where in missing]


def _events(appends: Iterable[Append]) -> Iterable[Line]:
    for append in appends:
        yield from append.lines


def _compare(found: list[Line], expected: Expected) -> list[Fault]:
    """What is there is a prefix of what was written, then at most notes of the store's own."""
    events = expected.events
    common = 0
    while common < min(len(found), len(events)) and found[common].hash == events[common].hash:
        common += 1
    faults = []
    if common < expected.told:
        faults.append(Fault("lost", f"{common} of {expected.told} acknowledged events are there"))
    here = {line.id.rpartition(".")[0] for line in found[:common]}
    faults += [Fault("lost", f"the command {id}") for id in sorted(expected.commands - here)]
    if common and events[common - 1].last != common:
        faults.append(Fault("half", f"{common} of {events[common - 1].last} events of an append"))
    kinds = [line.kind for line in found[common:]]
    if not common and kinds[:1] == ["space.opened"]:
        kinds = kinds[1:]
    elif not common:
        faults.append(Fault("wrong", "the ledger does not begin with its opening"))
    if any(kind != NOTE for kind in kinds):
        faults.append(Fault("invented", f"{kinds} after event {common}"))
    return faults + _bodies(found[:common], events)


def _bodies(found: list[Line], events: list[Written]) -> list[Fault]:
    """Every body is as it was written, unless an event says that it was erased."""
    erased = {target for line in found for target in _targets(line)}
    return [
        Fault("lost", f"the body of event {line.seq}")
        for line, event in zip(found, events, strict=False)
        if line.data != event.data and (line.data is not None or line.seq not in erased)
    ]


def _targets(line: Line) -> tuple[int, ...]:
    if not line.is_erasure:
        return ()
    body = decode(line).body
    return body.targets if isinstance(body, EventsErased) else ()


def _goes_on(memory: Memory) -> list[Fault]:
    """A further write works and reads back."""
    before = memory.events.position
    record = memory.remember("afterwards", idempotency_key="afterwards")
    if memory.events.position != before + 1 or memory.get(record.id) != record:
        return [Fault("wrong", "a further write did not take place")]
    memory.admin.seal()
    return []


def _leaked(folder: Path, expected: Expected, appends: tuple[Append, ...]) -> list[Fault]:
    """No byte of what an event on record erased is left in the workspace."""
    gone = {target for line in _events(appends) for target in _targets(line)}
    names = [
        name
        for event in expected.events
        if event.seq in gone
        for name in re.findall(rb"canary\w+", event.data or b"")
    ]
    if not names:
        return []
    pattern = re.compile(b"|".join(rb"%b(?!\w)" % name for name in names))
    return [
        Fault(
            "wrong", f"{path.relative_to(folder)} still holds {hit[0].decode()}, which was erased"
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (hit := pattern.search(path.read_bytes()))
    ]


def _prefix(restored: Path, head: str, expected: Expected) -> list[Fault]:
    """A restored backup holds what had been written up to its head."""
    hashes = [line.hash for line in lines_of(ledger_bytes(restored))]
    written = [event.hash for event in expected.events]
    if head not in hashes:
        return [Fault("wrong", "a restored backup does not hold its own head")]
    place = hashes.index(head) + 1
    if hashes[:place] != written[:place]:
        return [Fault("invented", "a backup holds what nobody wrote")]
    return []
