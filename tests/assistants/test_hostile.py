"""Folders that came from elsewhere and try more than a memory: links, pointers, FIFOs, settings.

Each attack is run as an assistant would meet it, in a process of its own. The control of each is
the same folder without the trick, or the same trick with its guard taken out.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Memory
from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.places.known import adopt, is_known
from tests.assistants.session import recorded
from tests.assistants.test_capture import PROGRAM as MAIN
from tests.assistants.test_hooks import Project, Ran
from tests.assistants.test_known import command, everything_in
from tests.embed.graphs import encoder

pytestmark = pytest.mark.ci

SECRET = "The merger codename is BLUEBIRD, and the signing is on Friday."
ASKED = "What is the merger codename and the signing day?"
MINE = "My own merger notes: the codename and the signing day are in the blue folder."


class Clone(Project):
    """A folder from elsewhere, beside the project of a client with a known memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.client = folder / "client-a"
        self.client.mkdir()
        self.kept = self.client / ".recollect"
        with Memory.open(self.kept) as memory:
            memory.remember(SECRET)
        adopt(places(start=self.client, home=self.home, environment={}).project)
        with Memory.open(self.home / ".recollect") as memory:
            memory.remember(MINE)

    def asked(self) -> str:
        """All that the hooks say here, at a session's start and to a prompt."""
        said = [self.start(), self.prompt(ASKED)]
        assert [ran.code for ran in said] == [0, 0]
        return "".join(ran.out for ran in said)

    def captured(self, folder: Path) -> Ran:
        return self.end(recorded().write(folder / "t.jsonl"))


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def worktree_of(clone: Clone, git: Path) -> None:
    """A ``.git`` file, as an archive may bring one, that says it belongs to another repository."""
    (clone.folder / "x" / "wt").mkdir(parents=True)
    (clone.folder / ".git").write_text("gitdir: x/wt\n")
    (clone.folder / "x" / "wt" / "commondir").write_text(f"{git}\n")
    (clone.folder / "x" / "wt" / "gitdir").write_text(f"{clone.folder / '.git'}\n")


def init(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder / ".git"


def by_link(clone: Clone) -> None:
    clone.store.symlink_to("../client-a/.recollect")


def by_linked_parts(clone: Clone) -> None:
    clone.store.mkdir()
    for part in ("events.wal", "index.db"):
        (clone.store / part).symlink_to(f"../../client-a/.recollect/{part}")


def by_pointer(clone: Clone) -> None:
    worktree_of(clone, init(clone.client))


def by_pointer_to_an_entry(clone: Clone) -> None:
    """The pointer leads to a real worktree's entry, which names another folder."""
    init(clone.client)
    run = ["git", "-C", str(clone.client), "-c", "user.name=x", "-c", "user.email=x@x.test"]
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    tree = clone.client.parent / "tree"
    subprocess.run([*run, "worktree", "add", "-q", str(tree)], check=True, stderr=-1)
    shutil.copy(tree / ".git", clone.folder / ".git")


def by_pointer_to_the_repository(clone: Clone) -> None:
    (clone.folder / ".git").write_text(f"gitdir: {init(clone.client)}\n")


def by_linked_git(clone: Clone) -> None:
    (clone.folder / ".git").symlink_to(init(clone.client))


TRICKS = (
    by_link,
    by_linked_parts,
    by_pointer,
    by_pointer_to_an_entry,
    by_pointer_to_the_repository,
    by_linked_git,
)


@pytest.mark.parametrize("trick", TRICKS)
def test_no_folder_reaches_the_memory_of_another_project(
    clone: Clone, tmp_path: Path, trick: Callable[[Clone], None]
) -> None:
    trick(clone)
    before = everything_in(clone.kept)
    said = clone.asked()
    assert "BLUEBIRD" not in said
    assert "blue folder" in said  # the person's own still speaks
    assert clone.captured(tmp_path) == Ran(0, "", "")
    with Mounts.open(start=clone.folder, scope=Scoping(trust="agent")) as mounts:
        assert all("BLUEBIRD" not in hit.value.text for hit in mounts.recall(ASKED).hits)
    assert everything_in(clone.kept) == before


def test_where_the_client_itself_works_its_memory_speaks(clone: Clone) -> None:
    clone.folder = clone.client
    assert "BLUEBIRD" in clone.asked()


def test_with_the_place_read_through_the_link_the_secret_comes_through(clone: Clone) -> None:
    by_link(clone)
    unguarded = (
        "import os, sys; import recollect.config as config; from recollect.places import known\n"
        "config.place_of = os.path.realpath; known._has_link = lambda *_: False\n"
        "from recollect.__main__ import main; sys.exit(main())"
    )
    said = {"hook_event_name": "UserPromptSubmit", "prompt": ASKED, **clone.common()}
    ran = command(clone, "context", "--hook", program=unguarded, said=said)
    assert "BLUEBIRD" in ran.out


def test_a_link_to_the_persons_own_memory_keeps_no_session_there(
    clone: Clone, tmp_path: Path
) -> None:
    clone.store.symlink_to(clone.home / ".recollect")
    assert clone.captured(tmp_path) == Ran(0, "", "")
    with Memory.open(clone.home / ".recollect") as mine:
        assert mine.sessions.episodes() == []


def test_a_link_is_adopted_by_a_person_for_what_it_leads_to_now(
    clone: Clone, tmp_path: Path
) -> None:
    by_link(clone)
    assert command(clone, "init").code != 0
    assert command(clone, "init", "--yes").code == 0
    assert "BLUEBIRD" in clone.asked()
    with Memory.open(tmp_path / "third") as third:
        third.remember(SECRET.replace("BLUEBIRD", "REDSTART"))
    clone.store.unlink()
    clone.store.symlink_to(tmp_path / "third")
    assert "REDSTART" not in clone.asked()


# --- what is there before the first event


def test_a_folder_with_a_link_for_the_first_write_is_not_known(clone: Clone) -> None:
    """The first write would go through it, into a file that the folder's author chose."""
    victim = clone.home / "notes.txt"
    victim.write_text("mine")
    clone.store.mkdir()
    (clone.store / "settings.json.new").symlink_to(victim)
    assert not is_known(places(start=clone.folder, home=clone.home, environment={}).project)
    clone.asked()
    assert command(clone, "init", "--yes", "--embedder", "none").code == 0
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["ledger.lock", ".gitignore", "log", "spaces", "settings.json"])
def test_a_link_in_place_of_a_first_file_makes_the_folder_unknown(clone: Clone, name: str) -> None:
    clone.store.mkdir()
    (clone.store / name).symlink_to(clone.home)
    assert not is_known(places(start=clone.folder, home=clone.home, environment={}).project)


