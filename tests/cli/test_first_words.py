"""What a person types first, and wrongly, is answered with what to type instead."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from recollect.interfaces.cli import plain
from recollect.interfaces.cli.commands import TOP, find
from recollect.interfaces.cli.former import FORMER, OTHER_WORDS, is_command
from recollect.model.counts import counted, size
from tests.cli.running import COMMAND, Shell


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("search tea", "recall tea"),
        ("add tea", "remember tea"),
        ("delete r-1", "forget r-1` or `recollect erase r-1"),
        ("ls", "list"),
        ("approve r-1", "review approve r-1"),
        ("why r-1", "show r-1"),
        ("recal 'two words' -k 3", "recall 'two words' -k 3"),
        ("verify --deep", "admin verify --deep"),
        ("admin verfy", "admin verify"),
        ("backup spare", "admin backup spare"),
        ("page sync", "pages sync"),
    ],
)
def test_a_word_that_is_no_command_is_answered_with_the_command_line(
    shell: Shell, typed: str, wanted: str
) -> None:
    done = shell.run(*shlex.split(typed))
    assert (done.code, done.out) == (2, "")
    assert f"use `recollect {wanted}`" in done.err


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (
            "supersede r-1 'It moved.' --reason new",
            "remember 'It moved.' --replaces r-1 --reason new",
        ),
        ("supersede", "remember TEXT --replaces ID"),
        ("revert r-1 --to 7", "undo r-1 --to 7"),
        ("restore r-1", "undo r-1"),
        ("retract r-1 --dry-run", "forget r-1 --dry-run --derived"),
        ("settle r-1 --holds", "review confirm r-1"),
        ("settle r-1 --fails --reason no", "review refute r-1 --reason no"),
        ("retain --dry-run", "erase --expired --dry-run"),
        ("retain --keep 30", "settings retention 30"),
        ("tag r-1 red blue --remove green", "revise r-1 --tag red --tag blue --untag green"),
        ("link a b --kind cites", "graph link a b --kind cites"),
        ("link a b --remove", "graph unlink a b"),
        ("graph r-1 --hops 2", "graph show r-1 --hops 2"),
        ("path a b", "graph path a b"),
        ("replay c-1 --query tea", "context --replay c-1 tea"),
        ("review r-1@0 --approve", "review approve r-1@0"),
        ("review r-1", "review show r-1"),
        ("consolidate seats", "settings rule run seats"),
        ("frame list", "settings preset list"),
        ("admin key create", "proof key create"),
        ("admin seal", "admin close-segment"),
        ("curate --below 0.1", "admin archive --below 0.1"),
        ("recent --limit 3", "list --recent --limit 3"),
        ("schedule list", "admin schedule list"),
        ("doctor --yes", "admin doctor --yes"),
        ("clean memory", "admin clean memory"),
    ],
)
def test_a_former_name_is_answered_with_the_whole_line(
    shell: Shell, typed: str, wanted: str
) -> None:
    done = shell.run(*shlex.split(typed))
    assert (done.code, done.out) == (2, "")
    assert f"use `recollect {wanted}`" in done.err
    assert done.err.count("`recollect ") == 1


def test_every_suggested_command_is_one() -> None:
    for suggestion in (*OTHER_WORDS.values(), *FORMER.values()):
        words = suggestion.split() if isinstance(suggestion, str) else suggestion(["x", "y"])
        found = find(list(words))
        assert is_command(words) or list(words) == ["--version"], suggestion
        assert not found.rest or not found.rest[0][0].islower() or isinstance(found.entry, str)
    assert not OTHER_WORDS.keys() & TOP.commands.keys()  # or a real command could not be reached
    assert not {path[0] for path in FORMER if len(path) == 1} & TOP.commands.keys()


def test_words_that_mean_nothing_are_still_refused(shell: Shell) -> None:
    assert "run `recollect help`" in shell.run("frobnicate").err
    assert "run `recollect help settings preset`" in shell.run("settings", "preset", "zzz").err
    assert "use `" not in shell.run("settings", "preset", "search").err  # only before a command


def test_help_and_version_are_found(shell: Shell) -> None:
    top = shell.run("help").out
    assert "Every day" in top
    assert top.count("...") == 1  # of the usage: no sentence is cut off
    assert top == shell.run("--help").out == shell.run().out
    assert (shell.run().code, shell.run("help").code) == (2, 0)
    assert "Usage: recollect recall" in shell.run("help", "recall").out
    assert shell.run("help", "recall").out == shell.run("recall", "--help").out
    assert "rule set" in shell.run("help", "settings").out
    assert shell.run("help", "settings").out == shell.run("settings").out
    every = shell.run("help", "all").out
    assert all(f"{name}:" in every for name in ("review", "graph", "settings", "admin"))
    assert all(word in every for word in ("token create", "--install-completion", "Exit codes"))
    assert shell.run("-V").out == shell.run("--version").out != ""


def test_the_help_is_one_screen(shell: Shell) -> None:
    lines = shell.run("--help").out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert len(TOP.commands) <= 31  # and help itself


def test_a_usage_error_names_the_verbs_help(shell: Shell) -> None:
    assert 'recollect remember "two words"' in shell.run("remember", "two", "words").err
    assert "run `recollect list --help`" in shell.run("list", "episodes").err  # it takes no text
    assert "`recollect remember --help`" in shell.run("remember", "a", "--tag").err
    assert "`recollect --help`" in shell.run("--frob").err
    assert "did you mean --full" in shell.run("recall", "x", "--ful").err


def test_text_that_is_not_utf8_is_named(store: Shell) -> None:
    done = subprocess.run(
        [COMMAND, "remember", "-"],
        cwd=store.folder,
        env=store.environment,
        input=b"caf\xe9",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"stdin is not UTF-8: byte 4" in done.stderr
    assert b"iconv" in done.stderr
    kept = store.process("remember", "-", stdin="\ufeffcaf\u00e9\r\nau lait\n")
    assert "caf\u00e9\n  au lait" in kept.out


def test_several_are_forgotten_or_none(store: Shell) -> None:
    ids = [store.run("remember", text, "--json").json["id"] for text in ("a", "b", "c")]
    done = store.run("forget", ids[0], "nothing-has-this")
    assert (done.code, len(store.run("list", "--json").json["records"])) == (3, 3)
    assert store.run("forget", *ids, "--idempotency-key", "k").code == 2
    assert len(store.run("list", "--json").json["records"]) == 3
    done = store.run("forget", *ids[:2], "--json")
    assert [one["id"] for one in done.json["forgotten"]] == ids[:2]
    assert store.run("forget", ids[2], "--json").json["id"] == ids[2]  # one, as ever
    assert store.run("list").code == 1
    told = store.run("forget", *ids[:2])
    assert "one at a time" in told.err
    assert "one at a time" not in store.run("forget", ids[2]).err


def test_days_are_read(store: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    made = store.run("remember", "Bins go out.", "--expires", "tomorrow", "--json").json
    assert made["expires"] > made["at"]
    assert store.run("list", "--at", "yesterday").code == 1
    assert store.run("list", "--at", "tomorrow").code == 0  # the control
    assert "in the past" in store.run("remember", "x", "--expires", "yesterday").err
    assert "yesterday" in store.run("remember", "x", "--expires", "soon").err


def test_times_are_local_and_can_be_given_back(store: Shell) -> None:
    def process(*words: str) -> str:
        done = store.process(*words, env={"TZ": "America/New_York"})
        assert done.code == 0, done.err
        return done.out

    said = process("observe", "x", "--said-at", "2026-01-31 09:30", "--json")
    assert "2026-01-31T14:30:00.000000Z" in said  # for programs it is UTC
    id = store.run("list", "--unit", "episode", "--json").json["episodes"][0]["id"]
    assert "2026-01-31 09:30:00" in process("show", id)


def test_a_date_stays_that_date_everywhere() -> None:
    code = "from recollect.interfaces.cli.plain import day; print(day('2026-01-31T{}Z'))"
    for time, shown in (("00:00:00.000000", "2026-01-31"), ("00:30:00.000000", "2026-01-30")):
        done = subprocess.run(
            [sys.executable, "-c", code.format(time)],
            env={"TZ": "America/New_York"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == shown
    assert plain.day("2026-01-31T00:00:00.000000Z") == "2026-01-31"


STOPPING = """
import sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
from recollect.__main__ import main
sys.exit(main(["list"]))
"""


@pytest.mark.parametrize(
    "module", ["recollect.interfaces.cli.commands", "recollect.interfaces.cli.daily.both"]
)
def test_an_interrupted_start_has_no_traceback(store: Shell, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPING.format(module)],
        cwd=store.folder,
        env=store.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_declined_confirmation_says_so(store: Shell) -> None:
    id = store.run("remember", "x", "--json").json["id"]
    done = store.terminal("erase", id, typed="n\n")
    assert (done.code, "Cancelled; nothing changed." in done.out) == (1, True)


def test_frames_are_listed_under_headings(store: Shell) -> None:
    heading, *rows = store.run("settings", "preset", "list").out.splitlines()
    for signal, weight in (("similarity", "0.35"), ("reinforcement", "0.10")):
        (row,) = [row for row in rows if row.startswith("attention")]
        assert row[heading.index(signal) :].startswith(weight)


def test_status_is_short(store: Shell) -> None:
    for number in range(12):
        store.run("remember", "x", "--space", f"s{number:02}")
    done = store.run("status")
    assert "and 5 more" in done.out
    lines = [line for line in done.out.splitlines() if str(store.folder) not in line]
    assert max(map(len, lines)) <= 100
    assert len(store.run("status", "--json").json["head"]) == 64
    assert len(store.run("status", "--json").json["spaces"]) == 13


@pytest.mark.parametrize("columns", [50, 100, 200])
def test_what_is_shown_fits_the_terminal(store: Shell, columns: int) -> None:
    id = store.run("remember", "word " * 40, "--key", "k", "--json").json["id"]
    store.run("revise", id, "other " * 40)
    shown = store.process("show", id, env={"COLUMNS": str(columns)}).out
    lines = [line for line in shown.splitlines() if str(store.folder) not in line]
    assert max(map(len, lines)) <= min(columns, 100)
    history = [line for line in lines if "word word" in line or "other other" in line]
    assert max(line.count("word") for line in history) >= 6  # and not a column of single words


def test_one_is_not_followed_by_a_plural(store: Shell) -> None:
    id = store.run("remember", "x", "--json").json["id"]
    out = store.run("erase", id, "--yes").out + store.run("admin", "verify").out
    assert "1 events" not in out
    assert counted(1, "event") == "1 event"
    assert counted(2_000, "event") == "2,000 events"
    assert (size(512 << 20), size(71 << 30)) == ("512 MiB", "71 GiB")
    assert (size(0), size(12_345), size(1 << 20)) == ("0 KiB", "12 KiB", "1 MiB")
