"""Reasons in the index are codes. Translated back, the rows are those of index version 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recollect import Memory
from recollect.index.digest import state_digest
from recollect.index.rows import Row, VersionRow
from recollect.index.statements import NOW
from recollect.index.tables import Db, Params
from recollect.memory.handle.handle import Handle, handle_of
from recollect.store.indexed.backend import MemoryBackend
from recollect.testing.seams import FixedSeam

# What an index of version 6 stored in place of a code.
WORDS = {"superseded": "superseded", "was_held": "was held", "sources_kept": "sources kept"}
# Of the story below, computed by the last release with that version.
DIGEST_6 = "144375df38f5491bcde431af72b14eea770286873aa59f8d92c1ea18b777aa91"
REASON = VersionRow._fields.index("reason")


def story() -> Memory:
    """A memory in which every reason was given, some of them only for a while."""
    seam = FixedSeam(7)
    memory = Memory(Handle(MemoryBackend(seam=seam).space("main", create=True), seam))
    unknown = memory.scoped(trust="unverified")
    memory.observe("I drink tea", id="e-1")
    memory.observe("I drink coffee", id="e-2")
    memory.remember("She drinks tea", id="r1", key="drink", evidence=["e-1"])
    memory.remember("She drinks coffee", id="r2", key="drink", evidence=["e-2"])  # superseded
    memory.forget("r2", sources="keep")  # sources_kept
    memory.remember("She drinks milk", id="r3", evidence=["e-1"])
    memory.forget("r3", reason="asked to")
    for id in ("r4", "r5"):
        unknown.remember(f"She drinks water, says {id}", id=id)
        memory.forget(id, sources="keep")  # was_held
    memory.undo("r5")
    memory.remember("She drinks juice", id="r6", evidence=["e-2"])
    memory.forget("r6", sources="keep")
    memory.undo("r6")
    return memory


class Back:
    """The rows of an index, with the words of version 6 in place of codes."""

    def __init__(self, db: Db, words: Mapping[str, str]) -> None:
        self._db = db
        self._words = words

    def stream(self, name: str, params: Params) -> Iterator[Row]:
        for row in self._db.stream(name, params):
            yield self._translated(row) if name == "digest_versions" else row

    def _translated(self, row: Row) -> Row:
        code = row[REASON]
        word = None if code is None else self._words[str(code)]
        return (*row[:REASON], word, *row[REASON + 1 :])


def digest_of(memory: Memory, words: Mapping[str, str]) -> str:
    with handle_of(memory).reading() as reads:
        return state_digest(Back(reads.db, words), NOW)  # type: ignore[arg-type]


def test_the_codes_translated_back_are_the_rows_of_version_6() -> None:
    with story() as memory:
        assert digest_of(memory, WORDS) == DIGEST_6
        assert digest_of(memory, {code: code for code in WORDS}) == memory.admin.digest()
        for code in ("was_held", "sources_kept"):  # each of them counts
            assert digest_of(memory, WORDS | {code: code}) != DIGEST_6


def test_the_story_gives_every_reason() -> None:
    with story() as memory, handle_of(memory).reading() as reads:
        ids = [f"r{number}" for number in range(1, 7)]
        now = {row.id: row.reason for id in ids if (row := reads.version(id))}
        ever = {row.reason for id in ids for row in reads.versions(id)}
    assert now == {
        "r1": "superseded",
        "r2": "sources_kept",
        "r3": None,
        "r4": "was_held",
        "r5": None,
        "r6": None,
    }
    assert ever == {*WORDS, None}
