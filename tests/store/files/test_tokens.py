"""The file of tokens: who may read it, what it refuses, and that no copy of a memory has it."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.errors import ConfigError, LimitExceeded, RecollectError, Unavailable
from recollect.memory import Memory, Store
from recollect.store.disk.layout import TOKENS
from recollect.store.files.tokens import FileTokens
from recollect.store.seam import REAL
from recollect.store.tokens import token_list
from recollect.store.tokens.tokens import hash_of


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with one token."""
    with Store.open(tmp_path / "ws", embedder="none") as store:
        store.tokens.create("laptop", space="alice")
    return tmp_path / "ws"


def test_the_file_is_its_owners_alone_and_holds_no_token(tmp_path: Path) -> None:
    with Store.open(tmp_path / "ws", embedder="none") as store:
        made = store.tokens.create("laptop", space="alice")
        again = store.tokens.rotate("laptop")
    path = tmp_path / "ws" / TOKENS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    for token in (made.token, again.token):
        assert token[4:] not in text
        assert hash_of(token).hex() in text
    assert [each.name for each in (tmp_path / "ws").iterdir() if TOKENS in each.name] == [TOKENS]


def test_a_wide_umask_and_a_file_that_was_left_give_nobody_access(place: Path) -> None:
    left = place / f"{TOKENS}.new"
    left.write_text("{}")
    left.chmod(0o666)
    before = os.umask(0)
    try:
        with Store.open(place, embedder="none") as store:
            store.tokens.create("second", space="alice")
            assert len(store.tokens.list()) == 2
    finally:
        os.umask(before)
    assert stat.S_IMODE((place / TOKENS).stat().st_mode) == 0o600


def test_what_another_process_changed_is_seen_at_once(place: Path) -> None:
    with Store.open(place, embedder="none") as one, Store.open(place, embedder="none") as other:
        for number in range(50):
            made = one.tokens.create("x", space=None)
            assert other.tokens.get(made.id).live, number
            one.tokens.revoke(made.id)
            assert not other.tokens.get(made.id).live, number


def test_threads_and_stores_that_create_at_the_same_time_lose_nothing(place: Path) -> None:
    def create() -> None:
        with Store.open(place, embedder="none") as store:
            for _ in range(5):
                store.tokens.create("x", space=None)

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store.open(place, embedder="none") as store:
        ids = [token.id for token in store.tokens.list()]
    assert ids == list(range(1, 32))


def changed(path: Path, **fields: object) -> None:
    """The file with other fields of its one token."""
    content = json.loads(path.read_text())
    content["tokens"][0].update(fields)
    path.write_text(json.dumps(content))


