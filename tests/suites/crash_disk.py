"""A model of a disk that honours fsync, driven by an operation log.

Responsible for what may be there when the power fails after any number of calls. Bytes written
since a file's last sync may be there or not, page by page, and so may its new length; names
changed since a folder's last sync may be there or not, each for itself, a rename as one. A sync
that failed leaves pages that readers see and that no later sync writes, unless they are written
again. An index is any state it had committed. Leaves which of these states are looked at to
``crash_choices``. Invariant: whatever was synced, and not changed since, is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from tests.suites.crash_log import (
    INDEX,
    LOG,
    ROOT,
    Acked,
    Gone,
    Imaged,
    Kept,
    Linked,
    Made,
    Op,
    Renamed,
    Sized,
    Synced,
    Wrote,
)

PAGE = 4096
Tree = dict[str, bytes | str | None]  # path -> bytes, or the path of the same file; None: a folder
Fill = Literal["cut", "zeros", "junk"]
FILLS: tuple[Fill, ...] = ("cut", "zeros", "junk")


class Tear(msgspec.Struct, frozen=True):
    """What became of a file's unsynced bytes."""

    pages: frozenset[int]  # of the changed ones, those that reached the disk
    at: int | None = None  # the page with this byte reached it up to here
    fill: Fill = "zeros"  # what stands where nothing was ever written


class File:
    """One file: what the disk is sure to hold, and what readers see."""

    def __init__(self) -> None:
        self.durable = b""
        self.cache = b""
        self._stuck: set[int] = set()  # pages that a failed sync called clean

    def write(self, offset: int, data: bytes) -> None:
        before = self.cache[:offset].ljust(offset, b"\0")
        self.cache = before + data + self.cache[offset + len(data) :]
        self._stuck -= set(range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1))

    def size(self, size: int) -> None:
        self.cache = self.cache[:size].ljust(size, b"\0")

    def sync(self, *, ok: bool) -> None:
        if not ok:
            self._stuck |= set(self.changed())
            return
        pages = [*self._stuck]
        durable = bytearray(self.cache)
        for page in pages:
            place = slice(page * PAGE, min((page + 1) * PAGE, len(durable)))
            durable[place] = self.durable[place].ljust(len(durable[place]), b"\0")
        self.durable = bytes(durable)

    def changed(self) -> list[int]:
        """The pages in which readers see something else than the disk is sure to hold."""
        if self.durable == self.cache:
            return []
        count = (max(len(self.durable), len(self.cache)) + PAGE - 1) // PAGE
        return [
            page
            for page in range(count)
            if self.durable[page * PAGE : (page + 1) * PAGE]
            != self.cache[page * PAGE : (page + 1) * PAGE]
        ]

    def after(self, tear: Tear) -> bytes:
        """What the disk holds if this is what became of the unsynced bytes."""
        old, new = len(self.durable), len(self.cache)
        full = new if new > old or tear.fill == "cut" else old
        whole = bytearray(junk(full) if tear.fill == "junk" else bytes(full))
        whole[: min(old, full)] = self.durable[:full]
        for page in tear.pages:
            place = slice(page * PAGE, min((page + 1) * PAGE, full))
            whole[place] = self.cache[place].ljust(len(whole[place]), b"\0")
        if tear.at is not None:
            start = tear.at // PAGE * PAGE
            whole[start : tear.at] = self.cache[start : tear.at]
            if tear.fill == "cut":
                del whole[max(tear.at, min(old, new)) :]
        return bytes(whole)


class Index:
    """A file that SQLite writes: the states it has committed, oldest first."""

    def __init__(self) -> None:
        self.images: list[bytes] = []
        self.log = b""  # of a log: its bytes as they last were

    def add(self, image: bytes) -> None:
        if not self.images or self.images[-1] != image:
            self.images.append(image)


NameOp = Made | Linked | Renamed | Gone


class Folder:
    """Names: those the disk is sure to hold, and what was done to them since."""

    def __init__(self) -> None:
        self.durable: dict[str, int] = {}
        self.pending: list[NameOp] = []

    def names(self, mask: int = -1) -> dict[str, int]:
        """The names if those changes happened whose bit is set."""
        names = dict(self.durable)
        for place, op in enumerate(self.pending):
            if mask >> place & 1:
                _rename(names, op)
        return names

    def sync(self) -> None:
        self.durable = self.names()
        self.pending = []


def _rename(names: dict[str, int], op: NameOp) -> None:
    match op:
        case Made(name=name, ino=ino) | Linked(name=name, ino=ino):
            names[name] = ino
        case Renamed(source=source, target=target, ino=ino):
            names.pop(source, None)
            names[target] = ino
        case Gone(name=name):
            names.pop(name, None)


class Choice(msgspec.Struct, frozen=True):
    """One state of a disk after a crash."""

    masks: Mapping[int, int] = {}  # folder -> which pending names are there
    tears: Mapping[int, Tear] = {}  # file -> what became of its bytes
    index: int = -1  # which image, counted from the newest (-1); 0 means that there is none

    def told(self) -> str:
        """So that somebody can build it again."""
        return repr(self)


