"""A client's settings: shown, changed, given back to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.errors import ConfigError, Conflict, Unavailable
from recollect.interfaces.cli import clients
from recollect.interfaces.cli.clients import Settings

FILES = {
    "none": None,
    "empty object": b"{}",
    "two spaces": b'{\n  "b": 1,\n  "a": [1, 2.50, "\\u00e9"]\n}\n',
    "tabs and no newline at the end": b'{\n\t"theme": "d\xc3\xa4rk"\n}',
    "one line": b'{"a": {"b": null}}',
    "odd spacing": b' {  "a":1,\r\n"b" : [ ] }\r\n\r\n',
}


def add(settings: Settings) -> None:
    settings.setdefault("servers", {})["recollect"] = {"command": "recollect"}


def take_out(settings: Settings) -> None:
    servers = settings.get("servers", {})
    servers.pop("recollect", None)
    if not servers:
        settings.pop("servers", None)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("before", FILES.values(), ids=FILES.keys())
def test_undoing_gives_the_very_bytes_back(tmp_path: Path, before: bytes | None) -> None:
    path = tmp_path / "settings.json"
    if before is not None:
        path.write_bytes(before)
    clients.write(clients.plan(path, add))
    clients.write(clients.plan(path, add))
    found = json.loads(path.read_bytes())
    assert found.pop("servers") == {"recollect": {"command": "recollect"}}
    assert found == json.loads(before or b"{}")
    clients.undo(clients.plan_undo(path, add, take_out))
    assert (path.read_bytes() if path.exists() else None) == before
    assert names(tmp_path) == ([] if before is None else ["settings.json"])


def test_what_others_changed_since_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    clients.write(clients.plan(path, add))
    changed = json.loads(path.read_text()) | {"theirs": True}
    path.write_text(json.dumps(changed))
    clients.undo(clients.plan_undo(path, add, take_out))
    assert json.loads(path.read_text()) == {"a": 1, "theirs": True}
    assert names(tmp_path) == ["settings.json"]


def test_the_second_time_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "settings.json"
    first = clients.plan(path, add)
    assert not first.is_nothing
    assert "+" in clients.diff(first)
    assert "/dev/null" in clients.diff(first)
    clients.write(first)
    second = clients.plan(path, add)
    assert second.is_nothing
    assert clients.diff(second) == ""


def test_a_diff_shows_only_what_changes(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{\n    "a": 1\n}')
    lines = clients.diff(clients.plan(path, add)).splitlines()
    assert [line for line in lines if line[:1] == "-"][1:] == ['-    "a": 1']
    assert '+        "recollect": {' in lines


def test_undoing_where_nothing_was_done_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    change = clients.plan_undo(path, add, take_out)
    assert change.is_nothing
    clients.undo(change)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "bad", [b"", b"// hi\n{}", b"[]", b'{"a": 1, "a": 2}', b'{"a": ', b"\xff{}", b"[" * 99_999]
)
def test_what_is_no_plain_json_object_is_left_alone(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(bad)
    with pytest.raises(ConfigError):
        clients.plan(path, add)
    assert path.read_bytes() == bad


def test_a_file_that_changed_after_it_was_shown_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    change = clients.plan(path, add)
    path.write_text("{}")
    with pytest.raises(Conflict):
        clients.write(change)
    assert path.read_text() == "{}"


def test_a_link_and_the_rights_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    path = tmp_path / "settings.json"
    path.symlink_to(real)
    clients.write(clients.plan(path, add))
    assert path.is_symlink()
    assert "recollect" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises((Unavailable, ConfigError)):
        clients.write(clients.plan(tmp_path / "a" / "settings.json", add))
