"""S3: what a file and a list say about time, and ids as a program gets them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import blake2s
from pathlib import Path

import pytest

from recollect import Memory
from recollect.contracts.pages import MemoryFiles
from recollect.memory.handle.handle import Handle
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.seams import FixedSeam
from tests.contract.quickstart_s3 import FILE
from tests.contract.test_s2_files import environment

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


class Clock(FixedSeam):
    """Stands still until it is set on; eight hours ahead of UTC, as in the seed's example."""

    def __init__(self) -> None:
        super().__init__(start="2026-04-20T06:02:11.000000Z", step_us=0)

    def tz_minutes(self) -> int:
        return 480


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    with Memory(Handle(MemorySpace("main", clock), clock)) as memory:
        yield memory


@pytest.fixture
def files(memory: Memory, tmp_path: Path) -> MemoryFiles:
    return MemoryFiles.over(memory.scoped(trust="agent"), tmp_path / "memory")


def frontmatter(files: MemoryFiles, name: str) -> dict[str, str]:
    """The fields of a file, as any program reads them."""
    lines = (files.folder / f"{name}.md").read_text().split("---\n")[1].splitlines()
    return dict(line.split(": ", 1) for line in lines)


def times(files: MemoryFiles) -> tuple[str, str]:
    """``created`` and ``updated`` of one file; lists say the same."""
    fields = frontmatter(files, "tool-make")
    (listed,) = [one for one in files.list_memories() if one.path == "tool-make.md"]
    assert (fields["created"], fields["updated"]) == (listed.created, listed.updated)
    return fields["created"], fields["updated"]


def statuses(files: MemoryFiles) -> dict[str, str]:
    """Of each file that was created, in lists; reading one says the same."""
    listed = [one for one in files.list_memories() if "user-" not in one.path]
    found: dict[str, str] = {one.path: one.status for one in listed}
    assert {path: files.read_memory(path).status for path in found} == found
    return found


def test_each_entry_refreshes_updated(files: MemoryFiles, clock: Clock) -> None:
    # S3-195 S3-196: to the second, with the offset; created never changes
    created = "2026-04-20T14:02:11+08:00"
    files.create("tool-make", "Builds")
    assert times(files) == (created, created)
    clock.now_us += HOUR_US  # the first entry comes later
    first = files.append("tool-make", "Make reads a Makefile.", ["build"])
    assert times(files) == (created, "2026-04-20T15:02:11+08:00")
    clock.now_us += HOUR_US
    files.append("tool-make", "Make runs recipes.", ["build"])
    assert times(files) == (created, "2026-04-20T16:02:11+08:00")
    clock.now_us += HOUR_US
    files.supersede("tool-make", first, "Make reads GNUmakefile first.", "it looks there")
    assert times(files) == (created, "2026-04-20T17:02:11+08:00")
    clock.now_us += HOUR_US
    files.append("user-profile", "User builds with make.", ["build"])
    assert times(files) == (created, "2026-04-20T17:02:11+08:00")  # another file


def test_created_is_the_same_wherever_the_file_is_written(
    memory: Memory, files: MemoryFiles, clock: Clock, tmp_path: Path
) -> None:
    # S3-195: also of the files that are always there, and after their first entry is gone
    for name in ("user-profile", "tool-make"):
        if name == "tool-make":
            files.create(name, "Builds")
        before = frontmatter(files, name)["created"]
        clock.now_us += DAY_US
        first = files.append(name, "It is here.", ["x"])
        clock.now_us += DAY_US
        files.append(name, "It is there.", ["x"])
        memory.forget(first)
        files.rebuild_index()
        memory.admin.rebuild()
        elsewhere = MemoryFiles.over(memory, tmp_path / "elsewhere")
        said = [frontmatter(one, name)["created"] for one in (files, elsewhere)]
        assert said == [before, before]


