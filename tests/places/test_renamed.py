"""A project's folder that was renamed keeps its memory; a copy of a memory does not pass for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Memory
from recollect.assistants.mounts import Mounts
from recollect.config import Places, known, places
from recollect.places import consent
from recollect.places.known import adopt, first_hash, is_known
from recollect.store.disk.layout import CHOSEN, IGNORE, KNOWN, LEDGER, LOCK, SESSIONS
from tests.assistants.test_known import HOSTILE
from tests.config.test_config import repository


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def at(folder: Path, home: Path) -> Places:
    return places(start=folder, home=home, environment={})


def made(folder: Path, home: Path, text: str = "We deploy from main.") -> Path:
    """A repository with a memory that an assistant made; returns the memory's folder."""
    repository(folder)
    with Mounts(at(folder, home)) as mounts:
        mounts.remember(text)
    consent.give(at(folder, home).project)
    return folder / ".git" / "recollect"


def recalled(folder: Path, home: Path) -> list[str]:
    with Mounts(at(folder, home)) as mounts:
        return [hit.value.text for hit in mounts.recall("deploy main evil.example").hits]


def test_a_renamed_folder_is_recognized_and_listed_again_at_the_next_write(
    tmp_path: Path, home: Path
) -> None:
    made(tmp_path / "one", home)
    (tmp_path / "deeper").mkdir()
    os.rename(tmp_path / "one", tmp_path / "deeper" / "two")
    moved = tmp_path / "deeper" / "two"
    before = known(home / ".recollect" / KNOWN)
    assert recalled(moved, home) == ["We deploy from main."]
    assert known(home / ".recollect" / KNOWN) == before  # reading changes nothing
    with Mounts(at(moved, home)) as mounts:
        assert mounts.remember("We deploy on Mondays.").mount == "project"
    place = str((moved / ".git" / "recollect").resolve())
    assert list(known(home / ".recollect" / KNOWN)) == [place]
    assert list(known(home / ".recollect" / SESSIONS)) == [place]
    assert consent.is_given(at(moved, home).project)


def test_other_processes_that_used_it_since_change_nothing(tmp_path: Path, home: Path) -> None:
    """Each process writes its id into the lock; an hour of use must not make a folder unknown."""
    store = made(tmp_path / "one", home)
    lock, before = store / LOCK, os.lstat(store / LOCK).st_ctime_ns
    program = "import sys; from recollect import Memory; Memory.open(sys.argv[1]).remember('More.')"
    subprocess.run([sys.executable, "-c", program, store], check=True)
    assert os.lstat(lock).st_ctime_ns != before  # control: the lock's own instant is no mark
    os.rename(tmp_path / "one", tmp_path / "two")
    assert recalled(tmp_path / "two", home) == ["We deploy from main."]


def test_without_the_file_that_marks_it_a_renamed_folder_is_not_known(
    tmp_path: Path, home: Path
) -> None:
    store = made(tmp_path / "one", home)
    (store / IGNORE).unlink()
    assert is_known(at(tmp_path / "one", home).project)
    os.rename(tmp_path / "one", tmp_path / "two")
    assert not is_known(at(tmp_path / "two", home).project)


def test_what_was_chosen_for_it_comes_along(tmp_path: Path, home: Path) -> None:
    store = made(tmp_path / "one", home)
    chosen = home / ".recollect" / CHOSEN
    chosen.write_text(f'{{"{store.resolve()}": "none"}}')
    os.rename(tmp_path / "one", tmp_path / "two")
    adopt(at(tmp_path / "two", home).project)
    moved = str((tmp_path / "two" / ".git" / "recollect").resolve())
    assert known(chosen) == {moved: "none"}


def test_every_space_of_it_is_recognized(tmp_path: Path, home: Path) -> None:
    made(tmp_path / "one", home)
    with Mounts(at(tmp_path / "one", home), space="other") as mounts:
        mounts.remember("In another space.")
    os.rename(tmp_path / "one", tmp_path / "two")
    found = at(tmp_path / "two", home).project
    assert is_known(found, "other")
    adopt(found, "other")
    assert len(known(home / ".recollect" / KNOWN)) == 2
    assert is_known(found)


def test_a_copy_is_not_known_while_the_original_exists(tmp_path: Path, home: Path) -> None:
    made(tmp_path / "one", home)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert not is_known(at(tmp_path / "two", home).project)
    assert recalled(tmp_path / "two", home) == []


def test_a_copy_is_not_known_after_the_original_is_gone(tmp_path: Path, home: Path) -> None:
    made(tmp_path / "one", home)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    shutil.rmtree(tmp_path / "one")
    assert not is_known(at(tmp_path / "two", home).project)


def test_a_ledger_that_only_starts_alike_is_not_known(tmp_path: Path, home: Path) -> None:
    store = made(tmp_path / "one", home)
    first = (store / LEDGER).read_bytes().split(b"\n")[0]
    clone = tmp_path / "clone" / ".recollect"
    with Memory.open(clone) as memory:
        memory.remember(HOSTILE)
    rest = (clone / LEDGER).read_bytes().split(b"\n")[1:]
    (clone / LEDGER).write_bytes(b"\n".join([first, *rest]))
    assert first_hash(clone) == first_hash(store)  # control: by its first event it would be known
    shutil.rmtree(tmp_path / "one")
    assert not is_known(at(tmp_path / "clone", home).project)
    assert recalled(tmp_path / "clone", home) == []


def test_a_link_to_a_renamed_memory_is_not_known(tmp_path: Path, home: Path) -> None:
    made(tmp_path / "one", home)
    os.rename(tmp_path / "one", tmp_path / "two")
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / ".recollect").symlink_to(tmp_path / "two" / ".git" / "recollect")
    assert not is_known(at(clone, home).project)
    assert is_known(at(tmp_path / "two", home).project)


def test_the_folder_of_an_earlier_release_gets_its_inodes_at_the_next_listing(
    tmp_path: Path, home: Path
) -> None:
    store = made(tmp_path / "one", home)
    file = home / ".recollect" / KNOWN
    file.write_text(f'{{"{store.resolve()}": "{first_hash(store)}"}}')
    assert is_known(at(tmp_path / "one", home).project)
    adopt(at(tmp_path / "one", home).project)
    os.rename(tmp_path / "one", tmp_path / "two")
    assert is_known(at(tmp_path / "two", home).project)


def test_without_its_inodes_a_renamed_folder_is_not_known(tmp_path: Path, home: Path) -> None:
    """The control: what an earlier release listed says too little to tell it from a copy."""
    store = made(tmp_path / "one", home)
    file = home / ".recollect" / KNOWN
    file.write_text(f'{{"{store.resolve()}": "{first_hash(store)}"}}')
    os.rename(tmp_path / "one", tmp_path / "two")
    assert not is_known(at(tmp_path / "two", home).project)
