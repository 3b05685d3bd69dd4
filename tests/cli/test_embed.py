"""``recollect admin embed`` and what ``init`` records."""

from __future__ import annotations

import json

from tests.cli.running import Shell


def recorded(shell: Shell) -> str:
    found = json.loads((shell.folder / ".recollect" / "settings.json").read_text())
    return str(found["embedder"])


def test_init_records_the_embedder_that_is_there_or_named(shell: Shell) -> None:
    assert shell.run("init", "--json").json["embedder"] == "static"
    assert recorded(shell) == "static"
    assert shell.run("init", "--embedder", "none", "--json").json["embedder"] == "none"
    assert shell.run("init", "--json").json["embedder"] == "none"
    assert recorded(shell) == "none"
    assert shell.run("init", "--embedder", "magic").code == 2


def test_embed_says_what_it_did(shell: Shell) -> None:
    shell.run("init", "--embedder", "none")
    shell.run("remember", "Bob likes coffee.")
    told = shell.run("admin", "embed", "--embedder", "none")
    assert told.code == 0
    assert "search is by words alone" in told.out
    (done,) = shell.run("admin", "embed", "--embedder", "static", "--json").json["embedded"]
    assert (done["texts"], done["pieces"], done["missing"]) == (1, 1, 0)
    assert recorded(shell) == "static"
    again = shell.run("admin", "embed").out
    assert "Embedded 0 texts" in again
    assert "search is by words and by meaning (static)" in again


def test_embed_with_what_is_not_there_changes_nothing(store: Shell) -> None:
    refused = store.run("admin", "embed", "--embedder", "onnx:nowhere")
    assert refused.code != 0
    assert "nowhere" in refused.err
    assert recorded(store) == "static"