def test_a_description_refreshes_updated_and_a_flag_does_not(
    memory: Memory, files: MemoryFiles, clock: Clock
) -> None:
    # S3-196: as decision 41 says
    files.create("tool-make", "Builds")
    files.append("tool-make", "Make reads a Makefile.", ["build"])
    clock.now_us += HOUR_US
    files.flag_compact("tool-make", "it is long")
    assert frontmatter(files, "tool-make")["needs_compact"] == "true"
    assert times(files)[1] == "2026-04-20T14:02:11+08:00"
    memory.pages.unflag("tool-make")
    assert times(files)[1] == "2026-04-20T14:02:11+08:00"
    memory.pages.describe("tool-make", description="Builds everything")
    memory.pages.render(files.folder)
    assert times(files)[1] == "2026-04-20T15:02:11+08:00"
    clock.now_us += HOUR_US
    files.append("tool-make", "Make reads a Makefile.", ["build"])
    assert times(files)[1] == "2026-04-20T16:02:11+08:00"
    files.compact("tool-make")
    assert files.read_memory("tool-make").entry_count == 1
    assert times(files)[1] == "2026-04-20T15:02:11+08:00"  # the newest that the file shows


def by_hand(files: MemoryFiles, name: str, old: str, new: str) -> tuple[str, ...]:
    """Edits a file, has it taken over, and returns what was not."""
    path = files.folder / f"{name}.md"
    page = path.read_text()
    assert page.count(old) == 1
    path.write_text(page.replace(old, new))
    return files.rebuild_index().problems


def test_an_edit_and_a_stroke_refresh_updated(files: MemoryFiles, clock: Clock) -> None:
    # S3-196: from when they are taken over; the field itself is no edit
    created = "2026-04-20T14:02:11+08:00"
    files.create("tool-make", "Builds")
    files.append("tool-make", "Make reads a Makefile.", ["build"])
    edits = [
        ("Make reads a Makefile.", "Make reads GNUmakefile first."),
        ("Make reads GNUmakefile first.", "~~Make reads GNUmakefile first.~~"),
        ("~~Make reads GNUmakefile first.~~", "Make reads GNUmakefile first."),
        ("#build", "#make"),
        ("description: Builds", "description: Builds everything"),
    ]
    for hour, (old, new) in enumerate(edits, start=15):
        clock.now_us += HOUR_US
        assert by_hand(files, "tool-make", old, new) == ()
        assert times(files) == (created, f"2026-04-20T{hour}:02:11+08:00"), new
    clock.now_us += HOUR_US
    last = f"updated: {times(files)[1]}"
    assert by_hand(files, "tool-make", last, "updated: 2031-01-01T00:00:00+08:00") == ()
    assert f"\n{last}\n" in (files.folder / "tool-make.md").read_text()


@pytest.mark.parametrize("way", ["adopted", "imported"])
def test_a_file_that_comes_in_is_updated_when_it_does(
    memory: Memory, clock: Clock, tmp_path: Path, way: str
) -> None:
    # S3-195 S3-196: as decision 41 says; created is the day that it says
    there = tmp_path / "there"
    there.mkdir()
    (there / "user-profile.md").write_text(FILE)
    assert "updated: 2026-04-21T09:15:00+08:00" in FILE
    clock.now_us += 30 * DAY_US
    files = MemoryFiles.over(memory, there if way == "adopted" else tmp_path / "here")
    if way == "adopted":
        assert files.rebuild_index(unknown="adopt").entries == 3
    else:
        assert memory.admin.import_(there).records == 3
        memory.pages.render(files.folder)
    fields = frontmatter(files, "user-profile")
    assert fields["updated"] == "2026-05-20T14:02:11+08:00"
    (created,) = [line for line in FILE.splitlines() if line.startswith("created: ")]
    assert f"created: {fields['created']}" == created


def test_a_file_is_active_dormant_or_archived(
    memory: Memory, files: MemoryFiles, clock: Clock
) -> None:
    # S3-193 S3-194: dormant once nothing touched it for auto_dormant_days, archived by hand
    for name in ("tool-busy", "tool-idle", "tool-old"):
        files.create(name, "A tool")
        files.append(name, "It is used.", ["x"])
    memory.pages.archive("tool-old")
    assert files.limits().auto_dormant_days == 30
    clock.now_us += 30 * DAY_US
    assert statuses(files)["tool-idle.md"] == "active"  # 30 days are not longer than 30 days
    clock.now_us += 1_000_000
    assert set(statuses(files).values()) == {"dormant", "archived"}
    files.append("tool-busy", "It is used again.", ["x"])
    assert statuses(files) == {
        "tool-busy.md": "active",
        "tool-idle.md": "dormant",
        "tool-old.md": "archived",
    }
    # S3-194: no file depends on the clock, so that only what changed is written again
    assert frontmatter(files, "tool-idle")["status"] == "active"
    assert frontmatter(files, "tool-old")["status"] == "archived"


