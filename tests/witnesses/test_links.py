"""Links, lost notes and strange files in the folder of a witness: none shows or changes another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from recollect.errors import ConfigError, IntegrityError, RecollectError, Unavailable
from recollect.proof.notes import Note, render
from recollect.proof.witness import render_request
from recollect.store.seam import REAL
from recollect.store.witnesses.folder import FolderWitness, public_key, put_public_key
from recollect.testing.witness_suite import LOG_A, cosigned
from recollect.testing.witnesses import FakeLog
from tests.witnesses.folders import created
from tests.witnesses.serving import served
from tests.witnesses.test_folder import notes
from tests.witnesses.test_http import Asked

HASH = sha256(LOG_A.key.name.encode()).hexdigest()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    witness, _ = created(tmp_path)
    with served(witness) as address:
        yield Asked(witness, address)


def secret(tmp_path: Path) -> Path:
    """The private key of the witness."""
    (found,) = (tmp_path / "keys").iterdir()
    return found


def shown(asked: Asked, digest: str) -> int:
    """The status of a checkpoint, whose body is never anything but a note."""
    status, _, body = asked("GET", f"/{digest}/checkpoint")
    assert b"seed" not in body
    assert (status == 200) == body.startswith(LOG_A.key.name.encode() + b"\n")
    return status


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_server_shows_no_file_that_a_link_names(
    asked: Asked, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    beside = tmp_path / "witness" / "logs" / ("f" * 64) / "checkpoints"
    beside.mkdir(parents=True)
    link(secret(tmp_path), beside / "9.note")
    assert shown(asked, "f" * 64) == 404  # not a pinned log
    asked("POST", "/add-checkpoint", render_request(LOG_A.request(0, 3)))
    assert shown(asked, HASH) == 200  # the control
    (first,) = tmp_path.rglob("3.note")
    link(secret(tmp_path), first.with_name("9.note"))
    assert shown(asked, HASH) == 503
    (first.with_name("9.note")).unlink()
    assert shown(asked, HASH) == 200


@pytest.mark.parametrize("level", ["logs", f"logs/{HASH}", f"logs/{HASH}/checkpoints"])
def test_a_folder_that_is_a_link_is_not_followed(asked: Asked, tmp_path: Path, level: str) -> None:
    asked("POST", "/add-checkpoint", render_request(LOG_A.request(0, 3)))
    place = tmp_path / "witness" / level
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")
    assert shown(asked, HASH) == 503
    for act in (
        lambda: asked.witness.add(LOG_A.request(3, 9)),
        lambda: asked.witness.latest(LOG_A.key.name),
    ):
        with pytest.raises(Unavailable, match="it is a link"):
            act()
    assert len(list((tmp_path / "moved").rglob("*.note"))) == 1
    if not level.endswith("checkpoints"):
        with pytest.raises(Unavailable, match="it is a link"):
            asked.witness.pin([LOG_A.key.public])


def test_a_note_that_others_signed_is_not_shown(asked: Asked, tmp_path: Path) -> None:
    asked("POST", "/add-checkpoint", render_request(LOG_A.request(0, 3)))
    (first,) = notes(tmp_path)
    only_of_the_log = render(Note(LOG_A.note(9).text, LOG_A.note(9).signatures))
    first.with_name("9.note").write_bytes(only_of_the_log)
    assert shown(asked, HASH) == 503
    first.with_name("9.note").write_bytes(first.read_bytes())
    assert shown(asked, HASH) == 503
    other = tmp_path / "witness" / "logs" / ("e" * 64)
    (tmp_path / "witness" / "logs" / HASH).rename(other)
    assert shown(asked, "e" * 64) == 404  # its keys are of a log with another hash


@pytest.mark.parametrize("name", ["witness.pub", "witness.pub.new"])
def test_a_key_is_not_written_through_a_link(tmp_path: Path, name: str) -> None:
    _, key = created(tmp_path)
    folder, outside = tmp_path / "another", tmp_path / "outside.txt"
    folder.mkdir()
    (folder / name).symlink_to(outside)
    if name == "witness.pub":
        with pytest.raises(Unavailable, match="it is a link"):
            public_key(folder)
        with pytest.raises(Unavailable, match="it is a link"):
            put_public_key(folder, key.public, REAL)
    else:
        put_public_key(folder, key.public, REAL)
    assert not outside.exists()


def test_pinned_keys_are_not_written_through_a_link(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    log, outside = FakeLog("recollect/new"), tmp_path / "outside.txt"
    folder = tmp_path / "witness" / "logs" / sha256(b"recollect/new").hexdigest()
    folder.mkdir()
    (folder / "log.keys").symlink_to(outside)
    with pytest.raises(Unavailable, match="it is a link"):
        witness.pin([log.key.public])
    assert not outside.exists()


def test_a_witness_that_lost_its_notes_cosigns_nothing_more(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    cosigned(witness, LOG_A, 0, 3)
    cosigned(witness, LOG_A, 3, 9)
    kept = {path: path.read_bytes() for path in notes(tmp_path)}
    fork = FakeLog(LOG_A.key.name, fork="other", after=1)
    for lost in (list(kept), list(kept)[1:]):
        for path in lost:
            path.unlink()
        for request in (fork.request(0, 12), fork.request(3, 12), LOG_A.request(0, 12)):
            with pytest.raises(IntegrityError, match="has cosigned 9 events, and that note is"):
                witness.add(request)
        with pytest.raises(IntegrityError, match="that note is gone"):
            witness.latest(LOG_A.key.name)
        for path in lost:
            path.write_bytes(kept[path])
    cosigned(witness, LOG_A, 9, 12)


def test_a_mark_that_a_killed_process_did_not_make_is_made_later(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    cosigned(witness, LOG_A, 0, 3)
    (mark,) = tmp_path.glob("witness/logs/*/seen/*")
    mark.unlink()
    cosigned(witness, LOG_A, 3, 3)
    assert mark.exists()


def told_by(witness: FolderWitness) -> str:
    with pytest.raises(RecollectError) as told:
        witness.add(LOG_A.request(3, 9))
    return str(told.value)


def test_the_file_that_is_wrong_is_named(tmp_path: Path) -> None:
    witness, _ = created(tmp_path)
    cosigned(witness, LOG_A, 0, 3)
    (first,) = notes(tmp_path)
    fifo = first.with_name("7.note")
    os.mkfifo(fifo)
    assert f"{fifo}: not a regular file" in told_by(witness)
    assert "the disk" not in told_by(witness)
    fifo.unlink()
    keys = first.parent.parent / "log.keys"
    keys.write_text("nonsense\n")
    assert f"{keys} of the witness could not be parsed: not a public key" in told_by(witness)
    pub = tmp_path / "witness" / "witness.pub"
    pub.write_text("nonsense\n")
    with pytest.raises(ConfigError, match=r"witness\.pub of the witness could not be parsed"):
        public_key(tmp_path / "witness")
