"""What can be made large, for each public call of a memory: the table of the growth suite.

An entry names a call, says what grows and makes the input of a size in a new memory. A run is the
call alone, or so many calls that each must take the same time however many went before. Sizes are
such that a run takes some 20 ms; with less a ratio says nothing.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import structs

from recollect import Memory, Quote, Store
from recollect.assistants.capture import Keeping
from recollect.exchange.redaction import redact
from recollect.exchange.talks.transcript import Message
from recollect.lifecycle.commands import Reinforce
from recollect.model.presets import BUILT_IN, Preset
from recollect.model.validate import Json
from tests.suites.growth import Call

Prepare = Callable[[Memory, int], Call]


class Case(NamedTuple):
    """One input that grows."""

    call: str
    grows: str
    size: int
    prepare: Prepare
    most: int | None = None  # that the call takes; a run that is too slow is else measured larger
    reads: bool = False  # the same call can be timed again
    on_disk: bool = False
    flat: bool = False  # it takes the same time however large the input is


CASES: Final[list[Case]] = []


def case(
    call: str,
    grows: str,
    size: int,
    *,
    most: int | None = None,
    reads: bool = False,
    on_disk: bool = False,
    flat: bool = False,
) -> Callable[[Prepare], Prepare]:
    """Enters a function into the table."""

    def enter(prepare: Prepare) -> Prepare:
        CASES.append(Case(call, grows, size, prepare, most, reads, on_disk, flat))
        return prepare

    return enter


# Inputs.


def facts(memory: Memory, count: int, text: str = "Crane {} stands at the harbour.") -> list[str]:
    """So many records, written together."""
    with memory.batch() as batch:
        for number in range(count):
            batch.remember(text.format(number))
    return [made.id for made in batch.results]


def heard(memory: Memory, count: int) -> list[str]:
    """So many episodes."""
    said = [{"role": "user", "content": f"Crane {n} was painted."} for n in range(count)]
    return [episode.id for episode in memory.observe(said)]


def versions(memory: Memory, count: int) -> str:
    """A record with so many versions."""
    record = memory.remember("The harbour has a crane.")
    with memory.batch() as batch:
        for number in range(count):
            batch.revise(record.id, f"The harbour has {number} cranes.")
    return record.id


def linked(memory: Memory, count: int) -> str:
    """A record with so many links."""
    first, *others = facts(memory, count + 1)
    with memory.batch() as batch:
        for other in others:
            batch.link(first, other)
    return first


def resting(memory: Memory, count: int) -> list[str]:
    """So many records that rest on one episode."""
    (episode,) = heard(memory, 1)
    with memory.batch() as batch:
        for number in range(count):
            batch.remember(f"Crane {number} is red.", evidence=[episode])
    return [made.id for made in batch.results]


def chain(memory: Memory, count: int) -> str:
    """The last of so many records that took each other's place under one key."""
    with memory.batch() as batch:
        for number in range(count):
            batch.remember(f"The harbour has {number} cranes.", key="cranes")
    return batch.results[-1].id


def each(act: Callable[[str], object], ids: Iterable[str]) -> Call:
    """One call after the other."""
    every = list(ids)

    def run() -> None:
        for id in every:
            act(id)

    return run


def everything(memory: Memory, count: int) -> None:
    """So many events of several kinds, a thousand at a time."""
    memory.remember("The harbour has cranes.", id="harbour")
    for start in range(0, count, 1_000):
        with memory.batch() as batch:
            for number in range(start, min(start + 1_000, count), 4):
                batch.observe(f"Crane {number} was seen.")
                batch.remember(f"Crane {number} is red.", id=f"r{number}")
                batch.revise(f"r{number}", tags=["red"])
                batch.link(f"r{number}", "harbour")


def words(count: int, start: str = "w") -> str:
    """A text of different words."""
    return " ".join(f"{start}{number}" for number in range(count))


# Writing.


@case("remember", "text", 5_000, most=100_000)
def _(memory: Memory, size: int) -> Call:
    return each(memory.remember, [words(size, start) for start in "abcd"])


