"""Files that accidents have changed: everything stops, a doctor explains, and each way out works.

For each accident: what reading and writing do, what `verify` and `recollect admin doctor` say, that
looking changed nothing, and that each step which the doctor names leads where it says when it is
followed to the letter.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import IntegrityError, Unavailable
from recollect.interfaces.cli import main
from recollect.model.values import Finding
from tests.cli.running import Ran
from tests.suites import spoiling
from tests.suites.conftest import Tell
from tests.suites.spoiling import LAST, LOSSES, State, commands, files, moves, texts, workspace

Run = Callable[..., Ran]
EVERYTHING = {"one", "two", "three", "four", "five", "six"}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in this process."""

    def words(*words: str) -> Ran:
        capsys.readouterr()
        code = main(words)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return words


def spoilt(tmp_path: Path, state: State) -> Path:
    folder = workspace(tmp_path / "memory")
    state.make(folder)
    return folder


def examined(folder: Path) -> dict[str, Finding]:
    with Memory.open(folder) as memory:
        return {finding.what: finding for finding in memory.admin.doctor()}


each_loss = pytest.mark.parametrize("state", LOSSES, ids=str)


@each_loss
def test_a_loss_stops_who_reads_and_who_writes(tmp_path: Path, state: State) -> None:
    """Also damage far below the event at which the index stands: the files' stamp shows it."""
    folder = spoilt(tmp_path, state)
    calls: tuple[Callable[[Memory], object], ...] = (
        lambda memory: memory.list(),
        lambda memory: memory.remember("seven"),
        lambda memory: memory.recall("one"),
    )
    for call in calls:
        with Memory.open(folder) as memory:
            with pytest.raises(IntegrityError) as caught:
                call(memory)
            assert caught.value.hint


@pytest.mark.parametrize(
    "state", [state for state in LOSSES if state.make != spoiling.mark_altered], ids=str
)
def test_nothing_is_folded_anew_from_a_loss(tmp_path: Path, state: State) -> None:
    """But for a mark: what was erased is gone either way, and folds to the same."""
    folder = spoilt(tmp_path, state)
    with Memory.open(folder) as memory, pytest.raises(IntegrityError) as caught:
        memory.admin.rebuild()
    assert caught.value.hint


@each_loss
def test_no_backup_is_made_of_a_loss(tmp_path: Path, state: State) -> None:
    """A copy that vouches for damage would be found out when it is needed."""
    folder = spoilt(tmp_path, state)
    before = files(folder / "backup")
    with Memory.open(folder) as memory, pytest.raises(IntegrityError) as caught:
        memory.admin.backup()
    assert caught.value.hint
    assert files(folder / "backup") == before


@pytest.mark.parametrize("state", [state for state in LOSSES if state.broken_at], ids=str)
def test_verify_names_the_event(tmp_path: Path, state: State) -> None:
    folder = spoilt(tmp_path, state)
    with Memory.open(folder) as memory:
        check = memory.admin.verify()
    assert (check.ok, check.broken_at) == (False, state.broken_at)


def test_a_doctor_says_what_is_wrong_and_changes_nothing(
    tmp_path: Path, run: Run, tell: Tell
) -> None:
    for state in LOSSES:
        folder = spoilt(tmp_path / state.name, state)
        before = files(folder)
        found = examined(folder)
        told = run("admin", "doctor", "--store", str(folder))
        as_json = run("admin", "doctor", "--json", "--store", str(folder))
        assert files(folder) == before, state
        assert [name for name, each in found.items() if each.level == "problem"] == [state.what]
        problem = found[state.what]
        for words in state.says:
            assert words in problem.detail, state
        assert (told.code, as_json.code, as_json.json["ok"]) == (1, 1, False), state
        _are_steps(problem.fix or "", told.out)
    tell(
        f"damage: {len(LOSSES)} accidents made for real, each explained with its event and steps, "
        "nothing changed by looking; all of them stop the next open"
    )


def _are_steps(advice: str, shown: str) -> None:
    """Numbered, in order, shown one by one, and safe from the first on."""
    steps = advice.split("\n")
    assert [step.partition(".")[0] for step in steps] == [str(n + 1) for n in range(len(steps))]
    assert len(steps) >= 3
    assert "copy the folder" in steps[0]
    for step in steps:
        assert step in shown


@each_loss
def test_a_backup_is_restored_by_following_the_doctor(
    tmp_path: Path, state: State, run: Run
) -> None:
    folder = spoilt(tmp_path, state)
    advice = examined(folder)[state.what].fix or ""
    (restore,) = [words for words in commands(advice) if "restore-backup" in words]
    assert run(*restore).code == 0
    source, target, gone = moves(advice)
    for path in gone:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    source.rename(target)
    assert run("admin", "doctor", "--store", str(folder)).code == 0
    kept = {"one"} if state.erases else {"one", "two"}
    assert texts(folder) == kept


