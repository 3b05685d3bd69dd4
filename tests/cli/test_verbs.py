"""Every verb answers a program with one JSON document, and a person with words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Shell


def remembered(shell: Shell, *words: str) -> str:
    """Remembers and returns the id."""
    id = shell.run("remember", *words, "--json").json["id"]
    assert isinstance(id, str)
    return id


def test_init_makes_a_memory_that_git_does_not_see(shell: Shell) -> None:
    made = shell.run("init", "--json").json
    assert made["made"] is True
    assert made["where"] == str(shell.folder / ".recollect")
    assert (shell.folder / ".recollect" / ".gitignore").read_text() == "*\n"
    again = shell.run("init")
    assert "store their sessions in it" in again.out  # what init changes in a memory that exists
    assert again.code == 0
    assert "already" in again.out
    assert "Next: recollect remember" in again.out


def test_init_takes_a_folder_or_a_store_of_its_own(shell: Shell) -> None:
    assert shell.run("init", "sub").code == 0
    assert (shell.folder / "sub" / ".recollect" / "events.wal").exists()
    assert shell.run("init", "--store", "plain").code == 0
    assert (shell.folder / "plain" / "events.wal").exists()
    assert shell.run("init", "sub", "--store", "plain").code == 2


def test_remember_takes_everything_a_record_has(store: Shell) -> None:
    episode = store.run("observe", "I fly on Monday.", "--json").json["episodes"][0]["id"]
    record = store.run(
        *("remember", "Alice flies on Monday.", "--key", "alice.trip", "--about", "Alice"),
        *("--kind", "plan", "--tag", "travel", "--tag", "alice", "--confidence", "0.9"),
        *("--evidence", episode, "--expires", "30d", "--valid-from", "2026-01-01"),
        *("--valid-to", "2036-01-01T00:00Z", "--data", '{"row": 12}', "--id", "trip-1"),
        *("--user", "ann", "--session", "s1", "--agent", "planner", "--json"),
    ).json
    assert record["id"] == "trip-1"
    assert (record["key"], record["about"], record["kind"]) == ("alice.trip", "Alice", "plan")
    assert record["tags"] == ["travel", "alice"]
    assert record["evidence"] == [episode]
    assert record["data"] == {"row": 12}
    assert record["scope"] == {"user": "ann", "session": "s1", "agent": "planner"}
    assert record["expires"] > record["at"]
    assert record["valid_from"] == "2026-01-01T00:00:00.000000Z"


def test_a_change_of_what_has_changed_is_refused(store: Shell) -> None:
    seen = store.run("remember", "Seat 12A.", "--key", "seat", "--json").json
    then = str(seen["seq"])
    now = store.run("revise", "seat", "Seat 14C.", "--expect", then, "--json").json
    for words in (
        ("revise", "seat", "Seat 1F."),
        ("remember", "Seat 1F.", "--replaces", "seat"),
        ("forget", "seat"),
    ):
        refused = store.run(*words, "--expect", then, "--json")
        assert (refused.code, refused.error["code"]) == (5, "changed"), words
    assert store.run("show", "seat", "--json").json["record"]["text"] == "Seat 14C."
    assert store.run("forget", "seat", "--expect", str(now["seq"])).code == 0
    assert "give one id" in store.run("forget", "a", "b", "--expect", "1").err


def test_a_named_command_happens_once(store: Shell) -> None:
    first = store.run("remember", "Once.", "--idempotency-key", "c1", "--json").json
    again = store.run("remember", "Once.", "--idempotency-key", "c1", "--json").json
    assert first == again
    other = store.run("remember", "Twice.", "--idempotency-key", "c1", "--json")
    assert (other.code, other.error["code"]) == (5, "conflict")


def test_recall_finds_and_says_when_it_does_not(store: Shell) -> None:
    id = remembered(store, "The staging database moved to port 5433.")
    found = store.run("recall", "staging port", "--json")
    assert [hit["id"] for hit in found.json["hits"]] == [id]
    assert "port 5433" in store.run("recall", "staging port").out
    nothing = store.run("recall", "zebra", "--json")
    assert (nothing.code, nothing.json["hits"]) == (1, [])
    assert store.run("recall", "staging zebra", "--min-relevance", "0.9").code == 1
    assert store.run("recall", "staging", "--unit", "episode").code == 1


def test_a_correction_wins_and_the_past_can_be_read(store: Shell) -> None:
    old = remembered(store, "Alice takes the aisle seat.", "--key", "alice.seat")
    seq = store.run("status", "--json").json["seq"]
    new = remembered(store, "Alice takes the window seat.", "--key", "alice.seat")
    assert store.run("recall", "aisle").code == 1
    at = ("--at", str(seq), "--json")
    assert store.run("recall", "seat", *at).json["hits"][0]["id"] == old
    assert [r["id"] for r in store.run("list", *at).json["records"]] == [old]
    assert store.run("show", old, *at).json["record"]["status"] == "active"
    assert "aisle" in store.run("context", "seat", *at).json["text"]
    then = store.run("show", old, "--json").json["record"]["created_at"]
    assert store.run("recall", "seat", "--at", then, "--json").json["hits"][0]["id"] == old
    both = store.run("list", "--include", "all", "--json").json["records"]
    assert {record["id"] for record in both} == {old, new}


def test_show_folds_record_history_and_why(store: Shell) -> None:
    episode = store.run("observe", "I take the aisle.", "--json").json["episodes"][0]["id"]
    old = remembered(store, "Aisle.", "--key", "seat", "--evidence", episode)
    new = remembered(store, "Window.", "--key", "seat")
    store.run("graph", "link", new, old, "--kind", "contradicts")
    view = store.run("show", old, "--json").json
    assert [version["what"] for version in view["history"]] == ["added", "replaced"]
    assert view["why"]["sources"][0]["quote"] == "I take the aisle."
    drawn = store.run("show", old).out
    for part in (old, "Aisle.", "replaced", "I take the aisle.", "contradicts", new):
        assert part in drawn
    assert store.run("show", episode, "--json").json["episode"]["status"] == "hidden"
    assert "I take the aisle." in store.run("show", episode).out


def test_list_goes_on_page_by_page(store: Shell) -> None:
    ids = [remembered(store, f"Sentence {number}.") for number in range(3)]
    page = store.run("list", "--limit", "2", "--json").json
    first = page["records"]
    assert page["next"] == first[-1]["id"]
    assert store.run("list", "--limit", "9", "--json").json["next"] is None
    assert [record["id"] for record in first] == [ids[2], ids[1]]
    rest = store.run("list", "--limit", "2", "--after", ids[1], "--json").json["records"]
    assert [record["id"] for record in rest] == [ids[0]]
    assert f"--after {ids[1]}" in store.run("list", "--limit", "2").out


def test_revise_forget_restore_and_tag(store: Shell) -> None:
    episode = store.run("observe", "Port 5432.", "--json").json["episodes"][0]["id"]
    id = remembered(store, "The port is 5432.", "--evidence", episode)
    revised = store.run("revise", id, "The port is 5433.", "--reason", "moved", "--json").json
    assert revised["text"] == "The port is 5433."
    assert store.run("revise", id, "--tag", "ops", "--tag", "db", "--json").json["tags"] == [
        "ops",
        "db",
    ]
    assert store.run("revise", id, "--untag", "db", "--json").json["tags"] == ["ops"]
    forgotten = store.run("forget", id)
    assert "restore" in forgotten.out
    assert episode in forgotten.out
    assert store.run("recall", "port").code == 1
    assert store.run("undo", id, "--json").json["record"]["status"] == "active"


def test_forget_says_what_is_shadowed_and_what_still_shows(store: Shell) -> None:
    episode = store.run("observe", "Port 5432.", "--json").json["episodes"][0]["id"]
    id = remembered(store, "The port is 5432.", "--evidence", episode)
    gone = store.run("forget", id, "--json").json
    assert (gone["hidden"], gone["showing"]) == ([episode], [])
    store.run("undo", id)
    kept = store.run("forget", id, "--keep-sources", "--json").json
    assert (kept["hidden"], kept["showing"]) == ([], [episode])
    assert "still shown" in store.run("forget", id).out


def test_context_is_ready_to_paste(store: Shell) -> None:
    remembered(store, "The staging database moved to port 5433.")
    packed = store.run("context", "staging database")
    assert packed.out.startswith("<recollect>")
    assert "tokens" in packed.err
    assert store.run("context", "staging", "--tokens", "1").code == 1


def test_a_context_is_replayed_from_its_receipt(store: Shell) -> None:
    id = remembered(store, "The staging database moved to port 5433.")
    packed = store.run("context", "staging database", "--json").json
    store.run("revise", id, "The staging database is gone.")
    again = store.run("context", "--replay", packed["receipt"], "staging database")
    assert again.out == packed["text"] + "\n"
    assert "ranks the same" in again.err
    assert (
        store.run("context", "--replay", packed["receipt"], "--json").json["text"] == packed["text"]
    )
    assert store.run("context", "--replay", "c-nobody").code == 3
    seen = store.run("status", "--json").json["seq"]
    assert store.run("context", "staging", "--no-receipt", "--json").json["receipt"] is None
    assert store.run("status", "--json").json["seq"] == seen


def test_presets_are_json_in_and_out(store: Shell) -> None:
    remembered(store, "Never mail before noon", "--tag", "rules")
    (store.folder / "preset.json").write_text(
        store.run("settings", "preset", "show", "task", "--json").out
    )
    taken = store.run("settings", "preset", "set", "preset.json")
    assert (taken.code, "built in" in taken.err) == (5, True)
    mine = store.run("settings", "preset", "show", "self", "--json").json | {"name": "mine"}
    mine |= {"guarantees": ["rules"], "floor": 0.5, "tokens": 99}
    (store.folder / "preset.json").write_text(json.dumps(mine))
    assert "mine" in store.run("settings", "preset", "set", "preset.json").out
    assert store.run("settings", "preset", "show", "mine", "--json").json == mine
    assert "rules" in store.run("settings", "preset", "show", "mine").out
    assert [
        preset["name"]
        for preset in store.run("settings", "preset", "list", "--json").json["presets"]
    ] == [
        "self",
        "attention",
        "task",
        "mine",
    ]
    assert "attention" in store.run("settings", "preset", "list").out
    packed = store.run("context", "anything", "--preset", "mine", "--json").json
    assert "before noon" in packed["text"]
    assert (packed["preset"], packed["budget"], packed["abstained"]) == ("mine", 99, True)
    (store.folder / "preset.json").write_text(json.dumps(mine | {"weights": {}}))
    assert store.run("settings", "preset", "set", "preset.json").code == 2
    assert store.run("settings", "preset", "set", "nowhere.json").code == 2
    assert store.run("settings", "preset", "drop", "mine").code == 0
    assert store.run("settings", "preset", "show", "mine").code == 3
    (store.folder / "preset.json").write_text(json.dumps(mine))
    store.run("settings", "preset", "set", "preset.json")
    assert store.run("settings", "preset", "drop", "mine", "--erase", "--json").code == 4
    assert store.run("settings", "preset", "drop", "mine", "--erase", "--yes").code == 0


def test_link_and_unlink(store: Shell) -> None:
    one, two = remembered(store, "One."), remembered(store, "Two.")
    made = store.run(
        "graph", "link", one, two, "--kind", "supports", "--weight", "0.5", "--json"
    ).json
    assert (made["source"], made["target"], made["weight"]) == (one, two, 0.5)
    assert store.run("graph", "unlink", one, two, "--kind", "supports", "--json").json["removed"]
    assert store.run("show", one, "--json").json["why"]["links"] == []


def test_a_tool_result_is_held_apart(store: Shell) -> None:
    held = store.run("remember", "Mallory is an admin.", "--trust", "unverified", "--json").json
    assert held["status"] == "waiting"
    found = store.run("recall", "mallory admin", "--json")
    assert found.code == 1
    assert found.json["unverified"][0]["id"] == held["id"]
    assert "Unverified" in store.run("recall", "mallory admin").out
    assert store.run("recall", "mallory", "--include", "waiting", "--json").code == 0


def test_spaces_are_apart_and_options_stand_on_both_sides(shell: Shell) -> None:
    assert shell.run("--store", "s", "--space", "a", "--json", "remember", "In a.").code == 0
    assert shell.run("remember", "In b.", "--store", "s", "--space", "b", "--json").code == 0
    assert shell.run("--store", "s", "recall", "in", "--space", "a", "--json").code == 0
    assert [r["text"] for r in _records(shell, "a")] == ["In a."]
    assert shell.run("status", "--store", "s", "--space", "b", "--json").json["spaces"] == [
        "a",
        "b",
    ]
    missing = shell.run("list", "--store", "s", "--space", "c")
    assert missing.code == 3
    assert "a, b" in missing.err


def _records(shell: Shell, space: str) -> list[dict[str, str]]:
    listed = shell.run("list", "--store", "s", "--space", space, "--json").json["records"]
    assert isinstance(listed, list)
    return listed


def test_backup_restore_verify_and_rebuild(store: Shell, tmp_path: Path) -> None:
    remembered(store, "Kept.")
    copy = store.run("admin", "backup", str(tmp_path / "copy"), "--json").json
    assert copy["seq"] == 2
    restored = store.run(
        "admin", "restore-backup", copy["path"], "--store", str(tmp_path / "new"), "--json"
    )
    assert restored.json["seq"] == 2
    assert store.run("recall", "kept", "--store", str(tmp_path / "new")).code == 0
    before = store.run("admin", "rebuild", "--json").json
    assert before == store.run("admin", "rebuild", "--json").json
    check = store.run("admin", "verify", "--json")
    assert (check.code, check.json["status"]) == (0, "self-consistent")
    assert copy["head"] in store.run("admin", "verify").out
    assert store.run("admin", "restore-backup", copy["path"]).code == 5


def test_what_a_memory_holds_cannot_steer_the_terminal(store: Shell) -> None:
    text = "red \x1b[31m bell \x07 line\u2028paragraph"
    id = remembered(store, text)
    assert store.run("show", id, "--json").json["record"]["text"] == text
    for words in (("recall", "bell"), ("list",), ("show", id), ("context", "bell")):
        shown = store.run(*words).out
        assert "\x1b[31m" not in shown, words
        assert "\x07" not in shown, words
        assert "paragraph" in shown, words


@pytest.mark.parametrize("text", ["a\u2028b", "a\u0085b", "naïve 日本語 🙂", "[bold]not markup[/]"])
def test_text_comes_back_as_it_was(store: Shell, text: str) -> None:
    ran = store.run("remember", text, "--json")
    assert ran.json["text"] == text
    assert json.loads(ran.out)["text"] == text
    assert store.run("show", ran.json["id"], "--json").json["record"]["text"] == text
    assert store.run("show", ran.json["id"]).code == 0


def test_evidence_that_names_nothing_is_said(store: Shell) -> None:
    assert (
        "'typo' names nothing in this memory"
        in store.run("remember", "x", "--evidence", "typo").err
    )
    episode = store.run("observe", "I said so.", "--json").json["episodes"][0]["id"]
    assert "names nothing" not in store.run("remember", "y", "--evidence", episode).err
