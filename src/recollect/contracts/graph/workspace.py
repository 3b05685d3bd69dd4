"""``FileBackedMemoryGraphStore``: a graph store in a folder that people can read.

Responsible for the files of a workspace: one JSON for each thing, written after each change; and
for the two that ship, as another program would hand them over. Leaves
names and bytes to ``exchange.workspace``, and whether a file may be written to ``shown_files``.
Invariants: the memory in ``.recollect`` is the truth and the files show it; a write changes the
files of what it wrote and no others; what this memory did not write stays; nothing outside the
folder is read or written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeVar

from recollect.config import FOLDER
from recollect.contracts.graph.audit import JsonlAuditSink
from recollect.contracts.graph.envelopes import in_turn, kept
from recollect.contracts.graph.events import JsonlMemoryEventLog
from recollect.contracts.graph.file_notes import FileNotes
from recollect.contracts.graph.path_documents import keep_path
from recollect.contracts.graph.records import activation_from
from recollect.contracts.graph.shown_files import EITHER, ShownFiles, is_same, read_file
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import (
    Activation,
    Edge,
    MemoryPath,
    Node,
    Profile,
    edge_of,
    node_of,
    path_of,
    profile_of,
)
from recollect.errors import (
    ConfigError,
    InvalidInput,
    NotFound,
    RecollectError,
    Unavailable,
    Unsupported,
)
from recollect.exchange import workspace as layout
from recollect.exchange.workspace import SUFFIX, Kind, parse
from recollect.memory import Memory
from recollect.model.counts import counted
from recollect.model.events import Trust
from recollect.model.validate import Json
from recollect.model.values import Finding
from recollect.store.disk.disk import alone, make_folder, replace_file
from recollect.store.disk.layout import WRITTEN, is_empty
from recollect.store.seam import REAL, Seam

L = TypeVar("L", Profile, Node, Edge, MemoryPath, Activation)
_Listed = Profile | Node | Edge | MemoryPath | Activation
_AGAIN: Final = "correct the file, then import_workspace()"
FIXTURES: Final = Path(__file__).parent / "fixtures"


class FileBackedMemoryGraphStore(GraphStore):
    """A graph store in the folder ``root``, which is created if it is not there.

    Writes have the trust ``trust``, by default an agent's: such a store cannot change what a
    person wrote, and cannot merge a path. A file that its memory did not write is never changed:
    ``findings`` names those that were in the way.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        trust: Trust = "agent",
        embedder: str = "none",
        seam: Seam = REAL,
    ) -> None:
        """Open a workspace. Files without a memory, as in a clone, are read into a new one."""
        self.root = Path(root).expanduser().absolute()
        self._seam = seam
        self._unread: tuple[Finding, ...] = ()
        self._prepare()
        place = self.root / FOLDER
        is_new = is_empty(place)
        memory = Memory.open(place, embedder=embedder).scoped(trust=trust)
        events = JsonlMemoryEventLog(self.root / layout.EVENTS, seam=seam)
        audit = JsonlAuditSink(self.root / layout.AUDIT, seam=seam)
        super().__init__(memory, events, audit)
        self._shown = ShownFiles(self.root, FileNotes(place / WRITTEN, memory, seam), seam)
        try:
            if is_new:
                self._read_files()
            elif not self._shown.notes.are_of_this_memory():
                self._note_all()
        except RecollectError:
            self.close()
            raise

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What of the files could not be read when they were imported, and which were left."""
        return (*self._unread, *self._shown.left.values())

    def _prepare(self) -> None:
        """Makes the folders, or refuses a folder that cannot be a workspace of this release."""
        head = self.root / layout.HEAD
        if os.path.lexists(head):
            layout.graph_in(read_file(head), str(head))
        for name in layout.FOLDERS.values():
            folder = self.root / name
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise ConfigError(
                    f"{folder} is not a folder of this workspace", hint="remove it, or name another"
                )
            make_folder(self._seam, folder)
        if not head.exists():
            replace_file(self._seam, head, [layout.head({})], lambda: not os.path.lexists(head))

    def _note_all(self) -> None:
        """Notes every file that says what the memory says: the notes are missing, or of another."""
        with suppress(Unavailable):  # of a folder that cannot be written
            for kind in layout.KINDS:
                with alone(self._seam, self._folder(kind)):
                    self._shown.note_same(self._wanted(kind))
            self._shown.note_same({layout.HEAD: layout.head(self.load_about())})

    def _put_about(self, about: Mapping[str, Json]) -> None:
        """Keep what the graph says about itself; it stands in ``workspace.json``."""
        super()._put_about(about)
        self._show_head()

    def _show_head(self, *, replace: bool = False) -> int:
        with alone(self._seam, self.root):
            wanted = {layout.HEAD: layout.head(self.load_about())}
            return len(self._shown.show(wanted, replace=replace))

    # Files.

    def render(self, *, replace: bool = False) -> int:
        """Make every file as the memory has it, and remove those it lacks; returns how many.

        A file that this memory did not write, such as one that was edited by hand, stays and is
        named in ``findings``. With ``replace`` it is moved to the folder ``aside``.
        """
        changed = self._show_head(replace=replace)
        if lacking := self._events_lacking():
            self._unread += (*self.take_events(lacking), *self.take_paths())
        for kind in layout.KINDS:
            with alone(self._seam, self._folder(kind)):
                there: dict[str, bytes | None] = dict.fromkeys(self._files(kind))
                wanted = there | self._wanted(kind)
                changed += len(self._shown.show(wanted, replace=replace))
        self._shown.notes.shorten()
        return changed

    def import_workspace(self) -> list[Finding]:
        """Take over what the files say; importing again adds nothing, and changes no file.

        Of paths and activations, those that the memory lacks. ``Forbidden``, also to a person, if a
        profile lets every lasting change wait for a review: a person changes that profile first.
        """
        self.require_no_gate()
        return self._read_files()

    def _read_files(self) -> list[Finding]:
        found: list[Finding] = []
        about = layout.graph_in(self._shown.read(layout.HEAD), layout.HEAD)
        profiles = self._taken("profile", profile_of, found)
        nodes = self._taken("node", node_of, found)
        edges = self._taken("edge", edge_of, found)
        past = self._taken("path", path_of, found)
        handed = self._taken("activation", activation_from, found)
        self._shown.left.clear()
        if about:
            self._put_about(about)
        found += kept(in_turn(self._put_profile), profiles)
        found += kept(self._put_nodes, nodes)
        found += kept(self._put_edges, edges)
        found += kept(in_turn(self._put_path), past)
        found += kept(in_turn(self.keep_activation), handed)
        self._unread = tuple(found)
        return [*found, *self._shown.left.values()]

    def _events_lacking(self) -> list[dict[str, Json]]:
        """The events that an import into the memory brought, and that the log does not have."""
        if not (brought := self.events_brought()):
            return []
        known = {event["id"] for event in self.events.list()}
        return [event for event in brought if event["id"] not in known]

    def _put_path(self, path: MemoryPath) -> None:
        if keep_path(self.memory, path):
            self.wrote("path", [path.id])

    def differing(self) -> Iterator[Finding]:
        """The files that say something else than the memory, or that it lacks."""
        yield from self._unread
        if lacking := len(self._events_lacking()):
            detail = f"{layout.EVENTS} lacks {counted(lacking, 'event')} that an import brought"
            yield _problem(detail, "render() appends what the memory has")
        yield from self._differing_of({layout.HEAD: layout.head(self.load_about())}, None)
        for kind in layout.KINDS:
            wanted: dict[str, bytes | None] = dict.fromkeys(self._files(kind))
            yield from self._differing_of(wanted | self._wanted(kind), kind)

    def _differing_of(
        self, wanted: Mapping[str, bytes | None], kind: Kind | None
    ) -> Iterator[Finding]:
        for file, raw in sorted(wanted.items()):
            detail = self._difference(kind, file, raw)
            if detail is not None:
                yield _problem(f"{file} {detail}", EITHER)

    def _difference(self, kind: Kind | None, file: str, wanted: bytes | None) -> str | None:
        if not os.path.lexists(self.root / file):
            return "is missing"
        try:
            raw = self._shown.read(file)
            if wanted is not None and is_same(raw, wanted):
                return None
            if kind is not None:
                layout.object_in(kind, raw, "it")
        except Unsupported as error:
            return f"is of an unknown schema version: {error.message}"
        except (InvalidInput, ConfigError) as error:
            return f"could not be read: {error.message}"
        return "is not in the memory" if wanted is None else "differs from the memory"

    def wrote(self, kind: Kind, ids: Iterable[str], *, erased: bool = False) -> list[str]:
        """Writes the files of these, or removes them if they are gone; returns those left."""
        named = {self._name(kind, id): id for id in ids}
        if not named:
            return []
        with alone(self._seam, self._folder(kind)):  # so that the last one to write is up to date
            there = {file for file in named if os.path.lexists(self.root / file)}
            wanted = {file: self._bytes(kind, id) for file, id in named.items()}
            self._shown.show(wanted)
        left = [file for file in named if file in self._shown.left]
        if kind == "node":
            gone = {named[file] for file in there if wanted[file] is None}
            new = [named[file] for file, raw in wanted.items() if raw and file not in there]
            left += self.wrote("edge", self._edges_of(gone, new))
        if erased:
            self._shown.notes.shorten()
            left += [file for id in named.values() for file in self._naming(kind, id)]
        return list(dict.fromkeys(left))

    def _edges_of(self, gone: set[str], new: Iterable[str]) -> list[str]:
        """The edges that stop showing, or show, with nodes."""
        kept = self.edges_kept() if gone else ()
        edges = [edge for edge in kept if gone & {edge.source, edge.target}]
        for node in new:
            edges += [*self.list_edges(source=node), *self.list_edges(target=node)]
        return [edge.id for edge in edges]

    def _naming(self, kind: Kind, id: str) -> Iterator[str]:
        return self._shown.naming(layout.FOLDERS[kind], id)

    def _name(self, kind: Kind, id: str) -> str:
        return f"{layout.FOLDERS[kind]}/{layout.file_name(id)}"

    def _bytes(self, kind: Kind, id: str) -> bytes | None:
        """What the file of a thing should hold; None if the memory does not show it."""
        try:
            return layout.document(kind, self._object(kind, id))
        except NotFound:
            return None

    def _object(self, kind: Kind, id: str) -> dict[str, Json]:
        load: dict[Kind, Callable[[], dict[str, Json]]] = {
            "profile": lambda: self.load_profile(id).to_dict(),
            "node": lambda: self.load_node(id).to_dict(),
            "edge": lambda: self.load_edge(id).to_dict(),
            "path": lambda: self.load_path(id).to_dict(),
            "activation": lambda: self.load_activation(id).to_dict(),
        }
        return load[kind]()

    def _wanted(self, kind: Kind) -> dict[str, bytes]:
        """The files that the memory has to show, and what they should hold."""
        lists: dict[Kind, Callable[[], Sequence[_Listed]]] = {
            "profile": self.list_profiles,
            "node": self.list_nodes,
            "edge": self.list_edges,
            "path": self.list_paths,
            "activation": self.list_activations,
        }
        return {
            self._name(kind, one.id): layout.document(kind, one.to_dict()) for one in lists[kind]()
        }

    def _taken(
        self, kind: Kind, parse: Callable[[Mapping[str, Json]], L], found: list[Finding]
    ) -> list[L]:
        """What the files of one kind say; those that cannot be read, or say it twice, are found."""
        read: dict[str, dict[str, L]] = {}
        for file in self._files(kind):
            try:
                one = parse(layout.object_in(kind, self._shown.read(file), file))
            except RecollectError as error:
                found.append(_problem(f"{file}: {error.message}", _AGAIN))
            else:
                read.setdefault(one.id, {})[file] = one
        taken = []
        for id, said in read.items():
            own = said.get(self._name(kind, id))
            chosen = own if own is not None else next(iter(said.values()))
            others = [file for file, one in said.items() if one != chosen]
            if others:
                found.append(_twice(kind, id, said, others, own is not None))
            if own is not None or not others:
                taken.append(chosen)
        return taken

    def _files(self, kind: Kind) -> list[str]:
        found = sorted(self._folder(kind).glob(f"*{layout.SUFFIX}"))
        return [f"{layout.FOLDERS[kind]}/{path.name}" for path in found]

    def _folder(self, kind: Kind) -> Path:
        return self.root / layout.FOLDERS[kind]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.root)!r})"


def _twice(kind: Kind, id: str, said: Iterable[str], others: list[str], has_own: bool) -> Finding:
    if has_own:
        detail = f"{', '.join(others)} also says what the {kind} {id!r} is, and was not imported"
    else:
        detail = f"{', '.join(said)} say different things of the {kind} {id!r}: none was imported"
    fix = f"keep one, as {layout.FOLDERS[kind]}/{layout.file_name(id)}, then import_workspace()"
    return _problem(detail, fix)


def _problem(detail: str, fix: str) -> Finding:
    return Finding(level="problem", what="files", detail=detail, fix=fix)


def fixture(name: Literal["graph", "profile"]) -> dict[str, Json]:
    """One of them, as an object."""
    file = FIXTURES / f"{name}{SUFFIX}"
    return parse(file.read_bytes(), file.name)
