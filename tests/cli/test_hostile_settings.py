"""Settings of a client that a cloned folder brings along."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from recollect.errors import ConfigError
from recollect.interfaces.cli import changes, json_text


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
