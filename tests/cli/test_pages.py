"""Pages on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import Shell


def test_pages_are_listed_shown_and_rendered(store: Shell, tmp_path: Path) -> None:
    store.run("remember", "Alice sits at the window.", "--about", "person:Alice")
    listed = store.run("pages", "list")
    assert listed.out.startswith("person-alice  What is known about Alice  1 entry, updated 20")
    pages = store.run("pages", "list", "--json").json["pages"]
    assert [page["name"] for page in pages] == ["person-alice", "user-preferences", "user-profile"]
    assert "\nAlice sits at the window.\n" in store.run("pages", "show", "person-alice").out
    assert store.run("pages", "show", "person-bob").code == 3
    folder = str(tmp_path / "pages-here")
    assert store.run("pages", "render", folder).out.endswith("4 written, 0 removed, 0 unchanged\n")
    assert store.run("pages", "status", folder).out.endswith("4 current, 0 outdated, 0 missing\n")
    (tmp_path / "pages-here" / "person-alice.md").write_text("Mine.")
    kept = store.run("pages", "render", folder)
    assert kept.out.endswith("(`recollect pages sync` shows why):\n  person-alice.md\n")
    assert store.run("pages", "status", folder, "--json").json["edited"] == ["person-alice.md"]
    done = store.run("pages", "render", folder, "--overwrite", "--json").json
    assert done["written"] == ["person-alice.md"]


def test_what_is_said_about_a_page(store: Shell) -> None:
    store.run("remember", "Fast.", "--about", "tool:Make")
    assert (
        "flagged (too long)" in store.run("pages", "flag", "tool-make", "--reason", "too long").out
    )
    flagged = store.run("pages", "flag", "tool-make", "--json").json
    assert (flagged["needs_compact"], flagged["compact_reason"]) == (True, "too long")
    assert "flagged" not in store.run("pages", "unflag", "tool-make").out
    assert "archived" in store.run("pages", "archive", "tool-make").out
    assert "archived" in store.run("pages", "list").out
    assert "archived" not in store.run("pages", "activate", "tool-make").out
    said = ("--title", "GNU Make", "--description", "Builds", "--tags", "a, b")
    page = store.run("pages", "describe", "tool-make", *said, "--json").json
    assert (page["title"], page["description"], page["tags"]) == ("GNU Make", "Builds", ["a", "b"])
    assert store.run("pages", "describe", "tool-make", "--tags", "", "--json").json["tags"] == []


def test_an_unknown_page_is_answered_with_a_near_one(store: Shell) -> None:
    store.run("remember", "Fast.", "--about", "tool:Make")
    for words in ("flag", "unflag", "archive", "activate", "describe", "show"):
        wrong = store.run("pages", words, "tool-mke")
        assert wrong.code == 3
        assert "did you mean tool-make?" in wrong.err
        assert store.run("pages", words, "tool-mke", "--json").code == 3


def test_limits_and_care(store: Shell) -> None:
    assert store.run("pages", "limits").out.splitlines()[0] == "dormant after 30 days"
    set_to = store.run("pages", "limits", "--soft", "100", "--hard", "300", "--json").json
    assert (set_to["soft_limit_tokens"], set_to["hard_limit_tokens"]) == (100, 300)
    assert store.run("pages", "care").out == "No page needs care.\n"
    store.run("remember", "word " * 100, "--about", "tool:Make")
    assert "condensing is suggested (about" in store.run("pages", "list").out
    store.run("remember", "word " * 200, "--about", "tool:Make")
    (flagged,) = store.run("pages", "care", "--json").json["pages"]
    assert flagged["needs_compact"]
    assert store.run("pages", "limits", "--soft", "400").code == 2


def test_condensing(store: Shell) -> None:
    for text in ("Alice sits in row 3.", "Alice sits in row 3", "Alice has a cat."):
        store.run("remember", text, "--about", "person:Alice")
    store.run("pages", "flag", "person-alice")
    assert store.run("pages", "condense", "person-alice", "--dry-run").out.startswith(
        "Would merge 1 entry"
    )
    assert store.run("pages", "condense", "person-alice").out.startswith(
        "Merged 1 entry of person-al"
    )
    for text in ("the cat is black.", "The cat is black", "The cat is black."):
        store.run("remember", text, "--about", "person:Bob")
    assert store.run("pages", "condense", "person-bob").out.startswith(
        "Merged 2 entries of person-b"
    )
    again = store.run("pages", "condense", "person-alice")
    assert again.out == "person-alice: no two entries say the same.\n"
    assert len(store.run("pages", "condense", "person-alice", "--json").json["merged"]) == 0
    assert "flagged" not in store.run("pages", "list").out
    assert store.run("pages", "condense", "person-alise").code == 3
