"""A ledger that was rewritten after it was signed on this machine is refused by every reader."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import IntegrityError
from recollect.ledger.chain import SALT_BYTES, Draft, chain
from recollect.ledger.line import parse
from recollect.memory.proof.checkpoints import ring_of
from recollect.model.events import GENESIS
from recollect.store.seam import REAL

CALLS: dict[str, Callable[[Memory], object]] = {
    "list": lambda memory: memory.list(),
    "recall": lambda memory: memory.recall("account"),
    "context": lambda memory: memory.context("account"),
    "events": lambda memory: memory.events.list(),
    "review": lambda memory: memory.review.list(),
}


def rechained(raw: bytes, old: bytes, new: bytes, *, keep: int | None = None) -> bytes:
    """The same events with other words, under new hashes from there on; the first is kept."""
    lines = raw.splitlines(keepends=True)[:keep]
    done, head = lines[0], parse(lines[0].rstrip()).head
    for line in map(parse, (each.rstrip() for each in lines[1:])):
        assert line.data is not None
        draft = Draft(line.id, line.kind, line.origin, line.data.replace(old, new))
        data, head = chain(head, line.at, [draft], REAL.random(SALT_BYTES))
        done += data
    return done


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory that was signed, and rewritten by somebody else since."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "store"
    with Memory.open(folder, embedder="none") as memory:
        memory.remember("Pay to account 111.")
        memory.remember("Tea is at four.")
        ring_of(memory._handle).add()
        memory.proof.checkpoint()
    return folder


def rewrite(folder: Path, new: bytes = b"account 666", keep: int | None = None) -> None:
    path = next(folder.rglob("events.wal"))
    put(path, rechained(path.read_bytes(), b"account 111", new, keep=keep))


def put(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    for index in path.parent.rglob("index.db*"):
        index.unlink()


def another(folder: Path) -> bytes:
    """The events of another memory: the first one is another too, so no key here signed any."""
    with Memory.open(folder, embedder="none") as memory:
        memory.remember("Pay to account 666.")
        memory.remember("Tea is at four.")
    return next(folder.rglob("events.wal")).read_bytes()


@pytest.mark.parametrize("call", CALLS)
def test_every_call_refuses_it(place: Path, call: str) -> None:
    rewrite(place)
    with Memory.open(place, embedder="none") as memory:
        for _ in range(2):
            with pytest.raises(IntegrityError, match="not the ledger that was seen here"):
                CALLS[call](memory)
        assert not memory.admin.verify().ok


def test_one_whose_index_was_built_by_who_rewrote_it(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second form: nothing is built anew here, so that nothing there is compared."""
    rewrite(place)
    with monkeypatch.context() as other:
        other.setenv("HOME", str(tmp_path / "theirs"))
        with Memory.open(place, embedder="none") as memory:
            assert "666" in memory.list()[-1].text
    with (
        Memory.open(place, embedder="none") as memory,
        pytest.raises(IntegrityError, match="seen here"),
    ):
        memory.list()


def test_one_that_ends_before_what_was_signed(place: Path) -> None:
    rewrite(place, b"account 111", keep=2)
    with (
        Memory.open(place, embedder="none") as memory,
        pytest.raises(IntegrityError, match="seen here"),
    ):
        memory.recall("account")


@pytest.mark.parametrize("call", CALLS)
def test_one_whose_first_event_is_another_too(place: Path, tmp_path: Path, call: str) -> None:
    put(next(place.rglob("events.wal")), another(tmp_path / "other"))
    with (
        Memory.open(place, embedder="none") as memory,
        pytest.raises(IntegrityError, match="that was signed in this folder"),
    ):
        CALLS[call](memory)


@pytest.mark.parametrize("how", ["emptied", "removed"])
def test_one_that_is_gone(place: Path, how: str) -> None:
    path = next(place.rglob("events.wal"))
    put(path, b"")
    if how == "removed":
        path.unlink()
    for _ in range(2):  # also after somebody wrote there
        with (
            Memory.open(place, embedder="none") as memory,
            pytest.raises(IntegrityError, match="is gone"),
        ):
            memory.list()
        with Memory.open(place, embedder="none") as memory:
            memory.remember("A new beginning.")


def test_a_folder_that_was_put_in_its_place(place: Path, tmp_path: Path) -> None:
    """The second form: with its own notes and its own index; the key of a stranger helps nobody."""
    another(tmp_path / "other")
    shutil.rmtree(place)
    (tmp_path / "other").rename(place)
    with (
        Memory.open(place, embedder="none") as memory,
        pytest.raises(IntegrityError, match="that was signed in this folder"),
    ):
        memory.list()


def test_control_another_memory_elsewhere_is_read(place: Path, tmp_path: Path) -> None:
    another(tmp_path / "other")
    with Memory.open(tmp_path / "other", embedder="none") as memory:
        assert len(memory.list()) == 2


def test_a_memory_that_a_person_puts_in_its_place_is_read(place: Path, tmp_path: Path) -> None:
    """By dropping the first, by restoring a backup of another, or by signing the new one."""
    with Store.open(place, embedder="none") as store:
        store.drop("main")
        store.space("main").remember("A new beginning.")
        assert len(store.space("main").list()) == 1
        ring_of(store.space("main")._handle).add()
        store.space("main").proof.checkpoint()
    with Memory.open(tmp_path / "other", embedder="none") as memory:
        memory.remember("From elsewhere.")
        backup = memory.admin.backup(tmp_path / "backup")
    shutil.rmtree(place)
    with Store.restore_backup(backup.path, place) as memory:
        assert [each.text for each in memory.list()] == ["From elsewhere."]
        ring_of(memory._handle).add()
        memory.proof.checkpoint()
    put(next(place.rglob("events.wal")), another(tmp_path / "third"))
    with Memory.open(place, embedder="none") as memory:
        with pytest.raises(IntegrityError):
            memory.list()
        ring_of(memory._handle).add()
        memory.proof.checkpoint()
        assert len(memory.list()) == 2


@pytest.mark.parametrize("call", CALLS)
def test_control_what_was_not_rewritten_is_read(place: Path, call: str) -> None:
    with Memory.open(place, embedder="none") as memory:
        memory.remember("After the checkpoint.")
        CALLS[call](memory)


def test_an_older_backup_that_is_restored_is_read(tmp_path: Path, place: Path) -> None:
    """A person has asked for it; what it is not is still said."""
    with Memory.open(place, embedder="none") as memory:
        backup = memory.admin.backup(tmp_path / "backup")
        memory.remember("After the backup.")
        memory.proof.checkpoint()
    shutil.rmtree(place)
    with Store.restore_backup(backup.path, place) as memory:
        assert [each.text for each in memory.list()][-1] != "After the backup."
        assert "signed" in str(memory.admin.verify().problem)
    with Memory.open(place, embedder="none") as memory:
        assert memory.list()


def test_control_without_what_was_seen_it_is_served(place: Path, tmp_path: Path) -> None:
    rewrite(place)
    for head in (tmp_path / "home").rglob("*.head"):
        head.unlink()
    with Memory.open(place, embedder="none") as memory:
        assert any("666" in each.text for each in memory.list())


def test_control_the_forger_makes_a_sound_ledger(place: Path, tmp_path: Path) -> None:
    rewrite(place)
    shutil.rmtree(tmp_path / "home")
    with Memory.open(place, embedder="none") as memory:
        assert memory.admin.verify().ok
    assert GENESIS.seq == 0
