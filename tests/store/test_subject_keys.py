"""The keys of subjects: every place for them passes one suite, and faulty ones do not."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from recollect.errors import KeyMissing
from recollect.store.disk.disk import write_file
from recollect.store.keys.master_key import MasterKey
from recollect.store.keys.subject_keys import FileKeys, MemoryKeys
from recollect.store.keys.subjects import Named, SubjectKeys
from recollect.store.seam import REAL, Seam
from recollect.testing.subject_keys_suite import LEDGER, Place, SubjectKeysSuite


def in_memory(kind: type[MemoryKeys] = MemoryKeys) -> Place:
    """A place that ends with the process."""
    return cache(lambda ledger: kind(REAL))


def in_files(folder: Path) -> Place:
    master = MasterKey(folder, None, None, REAL)
    return lambda ledger: FileKeys(folder / "subjects", ledger, master, REAL)


class TestInMemory(SubjectKeysSuite):
    @pytest.fixture
    def place(self) -> Place:
        return in_memory()


class TestInFiles(SubjectKeysSuite):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return in_files(tmp_path)


# --- controls


class Forgetful(MemoryKeys):
    """Does not know what it destroyed."""

    def destroyed(self) -> dict[str, int]:
        return {}


class Keeping(MemoryKeys):
    """Destroys no key."""

    def destroy(self, pseudonyms: Iterable[str], by: int) -> tuple[str, ...]:
        return ()


class Alike(MemoryKeys):
    """Has one key for all."""

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        found = super().key(pseudonym, cipher)
        return None if found is None else bytes(32)


class Lenient(MemoryKeys):
    """Takes a missing key for a destroyed one: then a loss looks like an erasure."""

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        try:
            return super().key(pseudonym, cipher)
        except KeyMissing:
            return None


class Naming(MemoryKeys):
    """Still knows the names of the destroyed."""

    def __init__(self, seam: object) -> None:
        super().__init__(REAL)
        self._all: dict[str, list[Named]] = {}

    def add(self, user: str) -> Named:
        made = super().add(user)
        self._all.setdefault(user, []).append(made)
        return made

    def named(self, user: str) -> list[Named]:
        return self._all.get(user, [])


def failing(kind: type[MemoryKeys]) -> list[str]:
    """The tests of the suite that a place does not pass."""
    failed = []
    for name, test in inspect.getmembers(SubjectKeysSuite, inspect.isfunction):
        try:
            test(SubjectKeysSuite(), in_memory(kind))
        except (AssertionError, KeyMissing, pytest.fail.Exception):
            failed.append(name)
    return failed


@pytest.mark.parametrize("kind", [Forgetful, Keeping, Alike, Lenient, Naming])
def test_control_a_place_with_a_fault_fails(kind: type[MemoryKeys]) -> None:
    assert failing(kind)


def test_control_a_place_for_all_ledgers_fails() -> None:
    one = MemoryKeys(REAL)
    with pytest.raises(AssertionError):
        SubjectKeysSuite().test_the_keys_of_another_ledger_are_others(lambda ledger: one)


def test_control_a_place_that_is_forgotten_fails() -> None:
    with pytest.raises((AssertionError, KeyMissing)):
        SubjectKeysSuite().test_a_key_is_the_same_when_the_place_is_opened_again(
            lambda ledger: MemoryKeys(REAL)
        )


def test_control_a_sound_one_fails_nothing() -> None:
    assert failing(MemoryKeys) == []


def test_each_promise_of_the_port_has_a_test() -> None:
    promises = [
        line.strip()[2:-1].lower().replace(" ", "_")
        for line in (SubjectKeys.__doc__ or "").splitlines()
        if line.strip().startswith("- ")
    ]
    tests = {name for name, _ in inspect.getmembers(SubjectKeysSuite, inspect.isfunction)}
    assert len(promises) == 15
    assert [each for each in promises if f"test_{each}" not in tests] == []


def test_no_name_and_no_key_is_in_the_files_in_the_clear(tmp_path: Path) -> None:
    place = in_files(tmp_path)
    one = place(LEDGER).add("Zebulon")
    key = place(LEDGER).key(one.pseudonym, one.cipher)
    assert key is not None
    whole = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert one.pseudonym.encode() in whole
    assert b"Zebulon" not in whole
    assert key not in whole


class Watching(Seam):
    """Looks, after each write, for the file of the master key as another process would."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.found: list[bytes] = []

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        if self._path.exists():
            self.found.append(self._path.read_bytes())
        return super().pwrite(fd, data, offset)


def test_a_master_key_has_its_name_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    seam = Watching(path)
    made = MasterKey(tmp_path, None, None, seam)(True)
    assert seam.found == []
    assert MasterKey(tmp_path, None, None, REAL)(False) == made
    write_file(seam, path, [path.read_bytes()])  # the control: a file that is written in its place
    assert seam.found == [b""]


def test_a_master_key_that_was_made_meanwhile_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_files(tmp_path)(LEDGER).add("ann")
    made = MasterKey(tmp_path, None, None, REAL)(False)
    exists, looks = Path.exists, iter([False])  # the first look was before it was made
    monkeypatch.setattr(Path, "exists", lambda path: next(looks, exists(path)))
    assert MasterKey(tmp_path, None, None, REAL)(True) == made


def test_a_missing_master_key_is_not_made_again(tmp_path: Path) -> None:
    in_files(tmp_path)(LEDGER).add("ann")
    (tmp_path / "master.key").unlink()
    with pytest.raises(KeyMissing, match="needs it"):
        MasterKey(tmp_path, None, None, REAL)(True)
