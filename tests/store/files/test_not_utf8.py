"""Small JSON files of a workspace may hold bytes that are not UTF-8: never a bare Python error."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import config
from recollect.errors import ConfigError, InvalidInput
from recollect.store.backup import read_manifest
from recollect.store.files.copies.copies import Place, noted

STRANGE = b'{"embedder": "\xff\xfe"}'


def test_settings_are_refused_with_a_next_step(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_bytes(STRANGE)
    with pytest.raises(ConfigError, match=r"settings\.json could not be parsed") as refused:
        config.recorded(tmp_path)
    assert "delete it" in str(refused.value.hint)


def test_the_list_of_known_memories_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_bytes(STRANGE)
    assert config.known(tmp_path / "known.json") == {}


def test_the_notes_of_backups_are_refused(tmp_path: Path) -> None:
    (tmp_path / "backups.json").write_bytes(STRANGE)
    with pytest.raises(InvalidInput, match=r"backups\.json cannot be read"):
        noted(Place(tmp_path, tmp_path))


def test_a_backups_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(STRANGE)
    with pytest.raises(InvalidInput, match=r"manifest\.json could not be parsed"):
        read_manifest(tmp_path)
