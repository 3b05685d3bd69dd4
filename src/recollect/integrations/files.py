"""A memory as a tree of text files, for models that are trained to use files.

Responsible for what a path means and for the text that a model gets back. Leaves storing to
``Memory`` and the framework to its own module. Invariant: only records whose key starts with
``/memories/`` are read or changed, and nothing is erased.

A file is a record whose key is the file's path. An edit revises it, so its history has every
change; a deletion forgets it, so it can be restored. A directory is a common prefix of paths; it
exists as long as it has files. A key cannot be changed, so a renamed file is a new record, linked
to the old one by ``renamed_from``; ``history`` follows that link.
"""

from __future__ import annotations

import posixpath
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from recollect.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound
from recollect.lifecycle.settings.policy import policy_of
from recollect.memory import Batch, Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.handle.healed import asked_again
from recollect.model import validate
from recollect.model.limits import TEXT_MAX_BYTES
from recollect.model.policy import Policy
from recollect.model.record_fields import RecordFields
from recollect.model.values import Record, Version

ROOT: Final = "/memories"
LINES_MAX_COUNT: Final = 999_999
LISTED_MAX_DEPTH: Final = 2
_NUMBER_WIDTH: Final = len(str(LINES_MAX_COUNT))
_SNIPPET_LINES: Final = 2  # shown before and after an edit
_TOLD_MAX_COUNT: Final = 1_000  # lines named when a passage occurs more than once
_PAGE_MAX_COUNT: Final = 100  # records read at a time: each may be as long as a text may be
_BLANK: Final = "(blank file)"  # a record cannot be empty, a file can
RENAMED: Final = "renamed_from"
# What a record does not keep when its file gets another name.
_NEW: Final = frozenset(("id", "key", "said_at", "replaces", "reason"))
_KEPT: Final = sorted(RecordFields.__annotations__.keys() & set(Record.__struct_fields__) - _NEW)


