"""S3: what is on the disk, ids, and several programs at once."""

from __future__ import annotations

import random
import re
import sqlite3
import subprocess
import sys
from hashlib import blake2s
from pathlib import Path

import pytest

from recollect import ConfigError, InvalidInput, Memory, Unavailable
from recollect.contracts.pages import MemoryFiles
from recollect.contracts.pages.checks import advice
from recollect.contracts.pages.store import make_id
from recollect.memory.handle.handle import Handle, handle_of
from recollect.memory.store import Store
from recollect.recall.pack import count_tokens
from recollect.store.seam import Seam
from tests.contract.test_s2_files import environment
from tests.memory_suites.pages.memory_files import HEADING, pages_in, text
from tests.memory_suites.pages.pages import holding

ID = re.compile(r"\d{8}-\d{4}-[0-9a-f]{6}")


def test_the_files_are_in_the_home_folder(tmp_path: Path) -> None:  # S3-173
    program = (
        "from recollect.contracts.pages import MemoryFiles\n"
        "with MemoryFiles() as files:\n"
        "    files.append('user-profile.md', 'User goes by Kming.', ['identity'])\n"
        "    print(files.folder)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), "HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / ".recollect" / "memory"
    assert done.stdout == f"{folder}\n"
    assert "User goes by Kming." in (folder / "user-profile.md").read_text()
    assert (tmp_path / ".recollect" / "index.db").is_file()


def test_a_server_is_not_a_root(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        MemoryFiles(":memory:")


def test_any_tool_reads_and_compares_the_files(tmp_path: Path) -> None:  # S3-177 S3-220
    with MemoryFiles(tmp_path) as files:
        files.create("project-apollo.md", "The guidance computer")
        old = files.append("project-apollo.md", "The build runs make.", ["build"])
        before = (files.folder / "project-apollo.md").read_text().splitlines()
        new = files.append("project-apollo.md", "The tests run at night.", ["tests"])
        found = subprocess.run(
            ["grep", "-rhc", f"{{id: {old}}} #build$", str(files.folder / "project-apollo.md")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert found.stdout == "1\n"
        after = (files.folder / "project-apollo.md").read_text().splitlines()
    added = [line for line in after if line not in before]
    gone = [line for line in before if line not in after]
    assert [line.split(":")[0] for line in gone if not line.startswith("updated")] == [
        "entry_count",
        "position",
    ]
    assert added[-2:] == [after[-2], "The tests run at night."]
    assert new in added[-2]


def test_a_description_is_one_line(tmp_path: Path) -> None:  # S3-191
    with MemoryFiles(tmp_path) as files:
        before = pages_in(files.folder)
        for description in ("two\nlines", "two\r\nlines", "", " "):
            with pytest.raises(InvalidInput):
                files.create("tool-x", description)
        assert pages_in(files.folder) == before
        assert "tool-x.md" not in [one.path for one in files.list_memories()]


def test_tags_of_a_file_are_not_those_of_its_entries(tmp_path: Path) -> None:
    # S3-192
    with MemoryFiles(tmp_path) as files:
        files.create("project-apollo", "The guidance computer", ["a", "b"])
        id = files.append("project-apollo", "The build runs make.", ["c", "d"])
        page = text(files, "project-apollo")
        assert "\ntags: [a, b]\n" in page
        assert f"{{id: {id}}} #c #d\nThe build runs make.\n" in page
        assert HEADING.findall(page) == [" #c #d"]
        assert files.read_memory("project-apollo", tags=["a"]).entries == ()


def test_only_what_is_flagged_is_compacted_in_the_next_round(tmp_path: Path) -> None:
    # S3-198
    with MemoryFiles(tmp_path) as files, Memory.open(tmp_path) as memory:
        for name in ("tool-make", "tool-git"):
            files.create(name, "A tool")
            for _ in range(2):
                files.append(name, "It is fast.", ["x"])
        files.flag_compact("tool-make", "it repeats itself")
        due = [page.name for page in memory.pages.care()]
        assert due == ["tool-make"]
        for name in due:
            files.compact(name)
        count = {one.path: one.entry_count for one in files.list_memories()}
        assert (count["tool-make.md"], count["tool-git.md"]) == (1, 2)
        assert memory.pages.care() == []
        assert "needs_compact: false\n" in text(files, "tool-make")


def test_a_file_with_nothing_to_merge_is_not_flagged_for_ever(tmp_path: Path) -> None:
    # S3-198 S3-215: the next round has looked at it; one that is too long stays flagged
    with MemoryFiles(tmp_path) as files, Memory.open(tmp_path) as memory:
        files.append("user-profile", "User likes tea.", ["drink"])
        before = text(files, "user-profile")
        files.flag_compact("user-profile", "it may repeat itself")
        assert files.compact("user-profile").merged == ()
        assert [line for line in text(files, "user-profile").splitlines() if "position" not in line
                ] == [line for line in before.splitlines() if "position" not in line]  # fmt: skip
        position = memory.events.position
        files.compact("user-profile")
        assert memory.events.position == position
        memory.pages.flag("user-profile")  # a person's, for a person to take back
        files.compact("user-profile")
        assert "needs_compact: true\n" in text(files, "user-profile")
        memory.pages.unflag("user-profile")
        memory.pages.set_limits(soft_limit_tokens=10, hard_limit_tokens=20)
        files.flag_compact("user-profile", "it is long")
        files.compact("user-profile")
        assert "needs_compact: true\n" in text(files, "user-profile")


def test_entries_stand_in_the_order_of_their_dates(tmp_path: Path) -> None:
    # S3-175: decided: an entry that a person dated in the future stays the last one
    with MemoryFiles(tmp_path) as files:
        files.create("tool-make", "A tool")
        files.append("tool-make", "It is fast.", ["x"])
        page = files.folder / "tool-make.md"
        page.write_text(page.read_text() + "\n## [2091-01-01T10:00:00] #x\n\nIt is retired.\n")
        assert files.rebuild_index().applied == 1
        files.append("tool-make", "It is old.", ["x"])
        said = [one.body for one in files.read_memory("tool-make").entries]
        assert said == ["It is fast.", "It is old.", "It is retired."]
        assert [page.read_text().index(one) for one in said] == sorted(
            page.read_text().index(one) for one in said
        )


@pytest.mark.parametrize(
    ("line", "edited", "named"),
    [
        ("created", "created: 2020-01-01T00:00:00+00:00\n", "created stays"),
        ("created", "created: 2031-02-02\n", "created stays"),
        ("created", "created: x\n", None),
        ("description", "description:\n", "description stays 'A tool'"),
        ("description", "", "description stays 'A tool'"),
        ("tags", "", "tags stay space, moon: `tags: []` removes them"),
        ("updated", "updated: 2020-01-01T00:00:00+00:00\n", None),
        ("entry_count", "entry_count: 7\n", None),
    ],
)
def test_created_is_said_once(tmp_path: Path, line: str, edited: str, named: str | None) -> None:
    # S3-200: decided: what no edit changes is written again; what someone has said is named
    with MemoryFiles(tmp_path) as files:
        files.create("tool-make", "A tool", ["space", "moon"])
        files.append("tool-make", "It is fast.", ["x"])
        page = files.folder / "tool-make.md"
        before = page.read_text()
        page.write_text(re.sub(f"{line}: .*\n", edited, before))
        assert page.read_text() != before
        done = files.rebuild_index()
        assert (done.applied, page.read_text()) == (0, before)
        assert len(done.problems) == (named is not None)
        assert all(str(named) in problem for problem in done.problems)


def test_an_empty_list_of_tags_removes_them(tmp_path: Path) -> None:  # S3-200: the control
    with MemoryFiles(tmp_path) as files:
        files.create("tool-make", "A tool", ["space"])
        page = files.folder / "tool-make.md"
        page.write_text(re.sub("tags: .*\n", "tags: []\n", page.read_text()))
        done = files.rebuild_index()
        assert (done.applied, done.problems) == (1, ())
        assert files.read_memory("tool-make").tags == ()


CANARY = "canary-7f3a"


def test_erasing_cleans_the_files(tmp_path: Path) -> None:
    with MemoryFiles(tmp_path) as files:
        id = files.append("user-profile", f"User said {CANARY}.", ["x"])
        (tmp_path / "memory" / ".pages.json").unlink()
    assert holding(tmp_path, CANARY) != []  # the control
    with Memory.open(tmp_path) as memory:
        memory.pages.render()  # to the same files
        assert not (tmp_path / "pages").exists()
        done = memory.erase(id)
        assert any(place.startswith("memory/: ") for place in done.places)
    assert holding(tmp_path, CANARY) == []
    with MemoryFiles(tmp_path) as files:
        assert files.read_memory("user-profile").entry_count == 0
    assert holding(tmp_path, CANARY) == []


def test_a_folder_that_only_has_the_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "notes.md").write_text(CANARY)
    with Memory.open(tmp_path) as memory:
        record = memory.remember(f"User said {CANARY}.")
        memory.pages.render()
        assert (tmp_path / "pages" / "unfiled.md").exists()
        memory.erase(record.id)
    assert holding(tmp_path, CANARY) == [str(tmp_path / "memory" / "notes.md")]


def test_every_space_has_its_own_files(tmp_path: Path) -> None:
    with MemoryFiles(tmp_path) as one, MemoryFiles(tmp_path, space="other") as other:
        one.append("user-profile", "User is one.", ["x"])
        other.append("user-profile", "User is another.", ["x"])
        assert one.folder != other.folder
        assert one.read_memory("user-profile").entry_count == 1
    with Store.open(tmp_path) as store:
        store.drop("other")
    assert not other.folder.exists()
    assert one.folder.exists()


def test_what_a_session_writes_is_on_the_page_of_its_day(tmp_path: Path) -> None:  # S3-186
    with MemoryFiles(tmp_path, session="morning") as files:
        files.append("user-profile", "User goes by Kming.", ["identity"])
        (day,) = [one.path for one in files.list_memories() if one.path.startswith("event-")]
        page = (files.folder / day).read_text()
        assert re.fullmatch(r"event-\d{4}-\d\d-\d\d\.md", day)
        assert "{session: morning}" in page
        assert "- User goes by Kming. ([User Profile](user-profile.md))\n" in page
        (told,) = files.read_memory(day).entries
        assert told.id == "morning"
    with MemoryFiles(tmp_path) as files:  # the control: no session, nothing told of it
        files.append("user-profile", "User likes tea.", ["drink"])
        assert (files.folder / day).read_text() == page


def test_the_index_is_derived(tmp_path: Path) -> None:  # S3-178
    with MemoryFiles(tmp_path) as files:
        id = files.append("user-profile", "User goes by Kming.", ["identity"])
        before = files.search("Kming")
    with sqlite3.connect(tmp_path / "index.db") as db:
        tables = db.execute("SELECT sql FROM sqlite_master").fetchall()
    db.close()
    assert any("fts5" in (sql or "").lower() for (sql,) in tables)
    for path in tmp_path.glob("index.db*"):
        path.unlink()
    with MemoryFiles(tmp_path) as files:
        assert [hit.id for hit in files.search("Kming")] == [id]
        assert files.search("Kming") == before


def test_the_knobs_of_the_writer(tmp_path: Path) -> None:  # S3-218 S3-219
    with MemoryFiles(tmp_path) as files:
        defaults = files.limits()
        assert (defaults.soft_limit_tokens, defaults.hard_limit_tokens) == (20_000, 50_000)
    config = "[capture]\nkept = true\n[writer]\nsoft_limit_tokens = 100  # suggest\n"
    (tmp_path / "config.toml").write_text(config)
    with MemoryFiles(tmp_path) as files:
        assert (files.limits().soft_limit_tokens, files.limits().hard_limit_tokens) == (100, 50_000)
        assert files.advice == ()
    assert (tmp_path / "config.toml").read_text() == config
    (tmp_path / "config.toml").write_text(f"{config}hard_limit_tokens = 300\n")
    with MemoryFiles(tmp_path) as files:
        assert (files.limits().soft_limit_tokens, files.limits().hard_limit_tokens) == (100, 300)
        files.create("tool-make", "A tool")
        page = files.folder / "tool-make.md"
        while count_tokens(page.read_text()) <= 300:
            assert "needs_compact: false\n" in page.read_text()
            files.append("tool-make", "The build runs make, and then the tests. " * 5, ["build"])
        assert "needs_compact: true\n" in page.read_text()
    with Memory.open(tmp_path) as memory:
        position = memory.events.position
        MemoryFiles(tmp_path).close()
        assert memory.events.position == position  # the same again writes nothing
        memory.pages.set_limits(soft_limit_tokens=200)
    with MemoryFiles(tmp_path) as files:
        assert "a person set" in files.advice[0]
        assert files.limits().soft_limit_tokens == 200


def test_cleaning_leaves_the_configuration(tmp_path: Path) -> None:  # S3-225
    config = "[writer]\nsoft_limit_tokens = 100\n"
    (tmp_path / "config.toml").write_text(config)
    with MemoryFiles(tmp_path, trust="person") as files:
        files.append("user-profile", f"User said {CANARY}.", ["x"])
        for what in ("memory", "all"):
            files.clean(what, confirm=lambda question: "cannot be undone" in question)
        assert files.limits().soft_limit_tokens == 100
    assert (tmp_path / "config.toml").read_text() == config
    assert holding(tmp_path, CANARY) == []


def test_cleaning_names_the_files_that_it_leaves(tmp_path: Path) -> None:
    # S3-223: decided: a page that a person edited goes too, a file of others stays
    with MemoryFiles(tmp_path, trust="person") as files:
        for name in ("tool-make", "tool-other"):
            files.create(name, "A tool")
            files.append(name, f"It is {CANARY}.", ["x"])
        asleep, broken = files.folder / "tool-make.md", files.folder / "tool-other.md"
        asleep.write_text(asleep.read_text().replace("status: active", "status: asleep"))
        broken.write_bytes(broken.read_bytes() + b"\xff")
        (files.folder / "notes.md").write_text("mine")
        page = "# Mine\n\n## [2026-01-01T00:00:00] {id: 20260101-0000-aaaaaa} #x\n\nNot adopted.\n"
        (files.folder / "tool-mine.md").write_text(page)
        asked = list[str]()

        def refuse(question: str) -> bool:
            asked.append(question)
            return False

        assert files.clean("memory", confirm=refuse) is None
        assert asked[0].endswith(
            "Not written by this memory, so not erased: notes.md, tool-mine.md."
        )
        assert asleep.exists()
        done = files.clean("memory", confirm=lambda _: True)
        assert done is not None
        assert done.files_kept == ("notes.md", "tool-mine.md")
        said = [place for place in done.places if place.startswith("NOT checked")]
        assert [line.rpartition("/")[2] for line in said] == ["notes.md", "tool-mine.md"]
        assert sorted(path.name for path in files.folder.glob("*.md")) == [
            "index.md", "notes.md", "tool-mine.md", "user-preferences.md", "user-profile.md",
        ]  # fmt: skip
        assert (files.folder / "tool-mine.md").read_text() == page
    assert holding(tmp_path, CANARY) == []


@pytest.mark.parametrize(
    "config",
    ["[writer", "writer = 1", "[writer]\nsoft_limit_tokens = 'x'", "\xff",
     "[writer]\nsoft_limit_tokens = 60000"],
)  # fmt: skip
def test_knobs_that_cannot_be_used_are_named(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.toml").write_bytes(config.encode("latin-1"))
    with pytest.raises((ConfigError, InvalidInput), match=r"config|limit"):
        MemoryFiles(tmp_path)


@pytest.mark.parametrize(
    ("body", "advised"),
    [
        ("Dr. No met St. John at 5 p.m. in Rome.", False),
        ("User uses Node.js v1.2.3, e.g. for tests. User likes it. It works.", False),
        ("One. Two! Three? Four.", True),
        ("一。二。三。四。", True),
        ("One.\n\nTwo.", True),
        ("." * 1_000_000 + "x", False),  # one run of signs, looked at once
        (". " * 300_000 + "x", True),
    ],
)
def test_only_long_bodies_are_advised_against(body: str, advised: bool) -> None:  # S3-206
    assert bool(advice(body)) is advised


class Fixed(Seam):
    """Random bytes from a seed; the first draws are all the same."""

    def __init__(self, same: int = 0) -> None:
        self.left, self.drawn = same, random.Random(7)

    def random(self, count: int) -> bytes:
        if count == 8 and self.left:
            self.left -= 1
            return bytes(count)
        return self.drawn.randbytes(count)

    def now(self) -> str:
        return "2026-04-20T06:02:11.000000Z"


def test_an_id_is_the_local_minute_and_six_digits_of_chance() -> None:  # S3-203
    chance = blake2s(bytes(8), digest_size=3).hexdigest()
    assert make_id(Fixed(1), 480) == f"20260420-1402-{chance}"
    assert make_id(Fixed(1), 0) == f"20260420-0602-{chance}"
    assert ID.fullmatch(make_id(Seam(), 0))


def test_ids_of_one_minute_rarely_collide() -> None:  # S3-204
    seam, count = Fixed(), 10_000
    ids = [make_id(seam, 0) for _ in range(count)]
    assert len({id[:13] for id in ids}) == 1
    assert count - len(set(ids)) < count / 1000
    shorter = {id[:-2] for id in ids}  # the control: four digits, as the seed's template shows
    assert count - len(shorter) > count / 1000


def test_an_id_that_is_used_is_never_used_again(tmp_path: Path) -> None:  # S3-204
    with Memory.open(tmp_path / "m") as memory:
        handle = Handle(handle_of(memory).space, Fixed(same=4))
        files = MemoryFiles.over(Memory(handle), tmp_path / "memory")
        first = files.append("user-profile", "One.", ["x"])
        second = files.append("user-profile", "Two.", ["x"])
        assert first[:13] == second[:13]
        assert first != second
        assert [entry.body for entry in files.read_memory("user-profile").entries] == [
            "One.",
            "Two.",
        ]


WRITER = """
import sys
from recollect.contracts.pages import MemoryFiles
from recollect.errors import Conflict

with MemoryFiles(sys.argv[1]) as files:
    try:
        files.create("project-apollo.md", f"Created by {sys.argv[2]}")
        print("created")
    except Conflict:
        print("exists")
    for n in range(20):
        print(files.append("project-apollo.md", f"Entry {n} of {sys.argv[2]}.", ["x"]))
"""


def test_two_programs_append_to_one_file(tmp_path: Path) -> None:
    """Nothing is lost, in the ledger and in the file; the file was created once."""
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WRITER, str(tmp_path), name],
            env=environment(), stdout=subprocess.PIPE, text=True,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    said = [process.communicate(timeout=120)[0].split() for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert sorted(lines[0] for lines in said) == ["created", "exists"]
    page = (tmp_path / "memory" / "project-apollo.md").read_text()
    for name, lines in zip(("one", "two"), said, strict=True):
        assert [id for id in ID.findall(page) if id in lines] == lines[1:]
        assert re.findall(rf"Entry (\d+) of {name}\.", page) == [str(n) for n in range(20)]
    assert "entry_count: 40\n" in page
    with Memory.open(tmp_path) as memory:
        assert memory.admin.verify(deep=True).ok


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file")
    with pytest.raises(Unavailable, match="memory"):
        MemoryFiles(tmp_path)
    assert (tmp_path / "memory").read_text() == "a file"


def test_the_count_of_entries_is_kept_in_sync(tmp_path: Path) -> None:
    # S3-197: after every kind of change, wherever it is read
    with MemoryFiles(tmp_path, trust="person") as files:

        def count(expected: int) -> None:
            page = (files.folder / "user-profile.md").read_text()
            (listed,) = [one for one in files.list_memories() if one.path == "user-profile.md"]
            assert f"entry_count: {expected}\n" in page
            assert page.count("\n## [") == expected
            assert listed.entry_count == expected
            assert files.read_memory("user-profile").entry_count == expected

        count(0)
        old = files.append("user-profile", "User works at Old Corp.", ["work"])
        tea = files.append("user-profile", "User likes tea.", ["food"])
        count(2)
        files.supersede("user-profile", old, "User works at Acme.", "moved", ["work"])
        count(3)
        with Memory.open(tmp_path) as memory:
            memory.forget(tea)
        files.rebuild_index()
        count(2)
        files.compact("user-profile")
        count(2)
