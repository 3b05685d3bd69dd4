"""``recollect import`` and ``recollect export``: what they print, for people and for programs."""

from __future__ import annotations

import json

from tests.cli.running import Shell

ENTITY = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Ada sings"]}


def test_names_from_files_bring_no_escapes_to_the_terminal(store: Shell) -> None:
    folder = store.folder / "notes"
    folder.mkdir()
    bad = "evil\x1b[31m\x07.json"
    (folder / bad).write_text(f"{json.dumps(ENTITY)}\n{{broken\n", "utf-8")
    done = store.run("import", "mcp-memory", "notes")
    assert done.code == 0
    assert "not imported: 1" in done.out
    assert "evil" in done.out
    assert not {"\x1b", "\x07"} & set(done.out + done.err)


def test_an_import_answers_a_program_too(store: Shell) -> None:
    (store.folder / "memory.json").write_text(f"{json.dumps(ENTITY)}\n", "utf-8")
    planned = json.loads(store.run("import", "memory.json", "--dry-run", "--json").out)
    assert (planned["kept"], planned["dry_run"]) == (2, True)
    done = json.loads(store.run("import", "memory.json", "--json").out)
    assert (done["format"], done["kept"], done["known"]) == ("mcp-memory", 2, 0)
    again = json.loads(store.run("import", "memory.json", "--json").out)
    assert (again["kept"], again["known"]) == (0, 2)
    held = store.run("import", "memory.json", "--hold")
    assert "imported before: 2" in held.out


def test_a_dry_run_needs_no_memory(shell: Shell) -> None:
    (shell.folder / "memory.json").write_text(f"{json.dumps(ENTITY)}\n", "utf-8")
    planned = shell.run("import", "memory.json", "--dry-run")
    assert (planned.code, planned.out[:22]) == (0, "Would import 2 records")
    assert not (shell.folder / ".recollect").exists()
    assert shell.run("list").code == 3  # nothing was created


def test_an_export_is_of_a_position_and_overwrites_nothing(store: Shell) -> None:
    store.run("remember", "The gate opens at noon.")
    store.run("remember", "The gate is green.")
    assert store.run("export", "ndjson", "then", "--at", "2").code == 0
    assert "green" not in (store.folder / "then").read_text("utf-8")
    again = store.run("export", "ndjson", "then")
    assert again.code != 0
    assert "exists already" in again.err


def test_a_wrong_format_and_a_missing_file_are_told(store: Shell) -> None:
    (store.folder / "plain.txt").write_text("hello\n", "utf-8")
    (store.folder / "memory.json").write_text(f"{json.dumps(ENTITY)}\n", "utf-8")
    for file, format in (("plain.txt", "markdown"), ("memory.json", "claude-code")):
        wrong = store.run("import", format, file)
        assert wrong.code == 1
        assert wrong.out.startswith(f"Nothing of the format {format} is in {file}\n")
    missing = store.run("import", "mem0")
    assert missing.code == 2
    assert "mem0 is a format, and the file is missing" in missing.err


def test_a_second_import_tells_what_ended_what_is_missing_and_what_was_left_out(
    store: Shell,
) -> None:
    notes = store.folder / "notes"
    notes.mkdir()
    text = "---\npermalink: a\n---\n- [fact] Tea is green\n- [tip] Drink it hot, [[Bo]]\n"
    (notes / "a.md").write_text(text, "utf-8")
    (notes / "b.md").write_text("---\npermalink: b\n---\n", "utf-8")
    (notes / "tea.png").write_bytes(b"\x89PNG")
    first = store.run("import", "notes")
    assert "not taken over: files that are not notes (1)" in first.out
    assert "not taken over: links to something that is not there yet (1)" in first.out
    (notes / "a.md").write_text(text.replace("- [fact] Tea is green\n", ""), "utf-8")
    (notes / "b.md").unlink()
    again = store.run("import", "notes")
    assert "deleted there, and forgotten here: 1" in again.out
    assert "imported before and not in it now, unchanged here: 1" in again.out
