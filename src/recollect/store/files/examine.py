"""The findings of ``doctor`` in the files of a space, and what a person can do about them.

Responsible for findings that a person can follow: what is wrong, what it means, and the steps to
take, in order, with commands that can be copied. Leaves the steps themselves to ``store.backup``
and ``store.files.space``. Invariant: nothing is changed.
"""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError, IntegrityError, RecollectError
from recollect.index.statements import INDEX_VERSION
from recollect.index.words.text import made_with
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import parse
from recollect.ledger.scan import Scanner
from recollect.ledger.verify import verify
from recollect.model.counts import counted, size
from recollect.model.events import Head, SpaceOpened
from recollect.model.values import Finding, Verification
from recollect.store.backup import Manifest, read_manifest
from recollect.store.checkpoints.walk import walk_for
from recollect.store.disk.layout import (
    BACKUP,
    INDEX,
    LEDGER,
    SEALED,
    SPACES,
    TORN_SUFFIX,
    is_dropping,
    is_moved,
    opened_folders,
)
from recollect.store.disk.regular_files import check_regular
from recollect.store.files import vector_file
from recollect.store.files.build import known_head, known_tokens, known_version
from recollect.store.files.ledger import segments
from recollect.store.files.ledger.check import difference
from recollect.store.keys.lost_keys import lost_keys
from recollect.store.port import Progress

_BACKUPS_MAX_COUNT: Final = 3
_LOST: Final = "acknowledged data was lost or altered"


def examine(
    folder: Path, space: str, progress: Progress | None = None, ciphers: Ciphers | None = None
) -> list[Finding]:
    """The findings; nothing is changed. ``progress`` is called during the fold, the long part."""
    try:
        check_regular(*opened_folders(folder))
        if is_moved(folder):
            return [_moved(folder)]
        if is_dropping(folder):
            return [_dropping(space)]
        return _Examination(folder, space, progress, ciphers).findings()
    except ConfigError as error:
        return [Finding(level="problem", what="files", detail=str(error), fix=error.hint)]
    except OSError as error:
        path = Path(error.filename) if error.filename else folder
        return [
            Finding(
                level="problem",
                what="files",
                detail=f"{path} cannot be read: {error.strerror}. Its contents are not lost, but "
                "nothing else could be checked",
                fix=_numbered(
                    f"Check its type and its owner: `ls -ld {_quoted(path)}`",
                    "Make it a file (the workspace: a folder) that you may read and write, or use "
                    "the account it belongs to",
                    "Run `recollect admin doctor` again",
                ),
            )
        ]


def _moved(folder: Path) -> Finding:
    return Finding(
        level="problem",
        what="ledger",
        detail=f"the memory that was in {folder} was moved into the git folder of its repository",
        fix="check it there: run `recollect admin doctor` without --store",
    )


def _dropping(space: str) -> Finding:
    return Finding(
        level="problem",
        what="ledger",
        detail=f"the space {space!r} was dropped, and that was interrupted before every file was "
        "removed",
        fix=f"run `recollect admin drop-space {shlex.quote(space)}` again: it removes the rest",
    )


