"""Checkpoints of a memory: signed, kept elsewhere, carried along, and compared with the ledger."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.config import keys_folder
from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    IntegrityError,
    InvalidInput,
    NotFound,
)
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import encode, parse
from recollect.ledger.scan import Damage
from recollect.memory import Store
from recollect.memory.keys import Keys
from recollect.proof.keys import LOG, PrivateKey
from recollect.proof.notes import BadNote
from recollect.store.checkpoints import checkpoints


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "w"


def filled(place: Path, count: int = 9, *, key: bool = True) -> Memory:
    memory = Memory.open(place, embedder="none")
    for number in range(count):
        memory.remember(f"Fact number {number}.")
    if key:
        Keys(memory).create()
    return memory


def chained_again(ledger: Path, *, without: int, keep: int = 1) -> None:
    """Rewrites a ledger without one event, so that it is consistent in itself."""
    raws = list(lines_of([ledger.read_bytes()]))
    lines = [parse(raw[:-1]) for raw in raws]
    found, prev = b"".join(raws[:keep]), lines[keep - 1].hash if keep else "0" * 64
    rest = (line for line in lines[keep:] if line.seq != without)
    for seq, line in enumerate(rest, start=keep + 1):
        raw, prev = encode(
            v=line.v, seq=seq, first=seq, last=seq, id=line.id, kind=line.kind, at=line.at,
            origin=line.origin, prev=prev, salt=bytes(16), data=line.data or b"",
        )  # fmt: skip
        found += raw
    ledger.write_bytes(found)


def reopened(place: Path) -> Memory:
    """A memory whose index was removed too: nothing is left that has seen its events."""
    for path in place.glob("index.db*"):
        path.unlink()
    return Memory.open(place, embedder="none")


def test_a_checkpoint_is_signed_and_kept_in_two_places(place: Path, home: Path) -> None:
    with filled(place) as memory:
        made = memory.proof.checkpoint()
        assert (made.size, made.space) == (10, "main")
        assert (place / "checkpoints" / "10.note").read_text() == made.note
        stem = made.ledger.removeprefix("recollect/")
        assert (home / ".recollect" / "keys" / f"{stem}.note").read_text() == made.note
        report = memory.admin.verify()
        assert (report.status, report.anchored_through) == ("anchored", 10)
        memory.remember("One more.")
        assert (memory.admin.verify().anchored_through, memory.admin.verify().events) == (10, 11)
        assert memory.proof.checkpoint().size == 11
        assert memory.proof.checkpoint().size == 11  # nothing was written since


def test_without_a_key_nothing_is_signed_and_verify_says_self_consistent(place: Path) -> None:
    with filled(place, key=False) as memory:
        with pytest.raises(NotFound, match="no key on this machine signs"):
            memory.proof.checkpoint()
        assert memory.admin.verify().status == "self-consistent"
        sealed = memory.admin.seal()
        assert (sealed.checkpoint, (place / "checkpoints").exists()) == (None, False)
        assert not keys_folder().exists()
    with filled(place.with_name("other")) as other, Memory.open(place) as memory:
        assert other.admin.seal().checkpoint == 11  # the event of the seal is in it
        memory.remember("Another.")
        assert memory.admin.seal().checkpoint is None  # that key is for another ledger
        assert memory.admin.verify().status == "self-consistent"


def test_private_keys_are_readable_by_their_owner_alone(place: Path, home: Path) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        backup = memory.admin.backup()
        folder = keys_folder()
        (file,) = folder.glob("*.json")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        seed = msgspec.json.decode(file.read_bytes())["private"][0]["seed"].encode()
        for path in [*place.rglob("*"), *Path(backup.path).rglob("*")]:
            assert path.is_dir() or seed not in path.read_bytes(), path
        assert seed.decode() not in repr(Keys(memory).all())
        file.chmod(0o644)
        with pytest.raises(ConfigError, match="can be read by others"):
            memory.proof.checkpoint()
        file.chmod(0o600)
        file.write_bytes(b"[")
        with pytest.raises(ConfigError, match="could not be parsed"):
            memory.proof.checkpoint()


@pytest.mark.parametrize("without", [2, 5, 10])
def test_a_ledger_that_was_chained_again_is_found(place: Path, without: int) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        note = memory.proof.checkpoint().note
    chained_again(place / "events.wal", without=without)
    with reopened(place) as memory:
        memory.remember("So that there are as many events as before.")
        report = memory.admin.verify(anchor=note)
        assert (report.status, report.broken_at) == ("broken", 1)
        assert memory.admin.verify().status == "broken"
        for _ in range(2):
            with pytest.raises(Damage, match="not those that a checkpoint signed"):
                memory.proof.checkpoint()
            memory.remember("More.")
    for path in keys_folder().iterdir():  # control: nobody who knows a key
        path.unlink()
    with Memory.open(place) as memory:
        assert memory.admin.verify().status == "self-consistent"
        with pytest.raises(BadNote, match="no key that is known here"):
            memory.admin.verify(anchor=note)


def test_a_ledger_whose_first_event_was_rewritten_too_is_another_one(place: Path) -> None:
    with filled(place) as memory:
        note = memory.proof.checkpoint().note
    chained_again(place / "events.wal", without=0, keep=0)
    with reopened(place) as memory:
        check = memory.admin.verify()
        assert (check.status, check.ok) == ("not anchored", False)
        assert "one that was signed in this folder on this machine is gone" in str(check.problem)
        (found,) = [one for one in memory.admin.doctor() if one.level == "problem"]
        assert (found.what, ".head and the .note" in str(found.fix)) == ("ledger", True)
        with pytest.raises(BadNote, match="it is a checkpoint of"):
            memory.admin.verify(anchor=note)
        (kept,) = keys_folder().glob("*.head")
        kept.unlink()  # the control: without what is kept elsewhere, each is consistent in itself
        assert memory.admin.verify().status == "self-consistent"


def test_a_ledger_that_was_cut_is_found_even_with_its_checkpoints(place: Path) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
    lines = (place / "events.wal").read_bytes().splitlines(keepends=True)
    (place / "events.wal").write_bytes(b"".join(lines[:6]))
    for path in (place / "checkpoints").iterdir():
        path.unlink()
    with reopened(place) as memory:
        report = memory.admin.verify()
        assert (report.status, report.broken_at) == ("broken", 7)
        assert "a signed checkpoint has 10 events" in (report.problem or "")
        with pytest.raises(Damage, match="a signed checkpoint has 10 events"):
            memory.proof.checkpoint()
    for last in (*keys_folder().glob("*.note"), *keys_folder().glob("*.head")):
        last.unlink()  # control: without what is kept elsewhere, the cut is not seen
    with Memory.open(place) as memory:
        assert memory.admin.verify().status == "self-consistent"


def test_checkpoints_beside_the_ledger_alone_are_no_anchor_the_first_time(place: Path) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        line = Keys(memory).all()[0].key
    for path in keys_folder().iterdir():
        path.unlink()
    with Memory.open(place) as memory:
        Keys(memory).pin(line)
        assert memory.admin.verify().status == "self-consistent"
        assert memory.admin.verify().status == "anchored"  # the first one was kept in mind
        with pytest.raises(NotFound):
            memory.proof.checkpoint()  # a pinned key signs nothing


def test_an_anchor_may_be_a_note_or_its_file(place: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.note"
    with filled(place) as memory:
        note = memory.proof.checkpoint().note
        kept.write_text(note)
        memory.remember("More.")
        memory.proof.checkpoint()
        assert memory.admin.verify(anchor=note).status == "anchored"
        assert memory.admin.verify(anchor=str(kept)).status == "anchored"
        report = memory.admin.verify(anchor=f"3:{'0' * 64}")
        assert report.status == "not anchored"
        with pytest.raises(InvalidInput, match="is not an anchor"):
            memory.admin.verify(anchor=str(tmp_path / "nowhere"))
        with pytest.raises(BadNote, match="does not match the text"):
            memory.admin.verify(anchor=note.replace("\n10\n", "\n11\n"))
        with filled(place.with_name("other")) as other, pytest.raises(BadNote, match="and this is"):
            other.admin.verify(anchor=note)


def test_a_forged_note_beside_the_ledger_is_ignored(place: Path) -> None:
    with filled(place) as memory:
        made = memory.proof.checkpoint()
        (place / "checkpoints" / "4.note").write_text(made.note.replace("\n10\n", "\n4\n"))
        (place / "checkpoints" / "5.note").write_bytes(b"\xff")
        (place / "checkpoints" / "more.note").write_bytes(b"")
        assert memory.admin.verify().status == "anchored"


@pytest.mark.parametrize("data", [b"[", b"{}", b'{"size":10,"hash":"","offset":0,"peaks":[]}'])
def test_a_frontier_that_does_not_fit_is_not_used(place: Path, data: bytes) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        memory.remember("More.")
        (place / "checkpoints" / "frontier.json").write_bytes(data)
        made = memory.proof.checkpoint()
        (place / "checkpoints" / "frontier.json").unlink()
        assert memory.proof.checkpoint() == made
        assert memory.admin.verify().anchored_through == 11


def test_a_checkpoint_reads_what_was_written_since_the_last(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        monkeypatch.delattr(checkpoints, "_from_start")
        for act in (memory.admin.seal, lambda: None, lambda: memory.erase(memory.list()[-1].id)):
            memory.remember("More.")
            act()  # the offset of the next event is then another one, or in another file
            assert memory.proof.checkpoint().size == memory.status().seq
            assert memory.admin.verify().status == "anchored"


def test_an_erasure_changes_no_checkpoint(place: Path) -> None:
    with filled(place) as memory:
        note = memory.proof.checkpoint().note
        memory.erase(memory.list()[0].id)
        report = memory.admin.verify(deep=True)
        assert (report.status, report.erased) == ("anchored", 1)
        assert memory.admin.verify(anchor=note).status == "anchored"


def test_a_rotated_key_is_trusted_with_what_both_signed(place: Path, tmp_path: Path) -> None:
    with filled(place) as memory:
        keys = Keys(memory)
        first = keys.all()[0].key
        memory.proof.checkpoint()
        with pytest.raises(Conflict, match="there is a key"):
            keys.create()
        second = keys.rotate().key
        assert [each.signs for each in keys.all()] == [False, True]
        both = (place / "checkpoints" / "10.note").read_text()
        assert both.count("\u2014") == 2
        memory.remember("More.")
        assert memory.proof.checkpoint().note.count("\u2014") == 1
        assert memory.admin.verify().status == "anchored"
        with Store.open(tmp_path / "there") as store:
            done = memory.admin.copy_to(store.space("main"))
            assert done.checkpoints == 2
    for path in keys_folder().iterdir():  # from here on: another person, who knows the first key
        path.unlink()
    with Memory.open(tmp_path / "there") as other:
        keys = Keys(other)
        keys.pin(first)
        other.admin.verify()
        assert other.admin.verify().anchored_through == 10
        stranger = PrivateKey(first.partition("+")[0], LOG, bytes(32)).public
        with pytest.raises(Conflict, match="signed by both"):
            keys.pin(str(stranger))
        keys.pin(second)
        other.admin.verify()
        assert other.admin.verify().anchored_through == 11
        keys.pin(str(stranger), replace=True)
        assert len(keys.all()) == 3
        with pytest.raises(NotFound):
            keys.rotate()
        with pytest.raises(InvalidInput, match="it is a key for"):
            keys.pin(str(PrivateKey("recollect/other", LOG, bytes(32)).public))


def test_an_interrupted_rotation_is_finished_by_the_next(place: Path) -> None:
    with filled(place) as memory:
        ring = checkpoints.ring_of(memory._handle.space, keys_folder(), memory._handle.seam)
        ring.add()
        assert memory.proof.checkpoint().note.count("\u2014") == 2
        Keys(memory).rotate()
        assert len(ring.private()) == 1
        assert len(Keys(memory).all()) == 2


def test_backups_restores_and_copies_have_the_checkpoints(place: Path, tmp_path: Path) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        backup = memory.admin.backup(tmp_path / "copy")
        inside = memory.admin.backup()
        assert os.listdir(Path(backup.path) / "checkpoints") == ["10.note"]
        with Memory.open(":memory:") as other:
            assert memory.admin.copy_to(other).checkpoints == 1
            assert memory.admin.copy_to(other).checkpoints == 0
            assert other.admin.verify().status == "anchored"
            Keys(memory).rotate()
            other.remember("More.")
            assert other.proof.checkpoint().size == 11
            there = other.admin.backup(tmp_path / "third")
            assert sorted(os.listdir(Path(there.path) / "checkpoints")) == ["10.note", "11.note"]
    with Store.restore_backup(tmp_path / "copy", tmp_path / "new") as restored:
        report = restored.admin.verify()  # the copy that went on is known: this one was cut
        assert (report.status, report.broken_at) == ("broken", 11)
        assert (tmp_path / "new" / "checkpoints" / "10.note").exists()
    with Store.open(place) as store:
        store.drop("main")
    assert not (place / "checkpoints").exists()
    assert not Path(inside.path).exists()


def test_a_handle_of_one_user_or_of_less_trust_signs_nothing(place: Path) -> None:
    with filled(place) as memory:
        with pytest.raises(Forbidden):
            memory.scoped(user="ann").proof.checkpoint()
        with pytest.raises(Forbidden):
            Keys(memory.scoped(trust="agent"))
        for origin in ("agent", "unverified"):
            with pytest.raises(Forbidden, match="needs a person"):
                memory.scoped(trust=origin).proof.checkpoint()
        assert memory.proof.checkpoint().size == 10


@pytest.mark.parametrize("event", [1, 4])
def test_damage_is_told_as_without_keys(place: Path, event: int) -> None:
    with filled(place) as memory:
        note = memory.proof.checkpoint().note
    lines = (place / "events.wal").read_bytes().splitlines(keepends=True)
    lines[event - 1] = lines[event - 1].replace(b'"prev":"', b'"prev":"x')
    (place / "events.wal").write_bytes(b"".join(lines))
    with Memory.open(place) as memory:
        for anchor in (None, note):
            report = memory.admin.verify(anchor=anchor)
            assert (report.status, report.broken_at) == ("broken", event)


def test_a_note_that_is_not_there_is_not_found(place: Path) -> None:
    with filled(place) as memory, Memory.open(":memory:") as other:
        for space in (memory._handle.space, other._handle.space):
            with pytest.raises(NotFound, match="no checkpoint was signed at 3 events"):
                space.checkpoints().note(3)
        assert other._handle.space.checkpoints().sizes() == []


def test_a_folder_that_cannot_be_written_is_named(place: Path) -> None:
    with filled(place) as memory:
        (place / "checkpoints").write_bytes(b"")
        with pytest.raises(Exception, match="the workspace could not be used"):
            memory.proof.checkpoint()
        assert issubclass(Damage, IntegrityError)