@case("remember", "marks", 30_000, most=250_000)
def _(memory: Memory, size: int) -> Call:
    text = "a" + "\u0301\u0316" * size
    return lambda: memory.remember(text)


@case("remember", "data", 1_000, most=2_000)
def _(memory: Memory, size: int) -> Call:
    data: dict[str, Json] = {f"k{number}": [[number]] for number in range(size)}
    return each(lambda text: memory.remember(text, data=data), map(str, range(5)))


@case("remember", "tags", 32, most=64)
def _(memory: Memory, size: int) -> Call:
    tags = [f"tag {number}" for number in range(size)]
    return each(lambda text: memory.remember(text, tags=tags), map(str, range(50)))


@case("remember", "evidence", 128, most=256)
def _(memory: Memory, size: int) -> Call:
    episodes = heard(memory, size)
    return each(lambda text: memory.remember(text, evidence=episodes), map(str, range(10)))


@case("remember", "quotes of one long episode", 128, most=256)
def _(memory: Memory, size: int) -> Call:
    (said,) = memory.observe("painted " * 20_000)
    quotes = [Quote(said.id, "painted " * number) for number in range(1, size + 1)]
    return each(lambda text: memory.remember(text, evidence=quotes), map(str, range(5)))


@case("remember", "records that took one key", 100)
def _(memory: Memory, size: int) -> Call:
    return each(lambda text: memory.remember(text, key="cranes"), map(str, range(size)))


@case("remember", "records that took one key, many", 1_500, most=4_900)
def _(memory: Memory, size: int) -> Call:
    return lambda: chain(memory, size)


@case("remember", "keys of one text", 2_000, most=9_000)
def _(memory: Memory, size: int) -> Call:
    return lambda: _same_text(memory, size)


def _same_text(memory: Memory, count: int) -> None:
    with memory.batch() as batch:
        for number in range(count):
            batch.remember("The harbour has a crane.", key=f"k{number}")


@case("remember", "users with one key", 500)
def _(memory: Memory, size: int) -> Call:
    handles = [memory.scoped(user=f"u{number}") for number in range(size)]
    return lambda: [one.remember("The harbour has a crane.", key="k") for one in handles]


@case("remember", "repeats", 150)
def _(memory: Memory, size: int) -> Call:
    return each(lambda _: memory.remember("The harbour has a crane."), map(str, range(size)))


@case("observe", "text", 5_000, most=100_000)
def _(memory: Memory, size: int) -> Call:
    return each(memory.observe, [words(size, start) for start in "abcd"])


@case("observe", "messages", 400, most=9_000)
def _(memory: Memory, size: int) -> Call:
    return lambda: heard(memory, size)


@case("observe", "parts of a message", 20_000, most=100_000)
def _(memory: Memory, size: int) -> Call:
    parts = [{"type": "text", "text": "crane"}] * size
    return lambda: memory.observe([{"role": "user", "content": parts}])


@case("revise", "revisions", 60)
def _(memory: Memory, size: int) -> Call:
    record = memory.remember("The harbour has a crane.")
    return each(lambda text: memory.revise(record.id, text), map(str, range(size)))


@case("revise", "text", 5_000, most=100_000)
def _(memory: Memory, size: int) -> Call:
    id, texts = versions(memory, 1), [words(size, start) for start in "abcd"]
    return each(lambda text: memory.revise(id, text), texts)


@case("remember", "records that took each other's place", 200, most=9_000)
def _(memory: Memory, size: int) -> Call:
    id = chain(memory, size)
    return lambda: memory.remember("Crane 0 is gone.", replaces=id, reason="it was sold")


@case("forget", "records on one episode", 60)
def _(memory: Memory, size: int) -> Call:
    return each(memory.forget, resting(memory, size))


@case("forget", "evidence", 128, most=256)
def _(memory: Memory, size: int) -> Call:
    episodes = heard(memory, size)
    made = [memory.remember(f"Crane {n} is red.", evidence=episodes).id for n in range(4)]
    return each(memory.forget, made)


@case("undo", "times, many", 1_500)
@case("undo", "times", 100)
def _(memory: Memory, size: int) -> Call:
    (episode,) = heard(memory, 1)
    return each(lambda id: (memory.forget(id), memory.undo(id)), [episode] * size)


