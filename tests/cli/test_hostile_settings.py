"""Settings of a client that a cloned folder brings along."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from recollect.errors import ConfigError
from recollect.interfaces.cli.assistants import changes, hook_settings, json_text
from tests.cli.running import Shell


def test_a_device_or_a_fifo_is_not_read(tmp_path: Path) -> None:
    endless, waiting = tmp_path / ".mcp.json", tmp_path / "settings.json"
    endless.symlink_to("/dev/zero")
    os.mkfifo(waiting)
    for file in (endless, waiting):
        with pytest.raises(ConfigError):
            changes.content(file)
    linked = tmp_path / "linked.json"  # the control: people do link their settings
    (tmp_path / "real.json").write_bytes(b"{}")
    linked.symlink_to(tmp_path / "real.json")
    assert changes.content(linked) == b"{}"
    assert changes.content(tmp_path / "missing.json") is None


@pytest.fixture(name="home")
def with_settings(tmp_path: Path) -> Path:
    """A home folder with dotfiles and a cloned project in it, and something outside."""
    home = tmp_path / "home"
    for name in ("dotfiles", ".claude", "project/.claude", "project/shared"):
        (home / name).mkdir(parents=True)
    for name in ("objects", "refs"):
        (home / "project" / ".git" / name).mkdir(parents=True)
    (home / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for place in ("home/dotfiles/own.json", "home/project/shared/team.json", "outside.json"):
        (tmp_path / place).write_bytes(b"{}")
    return home


def written(file: Path, home: Path) -> bool:
    """True if a change to a file is written; it is refused with the file's name otherwise."""
    kept = changes.Kept(home / "undo", home=home)
    change = changes.Change(file, changes.content(file), b'{"a": 1}')
    try:
        changes.real_file(file, home)
    except ConfigError:
        with pytest.raises(ConfigError, match=re.escape(str(file))):
            kept.apply(change)
        assert not (home / "undo").exists()
        return False
    kept.apply(change)
    assert file.read_bytes() == b'{"a": 1}'
    return True


@pytest.mark.parametrize(
    ("file", "target", "is_followed"),
    [
        (".claude/settings.json", "dotfiles/own.json", True),
        (".claude/settings.json", "../outside.json", False),
        (".claude/settings.json", "dotfiles/missing.json", False),
        ("project/.claude/settings.json", "project/shared/team.json", True),
        ("project/.claude/settings.json", "dotfiles/own.json", False),
        ("project/.claude/settings.json", "../outside.json", False),
        ("project/.mcp.json", "dotfiles/own.json", False),
        ("unpacked.json", "dotfiles/own.json", True),  # in the folder itself or below
        ("dotfiles/unpacked.json", "project/shared/team.json", False),
    ],
)
def test_a_link_is_followed_only_to_where_it_may_lead(
    home: Path, file: str, target: str, is_followed: bool
) -> None:
    (home / file).symlink_to(home / target)
    before = changes.content(home / target)
    assert written(home / file, home) == is_followed
    assert (home / file).is_symlink()
    assert (changes.content(home / target) == before) != is_followed


@pytest.mark.parametrize(
    ("folder", "target", "is_followed"),
    [
        (".codex", "dotfiles", True),
        (".codex", "..", False),
        ("project/.codex", "project/shared", True),
        ("project/.codex", "dotfiles", False),
        (".codex", "dotfiles/missing", False),
    ],
)
def test_a_linked_folder_is_followed_only_to_where_it_may_lead(
    home: Path, folder: str, target: str, is_followed: bool
) -> None:
    (home / folder).symlink_to(home / target)
    assert written(home / folder / "hooks.json", home) == is_followed
    assert (home / target / "hooks.json").exists() == is_followed


def test_a_linked_worktree_is_a_project_of_its_own(home: Path) -> None:
    main, tree = home / "project" / ".git", home / "tree"
    (main / "worktrees" / "tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {main}/worktrees/tree\n")
    (main / "worktrees" / "tree" / "gitdir").write_text(f"{tree}/.git\n")
    (tree / ".claude").symlink_to(home / "dotfiles")
    assert not written(tree / ".claude" / "settings.json", home)
    assert written(tree / ".mcp.json", home)


def test_a_file_without_links_is_written_wherever_it_is(home: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(home)  # a home folder may be reached through a link
    for file in (home / ".claude" / "x.json", home / "project" / ".mcp.json", tmp_path / "x.json"):
        assert written(file, home)
    assert written(tmp_path / "linked" / ".claude" / "y.json", tmp_path / "linked")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_link_to_a_file_of_another_person_is_refused(home: Path) -> None:
    own = home / "dotfiles" / "own.json"
    (home / ".claude" / "settings.json").symlink_to(own)
    os.chown(own, 12345, -1)
    assert not written(home / ".claude" / "settings.json", home)
    os.chown(own, os.geteuid(), -1)
    assert written(home / ".claude" / "settings.json", home)  # the control


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_bytes(b" " * 4_000_001)
    with pytest.raises(ConfigError, match="longer than 4,000,000 bytes"):
        changes.content(file)
    file.write_bytes(b" " * 4_000_000)
    assert len(changes.content(file) or b"") == 4_000_000


def seconds(work: Callable[[], object]) -> float:
    """The processor time of the fastest of three runs."""
    times = []
    for _ in range(3):
        started = process_time()
        work()
        times.append(process_time() - started)
    return min(times)


@pytest.mark.timing
@pytest.mark.parametrize("part", ["/*x", '\\"', '"a\\', '",', ",\n", "//"])
def test_reading_settings_takes_as_long_as_their_text(part: str) -> None:
    short, long = (part * (size // len(part)) for size in (60_000, 240_000))
    small = max(seconds(lambda: json_text.Text.of(short)), 0.001)
    assert seconds(lambda: json_text.Text.of(long)) < 10 * small  # in quadratic time: 16


@pytest.mark.parametrize("text", ["{} /* open", '{"a": 1 /*/ }', '{"a": "open', "{} /*/"])
def test_what_does_not_end_cannot_be_parsed(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_text.parse(text)
    assert json_text.parse("{} /**/ /* closed */ // line") == {}  # the control


def test_a_hook_command_of_any_length_is_read_at_once(tmp_path: Path) -> None:
    file, ours = tmp_path / "settings.json", "recollect context --hook"

    def hooked(command: str) -> list[str]:
        hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}
        file.write_text(json.dumps({"hooks": hooks}))
        return list(hook_settings.found(file).values())

    def search(size: int) -> float:
        command = "recollect " * (size // 10)
        return seconds(lambda: hooked(command))

    assert hooked(ours) == [ours]
    assert hooked("x" * (4096 - len(ours)) + ours) != []
    assert hooked("x" * (4097 - len(ours)) + ours) == []  # longer than any of ours
    assert search(400_000) < 10 * max(search(100_000), 0.001)  # in quadratic time: 16


def test_settings_of_a_found_memory_that_are_not_utf8_stop_no_command(shell: Shell) -> None:
    """They may come from anyone, for example with a cloned project."""
    assert shell.run("--store", ".recollect", "remember", "The port is 8080").code == 0
    (shell.folder / ".recollect" / "settings.json").write_bytes(b'{"embedder": "\xff"}')
    ran = shell.run("list")
    assert (ran.code, "8080" in ran.out, "Traceback" in ran.err) == (0, True, False)
