"""Copied, restored and cloned folders of pages: no way in loses a word of a person."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from recollect.store.pages import page_notes, pages
from tests.suites.conftest import Tell
from tests.suites.moved_pages import on_a_terminal, one_round


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def rounds(place: Path, count: int, first: int = 0) -> tuple[Counter[str], list[str]]:
    """So many rounds: what was done in them, and what was lost."""
    done, lost = Counter[str](), list[str]()
    for seed in range(first, first + count):
        made, gone = one_round(place / f"round-{seed}", seed)
        done += made
        lost += gone
        shutil.rmtree(place / f"round-{seed}")
    return done, lost


@pytest.mark.parametrize("count", [12, pytest.param(1_000, marks=pytest.mark.nightly)])
def test_no_word_of_a_person_is_lost(tmp_path: Path, count: int, tell: Tell) -> None:
    done, lost = rounds(tmp_path, count)
    ways = ", ".join(f"{number} {way}" for way, number in sorted(done.items()))
    tell(f"moved pages: {count} rounds, {len(lost)} words lost ({ways})")
    assert lost == []


END = "\x04" * 8  # of the input: every further question gets no answer


@pytest.mark.parametrize("answers", ["l\ny\n", "a\ny\n", "k\ny\n", "l\nn\n", ""])
def test_no_word_is_lost_on_a_terminal(tmp_path: Path, answers: str) -> None:
    for seed in range(2):
        assert on_a_terminal(tmp_path / f"round-{seed}", seed, f"{answers}{END}") == []


def test_notes_that_count_for_every_memory_are_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was: whatever the notes call rendered was overwritten or removed."""
    monkeypatch.setattr(page_notes, "is_of", lambda reads, notes: True)
    assert len(rounds(tmp_path, 20)[1]) > 5


def test_an_index_that_is_always_overwritten_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "added_to_index", lambda *_: "")
    assert [one for one in rounds(tmp_path, 40)[1] if "word" in one] != []
