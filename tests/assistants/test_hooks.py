"""The hook verbs as an assistant runs them: JSON in, JSON or nothing out, and never an error."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect import Memory
from recollect.config import places
from recollect.interfaces.cli.assistants import hook_log
from recollect.places import consent
from recollect.places.known import adopt
from recollect.recall.pack import count_tokens
from tests.assistants.session import SAID, SESSION, recorded
from tests.assistants.test_capture import PROGRAM

CANARY = "marmalade"


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def context(self) -> str:
        said = json.loads(self.out)["hookSpecificOutput"]
        assert set(said) == {"hookEventName", "additionalContext"}
        return str(said["additionalContext"])


class Project:
    """A project with a memory, and a home, in which an assistant runs hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.home = folder / "home"
        self.store = self.folder / ".recollect"
        self.folder.mkdir()
        self.home.mkdir()

    def hook(self, *words: str, said: object = None, raw: bytes | None = None) -> Ran:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("RECOLLECT")}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words, "--hook"],
            cwd=self.folder,
            env=kept | {"HOME": str(self.home)},
            input=json.dumps(said).encode() if raw is None else raw,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def prompt(self, words: str, *more: str) -> Ran:
        said = {"hook_event_name": "UserPromptSubmit", "prompt": words, **self.common()}
        return self.hook("context", *more, said=said)

    def start(self, *more: str) -> Ran:
        said = {"hook_event_name": "SessionStart", "source": "startup", **self.common()}
        return self.hook("context", *more, said=said)

    def end(self, path: Path, *more: str) -> Ran:
        said = {"hook_event_name": "SessionEnd", "reason": "exit", **self.common()}
        return self.hook("hooks", "capture", *more, said=said | {"transcript_path": str(path)})

    def common(self) -> dict[str, Any]:
        return {"session_id": SESSION, "cwd": str(self.folder), "transcript_path": "/nowhere.jsonl"}

    @property
    def log(self) -> list[str]:
        path = self.store / "log" / "hooks.log"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    with Memory.open(made.store) as memory:
        memory.remember("The staging database moved to port 5433.")
        memory.remember("Deploys happen on Fridays only.", key="deploy.day")
        memory.remember("Deploys happen on Fridays only.", key="deploy.day")
        memory.scoped(trust="unverified").remember(f"The staging port is {CANARY}.")
    settings = places(start=made.folder, home=made.home, environment={}).project
    adopt(settings)
    consent.give(settings)
    return made


def test_a_prompt_gets_what_memory_knows_about_it(project: Project) -> None:
    ran = project.prompt("On which port does the staging database listen?")
    assert ran.code == 0
    assert ran.err == ""
    assert "moved to port 5433" in ran.context
    assert "Fridays" not in ran.context
    assert CANARY not in ran.out
    assert project.log == []


@pytest.mark.parametrize("words", ["yes", "ok, go ahead please", "/clear staging port"])
def test_a_prompt_that_asks_nothing_gets_nothing(project: Project, words: str) -> None:
    assert project.prompt(words) == Ran(0, "", "")


def test_a_prompt_that_nothing_fits_gets_nothing(project: Project) -> None:
    assert project.prompt("Write a poem about the autumn port wine").out == ""


def test_a_prompt_about_an_earlier_value_gets_it_named_as_such(project: Project) -> None:
    with Memory.open(project.store) as memory:
        new = memory.remember("Deploys happen on Mondays only.", key="deploy.day")
    assert "Fridays" not in project.prompt("When do deploys happen?").context
    lines = project.prompt("On which day did deploys happen previously?").context.splitlines()
    (old,) = [line for line in lines if "Fridays" in line]
    assert old.endswith(f"(an earlier value, until {new.at[:10]}; now [{new.id}])")
    assert "Mondays" in lines[lines.index(old) + 1]


def test_the_start_of_a_session_gets_the_most_reinforced_and_the_newest(project: Project) -> None:
    lines = project.start().context.splitlines()
    assert "Fridays" in lines[2]
    assert "5433" in lines[3]
    assert CANARY not in "".join(lines)


def test_the_persons_own_memory_speaks_too(project: Project) -> None:
    with Memory.open(project.home / ".recollect") as memory:
        memory.remember("I like short answers about the staging port.")
    assert "short answers" in project.start().context
    assert "short answers" in project.prompt("tell me the staging port").context


def test_a_context_stays_under_its_budget(project: Project) -> None:
    with Memory.open(project.store) as memory, memory.batch() as batch:
        for number in range(300):
            batch.remember(f"Depot {number} has {number} staging docks and a long description.")
    for ran in (project.start("--tokens", "200"), project.prompt("staging docks", "--tokens=200")):
        assert count_tokens(ran.context) <= 200
    assert len(project.start().context) < 9_000


