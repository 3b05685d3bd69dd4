"""Folders of pages that were copied, restored, cloned or changed, and every way in.

Each statement has a word of its own. A word that was in a folder of pages before a way in must be
there afterwards, or in the ledger of the memory: nothing else is looked at.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from recollect import Memory
from recollect.contracts.pages import MemoryFiles
from recollect.errors import RecollectError
from recollect.interfaces.cli import main
from tests.cli.running import Ran, Shell

WORD = re.compile(rb"word[0-9]{9}")
ABOUT = ("person:Alice", "project:Apollo", "user", "tool:git", None)
LEDGER = ("events.wal*", "sealed/*")


class World:
    """A memory with pages, and another memory whose files may get in the way."""

    def __init__(self, place: Path, chance: random.Random) -> None:
        self.chance = chance
        self.home = place / "home"
        self.mine, self.theirs = place / "mine", place / "theirs"
        self.home.mkdir(parents=True)
        for one in (self.mine, self.theirs):
            run("--store", str(one), "init")
        self.is_files = chance.random() < 0.5  # pages are in ``memory`` instead of ``pages``
        self.done = Counter[str]()

    def word(self) -> str:
        return f"word{self.chance.randrange(10**9):09d}"

    def folder(self, store: Path) -> Path:
        return store / ("memory" if self.is_files else "pages")

    def write(self, store: Path) -> None:
        """Some records, rendered."""
        with Memory.open(store, embedder="none") as memory:
            for _ in range(self.chance.randint(1, 3)):
                session = self.chance.choice((None, "s1"))
                about = self.chance.choice(ABOUT)
                memory.scoped(session=session).remember(f"It is {self.word()}.", about=about)
            if self.chance.random() < 0.3:
                memory.pages.describe("user-profile", description=f"About {self.word()}")
        self.render(store)

    def render(self, store: Path) -> None:
        if self.is_files:
            with MemoryFiles(store, trust="person"):
                return
        with Memory.open(store, embedder="none") as memory:
            memory.pages.render()

    # What happens to files.

    def copy_folder(self) -> None:
        """A folder of another memory, with or without its notes, over or into this one."""
        self.write(self.theirs)
        target, source = self.folder(self.mine), self.folder(self.theirs)
        if self.chance.random() < 0.5:
            shutil.rmtree(target, ignore_errors=True)
        keeps = self.chance.random() < 0.7
        ignore = None if keeps else shutil.ignore_patterns(".pages.json")
        shutil.copytree(source, target, ignore=ignore, dirs_exist_ok=True)

    def copy_notes(self) -> None:
        """Only the notes of another memory."""
        self.write(self.theirs)
        shutil.copy(self.folder(self.theirs) / ".pages.json", self.folder(self.mine))

    def restore_older(self) -> None:
        """Yesterday's ledger, today's pages."""
        old = (self.mine / "events.wal").read_bytes()
        self.write(self.mine)
        self._without_index()
        (self.mine / "events.wal").write_bytes(old)
        if self.chance.random() < 0.5:  # and work goes on
            with Memory.open(self.mine, embedder="none") as memory:
                for _ in range(self.chance.randint(1, 6)):
                    memory.remember(f"It is {self.word()}.", about=self.chance.choice(ABOUT))

    def lose_ledger(self) -> None:
        """A new memory between the pages of the old one."""
        self._without_index()
        (self.mine / "events.wal").unlink()
        with Memory.open(self.mine, embedder="none") as memory:
            memory.remember(f"It is {self.word()}.", about=self.chance.choice(ABOUT))

    def fork(self) -> None:
        """A second laptop: both go on, and its pages come back."""
        second = self.mine.with_name("second")
        shutil.rmtree(second, ignore_errors=True)
        shutil.copytree(self.mine, second)
        for one in self.chance.sample((self.mine, second), 2):
            self.write(one)
        shutil.copytree(self.folder(second), self.folder(self.mine), dirs_exist_ok=True)

    def change(self) -> None:
        """A person writes on a page, on a page of their own, or into the index."""
        folder = self.folder(self.mine)
        folder.mkdir(exist_ok=True)
        pages = sorted(folder.glob("*.md")) or [folder / "person-zoe.md"]
        page = self.chance.choice([*pages, folder / "topic-mine.md", folder / "index.md"])
        before = page.read_text() if page.exists() else "# Mine\n"
        added = self.chance.choice(
            (
                "\n## [today] #mine\nI say {}.\n",
                "\nI say {}.\n",
                "\n## [2026-04-21T09:15:00] {{id: 20260421-0915-c4f1a5}} #work\nI say {}.\n",
                "\n## [2026-04-20T09:15:00] {{id: old-1}} #superseded-by:new-1\n~~I said {}.~~\n",
                "\n## [broken\nI say {}.\n",
            )
        )
        text = before + added.format(self.word())
        if self.chance.random() < 0.3:
            text = text.replace("# ", f"# {self.word()} ", 1)
        page.write_text(text)

    def _without_index(self) -> None:
        for path in self.mine.glob("index.db*"):
            path.unlink()

    # Ways in.

    def ways(self) -> dict[str, Callable[[], object]]:
        store = ("--store", str(self.mine))
        return {
            "open": self._open_files,
            "render": lambda: self._memory(lambda memory: memory.pages.render()),
            "overwrite": lambda: self._memory(lambda memory: memory.pages.render(overwrite=True)),
            "sync": lambda: self._memory(lambda memory: memory.pages.sync()),
            "take page": lambda: self._memory(lambda memory: memory.pages.sync(take="page")),
            "watch": lambda: self._memory(lambda memory: memory.pages.sync(propose=True)),
            "adopt": lambda: self._memory(lambda memory: memory.pages.sync(unknown="adopt")),
            "aside": lambda: self._memory(lambda memory: memory.pages.sync(unknown="aside")),
            "as an agent": lambda: self._memory(
                lambda memory: memory.scoped(trust="agent").pages.sync()
            ),
            "command render": lambda: run(*store, "page", "render"),
            "command sync": lambda: run(*store, "sync"),
            "command sync --yes": lambda: run(*store, "sync", "--yes"),
            "command adopt": lambda: run(*store, "sync", "--yes", "--unknown", "adopt"),
            "command rebuild-index": lambda: run(*store, "rebuild-index"),
            "import": lambda: run(*store, "import", str(self.folder(self.mine)), "--yes"),
            "export": lambda: run(*store, "export", "pages", str(self.mine.with_name("out"))),
        }

    def _memory(self, call: Callable[[Memory], object]) -> None:
        with Memory.open(self.mine, embedder="none") as memory:
            call(memory)

    def _open_files(self) -> None:
        with MemoryFiles(self.mine, trust=self.chance.choice(("person", "agent"))) as files:
            if self.chance.random() < 0.5:
                files.rebuild_index(unknown=self.chance.choice(("leave", "aside")))

    def come_in(self, way: str, call: Callable[[], object]) -> list[str]:
        """One way in: the words that are gone afterwards."""
        before = self.words_in_pages() | self.words_in_ledger()
        try:
            call()
        except RecollectError as error:
            self.done[f"refused: {type(error).__name__}"] += 1
        self.done[way] += 1
        after = self.words_in_pages() | self.words_in_ledger()
        return [f"{way}: {word.decode()}" for word in sorted(before - after)]

    def words_in_pages(self) -> set[bytes]:
        paths = (path for path in self.folder(self.mine).rglob("*") if path.is_file())
        return {word for path in paths for word in WORD.findall(path.read_bytes())}

    def words_in_ledger(self) -> set[bytes]:
        paths = (path for name in LEDGER for path in self.mine.glob(name))
        return {word for path in paths for word in WORD.findall(path.read_bytes())}


def run(*words: str) -> int:
    """The command without a terminal, in this process."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main(words)


