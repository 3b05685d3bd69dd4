"""Subjects: users whose memory is encrypted under a key of their own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    IntegrityError,
    InvalidInput,
    KeyMissing,
    NotFound,
)
from recollect.ledger.scan import scan
from recollect.memory.handle.handle import Handle
from recollect.memory.keys import Keys
from recollect.store.indexed.backend import MemorySpace
from recollect.store.indexed.memory import MemoryLedger
from recollect.store.keys.subject_keys import MemoryKeys
from recollect.store.keys.subjects import Subjects
from recollect.store.seam import REAL
from recollect.store.write_path import Writing
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.histories import Clockwork, History

WORD = "zanzibar"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("RECOLLECT_MASTER_KEY", "RECOLLECT_MASTER_KEY_COMMAND"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def where(tmp_path: Path, home: Path) -> Path:
    with Memory.open(tmp_path / "w") as memory:
        memory.settings.set_subjects("users")
    return tmp_path / "w"


def hits(folder: Path, word: str = WORD) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if word.encode() in path.read_bytes()]


def headers(where: Path) -> list[tuple[str, str | None]]:
    appends = scan([(where / "events.wal").read_bytes()])
    return [(line.kind, line.subject) for append in appends for line in append.lines]


def test_nothing_of_a_subject_is_readable_in_the_ledger(where: Path, home: Path) -> None:
    with Memory.open(where) as memory:
        ann = memory.scoped(user="ann")
        record = ann.remember(f"Ann went to {WORD}", key="trip")
        ann.observe(f"I was in {WORD}")
        memory.revise(record.id, text=f"Ann moved to {WORD}")  # by a handle for the whole space
        memory.remember("The office is closed")
        assert record.id in [hit.id for hit in ann.recall(WORD)]
        digest = memory.admin.digest()
        assert rebuilt_digest(memory.admin) == digest
        assert memory.admin.verify(deep=True).ok
    ledger = (where / "events.wal").read_bytes()
    assert WORD.encode() not in ledger
    assert b'"ann"' not in ledger
    found = headers(where)
    assert [kind for kind, subject in found if subject] == [
        "record.added",
        "episode.observed",
        "record.revised",
    ]
    assert len({subject for _, subject in found if subject}) == 1
    assert found[-1] == ("record.added", None)
    with Memory.open(where) as memory:  # another process, from the index
        (where / "index.db").unlink()
    with Memory.open(where) as memory:  # and from the ledger
        assert memory.admin.digest() == digest
        assert memory.at(3).get(record.id).text == f"Ann went to {WORD}"


def test_without_the_setting_nothing_changes(tmp_path: Path, home: Path) -> None:
    with Memory.open(tmp_path / "w") as memory:
        memory.scoped(user="ann").remember(WORD)
        assert memory.settings.subjects() is None
        with pytest.raises(Conflict, match="no subjects"):
            memory.scoped(subject="ann")
    assert hits(tmp_path / "w") != []
    assert not (home / ".recollect" / "subjects").exists()


def test_only_those_who_are_named(tmp_path: Path, home: Path) -> None:
    with Memory.open(tmp_path / "w") as memory:
        memory.settings.set_subjects("named")
        memory.scoped(user="ann").remember("Before she was one")
        memory.scoped(subject="ann").remember(f"Ann in {WORD}")
        memory.scoped(user="ann").remember("Still a subject")
        memory.scoped(user="bob").remember("Bob is none")
        assert memory.settings.subjects() == "named"
        with pytest.raises(InvalidInput, match="one user"):
            memory.scoped(subject="ann", user="bob")
    assert [bool(subject) for _, subject in headers(tmp_path / "w")][2:] == [
        False,
        True,
        True,
        False,
    ]


def test_only_a_person_decides_who_is_a_subject(where: Path) -> None:
    with Memory.open(where) as memory:
        agent = memory.scoped(trust="agent")
        with pytest.raises(Forbidden):
            agent.settings.set_subjects(None)
        with pytest.raises(Forbidden):
            agent.settings.documents.set("settings", "subjects", {"each": "named"})
        with pytest.raises(InvalidInput, match="users, named or None"):
            memory.settings.set_subjects("everyone")  # type: ignore[arg-type]
        memory.settings.set_subjects(None)
        memory.scoped(user="ann").remember("Plain again")
        memory.settings.set_subjects(None)
    assert headers(where)[-1] == ("record.added", None)


def test_erasing_a_subject_leaves_nothing_and_others_as_they_were(
    where: Path, home: Path, tmp_path: Path
) -> None:
    with Memory.open(where) as memory:
        ann = memory.scoped(user="ann")
        ann.remember(f"Ann went to {WORD}", key="trip")
        ann.observe(f"{WORD} was hot")
        ann.context("trip")
        memory.scoped(user="bob").remember("Bob stayed")
        memory.admin.backup(str(tmp_path / "outside"))
        assert hits(where) == ["index.db", "index.db-wal"] or hits(where)
        planned = memory.erase(subject="ann", dry_run=True)
        done = memory.erase(subject="ann")
        assert planned.subjects == done.subjects
        assert any(place.startswith(f"the key of {done.subjects[0]}") for place in done.places)
        assert not any(place.startswith("NOT") for place in done.places)
        assert any(place.startswith("backups outside: ") for place in done.places)
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
        assert memory.admin.verify(deep=True).ok
        assert [record.text for record in memory.list()] == ["Bob stayed"]
        with pytest.raises(NotFound):
            memory.erase(subject="ann")
        ann.remember("Ann is back")  # under another pseudonym and key
    assert hits(tmp_path) == []
    pseudonyms = {subject for _, subject in headers(where) if subject}
    assert len(pseudonyms) == 3
    with Memory.open(where) as memory:
        assert [record.text for record in memory.scoped(user="ann").list()] == ["Ann is back"]


def test_old_plain_events_of_a_subject_go_too(tmp_path: Path, home: Path) -> None:
    with Memory.open(tmp_path / "w") as memory:
        old = memory.scoped(user="ann").remember(f"Before: {WORD}", key="trip")
        memory.settings.set_subjects("named")
        ann = memory.scoped(subject="ann")
        ann.revise(old.id, text=f"After: {WORD}")
        memory.erase(subject="ann")
        assert memory.list() == []
    assert hits(tmp_path) == []


def test_a_backup_outside_with_plain_events_is_still_named(tmp_path: Path, home: Path) -> None:
    with Memory.open(tmp_path / "w") as memory:
        memory.settings.set_subjects("named")
        memory.scoped(user="ann").remember(f"Plain: {WORD}")
        memory.admin.backup(str(tmp_path / "early"))
        memory.scoped(subject="ann").remember(f"Encrypted: {WORD}")
        memory.admin.backup(str(tmp_path / "late"))
        done = memory.erase(subject="ann")
        left = [place for place in done.places if place.startswith("NOT cleaned")]
        assert [name for name in ("early", "late") for one in left if name in one] == [
            "early",
            "late",
        ]


def test_a_subject_without_events_is_forgotten(where: Path) -> None:
    with Memory.open(where) as memory:
        memory.scoped(subject="ann")
        done = memory.erase(subject="ann")
        assert (len(done.subjects), done.events) == (1, ())
        assert memory.admin.verify().ok
        with pytest.raises(NotFound):
            memory.erase(subject="ann")


def test_erasing_a_subject_needs_a_person_and_the_whole_space(where: Path) -> None:
    with Memory.open(where) as memory:
        ann = memory.scoped(user="ann")
        ann.remember("Hers")
        for handle in (ann, memory.scoped(trust="agent")):
            with pytest.raises(Forbidden):
                handle.erase(subject="ann")
        with pytest.raises(InvalidInput, match="exactly one"):
            memory.erase(subject="ann", user="ann")


def test_a_missing_key_is_said_and_not_taken_for_an_erasure(where: Path, home: Path) -> None:
    with Memory.open(where) as memory:
        memory.scoped(user="ann").remember(f"In {WORD}")
    (keys,) = (home / ".recollect" / "subjects").glob("*.json")
    kept = keys.read_bytes()
    keys.unlink()
    (where / "index.db").unlink()
    with Memory.open(where) as memory:
        with pytest.raises(KeyMissing, match=r"event 3: the key of .* was not erased"):
            memory.list()
        (finding,) = [one for one in memory.admin.doctor() if one.level == "problem"]
        assert finding.what == "keys"
    keys.write_bytes(kept)
    keys.chmod(0o600)
    with Memory.open(where) as memory:
        assert len(memory.list()) == 1


def test_another_master_key_opens_nothing(
    where: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(where) as memory:
        memory.scoped(user="ann").remember(f"In {WORD}")
    (where / "index.db").unlink()
    monkeypatch.setenv("RECOLLECT_MASTER_KEY", "A" * 43 + "=")
    with Memory.open(where) as memory, pytest.raises(ConfigError, match="does not open"):
        memory.list()
    for words in ("zzz", "AAAA"):
        monkeypatch.setenv("RECOLLECT_MASTER_KEY", words)
        with Memory.open(where) as memory, pytest.raises(ConfigError, match="not 32 bytes"):
            memory.list()
    monkeypatch.delenv("RECOLLECT_MASTER_KEY")
    printed = f"cat {home / '.recollect' / 'master.key'}"
    monkeypatch.setenv("RECOLLECT_MASTER_KEY_COMMAND", printed)
    with Memory.open(where) as memory:
        assert len(memory.list()) == 1
    (where / "index.db").unlink()
    for command in ("false", "no-such-program", "'", ""):
        monkeypatch.setenv("RECOLLECT_MASTER_KEY_COMMAND", command)
        with Memory.open(where) as memory:
            if command:
                with pytest.raises(ConfigError, match="did not print a key"):
                    memory.list()
            else:  # not set
                assert len(memory.list()) == 1


def test_keys_that_others_can_read_are_refused(where: Path, home: Path) -> None:
    with Memory.open(where) as memory:
        memory.scoped(user="ann").remember(f"In {WORD}")
    (keys,) = (home / ".recollect" / "subjects").glob("*.json")
    assert [path.stat().st_mode & 0o777 for path in (keys, keys.parent)] == [0o600, 0o700]
    assert (home / ".recollect" / "master.key").stat().st_mode & 0o777 == 0o600
    keys.chmod(0o644)
    with Memory.open(where) as memory, pytest.raises(ConfigError, match="read by others"):
        memory.scoped(user="ann").remember("More")
    keys.chmod(0o600)
    keys.write_text("{")
    with Memory.open(where) as memory, pytest.raises(ConfigError, match="could not be parsed"):
        memory.scoped(user="ann").remember("More")


def test_a_copy_on_this_machine_is_read_with_the_same_keys(where: Path, tmp_path: Path) -> None:
    with Memory.open(where) as memory, Memory.open(tmp_path / "copy") as copy:
        memory.scoped(user="ann").remember(f"In {WORD}")
        memory.admin.copy_to(copy)
        assert copy.admin.digest() == memory.admin.digest()
        copy.scoped(user="ann").remember("In the copy")
        assert rebuilt_digest(copy.admin) == copy.admin.digest()
    with Memory.open(where) as memory, Memory.open(":memory:") as other:
        with pytest.raises(KeyMissing):
            memory.admin.copy_to(other)
        assert other.list() == []


def test_an_order_that_is_received_destroys_the_key_there_too(
    where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """Another machine: the same person's keys and master key were brought there before."""
    with Memory.open(where) as memory, Memory.open(tmp_path / "copy") as copy:
        memory.scoped(user="ann").remember(f"In {WORD}")
        memory.admin.copy_to(copy)
        there = tmp_path / "there"
        there.mkdir()
        (home / ".recollect").rename(there / ".recollect")
        (home / ".recollect").mkdir(parents=True)
        for path in (there / ".recollect").rglob("*"):
            target = home / path.relative_to(there)
            if path.is_dir():
                target.mkdir(mode=0o700)
            else:
                target.write_bytes(path.read_bytes())
                target.chmod(0o600)
        memory.erase(subject="ann")
    monkeypatch.setenv("HOME", str(there))
    with Memory.open(where) as memory, Memory.open(tmp_path / "copy") as copy:
        assert len(copy.list()) == 1
        memory.admin.copy_to(copy)
        assert copy.list() == []
    (keys,) = (there / ".recollect" / "subjects").glob("*.json")
    assert b'"subjects": []' in keys.read_bytes()
    assert hits(tmp_path) == []