class Files:
    """The files of one memory. The caller holds ``turn``, so that no edit is lost."""

    def __init__(self, memory: Memory, turn: threading.Lock | None = None) -> None:
        self._memory = memory
        self.turn = turn or threading.Lock()

    # The six commands.

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Shows a file with line numbers, or lists a directory."""
        key = key_of(path)
        record = self._find(key)
        if record is not None:
            return _numbered_file(path, _content(record.text), view_range)
        sizes = self._sizes(key)
        if not sizes and key != ROOT:
            raise _no_path(path)
        listed = [(sum(sizes.values()), ""), *_entries(sizes, LISTED_MAX_DEPTH)]
        lines = (f"{_shown_size(size)}\t{path}{name and '/' + name}" for size, name in listed)
        return (
            f"Here're the files and directories up to {LISTED_MAX_DEPTH} levels deep in {path}, "
            "excluding hidden items:\n" + "\n".join(lines)
        )

    def create(self, path: str, content: str) -> str:
        """Creates a file; refuses to overwrite one."""
        key = key_of(path)
        if self._is_taken(key):
            raise Conflict(f"File {path} already exists")
        self._check_parents(key, path)
        made = self._memory.remember(_text(path, content), key=key, kind="file")
        if made.status == "waiting" and self._asks():
            raise Forbidden(
                f"File {path} waits for a person's review and cannot be read before",
                hint="ask the person to run `recollect review`; do not create it again",
            )
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replaces a passage that occurs exactly once."""
        record = self._file(path)
        content = _content(record.text)
        _check_once(path, content, old)
        edited = content.replace(old, new)
        self._write(record, _text(path, edited))
        changed = content[: content.find(old)].count("\n")
        first = max(0, changed - _SNIPPET_LINES)
        lines = edited.split("\n")[first : changed + _SNIPPET_LINES + 1]
        return (
            "The memory file has been edited. "
            "Here is the snippet showing the change (with line numbers):\n"
        ) + _numbered(lines, first + 1)

    def _write(self, record: Record, text: str) -> None:
        """Edits a file at once or fails: a file tool cannot say that an edit waits."""
        with self._memory.batch() as batch:
            batch.revise(record.id, text)

    def insert(self, path: str, line: int, text: str) -> str:
        """Inserts lines after a line; 0 is the beginning."""
        record = self._file(path)
        lines = _content(record.text).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= line <= len(lines):
            raise InvalidInput(
                f"Invalid `insert_line` parameter: {line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(line, text.rstrip("\n"))
        edited = "\n".join(lines)
        ended = edited if edited.endswith("\n") else f"{edited}\n"
        self._write(record, _text(path, ended))
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Forgets a file, or a directory with everything in it; both can be restored."""
        key = key_of(path)
        if key == ROOT:
            raise InvalidInput("Cannot delete the /memories directory itself")
        ids = [record.id for record in (*self._records(key), *self._records(key, inside=True))]
        if not ids:
            raise NotFound(f"The path {path} does not exist")
        with self._memory.batch() as batch:
            for id in ids:
                batch.forget(id, sources="keep", reason=f"{path} was deleted")
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Renames a file or a directory; the old one can be restored."""
        old, new = key_of(old_path), key_of(new_path)
        if old == ROOT:
            raise InvalidInput("Cannot rename the /memories directory itself")
        if self._is_taken(new):
            raise Conflict(f"The destination {new_path} already exists")
        keys = [old] if self._find(old) else [f"{old}/{name}" for name in self._sizes(old)]
        if not keys:
            raise NotFound(f"The path {old_path} does not exist")
        if self._asks():
            raise Forbidden(
                f"{old_path} cannot be renamed: a new name is a new record, which would wait",
                hint="ask the person, whose policy asks about everything new",
            )
        if new.startswith(f"{old}/"):
            raise InvalidInput(f"{old_path} cannot be moved into itself")
        self._check_parents(new, new_path)
        moves = {key: key_of(new + key[len(old) :]) for key in keys}
        with self._memory.batch() as batch:
            for key, target in moves.items():
                _move(batch, self._file(key), target)
        return f"Successfully renamed {old_path} to {new_path}"

    def history(self, path: str) -> list[Version]:
        """Every version of a file, oldest first, including those from before it was renamed."""
        record = self._find(key_of(path))
        if record is None:
            raise _no_path(path)
        id: str | None = record.id
        found: list[Version] = []
        seen: set[str] = set()
        while id is not None and id not in seen:
            seen.add(id)
            found = [*map(_as_file, self._memory.history(id)), *found]
            links = self._memory.why(id).links
            id = next((x.target for x in links if x.kind == RENAMED and x.source == id), None)
        return found

    # Shared by the commands.

    def _records(self, key: str, *, inside: bool = False) -> Iterator[Record]:
        """The records of a file, or of all files inside a directory.

        An agent's record counts as a file even if it waits because a person's record has the
        same text, but not while a policy asks a person about everything new. Unverified records do
        not count. Each user has separate files, and so does a handle without a user.
        """
        name = f"{key}/" if inside else key
        verb = "starts with" if inside else "="
        quoted = name.replace("'", "''")
        where = f"key {verb} '{quoted}' and trust != 'unverified'"
        if self._asks():
            where += " and status != 'waiting'"
        if self._memory.scope.user is None:
            where += " and user = null"
        after: str | None = None
        limit = 1  # many callers only check whether there is one
        while True:
            page = self._memory.list(filter=where, include=["waiting"], limit=limit, after=after)
            yield from page
            if len(page) < limit:
                return
            after, limit = page[-1].id, _PAGE_MAX_COUNT

    def _find(self, key: str) -> Record | None:
        if key == ROOT:
            return None  # a record with exactly that key is not inside the directory
        try:
            record = self._memory.get(key=key, include=["waiting"])
        except NotFound:
            return None
        waits = record.status == "waiting" and self._asks()
        if record.trust != "unverified" and not waits:
            return record
        return next(self._records(key), None)

    def _asks(self) -> bool:
        """True if a policy asks a person about everything new: what waits is not a file then."""
        return _policy(self._memory).add == "review"

    def _file(self, path: str) -> Record:
        key = key_of(path)
        record = self._find(key)
        if record is None:
            if self._is_taken(key):
                raise InvalidInput(f"The path {path} is not a file.")
            raise _no_path(path)
        return record

    def _sizes(self, key: str) -> dict[str, int]:
        """The files inside a directory with their bytes, by their path from there."""
        return {
            (record.key or "")[len(key) + 1 :]: len(_content(record.text).encode())
            for record in self._records(key, inside=True)
        }

    def _is_taken(self, key: str) -> bool:
        inside = self._records(key, inside=True)
        return key == ROOT or self._find(key) is not None or next(inside, None) is not None

    def _check_parents(self, key: str, path: str) -> None:
        """Refuses a path inside a file."""
        parent = posixpath.dirname(key)
        while parent != ROOT:
            if self._find(parent) is not None:
                raise Conflict(f"{path} cannot be created: {parent} is a file, not a directory")
            parent = posixpath.dirname(parent)


@asked_again
def _policy(memory: Memory) -> Policy:
    handle = handle_of(memory)
    with handle.reading() as reads:
        return policy_of(reads, handle.actor)


def key_of(path: str) -> str:
    """The key of a path; each file has exactly one, and a path outside ``/memories`` is refused."""
    if not isinstance(path, str) or not (path == ROOT or path.startswith(f"{ROOT}/")):
        raise InvalidInput(f"Path must start with /memories, got: {path}")
    inner = posixpath.normpath(path[len(ROOT) :].lstrip("/"))
    if inner == ".." or inner.startswith("../"):
        raise InvalidInput(f"Path {path} would escape /memories directory")
    whole = ROOT if inner == "." else f"{ROOT}/{inner}"
    key = validate.name(whole, "the path")
    if unicodedata.normalize("NFC", whole) != key:
        raise InvalidInput(f"Path {path!r} ends with a space")
    return key


def _move(batch: Batch, record: Record, key: str) -> None:
    """Copies the record to another key, with a link back, and forgets the old one."""
    id = f"{record.id.partition('~')[0]}~{record.seq}"  # no other change has that seq
    batch.remember(
        record.text,
        id=id,
        key=key,
        **{name: getattr(record, name) for name in _KEPT},
    )
    batch.link(id, record.id, RENAMED)
    batch.forget(record.id, sources="keep", reason=f"renamed to {key}")


def _text(path: str, content: str) -> str:
    """The record's text for a file's content; ``_content`` is the inverse."""
    text = content if content.strip() and not content.startswith(_BLANK) else _BLANK + content
    if len(text.encode(errors="surrogatepass")) > TEXT_MAX_BYTES:
        raise LimitExceeded(
            f"File {path} would be longer than {TEXT_MAX_BYTES:,} bytes",
            hint="split it into several files",
        )
    return text


def _content(text: str) -> str:
    return text.removeprefix(_BLANK)


def _as_file(version: Version) -> Version:
    record = msgspec.structs.replace(version.record, text=_content(version.record.text))
    return msgspec.structs.replace(version, record=record)


def _no_path(path: str) -> NotFound:
    return NotFound(f"The path {path} does not exist. Please provide a valid path.")


def _check_once(path: str, content: str, old: str) -> None:
    count = content.count(old)
    if count == 0:
        raise InvalidInput(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if count > 1:
        lines = ", ".join(map(str, islice(_lines_with(content, old), _TOLD_MAX_COUNT)))
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{lines}. Please ensure it is unique"
        )


def _lines_with(content: str, old: str) -> Iterator[int]:
    """The line number of every occurrence of a passage, including overlapping ones."""
    line, last, at = 1, 0, content.find(old)
    while at != -1:
        line += content.count("\n", last, at)
        yield line
        last, at = at, content.find(old, at + 1)


def _numbered_file(path: str, content: str, view_range: Sequence[int] | None) -> str:
    lines = content.split("\n")
    if len(lines) > LINES_MAX_COUNT:
        raise LimitExceeded(f"File {path} exceeds maximum line limit of {LINES_MAX_COUNT:,} lines.")
    first, last = 1, len(lines)
    if view_range is not None and len(view_range) == 2:
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    shown = _numbered(lines[first - 1 : last], first)
    return f"Here's the content of {path} with line numbers:\n{shown}"


def _numbered(lines: Iterable[str], first: int) -> str:
    return "\n".join(f"{n:>{_NUMBER_WIDTH}}\t{line}" for n, line in enumerate(lines, first))


def _entries(sizes: Mapping[str, int], depth: int) -> Iterator[tuple[int, str]]:
    """Files and directories by name, down to a depth; names that begin with a dot are left out."""
    names: dict[str, dict[str, int]] = {}
    for path, size in sizes.items():
        name, _, rest = path.partition("/")
        names.setdefault(name, {})[rest] = size
    for name in sorted(name for name in names if not name.startswith(".")):
        inside = names[name]
        if "" in inside:
            yield inside.pop(""), name
        if inside:
            yield sum(inside.values()), f"{name}/"
            if depth > 1:
                yield from ((size, f"{name}/{path}") for size, path in _entries(inside, depth - 1))


def _shown_size(size_bytes: int) -> str:
    """Bytes as a person reads them: 0B, 512B, 1.5K, 3M."""
    power = min(max(size_bytes.bit_length() - 1, 0) // 10, 3)
    size = size_bytes / 1024**power
    return f"{size:.0f}{'BKMG'[power]}" if size.is_integer() else f"{size:.1f}{'BKMG'[power]}"
