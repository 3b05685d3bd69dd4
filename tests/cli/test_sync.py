"""``recollect pages sync``: shown, asked, and never without a yes."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Shell

ASKED = "Take over 1 change? [y/N]"


def page_of(store: Shell, *about: str) -> Path:
    """A memory with one record on one page."""
    store.run("remember", "Alice sits in row 3.", "--about", *(about or ("person:Alice",)))
    folder = Path(store.run("pages", "sync", "--json").json["folder"])
    (page,) = folder.glob("person-*.md")
    return page


def edit(page: Path, old: str, new: str) -> None:
    page.write_text(page.read_text().replace(old, new))


def test_without_a_terminal_it_only_shows(store: Shell) -> None:
    page = page_of(store)
    edit(page, "row 3", "row 4")
    shown = store.run("pages", "sync")
    assert shown.code == 4
    assert "- Alice sits in row 3.\n    + Alice sits in row 4.\n" in shown.out
    assert "--yes takes this over" in shown.err
    plan = store.run("pages", "sync", "--json")
    assert plan.code == 4
    assert [one["what"] for one in plan.json["changes"]] == ["text"]
    assert "row 4" not in store.run("list").out
    assert "row 4" in page.read_text()


@pytest.mark.parametrize("more", ["## Habits\nAlice drinks tea.\n", "Alice drinks tea.\n"])
def test_text_below_an_entry_is_told_how_to_be_its_own(store: Shell, more: str) -> None:
    page = page_of(store)
    page.write_text(f"{page.read_text()}\n{more}")
    assert "begin with a line such as ## [today]" in store.run("pages", "sync").out
    edit(page, more, f"## [today]\n{more}")
    own = store.run("pages", "sync").out
    assert "new" in own
    assert "## [today]" not in own


def test_yes_takes_over(store: Shell) -> None:
    page = page_of(store)
    edit(page, "row 3", "row 4")
    done = store.run("pages", "sync", "--yes")
    assert (done.code, "1 change taken over" in done.out) == (0, True)
    assert "row 4" in store.run("list").out
    assert store.run("pages", "sync", "--json").json["applied"] == []


STRUCK = "\n~~Alice sits in row 3.~~\n"


def strike(page: Path) -> None:
    edit(page, "\nAlice sits in row 3.\n", STRUCK)
    assert STRUCK in page.read_text()


def test_a_struck_entry_does_not_hold_and_stays(store: Shell) -> None:
    # S3-175: shown, taken over on a yes, and taken back by removing the marks
    page = page_of(store)
    (known,) = store.run("list", "--json").json["records"]
    strike(page)
    shown = store.run("pages", "sync")
    assert shown.code == 4
    assert f"  strike {known['id']}\n    - Alice sits in row 3.\n" in shown.out
    assert "row 3" in store.run("list").out
    done = store.run("pages", "sync", "--yes")
    assert (done.code, "1 change taken over" in done.out) == (0, True)
    assert "row 3" not in store.run("list").out
    assert STRUCK in store.run("pages", "show", "person-alice").out
    assert STRUCK in page.read_text()
    assert store.run("pages", "sync", "--json").json["applied"] == []
    edit(page, "~~", "")
    assert f"  restore {known['id']}\n" in store.run("pages", "sync").out
    assert store.run("pages", "sync", "--yes").code == 0
    assert "row 3" in store.run("list").out


def test_a_stroke_with_less_trust_is_reviewed_as_one(store: Shell) -> None:
    page = page_of(store)
    strike(page)
    assert (
        "1 waiting for a review" in store.run("pages", "sync", "--yes", "--trust", "unverified").out
    )
    assert "refute a record" in store.run("review").out
    asked = store.terminal("review", typed="a\n").out
    assert "would be refuted: struck through" in asked
    assert "would become rejected" not in asked
    assert "row 3" not in store.run("list").out
    store.run("pages", "render")
    assert STRUCK in page.read_text()


def test_a_terminal_asks(store: Shell) -> None:
    page = page_of(store)
    edit(page, "row 3", "row 4")
    asked = store.terminal("pages", "sync", typed="n\n")
    assert ASKED in asked.out
    assert "row 4" not in store.run("list").out
    assert store.terminal("pages", "sync", typed="y\n").code == 0
    assert "row 4" in store.run("list").out


def test_what_is_saved_while_it_asks_is_not_taken_over(store: Shell) -> None:
    page = page_of(store)
    edit(page, "row 3", "row 4")
    ran = store.terminal(
        "pages", "sync", typed="y\n", meanwhile=lambda: edit(page, "row 4", "row 5")
    )
    assert ran.code == 5
    assert "changed since they were shown" in ran.out
    assert "row 3" in store.run("list").out
    assert "row 5" in page.read_text()


def test_a_conflict_is_shown_side_by_side(store: Shell) -> None:
    page = page_of(store)
    edit(page, "row 3", "row 4")
    (record,) = store.run("list", "--json").json["records"]
    store.run("revise", record["id"], "Alice sits in row 9.")
    shown = store.run("pages", "sync", "--yes")
    assert shown.code == 5
    for line in ("was    Alice sits in row 3.", "page   Alice sits in row 4.", "memory Alice"):
        assert line in shown.out
    assert "Left as they are" in shown.out
    assert "row 9" in store.run("list").out
    skipped = store.terminal("pages", "sync", typed="s\ny\n")
    assert "row 9" in store.run("list").out
    assert skipped.code == 5
    assert store.terminal("pages", "sync", typed="p\ny\n").code == 0
    assert "row 4" in store.run("list").out


def test_take_decides_without_asking(store: Shell) -> None:
    page = page_of(store)
    edit(page, "row 3", "row 4")
    (record,) = store.run("list", "--json").json["records"]
    store.run("revise", record["id"], "Alice sits in row 9.")
    assert store.run("pages", "sync", "--yes", "--take", "memory").code == 0
    assert "row 9" in page.read_text()


def test_less_trust_lowers(store: Shell) -> None:
    page = page_of(store)
    edit(page, "row 3", "row 4")
    done = store.run("pages", "sync", "--yes", "--trust", "unverified")
    assert "1 waiting for a review" in done.out
    assert "row 4" not in store.run("list").out
    assert "row 4" in page.read_text()


def test_what_cannot_be_read_has_an_exit_code(store: Shell) -> None:
    page = page_of(store)
    page.write_bytes(b"\xff")
    done = store.run("pages", "sync")
    assert (done.code, "person-alice.md: not UTF-8: byte 1" in done.out) == (1, True)
    assert page.read_bytes() == b"\xff"
    assert store.run("pages", "sync", str(page)).code == 2


def test_a_memory_from_elsewhere_is_not_written(shell: Shell) -> None:
    place = shell.folder / ".recollect"
    shell.run("--store", str(place), "remember", "Alice sits in row 3.", "--about", "person:Alice")
    folder = Path(shell.run("--store", str(place), "pages", "sync", "--json").json["folder"])
    edit(folder / "person-alice.md", "row 3", "row 4")
    refused = shell.run("pages", "sync", "--yes")  # found here, but never adopted
    assert refused.code == 4
    assert "was not created on this machine" in refused.err
    assert "row 4" in (folder / "person-alice.md").read_text()
    assert "row 3" in shell.run("list").out
    assert shell.run("init", "--yes").code == 0
    assert shell.run("pages", "sync", "--yes").code == 0
    assert "row 4" in shell.run("list").out


def test_rebuild_index_rebuilds_and_takes_over(store: Shell) -> None:  # S3-179 S3-221
    page = page_of(store)
    edit(page, "row 3", "row 4")
    index = page.parent.parent / "index.db"
    before = index.stat().st_ino
    shown = store.run("admin", "rebuild-index")
    assert (shown.code, "Rebuilt the index from" in shown.err) == (4, True)
    assert index.stat().st_ino != before
    assert "row 4" not in store.run("list").out
    for applied in (1, 0):
        done = store.run("admin", "rebuild-index", "--yes", "--json")
        assert (done.code, len(done.json["applied"])) == (0, applied)
    assert "row 4" in store.run("list").out


def watching(store: Shell) -> subprocess.Popen[bytes]:
    """A watch that has begun."""
    process = subprocess.Popen(
        [COMMAND, "pages", "sync", "--watch"],
        cwd=store.folder,
        env=store.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert b"Watching" in process.stderr.readline()
    return process


def waits_for(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_watch_renders_and_proposes(store: Shell, how: signal.Signals) -> None:
    page = page_of(store)
    process = watching(store)
    try:
        store.run("remember", "Alice likes tea.", "--about", "person:Alice")
        waits_for(lambda: "likes tea" in page.read_text())
        edit(page, "row 3", "row 4")
        waits_for(lambda: "row 4" in store.run("review").out)
        assert "row 3" in store.run("list").out
        (one,) = store.run("review", "--json").json["waiting"]
        assert one["trust"] == "unverified"
        assert "row 4" in page.read_text()
    finally:
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"1 waiting for a review" in out
    assert err == b""
    assert len(store.run("review", "--json").json["waiting"]) == 1


def test_a_watch_proposes_a_stroke_as_one(store: Shell) -> None:
    page = page_of(store)
    process = watching(store)
    try:
        strike(page)
        waits_for(lambda: bool(store.run("review", "--json").json["waiting"]))
        (one,) = store.run("review", "--json").json["waiting"]
        assert (one["intent"], one["changes"]) == ("delete", {"why": "rejected"})
        seen = f"{one['id']}@{one['digest']}"
        assert store.run("review", "approve", seen).code == 0
        waits_for(lambda: page.read_text() == store.run("pages", "show", "person-alice").out)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert STRUCK in page.read_text()


def test_a_watch_takes_no_answers(store: Shell) -> None:
    for option in ("--yes", "--json"):
        assert store.run("pages", "sync", "--watch", option).code == 2


UNKNOWN = "\n## [2026-04-21T09:15:00] {id: 20260421-0915-c4f1a5} #work\nAlice joined Acme.\n"


def test_entries_from_elsewhere_are_left_and_offered(store: Shell) -> None:
    page = page_of(store)
    page.write_text(page.read_text() + UNKNOWN)
    for _ in range(2):
        left = store.run("pages", "sync")
        assert left.code == 1
        assert "20260421-0915-c4f1a5 is not in this memory" in left.out
        assert "--unknown adopt" in left.err
    assert store.run("pages", "sync", "--unknown", "adopt").code == 4  # nobody said yes
    assert UNKNOWN in page.read_text()
    done = store.run("pages", "sync", "--unknown", "adopt", "--yes")
    assert (done.code, "1 adopted" in done.out) == (0, True)
    assert UNKNOWN in page.read_text()
    assert "Alice joined Acme." in store.run("list").out


@pytest.mark.parametrize(("answer", "is_there"), [("a", True), ("k", False), ("l", True)])
def test_a_terminal_asks_about_entries_from_elsewhere(
    store: Shell, answer: str, is_there: bool
) -> None:
    page = page_of(store)
    page.write_text(page.read_text() + UNKNOWN)
    asked = store.terminal("pages", "sync", typed=f"what\n{answer}\n")
    assert "1 entry is not in this memory: erased, or from elsewhere." in asked.out
    assert (UNKNOWN in page.read_text()) == is_there
    assert ("Alice joined Acme." in store.run("list").out) == (answer == "a")
    assert (page.parent / "aside" / page.name).exists() == (answer == "k")
    assert "Alice sits in row 3." in page.read_text()


def test_a_watch_adopts_nothing(store: Shell) -> None:
    assert "leave out" in store.run("pages", "sync", "--watch", "--unknown", "adopt").err


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_what_was_deleted_is_forgotten_only_on_a_yes(store: Shell, answer: str) -> None:
    # S3-221
    page = page_of(store)
    page.unlink()
    ran = store.terminal("pages", "sync", typed=f"{answer}\n")
    assert (ran.code, "the file was deleted, with 1 entry" in ran.out) == (0, True), ran
    assert "Forget 1 entry? [y/N]" in ran.out
    assert ("row 3" in store.run("list").out, page.exists()) == ((False,) * 2, (True,) * 2)[
        answer != "y"
    ]
    again = store.run("pages", "sync")
    assert (again.code, "was deleted," in again.out) == (0, False)
    if answer == "y":  # and it can be undone
        assert store.run("undo", "--yes").code == 0
        assert "row 3" in store.run("list").out


@pytest.mark.parametrize(
    "words",
    [
        (
            "pages",
            "sync",
        ),
        ("pages", "sync", "--yes"),
        ("pages", "render"),
    ],
)
def test_nothing_is_forgotten_without_being_asked(store: Shell, words: tuple[str, ...]) -> None:
    page = page_of(store)
    page.unlink()
    ran = store.run(*words)
    assert (ran.code, "person-alice.md" in ran.out) == (0, True), ran
    assert "row 3" in page.read_text()
    assert "row 3" in store.run("list").out
