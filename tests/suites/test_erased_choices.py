"""Erasing by key and by user leaves no byte in ledger, segments, index, vectors and backups."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Memory
from recollect.model.limits import ERASE_AT_ONCE_MAX_COUNT
from tests.suites.canaries import ROOT, canary, files_hit, hits, words_hit

PARTS = ("user", "key", "old", "new", "said", "tag", "about", "session", "data", "asked")


def a_life(folder: Path) -> dict[str, str]:
    """A user with a key that changed, in a folder with a segment, a backup and other people."""
    rng = random.Random(11)
    words = {part: canary(rng) for part in PARTS}
    with Memory.open(folder) as memory:
        other = memory.scoped(user="ann")
        bob = memory.scoped(user=words["user"], session=words["session"])
        (said,) = bob.observe(f"I am {words['said']}.", metadata={"note": words["data"]})
        key, tags, about = words["key"], [words["tag"]], words["about"]
        bob.remember(f"Is {words['old']}.", evidence=[said.id], key=key, tags=tags, about=about)
        other.remember("Sits beside the window.")
        memory.admin.seal()
        bob.remember(
            f"Has {words['new']}.", data={"asked": words["asked"]}, key=key, tags=tags, about=about
        )
        bob.context(f"what of {words['new']}?")
        memory.admin.backup()
        memory.remember("Something else that stays.")
        memory.admin.embed()
    return words


@pytest.mark.parametrize("choice", ["key", "user"])
def test_no_byte_is_left(tmp_path: Path, choice: str) -> None:
    folder = tmp_path / "workspace"
    words = a_life(folder)
    assert words_hit(folder, words.values()) == set(words.values())
    assert len(files_hit(folder, words.values())) >= 3
    with Memory.open(folder) as memory:
        if choice == "key":
            memory.scoped(user=words["user"]).erase(key=words["key"])
            left = {"user", "session"}  # of the receipt, which is not about the key
        else:
            memory.erase(user=words["user"])
            left = set()
        gone = [word for part, word in words.items() if part not in left]
        assert hits(folder, gone) == []
        assert memory.admin.verify(deep=True).ok
        assert len(memory.list()) == 2
    assert words_hit(folder, words.values()) == {words[part] for part in left}
    assert files_hit(folder, ["Sits beside"])  # the control: what stays is found


def test_one_value_of_a_key_is_not_all_of_it(tmp_path: Path) -> None:
    """The control: erasing the present value leaves the earlier one, and says so."""
    words = a_life(tmp_path)
    with Memory.open(tmp_path) as memory:
        bob = memory.scoped(user=words["user"])
        gone = bob.erase(words["key"])
        assert (len(gone.remaining), len(gone.kept)) == (1, 1)
    assert hits(tmp_path, [words["new"], words["asked"]]) == []
    assert words_hit(tmp_path, words.values()) >= {words["old"], words["said"]}


INTERRUPTED = """
import os, sys
from recollect import Memory
memory = Memory.open(sys.argv[1])
memory.erase(user="bob", progress=lambda done, total: os._exit(9))
"""


def test_an_interrupted_erasure_finishes(tmp_path: Path) -> None:
    rng = random.Random(12)
    first, last = canary(rng), canary(rng)
    with Memory.open(tmp_path) as memory:
        bob = memory.scoped(user="bob")
        bob.observe(f"I said {first}.")
        bob.observe(
            [{"role": "user", "content": f"no {n}"} for n in range(ERASE_AT_ONCE_MAX_COUNT)]
        )
        bob.observe(f"I said {last}.")
        memory.admin.backup()
    died = subprocess.run([sys.executable, "-c", INTERRUPTED, str(tmp_path)], cwd=ROOT, check=False)
    assert died.returncode == 9
    assert words_hit(tmp_path, [first, last]) == {first, last}  # ordered, and not yet removed
    with Memory.open(tmp_path) as memory:
        assert len(memory.scoped(user="bob").sessions.episodes(limit=1000)) == 2
        memory.remember("The next process writes.")
        assert hits(tmp_path, [first]) == []
        assert len(memory.erase(user="bob").episodes) == 2
        assert hits(tmp_path, [first, last]) == []
