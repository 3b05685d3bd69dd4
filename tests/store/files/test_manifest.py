"""A backup whose manifest was changed by hand is refused with an error of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import InvalidInput


@pytest.mark.parametrize("key", ["x", "1.5", "-1", "", "²", "9" * 5_000])
def test_an_erased_event_that_is_not_a_number_is_refused(tmp_path: Path, key: str) -> None:
    with Memory.open(tmp_path / "store") as memory:
        memory.remember("A fact.")
        memory.admin.backup(tmp_path / "copy")
    manifest = next((tmp_path / "copy").glob("*.json"))
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**said, "erased": {key: 99}}))
    with pytest.raises(InvalidInput, match="not an event number"):
        Store.restore_backup(tmp_path / "copy", tmp_path / "other")
