"""``FileBackedMemoryGraphStore``: a graph store in a folder that people can read.

Responsible for the files of a workspace: one JSON for each thing, written after each change. Leaves
names and bytes to ``exchange.workspace``. Invariants: the memory in ``.recollect`` is the truth and
the files show it; a write changes the files of what it wrote and no others; nothing outside the
folder is read or written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from recollect.config import FOLDER
from recollect.contracts.graph.audit import JsonlAuditSink
from recollect.contracts.graph.events import JsonlMemoryEventLog
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import (
    Activation,
    Edge,
    MemoryPath,
    Node,
    Profile,
    edge_of,
    node_of,
    profile_of,
)
from recollect.errors import ConfigError, InvalidInput, NotFound, RecollectError, Unsupported
from recollect.exchange import workspace as layout
from recollect.exchange.workspace import Kind
from recollect.memory import Memory
from recollect.model.events import Trust
from recollect.model.limits import LINE_MAX_BYTES
from recollect.model.validate import Json
from recollect.model.values import Finding
from recollect.store.disk import alone, make_folder, replace_file
from recollect.store.layout import is_empty
from recollect.store.regular_files import read_regular
from recollect.store.seam import REAL, Seam

T = TypeVar("T")
L = TypeVar("L", Profile, Node, Edge)
_Listed = Profile | Node | Edge | MemoryPath | Activation
_EITHER: Final = (
    "import_workspace() takes the files over, render() writes them as the memory has them"
)
_AGAIN: Final = "correct the file, then import_workspace()"
_FILE_MAX_BYTES: Final = LINE_MAX_BYTES  # no node that can be stored is longer


class FileBackedMemoryGraphStore(GraphStore):
    """A graph store in the folder ``root``, which is created if it is not there.

    Writes have the trust ``origin``, by default an agent's: such a store cannot change what a
    person wrote, and cannot merge a path.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        origin: Trust = "agent",
        embedder: str = "none",
        seam: Seam = REAL,
    ) -> None:
        """Open a workspace. Files without a memory, as in a clone, are read into a new one."""
        self.root = Path(root).expanduser().absolute()
        self._seam = seam
        self._prepare()
        is_new = is_empty(self.root / FOLDER)
        memory = Memory.open(self.root / FOLDER, embedder=embedder).scoped(origin=origin)
        events = JsonlMemoryEventLog(self.root / layout.EVENTS, seam=seam)
        audit = JsonlAuditSink(self.root / layout.AUDIT, seam=seam)
        super().__init__(memory, events, audit)
        #: What of the files could not be read into a new memory.
        self.findings: tuple[Finding, ...] = ()
        if is_new:
            try:
                self.findings = tuple(self.import_workspace())
            except RecollectError:
                self.close()
                raise

    def _prepare(self) -> None:
        """Makes the folders, or refuses a folder that cannot be a workspace of this release."""
        head = self.root / layout.HEAD
        if head.exists() or head.is_symlink():
            layout.graph_in(self._read(head), str(head))
        for name in layout.FOLDERS.values():
            folder = self.root / name
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise ConfigError(
                    f"{folder} is not a folder of this workspace", hint="remove it, or name another"
                )
            make_folder(self._seam, folder)
        if not head.exists():
            self._write(head, layout.head({}))

    def save_about(self, about: Mapping[str, Json]) -> None:
        """Keep what the graph says about itself; it stands in ``workspace.json``."""
        super().save_about(about)
        self._write(self.root / layout.HEAD, layout.head(self.load_about()))

    # Files.

    def render(self) -> int:
        """Make every file as the memory has it, and remove the others; returns how many changed."""
        changed = int(self._write(self.root / layout.HEAD, layout.head(self.load_about())))
        for kind in layout.KINDS:
            with alone(self._seam, self._folder(kind)):
                changed += self._render(kind)
        return changed

    def _render(self, kind: Kind) -> int:
        wanted = {layout.file_name(id): raw for id, raw in self._objects(kind)}
        left = [file for file in self._files(kind) if file.name not in wanted]
        for file in left:
            self._seam.unlink(file)
        written = [self._write(self._folder(kind) / name, raw) for name, raw in wanted.items()]
        return len(left) + sum(written)

    def import_workspace(self) -> list[Finding]:
        """Take over what the files say: profiles, nodes and edges; importing again adds nothing.

        Paths and activations are what happened here, and are not imported.
        """
        found: list[Finding] = []
        about = layout.graph_in(self._read(self.root / layout.HEAD), layout.HEAD)
        if about:
            self.save_about(about)
        found += _each(self.save_profile, self._taken("profile", profile_of, found))
        nodes = list(self._taken("node", node_of, found))
        try:
            self.save_nodes(nodes)
        except RecollectError:  # one of them cannot be saved: keep the others
            found += _each(self.save_node, nodes)
        edges = list(self._taken("edge", edge_of, found))
        try:
            found += self.save_whole(edges)
        except RecollectError:
            found += _each(self.save_edge, edges)
        return found

    def differing(self) -> Iterator[Finding]:
        """The files that say something else than the memory, or that it lacks."""
        yield from self.findings
        if self._read(self.root / layout.HEAD) != layout.head(self.load_about()):
            yield _unread(f"{layout.HEAD} differs from the memory", _EITHER)
        for kind in layout.KINDS:
            wanted = {layout.file_name(id): raw for id, raw in self._objects(kind)}
            there = {file.name: file for file in self._files(kind)}
            for name in sorted(wanted.keys() | there.keys()):
                detail = self._difference(kind, there.get(name), wanted.get(name))
                if detail is not None:
                    yield _unread(f"{layout.FOLDERS[kind]}/{name} {detail}", _EITHER)

    def _difference(self, kind: Kind, file: Path | None, wanted: bytes | None) -> str | None:
        if file is None:
            return "is missing"
        try:
            raw = self._read(file)
            if raw == wanted:
                return None
            layout.object_in(kind, raw, "it")
        except Unsupported as error:
            return f"is of an unknown schema version: {error.message}"
        except (InvalidInput, ConfigError) as error:
            return f"could not be read: {error.message}"
        return "is not in the memory" if wanted is None else "differs from the memory"

    def wrote(self, kind: Kind, ids: Iterable[str]) -> None:
        """Writes the files of these, or removes them if they are gone."""
        for id in ids:
            file = self._folder(kind) / layout.file_name(id)
            with alone(self._seam, file.parent):  # so that the last one to write is up to date
                was_there = file.exists()
                try:
                    raw = layout.document(kind, self._object(kind, id))
                except NotFound:
                    self._seam.unlink(file)
                else:
                    self._write(file, raw)
            if kind == "node" and was_there != file.exists():
                self.wrote("edge", self._edges_of(id, is_gone=was_there))

    def _edges_of(self, node: str, *, is_gone: bool) -> list[str]:
        """The edges that show, or stop showing, with a node."""
        if is_gone:
            return [edge.id for edge in self.edges_kept() if node in (edge.source, edge.target)]
        edges = [*self.list_edges(source=node), *self.list_edges(target=node)]
        return [edge.id for edge in edges]

    def _object(self, kind: Kind, id: str) -> dict[str, Json]:
        load: dict[Kind, Callable[[], dict[str, Json]]] = {
            "profile": lambda: self.load_profile(id).to_dict(),
            "node": lambda: self.load_node(id).to_dict(),
            "edge": lambda: self.load_edge(id).to_dict(),
            "path": lambda: self.load_path(id).to_dict(),
            "activation": lambda: self.load_activation(id).to_dict(),
        }
        return load[kind]()

    def _objects(self, kind: Kind) -> Iterator[tuple[str, bytes]]:
        lists: dict[Kind, Callable[[], Sequence[_Listed]]] = {
            "profile": self.list_profiles,
            "node": self.list_nodes,
            "edge": self.list_edges,
            "path": self.list_paths,
            "activation": self.list_activations,
        }
        for one in lists[kind]():
            yield one.id, layout.document(kind, one.to_dict())

    def _taken(
        self, kind: Kind, parse: Callable[[Mapping[str, Json]], T], found: list[Finding]
    ) -> Iterator[T]:
        """What the files of one kind say; those that could not be read are found."""
        for file in self._files(kind):
            where = f"{layout.FOLDERS[kind]}/{file.name}"
            try:
                yield parse(layout.object_in(kind, self._read(file), where))
            except RecollectError as error:
                found.append(_unread(f"{where}: {error.message}", _AGAIN))

    def _files(self, kind: Kind) -> list[Path]:
        return sorted(self._folder(kind).glob(f"*{layout.SUFFIX}"))

    def _folder(self, kind: Kind) -> Path:
        return self.root / layout.FOLDERS[kind]

    def _read(self, file: Path) -> bytes:
        if file.is_symlink():
            raise ConfigError(f"{file} is a link", hint="replace it by a file")
        try:
            raw = read_regular(file, _FILE_MAX_BYTES + 1)
        except OSError as error:
            raise ConfigError(f"{file} could not be read: {error.strerror}") from error
        if len(raw) > _FILE_MAX_BYTES:
            raise InvalidInput(f"{file} is longer than {_FILE_MAX_BYTES:,} bytes")
        return raw

    def _write(self, file: Path, raw: bytes) -> bool:
        """Writes a file whole, unless it has these bytes; a link is replaced, not followed."""
        if file.is_symlink():
            self._seam.unlink(file)
        elif file.exists() and self._read(file) == raw:
            return False
        replace_file(self._seam, file, [raw])
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.root)!r})"


def _each(save: Callable[[L], None], things: Iterable[L]) -> list[Finding]:
    """Saves them one by one; those that cannot be saved are found."""
    found: list[Finding] = []
    for one in things:
        try:
            save(one)
        except RecollectError as error:
            detail = f"the {type(one).__name__.lower()} {one.id!r}: {error.message}"
            found.append(_unread(detail, error.hint or _AGAIN))
    return found


def _unread(detail: str, fix: str) -> Finding:
    return Finding(level="problem", what="files", detail=detail, fix=fix)
