"""`recollect admin clean`: what is shown, what is asked, what goes and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import Changed, Forbidden, Unsupported
from recollect.memory.erasure.clean import clean
from recollect.memory.handle.handle import handle_of
from recollect.model import limits
from recollect.store.disk.layout import SETTINGS
from tests.cli.running import Shell
from tests.memory_suites.pages.pages import holding

CANARY = "canary-9c1e"
EMBEDDER = '{"embedder":"none"}'


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A store with something of everything."""
    with Memory.open(shell.folder / "app") as memory:
        fill(memory)
    (shell.folder / "app" / SETTINGS).write_text(EMBEDDER)
    return shell


def fill(memory: Memory) -> None:
    said = memory.observe(f"{CANARY} said", session=f"{CANARY}-open")[0]
    mine = memory.scoped(user="ann", session=f"{CANARY}-ann")
    mine.observe(f"{CANARY} by Ann")
    for handle in (memory, mine):
        handle.sessions.open(f"{CANARY}-s", task_type=CANARY)
    old = memory.remember(f"{CANARY} old", about=f"{CANARY} thing", key=f"{CANARY}.k")
    new = memory.remember(f"{CANARY} new", about=f"{CANARY} thing", key=f"{CANARY}.k")
    mine.remember(f"{CANARY} of Ann", evidence=[], tags=[CANARY])
    memory.graph.link(new.id, old.id, "relates_to")
    memory.forget(memory.remember(f"{CANARY} forgotten").id)
    memory.scoped(trust="unverified").remember(f"{CANARY} held")
    memory.scoped(trust="agent").review.propose(f"{CANARY} proposed", evidence=[said.id])
    memory.scoped(trust="agent").review.propose(f"{CANARY} alone")
    page = next(page.name for page in memory.pages.list() if CANARY in page.name)
    memory.pages.describe(page, description=f"{CANARY} described")
    memory.pages.flag(page, f"{CANARY} flagged")
    memory.pages.unflag(page)
    memory.pages.set_limits(auto_dormant_days=7)
    memory.settings.documents.set("policy", "agents", {"delete": "review"})
    memory.pages.render()
    memory.context(f"{CANARY} new", receipt=True)
    memory.recall(CANARY)


def files_with(shell: Shell) -> list[str]:
    return holding(shell.folder / "app", CANARY)


def test_a_dry_run_shows_what_would_go(filled: Shell) -> None:
    before = files_with(filled)
    ran = filled.run("--store", "app", "admin", "clean", "all", "--dry-run")
    assert ran.code == 0
    assert ran.out.startswith("Would erase from the space main in ")
    assert "5 records, 2 episodes, 2 sessions, 1 receipt, 2 proposals, 2 documents" in ran.out
    assert CANARY not in ran.out
    assert files_with(filled) == before != []  # the control


def test_clean_memory_leaves_what_was_said(filled: Shell) -> None:
    # S3-223: records and pages go; S3-225: settings stay
    ran = filled.run("--store", "app", "admin", "clean", "memory", "--yes", "--json")
    assert (ran.code, ran.json["records"], ran.json["episodes"]) == (0, 5, 0)
    with Memory.open(filled.folder / "app") as memory:
        assert memory.list(include=["archived", "forgotten", "waiting"]) == []
        assert memory.review.list() == []
        assert {page.name for page in memory.pages.list()} == {"user-preferences", "user-profile"}
        assert (
            memory.settings.documents.list("page")
            == memory.settings.documents.list("page_flag")
            == []
        )
        assert [hit.text for hit in memory.recall(CANARY, unit="episode")] != []
        settings_stay(filled, memory)
        assert {finding.level for finding in memory.admin.doctor()} <= {"ok", "info"}
    pages = filled.folder / "app" / "pages"
    assert holding(pages, CANARY) == []