class Plain(MemorySpace):
    """A store without subjects, whatever is set: the control."""

    @contextmanager
    def appending(self, *, is_confirmed: bool = False) -> Iterator[Writing]:
        with super().appending(is_confirmed=is_confirmed) as writing:
            writing._subjects = None
            yield writing


def played(seed: int, kind: type[MemorySpace]) -> Memory:
    seam = Clockwork(seed)
    space = kind("main", seam)
    # Dice of their own, so that both memories make the same ids.
    ledger, keys = space.ledger, MemoryKeys(REAL)
    assert isinstance(ledger, MemoryLedger)
    space._subjects = ledger._subjects = Subjects(lambda _: keys, ledger._first, REAL)
    memory = Memory(Handle(space, seam))
    memory.settings.set_subjects("users")
    History(memory, seam, random.Random(seed)).play(60)
    return memory


@pytest.mark.parametrize("seed", range(6))
def test_a_history_gives_the_same_state_with_and_without_subjects(seed: int) -> None:
    with played(seed, MemorySpace) as memory, played(seed, Plain) as plain:
        assert memory.admin.digest() == plain.admin.digest()
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
        assert memory.admin.verify().ok
        appends = scan(memory._handle.space.pieces())
        found = [line.subject for append in appends for line in append.lines]
        assert any(found)
        assert not all(found)
        for user in ("ann", "bob"):
            memory.erase(subject=user)
            assert memory.admin.digest() == rebuilt_digest(memory.admin)
            assert memory.admin.verify().ok
        with pytest.raises(AssertionError):  # the control: it was something that was erased
            assert memory.admin.digest() == plain.admin.digest()