def replaced(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere.json"))
    path.symlink_to(path.with_name("elsewhere.json"))


def made_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def made_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def grown(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a terabyte of nothing


def doubled(path: Path) -> None:
    content = json.loads(path.read_text())
    content["tokens"] = [{**content["tokens"][0], "id": id} for id in (1, 2)]
    content["next"] = 3
    path.write_text(json.dumps(content))


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a link": linked,
    "a fifo": made_fifo,
    "a folder": made_folder,
    "huge": grown,
    "readable by all": lambda path: path.chmod(0o644),
    "writable by the group": lambda path: path.chmod(0o620),
    "empty": lambda path: replaced(path, b""),
    "not JSON": lambda path: replaced(path, b"tokens"),
    "not UTF-8": lambda path: replaced(path, b'{"version": "\xff"}'),
    "deep": lambda path: replaced(path, b"[" * 1_000_000),
    "a list": lambda path: replaced(path, b"[]"),
    "another version": lambda path: replaced(path, b'{"version": 2, "next": 1, "tokens": []}'),
    "an unknown field": lambda path: replaced(path, b'{"version": 1, "admin": true}'),
    "a token with an unknown field": lambda path: changed(path, everything=True),
    "an id as text": lambda path: changed(path, id="1"),
    "an id of the future": lambda path: changed(path, id=17),
    "a hash as a number": lambda path: changed(path, hash=17),
    "a hash that is too short": lambda path: changed(path, hash="aa"),
    "a verb that is not one": lambda path: changed(path, verbs=["read", "fly"]),
    "verbs as text": lambda path: changed(path, verbs="read"),
    "an origin that is not one": lambda path: changed(path, origin="god"),
    "a time that is not one": lambda path: changed(path, expires="never"),
    "a time as a number": lambda path: changed(path, revoked=0),
    "one hash twice": doubled,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_somebody_else_may_have_written_is_refused(place: Path, what: str) -> None:
    HOSTILE[what](place / TOKENS)
    with Store.open(place, embedder="none") as store:
        for call in (
            store.tokens.list,
            lambda: store.tokens.create("x", space="alice"),
            lambda: store.tokens.revoke("laptop"),
            lambda: store.drop("alice"),
        ):
            with pytest.raises(RecollectError) as refusal:
                call()
            assert refusal.value.hint, what
            assert TOKENS in str(refusal.value), what
        assert store.spaces() == ["alice"]  # nothing was dropped by halves
        assert store.space("alice").list() == []


def test_a_file_of_another_account_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(place / TOKENS, 12_345, -1) if os.geteuid() == 0 else monkeypatch.setattr(
        os, "geteuid", lambda: 12_345
    )
    with (
        Store.open(place, embedder="none") as store,
        pytest.raises(ConfigError, match="another account"),
    ):
        store.tokens.list()


def test_control_the_same_file_as_it_was_written_is_taken(place: Path) -> None:
    changed(place / TOKENS, label="by hand")
    with Store.open(place, embedder="none") as store:
        assert store.tokens.get("by hand").live


def test_when_there_is_no_room_the_oldest_that_ended_goes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_list, "TOKENS_MAX_COUNT", 3)
    with Store.open(place, embedder="none") as store:
        store.tokens.create("second", space=None)
        store.tokens.create("third", space=None)
        with pytest.raises(LimitExceeded, match="valid tokens"):
            store.tokens.create("fourth", space=None)
        store.tokens.revoke("second")
        store.tokens.create("fourth", space=None)
        assert [token.label for token in store.tokens.list()] == ["laptop", "third", "fourth"]


def test_a_space_whose_drop_was_interrupted_takes_its_tokens_along(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: FileTokens, space: str) -> None:
        raise OSError(28, "No space left on device")

    with Store.open(place, embedder="none") as store:
        store.space("alice").remember("One.")
        with monkeypatch.context() as patch:
            patch.setattr(FileTokens, "revoke_space", full)
            with pytest.raises(Unavailable):
                store.drop("alice")
        assert store.tokens.get("laptop").live
        store.drop("alice")
        assert not store.tokens.get("laptop").live
        store.tokens.create("new", space="alice")
        assert [token.live for token in store.tokens.list()] == [False, True]


def test_no_copy_of_a_memory_has_the_tokens(place: Path, tmp_path: Path) -> None:
    """Backup, restore, push and export take the ledger; tokens stay where they were created."""
    with Store.open(place, embedder="none") as store:
        made = store.tokens.create("main's", space="main", verbs=["read"])
        hash = hash_of(made.token).hex()
        memory = store.space("main")
        memory.remember("One.")
        memory.admin.backup(str(tmp_path / "backup"))
        memory.admin.export("ndjson", tmp_path / "export.json")
        with Memory.open(tmp_path / "copy", embedder="none") as copy:
            memory.admin.copy_to(copy)
    with Store.restore_backup(tmp_path / "backup", tmp_path / "restored") as restored:
        assert len(restored.list()) == 1
    seen = 0
    for name in ("backup", "export.json", "copy", "restored"):
        files = [tmp_path / name, *(tmp_path / name).rglob("*")]
        for path in (each for each in files if each.is_file()):
            seen += 1
            assert path.name != TOKENS, path
            assert hash.encode() not in path.read_bytes(), path
    assert seen > 5
    assert hash in (place / TOKENS).read_text()  # the control
    for name in ("copy", "restored"):
        with Store.open(tmp_path / name, embedder="none") as store:
            assert store.tokens.list() == []


def test_the_list_is_read_again_only_when_it_changed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = FileTokens(place, REAL, lambda: None)
    first = tokens.read()
    assert tokens.read() is first
    (place / TOKENS).touch()
    assert tokens.read() is not first
    tokens.close()
    tokens.close()
