"""A session captured: each message once, no secret in any byte, nothing learned from ourselves."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Episode, InvalidInput, Memory
from recollect.assistants.capture import Captured, Keeping, captured
from recollect.config import Places, Settings
from recollect.exchange.talks.claude_code import ClaudeCode
from recollect.interfaces.cli import main
from tests.assistants.session import INJECTED, SAID, SESSION, Session, recorded, text
from tests.exchange.test_redaction import NAMED, SECRETS

PROGRAM = "import sys; from recollect.__main__ import main; sys.exit(main())"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    store = tmp_path / "project" / ".recollect"
    store.mkdir(parents=True)
    return Places(
        project=Settings(where=str(store), why="named"),
        personal=Settings(where=str(tmp_path / "home" / ".recollect"), why="home"),
        named=True,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


Content = list[tuple[str, str, str, str, str | None, str]]


def content(places: Places) -> Content:
    """All that was captured, oldest first, as far as it is the same in every memory."""
    with Memory.open(places.project.where) as memory:
        found = memory.sessions.episodes(limit=10_000, include=["waiting", "hidden", "forgotten"])
        return [_content(episode) for episode in reversed(found)]


def _content(each: Episode) -> tuple[str, str, str, str, str | None, str]:
    return each.id, each.role, each.text, each.said_at, each.scope.session, each.trust


def test_a_session_is_kept_as_it_was_said_with_an_agents_trust(places: Places, path: Path) -> None:
    done = captured(places, recorded().write(path))
    assert (done.messages, done.kept, done.known) == (len(SAID), len(SAID), 0)
    found = content(places)
    assert [(role, words) for _, role, words, *_ in found] == SAID
    assert {session for *_, session, _ in found} == {SESSION}
    assert {(role, trust) for _, role, *_, trust in found} == {
        ("user", "agent"),
        ("assistant", "agent"),
        ("tool", "unverified"),
    }
    with Memory.open(places.project.where) as memory:
        hits = memory.recall("which port is staging on?")
        assert hits[0].text == "The staging database moved to port 5433."
        assert all(hit.trust == "agent" for hit in hits)
        assert {episode.scope.agent for episode in memory.sessions.episodes()} == {"claude-code"}


@pytest.mark.parametrize(
    ("prompts", "typed"), [("none", None), ("quoting", None), ("memory", False)]
)
def test_the_verb_says_what_becomes_of_prompts(
    places: Places, path: Path, prompts: str, typed: bool | None
) -> None:
    recorded().write(path)
    words = [
        "--store",
        places.project.where,
        "hooks",
        "capture",
        str(path),
    ]
    assert main([*words, "--prompts", prompts]) == 0
    with Memory.open(places.project.where) as memory:
        said = [
            each for each in memory.sessions.episodes(include=["waiting"]) if each.role == "user"
        ]
    assert [each.text for each in reversed(said)] == (
        [] if prompts == "none" else [words for role, words in SAID if role == "user"]
    )
    assert all(each.metadata.get("transient") is typed for each in said)


def test_capturing_twice_gives_the_same_memory(places: Places, path: Path) -> None:
    captured(places, recorded().write(path))
    with Memory.open(places.project.where) as memory:
        digest, position = memory.admin.digest(), memory.events.position
    again = captured(places, path)
    assert (again.kept, again.known, again.redacted) == (0, len(SAID), {})
    with Memory.open(places.project.where) as memory:
        assert (memory.admin.digest(), memory.events.position) == (digest, position)


def test_a_transcript_that_grew_adds_what_is_new(places: Places, path: Path) -> None:
    session = recorded()
    captured(places, session.write(path))
    session.user("The canary release is on the 20th.")
    done = captured(places, session.write(path))
    assert (done.kept, done.known) == (1, len(SAID))
    assert content(places)[-1][2] == "The canary release is on the 20th."


def test_a_line_that_is_half_written_is_taken_up_later(places: Places, path: Path) -> None:
    session = recorded()
    session.write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert captured(places, path).bad_lines == 1
    path.write_bytes(whole)
    assert captured(places, path).kept == 1
    assert [(role, words) for _, role, words, *_ in content(places)] == SAID


def test_what_was_forgotten_or_erased_does_not_come_back(places: Places, path: Path) -> None:
    captured(places, recorded().write(path))
    with Memory.open(places.project.where) as memory:
        by_text = {episode.text: episode.id for episode in memory.sessions.episodes()}
        memory.forget(by_text["Never on a Monday, though."])
        memory.erase(by_text["Also, we deploy on Fridays only."])
        memory.admin.rebuild()
    again = captured(places, path)
    assert (again.kept, again.known) == (0, len(SAID))
    with Memory.open(places.project.where) as memory:
        left = {episode.text for episode in memory.sessions.episodes()}
    assert not left & {"Never on a Monday, though.", "Also, we deploy on Fridays only."}


def test_time_that_is_up_leaves_the_rest_for_the_next_time(places: Places, path: Path) -> None:
    done = captured(places, recorded().write(path), time_limit_s=-1)
    assert (done.kept, done.left) == (0, len(SAID))
    assert captured(places, path).kept == len(SAID)
    assert "left for the next capture" in done.summary()


def test_an_empty_or_missing_transcript_makes_no_memory(places: Places, path: Path) -> None:
    path.write_bytes(b"")
    assert captured(places, path).messages == 0
    assert list(Path(places.project.where).iterdir()) == []
    with pytest.raises(InvalidInput):
        captured(places, path.with_name("nowhere.jsonl"))


def test_a_very_long_text_is_cut_and_a_session_without_a_name_is_taken(
    places: Places, path: Path
) -> None:
    session = Session("\x01" * 300)
    session.user("word " * 200_000)
    session.tool("Bash", {}, "x" * 100_000)
    done = captured(places, session.write(path), tool_results=True)
    assert (done.kept, done.refused) == (2, 0)
    (_, _, long, *_), (_, _, result, *_) = content(places)
    assert long.endswith(" more characters)")
    assert len(result) < 17_000


# --- secrets

PLANTED = {
    **SECRETS,
    **{kind: secret for kind, (_, secret) in NAMED.items()},
}


def with_secrets() -> Session:
    session = Session()
    for number, (kind, secret) in enumerate(PLANTED.items()):
        around = NAMED[kind][0] if kind in NAMED else "use {} for that"
        said = f"For the {kind} we " + around.format(secret) + " from now on."
        if number % 3 == 0:
            session.user(said)
        elif number % 3 == 1:
            session.assistant(text(said))
        else:
            session.tool("Bash", {"command": said}, json.dumps({"out": said}))
    return session


def forms(secret: str) -> Iterator[bytes]:
    """Every shape in which a secret may lie in a file, in small letters."""
    yield secret.lower().encode()
    yield json.dumps(secret)[1:-1].lower().encode()
    yield secret.lower().encode("utf-16-le")
    yield secret.lower().encode("utf-16-be")
    for shift in range(3):
        coded = base64.b64encode(b"\x00" * shift + secret.encode()).lower()
        yield coded[4:-4] if len(coded) > 12 else coded


def found_in(folder: Path) -> set[str]:
    """The kinds of secrets that lie in any byte of any file."""
    held = [path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()]
    assert len(held) >= 3
    return {
        kind
        for kind, secret in PLANTED.items()
        if any(form in data for form in forms(secret) for data in held)
    }


def test_no_secret_is_in_any_byte_and_without_redaction_all_are(
    places: Places, path: Path, tmp_path: Path
) -> None:
    with_secrets().write(path)
    done = captured(places, path, tool_results=True)
    assert done.kept == done.messages == len(PLANTED) >= 20
    assert set(done.redacted) == set(PLANTED)
    assert sum(done.redacted.values()) == len(PLANTED)
    assert found_in(Path(places.project.where)) == set()

    control = tmp_path / "control"
    with open(path, "rb") as file, Memory.open(control) as memory:
        keeping = Keeping(memory.scoped(trust="agent"), redacts=False)
        keeping.keep(ClaudeCode(tool_results=True).read(file), time.monotonic() + 60)
    assert found_in(control) == set(PLANTED)


def test_what_was_handed_out_is_never_learned_and_without_stripping_it_is(
    places: Places, path: Path, tmp_path: Path
) -> None:
    recorded().write(path)
    captured(places, path, tool_results=True)
    held = [each.read_bytes() for each in Path(places.project.where).rglob("*") if each.is_file()]
    assert not any(INJECTED.encode() in data for data in held)

    control = tmp_path / "control"
    with open(path, "rb") as file, Memory.open(control) as memory:
        transcript = ClaudeCode(tool_results=True, strip=False)
        Keeping(memory).keep(transcript.read(file), time.monotonic() + 60)
    assert any(INJECTED.encode() in (control / name).read_bytes() for name in ("events.wal",))


# --- processes


# A capture that is killed while it goes through a transcript.
KILLED = """
import os, signal, sys, time
from recollect import Memory
from recollect.interfaces.cli import main
from recollect.exchange.talks.claude_code import ClaudeCode
from recollect.interfaces.cli import main
from recollect.assistants.capture import Keeping

