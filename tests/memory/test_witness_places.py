"""Where a witness may be: what is mistyped is refused, and leaves neither a folder nor a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.config import keys_folder
from recollect.errors import InvalidInput, NotFound, RecollectError, Unavailable
from recollect.memory.witnesses import Witnesses, to_serve
from tests.memory.test_checkpoints import filled


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


def left() -> list[Path]:
    """The private keys of witnesses here."""
    return list(keys_folder().glob("*.witness.json"))


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "  ",
        "ftp://x",
        "ssh://w.example/w",
        "https:/w.example",
        "http:w",
        "www.example.com/w",
        "www.example.com",
        "localhost:8600",
        "missing/below",
        "/etc/passwd",
        "/etc/passwd/w",
    ],
)
def test_a_mistyped_place_is_refused(home: Path, tmp_path: Path, typed: str) -> None:
    with filled(tmp_path / "memory" / "m") as memory:
        before = sorted(home.rglob("*"))
        with pytest.raises((InvalidInput, Unavailable)):
            Witnesses(memory).add(typed)
        for new in (True, False):
            with pytest.raises(RecollectError):
                to_serve(typed, [], new=new)
        assert sorted(home.rglob("*")) == before
        assert left() == []
        assert Witnesses(memory).all() == []


def test_the_folder_that_contains_the_memory_is_refused(home: Path, tmp_path: Path) -> None:
    with filled(tmp_path / "memory" / "m") as memory:
        for near in (tmp_path / "memory", tmp_path, home):
            with pytest.raises(InvalidInput, match="contains"):
                Witnesses(memory).add(near)
        assert left() == []
        Witnesses(memory).add("./www.example.com")  # the control: named as a folder
        assert len(left()) == 1


def test_serving_needs_a_witness_or_the_wish_for_a_new_one(home: Path) -> None:
    with pytest.raises(NotFound, match="there is no witness in") as told:
        to_serve("witnes", [])
    assert "--create" in str(told.value)
    assert not (home / "witnes").exists()
    assert left() == []
    made = to_serve("witness", [], new=True)
    assert to_serve("witness", []).key == made.key
    assert made.logs() == []


def test_a_key_is_not_left_behind_by_a_link(home: Path) -> None:
    (home / "w").mkdir()
    (home / "w" / "witness.pub.new").mkdir()  # so that the key cannot be written
    with pytest.raises(Unavailable, match="could not be created"):
        to_serve("w", [], new=True)
    assert left() == []