def test_without_a_memory_there_is_nothing_and_nothing_is_made(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.start() == project.prompt("the staging port") == Ran(0, "", "")
    assert project.end(recorded().write(tmp_path / "t.jsonl")) == Ran(0, "", "")
    assert list(project.folder.iterdir()) == list(project.home.iterdir()) == []


def test_the_end_of_a_session_captures_it_and_says_so_in_the_log(
    project: Project, tmp_path: Path
) -> None:
    path = recorded().write(tmp_path / "t.jsonl")
    assert project.end(path) == project.end(path) == Ran(0, "", "")
    first, second = project.log
    assert first.endswith(f"capture SessionEnd kept {len(SAID)} of {len(SAID)} messages")
    assert second.endswith(f"capture SessionEnd kept 0 of {len(SAID)} messages")
    assert "5433" in project.prompt("what about the staging database port").context
    with Memory.open(project.store) as memory:
        captured = [
            each
            for each in memory.sessions.episodes(include=["waiting"])
            if each.id.startswith("cc-")
        ]
        assert len(captured) == len(SAID)


def test_an_index_that_lags_is_healed_before_it_speaks(project: Project) -> None:
    (project.store / "index.db").unlink()
    assert "5433" in project.prompt("the staging database port").context


@pytest.mark.parametrize("raw", [b"", b"[]", b"\xff\xff", b'{"hook_event_name": 3}'])
def test_what_does_not_read_is_logged_and_no_error(project: Project, raw: bytes) -> None:
    assert project.hook("context", raw=raw) == Ran(0, "", "")
    assert project.hook("hooks", "capture", raw=raw) == Ran(0, "", "")
    assert len(project.log) == 2
    assert all("failed" in line for line in project.log)


def test_a_transcript_that_is_not_there_is_logged(project: Project, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.jsonl", tmp_path):
        assert project.end(path) == Ran(0, "", "")
    assert [line.split()[-2:] for line in project.log] == [["InvalidInput", "invalid_input"]] * 2


def test_a_damaged_memory_is_logged_and_left_alone(project: Project, tmp_path: Path) -> None:
    ledger = project.store / "events.wal"
    data = bytearray(ledger.read_bytes())
    data[len(data) // 2] ^= 1
    data[-40] ^= 1
    ledger.write_bytes(data)
    assert project.prompt("the staging database port").code == 0
    assert project.end(recorded().write(tmp_path / "t.jsonl")) == Ran(0, "", "")
    assert project.log[-1].endswith("failed Damage damaged")
    assert ledger.read_bytes() == data


def test_a_locked_memory_is_read_without_waiting(project: Project, tmp_path: Path) -> None:
    with open(project.store / "ledger.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "5433" in project.prompt("the staging database port").context
        ended = project.end(recorded().write(tmp_path / "t.jsonl"), "--time-limit", "0.5")
    assert ended == Ran(0, "", "")
    assert project.log[-1].endswith("failed TimeUp")


def test_a_read_only_folder_is_not_an_error(project: Project, tmp_path: Path) -> None:
    (project.store / "log").write_text("in the way")
    assert project.end(tmp_path / "nowhere.jsonl") == Ran(0, "", "")


def test_no_word_of_a_memory_or_a_session_is_in_the_log(project: Project, tmp_path: Path) -> None:
    said = {"hook_event_name": CANARY, "transcript_path": f"/{CANARY}", "session_id": CANARY}
    project.hook("hooks", "capture", said={**said, "hook_event_name": f"x\n{CANARY} y"})
    project.hook("context", said={**project.common(), "hook_event_name": {CANARY: 1}})
    project.end(recorded().write(tmp_path / "t.jsonl"))
    assert len(project.log) == 3
    assert "5433" not in "".join(project.log)
    assert CANARY not in project.log[-1]


def test_the_log_is_bounded(tmp_path: Path) -> None:
    for number in range(4_000):
        hook_log.write(tmp_path, f"capture SessionEnd kept {number} of 4000 messages " + "x" * 60)
    files = sorted((tmp_path / "log").iterdir())
    assert [file.name for file in files] == ["hooks.log", "hooks.log.1"]
    assert all(file.stat().st_size < hook_log.LOG_MAX_BYTES + 1_000 for file in files)
    assert "kept 3999" in files[0].read_text()


# What a hook may load of the package before it says anything, and what it needs to read a memory.
# Each module costs an assistant's user a fifth of a millisecond and more, before every prompt.
ALWAYS = """recollect recollect.__main__ recollect.assistants recollect.assistants.prompts
    recollect.embedder_names
    recollect.config recollect.errors recollect.index recollect.index.caches
    recollect.index.words recollect.index.words.text
    recollect.interfaces recollect.interfaces.cli recollect.interfaces.cli.assistants
    recollect.interfaces.cli.assistants.hook
    recollect.interfaces.cli.lean
    recollect.model recollect.model.instants recollect.model.limits recollect.places
    recollect.places.known recollect.store recollect.store.disk
    recollect.store.disk.layout recollect.store.disk.regular_files
    recollect.store.disk.repository recollect.store.seam""".split()
TO_READ = """recollect.finding recollect.finding.briefing recollect.finding.candidates
    recollect.model.words
    recollect.finding.earlier recollect.finding.replaced recollect.model.policy
    recollect.model.rules recollect.recall.asked_for recollect.recall.clause_words
    recollect.recall.replaced
    recollect.finding.search recollect.index.words.bm25 recollect.index.cards
    recollect.index.words.facts recollect.index.branches
    recollect.index.proposals recollect.index.reads recollect.index.rows
    recollect.index.full_text recollect.index.settings recollect.index.values
    recollect.index.columns recollect.index.statements recollect.index.tables
    recollect.model.validate
    recollect.model.events recollect.model.events.body
    recollect.model.events.ledger
    recollect.model.events.proposals recollect.model.events.records
    recollect.model.events.settings
    recollect.model.presets recollect.model.reasons recollect.model.values
    recollect.model.values.contexts recollect.model.values.recall recollect.model.values.records
    recollect.model.visible recollect.recall recollect.recall.asking
    recollect.recall.presets recollect.recall.pack recollect.recall.rank
    recollect.recall.relevance recollect.recall.scoring recollect.recall.visibility
    recollect.recall.weights
    recollect.store.files recollect.store.files.quick_read recollect.store.figures
    recollect.store.sqlite""".split()
OF_EARLIER = ["recollect.recall.before"]
# What takes longest to load of all that others bring along.
HEAVY = """asyncio click dataclasses hashlib inspect json logging numpy psycopg rich subprocess
    tempfile typer typing_extensions""".split()


def test_a_hook_leaves_typing_extensions_importable() -> None:
    code = (
        "import sys; from recollect.interfaces.cli.lean import load_msgspec\n"
        "load_msgspec(); assert 'typing_extensions' not in sys.modules\n"
        "import msgspec, typing_extensions\n"
        "class Told(msgspec.Struct): name: typing_extensions.Literal['a']\n"
        'print(msgspec.json.decode(b\'{"name": "a"}\', type=Told).name)'
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"a\n"


@pytest.mark.parametrize(
    ("prompt", "has_memory", "keeps", "may_load"),
    [
        ("which staging database", True, False, {*ALWAYS, *TO_READ}),
        (
            "which staging database did we use before?",
            True,
            False,
            {*ALWAYS, *TO_READ, *OF_EARLIER},
        ),
        ("yes please", True, True, {*ALWAYS}),
        ("which staging database", False, True, {*ALWAYS}),
    ],
)
def test_a_hook_loads_little(
    project: Project, tmp_path: Path, prompt: str, has_memory: bool, keeps: bool, may_load: set[str]
) -> None:
    code = (
        "import io, sys; from recollect.__main__ import main\n"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[1].encode()))\n"
        "assert main(['context', '--hook']) == 0\n"
        "print(*sys.modules)"
    )
    said = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, **project.common()}
    said["cwd"] = str(project.folder if has_memory else tmp_path)
    if not keeps:
        del said["session_id"]
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(said)],
        env=os.environ | {"HOME": str(project.home)},
        cwd=said["cwd"],
        capture_output=True,
        check=True,
    )
    *answer, last = done.stdout.decode().splitlines()
    loaded = set(last.split())
    assert bool(answer) == (set(TO_READ) <= may_load)
    assert {name for name in loaded if name.partition(".")[0] == "recollect"} <= may_load
    assert not loaded.intersection(HEAVY)


