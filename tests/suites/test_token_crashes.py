"""A crash while the list of tokens is replaced: it is the old one or the new one, never torn."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.config import load
from recollect.errors import RecollectError
from recollect.memory import Store
from recollect.store.disk.disk import write_file
from recollect.store.disk.layout import TOKENS
from recollect.store.files import tokens as token_file
from recollect.store.files.backend import FileBackend
from recollect.store.seam import REAL, Seam
from tests.suites.conftest import Tell
from tests.suites.crash_choices import draw
from tests.suites.crash_disk import Disk, lay_out
from tests.suites.crash_log import Acked, Imaged, Journal, Kept, Recorder
from tests.suites.crash_runs import scratch

GOOD = {"as before", "as after"}
Lists = list[list[dict[str, object]]]


def store_at(root: Path, seam: Seam = REAL) -> Store:
    """The store of a disk."""
    settings = load(root / "ws", embedder="none")
    return Store(FileBackend(root / "ws", seam=seam), settings, seam)


def listed(store: Store) -> list[dict[str, object]]:
    """What the list says, but for what time makes of it."""
    said = [token.to_dict() for token in store.tokens.list()]
    return [{name: value for name, value in one.items() if name != "live"} for one in said]


def story(root: Path, seam: type[Recorder]) -> tuple[Journal, Lists]:
    """Tokens are created, rotated and revoked on a disk that is watched."""
    with store_at(root) as store:
        store.tokens.create("first", space=None)
        lists = [listed(store)]
    journal = Journal(root)
    with store_at(root, seam(journal, 7)) as store:
        for change in (
            lambda: store.tokens.create("second", space=None, user="ann"),
            lambda: store.tokens.rotate("first", overlap=timedelta(days=1)),
            lambda: store.tokens.revoke("second"),
            lambda: store.tokens.rotate(1, overlap=timedelta(0)),
        ):
            change()
            lists.append(listed(store))
            journal.ops.append(Acked("ws", len(lists)))
    return journal, lists


def judged(root: Path, lists: Lists, told: int) -> str:
    """``as before`` or ``as after`` the change that was going on, or a fault."""
    try:
        with store_at(root) as store:
            found = listed(store)
            if found == lists[told - 1]:
                done = "as before"
            elif found in lists[told:]:
                done = "as after"
            else:
                return "another list"
            made = store.tokens.create("one more", space=None)
            store.tokens.revoke(made.id)
            return done
    except RecollectError as error:
        return f"refused: {type(error).__name__} {error}"


def crash_states(seam: type[Recorder], per_step: int) -> Counter[str]:
    """Every step of the story, and some of the states that a crash after it may leave."""
    found: Counter[str] = Counter()
    with scratch() as root:
        (root / "disk").mkdir()
        journal, lists = story(root / "disk", seam)
        disk, told = Disk(), 1
        for step, op in enumerate(journal.ops):
            disk.do(op)
            if isinstance(op, Acked):
                told = op.seq
            if step < journal.start or isinstance(op, Imaged | Kept):
                continue
            for _, tree in draw(disk, random.Random(f"token {step}"), per_step):
                lay_out(tree, root / "state")
                restrict(root / "state")
                found[judged(root / "state", lists, told)] += 1
                shutil.rmtree(root / "state")
    return found


def restrict(root: Path) -> None:
    """The rights that the real files have; the model of the disk has none."""
    for path in root.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def states(per_step: int, tell: Tell) -> None:
    found = crash_states(Recorder, per_step)
    tell(f"tokens: {sum(found.values())} crash states, {dict(found)}")
    assert set(found) == GOOD
    assert min(found.values()) >= 4


def test_after_any_crash_the_list_is_the_old_one_or_the_new_one(tell: Tell) -> None:
    states(8, tell)


@pytest.mark.nightly
def test_many_crash_states_of_the_list(tell: Tell) -> None:
    states(40, tell)


class Forgetful(Recorder):
    """A control: a sync that does nothing."""

    def fsync(self, fd: int) -> None:
        """Says it is done."""


def test_control_without_syncs_a_list_is_lost_or_torn() -> None:
    assert set(crash_states(Forgetful, 4)) - GOOD


def in_place(seam: Seam, path: Path, pieces: Iterable[bytes]) -> int:
    """The bytes of a file, written over the old ones."""
    return write_file(seam, path, pieces)


def test_control_a_list_that_is_written_in_place_is_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_file, "replace_file", in_place)
    assert set(crash_states(Recorder, 4)) - GOOD


ROTATING = """
import sys
from datetime import timedelta
from recollect.memory import Store
with Store.open(sys.argv[1], embedder="none") as store:
    while True:
        made = store.tokens.rotate("service", overlap=timedelta(0))
        sys.stdout.write(f"{made.id}\\n")
        sys.stdout.flush()
"""


def kill_while_rotating(place: Path, chance: random.Random) -> int:
    """The last token that a process told of before it was killed."""
    command = [sys.executable, "-c", ROTATING, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(chance.randint(1, 20))]
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.readlines()
    return int([line for line in told if line.endswith("\n")][-1])


def test_a_process_that_is_killed_while_it_rotates_loses_nothing_it_told(
    tmp_path: Path, tell: Tell
) -> None:
    place, chance, kills = tmp_path / "ws", random.Random(21), 8
    with Store.open(place, embedder="none") as store:
        store.tokens.create("service", space=None)
    after = told = 0
    for _ in range(kills):
        told = kill_while_rotating(place, chance)
        with Store.open(place, embedder="none") as store:
            (live,) = (token for token in store.tokens.list() if token.live)
            assert live.id in (told, told + 1)
            after += live.id == told + 1
        assert (place / TOKENS).stat().st_mode & 0o777 == 0o600
    tell(f"tokens: {kills} kills at token {told}, {after} of them after the new list was there")