def test_a_folder_as_this_release_leaves_it_is_known(clone: Clone) -> None:
    clone.store.mkdir()
    for name in ("ledger.lock", ".gitignore", "settings.json"):
        (clone.store / name).write_text("{}")
    (clone.store / "log").mkdir()
    (clone.store / "log" / "hooks.log").write_text("a line\n")
    (clone.store / "spaces" / "other").mkdir(parents=True)
    assert is_known(places(start=clone.folder, home=clone.home, environment={}).project)


def test_the_hooks_log_is_not_written_through_a_link(clone: Clone) -> None:
    victim = clone.home / "notes.txt"
    victim.write_text("mine")
    (clone.store / "log").mkdir(parents=True)
    (clone.store / "log" / "hooks.log").symlink_to(victim)
    assert clone.hook("context", raw=b"no json").code == 0
    assert victim.read_text() == "mine"


# --- FIFOs, sockets, devices


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def socket_at(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's name may not be long
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


SPECIAL = (
    (fifo, "events.wal"),
    (fifo, "index.db"),
    (fifo, "settings.json"),
    (device, "settings.json"),
    (socket_at, "events.wal"),
)


@pytest.mark.parametrize(("make", "name"), SPECIAL)
def test_a_special_file_neither_hangs_a_hook_nor_hides_the_other_memory(
    clone: Clone, tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    clone.store.mkdir()
    make(clone.store / name)
    assert "blue folder" in clone.prompt(ASKED, "--time-limit", "20").context
    assert clone.captured(tmp_path).code == 0
    assert "TimeUp" not in (clone.home / ".recollect" / "log" / "hooks.log").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "codename"),
        ("remember", "x"),
        (
            "admin",
            "doctor",
        ),
    ],
)
def test_the_command_line_refuses_it_at_once(clone: Clone, words: tuple[str, ...]) -> None:
    clone.store.mkdir()
    fifo(clone.store / "events.wal")
    ran = command(clone, *words)
    assert ran.code in (1, 2)
    assert "not a file" in ran.out + ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["events.wal", "index.db", "sealed/0000000001-0000000009.wal"])
def test_it_is_refused_in_a_known_memory_too(clone: Clone, name: str) -> None:
    path = clone.kept / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    fifo(path)
    clone.folder = clone.client
    assert clone.start("--time-limit", "20").code == 0
    for words in (
        ("recall", "codename"),
        (
            "admin",
            "doctor",
        ),
    ):
        assert "not a file" in "".join(command(clone, *words)[1:])


