"""A rendering that makes only what changed gives the same bytes as one that makes everything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from recollect.index import page_reads
from recollect.memory.handle.handle import Handle
from recollect.memory.pages import page_plans, page_sources
from recollect.store.files.space import FileSpace
from tests.suites.conftest import Tell
from tests.suites.rendering import Unsynced, rendered


def run(folder: Path, seeds: range, rounds: int) -> Counter[str]:
    """So many histories, each in a memory of its own."""
    total = Counter[str]()
    for seed in seeds:
        seam = Unsynced(seed)
        space = FileSpace(folder / f"memory{seed}", "main", create=True, seam=seam)
        (folder / f"pages{seed}").mkdir()
        total += rendered(Handle(space, seam), seam, seed, folder / f"pages{seed}", rounds)
        space.close()
    return total


def counted(total: Counter[str]) -> str:
    return (
        f"pages: {total['renderings']} renderings over the last one, after {total.total():,} "
        f"random acts and checks, compared with one from nothing: {total['different']} different, "
        f"{total['read otherwise']} read otherwise"
    )


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often every page was made."""
    made, every = Counter[str](), page_sources.every_page

    def counting(*args: object) -> object:
        made["full"] += 1
        return every(*args)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(page_plans, "every_page", counting)
    return made


def test_pages_from_the_last_rendering_are_the_same(
    tmp_path: Path, tell: Tell, full: Counter[str]
) -> None:
    total = run(tmp_path, range(3), 30)
    tell(counted(total))
    assert total["different"] == total["read otherwise"] == 0
    assert total["moved"] > 0
    assert full["full"] < 1.6 * total["renderings"]  # one of two starts from nothing


@pytest.mark.nightly
def test_pages_from_many_last_renderings_are_the_same(tmp_path: Path, tell: Tell) -> None:
    total = run(tmp_path, range(100, 130), 150)
    tell(counted(total))
    assert total["different"] == total["read otherwise"] == 0


def no_links(*_: object) -> set[str]:
    return set()


def no_documents(*_: object) -> list[tuple[str, str]]:
    return []


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        (page_reads, "links_changed", no_links),
        (page_reads, "documents_changed", no_documents),
        (page_plans, "_readers", no_links),
        (page_plans, "was_erased_since", lambda *_: False),
    ],
)
def test_a_rendering_that_forgets_something_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, name: str, instead: object
) -> None:
    monkeypatch.setattr(module, name, instead)
    assert any(run(tmp_path, range(seed, seed + 1), 40)["different"] for seed in range(5))