def settings_stay(shell: Shell, memory: Memory) -> None:
    assert (shell.folder / "app" / SETTINGS).read_text() == EMBEDDER
    assert memory.pages.limits().auto_dormant_days == 7
    assert memory.settings.documents.get("policy", "agents").data == {"delete": "review"}


def test_clean_all_leaves_no_word(filled: Shell) -> None:
    # S3-224 S3-225
    ran = filled.run("--store", "app", "admin", "clean", "all", "--yes")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Erased from the space main:\n  5 records, 2 episodes, 2 sessions")
    assert files_with(filled) == []
    with Memory.open(filled.folder / "app") as memory:
        settings_stay(filled, memory)
        assert {finding.level for finding in memory.admin.doctor()} <= {"ok", "info"}
        assert memory.remember("New.").text == "New."
        assert len(memory.recall(CANARY)) == 0
    again = filled.run("--store", "app", "admin", "clean", "all", "--yes", "--json").json
    assert (again["records"], again["episodes"], again["sessions"]) == (1, 0, 0)
    assert (
        "there is nothing to erase"
        in filled.run("--store", "app", "admin", "clean", "all", "--yes").out
    )


def test_the_name_is_typed_again(filled: Shell) -> None:  # S3-223
    before = files_with(filled)
    for typed in ("y\n", "yes\n", "\n", "Main\n"):
        assert filled.terminal("--store", "app", "admin", "clean", "memory", typed=typed).code != 0
        assert files_with(filled) == before
    ran = filled.terminal("--store", "app", "admin", "clean", "memory", typed="main\n")
    assert ran.code == 0
    assert "Would erase from the space" in ran.out
    assert "Erased from the space" in ran.out


def test_what_is_refused(filled: Shell) -> None:  # S3-223
    before = files_with(filled)
    words = ("--store", "app", "admin", "clean", "all")
    asked = filled.process(*words)  # no terminal
    assert (asked.code, "needs a confirmation" in asked.err) == (4, True), asked
    assert filled.run(*words, "--json").code == 4
    assert filled.run("admin", "clean", "all", "--yes").code == 2  # which store?
    assert filled.run("--store", "app", "admin", "clean", "settings", "--yes").code == 2
    assert files_with(filled) == before


def test_something_written_meanwhile_is_noticed(filled: Shell) -> None:
    before = files_with(filled)
    with Memory.open(filled.folder / "app") as memory:
        position = memory.events.position
        memory.remember("Written meanwhile.")
        with pytest.raises(Changed):
            clean(handle_of(memory), "all", expect=position)
    assert set(before) <= set(files_with(filled))


def test_who_may_not(filled: Shell) -> None:
    with Memory.open(filled.folder / "app") as memory:
        for handle in (memory.scoped(trust="agent"), memory.scoped(user="ann")):
            with pytest.raises(Forbidden):
                clean(handle_of(handle), "memory")
        with pytest.raises(Unsupported):
            clean(handle_of(memory.at(1)), "memory")
    assert files_with(filled) != []


def test_an_interrupted_clean_is_finished(filled: Shell) -> None:
    class Interruption(Exception):
        """The process is stopped."""

    def stop(done: int, of: int) -> None:
        raise Interruption

    with Memory.open(filled.folder / "app") as memory:
        with memory.batch() as batch:
            for number in range(limits.ERASE_AT_ONCE_MAX_COUNT + 50):
                batch.remember(f"{CANARY} number {number}")
        with pytest.raises(Interruption):
            clean(handle_of(memory), "all", progress=stop)
    assert files_with(filled) != []
    assert filled.run("--store", "app", "admin", "clean", "all", "--yes").code == 0
    assert files_with(filled) == []


def test_pages_elsewhere_are_not_touched(filled: Shell, tmp_path: Path) -> None:
    """The control of the canary: what is rendered into another folder stays, as documented."""
    with Memory.open(filled.folder / "app") as memory:
        memory.pages.render(tmp_path / "vault")
    filled.run("--store", "app", "admin", "clean", "all", "--yes")
    assert holding(tmp_path / "vault", CANARY) != []