def until_killed(messages):
    for number, message in enumerate(messages):
        if number == 230:
            os.kill(os.getpid(), signal.SIGKILL)
        yield message

memory = Memory.open(sys.argv[1]).scoped(agent="claude-code", trust="agent")
with open(sys.argv[2], "rb") as file:
    Keeping(memory).keep(until_killed(ClaudeCode().read(file)), time.monotonic() + 60)
"""


def capturing(places: Places, path: Path) -> subprocess.Popen[bytes]:
    words = [
        "--store",
        places.project.where,
        "hooks",
        "capture",
        str(path),
    ]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> Captured:
    import msgspec

    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return msgspec.json.decode(out, type=Captured)


def long_session(count: int) -> Session:
    session = Session()
    for number in range(count):
        session.user(f"Message {number}: the depot {number} opens at {number % 24}.")
    return session


def test_two_processes_at_once_and_one_that_was_killed_give_the_same_memory(
    places: Places, path: Path, tmp_path: Path
) -> None:
    long_session(260).write(path)
    words = [sys.executable, "-c", KILLED, places.project.where, str(path)]
    killed = subprocess.run(words, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Memory.open(places.project.where) as memory:
        before = len(memory.sessions.episodes(limit=1_000))
    assert 0 < before < 260

    both = [ended(process) for process in [capturing(places, path), capturing(places, path)]]
    assert sum(each.kept for each in both) >= 260 - before
    with Memory.open(places.project.where) as memory:
        assert memory.admin.verify().ok

    alone = Settings(where=str(tmp_path / "alone"), why="named")
    once = Places(project=alone, personal=places.personal, named=True)
    assert captured(once, path).kept == 260
    assert content(places) == content(once)
