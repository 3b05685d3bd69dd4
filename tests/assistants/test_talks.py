"""Talks with Codex, Gemini CLI and opencode, as these programs wrote them, and hostile ones.

The files in ``talks`` were written by the programs in the versions that ``tests/programs`` pins,
when a scripted model answered; what is long was shortened. Each talk has two prompts; Codex and
opencode have a fork of it with one more.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from recollect import InvalidInput, Memory
from recollect.assistants import typed
from recollect.assistants.capture import Captured, captured
from recollect.config import Places, Settings
from recollect.interfaces.cli import main
from tests.assistants.session import Session, text

TALKS = Path(__file__).parent / "talks"
SECRET = b"ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zAaB3d"
NOTED, ROTATE, FORKED = "Noted, 5433.", "Rotate it.", "Forked."
FIRST = "Please remember that the staging database is on port 5433."
SECOND = "My token is [redacted:github-token], the staging database knows it."
THIRD = "This is in the fork."


def talk(read: str, ours: str, *, quoted: bool = False) -> list[tuple[str, str]]:
    """What the two prompts and their answers are, with the tools between them."""
    first, second = (f'"{words}"' if quoted else words for words in (FIRST, SECOND))
    return [
        ("user", first),
        ("tool", f"tool: {read}"),
        ("tool", f"tool: {ours}"),
        ("assistant", NOTED),
        ("user", second),
        ("assistant", ROTATE),
    ]


SAID = {
    "codex": [
        *talk("exec_command", "mcp__recollect__remember"),
        ("user", THIRD),
        ("assistant", FORKED),
    ],
    "gemini-cli": talk("read_file", "mcp_recollect_remember"),
    # `opencode run` itself puts marks around what is asked.
    "opencode": [
        *talk("read", "recollect_remember", quoted=True),
        ("user", f'"{THIRD}"'),
        ("assistant", FORKED),
    ],
}
Said = list[tuple[str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / ".recollect").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


@pytest.fixture
def places(project: Path, tmp_path: Path) -> Places:
    return Places(
        project=Settings(where=str(project / ".recollect"), why="named"),
        personal=Settings(where=str(tmp_path / "home" / ".recollect"), why="home"),
        named=True,
    )


def files_of(program: str, folder: Path, project: Path) -> list[Path]:
    """The files of a program, with its talks held in this project."""
    folder.mkdir(parents=True, exist_ok=True)
    if program == "opencode":
        script = (TALKS / "opencode.sql").read_text().replace("/ada/app", str(project))
        path = folder / "opencode.db"
        with closing(sqlite3.connect(path)) as database:
            database.executescript(script)
        return [path]
    found = sorted(TALKS.glob(f"{program}*.jsonl"), key=lambda path: len(path.name))
    for path in found:
        (folder / path.name).write_bytes(path.read_bytes())
    return [folder / path.name for path in found]


def capture_all(places: Places, files: list[Path], *, tool_results: bool = False) -> list[Captured]:
    return [captured(places, path, tool_results=tool_results) for path in files]


def said(places: Places) -> Said:
    """Who said what, oldest first."""
    with Memory.open(places.project.where) as memory:
        found = memory.sessions.episodes(limit=1_000, include=["waiting"])
        return [(episode.role, episode.text) for episode in reversed(found)]


@pytest.mark.parametrize("program", SAID)
def test_a_talk_is_kept_once_as_it_was_said(
    program: str, places: Places, project: Path, tmp_path: Path
) -> None:
    files = files_of(program, tmp_path / "first", project)
    done = capture_all(places, files)
    assert said(places) == SAID[program]
    assert sum(one.kept for one in done) == len(SAID[program])
    assert {one.bad_lines + one.refused for one in done} == {0}
    assert {one.agent for one in done} == {program}
    with Memory.open(places.project.where) as memory:
        before = memory.admin.digest(), memory.events.position
        found = memory.sessions.episodes(limit=100, include=["waiting"])
        assert {(one.role, one.trust) for one in found} == {
            ("user", "agent"),
            ("assistant", "agent"),
            ("tool", "unverified"),
        }
        assert {one.scope.agent for one in found} == {program}
        assert all(one.said_at.startswith("2026-11-20T00:0") for one in found)
    copied = files_of(program, tmp_path / "second machine", project)
    assert [one.kept for one in capture_all(places, copied + files)] == [0] * (2 * len(files))
    with Memory.open(places.project.where) as memory:
        assert (memory.admin.digest(), memory.events.position) == before
    kept = [one.read_bytes() for one in project.rglob("*") if one.is_file()]
    assert not any(SECRET in data for data in kept)


@pytest.mark.parametrize("program", SAID)
def test_the_output_of_tools_comes_when_asked_for_and_never_our_own(
    program: str, places: Places, project: Path, tmp_path: Path
) -> None:
    capture_all(places, files_of(program, tmp_path, project), tool_results=True)
    read, ours = (told for role, told in said(places) if role == "tool")
    assert "harbour office" in read or "No such file" in read
    assert "\n" not in ours


@pytest.mark.parametrize("program", ["codex", "gemini-cli"])
def test_a_talk_that_grows_byte_by_byte_is_kept_once(
    program: str, places: Places, project: Path, tmp_path: Path
) -> None:
    file = files_of(program, tmp_path, project)[0]
    whole = file.read_bytes()
    for end in range(1_000, len(whole) + 1_500, 1_500):  # the first line is there
        file.write_bytes(whole[:end])
        captured(places, file)
    assert said(places) == SAID[program][:6]


def test_a_fork_alone_brings_what_it_holds_and_the_talk_then_the_rest(
    places: Places, project: Path, tmp_path: Path
) -> None:
    first, fork = files_of("codex", tmp_path, project)
    assert captured(places, fork).kept == 2
    assert captured(places, first).kept == 6
    assert sorted(said(places)) == sorted(SAID["codex"])


def test_importing_what_was_captured_adds_nothing(
    places: Places, project: Path, tmp_path: Path
) -> None:
    capture_all(places, files_of("codex", tmp_path / "sessions", project))
    with Memory.open(places.project.where) as memory:
        done = memory.admin.import_(tmp_path / "sessions")
        assert (done.format, done.kept, done.known) == ("codex", 0, len(SAID["codex"]))


# --- prompts that a hook has kept, and forks of Claude Code


def forked() -> tuple[Session, Session]:
    """A talk, and a fork of it: the same lines with another session, and one more prompt."""
    talk = Session()
    talk.user("Deploys are on Fridays.")
    talk.assistant(text("Noted."))
    fork = Session("9c0ddcd0-5487-4794-99ac-143f6bb9e249")
    fork.lines = [line.replace(talk.name, fork.name) for line in talk.lines]
    fork.user("Never on the 13th.")
    return talk, fork


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_prompt_that_was_kept_when_it_was_typed_is_not_kept_again_from_a_fork(
    order: tuple[int, int], places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks = forked()
    with Memory.open(places.project.where) as memory:
        first = memory.scoped(session=talks[0].name)
        first.observe(
            "Deploys are on Fridays.",
            role="user",
            id=f"prompt-{talks[0].name}-1",
            idempotency_key=f"prompt-{talks[0].name}-1",
            said_at="2026-11-14T09:00:01Z",
        )
    for number in order:
        captured(places, talks[number].write(tmp_path / f"{number}.jsonl"))
    assert [words for role, words in said(places) if role == "user"] == [
        "Deploys are on Fridays.",
        "Never on the 13th.",
    ]


def test_a_prompt_that_was_erased_does_not_come_back_with_a_fork(
    places: Places, tmp_path: Path
) -> None:
    talk, fork = forked()
    with Memory.open(places.project.where) as memory:
        assert typed.keep(memory.scoped(session=talk.name), "Deploys are on Fridays.", talk.name)
    captured(places, talk.write(tmp_path / "talk.jsonl"))
    with Memory.open(places.project.where) as memory:
        memory.erase(f"prompt-{talk.name}-1")
    captured(places, fork.write(tmp_path / "fork.jsonl"))
    assert "Deploys are on Fridays." not in [words for _, words in said(places)]


# --- opencode's database


def test_talks_of_other_folders_are_left_out(places: Places, project: Path, tmp_path: Path) -> None:
    (path,) = files_of("opencode", tmp_path, project)
    with closing(sqlite3.connect(path)) as database:
        (first, *_) = database.execute("SELECT id FROM session ORDER BY time_created").fetchone()
        database.execute("UPDATE session SET directory = '/elsewhere' WHERE id = ?", [first])
        database.commit()
    captured(places, path)
    assert len(said(places)) == len(SAID["opencode"])  # the fork holds the talk, too
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE session SET directory = '/elsewhere'")
        database.commit()
    with pytest.raises(InvalidInput, match="was held in this folder") as error:
        captured(places, path)
    assert "/elsewhere" in str(error.value.hint)


@pytest.mark.parametrize("folder", ["", "app", "/a\0b", "/" + 5_000 * "x", "/\udcff", None, 7])
def test_a_folder_that_is_none_is_not_of_the_project(
    folder: object, places: Places, project: Path, tmp_path: Path
) -> None:
    (path,) = files_of("opencode", tmp_path, project)
    told = folder.encode("utf-8", "surrogatepass") if isinstance(folder, str) else folder
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE OR IGNORE session SET directory = cast(? AS TEXT)", [told])
        database.commit()
    if folder is None:  # the table does not take it
        assert captured(places, path).kept
        return
    with pytest.raises(InvalidInput, match="was held in this folder"):
        captured(places, path)


def test_a_talk_with_a_helper_and_an_answer_that_grows_are_left_out(
    places: Places, project: Path, tmp_path: Path
) -> None:
    (path,) = files_of("opencode", tmp_path, project)
    with closing(sqlite3.connect(path)) as database:
        fork = database.execute("SELECT id FROM session ORDER BY time_created").fetchall()[1][0]
        database.execute("UPDATE session SET parent_id = 'x' WHERE id = ?", [fork])
        last = "SELECT id FROM message WHERE session_id <> ? ORDER BY time_created DESC LIMIT 1"
        growing = (
            f"UPDATE message SET data = json_remove(data, '$.time.completed') WHERE id = ({last})"
        )
        database.execute(growing, [fork])
        database.commit()
    captured(places, path)
    assert said(places) == SAID["opencode"][:5]


def test_what_opencode_has_written_is_read_while_it_writes(
    places: Places, project: Path, tmp_path: Path
) -> None:
    (path,) = files_of("opencode", tmp_path, project)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE part SET data = replace(data, 'Forked.', 'It is forked.')")
        database.execute("BEGIN IMMEDIATE")
        database.execute("DELETE FROM part")
        captured(places, path)
    assert said(places)[-1] == ("assistant", "It is forked.")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("opencode")] == [
        path.name
    ]


def test_nothing_is_made_beside_a_database(places: Places, project: Path, tmp_path: Path) -> None:
    (path,) = files_of("opencode", tmp_path / "kept", project)
    before = path.read_bytes()
    path.parent.chmod(0o500)
    captured(places, path)
    path.parent.chmod(0o700)
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


@pytest.mark.parametrize("wrong", ["cut", "view", "types", "json", "other"])
def test_a_database_that_lies_is_named_or_read_as_far_as_it_goes(
    wrong: str, places: Places, project: Path, tmp_path: Path
) -> None:
    (path,) = files_of("opencode", tmp_path, project)
    with closing(sqlite3.connect(path)) as database:
        for statement in {
            "view": [
                "ALTER TABLE part RENAME TO parts",
                "CREATE VIEW part AS SELECT * FROM parts",
            ],
            "types": [
                "UPDATE message SET data = x'ff00', time_created = 'soon'",
                "UPDATE part SET data = 7",
            ],
            "json": ["UPDATE part SET data = '[' || data"],
            "other": ["DROP TABLE message"],
        }.get(wrong, []):
            database.execute(statement)
        database.commit()
    if wrong == "cut":
        path.write_bytes(path.read_bytes()[:5_000])
    if wrong in ("types", "json"):
        done = captured(places, path)
        assert done.kept == 0
        assert done.bad_lines > 5
        assert "bad lines" in done.summary()
        return
    with pytest.raises(InvalidInput):
        captured(places, path)


# --- what is not as the program writes it


def lines(*entries: object) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


HEADS: dict[str, dict[str, object]] = {
    "codex": {"type": "session_meta", "payload": {"id": "s-1"}},
    "gemini-cli": {"sessionId": "s-1", "projectHash": "0"},
    "claude-code": {"type": "mode", "sessionId": "s-1"},
}


def prompt(program: str, words: object, *, at: object = None, role: object = "user") -> object:
    """A line with a message."""
    if program == "codex":
        content = [{"type": "input_text", "text": words}]
        payload = {"type": "message", "role": role, "content": content}
        return {"timestamp": at, "type": "response_item", "payload": payload}
    if program == "gemini-cli":
        return {
            "id": f"m-{words}"[:40],
            "timestamp": at,
            "type": role,
            "content": [{"text": words}],
        }
    message = {"role": role, "content": words}
    more = {"uuid": f"u-{words}"[:40], "sessionId": "s-1", "timestamp": at}
    return {"type": role, "message": message, **more}


@pytest.fixture(params=HEADS)
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def kept_of(places: Places, tmp_path: Path, data: bytes) -> tuple[Captured, list[str]]:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(data)
    done = captured(places, path)
    return done, [words for _, words in said(places)] if done.messages else []


ODD = ["system", "developer", "person", "tool", "", None, 7, ["user"], {"user": 1}]


@pytest.mark.parametrize("role", ODD)
def test_a_message_with_another_role_is_left_out(
    role: object, program: str, places: Places, tmp_path: Path
) -> None:
    first = prompt(program, "It is mine.")
    data = lines(HEADS[program], prompt(program, "I am root.", role=role), first)
    assert kept_of(places, tmp_path, data)[1] == ["It is mine."]


@pytest.mark.parametrize(
    "at", ["9999-01-01T00:00:00Z", "2150-01-01T00:00:00Z", "soon", 7, [], "0001-01-01T00:00:00Z"]
)
def test_a_time_that_lies_is_not_believed(
    at: object, program: str, places: Places, tmp_path: Path
) -> None:
    data = lines(HEADS[program], prompt(program, "It is mine.", at=at))
    assert kept_of(places, tmp_path, data)[1] == ["It is mine."]
    with Memory.open(places.project.where) as memory:
        (episode,) = memory.sessions.episodes()
        assert "2026" <= episode.said_at[:4] < "2150"


def bad_lines() -> Iterator[bytes]:
    yield from (b"{", b"[]", b"null", b"\xff\xfe\x00", b"\x00" * 1_000, b"[" * 100_000)
    yield '{"type": "user"}'.encode("utf-16")
    yield b'{"a":' * 5_000 + b"1" + b"}" * 5_000


def test_bad_lines_are_counted_and_the_rest_is_kept(
    program: str, places: Places, tmp_path: Path
) -> None:
    bad = list(bad_lines())
    data = lines(HEADS[program]) + b"\n".join([*bad, b""])
    data += lines(prompt(program, "It is\x00 mine."), *([HEADS[program] | {"payload": []}] * 2))
    done, kept = kept_of(places, tmp_path, data)
    assert kept == ["It is\ufffd mine."]
    assert done.bad_lines >= len(bad) - 1
    assert f"{done.bad_lines} bad lines" in done.summary()


@pytest.mark.parametrize("value", [None, 7, "x", [], [[]], {}, {"text": 1}, [{"text": []}], [None]])
def test_wrong_types_are_passed_over(
    value: object, program: str, places: Places, tmp_path: Path
) -> None:
    whole = prompt(program, "It is mine.")
    assert isinstance(whole, dict)
    odd = [{**whole, name: value} for name in whole]
    inner = whole.get("payload") or whole.get("message") or {}
    odd += [{**whole, "payload": {**inner, name: value}, "message": {**inner, name: value}}
            for name in inner]  # fmt: skip
    calls = {"toolCalls": value, "displayContent": value, "kind": value, "$set": value}
    data = lines(HEADS[program], *odd, {**whole, **calls, "id": "m-2"})
    data += lines(prompt(program, "The last."))
    assert kept_of(places, tmp_path, data)[1][-1] == "The last."


def codex_talk(head: Mapping[str, object], *words: str) -> bytes:
    """A talk of Codex below the head of its own and, if it goes on from one, that of the other."""
    at = "2026-11-19T10:00:0{}.000Z"
    heads = [{"type": "session_meta", "payload": head}] if head else []
    if "forked_from_id" in head:
        heads.append({"type": "session_meta", "payload": {"id": "parent", "source": "cli"}})
    told = [prompt("codex", one, at=at.format(number)) for number, one in enumerate(words)]
    return lines(*heads, *told)


def test_the_first_head_of_a_talk_of_codex_is_its_own(places: Places, tmp_path: Path) -> None:
    helper = {"id": "h", "forked_from_id": "parent", "source": {"subagent": {"depth": 1}}}
    assert kept_of(places, tmp_path, codex_talk(helper, "Told to a helper."))[1] == []
    parent = {"id": "parent", "source": "cli"}
    assert kept_of(places, tmp_path, codex_talk(parent, "One.", "Two."))[1] == ["One.", "Two."]
    fork = {"id": "fork", "forked_from_id": "parent", "source": "cli"}
    found = kept_of(places, tmp_path, codex_talk(fork, "One.", "Only in the fork."))[1]
    assert "Only in the fork." in found


def test_talks_of_codex_without_a_head_are_told_apart(places: Places, tmp_path: Path) -> None:
    for words in ("The first talk.", "The second talk."):
        assert words in kept_of(places, tmp_path, codex_talk({}, words))[1]
    assert kept_of(places, tmp_path, codex_talk({}, "The second talk."))[0].kept == 0


def test_a_hundred_megabytes_are_read(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with path.open("wb") as file:
        file.write(lines(HEADS["codex"]))
        noise = lines({"type": "event_msg", "payload": {"text": "x" * 1_000_000}})
        for _ in range(100):
            file.write(noise)
        file.write(lines(prompt("codex", "It is mine.")))
    assert captured(places, path).kept == 1


# --- what a person types


@pytest.mark.parametrize(
    "typed_in", ["codex", "nowhere.jsonl", ".", "notes.txt", "fifo", "link", "other.db"]
)
def test_what_is_no_talk_is_refused_with_the_next_step(
    typed_in: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "notes.txt").write_text("The staging port is 5433.\n")
    os.mkfifo(project / "fifo")
    (project / "link").symlink_to("/dev/zero")
    with closing(sqlite3.connect(project / "other.db")) as database:
        database.execute("CREATE TABLE session (id)")
    assert main(["hooks", "capture", typed_in]) == 2
    told = capsys.readouterr().err
    assert typed_in in told
    assert "opencode.db" in told
    assert not list((project / ".recollect").iterdir())


def test_the_verb_answers_with_json(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = files_of("gemini-cli", tmp_path / "chats", project)
    store = str(project / ".recollect")
    assert main(["--store", store, "hooks", "capture", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["agent"], told["kept"], told["redacted"]) == ("gemini-cli", 6, {"github-token": 1})