@pytest.mark.parametrize("inside", [True, False])
def test_a_backup_of_before_brings_nothing_back(where: Path, tmp_path: Path, inside: bool) -> None:
    with Memory.open(where) as memory:
        memory.settings.set_subjects("named")
        plain = memory.remember(f"Plain {WORD}")
        memory.scoped(subject="ann").remember(f"Encrypted {WORD}")
        memory.remember("Of all")
        made = memory.admin.backup(None if inside else str(tmp_path / "outside")).path
        assert (WORD in Path(made, "events.wal").read_text()) is True
        memory.erase(subject="ann")
        memory.erase(plain.id)
    with Store.restore_backup(made, tmp_path / "again") as memory:
        assert [record.text for record in memory.list()] == ["Of all"]
        assert memory.admin.verify(deep=True).ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    assert hits(tmp_path / "again") == []


def test_a_certificate_says_what_was_erased(where: Path, home: Path) -> None:
    with Memory.open(where) as memory:
        Keys(memory).create()
        memory.scoped(user="ann").remember(f"In {WORD}")
        done = memory.erase(subject="ann", certificate=True)
        note = done.certificate or ""
        assert done.subjects[0] in note
        assert "ann" not in note.split()
        memory.remember("Later")
        found = memory.proof.check_certificate(note)
        assert (found.ok, found.subjects, found.event) == (True, done.subjects, done.seq)
        other = note.replace(f"event {done.seq}\n", f"event {done.seq - 1}\n")
        with pytest.raises(IntegrityError):
            memory.proof.check_certificate(other)
        with pytest.raises(InvalidInput, match="neither"):
            memory.proof.check_certificate("no-such-file")
        with pytest.raises(InvalidInput, match="of a subject"):
            memory.erase(user="ann", certificate=True)