def test_a_fifo_for_a_git_file_is_passed_over(clone: Clone) -> None:
    fifo(clone.folder / ".git")
    assert "blue folder" in clone.prompt(ASKED, "--time-limit", "20").context


def test_without_the_guard_a_fifo_hangs(clone: Clone) -> None:
    clone.store.mkdir()
    fifo(clone.store / "settings.json")
    program = (
        "import os, sys; import recollect.config as config\n"
        "config.read_regular = lambda path, most: open(path, 'rb').read(most)\n"
        "from recollect.__main__ import main; sys.exit(main())"
    )
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-c", program, "recall", "codename"],
            cwd=clone.folder,
            env=os.environ | {"HOME": str(clone.home)},
            timeout=4,
            check=False,
        )


# --- settings that came with a folder


def settings(clone: Clone, text: str) -> None:
    clone.store.mkdir(exist_ok=True)
    (clone.store / "settings.json").write_text(text)


def embedder_of(folder: Path, home: Path) -> str:
    return places(start=folder, home=home, environment={}).project.embedder


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("none", "none"),
        ("static", "static"),
        ("auto", "auto"),
        ("onnx:tools/m", "auto"),
        ("static+onnx:tools/m", "auto"),
        ("https://evil.test/v1#m", "auto"),
        ("nonsense", "auto"),
    ],
)
def test_a_found_folder_chooses_no_model_and_no_endpoint(
    clone: Clone, asked: str, got: str
) -> None:
    settings(clone, json.dumps({"embedder": asked}))
    assert embedder_of(clone.folder, clone.home) == got


def test_no_model_of_a_clone_is_run(clone: Clone) -> None:
    """After a first write the memory is this person's own, and the model still is not."""
    encoder(clone.folder / "tools" / "m")
    settings(clone, json.dumps({"embedder": "onnx:tools/m"}))
    words = ("remember", "alice sits by the window", "--store", str(clone.store))
    code = (
        "import sys, onnxruntime; from pathlib import Path\n"
        "from recollect.assistants.mounts import Mounts\n"
        "from recollect.assistants.place import Scoping\n"
        "real = onnxruntime.InferenceSession\n"
        "def run(*_, **__): print('a model was run'); return real(*_, **__)\n"
        "onnxruntime.InferenceSession = run\n"
        "mounts = Mounts.open(scope=Scoping(trust='agent'))\n"
        "mounts.remember('alice sits by the window', mount='project')\n"
        "print(len(mounts.recall('who sits at the window', mount='project').hits))"
    )
    assert command(clone, program=code).out == "1\n"
    assert command(clone, *words, program=MAIN).code == 0  # a person who names it may
    named = code.replace("Mounts.open(", f"Mounts.open({str(clone.store)!r}, ")
    assert "a model was run" in command(clone, program=named).out  # the control


@pytest.mark.parametrize("text", ["{", "\xff"])
def test_unreadable_settings_do_not_hide_a_memory(clone: Clone, text: str) -> None:
    settings(clone, text)
    assert "blue folder" in clone.asked()
    log = clone.store / "log" / "hooks.log"
    assert "ignored settings" in log.read_text()
    with Mounts.open(start=clone.folder, scope=Scoping(trust="agent")) as mounts:
        mounts.remember("The door is green.", mount="project")
        assert mounts.recall("which colour has the door", mount="project").hits
    ran = command(clone, "recall", "green door")
    assert ran.code == 0
    named = command(clone, "recall", "green door", "--store", str(clone.store))
    assert named.code == 2
    assert "settings.json" in named.err


def test_what_a_person_chose_for_a_project_is_kept(clone: Clone) -> None:
    """The choice stands in the person's own list; the folder's file may say what it likes."""
    model = encoder(clone.home / "models" / "mine")
    assert command(clone, "init", "--embedder", f"onnx:{model}").code == 0
    assert embedder_of(clone.folder, clone.home) == f"onnx:{model}"
    settings(clone, json.dumps({"embedder": "onnx:tools/evil"}))
    assert embedder_of(clone.folder, clone.home) == f"onnx:{model}"
    assert command(clone, "admin", "embed", "--embedder", "static").code == 0
    assert embedder_of(clone.folder, clone.home) == "static"
    chosen = clone.home / ".recollect" / "embedders.json"
    assert chosen.stat().st_mode & 0o777 == 0o600
    chosen.unlink()
    settings(clone, json.dumps({"embedder": f"onnx:{model}"}))
    assert embedder_of(clone.folder, clone.home) == "auto"
    assert "is used only if you choose it" in command(clone, "recall", "x", "--json").out
