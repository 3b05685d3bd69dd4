"""A crash while a space is dropped: all of it is there, or none of it and a note."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from recollect.errors import NotFound, RecollectError
from recollect.store.files import backend, open_files, quick_read
from recollect.store.files.backend import FileBackend
from recollect.store.files.vector_file import path_of
from recollect.store.port import Space
from recollect.testing.acts import command, observe, outcome, remember
from tests.suites.conftest import Tell
from tests.suites.crash_choices import draw
from tests.suites.crash_disk import Disk, lay_out
from tests.suites.crash_log import Imaged, Journal, Kept, Killed, Recorder
from tests.suites.crash_runs import scratch

CANARY = "zebra-quagga-71"


def told(space: Space, word: str) -> None:
    """A few events with a word in them, in two files."""
    space.submit(command("a", remember(f"{word} one", "r1", "k"), observe(word, "e1")), outcome)
    space.seal()
    space.submit(command("b", remember(f"{word} two", "r2", "k")), outcome)


def workspace(folder: Path, name: str) -> None:
    """Two spaces; the one to be dropped also has a backup, vectors and a torn copy."""
    with closing(FileBackend(folder)) as place:
        told(place.space("bob" if name == "main" else "main", create=True), "other")
        space = place.space(name, create=True)
        told(space, CANARY)
        space.backup(None)
        own = place.folder_of(name)
        vectors = path_of(own, "words")
        vectors.parent.mkdir()
        vectors.write_text(CANARY)
        (own / "events.wal.3-1.torn").write_text(CANARY)


def digests(folder: Path) -> dict[str, str]:
    with closing(FileBackend(folder)) as place:
        spaces = [place.space(name, create=False) for name in place.spaces()]
        return {space.name: f"{space.digest()} {space.head()}" for space in spaces}


def files_with(folder: Path, word: str) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    ]


def judged(folder: Path, name: str, before: dict[str, str], *, acked: bool) -> str:
    """What is left: ``whole``, ``gone``, or what is wrong."""
    try:
        return _judged(folder, name, before, acked=acked)
    except RecollectError as error:
        return f"refused: {type(error).__name__} {error}"


def _judged(folder: Path, name: str, before: dict[str, str], *, acked: bool) -> str:
    with closing(FileBackend(folder)) as place:
        try:
            place.space(name, create=False).head()
        except NotFound:
            return _gone(folder, name, before)
        if place.dropped():
            return "noted, and still there"
    if acked:
        return "back after it was dropped"
    return "whole" if digests(folder) == before else "changed"


def _gone(folder: Path, name: str, before: dict[str, str]) -> str:
    with closing(FileBackend(folder)) as place:
        notes = [note.space for note in place.dropped()]
        if found := files_with(folder, CANARY):
            return f"gone, but {found} has its words"
        if notes != [name]:
            return f"gone with the notes {notes}"
        left = {other: digest for other, digest in before.items() if other != name}
        if digests(folder) != left:
            return "another space changed"
        told(place.space(name, create=True), "new")  # the name can be used again
        return "gone"


def crash_states(name: str, seam: type[Recorder], per_step: int) -> Counter[str]:
    """Every step of a drop, and some of the states that a crash after it may leave."""
    found: Counter[str] = Counter()
    with scratch() as root:
        workspace(root / "disk" / "ws", name)
        before = digests(root / "disk" / "ws")
        journal = Journal(root / "disk")
        with closing(FileBackend(root / "disk" / "ws", seam=seam(journal, 7))) as place:
            place.drop(name, None)
        disk = Disk()
        for step, op in enumerate(journal.ops):
            disk.do(op)
            if step < journal.start or isinstance(op, Imaged | Kept):
                continue
            acked = step == len(journal.ops) - 1
            for _, tree in draw(disk, random.Random(f"{name} {step}"), per_step):
                lay_out(tree, root / "state")
                found[judged(root / "state" / "ws", name, before, acked=acked)] += 1
                shutil.rmtree(root / "state")
    return found


def states(name: str, per_step: int, tell: Tell) -> None:
    found = crash_states(name, Recorder, per_step)
    tell(f"drop {name}: {sum(found.values())} crash states, {dict(found)}")
    assert set(found) == {"whole", "gone"}
    assert min(found.values()) > 10


def test_a_crash_leaves_all_of_a_space_or_none_and_a_note(tell: Tell) -> None:
    states("bob", 2, tell)


def test_some_crash_states_of_dropping_main(tell: Tell) -> None:
    states("main", 2, tell)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["bob", "main"])
def test_many_crash_states_of_a_drop(name: str, tell: Tell) -> None:
    states(name, 40, tell)


class Forgetful(Recorder):
    """The control: a sync that does nothing."""

    def fsync(self, fd: int) -> None:
        """Says it is done."""


def test_control_without_syncs_the_space_comes_back_or_is_torn() -> None:
    found = crash_states("bob", Forgetful, 2)
    assert set(found) - {"whole", "gone"}


def test_control_unless_the_order_is_looked_at_a_crash_tears_the_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (open_files, backend, quick_read):
        monkeypatch.setattr(module, "is_dropping", lambda folder: False)
    found = crash_states("bob", Recorder, 2)
    assert set(found) - {"whole", "gone"}


def test_killed_while_another_process_has_it_open(tmp_path: Path) -> None:
    killed("bob", 4, tmp_path)


def test_killed_while_another_process_has_main_open(tmp_path: Path) -> None:
    killed("main", 4, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["bob", "main"])
def test_killed_at_any_call_while_another_process_has_it_open(name: str, tmp_path: Path) -> None:
    killed(name, 1, tmp_path)


def killed(name: str, stride: int, tmp_path: Path) -> None:
    """The other process goes on or is refused; then a third one drops the space again."""
    found: Counter[str] = Counter()
    workspace(tmp_path / "before", name)
    before = digests(tmp_path / "before")
    for call in range(1, 400, stride):
        folder = tmp_path / str(call) / "ws"
        shutil.copytree(tmp_path / "before", folder)
        with closing(FileBackend(folder)) as other, closing(FileBackend(folder)) as third:
            handle = other.space(name, create=True)
            handle.head()
            dropper = FileBackend(folder, seam=Recorder(Journal(folder.parent), 7, kill_at=call))
            try:
                dropper.drop(name, None)
                is_done = True
            except Killed:
                is_done = False
            try:
                handle.submit(command("c", remember("more")), outcome)
                found["goes on"] += 1
            except NotFound:
                found["refused"] += 1
            with suppress(NotFound):  # nothing is left to drop
                third.drop(name, None)
            with pytest.raises(NotFound):
                handle.submit(command("d", remember("more")), outcome)
            assert [note.space for note in third.dropped()] == [name]
        assert judged(folder, name, before, acked=True) == "gone"
        if is_done:
            break
    else:
        pytest.fail("the drop never got through")
    assert found["goes on"] > 1
    assert found["refused"] > 5
