"""A ledger checked in several processes: the same answer, whatever becomes of the others."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from recollect.ledger.line import Line
from recollect.ledger.scan import recover
from recollect.ledger.verify import Walked, in_turn, line_by_line, verify
from recollect.memory import Memory
from recollect.store.checkpoints import walk, walk_shared
from recollect.store.checkpoints.walk_shared import shared
from tests.ledger.forging import DAMAGE, erased, made, written

SEED = random.randrange(2**32)


@cache
def ledger() -> bytes:
    """Some appends, with erased bodies among them; sound."""
    rng = random.Random(5)
    while True:
        events = [event for event in made(rng) if event["kind"] != "ledger.sealed"]
        if len(events) == events[-1]["last"] > 20:
            erased(events, rng)
            data = b"".join(written(events))
            if verify([data]).ok:
                return data


def together(pieces: Iterable[bytes], wanted: Collection[int], hashes: bool = False) -> Walked:
    return shared(pieces, wanted, 2, 1_500, hashes=hashes)


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that were started."""
    found: list[int] = []
    real = subprocess.Popen.__init__

    def noting(self: subprocess.Popen[bytes], *args: Any, **named: Any) -> None:
        real(self, *args, **named)
        found.append(self.pid)

    monkeypatch.setattr(subprocess.Popen, "__init__", noting)
    return found


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_several_processes_give_the_answer_of_one() -> None:
    data = ledger()
    head = recover(data).head
    lines: list[Line] = []
    report = verify([data], seen=head, each=lines.append, only=2, walk=together)
    assert report == verify([data], walk=line_by_line)
    assert report.ok
    assert report.erased == 3
    assert [line.seq for line in lines] == [2]
    hashes: list[bytes] = []
    assert verify([data], hashes=hashes.append, walk=together).ok
    assert b"".join(hashes).hex() == "".join(
        line.hash for append in recover(data).appends for line in append.lines
    )
    assert [stretch for stretch, _ in together([data], ())] == [
        stretch for stretch, _ in shared([data], (), 0, 1_500)
    ]


def test_the_other_processes_can_do_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_shared, "_AT_ONCE", 1_000)
    monkeypatch.delattr("recollect.store.checkpoints.walk_shared.sound")
    assert verify([ledger()], walk=together).ok


def test_damage_is_told_in_the_same_words() -> None:
    rng = random.Random(SEED)
    for damage in rng.sample(DAMAGE, 5):
        data = damage(ledger(), rng)
        assert verify([data], walk=together) == verify([data], walk=line_by_line), (SEED, data)


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(3)",
        "import time; time.sleep(60)",
        "import os; os.write(1, b'what?')",
        "import os; os.write(1, bytes(8) * 9)",
        "import os; os.write(1, b'\\0' * 7 + b'\\2\\x91\\xc0'); os.read(0, 99)",
    ],
)
def test_a_process_that_fails_is_done_without(
    program: str, monkeypatch: pytest.MonkeyPatch, pids: list[int]
) -> None:
    monkeypatch.setattr(walk_shared, "_PROGRAM", program)
    monkeypatch.setattr(walk_shared, "_PATIENCE_MS", 300)
    assert verify([ledger()], walk=together) == verify([ledger()])
    assert [is_gone(pid) for pid in pids] == [True, True]


def test_a_process_that_cannot_be_started_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert verify([ledger()], walk=together) == verify([ledger()])


def test_a_walk_that_is_left_ends_its_processes(pids: list[int]) -> None:
    walked = together([ledger()], ())
    next(walked)
    assert [is_gone(pid) for pid in pids] == [False, False]
    walked.close()
    assert [is_gone(pid) for pid in pids] == [True, True]


def test_only_a_long_ledger_on_several_processors_is_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walk, "_processors", lambda: 2)
    assert walk.walk_for(1 << 20) is in_turn
    assert walk.walk_for(1 << 27) is not in_turn
    monkeypatch.setattr(sys, "executable", "/usr/sbin/uwsgi")
    assert walk.walk_for(1 << 27) is in_turn
    monkeypatch.undo()
    monkeypatch.setattr(walk, "_processors", lambda: 1)
    assert walk.walk_for(1 << 27) is in_turn


# A program that has no guard around its main part, and threads; it counts the processes it starts.
_CALLING = """
import sys, threading
print("begin")
started = []
sys.addaudithook(lambda name, args: started.append(args[0]) if name == "subprocess.Popen" else None)
from recollect.memory import Memory
from recollect.store.checkpoints import walk
walk._SHARED_MIN_BYTES = 0
walk._processors = lambda: 2
with Memory.open({folder!r}) as memory:
    reports = []
    thread = threading.Thread(target=lambda: reports.append(memory.admin.verify()))
    thread.start()
    reports.append(memory.admin.verify())
    thread.join()
    print([report.ok for report in reports], len(started))
"""


def test_any_program_may_call_it(tmp_path: Path) -> None:
    """Without a guard around its main part, from threads, and where someone else put modules."""
    folder = tmp_path / "memory"
    with Memory.open(folder) as memory:
        memory.remember("The staging database moved to port 5433.")
    planted = tmp_path / "planted"
    planted.mkdir()
    for name in ("msgspec", "select", "recollect"):
        (planted / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    calling = _CALLING.format(folder=str(folder))
    (tmp_path / "calling.py").write_text(calling)
    for arguments in (["-P", "-c", calling], [str(tmp_path / "calling.py")]):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=planted, capture_output=True, text=True, check=True
        )
        assert done.stdout.split("\n") == ["begin", "[True, True] 2", ""]
        assert not (tmp_path / "ran").exists()
    # The control: without care for the paths, what was put there runs.
    subprocess.run([sys.executable, "-c", "import msgspec"], cwd=planted, check=True)
    assert (tmp_path / "ran").exists()


def test_threads_share_nothing() -> None:
    reports = []
    threads = [
        threading.Thread(target=lambda: reports.append(verify([ledger()], walk=together)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reports == [verify([ledger()])] * 3