class Disk:
    """Everything, after some prefix of the log."""

    def __init__(self, ops: Iterable[Op] = ()) -> None:
        self.folders = {ROOT: Folder()}
        self.files: dict[int, File] = {}
        self.indexes: dict[int, Index] = {}
        self.logs: dict[int, int] = {}  # log -> the index it belongs to
        self.acks: list[Acked] = []
        for op in ops:
            self.do(op)

    def do(self, op: Op) -> None:
        """One more call happened."""
        match op:
            case Made():
                self._made(op)
            case Wrote(ino=ino, offset=offset, data=data):
                self.files[ino].write(offset, data)
            case Sized(ino=ino, size=size):
                if ino in self.files:
                    self.files[ino].size(size)
            case Synced():
                self._synced(op)
            case Linked() | Renamed() | Gone():
                self.folders[op.folder].pending.append(op)
            case Imaged(ino=ino, image=image):
                self.indexes[ino].add(image)
            case Kept(ino=ino, data=data):
                self.indexes[ino].log = data
            case Acked():
                self.acks.append(op)

    def _made(self, op: Made) -> None:
        self.folders[op.folder].pending.append(op)
        if op.is_folder:
            self.folders[op.ino] = Folder()
        elif op.name.startswith(INDEX):
            self.indexes[op.ino] = Index()
            if op.name == LOG:
                self.logs[op.ino] = self.folders[op.folder].names().get(INDEX, -1)
        else:
            self.files[op.ino] = File()

    def _synced(self, op: Synced) -> None:
        if op.ino in self.folders:
            self.folders[op.ino].sync()
        elif op.ino in self.files:
            self.files[op.ino].sync(ok=op.ok)
        elif op.image is not None:
            self.indexes[op.ino].add(op.image)

    def cached(self, *path: str) -> int | None:
        """What stands at a path as readers see it."""
        ino: int | None = ROOT
        for name in path:
            if ino is None or ino not in self.folders:
                return None
            ino = self.folders[ino].names().get(name)
        return ino

    def tree(self, choice: Choice) -> Tree:
        """Every path of a state."""
        found: Tree = {}
        self._walk(ROOT, "", choice, found, {})
        return found

    def _walk(
        self, ino: int, before: str, choice: Choice, found: Tree, paths: dict[int, str]
    ) -> None:
        names = self.folders[ino].names(choice.masks.get(ino, 0))
        for name, inner in names.items():
            if inner in self.folders:
                found[before + name] = None
                self._walk(inner, f"{before}{name}/", choice, found, paths)
            elif inner in paths:
                found[before + name] = paths[inner]
            elif inner in self.files:
                paths[inner] = before + name
                file = self.files[inner]
                tear = choice.tears.get(inner)
                found[before + name] = file.durable if tear is None else file.after(tear)
            elif inner in self.logs:
                if names.get(INDEX) != self.logs[inner]:  # otherwise the image has it
                    found[before + name] = self.indexes[inner].log
            elif name != INDEX or choice.index != 0:
                found[before + name] = self._index(inner, choice)

    def _index(self, ino: int, choice: Choice) -> bytes:
        images = self.indexes[ino].images
        if images:
            return images[max(choice.index, -len(images))] if choice.index else images[-1]
        return (b"", junk(PAGE * 3), b"SQLite format 3\0")[-choice.index % 3]

    def images(self) -> int:
        """How many committed states the indexes have, at most."""
        return max((len(index.images) for index in self.indexes.values()), default=0)


def junk(size: int) -> bytes:
    """Bytes that mean nothing, the same each time."""
    return (_JUNK * (size // len(_JUNK) + 1))[:size]


_JUNK = b"".join(sha256(number.to_bytes(4, "big")).digest() for number in range(1024))


def lay_out(tree: Mapping[str, bytes | str | None], root: Path) -> None:
    """Makes a real folder of a state."""
    root.mkdir(parents=True)
    for name, data in tree.items():
        if data is None:
            (root / name).mkdir()
        elif isinstance(data, str):
            (root / name).hardlink_to(root / data)
        else:
            (root / name).write_bytes(data)


def fingerprint(tree: Mapping[str, bytes | str | None]) -> int:
    """Equal for equal states of one run."""
    return hash(tuple(sorted((name, hash(data)) for name, data in tree.items())))


def cache_of(disk: Disk) -> Choice:
    """What a killed process leaves: all that it did."""
    return Choice(
        masks=dict.fromkeys(disk.folders, -1),
        tears={
            ino: Tear(pages=frozenset(file.changed()), fill="cut")
            for ino, file in disk.files.items()
            if file.durable != file.cache
        },
    )


def subset(items: Sequence[int], mask: int) -> frozenset[int]:
    """Those items whose bit is set."""
    return frozenset(item for place, item in enumerate(items) if mask >> place & 1)