def test_a_certificate_for_a_user_of_whom_nothing_was_encrypted(tmp_path: Path, home: Path) -> None:
    with Memory.open(tmp_path / "plain") as memory:
        Keys(memory).create()
        memory.scoped(user="ann").remember(f"In {WORD}")
        done = memory.erase(subject="ann", certificate=True)
        found = memory.proof.check_certificate(done.certificate or "")
        assert (found.ok, found.subjects, found.events) == (True, (), 1)


def test_without_a_key_the_erasure_is_done_all_the_same(where: Path, home: Path) -> None:
    with Memory.open(where) as memory:
        memory.scoped(user="ann").remember(f"In {WORD}")
        done = memory.erase(subject="ann", certificate=True)
        assert done.certificate is None
        assert "recollect proof key create" in (done.uncertified or "")
    assert hits(where) == []


def test_an_encrypted_event_is_shown_until_its_key_is_destroyed(where: Path, home: Path) -> None:
    with Memory.open(where) as memory:
        alice = memory.scoped(user="alice")
        made = alice.remember(f"Alice was in {WORD}.")
        assert (alice.events.get(made.seq).body or {})["text"] == f"Alice was in {WORD}."
        erased = memory.erase(subject="alice")
        shown = memory.events.get(made.seq)
        assert (shown.body, shown.erased_by) == (None, erased.seq)