def test_a_person_may_call_a_file_dormant(files: MemoryFiles) -> None:  # S3-194
    files.create("tool-idle", "A tool")
    path = files.folder / "tool-idle.md"
    path.write_text(path.read_text().replace("status: active", "status: dormant"))
    assert files.rebuild_index().problems == ()
    assert frontmatter(files, "tool-idle")["status"] == "dormant"
    assert statuses(files) == {"tool-idle.md": "dormant"}


def test_no_file_has_another_status(memory: Memory, files: MemoryFiles) -> None:  # S3-193
    files.create("tool-make", "Builds")
    agent = memory.scoped(trust="agent")
    agent.settings.documents.set("page", "tool-make", {"status": "asleep"})
    memory.pages.render(files.folder)
    assert frontmatter(files, "tool-make")["status"] == "active"
    path = files.folder / "tool-make.md"
    edited = path.read_text().replace("status: active", "status: asleep")
    path.write_text(edited)
    done = files.rebuild_index()
    assert done.problems == ("tool-make.md:4: status: not one of active, dormant, archived",)
    assert path.read_text() == edited
    assert statuses(files) == {"tool-make.md": "active"}
    path.write_text(edited.replace("asleep", "archived"))  # the control
    assert files.rebuild_index().problems == ()
    assert statuses(files) == {"tool-make.md": "archived"}


def test_a_heading_has_the_local_time_to_the_second(files: MemoryFiles) -> None:
    # S3-201 S3-202
    id = files.append("user-profile", "User goes by Kming.", ["identity"])
    page = (files.folder / "user-profile.md").read_text()
    assert f"\n## [2026-04-20T14:02:11] {{id: {id}}} #identity\nUser goes by Kming.\n" in page
    assert id.startswith("20260420-1402-")


LOCAL = """
import sys
from recollect.contracts.pages import MemoryFiles

with MemoryFiles(sys.argv[1]) as files:
    files.append("user-profile", "User goes by Kming.", ["identity"])
    print(files.read_memory("user-profile").entries[0].timestamp)
"""


def test_local_is_where_the_program_runs(tmp_path: Path) -> None:  # S3-202
    said = []
    for zone, offset in (("UTC0", "+00:00"), ("CST-8", "+08:00")):  # as POSIX writes them
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", LOCAL, str(tmp_path / zone)],
            env={**environment(), "TZ": zone}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        said.append(done.stdout.strip())
        page = (tmp_path / zone / "memory" / "user-profile.md").read_text()
        assert f"## [{said[-1]}] " in page
        created = re.search(r"\ncreated: (\S+)\n", page)
        assert created is not None
        assert created[1].endswith(offset)
        entry = datetime.fromisoformat(said[-1] + offset)  # the page may be a second older
        assert timedelta() <= entry - datetime.fromisoformat(created[1]) < timedelta(minutes=1)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", said[-1])
    utc, ahead = map(datetime.fromisoformat, said)
    assert timedelta(hours=8) <= ahead - utc < timedelta(hours=9)


def test_the_tail_of_an_id_is_made_from_the_system_s_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # S3-203: six digits of blake2s(os.urandom(8), digest_size=3)
    real = os.urandom

    def fixed(count: int) -> bytes:
        return b"recollec" if count == 8 else real(count)

    with MemoryFiles(tmp_path) as files:
        monkeypatch.setattr(os, "urandom", fixed)
        first = files.append("user-profile", "One.", ["x"])
        monkeypatch.undo()
        second = files.append("user-profile", "Two.", ["x"])
    tail = blake2s(b"recollec", digest_size=3).hexdigest()
    assert first.split("-")[2] == tail
    assert len(second.split("-")[2]) == len(tail) == 6
    assert second.split("-")[2] != tail  # the control