@each_loss
def test_a_loss_is_accepted_by_following_the_doctor(tmp_path: Path, state: State, run: Run) -> None:
    folder = spoilt(tmp_path, state)
    advice = examined(folder)[state.what].fix or ""
    accepting = [words for words in commands(advice) if "--accept-loss" in words]
    if state.left is None:
        assert accepting == []
        before = files(folder)
        assert run("admin", "doctor", "--accept-loss", "--yes", "--store", str(folder)).code == 7
        assert files(folder) == before
        return
    (words,) = accepting
    ran = run(*words, "--yes", "--reason", "followed the advice", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["ok"]
    assert texts(folder) == set(state.left)
    data = (folder / "events.wal").read_bytes()
    assert data.count(b'"kind":"ledger.loss_accepted"') == 1
    assert b"followed the advice" in data
    if state.aside:
        assert state.aside in b"".join(path.read_bytes() for path in folder.glob("*.torn"))
    with Memory.open(folder) as memory:
        memory.remember("and on it goes")
    assert texts(folder) == {*state.left, "and on it goes"}
    assert run("admin", "doctor", "--accept-loss", "--yes", "--store", str(folder)).code == 5


@pytest.mark.parametrize(
    "state", [state for state in LOSSES if not (state.erases or state.seals)], ids=str
)
def test_the_file_that_was_there_before_makes_all_good_again(tmp_path: Path, state: State) -> None:
    folder = workspace(tmp_path / "memory")
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    state.make(folder)
    shutil.copy(kept / "events.wal", folder / "events.wal")
    assert {each.level for each in examined(folder).values()} == {"ok"}
    assert texts(folder) == EVERYTHING


# An index that went wrong costs nothing.


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoiling.index_deleted, "missing"),
        (spoiling.index_of_junk, "cannot be read"),
        (spoiling.index_of_the_future, "version 99"),
    ],
)
def test_an_index_that_went_wrong_is_noted_and_built_anew(
    tmp_path: Path, spoil: Callable[[Path], None], says: str, run: Run
) -> None:
    folder = workspace(tmp_path / "memory")
    spoil(folder)
    before = files(folder)
    found = examined(folder)
    assert run("admin", "doctor", "--store", str(folder)).code == 0
    assert files(folder) == before
    assert {name: each.level for name, each in found.items()} == {
        "ledger": "ok",
        "index": "note",
        "disk": "ok",
    }
    assert says in found["index"].detail
    assert texts(folder) == EVERYTHING
    assert examined(folder)["index"].detail == f"up to date at event {LAST}"


def test_a_lost_ledger_beside_an_index_of_the_future_is_a_loss_too(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "memory")
    spoiling.index_of_the_future(folder)
    spoiling.cut(folder)
    assert examined(folder)["index"].level == "problem"
    with Memory.open(folder) as memory, pytest.raises(IntegrityError, match="event 7"):
        memory.list()


# Files that cannot be read.


def test_a_folder_in_the_ledgers_place_is_explained(tmp_path: Path, run: Run) -> None:
    folder = workspace(tmp_path / "memory")
    spoiling.a_folder_in_its_place(folder)
    before = files(folder)
    found = examined(folder)
    assert run("admin", "doctor", "--store", str(folder)).code == 1
    assert found["files"].level == "problem"
    assert str(folder / "events.wal") in found["files"].detail
    assert files(folder) == before
    with Memory.open(folder) as memory:
        with pytest.raises(Unavailable):
            memory.remember("seven")
        assert len(memory.list()) == len(EVERYTHING)  # what is indexed can still be read
    assert run("admin", "doctor", "--accept-loss", "--yes", "--store", str(folder)).code == 5


@contextmanager
def somebody_else() -> Iterator[None]:
    """An account that may not do everything, if this one may."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", ["events.wal", "."])
def test_files_that_may_not_be_read_are_explained(name: str) -> None:
    with tempfile.TemporaryDirectory() as outer:
        os.chmod(outer, 0o755)
        folder = workspace(Path(outer) / "memory")
        for path in (folder, *folder.rglob("*")):
            if os.geteuid() == 0:
                os.chown(path, 65_534, 65_534)
        (folder / name).chmod(0)
        with somebody_else():
            found = examined(folder)
            with Memory.open(folder) as memory, pytest.raises(Unavailable) as caught:
                memory.remember("seven")
        assert caught.value.hint
        assert found["files"].level == "problem"
        assert "ermission" in found["files"].detail
        assert "ls -ld" in (found["files"].fix or "")
        (folder / name).chmod(0o700)  # as the advice says
        with somebody_else():
            assert {each.level for each in examined(folder).values()} == {"ok"}


@pytest.mark.parametrize("verb", [("list",), ("status",), ("log",), ("admin", "verify")])
def test_a_folder_of_another_account_is_named_with_the_next_step(
    verb: tuple[str, ...], run: Run
) -> None:
    with tempfile.TemporaryDirectory() as outer:
        os.chmod(outer, 0o755)
        folder = workspace(Path(outer) / "memory")
        folder.chmod(0o700 if os.geteuid() == 0 else 0)
        with somebody_else():
            answer = run(*verb, "--store", str(folder))
        folder.chmod(0o700)
    assert answer.code == 6, answer
    assert "Permission denied" in answer.err
    assert "next: use the account that owns it, or a copy that you may read" in answer.err


# Controls, and the other spaces.


def test_control_a_sound_memory_has_nothing_to_accept(tmp_path: Path, run: Run) -> None:
    folder = workspace(tmp_path / "memory")
    before = files(folder)
    assert {each.level for each in examined(folder).values()} == {"ok"}
    assert run("admin", "doctor", "--accept-loss", "--yes", "--store", str(folder)).code == 5
    assert files(folder) == before


def test_the_advice_leads_to_the_right_space(tmp_path: Path, run: Run) -> None:
    store = tmp_path / "memory"
    with Memory.open(store, space="Team A") as memory:
        memory.remember("ours")
        memory.admin.backup()
        memory.remember("ours too")
        folder = Path(memory.where)
    spoiling.cut(folder)
    with Memory.open(store, space="Team A") as memory:
        advice = next(each.fix or "" for each in memory.admin.doctor() if each.level == "problem")
    again, restore, accept = commands(advice)
    assert run(*again).code == 1
    assert run(*restore).code == 0
    with Memory.open(tmp_path / "memory-restored", space="Team A") as memory:
        assert [record.text for record in memory.list()] == ["ours"]
    assert run(*accept, "--yes").code == 0
    with Memory.open(store, space="Team A") as memory:
        assert [record.text for record in memory.list()] == ["ours"]
