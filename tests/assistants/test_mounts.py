"""Two memories side by side: the project's and the person's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.errors import (
    Ambiguous,
    ConfigError,
    Forbidden,
    IntegrityError,
    InvalidInput,
    NotFound,
)
from recollect.memory import Memory
from recollect.model.limits import UNVERIFIED_MAX_HITS
from tests.config.test_config import repository


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(home: Path) -> Path:
    (home / "code" / "deep").mkdir(parents=True)
    return home / "code"


def mounts_at(start: Path, home: Path, **environment: str) -> Mounts:
    return Mounts(places(start=start, home=home, environment=environment))


@pytest.fixture
def both(project: Path, home: Path) -> Iterator[Mounts]:
    (project / ".recollect").mkdir()
    with mounts_at(project / "deep", home) as mounts:
        yield mounts


def texts(mounts: Mounts, query: str) -> list[tuple[str, str]]:
    return [(hit.mount, hit.value.text) for hit in mounts.recall(query).hits]


def everything_below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_an_answer_says_which_texts_have_no_vectors_yet(
    both: Mounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.embed.static.StaticEmbedder.recall_max_pieces", 1)
    for mount in ("project", "personal"):
        for number in range(3):
            both.remember(f"Server {number} listens.", mount=mount)
    lacking = "2 texts have no vectors yet: run `recollect admin embed`"
    assert both.recall("server").notes == (lacking,)
    assert both.context("server").notes == (lacking.replace("2 texts have", "1 text has"),)
    assert both.recall("server").notes == ()


def test_reading_makes_nothing(project: Path, home: Path) -> None:
    before = everything_below(home)
    with mounts_at(project, home) as mounts:
        assert mounts.recall("anything").hits == ()
        assert mounts.context("anything").text == ""
        assert mounts.readers() == []
        for ask in (mounts.get, mounts.history, mounts.why, mounts.forget):
            with pytest.raises(NotFound):
                ask("20260101-0000-abcdef")
    assert everything_below(home) == before


def test_a_first_write_goes_to_me_unless_there_is_a_project(project: Path, home: Path) -> None:
    with mounts_at(project, home) as mounts:
        assert mounts.remember("I drink tea.").mount == "personal"
        assert not (project / ".recollect").exists()
        assert mounts.remember("We build with make.", mount="project").mount == "project"
        assert mounts.remember("The tests are in tests.").mount == "project"
        assert (project / ".recollect" / ".gitignore").read_text() == "*\n"
        assert (home / ".recollect" / ".gitignore").read_text() == "*\n"


def test_a_projects_memory_is_made_in_the_git_folder_of_its_repository(
    project: Path, home: Path
) -> None:
    repository(project)
    with mounts_at(project / "deep", home) as mounts:
        mounts.remember("We build with make.", mount="project")
    assert (project / ".git" / "recollect" / "events.wal").exists()


def test_in_a_repository_a_write_goes_to_the_project_and_keys_never_meet(
    project: Path, home: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    repository(project)
    repository(other)
    with mounts_at(project / "deep", home) as one, mounts_at(other, home) as two:
        assert one.remember("The database is on port 5433.", key="db.port").mount == "project"
        assert two.remember("The database is on port 3306.", key="db.port").mount == "project"
        assert texts(one, "database port") == [("project", "The database is on port 5433.")]
        assert texts(two, "database port") == [("project", "The database is on port 3306.")]
        assert one.observe("Said here.").mount == "project"
        assert one.remember("I drink tea.", mount="personal").mount == "personal"
    assert (project / ".git" / "recollect" / "events.wal").exists()
    assert not (project / ".recollect").exists()


def test_a_repository_that_does_not_point_back_gets_a_folder_of_its_own(
    project: Path, home: Path
) -> None:
    (project / ".git").symlink_to(home / "elsewhere")
    with mounts_at(project / "deep", home) as mounts:
        assert mounts.remember("We build with make.").mount == "project"
    assert (project / ".recollect" / "events.wal").exists()


def test_a_home_under_git_is_not_a_project(home: Path, project: Path) -> None:
    repository(home)
    with mounts_at(project, home) as mounts:
        assert mounts.remember("I drink tea.").mount == "personal"


def test_a_named_store_is_the_projects(project: Path, home: Path, tmp_path: Path) -> None:
    named = tmp_path / "named"
    with mounts_at(project, home, RECOLLECT_STORE=str(named)) as mounts:
        assert mounts.remember("Here.").mount == "project"
        assert mounts.place("project") == str(named)
    assert (named / "events.wal").exists()
    with mounts_at(project, home, RECOLLECT_STORE=":memory:") as mounts:
        assert mounts.recall("here").hits == ()
        assert mounts.remember("Kept here for a moment.").mount == "project"
        assert texts(mounts, "moment") == [("project", "Kept here for a moment.")]


def test_recall_asks_both_and_says_from_where(both: Mounts) -> None:
    both.remember("The deploy key of this project is in the vault.", mount="project")
    both.remember("I keep the deploy key in my own pocket.", mount="personal")
    both.remember("A key opens doors.", mount="personal")
    assert texts(both, "deploy key project") == [
        ("project", "The deploy key of this project is in the vault."),
        ("personal", "I keep the deploy key in my own pocket."),
        ("personal", "A key opens doors."),
    ]
    assert texts(both, "deploy key pocket")[0][0] == "personal"
    assert len(both.recall("key", k=2).hits) == 2
    assert {hit.mount for hit in both.recall("key", mount="personal").hits} == {"personal"}


def test_each_mounts_own_order_is_kept(both: Mounts) -> None:
    for number in range(12):
        mount = "personal" if number % 3 else "project"
        both.remember(f"tea {'and water ' * (number % 5)}number {number}", mount=mount)
    merged = both.recall("tea water", k=100).hits
    for mount, memory in both.readers():
        own = [hit.id for hit in memory.recall("tea water", k=100)]
        assert [hit.value.id for hit in merged if hit.mount == mount] == own


def test_a_context_packs_both_under_one_budget(both: Mounts) -> None:
    for number in range(30):
        mount = "personal" if number % 2 else "project"
        both.remember(f"Tea number {number} is green.", mount=mount)
    context = both.context("green tea", tokens=200)
    assert 0 < context.tokens <= 200
    assert {hit.mount for hit in context.hits} == {"project", "personal"}
    assert len(context.hits) + len(context.omitted) == 30
    for hit in context.hits:
        assert hit.value.text in str(context)


def test_the_same_id_in_both_is_told_apart(both: Mounts) -> None:
    for mount, memory in [both.writer("project"), both.writer("personal")]:
        memory.remember(f"Tea of {mount}.", id="tea")
    assert both.get("tea").mount == "project"
    assert both.get("tea", mount="personal").value.text == "Tea of personal."
    assert {hit.mount for hit in both.context("tea").hits} == {"project", "personal"}


def test_an_id_is_found_in_either(both: Mounts) -> None:
    mine = both.remember("I drink coffee.", mount="personal").value
    ours = both.remember("We deploy on Monday.").value
    assert both.revise(mine.id, "I drink tea.", reason="said so").mount == "personal"
    assert both.revise(ours.content_id, "We deploy on Tuesday.").mount == "project"
    assert [step.what for step in both.history(mine.id).value] == ["added", "revised"]
    assert both.why(ours.id).value.record.text == "We deploy on Tuesday."
    assert both.forget(mine.id).mount == "personal"
    assert texts(both, "drink tea coffee") == []
    assert both.get(mine.id).value.id == mine.id


def test_what_is_unverified_in_either_stays_apart(both: Mounts) -> None:
    for mount in ("project", "personal"):
        for number in range(4):
            both.observe(f"tea {mount} {number}", role="tool", mount=mount)
        both.remember(f"Trusted tea {mount}.", mount=mount)
    found = both.recall("tea")
    assert {hit.value.text for hit in found.hits} == {
        "Trusted tea project.",
        "Trusted tea personal.",
    }
    assert len(found.unverified) == UNVERIFIED_MAX_HITS
    assert found.waiting == 8
    assert "tea project 0" not in str(both.context("tea"))


def test_in_the_home_folder_both_are_one(home: Path) -> None:
    with mounts_at(home, home) as mounts:
        assert mounts.remember("One.", mount="project").mount == "personal"
        assert [mount for mount, _ in mounts.readers()] == ["personal"]
        assert len(mounts.recall("one").hits) == 1


def test_a_memory_made_by_another_process_is_seen(both: Mounts, project: Path, home: Path) -> None:
    assert both.readers() == []
    with mounts_at(project, home) as other:
        other.remember("From another process.", mount="project")
    assert texts(both, "another") == [("project", "From another process.")]


def test_a_memory_that_came_from_elsewhere_has_no_part(both: Mounts, project: Path) -> None:
    with Memory.open(project / ".recollect") as other:
        other.remember("From elsewhere.")
    before = (project / ".recollect" / "events.wal").read_bytes()
    found = both.recall("elsewhere")
    assert found.hits == found.unverified == ()
    assert both.readers() == both.readers("project") == []
    assert "was not created on this machine" in found.notes[0]
    assert "was not created on this machine" in both.context("elsewhere").notes[0]
    for mount in (None, "project"):
        with pytest.raises(Forbidden, match="was not created on this machine"):
            both.remember("Into it.", mount=mount)
    assert both.remember("Into mine.", mount="personal").mount == "personal"
    assert (project / ".recollect" / "events.wal").read_bytes() == before


def test_what_could_not_be_listed_is_not_made(project: Path, home: Path) -> None:
    (home / ".recollect").write_text("a file where a folder should be")
    with mounts_at(project, home) as mounts, pytest.raises(ConfigError, match="known memories"):
        mounts.remember("Nowhere to list it.", mount="project")
    assert not (project / ".recollect").exists()


def test_every_handle_is_narrowed(project: Path, home: Path) -> None:
    at = places(start=project, home=home, environment={})
    with Mounts(at, scope=Scoping(trust="agent", agent="helper")) as mounts:
        made = mounts.remember("An agent said so.").value
        assert made.trust == "agent"
        assert made.scope.agent == "helper"
        with Memory.open(home / ".recollect") as mine:
            person = mine.remember("A person said so.")
        assert mounts.revise(person.id, "An agent knows better.").value.pending


def test_an_unused_mount_is_never_opened(both: Mounts, home: Path) -> None:
    both.remember("First, so that the memory is listed.", mount="project")
    (home / ".recollect" / "events.wal").write_text("no ledger")
    both.remember("Only here.", mount="project")
    assert len(both.recall("here", mount="project").hits) == 1


@pytest.mark.parametrize("damaged", ["project", "personal"])
def test_a_damaged_mount_does_not_silence_the_other(
    project: Path, home: Path, damaged: str
) -> None:
    folders = {"project": project, "personal": home}
    with mounts_at(project, home) as mounts:
        for mount in folders:
            mounts.remember(f"Tea in {mount}.", mount=mount)
            mounts.remember("What comes after, so that this is no torn tail.", mount=mount)
    ledger = folders[damaged] / ".recollect" / "events.wal"
    ledger.write_bytes(ledger.read_bytes().replace(b"Tea", b"Tee"))
    (ledger.parent / "index.db").unlink()
    (well,) = set(folders) - {damaged}
    with mounts_at(project, home) as mounts:
        found = mounts.recall("tea")
        assert [hit.mount for hit in found.hits] == [well]
        assert f"the memory {damaged} could not be read (damaged)" in found.notes[0]
        assert mounts.context("tea").notes == found.notes
        with pytest.raises(IntegrityError):
            mounts.recall("tea", mount=damaged)
    for name in ("events.wal", "index.db"):
        (folders[well] / ".recollect" / name).unlink()
    with mounts_at(project, home) as mounts, pytest.raises(IntegrityError):
        mounts.recall("tea")


def test_what_cannot_be_made_is_said(project: Path, home: Path) -> None:
    (home / ".recollect").write_text("a file where a folder should be")
    with mounts_at(project, home) as mounts, pytest.raises(ConfigError):
        mounts.remember("Nowhere to go.", mount="personal")


def test_an_unknown_mount_is_refused(both: Mounts) -> None:
    for call in (
        lambda: both.recall("x", mount="ours"),
        lambda: both.remember("x", mount="../other"),
        lambda: both.get("x", mount=""),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_the_module_loads_no_driver() -> None:
    program = (
        "import sys, recollect.assistants.mounts; "
        "print([name for name in ('asyncio', 'rich', 'mcp', 'psycopg') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_a_key_in_both_must_be_chosen(both: Mounts) -> None:
    ours = both.remember("The port is 5432.", key="db.port", id="ours-1").value
    assert both.get("db.port").value == both.get("ours").value == ours
    mine = both.remember("The port is 1.", key="db.port", mount="personal", id="mine-1").value
    with pytest.raises(Ambiguous, match="ours-1 in project and mine-1 in personal"):
        both.forget("db.port")
    assert both.get("db.port", mount="personal").value == mine
    assert both.revise("mine-1", "The port is 2.").mount == "personal"
    both.remember("An id means itself.", mount="personal", id="ours")
    assert both.get("ours").mount == "personal"
    both.remember("Another.", id="ours-2")
    assert both.get("ours").mount == "personal"  # the project's two do not hide it
    with pytest.raises(Ambiguous, match="ours-1, ours-2"):
        both.get("ours-")


def test_an_id_in_one_does_not_take_the_key_of_the_other(both: Mounts) -> None:
    mine = both.remember("I am allergic to nuts.", key="allergy", mount="personal").value
    assert both.get("allergy").value == mine
    junk = both.lowered("agent").remember("junk", id="allergy", mount="project").value
    for call in (both.get, both.forget, both.history):
        with pytest.raises(Ambiguous, match=f"allergy in project and {mine.id} in personal"):
            call("allergy")
    both.lowered("agent").remember("more junk", id="pet", mount="personal")
    pet = both.remember("I have a cat.", key="pet", mount="personal").value
    with pytest.raises(Ambiguous, match=pet.id):
        both.forget("pet")  # unclear in one of them is unclear in both
    assert both.get("allergy", mount="project").value == junk
    assert both.get(mine.id).value == mine


def test_a_key_with_less_trust_does_not_block_an_id_in_the_other(both: Mounts) -> None:
    mine = both.remember("I am allergic to nuts.", id="allergy", mount="personal").value
    both.lowered("agent").remember("junk", key="allergy", mount="project")
    assert both.get("allergy").value == mine
    both.remember("The team's allergies.", key="allergy", mount="project")
    with pytest.raises(Ambiguous, match="allergy in personal"):
        both.get("allergy")
