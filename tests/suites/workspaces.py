"""Workspaces that are copied, cloned, restored and edited at random, and what is lost of them.

Responsible for the rounds and for looking whether everything that a person or another memory wrote
is still there. Leaves how many rounds to its callers. Invariant: a word is never written twice, so
that finding it tells that it was kept.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from recollect.contracts.graph import (
    Action,
    Approval,
    Edge,
    FileBackedMemoryGraphStore,
    Node,
    PhaseMemoryRuntime,
    Profile,
    digest_of,
    paths,
)
from recollect.errors import RecollectError
from recollect.model.events import Trust

FOLDERS: Final = ("profiles", "nodes", "edges", "paths", "activations")
_MEMORY: Final = ".recollect"
_NOTES: Final = "workspace-files.jsonl"
_WORD: Final = re.compile(r"word[0-9]{4}x[0-9]{9}")
_STEPS: Final = 9
_IDS: Final = ("a", "b", "c", "d")
_ORIGINS: Final[tuple[Trust, ...]] = ("person", "person", "agent", "unverified")
_CONFLICT: Final = "<<<<<<< HEAD\n{old}\n=======\n{word}\n>>>>>>> theirs\n"


class Round:
    """One workspace, what is done to it, and the words in it that must not be lost."""

    def __init__(self, place: Path, chance: Random) -> None:
        self.place, self.chance = place, chance
        self.root = place / "w"
        self.spare: list[Path] = []  # copies of the workspace, or of others
        self.words: set[str] = set()  # of people and of other memories
        self.done: list[str] = []
        self._count = 0

    def word(self) -> str:
        self._count += 1
        return f"word{self._count:04d}x{self.chance.randrange(10**9):09d}"

    def run(self) -> list[str]:
        """The words that were lost; each step is one way in, or something that people do."""
        self._filled(self.root)
        other = self.place / "other"
        self._filled(other)
        self.spare.append(other)
        inside = [self._edit, self._own_file, self._own_field, self._second_file, self._layout]
        outside = [self._clone, self._backup, self._restore, self._swap, self._rename, self._git]
        drive = [self._save, self._render, self._import, self._forget, self._merge, self._direct]
        for _ in range(_STEPS):
            step = self.chance.choice(self.chance.choice((inside, outside, drive, drive)))
            self.done.append(step.__name__)
            step()
        for each in (self._open, self._save, self._render):
            each()
        return sorted(self.words - self._found())

    # What people do.

    def _edit(self) -> None:
        """An edit by hand, with or without JSON around it, or what git leaves of a conflict."""
        if not (file := self._any_file()):
            return
        word, old = self._said(), file.read_text()
        how = self.chance.randrange(3)
        if how == 0:
            file.write_text(_CONFLICT.format(old=old, word=word))
        elif how == 1:
            file.write_text("{ to be finished " + word)
        else:
            self._change(file, lambda given: {**given, **_inner(given, word)})

    def _own_field(self) -> None:
        if file := self._any_file(head=True):
            word = self._said()
            self._change(file, lambda given: {**given, "comment": word})

    def _own_file(self) -> None:
        word = self._said()
        end = self.chance.choice((".json", ".json", ".txt", ".json.new"))
        name = self.chance.choice((*_IDS, "notes"))
        file = self.root / self.chance.choice(FOLDERS) / f"{name}{end}"
        if not file.exists():
            file.write_text(json.dumps({"mine": word}))
        else:
            self.words.discard(word)

    def _second_file(self) -> None:
        if file := self._any_file():
            word = self._said()
            copy = file.with_name(f"{self.chance.choice('az')}-{word}.json")
            shutil.copy(file, copy)
            self._change(copy, lambda given: {**given, **_inner(given, word)})
            if word not in copy.read_text():
                copy.write_text(word)

    def _layout(self) -> None:
        if file := self._any_file(head=True):
            self._change(file, lambda given: dict(reversed(list(given.items()))))

    def _git(self) -> None:
        """Files that came from elsewhere, over those that are here."""
        source = self.chance.choice(self.spare)
        for folder in FOLDERS:
            for file in (source / folder).glob("*.json"):
                here = self.root / folder / file.name
                if self.chance.random() < 0.5 and not self._has_words(here):
                    shutil.copy(file, here)
                    self.words |= _words_in(here.read_text())

    # What becomes of folders.

    def _clone(self) -> None:
        """Without the memory; all that the files say is another's then."""
        self._see()
        shutil.rmtree(self.root / _MEMORY, ignore_errors=True)

    def _backup(self) -> None:
        copy = self.place / f"backup{len(self.spare)}"
        shutil.copytree(self.root, copy)
        self.spare.append(copy)

    def _restore(self) -> None:
        """The memory of a copy under the files of now; the ledger alone, or with its notes."""
        source = self.chance.choice(self.spare) / _MEMORY
        if not source.exists():
            return
        self._see()
        here = self.root / _MEMORY
        notes = (here / _NOTES).read_bytes() if (here / _NOTES).exists() else None
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(source, here)
        if notes is not None and self.chance.random() < 0.5:
            (here / _NOTES).write_bytes(notes)

    def _swap(self) -> None:
        """Goes on in a copy, with the memory of this one."""
        copy = self.place / f"swap{len(self.spare)}"
        source = self.chance.choice(self.spare)
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns(_MEMORY))
        if (self.root / _MEMORY).exists():
            shutil.copytree(self.root / _MEMORY, copy / _MEMORY)
        self.spare.append(self.root)
        self.root = copy
        self._see()

    def _rename(self) -> None:
        self.root = self.root.rename(self.place / f"renamed{self.chance.randrange(10**9)}")

    # Every way in.

    def _opened(self) -> FileBackedMemoryGraphStore:
        return FileBackedMemoryGraphStore(self.root, trust=self.chance.choice(_ORIGINS))

    def _open(self) -> None:
        self._tried(lambda store: PhaseMemoryRuntime(store).diagnostics())

    def _save(self) -> None:
        id, text = self.chance.choice(_IDS), self.word()

        def saved(store: FileBackedMemoryGraphStore) -> None:
            store.save_node(Node(id=id, kind="claim", text=text))
            store.save_about({"title": text})
            store.save_profile(Profile(id=id, extra={"title": text}))
            ends = [node.id for node in store.list_nodes()][:2]
            if len(ends) == 2:
                edge = Edge(id="e1", kind="cites", source=ends[0], target=ends[1])
                store.save_edge(Edge(**{**edge.to_dict(), "extra": {"why": text}}))  # type: ignore[arg-type]
            store.activate(text)

        self._tried(saved)

    def _render(self) -> None:
        replace = self.chance.random() < 0.3
        self._tried(lambda store: store.render(replace=replace))

    def _import(self) -> None:
        self._tried(lambda store: store.import_workspace())

    def _forget(self) -> None:
        actions = [Action(kind="forget", subject=self.chance.choice(_IDS))]
        approval = Approval(by="Ines", digest=digest_of(actions))
        self._tried(lambda store: PhaseMemoryRuntime(store).apply(actions, approval=approval))

    def _direct(self) -> None:
        """A change by the memory itself, which no file shows yet."""
        self._tried(lambda store: store.memory.forget(self.chance.choice(_IDS)))

    def _merge(self) -> None:
        id, text = self.chance.choice(("p", "q", "r")), self.word()

        def merged(store: FileBackedMemoryGraphStore) -> None:
            paths.branch(store, id)
            store.on(id).save_node(Node(id=self.chance.choice(_IDS), kind="claim", text=text))
            paths.extend(store, id, {"id": f"event.{text}", "kind": "said"})
            if self.chance.random() < 0.5:
                paths.abandon(store, id, "a dead end")
            else:
                paths.merge(store, id, paths.diff(store, id).digest)

        self._tried(merged)

    def _tried(self, call: Callable[[FileBackedMemoryGraphStore], object]) -> None:
        try:
            with self._opened() as store:
                call(store)
        except RecollectError:  # refused, as it may be: what matters is what is left then
            return

    # The words.

    def _filled(self, root: Path) -> None:
        with FileBackedMemoryGraphStore(root, trust="person") as store:
            store.save_profile(Profile(id="a", extra={"title": self.word()}))
            nodes = [Node(id=id, kind="claim", text=self.word()) for id in _IDS[:3]]
            store.save_nodes(nodes)
            store.save_edge(Edge(id="e1", kind="cites", source="a", target="b"))
            paths.branch(store, "p")
            paths.extend(store, "p", {"id": f"event.{self.word()}", "kind": "said"})
            paths.abandon(store, "p", self.word())
            store.activate(nodes[0].text)

    def _said(self) -> str:
        """A new word that a person writes now."""
        word = self.word()
        self.words.add(word)
        return word

    def _see(self) -> None:
        """From here on another memory is asked: of this one only what the files show counts."""
        self.words = self._in_files()

    def _any_file(self, *, head: bool = False) -> Path | None:
        """A file without the words of a person, who would not destroy them."""
        files = [file for name in FOLDERS for file in sorted((self.root / name).glob("*.json"))]
        files += [self.root / "workspace.json"] * head
        free = [file for file in files if file.exists() and not self._has_words(file)]
        return self.chance.choice(free) if free else None

    def _has_words(self, file: Path) -> bool:
        return file.exists() and bool(_words_in(file.read_text()) & self.words)

    def _change(self, file: Path, change: Callable[[dict[str, object]], object]) -> None:
        try:
            given = json.loads(file.read_text())
        except ValueError:
            given = {}
        file.write_text(json.dumps(change(given), indent=self.chance.choice((None, 1, 2, 4))))

    def _found(self) -> set[str]:
        """Every word in the files, whatever their folder, and in what the memory knows."""
        ledger = self.root / _MEMORY / "events.wal"
        return self._in_files() | (_words_in(ledger.read_text()) if ledger.exists() else set())

    def _in_files(self) -> set[str]:
        found: set[str] = set()
        for file in self.root.rglob("*"):
            if file.is_file() and _MEMORY not in file.parts:
                found |= _words_in(f"{file.name} {file.read_text()}")
        return found


def rounds(place: Path, count: int, seed: int) -> tuple[int, list[str], Counter[str]]:
    """Runs as many rounds; returns how many words there were, which were lost, and each step."""
    words, lost, steps = 0, list[str](), Counter[str]()
    for number in range(count):
        folder = place / f"round{number}"
        folder.mkdir()
        one = Round(folder, Random(f"{seed} {number}"))
        lost += [f"round {number}: {word} after {one.done}" for word in one.run()]
        words += len(one.words)
        steps.update(one.done)
        shutil.rmtree(folder)
    return words, lost, steps


def _inner(given: dict[str, object], word: str) -> dict[str, object]:
    """The object of a file, with a word that a person put into it."""
    for kind in ("profile", "node", "edge", "path", "activation"):
        if isinstance(object := given.get(kind), dict):
            return {kind: {**object, ("text" if kind == "node" else "by_hand"): word}}
    return {"by_hand": word}


def _words_in(text: str) -> set[str]:
    return set(_WORD.findall(text))