def one_round(place: Path, seed: int) -> tuple[Counter[str], list[str]]:
    """Some accidents, then some ways in; what was done, and which words were lost by which."""
    chance = random.Random(seed)
    world = World(place, chance)
    world.write(world.mine)
    accidents = (
        world.copy_folder, world.copy_notes, world.restore_older, world.lose_ledger, world.fork,
        world.change, world.change,
    )  # fmt: skip
    for accident in chance.choices(accidents, k=chance.randint(1, 3)):
        accident()
        world.done[accident.__name__] += 1
    lost, ways = list[str](), world.ways()
    for way in chance.choices(list(ways), k=chance.randint(1, 4)):
        lost += world.come_in(way, ways[way])
    return world.done, [f"round {seed}: {one}" for one in lost]


def on_a_terminal(place: Path, seed: int, answers: str) -> list[str]:
    """A round whose way in is `recollect pages sync` on a terminal, with these answers."""
    chance = random.Random(seed)
    world = World(place, chance)
    world.write(world.mine)
    chance.choice((world.copy_folder, world.restore_older, world.lose_ledger))()
    world.change()
    shell = Shell(world.mine, world.home, lambda: Ran(0, "", ""))
    return world.come_in(
        f"terminal {answers!r}",
        lambda: shell.terminal("--store", str(world.mine), "pages", "sync", typed=answers),
    )