@case("undo", "records that took each other's place", 200, most=9_000)
def _(memory: Memory, size: int) -> Call:
    id = chain(memory, size)
    return lambda: memory.undo(id)


@case("undo", "acts of the last command", 100, most=2_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return memory.undo


@case("forget", "records on one episode", 60, most=900)
def _(memory: Memory, size: int) -> Call:
    resting(memory, size)
    (episode,) = memory.sessions.episodes(limit=1)
    return lambda: memory.forget(episode.id, derived=True)


@case("forget", "values of a key", 100, most=2_000)
def _(memory: Memory, size: int) -> Call:
    id = chain(memory, size)
    return lambda: memory.forget(id, derived=True)


@case("admin.archive", "records that have faded", 100, most=2_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    memory.observe("Time passes.")
    return lambda: memory.admin.archive(below=1.0)


@case("review.confirm", "evidence", 64, most=128)
def _(memory: Memory, size: int) -> Call:
    heard(memory, size)
    said = [episode.id for episode in memory.sessions.episodes(limit=size)]
    guess = memory.remember("It will rain.", is_hypothesis=True)
    return lambda: memory.review.confirm(guess.id, evidence=said)


@case("erase", "expired records", 100, most=2_000)
def _(memory: Memory, size: int) -> Call:
    memory.settings.set_retention(0)
    with memory.batch() as batch:
        for number in range(size):
            batch.remember(f"Crane {number} is hired.", expires=timedelta(microseconds=1))
    return lambda: memory.erase(expired=True)


@case("erase", "versions", 200)
def _(memory: Memory, size: int) -> Call:
    id = versions(memory, size)
    return lambda: memory.erase(id)


@case("erase", "links", 200, most=9_000)
def _(memory: Memory, size: int) -> Call:
    id = linked(memory, size)
    return lambda: memory.erase(id)


@case("erase", "records on the same episode", 250, most=9_000)
def _(memory: Memory, size: int) -> Call:
    id = resting(memory, size)[0]
    return lambda: memory.erase(id)


@case("erase", "sources", 400, most=9_000)
def _(memory: Memory, size: int) -> Call:
    return _sources(memory, size)


@case("erase", "sources, many", 4_000, most=9_000)
def _(memory: Memory, size: int) -> Call:
    return _sources(memory, size)


def _sources(memory: Memory, size: int) -> Call:
    """A record whose versions rest on many episodes."""
    episodes = heard(memory, size)
    record = memory.remember("The harbour has a crane.")
    with memory.batch() as batch:
        for start in range(0, size, 200):
            batch.revise(record.id, f"Cranes {start}.", evidence=episodes[start : start + 200])
    return lambda: memory.erase(record.id)


@case("revise", "tags", 32, most=64)
def _(memory: Memory, size: int) -> Call:
    tags = [f"tag {number}" for number in range(size)]
    return each(lambda id: memory.revise(id, tags=tags), facts(memory, 50))


@case("revise", "times, many", 1_500)
@case("revise", "times", 100)
def _(memory: Memory, size: int) -> Call:
    (id,) = facts(memory, 1)
    return each(
        lambda id: (memory.revise(id, tags=["red"]), memory.revise(id, untag=["red"])), [id] * size
    )


@case("graph.link", "links of one record", 70)
def _(memory: Memory, size: int) -> Call:
    first, *others = facts(memory, size + 1)
    return each(lambda other: memory.graph.link(first, other), others)


@case("graph.unlink", "times, many", 1_500)
@case("graph.unlink", "times", 100)
def _(memory: Memory, size: int) -> Call:
    one, other = facts(memory, 2)

    def toggle(id: str) -> None:
        memory.graph.link(id, other)
        memory.graph.unlink(id, other)

    return each(toggle, [one] * size)


@case("batch", "acts", 30)
def _(memory: Memory, size: int) -> Call:
    ids = facts(memory, size)

    def run() -> None:
        with memory.batch() as batch:
            for number, id in enumerate(ids):
                batch.observe(f"Crane {number} was seen.")
                batch.remember(f"Crane {number} is red.", key=f"k{number}")
                batch.revise(id, tags=["red"])
                batch.link(ids[0], id) if number else None
                batch.revise(id, f"Crane {number} is blue.")
                batch.forget(id)
                batch.undo(id)
                batch.remember(f"Crane {number} is green.", replaces=id)
            batch.used(ids)

    return run


@case("batch", "acts on one record", 150)
def _(memory: Memory, size: int) -> Call:
    (id,) = facts(memory, 1)

    def run() -> None:
        with memory.batch() as batch:
            for number in range(size):
                batch.revise(id, tags=[f"tag {number % 32}"])
                batch.revise(id, untag=[f"tag {number % 32}"])

    return run


@case("events.submit", "acts", 400, most=9_000)
def _(memory: Memory, size: int) -> Call:
    acts = [Reinforce(id=id) for id in facts(memory, size)]
    return lambda: memory.events.submit(*acts)


@case("used", "ids", 300, most=9_000)
def _(memory: Memory, size: int) -> Call:
    ids = facts(memory, size)
    return lambda: memory.used(None, ids)


@case("admin.import_", "items of a file", 300)
def _(memory: Memory, size: int) -> Call:
    file = Path(tempfile.mkdtemp()) / "memory.jsonl"
    named = ({"type": "entity", "name": f"n{each}", "observations": []} for each in range(size))
    file.write_text("".join(f"{json.dumps(one)}\n" for one in named), "utf-8")
    return lambda: memory.admin.import_(file, "mcp-memory")


@case("admin.export", "records", 300, reads=True)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    names = (Path(tempfile.mkdtemp()) / str(number) for number in itertools.count())
    return lambda: memory.admin.export("ndjson", next(names))


# Reading.


@case("get", "records with one text", 800, reads=True)
def _(memory: Memory, size: int) -> Call:
    with memory.batch() as batch:
        for number in range(size):
            batch.remember("The harbour has a crane.", key=f"k{number}")
    ids = [made.id for made in batch.results]
    return each(memory.get, ids)


@case("at", "records that are looked up", 800, reads=True)
def _(memory: Memory, size: int) -> Call:
    with memory.batch() as batch:
        for number in range(size):
            batch.remember(f"Crane number {number}.", key=f"k{number}")
    past = memory.at(memory.events.position)
    memory.remember("The harbour is closed.")
    return each(past.get, [made.id for made in batch.results])


@case("get", "records that had the key", 800, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    memory.forget(chain(memory, size))
    return each(lambda _: memory.get(key="cranes", include=["replaced", "forgotten"]), "abc")


@case("list", "records", 1_000, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return lambda: memory.list(limit=10_000)


@case("list", "terms of the filter", 32, reads=True, most=64)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 100)
    where = " or ".join(f"text contains 'a{number}'" for number in range(size))
    return each(lambda _: memory.list(filter=where), "abc")


@case("list", "length of what the filter looks for", 3_000, reads=True, most=7_000)
def _(memory: Memory, size: int) -> Call:
    memory.remember("a" * 300_000)
    return each(lambda _: memory.list(filter=f"text contains '{'a' * size}b'"), "abc")


@case("list", "values of the filter", 128, reads=True, most=256)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 100)
    values = ", ".join(f"'kind {number}'" for number in range(size))
    return each(lambda _: memory.list(filter=f"kind in ({values})"), "abcdefghij")


@case("list", "parentheses of the filter", 8, reads=True, most=16)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 100)
    where = "not (" * (size // 2) + "kind = 'fact'" + ")" * (size // 2)
    return each(lambda _: memory.list(filter=where), "abcdefghij")


@case("sessions.episodes", "episodes", 3_000, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    heard(memory, size)
    return lambda: memory.sessions.episodes(limit=10_000)


@case("recall", "records that match", 500, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return lambda: memory.recall("Which crane stands at the harbour?", k=1_000)


@case("recall", "words of the question", 1_000, reads=True, most=3_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 100)
    question = words(size)
    return each(lambda _: memory.recall(question), "abcdefghij")


@case("recall", "marks of the question", 3_000, reads=True, most=8_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 100)
    question = "a" + "\u0301\u0316" * size
    return each(lambda _: memory.recall(question), "abcd")


@case("recall", "questions", 20, reads=True, most=1_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 100)
    questions = [f"Where is crane {number}?" for number in range(size)]
    return lambda: memory.recall(questions)


@case("admin.why_not", "records that match", 3_000, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    ids = facts(memory, size)
    return lambda: memory.admin.why_not(ids[0], "Which crane stands at the harbour?")


@case("events.list", "events of one page", 400, reads=True, most=1_000)
def _(memory: Memory, size: int) -> Call:
    with memory.batch() as batch:
        for number in range(2_000):
            batch.remember(f"number {number}")
    return lambda: memory.events.list(limit=size)


@case("events.list", "events before the page", 1_000, reads=True, most=16_000, flat=True)
def _(memory: Memory, size: int) -> Call:
    everything(memory, size)
    return lambda: [memory.events.list(before=size, limit=100) for _ in range(10)]


@case("events.list", "events before and after the page", 1_000, reads=True, most=16_000, flat=True)
def _(memory: Memory, size: int) -> Call:
    everything(memory, size)
    return lambda: [memory.events.list(after=size // 2, limit=100) for _ in range(10)]


@case(
    "events.list", "other users' events around the page", 1_000, reads=True, most=16_000, flat=True
)
def _(memory: Memory, size: int) -> Call:
    ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
    facts(ann, size // 2)
    middle = memory.events.position
    facts(ben, 200)
    facts(ann, size // 2)
    return lambda: [ben.events.list(after=middle, limit=100) for _ in range(10)]


@case("sessions.recent", "episodes", 3_000, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    heard(memory, size)
    return lambda: memory.sessions.recent(limit=1_000)


@case("sessions.overview", "records", 1_000, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return memory.sessions.overview


@case("proof.erasures", "erasures", 60, reads=True, most=1_000)
def _(memory: Memory, size: int) -> Call:
    each(memory.erase, facts(memory, size))()
    return memory.proof.erasures


@case("events.get", "events before and after it", 1_000, reads=True, most=16_000, flat=True)
def _(memory: Memory, size: int) -> Call:
    everything(memory, size)
    return lambda: [memory.events.get(size // 2 + number) for number in range(50)]


@case("history", "versions", 1_500, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    id = versions(memory, size)
    return lambda: memory.history(id)


@case("why", "records in whose place it is", 400, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    id = chain(memory, size)
    return lambda: memory.why(id)


@case("why", "links", 1_500, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    id = linked(memory, size)
    return lambda: memory.why(id)


@case("why", "evidence", 128, reads=True, most=256)
def _(memory: Memory, size: int) -> Call:
    record = memory.remember("The harbour has a crane.", evidence=heard(memory, size))
    return each(lambda _: memory.why(record.id), "abcdefghij")


@case("at", "events", 500, reads=True)
def _(memory: Memory, size: int) -> Call:
    for number in range(size):
        memory.remember(f"Crane {number} is red.")
    return each(lambda _: memory.at("2026-01-01").scope.space, map(str, range(100)))


@case("status", "what there is, after each write", 1_000, reads=True, most=16_000, flat=True)
def _(memory: Memory, size: int) -> Call:
    everything(memory, size)
    texts = map(str, itertools.count())
    return lambda: [(memory.remember(next(texts)), memory.status()) for _ in range(50)]


@case("status", "versions of a record, after each", 500, reads=True, most=8_000, flat=True)
def _(memory: Memory, size: int) -> Call:
    id, texts = versions(memory, size), map(str, itertools.count())
    return lambda: [(memory.revise(id, next(texts)), memory.status()) for _ in range(50)]


# Contexts.


@case("context", "records that match", 500, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return lambda: memory.context("Which crane?", tokens=100_000, receipt=False)


@case("context", "text of a hit", 60_000, reads=True, most=400_000)
def _(memory: Memory, size: int) -> Call:
    memory.remember("crane " + "<" * size)
    return lambda: memory.context("Which crane?", tokens=1_000_000, receipt=False)


@case("replay", "hits", 100, most=100)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    context = memory.context("Which crane?", tokens=1_000_000)
    memory.admin.flush()
    return each(lambda _: memory.replay(context), "abc")


@case("admin.flush", "receipts that wait", 80, most=250)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 20)
    for number in range(size):
        memory.context(f"Where is crane {number}?")
    return memory.admin.flush


@case("proof.receipts.list", "receipts", 60, reads=True)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 20)
    for number in range(size):
        memory.context(f"Where is crane {number}?")
    memory.admin.flush()
    return lambda: memory.proof.receipts.list(limit=10_000)


@case("proof.receipts.get", "hits", 100, most=100, reads=True)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    receipt = memory.context("Which crane?", tokens=1_000_000).receipt or ""
    memory.admin.flush()
    return each(memory.proof.receipts.get, [receipt] * 10)


@case("proof.receipts.erase", "receipts", 60)
def _(memory: Memory, size: int) -> Call:
    facts(memory, 20)
    made = [memory.context(f"Where is crane {number}?").receipt for number in range(size)]
    memory.admin.flush()
    return each(memory.proof.receipts.erase, [id for id in made if id][:20])


@case("settings.presets.set", "times", 100)
def _(memory: Memory, size: int) -> Call:
    presets = [_preset("mine", 100 + number) for number in range(size)]
    return lambda: [memory.settings.presets.set(preset) for preset in presets]


@case("settings.presets.list", "presets", 500, reads=True)
def _(memory: Memory, size: int) -> Call:
    return _presets(memory, size, memory.settings.presets.list)


@case("settings.presets.get", "presets", 200, reads=True)
def _(memory: Memory, size: int) -> Call:
    return _presets(memory, size, each(memory.settings.presets.get, ["f0"] * 400))


@case("settings.presets.since", "presets", 200, reads=True)
def _(memory: Memory, size: int) -> Call:
    return _presets(memory, size, each(memory.settings.presets.since, ["f0"] * 1_000))


@case("settings.presets.drop", "presets", 100)
def _(memory: Memory, size: int) -> Call:
    return _presets(
        memory, size, each(memory.settings.presets.drop, [f"f{n}" for n in range(size)])
    )


@case("sessions.open", "sessions", 150)
def _(memory: Memory, size: int) -> Call:
    return each(memory.sessions.open, [f"s{number}" for number in range(size)])


@case("sessions.close", "sessions", 150)
def _(memory: Memory, size: int) -> Call:
    return each(memory.sessions.close, _sessions(memory, size))


@case("sessions.list", "sessions", 500, most=10_000, reads=True)
def _(memory: Memory, size: int) -> Call:
    _sessions(memory, size)
    return lambda: memory.sessions.list(limit=size)


@case("sessions.list", "sessions before a page", 1_000, reads=True)
def _(memory: Memory, size: int) -> Call:
    _sessions(memory, size)
    return each(lambda _: memory.sessions.list(limit=2), map(str, range(100)))


@case("sessions.active", "sessions that are open", 1_000, reads=True)
def _(memory: Memory, size: int) -> Call:
    _sessions(memory, size)
    memory.scoped(user="ann").sessions.open("anns")
    mine = memory.scoped(user="ann")
    return each(lambda _: (memory.sessions.active(), mine.sessions.active()), map(str, range(100)))


@case("sessions.active", "sessions that are closed", 500, reads=True)
def _(memory: Memory, size: int) -> Call:
    for id in _sessions(memory, size):
        memory.sessions.close(id)
    return each(lambda _: memory.sessions.active(), map(str, range(200)))


def _sessions(memory: Memory, count: int) -> list[str]:
    """So many sessions that are open."""
    return [memory.sessions.open(f"s{number}").id for number in range(count)]


def _preset(name: str, tokens: int = 100) -> Preset:
    return structs.replace(BUILT_IN["task"], name=name, tokens=tokens)


def _presets(memory: Memory, count: int, call: Call) -> Call:
    for number in range(count):
        memory.settings.presets.set(_preset(f"f{number}"))
    return call


# Links.


@case("graph.neighbours", "links of the record", 300, most=10_000, reads=True)
def _(memory: Memory, size: int) -> Call:
    first = linked(memory, size)
    return lambda: memory.graph.neighbours(first, limit=size + 1)


@case("graph.neighbours", "links of the record that a limit leaves out", 500, reads=True)
def _(memory: Memory, size: int) -> Call:
    first = linked(memory, size)
    return each(lambda _: memory.graph.neighbours(first, limit=5), map(str, range(50)))


@case("graph.neighbours", "links elsewhere", 500, reads=True)
def _(memory: Memory, size: int) -> Call:
    linked(memory, size)
    one, other = facts(memory, 2, "Elsewhere {}.")
    memory.graph.link(one, other)
    return each(lambda _: memory.graph.neighbours(one, hops=3), map(str, range(100)))


@case("graph.path", "links on the path", 100, reads=True)
def _(memory: Memory, size: int) -> Call:
    ids = facts(memory, size + 1)
    with memory.batch() as batch:
        for one, other in pairwise(ids):
            batch.link(one, other)
    return lambda: memory.graph.path(ids[0], ids[-1])


@case("graph.list", "records and links", 300, most=10_000, reads=True)
def _(memory: Memory, size: int) -> Call:
    linked(memory, size)
    return lambda: memory.graph.list(limit=size + 1)


# Upkeep.


@case("admin.digest", "records", 2_500, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return memory.admin.digest


@case("admin.verify", "records", 1_000, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return memory.admin.verify


@case("admin.verify", "records, compared one by one", 200, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return lambda: memory.admin.verify(deep=True)


@case("admin.check", "records and links", 300, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    linked(memory, size)
    return memory.admin.check


@case("admin.doctor", "records", 200, reads=True, on_disk=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return memory.admin.doctor


@case("admin.seal", "records", 1_000, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return memory.admin.seal


@case("admin.rebuild", "records on one episode", 300, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    resting(memory, size)
    return memory.admin.rebuild


@case("admin.rebuild", "records that took one key", 300, reads=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    chain(memory, size)
    return memory.admin.rebuild


@case("admin.backup", "records", 1_500, on_disk=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    return memory.admin.backup


@case("restore_backup", "records", 400, on_disk=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    backup, place = memory.admin.backup().path, Path(f"{memory.where}-restored")
    return lambda: Store.restore_backup(backup, place).close()


@case("admin.copy_to", "records", 300, most=9_000)
def _(memory: Memory, size: int) -> Call:
    facts(memory, size)
    other = Memory.open(":memory:", embedder="none")
    return lambda: memory.admin.copy_to(other)


@case("admin.merge_from", "records", 100, most=40_000)
def _(memory: Memory, size: int) -> Call:
    memory.remember("Both have this.")
    other = Memory.open(":memory:", embedder="none")
    memory.admin.copy_to(other)
    facts(memory, size)
    return lambda: other.admin.merge_from(memory, is_mine=True)


@case("open", "records", 400, on_disk=True, most=9_000)
def _(memory: Memory, size: int) -> Call:
    """Without an index, which is the slowest way to open."""
    facts(memory, size)
    memory.close()
    folder = Path(memory.where)
    for file in folder.glob("index.db*"):
        file.unlink()

    def run() -> None:
        with Memory.open(folder, embedder="none") as again:
            again.status()

    return run


# What an agent brings.


def _redacts(text: str) -> Prepare:
    """Capture and the tools look for secrets in whatever they are given."""
    return lambda memory, size: lambda: redact(text * (size // len(text)))


for _text in ("a", "=", "key=", "-----BEGIN ", "eyJ", "://a:", "AKIA", '"', "\u0301\u0316"):
    case("capture", f"text of {_text!r}", 100_000)(_redacts(_text))


@case("capture", "messages", 60)
def _(memory: Memory, size: int) -> Call:
    messages = [
        Message(id=f"m-{number}", role="user", text=f"Crane {number}.", at=None, session=None)
        for number in range(size)
    ]
    return lambda: Keeping(memory).keep(messages, float("inf"))


@case("settings.rules.run", "episodes with keys", 150)
def _many_keys(memory: Memory, size: int) -> Call:
    return _passes(memory, [{"key": f"k{number}"} for number in range(size)])


@case("settings.rules.run", "episodes under one key", 100)
def _one_key(memory: Memory, size: int) -> Call:
    return _passes(memory, [{"key": "k"} for _ in range(size)])


@case("settings.rules.run", "episodes that cannot be used", 100)
def _unusable(memory: Memory, size: int) -> Call:
    return _passes(memory, [{"intent": "delete", "replaces": "none"} for _ in range(size)])


@case("settings.rules.run", "episodes that do not match", 500)
def _unmatched(memory: Memory, size: int) -> Call:
    return _passes(memory, [{} for _ in range(size)], "metadata.key != null")


def _passes(memory: Memory, metadata: list[dict[str, Json]], where: str | None = None) -> Call:
    """A pass over episodes with this metadata."""
    memory.settings.rules.set("all", filter=where)
    with memory.batch() as batch:
        for number, each in enumerate(metadata):
            batch.observe(f"said {number}", metadata=each)
    return lambda: memory.settings.rules.run("all")


@case("pages.list", "records", 300, reads=True)
def _pages_list(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return memory.pages.list


@case("pages.read", "records on other pages", 300, reads=True)
def _pages_read(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: memory.pages.read("topic-3")


@case("pages.status", "records", 300, reads=True, on_disk=True)
def _pages_status(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    memory.pages.render()
    return memory.pages.status


@case("pages.render", "records", 300, reads=True, on_disk=True)
def _pages_render(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: memory.pages.render(overwrite=True)


@case("pages.flag", "records", 300, reads=True)
def _pages_flag(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: memory.pages.flag("topic-3", "long")


@case("pages.unflag", "records", 300, reads=True)
def _pages_unflag(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: memory.pages.unflag("topic-3")


@case("pages.archive", "records", 300, reads=True)
def _pages_archive(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: memory.pages.archive("topic-3")


@case("pages.activate", "records", 300, reads=True)
def _pages_activate(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: memory.pages.activate("topic-3")


@case("pages.describe", "records", 300, reads=True)
def _pages_describe(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: memory.pages.describe("topic-3", title="Three", tags=["a"])


@case("pages.care", "records", 300, reads=True)
def _pages_care(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return memory.pages.care


@case("pages.changes", "records on one page", 300, reads=True, on_disk=True)
def _pages_changes(memory: Memory, size: int) -> Call:
    _edited(memory, size)
    return memory.pages.changes


@case("pages.sync", "records on one page", 300, on_disk=True)
def _pages_sync(memory: Memory, size: int) -> Call:
    _edited(memory, size)
    return memory.pages.sync


def _edited(memory: Memory, count: int) -> None:
    """So many records on one page, each changed by hand."""
    with memory.batch() as batch:
        for number in range(count):
            batch.remember(f"Fact {number}.", about="one")
    page = Path(memory.pages.render().folder) / "topic-one.md"
    page.write_text(page.read_text().replace("Fact", "Edited"))


@case("pages.condense", "records on the page", 300, reads=True)
def _pages_condense(memory: Memory, size: int) -> Call:
    with memory.batch() as batch:
        for number in range(size):
            batch.remember(f"Fact {number}.", about="x")
            batch.remember(f"Fact {number}", about="x")
    return lambda: memory.pages.condense("topic-x", dry_run=True)


@case("pages.limits", "records", 300, reads=True)
def _pages_limits(memory: Memory, size: int) -> Call:
    _on_pages(memory, size)
    return lambda: [memory.pages.limits() for _ in range(size)]


@case("pages.set_limits", "calls", 100, reads=True)
def _pages_set_limits(memory: Memory, size: int) -> Call:
    return lambda: [memory.pages.set_limits(auto_dormant_days=n + 1) for n in range(size)]


def _on_pages(memory: Memory, count: int) -> None:
    """So many records on a tenth as many pages, each linked to the one before."""
    with memory.batch() as batch:
        for number in range(count):
            batch.remember(f"Fact {number}.", about=str(number % (count // 10)), id=f"r{number}")
    with memory.batch() as batch:
        for number in range(1, count):
            batch.link(f"r{number}", f"r{number - 1}", "related")
