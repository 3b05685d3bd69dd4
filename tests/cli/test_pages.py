"""Pages on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import Shell


def test_pages_are_listed_shown_and_rendered(store: Shell, tmp_path: Path) -> None:
    store.run("remember", "Alice sits at the window.", "--about", "person:Alice")
    listed = store.run("page", "list")
    assert listed.out.startswith("person-alice  What is known about Alice  1 entry, updated 20")
    pages = store.run("page", "list", "--json").json["pages"]
    assert [page["name"] for page in pages] == ["person-alice", "user-preferences", "user-profile"]
    assert "\nAlice sits at the window.\n" in store.run("page", "show", "person-alice").out
    assert store.run("page", "show", "person-bob").code == 3
    folder = str(tmp_path / "pages-here")
    assert store.run("page", "render", folder).out.endswith("4 written, 0 removed, 0 unchanged\n")
    assert store.run("page", "status", folder).out.endswith("4 current, 0 outdated, 0 missing\n")
    (tmp_path / "pages-here" / "person-alice.md").write_text("Mine.")
    kept = store.run("page", "render", folder)
    assert kept.out.endswith("(--overwrite writes them again):\n  person-alice.md\n")
    assert store.run("page", "status", folder, "--json").json["edited"] == ["person-alice.md"]
    done = store.run("page", "render", folder, "--overwrite", "--json").json
    assert done["written"] == ["person-alice.md"]
