"""Clients whose settings hold comments, or are not JSON: everything a person wrote stays."""

from __future__ import annotations

import difflib
import json
import sys
import tomllib
from pathlib import Path

import pytest

from recollect.errors import ConfigError
from recollect.interfaces.cli.assistants import json_text
from recollect.interfaces.cli.assistants.clients import Place, addition, files, removal
from recollect.interfaces.cli.assistants.program import note_if_fragile
from tests.cli.running import Shell

ENTRY: dict[str, object] = {"command": "/x/recollect", "args": ["-P", "mcp", "--space", 'a"]b']}
COMMENTED = {
    "at the top": '// Zed settings\n//\n// more\n{\n  "theme": "One // Dark", // nice\n}\n',
    "beside the last": '{\n  "servers": {\n    "x": {} // of x, }\n    // the end\n  }\n}\n',
    "in an empty section": '{\n  "servers": {\n    // none yet }\n  }\n}\n',
    "between marks": '{/* a, } */"servers": {"x": /* [ */ {"y": "/* no */"}}, /* z */ "n": 1}',
    "trailing commas": '{\n  "servers": {\n    "x": {"y": [1, 2,],},\n  },\n}\n',
    "windows line ends": '{\r\n  // one\r\n  "servers": {\r\n    "x": {} // two\r\n  }\r\n}\r\n',
}
TABLES = {
    "nothing": "",
    "others": '# mine\nmodel = "o3" # the best\n\n[mcp_servers.other]\ncommand = "x"\nargs = []\n',
    "no last line end": '[projects."/x/y"]\ntrust_level = "trusted"',
    "windows line ends": '# mine\r\nmodel = "o3"\r\n',
    "a table after it": '[mcp_servers.other]\ncommand = "x"\n\n# about tui\n[tui]\nx = 1\n',
    "an array of tables": '[[things]]\nname = "[mcp_servers.recollect]"\n',
}


def json_place(folder: Path) -> Place:
    return Place("vscode", folder / "mcp.json", "servers", False)


def toml_place(folder: Path) -> Place:
    return Place("codex", folder / "config.toml", "mcp_servers", False)


def lost(before: str, after: str) -> list[str]:
    """The pieces of a text that are not in the other one."""
    compared = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [before[a:b] for what, a, b, _, _ in compared if what in ("delete", "replace")]


@pytest.mark.parametrize("text", COMMENTED.values(), ids=COMMENTED)
def test_comments_and_trailing_commas_stay(tmp_path: Path, text: str) -> None:
    place = json_place(tmp_path)
    place.file.write_bytes(text.encode())
    after = (addition(place, ENTRY).after or b"").decode()
    whole = json_text.parse(text)
    assert json_text.parse(after) == whole | {
        "servers": whole.get("servers", {}) | {"recollect": ENTRY}
    }
    assert [piece for piece in lost(text, after) if piece.strip()] == []
    place.file.write_bytes(after.encode())
    assert addition(place, ENTRY).is_nothing
    gone = (removal(place).after or b"").decode()
    assert json_text.parse(gone) == {"servers": {}, **whole}
    assert [piece for piece in lost(text, gone) if piece.strip(", \r\n")] == []


def test_a_comment_after_our_entry_stays_when_it_goes(tmp_path: Path) -> None:
    place = json_place(tmp_path)
    place.file.write_text(
        '{"servers": {\n  "recollect": {"command": "x"},\n  // about y\n  "y": {} // y\n}}'
    )
    assert removal(place).after == b'{"servers": {\n  // about y\n  "y": {} // y\n}}'


def test_what_is_hidden_in_a_comment_is_not_an_entry(tmp_path: Path) -> None:
    place = json_place(tmp_path)
    place.file.write_text('{\n  // "servers": {"recollect": {}},\n  "n": 1\n}\n')
    assert removal(place).is_nothing
    assert b'// "servers": {"recollect": {}},' in (addition(place, ENTRY).after or b"")


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_a_table_is_added_changed_and_removed_and_every_other_line_stays(
    tmp_path: Path, text: str
) -> None:
    place = toml_place(tmp_path)
    place.file.write_bytes(text.encode())
    after = (addition(place, ENTRY).after or b"").decode()
    assert after.startswith(text)
    whole = tomllib.loads(text)
    servers = whole.get("mcp_servers", {})
    assert tomllib.loads(after) == whole | {"mcp_servers": servers | {"recollect": ENTRY}}
    assert ("\r\n" in text) == ("\r\n" in after)
    place.file.write_bytes(after.encode())
    assert addition(place, ENTRY).is_nothing
    other = (addition(place, ENTRY | {"command": "/y"}).after or b"").decode()
    assert tomllib.loads(other)["mcp_servers"]["recollect"]["command"] == "/y"
    assert other.replace('"/y"', '"/x/recollect"') == after
    gone = (removal(place).after or b"").decode()
    assert gone.rstrip() == text.rstrip()


