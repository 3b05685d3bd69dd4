"""What each program itself keeps of a talk, captured: once, without secrets, also from a fork."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.programs.driving import FOLDER, PROGRAMS, Program, fork, kept_talks
from tests.programs.model import Model
from tests.programs.test_programs import repository, said

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the programs are not installed: .ci/programs"),
]

SECRET = "ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zAaB3d"
FIRST = f"The deploy token is {SECRET}, for Fridays only."
STORED = "The deploy token is [redacted:github-token], for Fridays only."
SECOND = "The staging database is on port 5433."
THIRD = "The canary lives in the harbour office."


@pytest.fixture(params=[name for name in PROGRAMS if name != "claude-code"])
def program(request: pytest.FixtureRequest, model: Model, tmp_path: Path) -> Program:
    """One whose talks no hook captures, so that each capture is asked for."""
    made = PROGRAMS[request.param](request.param, tmp_path, model.address)
    made.prepare()
    return made


def test_a_talk_is_captured_once(program: Program, model: Model) -> None:
    app = repository(program, "app")
    model.will(say="One.")
    program.ask(app, FIRST)
    assert capture_all(program, app) == 2
    assert capture_all(program, app) == 0

    model.will(say="Two.")
    program.ask(app, SECOND, resumed=True)
    assert capture_all(program, app) == 2
    if fork(program, app, THIRD):
        assert capture_all(program, app) == 2
    assert capture_all(program, app) == 0

    kept = said(app)
    for words in (STORED, SECOND):
        assert [role for role, text in kept if words in text] == ["user"]
    assert [role for role, text in kept if text == "One."] == ["assistant"]
    data = [one.read_bytes() for one in (app / ".git" / "recollect").rglob("*") if one.is_file()]
    assert not any(SECRET.encode() in one for one in data)


def test_a_fork_of_claude_code_brings_nothing_twice(model: Model, tmp_path: Path) -> None:
    program = PROGRAMS["claude-code"]("claude-code", tmp_path, model.address)
    app = repository(program, "app")
    program.install(app)  # its hooks keep a prompt at once, and capture the rest at the end
    model.will(say="One.")
    program.ask(app, SECOND)
    assert fork(program, app, THIRD)
    assert capture_all(program, app) == 0
    roles = [role for role, text in said(app) if text in (SECOND, "One.", THIRD)]
    assert sorted(roles) == ["assistant", "assistant", "user", "user"]


def capture_all(program: Program, app: Path) -> int:
    """How many messages were kept of copies of the program's files, as on a second machine."""
    count = 0
    for number, path in enumerate(kept_talks(program)):
        copied = program.home / "copied" / str(number)
        shutil.copytree(path.parent, copied, dirs_exist_ok=True)  # with a log beside a database
        told = json.loads(
            program.recollect(app, "hooks", "capture", str(copied / path.name), "--json")
        )
        assert (told["agent"], told["bad_lines"], told["refused"]) == (program.name, 0, 0)
        count += told["kept"]
    return count