class _Examination:
    """One examination of the folder of a space."""

    def __init__(
        self, folder: Path, space: str, progress: Progress | None, ciphers: Ciphers | None = None
    ) -> None:
        self._folder = folder
        self._ciphers = ciphers
        self._progress = progress
        self._space = space
        self._ledger = folder / LEDGER
        self._index = folder / INDEX
        self._seen = known_head(self._index)

    def findings(self) -> list[Finding]:
        if not _is_there(self._ledger):
            return [self._without_ledger()]
        known = self._verified(self._seen)
        if known.ok:
            keys = self._keys()
            beside = [] if keys else [self._index_beside(known)]
            found = [self._wrong_space() or _sound(known), *keys, *beside]
        else:
            found = self._broken(known, self._verified(None))
        found += [*self._strays(), *vector_file.examine(self._folder, known.events)]
        return [*found, *_leftovers(self._folder), _room(self._folder)]

    def _verified(self, seen: Head | None) -> Verification:
        opened = segments.OpenedLedger(self._ledger)
        try:
            return verify(opened.pieces(), seen=seen, walk=walk_for(opened.size_bytes))
        finally:
            opened.close()

    # The ledger.

    def _without_ledger(self) -> Finding:
        seen, sealed = self._seen, segments.all_segments(self._folder)
        if seen is None and not sealed:
            return Finding(
                level="problem",
                what="ledger",
                detail=f"there is no ledger in {self._folder}",
                fix="run `recollect init`, or name the right place with --store",
            )
        left = f"sealed segments up to event {sealed[-1].last:,}" if sealed else "nothing"
        seen_too = f" The index has seen events up to {seen.seq:,}." if seen else ""
        return Finding(
            level="problem",
            what="ledger",
            detail=f"{self._ledger} is missing: {_LOST}.{seen_too}",
            fix=self._ways_out(f"Find {LEDGER} and put it back, and nothing is lost", left),
        )

    def _wrong_space(self) -> Finding | None:
        """The finding for the ledger of another space, even a valid one."""
        named = self._named_space()
        if named is None or named == self._space:
            return None
        return Finding(
            level="problem",
            what="ledger",
            detail=f"this is the ledger of the space {named!r}, not of {self._space!r}: a file or "
            "folder was put in the wrong place. Nothing can be read or written here",
            fix=_numbered(
                self._copy_first(),
                f"Put the ledger of {self._space!r} back to {_quoted(self._ledger)}, and this one "
                f"where {named!r} belongs",
                *self._restoring(),
            ),
        )

    def _named_space(self) -> str | None:
        """The name of the space in the first event."""
        opened = segments.OpenedLedger(self._ledger)
        try:
            first = next(lines_of(opened.pieces()), b"").removesuffix(b"\n")
        finally:
            opened.close()
        with suppress(RecollectError):
            body = decode(parse(first)).body
            return body.space if isinstance(body, SpaceOpened) else None
        return None

    def _broken(self, known: Verification, bare: Verification) -> list[Finding]:
        """Damaged bytes, or valid events that differ from those that the index has seen."""
        if wrong := self._wrong_space():
            return [wrong]
        if not bare.ok or bare.problem:
            return [self._damaged(known), self._index_over_damage(known)]
        return [_sound(bare), self._ahead(bare)]

    def _damaged(self, known: Verification) -> Finding:
        kept = f"events up to {known.events:,}" if known.events else "nothing"
        return Finding(
            level="problem",
            what="ledger",
            detail=f"damaged at event {known.broken_at}: {known.problem}. A crash does not "
            f"cause this: {_LOST}. Nothing in the file after that event can be relied on",
            fix=self._ways_out(
                f"Find a copy of {LEDGER} from before it was damaged and put it back", kept
            ),
        )

    def _strays(self) -> list[Finding]:
        """Segments of another ledger, such as those from before a manual restore."""
        found = segments.strays(self._ledger)
        if not found:
            return []
        names = ", ".join(f"{SEALED}/{segment.path.name}" for segment in found[:3])
        return [
            Finding(
                level="problem",
                what="segments",
                detail=f"{names}: not part of this ledger, though named like a segment. No event "
                "is read from there, but sealing and erasing are refused until it is removed",
                fix=_numbered(
                    self._copy_first(),
                    f"If the segments are the right ones, put the {LEDGER} back that was beside "
                    "them",
                    "If the ledger is the right one, set them aside: `recollect admin doctor "
                    f"--accept-loss {self._here()}`. They are kept as *{TORN_SUFFIX}",
                ),
            )
        ]

    # The keys of subjects.

    def _keys(self) -> list[Finding]:
        """The finding about keys that cannot be had."""
        if self._ciphers is None:
            return []
        opened = segments.OpenedLedger(self._ledger)
        try:
            lost = lost_keys(opened.pieces(), self._ciphers)
        finally:
            opened.close()
        if lost.why is None:
            return []
        events, people = counted(len(lost.events), "event"), counted(len(lost.subjects), "subject")
        detail = f"{events} of {people} cannot be read: {lost.why.message}"
        first = f"{lost.why.hint}; then check again: `recollect admin doctor {self._here()}`"
        first = first[:1].upper() + first[1:]
        if not lost.is_for_good:
            return [Finding(level="problem", what="master key", detail=detail, fix=first)]
        fix = _numbered(
            self._copy_first(),
            first,
            f"As long as `recollect list {self._here()}` works, it shows what may be lost",
            f"If the keys are lost for good, go on without these events: `recollect admin doctor "
            f"--accept-loss {self._here()}`. An event records the loss. Keys that are found later "
            "open them only in the copy",
        )
        return [Finding(level="problem", what="keys", detail=detail, fix=fix)]

    # The index.

    def _index_beside(self, check: Verification) -> Finding:
        """The index of a sound ledger."""
        seen, version = self._seen, known_version(self._index)
        if seen is None:
            detail = "cannot be read" if _is_there(self._index) else "missing"
            return _note("index", detail, "nothing to do: the next use rebuilds it")
        if version != INDEX_VERSION:
            return _note(
                "index",
                f"written by another release of Recollect (version {version}, here it is "
                f"{INDEX_VERSION})",
                "nothing to do: the next use rebuilds it, and so does the other release",
            )
        tokens = known_tokens(self._index)
        if tokens != made_with():
            return _note(
                "index",
                f"its full text was made with {tokens or 'an unknown tokenizer'}; this process has "
                f"{made_with()} (another Python, or another release of PyStemmer)",
                "nothing to do: the next use rebuilds it. If several programs use this memory, "
                "run them with the same Python: otherwise each rebuilds it for itself",
            )
        if check.events > seen.seq:
            return self._behind(check.events, seen.seq)
        return self._compared(seen)

    def _behind(self, last: int, seen: int) -> Finding:
        """An index that is behind: fine, unless a body that it has not folded cannot be parsed."""
        opened = segments.OpenedLedger(self._ledger)
        try:
            scanner = Scanner()
            appends = (append for piece in opened.pieces() for append in scanner.feed(piece))
            for line in (line for append in appends for line in append.lines if line.seq > seen):
                decode(line, self._ciphers)
        except IntegrityError as error:
            return Finding(
                level="problem",
                what="ledger",
                detail=f"{error.message}. Its hash is right, so a program other than Recollect "
                "wrote it. Nothing can be read or written until it is removed",
                fix=self._ways_out(f"Find a copy of {LEDGER} without it", "nothing after it"),
            )
        finally:
            opened.close()
        return _note(
            "index", f"{counted(last - seen, 'event')} behind the ledger", "the next use folds them"
        )

    def _compared(self, seen: Head) -> Finding:
        """An index that is up to date, compared row by row and word by word."""
        found = (self._index, self._ledger, self._space, self._progress)
        problem = difference(*found, self._ciphers)
        if problem is None:
            return Finding(level="ok", what="index", detail=f"up to date at event {seen.seq:,}")
        return Finding(
            level="problem",
            what="index rows",
            detail=f"{problem}. The ledger is sound, so nothing is lost, but answers may be wrong "
            "until the index is rebuilt",
            fix=f"run `recollect admin rebuild {self._here()}`, then check the disk: a file was "
            "changed by something other than Recollect",
        )

    def _index_over_damage(self, known: Verification) -> Finding:
        """The index of a damaged ledger: it may be all that is left of the damaged events."""
        seen = self._seen
        if seen is None or seen.seq < (known.broken_at or 0):
            return _note("index", "ends before the damaged event", None)
        return _note(
            "index",
            f"stands at event {seen.seq:,}, so it was made when event {known.broken_at} and those "
            "after it were sound",
            "as long as `recollect list` and `recollect show` work, they show what may be lost",
        )

    def _ahead(self, bare: Verification) -> Finding:
        """An index that has seen events which a valid ledger does not contain."""
        seq = self._seen.seq if self._seen else 0
        if seq > bare.events:
            missing = f"events {bare.events + 1:,} to {seq:,} are"
            missing = missing if seq > bare.events + 1 else f"event {seq:,} is"
            detail = (
                f"the index has seen event {seq:,}, which the ledger does not contain: {missing} "
                f"missing. {_LOST.capitalize()}: the ledger was replaced with an older copy, or "
                "its file was cut"
            )
        else:
            detail = (
                f"event {seq:,} in the ledger differs from the one the index has seen. "
                f"{_LOST.capitalize()}: the ledger came from elsewhere (another machine, a tool "
                "that syncs folders) or was rewritten"
            )
        newer = f"Find the {LEDGER} that was here before and put it back, and nothing is lost"
        kept = f"events up to {bare.events:,} as they stand there now" if bare.events else "nothing"
        return Finding(
            level="problem", what="index", detail=detail, fix=self._ways_out(newer, kept)
        )

    # What to do.

    def _ways_out(self, first: str, left: str) -> str:
        """The steps after a loss; those that lose least come first."""
        return _numbered(
            self._copy_first(),
            f"{first}; then check again: `recollect admin doctor {self._here()}`",
            *self._restoring(),
            f"If there is no better copy, go on with what is left ({left}): `recollect admin "
            f"doctor --accept-loss {self._here()}`. An event records the loss; unusable files are "
            f"kept as *{TORN_SUFFIX}",
        )

    def _copy_first(self) -> str:
        return (
            f"Stop the programs that use this memory and copy the folder {_quoted(self._folder)}, "
            "so that every step can be undone"
        )

    def _restoring(self) -> list[str]:
        """How to use a backup; lists those in the workspace."""
        fresh = self._fresh_store()
        into = f"--store {_quoted(fresh)}"
        found = _backups(self._folder, self._space)
        if not found:
            return [
                "Or restore a backup (none is in this workspace): "
                f"`recollect admin restore-backup BACKUP {into}`"
            ]
        named = "; or ".join(
            f"`recollect admin restore-backup {_quoted(path)} {into}` (events up to "
            f"{manifest.seq:,}, {manifest.at[:10]})"
            for path, manifest in found
        )
        restored = fresh if self._is_main else fresh / SPACES / self._folder.name
        return [
            f"Or restore a backup beside it: {named}",
            f"If it holds what you need, move {_quoted(restored / LEDGER)} to "
            f"{_quoted(self._ledger)}, and delete {_quoted(self._index)} and "
            f"{_quoted(self._folder / SEALED)} if they are there",
        ]

    @property
    def _is_main(self) -> bool:
        return self._space == "main"

    def _store(self) -> Path:
        return self._folder if self._is_main else self._folder.parent.parent

    def _fresh_store(self) -> Path:
        """An unused name beside the workspace."""
        store = self._store()
        names = (f"{store.name}-restored{number}" for number in ("", *range(2, 1_000)))
        return next((p for name in names if not (p := store.with_name(name)).exists()), store)

    def _here(self) -> str:
        """The command-line options for this space."""
        space = "" if self._space == "main" else f" --space {shlex.quote(self._space)}"
        return f"--store {_quoted(self._store())}{space}"


