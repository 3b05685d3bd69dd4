"""Where a store is found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Memory, compose, config
from recollect.compose import Embedders, record_embedder
from recollect.config import load, places
from recollect.embedder_names import embedders, is_free
from recollect.errors import ConfigError


def find(start: Path, home: Path, **environment: str) -> str:
    return load(start=start, home=home, environment=environment).where


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "deep" / "er").mkdir(parents=True)
    return tmp_path / "project"


@pytest.mark.parametrize("theirs", ['{"editor.fontSize": 14}', "[1]", "no json", "\0"])
def test_settings_of_another_program_are_not_overwritten(tmp_path: Path, theirs: str) -> None:
    settings = load(tmp_path, embedder="none")
    (tmp_path / "settings.json").write_text(theirs)
    for _ in range(2):
        with pytest.raises(ConfigError, match="not a file of Recollect"):
            record_embedder(settings, replace=True)
        assert record_embedder(settings) == "none"
    assert (tmp_path / "settings.json").read_text() == theirs


def test_a_choice_leaves_the_other_settings_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"embedder": "static", "later": {"a": [1]}}')
    record_embedder(load(tmp_path, embedder="none"), replace=True)
    found = json.loads((tmp_path / "settings.json").read_text())
    assert found == {"embedder": "none", "later": {"a": [1]}}


def test_a_named_place_wins(project: Path, home: Path) -> None:
    assert load("x").where == str(Path("x").absolute())
    assert load("~/x").where == str(Path("~/x").expanduser())
    assert load(":memory:").where == ":memory:"
    assert load("postgresql://host/db").where == "postgresql://host/db"
    assert load(project).where == str(project)
    with pytest.raises(ConfigError):
        load("")


def test_then_the_variable_then_the_nearest_then_home(project: Path, home: Path) -> None:
    deep = project / "deep" / "er"
    assert find(deep, home) == str(home / ".recollect")
    (project / ".recollect").mkdir()
    assert find(deep, home) == str(project / ".recollect")
    (project / "deep" / ".recollect").mkdir()
    assert find(deep, home) == str(project / "deep" / ".recollect")
    assert find(deep, home, RECOLLECT_STORE=":memory:") == ":memory:"


def repository(folder: Path, *trees: Path) -> None:
    """A repository as git lays it out, with linked worktrees."""
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for tree in trees:
        entry = folder / ".git" / "worktrees" / tree.name
        entry.mkdir(parents=True)
        (entry / "commondir").write_text("../..\n")
        (entry / "gitdir").write_text(f"{tree / '.git'}\n")
        tree.mkdir(parents=True)
        (tree / ".git").write_text(f"gitdir: {entry}\n")


def test_worktrees_share_the_store_of_their_repository(
    project: Path, home: Path, tmp_path: Path
) -> None:
    worktree = tmp_path / "elsewhere" / "w"
    repository(project, worktree)
    assert find(worktree, home) == str(home / ".recollect")
    (project / ".recollect").mkdir()
    assert find(worktree, home) == str(project / ".recollect")


def test_the_home_folders_store_is_the_last_resort_even_from_inside_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first, worktree = home / "repository", home / "worktree"
    repository(first, worktree)
    (home / ".recollect").mkdir()
    assert find(worktree, home) == str(home / ".recollect")
    (first / ".recollect").mkdir()
    assert find(worktree, home) == str(first / ".recollect")


def test_the_project_and_the_person_have_a_place_each(project: Path, home: Path) -> None:
    deep = project / "deep"
    found = places(start=deep, home=home, environment={})
    assert found.project.where == str(deep / ".recollect")
    assert (found.named, found.is_one) == (False, False)
    assert found.personal.where == str(home / ".recollect")
    repository(project)
    assert places(start=deep, home=home, environment={}).project.where == str(
        project / ".git" / "recollect"
    )
    named = places(start=deep, home=home, environment={"RECOLLECT_STORE": ":memory:"})
    assert (named.project.where, named.named) == (":memory:", True)
    assert places(project, start=deep, home=home, environment={}).project.where == str(project)
    assert places(start=home, home=home, environment={}).is_one


def test_a_home_known_by_a_link_is_not_a_project(home: Path, tmp_path: Path) -> None:
    (home / ".recollect").mkdir()
    (home / "code" / "app").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(home)
    found = places(start=home / "code" / "app", home=link, environment={})
    assert found.project.where == str(home / "code" / "app" / ".recollect")
    assert found.personal.where == str(link / ".recollect")
    assert not found.is_one
    assert places(start=home, home=link, environment={}).is_one


def test_a_home_under_git_makes_no_project_of_what_lies_in_it(home: Path) -> None:
    repository(home)
    (home / ".recollect").mkdir()
    (home / "code" / "app").mkdir(parents=True)
    found = places(start=home / "code" / "app", home=home, environment={})
    assert found.project.where == str(home / "code" / "app" / ".recollect")
    assert not found.is_one
    assert places(start=home, home=home, environment={}).is_one


# --- the embedder


def test_an_explicit_embedder_wins_then_the_variable_then_the_record(tmp_path: Path) -> None:
    def chosen(embedder: str = "auto", **environment: str) -> tuple[str, bool]:
        found = load(tmp_path, embedder=embedder, environment=environment)
        return found.embedder, found.embedder_is_named

    assert chosen() == ("auto", False)
    (tmp_path / "settings.json").write_text('{"embedder": "static", "later": 1}')
    assert chosen() == ("static", False)
    assert chosen(RECOLLECT_EMBEDDER="none") == ("none", True)
    assert chosen("static", RECOLLECT_EMBEDDER="none") == ("static", True)
    key = load(tmp_path, environment={"RECOLLECT_EMBEDDER_KEY": "secret"})
    assert key.embedder_key == "secret"
    assert "secret" not in repr(key)


@pytest.mark.parametrize("where", ["x" * 300, "a\0b", "~nobody-here/x", "/etc/passwd"])
def test_a_place_that_no_folder_can_have_is_refused(where: str, home: Path) -> None:
    with pytest.raises(ConfigError, match=r"name (another|a) folder"):
        Memory.open(where)


def test_embedders_are_joined_by_a_plus(tmp_path: Path) -> None:
    assert embedders("static+onnx:a+b+https://h.test/v1#m+x") == [
        "static",
        f"onnx:{Path('a+b').absolute()}",
        "https://h.test/v1#m+x",
    ]
    assert embedders("static+static") == ["static"]
    assert embedders("static+model:a.b-c") == ["static", "model:a.b-c"]
    for strange in (
        "model:",
        "model:../x",
        "model:/x",
        "model:.x",
        "model:a/b",
        "model:" + "x" * 65,
    ):
        with pytest.raises(ConfigError):
            embedders(strange)
    for strange in ("", "magic", "static+none", "none+static", "onnx:", "auto+static"):
        with pytest.raises(ConfigError):
            embedders(strange)


def test_a_found_folder_chooses_only_what_was_installed_here() -> None:
    free = ("auto", "none", "static", "model:x", "static+model:x")
    assert [word for word in free if not is_free(word)] == []
    for word in ("onnx:x", "static+onnx:x", "https://h.test/v1#m", "magic", ""):
        assert not is_free(word)


def test_the_embedder_before_is_the_recorded_one_or_is_named(tmp_path: Path) -> None:
    def before(recorded: str, embedder: str = "auto", **environment: str) -> str:
        (tmp_path / "settings.json").write_text(recorded)
        return load(tmp_path, embedder=embedder, environment=environment).before

    switching = '{"embedder": "model:x", "before": "static"}'
    assert before(switching) == "static"
    assert before('{"embedder": "static"}') == ""
    assert before('{"embedder": "static"}', "model:x") == "static"
    assert before(switching, "model:y") == "static"
    assert before(switching, "static") == ""
    assert before('{"embedder": "none"}', "static") == ""
    assert before("no json", "static") == ""
    assert before("{}", "model:x", RECOLLECT_EMBEDDER_BEFORE="static") == "static"


def test_no_file_names_a_server_as_the_embedder_before(tmp_path: Path) -> None:
    """It would be sent every question, although another embedder was chosen."""
    server = "https://h.test/v1#m"
    for words in (server, f"static+{server}", f"onnx:/x+{server}"):
        for recorded in ({"embedder": "static", "before": words}, {"embedder": words}):
            (tmp_path / "settings.json").write_text(json.dumps(recorded))
            assert load(tmp_path, embedder="model:x", environment={}).before == ""
    named = {"RECOLLECT_EMBEDDER_BEFORE": server}
    assert load(tmp_path, embedder="model:x", environment=named).before == server


def test_a_found_folder_names_no_encoder_before_by_its_path(home: Path, project: Path) -> None:
    folder = project / ".recollect"
    folder.mkdir()
    (folder / "events.wal").touch()
    for before, counted in (("onnx:/x", ""), ("static", "static"), ("https://h.test/v1#m", "")):
        recorded = {"embedder": "model:x", "before": before}
        (folder / "settings.json").write_text(json.dumps(recorded))
        found = load(start=project, home=home, environment={})
        assert (found.where, found.known_in is None) == (str(folder), False)
        assert (found.embedder, found.before) == ("model:x", counted)


def test_a_persons_own_list_keeps_both_embedders_of_a_found_folder(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    folder = project / ".recollect"
    folder.mkdir()
    (folder / "events.wal").touch()
    for chosen in ("onnx:/one", "onnx:/two"):
        found = load(start=project, home=home, embedder=chosen, environment={})
        record_embedder(found, replace=True)
    found = load(start=project, home=home, environment={})
    assert (found.embedder, found.before) == ("onnx:/two", "onnx:/one")
    record_embedder(found, replace=True, done=True)
    found = load(start=project, home=home, environment={})
    assert (found.embedder, found.before) == ("onnx:/two", "")


def test_settings_that_cannot_be_parsed_are_reported(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("no json")
    with pytest.raises(ConfigError, match=r"settings\.json"):
        load(tmp_path)


def test_auto_is_resolved_once_and_recorded(tmp_path: Path) -> None:
    assert record_embedder(load(tmp_path / "none yet")) == "static"
    assert not (tmp_path / "none yet").exists()
    assert record_embedder(load(tmp_path)) == "static"
    assert load(tmp_path).embedder == "static"
    assert record_embedder(load(tmp_path, embedder="none")) == "none"
    assert load(tmp_path).embedder == "static"
    assert record_embedder(load(tmp_path, embedder="none"), replace=True) == "none"
    assert load(tmp_path).embedder == "none"
    assert record_embedder(load(tmp_path)) == "none"


def test_a_recorded_endpoint_gets_no_text_unless_this_process_names_it(tmp_path: Path) -> None:
    """A folder may come from anyone, and its settings must not send texts elsewhere."""
    address = "https://embedder.test/v1#m"
    (tmp_path / "settings.json").write_text(f'{{"embedder": "{address}"}}')
    found = Embedders(load(tmp_path))
    assert found.ready() == ()
    assert "RECOLLECT_EMBEDDER" in found.missing()[0]
    named = Embedders(load(tmp_path, environment={"RECOLLECT_EMBEDDER": address}))
    assert len(named.ready()) == 1


def test_what_is_not_there_is_said_with_the_next_step(tmp_path: Path) -> None:
    found = Embedders(load(tmp_path, embedder=f"static+onnx:{tmp_path / 'nowhere'}"))
    assert [each.name.partition("-")[0] for each in found.ready()] == ["wordllama"]
    (sentence,) = found.missing()
    assert "nowhere" in sentence
    assert "name a folder" in sentence


def test_writing_and_opening_load_no_encoder_and_no_numpy(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom recollect import Memory\n"
        f"memory = Memory.open({str(tmp_path / 'w')!r}, embedder='static')\n"
        "record = memory.remember('a')\nmemory.revise(record.id, 'b')\nmemory.erase(record.id)\n"
        "sys.exit(bool({'numpy', 'tokenizers', 'recollect.embed'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert not (tmp_path / "w" / "vectors").exists()


def test_a_memory_in_the_process_needs_no_numpy() -> None:
    script = (
        "import sys\nsys.modules['numpy'] = None\nfrom recollect import Memory\n"
        "memory = Memory.open(':memory:')\nmemory.remember('Alice sits in 14C.')\n"
        "assert memory.recall('Where does Alice sit?').hits\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_proposer_is_named_by_the_environment_alone() -> None:
    assert config.proposer(environment={}) is None
    assert config.proposer(environment={"RECOLLECT_PROPOSER": "none"}) is None
    found = config.proposer(
        environment={
            "RECOLLECT_PROPOSER": "https://example.test/v1#small",
            "RECOLLECT_PROPOSER_KEY": "secret",
            "RECOLLECT_PROPOSER_MAX_CALLS": "7",
        }
    )
    assert found is not None
    assert (found.url, found.model, found.key) == ("https://example.test/v1", "small", "secret")
    assert (found.max_calls, found.max_tokens) == (7, None)
    assert "secret" not in repr(found)
    made = compose.proposer(found)
    assert repr(made) == "ChatProposer('example.test/v1/chat/completions', 'small')"


@pytest.mark.parametrize(
    "variables",
    [
        {"RECOLLECT_PROPOSER": "small"},
        {"RECOLLECT_PROPOSER": "https://example.test/v1"},
        {"RECOLLECT_PROPOSER": "ftp://user:secret@example.test/v1#small"},
        *(
            {"RECOLLECT_PROPOSER": "https://h/v1#m", "RECOLLECT_PROPOSER_MAX_TOKENS": word}
            for word in ("0", "-1", "many", "1.5", "9" * 5_000, "²")
        ),
    ],
)
def test_a_proposer_that_is_not_understood_is_refused(variables: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as refused:
        config.proposer(environment=variables)
    assert "secret" not in str(refused.value)


def test_a_token_that_is_given_counts_before_the_variable() -> None:
    variables = {"RECOLLECT_TOKEN": "old"}
    for place in ("https://memory.example", "postgresql://db.example/memories"):
        assert load(place, token="new", environment=variables).token == "new"
        assert load(place, environment=variables).token == "old"


@pytest.mark.parametrize("place", ["my-memory", ":memory:"])
def test_a_token_for_a_place_without_tokens_is_refused(place: str) -> None:
    with pytest.raises(ConfigError, match="needs no token"):
        load(place, token="rct_x")