def test_a_hook_that_reads_ends_at_once_and_leaves_nothing(project: Project) -> None:
    before = sorted(project.store.iterdir())
    late = f"import atexit; atexit.register(print, 'late'); {PROGRAM}"
    capture = ["capture", "claude-code"]  # as earlier releases installed it
    for words, is_late in ((["context"], False), (["hooks", *capture], True), (capture, True)):
        said = {"hook_event_name": "UserPromptSubmit", "prompt": "which staging database"}
        done = subprocess.run(
            [sys.executable, "-c", late, *words, "--hook"],
            env=os.environ | {"HOME": str(project.home)},
            cwd=project.folder,
            input=json.dumps(said).encode(),
            capture_output=True,
            check=True,
        )
        assert (b"late" in done.stdout) == is_late
        if not is_late:
            assert b"5433" in done.stdout
            assert sorted(project.store.iterdir()) == before


@pytest.mark.parametrize("closing", ["", ">&-", ">&- 2>&-"])
def test_a_hook_with_a_closed_stdout_exits_with_0(project: Project, closing: str) -> None:
    said = {"hook_event_name": "UserPromptSubmit", "prompt": "which staging database"}
    reader, writer = os.pipe()
    os.close(reader)
    hook = [sys.executable, "-c", PROGRAM, "context", "--hook"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closing}', "sh", *hook],
        env=os.environ | {"HOME": str(project.home)},
        cwd=project.folder,
        input=json.dumps(said).encode(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_package_alone_loads_nothing_of_itself() -> None:
    code = (
        "import sys; import recollect\n"
        "print(sorted(n for n in sys.modules if n.partition('.')[0] in ('recollect', 'msgspec')))\n"
        "from recollect import Memory, NotFound; print(Memory.__name__, NotFound.__name__)\n"
        "print(hasattr(recollect, 'Nothing'), 'Memory' in dir(recollect))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert out.decode().splitlines() == ["['recollect']", "Memory NotFound", "False True"]
