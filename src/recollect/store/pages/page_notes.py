"""What is remembered about the files of pages: ``.pages.json`` in their folder.

Responsible for reading and keeping it, and for telling from it whether a file changed. Leaves what
becomes of a file to ``store.pages``. Invariants: the file holds names of pages, digests and
numbers, and can be deleted; what cannot be read counts as nothing, and so does what another memory
noted, or this one before it lost events; the digest of a file is taken from here only if the file
cannot have changed since.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

import msgspec

from recollect.index.reads import Reads
from recollect.mirror.page import SUFFIX
from recollect.store.disk.disk import replace_file
from recollect.store.disk.layout import IGNORE, PAGES_STATE
from recollect.store.disk.regular_files import read_regular
from recollect.store.disk.repository import repository_of
from recollect.store.seam import Seam

_SEQ_MAX: Final = 2**63 - 1
# Packed events. No event has a number of 19 digits.
_PACK: Final = re.compile(r"(?:[0-9]{1,18}+(?: |\Z))*+")
NOT_A_FILE: Final = "not a file"  # in place of a digest
FILE_MAX_BYTES: Final = 1 << 30
_IGNORE_MAX_BYTES: Final = 1 << 20
_NAME_MAX_BYTES: Final = 255
_SECOND_NS: Final = 1_000_000_000
# How far apart two changes of a file are at least, if their times differ. Some file systems count
# whole seconds, or two at once; then every time is a whole second.
_COARSE_NS: Final = 2 * _SECOND_NS
_FINE_NS: Final = _SECOND_NS // 20

Stamp = tuple[int, int, int, int]  # times of the content and of the inode, size, inode


class Noted(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of one file."""

    digest: str  # of the page as the memory showed it at the position
    earlier: tuple[str, ...]  # of other renderings that may still be in the file
    events: str  # whose words any of these show; see ``packed``
    title: tuple[int, ...] = ()  # those that its title and description come from
    stamp: Stamp | None = None  # of the file when it had the digest

    @property
    def digests(self) -> tuple[str, ...]:
        """Of every rendering that may be in the file."""
        return (self.digest, *self.earlier)


class Notes(msgspec.Struct, frozen=True):
    """What is remembered of a folder."""

    pages: dict[str, Noted] = {}  # by the name of the file
    position: int = 0  # of the memory when these pages were made; 0: they may be of several
    made: str = ""  # stands for the memory, the position, and what made the pages
    written_ns: int = 0  # when this was kept; known from the file
    memory: str = ""  # see ``bond_of``; empty: nothing tells whose pages these are
    through: int = 0  # no page shows a later event

    def names_only(self) -> Notes:
        """The same names; no file counts as one that was rendered."""
        return Notes({name: Noted("", (), "") for name in self.pages})


def bond_of(reads: Reads, seq: int) -> str:
    """Stands for a memory up to a position: for its first event and for the one that is there.

    Empty if the memory has no such position, or if this handle does not see it.
    """
    first, last = reads.command_at(1) or reads.command_of(1), reads.command_at(seq)
    if first is None or last is None or last.seq != seq:
        return ""
    return digest_of(repr((first.id, first.at, seq, last.id, last.at)).encode())


def is_of(reads: Reads, notes: Notes) -> bool:
    """True if this memory said all that the noted renderings show.

    A folder can be copied together with its notes, and a ledger can be put back as it was before
    pages were rendered. What such pages say may be nowhere else.
    """
    return bool(notes.memory) and notes.memory == bond_of(reads, notes.through)


def packed(events: Iterable[int]) -> str:
    """Numbers of events as one text, each as the distance from the one before.

    A rendering passes the notes of most pages on as they are. There may be many events, and a text
    is read and written many times faster than a list of them.
    """
    ordered = sorted(events)
    return " ".join(str(seq - before) for before, seq in pairwise((0, *ordered)))


def unpacked(events: str) -> list[int]:
    """The inverse of ``packed``."""
    return list(accumulate(map(int, events.split())))


def _is_sound(notes: Notes) -> bool:
    """True if its numbers can be used; the file may come from elsewhere."""
    is_number = all(0 <= seq <= _SEQ_MAX for seq in (notes.position, notes.through))
    return is_number and all(_PACK.fullmatch(noted.events) for noted in notes.pages.values())


