"""A witness in a folder: what others may do to its files, and its processes side by side."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.errors import ConfigError, IntegrityError, NotFound, Unavailable
from recollect.proof.keys import PrivateKey, parse_key
from recollect.proof.notes import Note, parse, render
from recollect.proof.witness import Cosigned
from recollect.store import posix
from recollect.store.seam import REAL
from recollect.store.witnesses import folder as folders
from recollect.store.witnesses import own_keys
from recollect.store.witnesses.folder import FolderWitness, public_key
from recollect.testing.witness_suite import LOG_A, cosigned, kept
from tests.witnesses.folders import created


def notes(root: Path) -> list[Path]:
    return sorted(root.glob("witness/logs/*/checkpoints/*"), key=lambda path: int(path.stem))


def test_each_checkpoint_is_a_file_that_is_never_written_again(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    cosigned(witness, LOG_A, 0, 3)
    (first,) = notes(tmp_path)
    first.chmod(0o400)
    before = first.read_bytes(), first.stat().st_mtime_ns, first.stat().st_ino
    cosigned(witness, LOG_A, 3, 3)
    cosigned(witness, LOG_A, 3, 9)
    assert (first.read_bytes(), first.stat().st_mtime_ns, first.stat().st_ino) == before
    assert [path.name for path in notes(tmp_path)] == ["3.note", "9.note"]


def test_a_note_that_cannot_be_read_stops_the_witness(tmp_path: Path) -> None:
    witness, key = created(tmp_path)
    cosigned(witness, LOG_A, 0, 3)
    cosigned(witness, LOG_A, 3, 9)
    newest = notes(tmp_path)[-1]
    good = newest.read_bytes()
    note = parse(good)
    for bad in (
        b"",
        good[:-9],
        good.replace(b"\n9\n", b"\n7\n"),
        render(Note(note.text, note.signatures[:1])),  # not cosigned
        notes(tmp_path)[0].read_bytes(),  # an older one in its place
    ):
        newest.write_bytes(bad)
        with pytest.raises(IntegrityError, match="is damaged"):
            witness.add(LOG_A.request(3, 20))
    newest.write_bytes(good)
    cosigned(witness, LOG_A, 9, 20)
    assert key.public == witness.key


def test_what_is_not_a_file_is_refused_and_does_not_block(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    cosigned(witness, LOG_A, 0, 3)
    (first,) = notes(tmp_path)
    os.mkfifo(first.with_name("9.note"))
    with pytest.raises(Unavailable):
        witness.add(LOG_A.request(3, 9))
    with pytest.raises(Unavailable):
        witness.latest(LOG_A.key.name)


def test_a_folder_that_is_gone_or_read_only_is_named(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    (tmp_path / "witness").rename(tmp_path / "gone")
    assert not isinstance(witness.add(LOG_A.request(0, 3)), Cosigned)  # it knows no log
    (tmp_path / "witness").write_bytes(b"")
    with pytest.raises(Unavailable, match="could not be used"):
        witness.add(LOG_A.request(0, 3))
    assert public_key(tmp_path / "witness") is None


def test_a_lock_that_is_held_for_long_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness, _ = created(tmp_path)
    monkeypatch.setattr(folders, "_LOCK_MAX_S", 0.05)
    (log,) = [path for path in (tmp_path / "witness" / "logs").iterdir() if _is_of(path)]
    held = os.open(log, posix.FOLDER)
    try:
        posix.lock(held)
        with pytest.raises(Unavailable, match="could not be used"):
            witness.add(LOG_A.request(0, 3))
    finally:
        os.close(held)
    cosigned(witness, LOG_A, 0, 3)


def _is_of(path: Path) -> bool:
    return str(LOG_A.key.public) in (path / "log.keys").read_text()


def test_a_private_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    _, key = created(tmp_path)
    assert own_keys.find(tmp_path / "keys", key.public) == key
    (file,) = (tmp_path / "keys").iterdir()
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="can be read by others"):
        own_keys.find(tmp_path / "keys", key.public)
    file.chmod(0o600)
    file.write_bytes(b"[")
    with pytest.raises(ConfigError, match="could not be parsed"):
        own_keys.find(tmp_path / "keys", key.public)
    other = PrivateKey(key.name, key.kind, bytes(32)).public
    assert own_keys.find(tmp_path / "keys", other) is None
    assert "seed" not in repr(key)
    with pytest.raises(NotFound):
        FolderWitness(tmp_path / "witness", key.public, REAL).add(LOG_A.request(0, 1))


PROGRAM = """
import sys
from pathlib import Path
from recollect.proof.keys import parse_key
from recollect.proof.witness import Behind, Cosigned
from recollect.store.seam import REAL
from recollect.store.witnesses import own_keys
from recollect.store.witnesses.folder import FolderWitness, public_key
from recollect.testing.witnesses import FakeLog

root, number = Path(sys.argv[1]), sys.argv[2]
key = public_key(root / "witness")
witness = FolderWitness(root / "witness", key, REAL, own_keys.find(root / "keys", key))
log, size = FakeLog("recollect/a", fork=number, after=3), 0
for _ in range(30):
    answer = witness.add(log.request(min(size, 40), min(size + 2, 40)))
    if isinstance(answer, Cosigned):
        size = min(size + 2, 40)
        print(size, log.tree(size).root.hex())
    elif isinstance(answer, Behind):
        size = answer.size
"""


def test_processes_with_different_histories_never_get_both_cosigned(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    cosigned(witness, LOG_A, 0, 2)
    running = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, str(tmp_path), str(number)],
            stdout=subprocess.PIPE, text=True,
        )
        for number in range(3)
    ]  # fmt: skip
    told = [process.communicate(timeout=60)[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    roots: dict[str, set[str]] = {}
    for each in told:
        for size, root in zip(each[::2], each[1::2], strict=True):
            roots.setdefault(size, set()).add(root)
    assert roots
    assert all(len(each) == 1 for each in roots.values())
    assert kept(witness, LOG_A) == max(map(int, roots))
    line = (tmp_path / "witness" / "witness.pub").read_text()
    assert parse_key(line) == witness.key
