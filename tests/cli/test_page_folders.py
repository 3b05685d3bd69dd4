"""Pages in a folder of the project, remembered by the person and cleaned by an erasure."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Shell
from tests.cli.test_sync import waits_for


@pytest.fixture
def project(store: Shell) -> Shell:
    store.run("remember", "Alice sits in row 3.", "--about", "person:Alice")
    return store


def test_a_folder_is_remembered(project: Shell) -> None:
    folder = project.folder / "docs" / "memory"
    assert project.run("pages", "sync", "docs/memory", "--yes", "--json").json["folder"] == str(
        folder
    )
    page = folder / "person-alice.md"
    page.write_text(page.read_text().replace("row 3", "row 4"))
    done = project.run("pages", "sync", "--yes", "--json").json
    assert (done["folder"], len(done["applied"])) == (str(folder), 1)
    assert project.run("pages", "status", "--json").json["folder"] == str(folder)
    assert not (project.folder / ".recollect" / "pages").exists()
    assert (project.folder / ".recollect" / ".gitignore").read_text() == "*\n"
    assert (
        not (project.folder / ".recollect" / "settings.json").exists()
        or "docs" not in (project.folder / ".recollect" / "settings.json").read_text()
    )


def test_erasing_cleans_the_remembered_folder(project: Shell) -> None:
    folder = project.folder / "docs"
    folder.mkdir()
    project.run("remember", "Bob likes tea.", "--about", "person:Bob")
    project.run("pages", "sync", "docs", "--yes")
    (folder / "README.md").write_text("Row 3 of the readme.")
    page = folder / "person-alice.md"
    page.write_text(page.read_text() + "\nA note.\n")
    (alice,) = [
        one for one in project.run("list", "--json").json["records"] if "row 3" in one["text"]
    ]
    erased = project.run("erase", alice["id"], "--yes")
    assert f"{folder}/: 1 removed" in erased.out
    assert "person-alice.md: 1 entry taken out" in erased.out
    assert not page.exists()
    assert (folder / "README.md").read_text() == "Row 3 of the readme."
    assert (folder / "person-bob.md").exists()
    for path in folder.iterdir():
        assert b"sits in row 3" not in path.read_bytes()
    (folder / ".pages.json").unlink()
    bob = project.run("list", "--json").json["records"][0]
    told = project.run("erase", bob["id"], "--yes")
    assert f"NOT checked: {folder}" in told.out


def test_erasing_takes_a_moved_entry_out_of_the_remembered_folder(project: Shell) -> None:
    folder = project.folder / "docs"
    project.run("remember", "Bob likes tea.", "--about", "person:Bob")
    project.run("pages", "sync", "docs", "--yes")
    alice, bob = folder / "person-alice.md", folder / "person-bob.md"
    entry = alice.read_text().partition("## [")[2]
    bob.write_text(bob.read_text().replace("tea", "coffee") + f"\n## [{entry}")
    (folder / ".pages.json").unlink()
    found = project.run("list", "--json").json["records"]
    (one,) = [each for each in found if "row 3" in each["text"]]
    erased = project.run("erase", one["id"], "--yes")
    assert f"cleaned       {folder}/person-bob.md: 1 entry taken out" in erased.out
    assert f"\n  NOT checked: {folder}" in erased.out
    assert "row 3" not in bob.read_text()
    assert "Bob likes coffee." in bob.read_text()


def test_erasing_names_a_file_of_ones_own_and_leaves_it(project: Shell) -> None:
    folder = project.folder / "docs"
    project.run("pages", "sync", "docs", "--yes")
    found = project.run("remember", "Bob likes tea.", "--about", "person:Bob", "--json").json
    page = project.run("pages", "show", "person-bob").out  # never rendered to the folder
    diary = folder / "diary.md"
    diary.write_text(f"# Diary\n\nMonday.\n\n## [{page.partition('## [')[2]}\n# Tuesday\n\nMine.\n")
    before = diary.read_text()
    erased = project.run("erase", found["id"], "--yes")
    assert diary.read_text() == before
    assert f"NOT checked, not a page as it was rendered: {diary}" in erased.out


@pytest.mark.parametrize("is_changed", [False, True])
def test_an_interrupted_erasure_is_finished_by_the_next_sync(
    project: Shell, is_changed: bool
) -> None:
    folder = project.folder / "docs"
    project.run("pages", "sync", "docs", "--yes")
    page = folder / "person-alice.md"
    page.write_text(page.read_text() + ("\n## [broken\n" if is_changed else ""))
    (alice,) = project.run("list", "--json").json["records"]
    home = project.home / ".recollect" / "page-folders.json"
    kept = home.read_bytes()
    home.unlink()  # as if it had been stopped before it came there
    project.run("erase", alice["id"], "--yes")
    assert page.exists()
    home.write_bytes(kept)
    told = project.run("pages", "sync").out
    assert page.exists() == is_changed  # nothing tells what a person added to it
    assert (f"{alice['id']} is not in this memory" in told) == is_changed


def test_no_clone_chooses_a_folder(project: Shell, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    refused = project.run("pages", "sync", str(outside))
    assert refused.code == 4
    assert "outside" in refused.err
    assert not outside.exists()
    assert project.run("pages", "sync", str(outside), "--yes").code == 0
    assert project.run("pages", "sync", "docs/memory", "--yes").code == 0
    memory = project.folder / "docs" / "memory"
    (project.folder / "docs").rename(project.folder / "old")
    (project.folder / "docs").symlink_to(tmp_path)  # with a pull
    (tmp_path / "memory").mkdir()
    assert project.run("pages", "sync").code == 2
    assert list((tmp_path / "memory").iterdir()) == []
    (project.folder / "docs").unlink()
    (project.folder / "old").rename(project.folder / "docs")
    assert project.run("pages", "sync").code == 0
    assert memory.exists()


def test_a_folder_with_other_files_is_asked_about(project: Shell) -> None:
    (project.folder / "src").mkdir()
    (project.folder / "src" / "main.py").write_text("x = 1\n")
    refused = project.run("pages", "sync", "src")
    assert (refused.code, "other files" in refused.err) == (4, True)
    assert [path.name for path in (project.folder / "src").iterdir()] == ["main.py"]
    assert project.run("pages", "sync", "src", "--yes").code == 0
    assert project.run("pages", "sync", "src").code == 0
    assert project.run("pages", "sync", "src/main.py").code == 2


def test_a_folder_that_does_not_exist_is_asked_about(project: Shell) -> None:
    folder = project.folder / "dcos"
    refused = project.run("pages", "sync", "dcos")
    assert (refused.code, folder.exists()) == (4, False)
    assert f"{folder} does not exist. Making it needs a confirmation" in refused.err
    assert "--yes" in refused.err
    watched = project.run("pages", "sync", "dcos", "--watch")
    assert (watched.code, folder.exists()) == (4, False)
    assert "recollect pages sync dcos --yes" in watched.err
    no = project.terminal("pages", "sync", "dcos", typed="n\n")
    assert (no.code, folder.exists()) == (1, False)
    assert not (project.home / ".recollect" / "page-folders.json").exists()
    assert project.terminal("pages", "sync", "dcos", typed="y\n").code == 0
    assert (folder / "person-alice.md").exists()
    assert project.run("pages", "sync", "dcos").code == 0  # it is known now


def test_the_name_of_a_page_is_not_a_folder(project: Shell) -> None:
    for flags in ((), ("--yes",)):
        refused = project.run("pages", "sync", "nowhere.md", *flags)
        assert refused.code == 2
        assert "nowhere.md is the name of a page" in refused.err
        assert "`recollect pages sync`" in refused.err
    project.run("pages", "sync", "docs", "--yes")
    named = project.run("pages", "sync", "docs/person-alice.md")
    assert f"`recollect pages sync {project.folder / 'docs'}`" in named.err
    assert not (project.folder / "nowhere.md").exists()


def test_the_notes_of_a_folder_stay_out_of_git(project: Shell) -> None:
    ignore = project.folder / "docs" / ".gitignore"
    project.run("pages", "sync", "docs", "--yes")
    assert not ignore.exists()  # nothing is under git here
    subprocess.run(["git", "init", "-q", project.folder], check=True)
    project.run("pages", "sync", "docs")
    assert ignore.read_text() == ".pages.json\n"
    ignore.write_text("build")
    for _ in range(2):
        project.run("pages", "sync", "docs")
        assert ignore.read_text() == "build\n.pages.json\n"
    (project.folder / "mine").write_text("build\n")
    ignore.unlink()
    ignore.symlink_to(project.folder / "mine")
    project.run("pages", "sync", "docs")
    assert (project.folder / "mine").read_text() == "build\n"


def test_a_watched_folder_is_remembered(project: Shell) -> None:
    folder = project.folder / "docs"
    folder.mkdir()
    process = subprocess.Popen(
        [COMMAND, "pages", "sync", "docs", "--watch"],
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        waits_for((folder / "person-alice.md").exists)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert project.run("pages", "status", "--json").json["folder"] == str(folder)
