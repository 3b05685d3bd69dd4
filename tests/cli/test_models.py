"""``recollect admin model``: what is here, what can be fetched, and nothing without a yes."""

from __future__ import annotations

import shutil

import pytest

from recollect.places import models
from recollect.places.models import Model
from tests.cli.running import Shell
from tests.embed.graphs import encoder
from tests.places.test_download import BYTES, Hub


def test_the_list_says_what_is_here_and_what_uses_it(shell: Shell) -> None:
    alone = shell.run("admin", "model")
    assert "multilingual-e5-small  not here" in alone.out
    assert "about 100 languages; MIT; 135 MB" in alone.out
    assert "recollect admin model get" in alone.out
    assert shell.run("admin", "model", "list").out == alone.out
    encoder(models.models_folder() / "my-model")
    shell.run("init", "--embedder", "model:my-model")
    found = {row["name"]: row for row in shell.run("admin", "model", "--json").json["models"]}
    assert found["my-model"]["state"] == "here"
    assert found["my-model"]["used_by"] == [str(shell.folder / ".recollect")]
    assert found["multilingual-e5-small"]["folder"] is None
    assert "used by the memory in" in shell.run("admin", "model").out


def test_a_model_is_used_by_its_name(shell: Shell) -> None:
    encoder(models.models_folder() / "my-model")
    shell.run("init", "--embedder", "model:my-model")
    shell.run("remember", "alice sits by the window")
    assert "Embedded 1 texts" in shell.run("admin", "embed").out
    assert "by words and by meaning (model:my-model)" in shell.run("status").out
    shutil.rmtree(models.models_folder())
    gone = shell.run("status").out
    assert "search is by words alone: run `recollect admin model get my-model`" in gone or (
        "recollect admin model get my-model" in gone
    )


@pytest.mark.parametrize("name", ["nothing", "../x", "multilingual-e5-small/../x"])
def test_only_a_name_of_the_list_is_fetched(shell: Shell, name: str) -> None:
    refused = shell.run("admin", "model", "get", name, "--yes")
    assert refused.code == 3
    assert "there is no model" in refused.err


def test_nothing_is_fetched_without_a_yes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with Hub() as hub:
        model = hub.model()
        listed = Model("small", "tiny", "English", "MIT", 8, model.files)
        monkeypatch.setattr(models, "LISTED", (listed,))
        assert "needs a confirmation" in shell.run("admin", "model", "get", "small").err
        assert hub.asked == []
        fetched = shell.run("admin", "model", "get", "small", "--yes")
        assert "small: English; MIT; 1 MB from 127.0.0.1" in fetched.err
        assert "Fetched and checked: small" in fetched.out
        assert "recollect admin embed --embedder model:small" in fetched.out
        assert [name for name, _ in hub.asked] == list(BYTES)
        again = shell.run("admin", "model", "get", "small")
        assert "It is here already" in again.out
        assert shell.run("admin", "model", "get", "small", "--json").json["fetched"] is False