class _Checked(msgspec.Struct):
    digest: str
    notes: msgspec.Raw


def read_notes(folder: Path) -> Notes | None:
    """What is remembered about a folder; None if nothing can be read."""
    path = folder / PAGES_STATE
    if not is_file(path):
        return None
    try:
        written_ns = os.lstat(path).st_mtime_ns
        checked = msgspec.json.decode(read_regular(path, FILE_MAX_BYTES), type=_Checked)
        if digest_of(bytes(checked.notes)) != checked.digest:
            return None
        notes = msgspec.json.decode(checked.notes, type=Notes)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if not _is_sound(notes):
        return None
    pages = {name: noted for name, noted in notes.pages.items() if is_plain(name)}
    return msgspec.structs.replace(notes, pages=pages, written_ns=written_ns)


def notes_for(reads: Reads, folder: Path) -> tuple[Notes, bool]:
    """What is noted of a folder, and whether this memory noted it; else only names are left."""
    notes = read_notes(folder) or Notes()
    is_known = is_of(reads, notes)
    return (notes if is_known else notes.names_only()), is_known


def keep_notes(seam: Seam, folder: Path, notes: Notes) -> Notes:
    """Remembers, and returns what is remembered now."""
    notes = msgspec.structs.replace(notes, pages=dict(sorted(notes.pages.items())), written_ns=0)
    data = msgspec.json.encode(notes)
    path = folder / PAGES_STATE
    if path.is_symlink():
        seam.unlink(path)
    checked = _Checked(digest_of(data), msgspec.Raw(data))
    replace_file(seam, path, [msgspec.json.encode(checked), b"\n"])
    return msgspec.structs.replace(notes, written_ns=os.lstat(path).st_mtime_ns)


def keep_out_of_git(seam: Seam, folder: Path) -> None:
    """Names the notes in the folder's ``.gitignore``: they are about the files of this machine."""
    path = folder / IGNORE
    if not folder.is_dir() or repository_of(folder) is None:
        return
    if os.path.lexists(path) and not is_file(path):
        return  # a link would lead elsewhere
    before = read_regular(path, _IGNORE_MAX_BYTES) if is_file(path) else b""
    if PAGES_STATE.encode() not in before.split():
        end = b"\n" if before and not before.endswith(b"\n") else b""
        replace_file(seam, path, [before, end, PAGES_STATE.encode(), b"\n"])


def file_digest(folder: Path, name: str, notes: Notes) -> tuple[str | None, Stamp | None]:
    """The digest of a file, with its stamp; None if it is not there."""
    path = f"{folder}{os.sep}{name}"  # there may be thousands, so no Path is made
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None, None
    if not stat.S_ISREG(found.st_mode):
        return NOT_A_FILE, None
    stamp, noted = stamp_of(found), notes.pages.get(name)
    if noted is not None and noted.stamp == stamp and is_before(stamp, notes.written_ns):
        return noted.digest, stamp
    return digest_of(read_regular(path, FILE_MAX_BYTES)), stamp


def stamp_of(found: os.stat_result) -> Stamp:
    """What changes with a file."""
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def is_before(stamp: Stamp, written_ns: int) -> bool:
    """True if a later change of the file would have had another time."""
    changed, touched, *_ = stamp
    is_fine = changed % _SECOND_NS and touched % _SECOND_NS
    return max(changed, touched) + (_FINE_NS if is_fine else _COARSE_NS) < written_ns


def digest_of(data: bytes) -> str:
    """The digest of a file's bytes."""
    return sha256(data).hexdigest()


def is_file(path: Path) -> bool:
    """True for a regular file; no link is followed."""
    return path.is_file() and not path.is_symlink()


def is_plain(name: str) -> bool:
    """True if a name leads nowhere but into its folder, and a file can have it."""
    is_short = len(os.fsencode(name)) <= _NAME_MAX_BYTES
    return (
        is_short and name.endswith(SUFFIX) and name[0] != "." and not {"/", "\\", "\0"} & set(name)
    )