def test_what_a_person_added_to_our_table_stays(tmp_path: Path) -> None:
    place = toml_place(tmp_path)
    text = (
        "[ mcp_servers . 'recollect' ] # ours\n"
        'command = "/old" # where\nargs = [\n  "a", # ]\n  "b",\n]\nstartup_timeout_sec = 20\n'
        '[mcp_servers.recollect.env]\nRECOLLECT_EMBEDDER = "none"\n\n# about tui\n[tui]\n'
    )
    place.file.write_text(text.replace("# ]", "# x"))
    after = (addition(place, ENTRY).after or b"").decode()
    told = tomllib.loads(after)["mcp_servers"]["recollect"]
    assert told == ENTRY | {"startup_timeout_sec": 20, "env": {"RECOLLECT_EMBEDDER": "none"}}
    assert "# ours" in after
    assert "# where" in after
    place.file.write_text(after)
    assert removal(place).after == b"\n# about tui\n[tui]\n"


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { other = { command = 'x' } }\n",
        "mcp_servers.recollect = { command = 'x' }\n",
        "[mcp_servers\n",
        "mcp_servers = 3\n",
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_with_the_lines_to_paste(
    tmp_path: Path, text: str
) -> None:
    place = toml_place(tmp_path)
    place.file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        addition(place, ENTRY)
    assert '[mcp_servers.recollect]\ncommand = "/x/recollect"' in str(refused.value.hint)
    assert place.file.read_text() == text


@pytest.mark.parametrize("where", ["--user", "--project"])
def test_codex_is_told_and_untold_byte_for_byte(shell: Shell, where: str) -> None:
    folder = shell.home if where == "--user" else shell.folder
    file = folder / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_bytes(b'# mine\nmodel = "o3"\n\n\n')
    assert shell.run("mcp", "install", "codex", where, "--yes").code == 0
    told = tomllib.loads(file.read_text())["mcp_servers"]["recollect"]
    assert told["args"][-1] == "mcp"
    assert "already up to date" in shell.run("mcp", "install", "codex", where, "--yes").out
    assert shell.run("mcp", "install", "codex", where, "--undo", "--yes").code == 0
    assert file.read_bytes() == b'# mine\nmodel = "o3"\n\n\n'


def test_opencode_has_its_own_form_and_either_name(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shell.home / "settings"))
    assert shell.run("mcp", "install", "opencode", "--yes").code == 0
    made = json.loads((shell.home / "settings" / "opencode" / "opencode.json").read_text())
    entry = made["mcp"]["recollect"]
    assert (entry["type"], entry["enabled"], entry["command"][-1]) == ("local", True, "mcp")
    commented = shell.folder / "opencode.jsonc"
    commented.write_text("{\n  // mine\n}\n")
    assert shell.run("mcp", "install", "opencode", "--project", "--yes").code == 0
    assert "// mine" in commented.read_text()
    assert "recollect" in json_text.parse(commented.read_text())["mcp"]


def test_on_macos_zed_and_opencode_use_the_dotted_folder(tmp_path: Path) -> None:
    config = tmp_path / "Library" / "Application Support"
    at = {"here": tmp_path / "work", "home": tmp_path, "config": config}
    assert files("zed", **at)[1] == tmp_path / ".config" / "zed" / "settings.json"
    assert files("opencode", **at)[1] == tmp_path / ".config" / "opencode" / "opencode.json"
    assert files("vscode", **at)[1] == config / "Code" / "User" / "mcp.json"


@pytest.mark.parametrize(
    ("prefix", "is_told"),
    [
        ("/x/project/.venv", True),
        ("/x/pipx/venvs/recollect", False),
        ("/x/uv/tools/recollect", False),
        (sys.base_prefix, False),
    ],
)
def test_an_entry_that_dies_with_a_virtual_environment_is_told(
    monkeypatch: pytest.MonkeyPatch, prefix: str, is_told: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert (note_if_fragile() is not None) == is_told