def _sound(check: Verification) -> Finding:
    """The finding for a valid ledger, perhaps with the traces of a crash."""
    detail = f"{counted(check.events, 'event')}, self-consistent, {check.erased:,} erased"
    if check.problem is None:
        return Finding(level="ok", what="ledger", detail=detail)
    return _note(
        "ledger",
        f"{detail}; {check.problem}: a crash or a full disk interrupted it before it was "
        "acknowledged",
        "nothing to do: the next write copies it aside and cuts it",
    )


def _backups(folder: Path, space: str) -> list[tuple[Path, Manifest]]:
    """The newest complete backups in the workspace, newest first."""
    found: list[tuple[Path, Manifest]] = []
    for path in (folder / BACKUP).glob("*"):
        with suppress(RecollectError):
            manifest = read_manifest(path)
            if manifest.space == space:
                found.append((path, manifest))
    return sorted(found, key=lambda each: -each[1].seq)[:_BACKUPS_MAX_COUNT]


def _leftovers(folder: Path) -> list[Finding]:
    torn = sorted(path.name for path in folder.glob(f"{LEDGER}.*{TORN_SUFFIX}"))
    if not torn:
        return []
    detail = f"{len(torn)} cut off and kept aside: {', '.join(torn[:3])}"
    return [_note("torn copies", detail, "delete those that you do not need")]


def _room(folder: Path) -> Finding:
    files = [folder / LEDGER, *(segment.path for segment in segments.all_segments(folder))]
    need = 2 * sum(path.stat().st_size for path in files) + (64 << 20)
    free = shutil.disk_usage(folder).free
    detail = f"{size(free)} free"
    if free >= need:
        return Finding(level="ok", what="disk", detail=detail)
    return Finding(
        level="problem",
        what="disk",
        detail=f"{detail}; a rebuild needs about {size(need)}",
        fix="free disk space before the next rebuild or erasure",
    )


def _note(what: str, detail: str, fix: str | None) -> Finding:
    return Finding(level="note", what=what, detail=detail, fix=fix)


def _numbered(*steps: str) -> str:
    """Steps in order, one on each line."""
    return "\n".join(f"{number}. {step}." for number, step in enumerate(steps, 1))


def _is_there(path: Path) -> bool:
    """False only if the path does not exist; a path that may not be read is an error."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
