"""Other ways of recalling: chats, vectors that are there or missing, a packed context.

Responsible for both sides answering the same questions in the same rounds. Leaves text recall of
records to ``measures`` and ``growth``. Invariant: a memory with vectors has all of them before it
is timed, and one without has none when its rounds begin.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks import bare as bare_engine
from benchmarks.bare import INDEX
from benchmarks.growth import Grown
from benchmarks.measures import Advance, Sizes, Skipped, for_reading, match_of, questions
from benchmarks.sentences import sentences
from benchmarks.timing import THREAD, Paired, in_turns, slices
from recollect.config import NONE
from recollect.embedder_names import STATIC
from recollect.errors import Unsupported
from recollect.index.statements import statements
from recollect.memory import Memory

Ask = Callable[[int], object]  # is given the number of the question

UNEMBEDDED_MIN_RECORDS: Final = 100_000


def chats(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """Ten hits among episodes of many sessions, against the full text query and its rows."""
    place = folder / "chats"
    with _talked(place, sizes) as memory:
        connection = bare_engine.connect(place / INDEX, ())
        asked = _asked(sizes)
        matches = [match_of(question) for question in asked]
        paired = _answered(
            bare=lambda n: _bare_chat(connection, matches[n]),
            ours=lambda n: memory.recall(asked[n]),
            sizes=sizes,
            advance=advance,
        )
        connection.close()
    return paired


def _talked(place: Path, sizes: Sizes) -> Memory:
    """Two sides by turns, in sessions of equal length, one after the other."""
    memory = Memory.open(place, embedder=NONE)
    each = max(1, sizes.chats // sizes.sessions)
    for number, said in enumerate(slices(sentences(sizes.chats, seed=11), each)):
        with memory.batch() as batch:
            for turn, text in enumerate(said):
                batch.observe(
                    text, role="assistant" if turn % 2 else "user", session=f"session {number}"
                )
    return memory


def _bare_chat(connection: sqlite3.Connection, query: str) -> None:
    match = statements()["match_recallable"]
    for doc, _ in connection.execute(match, {"query": query, "limit": 10}).fetchall():
        connection.execute("SELECT * FROM episodes WHERE seq = ?", (doc,)).fetchone()


def context(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """A packed context, over recall of the same question from the same memory."""
    with for_reading(folder / "reads", sizes) as memory:
        asked = _asked(sizes)
        return _answered(
            bare=lambda n: memory.recall(asked[n]),
            ours=lambda n: memory.context(asked[n]),
            sizes=sizes,
            advance=advance,
        )


def vectors(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """Recall by text and vectors, against the full text query and a product of the same rows."""
    need_static()
    from benchmarks import latency  # needs numpy

    place = folder / "vectors"
    with latency.filled(place, sizes.vectors) as memory:
        bare = latency.Bare(place)
        asked = questions(sizes.vector_rounds + 1)
        encoded = [bare.encoded(question) for question in asked]
        paired = in_turns(
            bare=lambda n: bare(*encoded[n]),
            ours=lambda n: memory.recall(asked[n]),
            rounds=sizes.vector_rounds,
            operations=1,
            clock=THREAD,
            advance=advance,
        )
        bare.close()
    return paired


def unembedded(side: Grown, sizes: Sizes, advance: Advance) -> Paired:
    """Recall with an embedder whose vectors are not there yet, over recall by text alone."""
    if side.records < UNEMBEDDED_MIN_RECORDS:
        raise Skipped("a few recalls make all vectors of a memory this small")
    need_static()
    asked = questions(sizes.cold_rounds + 1)
    with Memory.open(side.place, embedder=STATIC) as memory:
        paired = in_turns(
            bare=lambda n: side.memory.recall(asked[n]),
            ours=lambda n: memory.recall(asked[n]),
            rounds=sizes.cold_rounds,
            operations=1,
            advance=advance,
        )
        if memory.recall(asked[0]).degraded is None:
            raise AssertionError("all vectors were made, so the last rounds were not without them")
    return paired


def need_static() -> None:
    """Leaves a measurement out where the static word vectors are not installed."""
    try:
        from recollect.embed.static import StaticEmbedder

        StaticEmbedder()
    except (ImportError, Unsupported) as error:
        raise Skipped(f"needs recollect[local]: {error}") from error


def _asked(sizes: Sizes) -> list[str]:
    return questions((sizes.read_rounds + 1) * sizes.reads)


def _answered(*, bare: Ask, ours: Ask, sizes: Sizes, advance: Advance) -> Paired:
    """Rounds of questions, each round with its own."""

    def asking(ask: Ask) -> Callable[[int], None]:
        def work(number: int) -> None:
            for question in range(number * sizes.reads, (number + 1) * sizes.reads):
                ask(question)

        return work

    return in_turns(
        bare=asking(bare),
        ours=asking(ours),
        rounds=sizes.read_rounds,
        operations=sizes.reads,
        clock=THREAD,
        advance=advance,
    )
