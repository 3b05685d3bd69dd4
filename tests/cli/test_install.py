"""Telling a client about the server, and taking it back."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from recollect.config import config_home
from recollect.errors import ConfigError
from recollect.interfaces.cli.assistants.changes import Change, Kept
from recollect.interfaces.cli.assistants.clients import Place, addition, removal
from tests.cli.running import Shell

OTHERS = {
    "empty": "",
    "blank": " \n",
    "an empty object": "{}",
    "an empty object in lines": "{\n}\n",
    "two spaces": '{\n  "theme": "dark",\n  "mcpServers": {\n    "x": {"command": "y"}\n  }\n}\n',
    "four spaces": '{\n    "mcpServers": {\n        "x": {\n            "y": 1\n        }\n    }}',
    "tabs": '{\n\t"mcpServers": {},\n\t"n": 1e400\n}\n',
    "one line": '{"a":1,"mcpServers":{"x":{"command":"y"}},"b":[1,2,{"c":null}]}',
    "no section": '{"numbers": [1.10, 1e5, 123456789012345678901234567890], "text": "\\u00e9\\/"}',
    "odd spaces": '{ "mcpServers" :\r\n { "x" : { } } , "z" : 0 }\r\n',
    "our name elsewhere": '{"recollect": {"mcpServers": 1}, "mcpServers": {"x": {"recollect": 1}}}',
}  # fmt: skip
NOT_PLAIN = {
    "a comment that does not end": b'{\n  /* mine\n  "servers": {}\n}',
    "two commas": b'{"servers": {},,}',
    "cut off": b'{"servers": {',
    "a list": b"[]",
    "a word": b"null",
    "a section that is a list": b'{"servers": []}',
    "a key twice": b'{"servers": {}, "servers": {"x": {}}}',
    "a mark at the start": b"\xef\xbb\xbf{}",
    "no UTF-8": b'{"servers": {"\xff": {}}}',
}
CLIENTS = {
    ("claude-code", "--user"): ("home/.claude.json", "mcpServers"),
    ("claude-code", "--project"): ("work/.mcp.json", "mcpServers"),
    ("cursor", "--user"): ("home/.cursor/mcp.json", "mcpServers"),
    ("cursor", "--project"): ("work/.cursor/mcp.json", "mcpServers"),
    ("vscode", "--project"): ("work/.vscode/mcp.json", "servers"),
    ("gemini-cli", "--user"): ("home/.gemini/settings.json", "mcpServers"),
    ("gemini-cli", "--project"): ("work/.gemini/settings.json", "mcpServers"),
    ("windsurf", "--user"): ("home/.codeium/windsurf/mcp_config.json", "mcpServers"),
    ("zed", "--user"): ("home/settings/zed/settings.json", "context_servers"),
    ("zed", "--project"): ("work/.zed/settings.json", "context_servers"),
    ("jetbrains", "--user"): ("home/.junie/mcp/mcp.json", "mcpServers"),
    ("jetbrains", "--project"): ("work/.junie/mcp/mcp.json", "mcpServers"),
}


@pytest.fixture
def shell_at(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shell.home / "settings"))
    return shell


def file_of(shell: Shell, client: str, where: str) -> Path:
    named = CLIENTS[client, where][0]
    return (shell.home if named.startswith("home") else shell.folder) / named.partition("/")[2]


def place_at(file: Path, section: str = "mcpServers") -> Place:
    return Place("cursor", file, section, False)


ENTRY: dict[str, object] = {"command": "/x/recollect", "args": ["mcp"]}


@pytest.mark.parametrize(("client", "where"), CLIENTS)
def test_a_client_is_told_once_and_untold_exactly(shell_at: Shell, client: str, where: str) -> None:
    file, section = file_of(shell_at, client, where), CLIENTS[client, where][1]
    before = f'{{"{section}" : {{"other": {{"command": "x"}}}},   "n": 1.0}}'.encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(before)
    file.chmod(0o640)
    done = shell_at.run("mcp", "install", client, where, "--yes")
    assert done.code == 0
    assert "+++" in done.out
    told = json.loads(file.read_text())
    entry = told[section].pop("recollect")
    assert told == json.loads(before)
    assert Path(entry["command"]).is_absolute()
    assert "mcp" in entry["args"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    written = file.read_bytes()
    again = shell_at.run("mcp", "install", client, where, "--yes")
    assert (again.code, file.read_bytes()) == (0, written)
    assert "already up to date" in again.out
    assert shell_at.run("mcp", "install", client, where, "--undo", "--yes").code == 0
    assert file.read_bytes() == before
    undone = shell_at.run("mcp", "install", client, where, "--undo", "--yes")
    assert "already up to date" in undone.out


def test_a_file_that_was_not_there_is_gone_again(shell_at: Shell) -> None:
    file = file_of(shell_at, "cursor", "--user")
    assert shell_at.run("mcp", "install", "cursor", "--yes").code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert shell_at.run("mcp", "install", "cursor", "--undo", "--yes").code == 0
    assert not file.exists()


def test_nothing_is_written_without_a_yes(shell_at: Shell) -> None:
    file = file_of(shell_at, "cursor", "--user")
    assert shell_at.run("mcp", "install", "cursor").code == 4
    assert shell_at.run("mcp", "install", "cursor", "--dry-run").code == 0
    shown = shell_at.run("mcp", "install", "cursor", "--dry-run", "--json").json
    assert (shown["written"], shown["file"]) == (False, str(file))
    assert not file.exists()
    assert not (shell_at.home / "settings").exists()


def test_what_a_person_changed_meanwhile_stays(shell_at: Shell) -> None:
    file = file_of(shell_at, "cursor", "--user")
    file.parent.mkdir()
    file.write_text('{\n  "mcpServers": {}\n}\n')
    shell_at.run("mcp", "install", "cursor", "--yes")
    mine = json.loads(file.read_text())
    mine["mcpServers"]["mine"] = {"command": "z"}
    file.write_text(json.dumps(mine))
    assert shell_at.run("mcp", "install", "cursor", "--undo", "--yes").code == 0
    assert json.loads(file.read_text()) == {"mcpServers": {"mine": {"command": "z"}}}


def test_a_second_install_keeps_the_way_back_to_the_first_bytes(shell_at: Shell) -> None:
    file = file_of(shell_at, "cursor", "--user")
    file.parent.mkdir()
    file.write_text("{}")
    shell_at.run("mcp", "install", "cursor", "--yes")
    shell_at.run("--space", "other", "mcp", "install", "cursor", "--yes")
    assert json.loads(file.read_text())["mcpServers"]["recollect"]["args"][-2:] == [
        "--space",
        "other",
    ]
    shell_at.run("mcp", "install", "cursor", "--undo", "--yes")
    assert file.read_text() == "{}"


def test_wrong_calls_are_refused(shell_at: Shell) -> None:
    assert shell_at.run("mcp", "install", "emacs").code == 2
    assert shell_at.run("mcp", "install", "cursor", "--user", "--project").code == 2
    assert shell_at.run("mcp", "install", "claude-desktop", "--project").code == 2
    assert shell_at.run("mcp", "install", "windsurf", "--project").code == 2


def test_a_project_of_an_editor_names_its_folder(shell_at: Shell) -> None:
    for client in ("cursor", "vscode"):
        shell_at.run("mcp", "install", client, "--project", "--yes")
        file, section = file_of(shell_at, client, "--project"), CLIENTS[client, "--project"][1]
        args = json.loads(file.read_text())[section]["recollect"]["args"]
        assert args[-2:] == ["--folder", "${workspaceFolder}"]


def test_settings_lie_where_the_system_keeps_them(tmp_path: Path) -> None:
    def at(platform: str, **environment: str) -> Path:
        return config_home(home=tmp_path, environment=environment, platform=platform)

    assert at("linux") == tmp_path / ".config"
    assert at("linux", XDG_CONFIG_HOME="/x") == Path("/x")
    assert at("darwin") == tmp_path / "Library" / "Application Support"
    assert at("win32", APPDATA="/a") == Path("/a")


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_everything_else_in_a_file_stays(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text.encode())
    change = addition(place_at(file), ENTRY)
    assert change.after is not None
    whole = json.loads(text) if text.strip() else {}
    wanted = {**whole, "mcpServers": {**whole.get("mcpServers", {}), "recollect": ENTRY}}
    assert json.loads(change.after) == wanted
    if text.strip("{} \n"):  # one piece was put in, and every other character is where it was
        before, after = text.encode(), change.after
        places = range(len(before) + 1)
        assert any(after.startswith(before[:n]) and after.endswith(before[n:]) for n in places)
    file.write_bytes(change.after)
    assert addition(place_at(file), ENTRY).is_nothing
    other = addition(place_at(file), {"command": "/y"})
    assert json.loads(other.after or b"")["mcpServers"]["recollect"] == {"command": "/y"}
    gone = removal(place_at(file))
    assert json.loads(gone.after or b"") == {"mcpServers": {}, **whole}


@pytest.mark.parametrize("data", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_a_file_that_is_not_plain_json_is_refused_with_the_lines_to_paste(
    tmp_path: Path, data: bytes
) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(data)
    with pytest.raises(ConfigError) as refused:
        addition(place_at(file, "servers"), ENTRY)
    assert refused.value.hint is not None
    assert '"/x/recollect"' in refused.value.hint
    assert file.read_bytes() == data


def test_a_file_that_changes_while_a_person_thinks_is_left_alone(tmp_path: Path) -> None:
    from recollect.errors import Conflict

    file = tmp_path / "mcp.json"
    file.write_text("{}")
    change = addition(place_at(file), ENTRY)
    file.write_text('{"new": 1}')
    with pytest.raises(Conflict):
        Kept(tmp_path / "kept").apply(change)
    assert file.read_text() == '{"new": 1}'


def test_a_link_keeps_leading_to_the_file(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "real.json", tmp_path / ".client" / "link.json"
    for folder in (real.parent, link.parent):
        folder.mkdir()
    real.write_text("{}")
    link.symlink_to(real)
    kept = Kept(tmp_path / "kept", home=tmp_path)
    kept.apply(addition(place_at(link), ENTRY))
    assert link.is_symlink()
    assert "recollect" in real.read_text()
    undoing = kept.undoing(link)
    assert undoing is not None
    kept.undo(undoing)
    assert (link.is_symlink(), real.read_text()) == (True, "{}")


def test_nothing_is_written_through_a_link_placed_beside_the_file(
    tmp_path: Path,
) -> None:
    """A project may come from anybody, with links in it that lead to a person's own files."""
    file, own = tmp_path / "project" / "settings.json", tmp_path / "own"
    file.parent.mkdir()
    file.write_text("{}")
    own.write_text("mine")
    (file.parent / "settings.json.new").symlink_to(own)
    Kept(tmp_path / "undo").apply(addition(place_at(file), ENTRY))
    assert own.read_text() == "mine"
    assert sorted(each.name for each in file.parent.iterdir()) == [
        "settings.json",
        "settings.json.new",
    ]


def test_a_change_shows_what_it_does(tmp_path: Path) -> None:
    file = tmp_path / "x"
    assert Change(file, None, b"a\n").diff().startswith("--- nothing\n+++ ")
    assert Change(file, b"a", b"b").diff().splitlines()[-2:] == ["-a", "+b"]


def test_what_starts_the_server_starts_from_anywhere(shell_at: Shell) -> None:
    shell_at.run("mcp", "install", "claude-code", "--yes")
    entry = json.loads(file_of(shell_at, "claude-code", "--user").read_text())["mcpServers"][
        "recollect"
    ]
    args = ["-P", "-m", "recollect", "mcp"]
    assert entry == {"type": "stdio", "command": sys.executable, "args": args}
