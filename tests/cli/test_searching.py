"""A person sees what recall searches with, and how to search by meaning too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.running import Ran, Shell
from tests.config.test_config import repository

pytestmark = pytest.mark.ci

# The program without the extra [local]: a module that cannot be imported.
BASE = (
    "import sys; sys.modules['wordllama'] = None\n"
    "from recollect.__main__ import main; sys.exit(main())"
)
ALONE = "search is by words alone; to search by meaning too, run `pip install 'recollect[encoder]'`"


def base(shell: Shell, *words: str, program: str = BASE) -> Ran:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=shell.folder,
        env=shell.environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_without_the_extra_every_verb_that_tells_about_search_says_so(shell: Shell) -> None:
    assert f"{ALONE}, then `recollect admin embed`" in base(shell, "init").out
    assert base(shell, "init", "--json").json["search"]["by_words"] is True
    base(shell, "remember", "We run the tests with make check.")
    empty = base(shell, "recall", "zebra")
    assert (empty.code, ALONE in empty.err) == (1, True)
    assert ALONE not in base(shell, "recall", "tests").err  # only an empty answer
    assert base(shell, "recall", "zebra", "--json").err == ""
    assert ALONE.removeprefix("search is ") in base(shell, "status").out
    assert base(shell, "status", "--json").json["search"]["embedder"] == "none"
    doctor = base(shell, "admin", "doctor")
    assert doctor.code == 0
    assert "search is by words alone" in doctor.out
    assert ALONE in base(shell, "admin", "embed").out


def test_with_the_extra_one_step_picks_it_up_for_both_memories_and_says_so(shell: Shell) -> None:
    repository(shell.folder)
    base(shell, "remember", "We run the tests with make check.")
    base(shell, "remember", "I drink tea.", "--memory", "personal")
    base(shell, "recall", "tests")  # records that there is no embedder
    before = shell.run("recall", "zebra")
    assert "to search by meaning too, run `recollect admin embed`" in before.err
    told = shell.run("admin", "embed").out
    for mount in ("project", "personal"):
        assert f"{mount}: Embedded 1 texts" in told
        assert f"{mount}: search is by words and by meaning (static)" in told
    assert "by words and by meaning (static)" in shell.run("status").out
    assert "words alone" not in shell.run("recall", "zebra").err
    assert "search is by words alone" not in shell.run("admin", "doctor").out


def test_init_picks_it_up_too(shell: Shell) -> None:
    base(shell, "init")
    told = shell.run("init", "--embedder", "static").out
    assert "already exists" in told
    assert "search is by words and by meaning (static)" in told
    assert shell.run("init", "--json").json["embedder"] == "static"


def test_a_chosen_embedder_that_is_not_installed_is_named(shell: Shell) -> None:
    shell.run("init", "--embedder", "static")
    assert base(shell, "status", "--json").json["search"] == {
        "embedder": "static",
        "by_words": True,
        "next_step": "run `pip install 'recollect[local]'`",
        "lacking": None,
    }


ONNX = "search is by words alone; to search by meaning too, run `pip install 'recollect[onnx]'`"


def test_an_encoder_without_its_extra_is_not_called_search_by_meaning(shell: Shell) -> None:
    folder = shell.folder / "encoder"
    folder.mkdir()
    without = BASE.replace("wordllama", "onnxruntime")
    assert ONNX in base(shell, "init", "--embedder", f"onnx:{folder}", program=without).out
    base(shell, "remember", "We run the tests with make check.", program=without)
    assert ONNX.removeprefix("search is ") in base(shell, "status", program=without).out
    doctor = base(shell, "admin", "doctor", program=without)
    assert (doctor.code, "recollect[onnx]" in doctor.out) == (0, True)
    for verb in ("recall", "context"):
        told = base(shell, verb, "tests", program=without)
        assert told.code == 0
        assert told.err.count("recollect[onnx]") == 1
    both = base(shell, "init", "--embedder", f"static+onnx:{folder}", program=without).out
    assert "by words and by meaning (static+onnx:" in both
    assert "cannot be used: run `pip install 'recollect[onnx]'`" in both


def test_vectors_that_are_missing_are_told_of_everywhere(
    store: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.embed.static.StaticEmbedder.recall_max_pieces", 3)
    store.run("init", "--embedder", "static")
    for number in range(10):
        store.run("remember", f"Server {number} listens.")
    lacking = "texts have no vectors yet: run `recollect admin embed`"
    assert f"by meaning (static), but 10 {lacking}" in store.run("status").out
    assert f"10 {lacking}" in store.run("admin", "doctor").out
    recall, context = store.run("recall", "server"), store.run("context", "server")
    assert (f"7 {lacking}" in recall.err, f"4 {lacking}" in context.err) == (True, True)
    assert lacking not in recall.out + context.out  # a context is pasted
    told = store.run("context", "server 3", "--json")
    assert (told.json["degraded"], told.err) == (
        f"1 {lacking}".replace("texts have", "text has"),
        "",
    )
    store.run("admin", "embed")
    assert lacking not in store.run("status").out + store.run("admin", "doctor").out


def test_an_embedder_from_the_environment_is_not_replaced(store: Shell) -> None:
    store.run("init", "--embedder", "none")
    store.run("remember", "Tea.")
    ran = store.process("admin", "embed", env={"RECOLLECT_EMBEDDER": "none"})
    assert "words alone" in ran.out
    assert store.run("init", "--json").json["embedder"] == "none"


def test_a_hit_takes_three_lines_and_full_shows_all(store: Shell) -> None:
    store.run("remember", "word " * 12_000 + "end")
    store.run("remember", "a short word\nof\nthree lines")
    short = store.run("recall", "word").out
    assert len(short) < 1_000
    assert " …\n" in short
    assert "60,003 characters, --full shows them" in short
    assert "three lines" in short
    assert short.count("--full") == 1
    assert len(store.run("recall", "word", "--full").out) > 60_000
    assert len(store.run("recall", "word", "--json").out) > 60_000


def test_on_a_terminal_too(store: Shell) -> None:
    store.run("remember", "word " * 12_000)
    shown = store.terminal("recall", "word").out
    assert len(shown.splitlines()) <= 5  # three of text, two of details
