"""Damage to a ledger's bytes: found, and the event named whose line is not as it was written.

Two readers are asked each time. One has only the bytes (the bare chain), the other remembers the
last event as well, as the index does. The difference between them is stated and tested:

- Damage before the last append is found by both. A flipped newline joins two lines; the first of
  them is named, because it is the one whose line ends wrongly.
- In the last append a flip looks like the remains of a crash to the bare chain, and must: the same
  bytes are a legal crash. So does a flip of the newline before a last append of one event. A cut
  between two appends looks like a shorter ledger. Who remembers the last event finds all of these.
- A ledger written anew from some event on is whole for the chain. Who remembers the last event
  finds that it is another, and names that one: where the two part, only a copy elsewhere can say.

`make long SUITE=damage` flips every bit of a megabyte. `DAMAGE_FLIPS` sets how many the default
run flips, anywhere in the same ledger: a number, or `all`.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from recollect.ledger import line as lines
from recollect.ledger.scan import Scanner
from recollect.ledger.verify import verify
from recollect.model.events import GENESIS
from tests.suites.conftest import Tell
from tests.suites.damaging import (
    Change,
    Flipper,
    Flips,
    Verdict,
    cut_append,
    deleted,
    doubled,
    every_flip,
    flipped,
    inserted,
    moved,
    some_flips,
    swapped,
    truncated,
    whole,
)
from tests.suites.ledgers import Ledger, chained, lived
from tests.suites.mutations import Trial, Tried

SEED = random.randrange(2**32)
EVENTS, MANY_EVENTS = 800, 3_000
FLIPPED_ONE_IN = 5  # bits of a line, where each flip is a walk over the whole ledger
RSS_GROWTH_MAX_MB = 96
LINE_MAX_S = 5.0  # by far: the longest lines take a third of a second


@cache
def megabyte() -> Ledger:
    return lived(SEED)


@cache
def long(events: int = EVENTS) -> Ledger:
    return chained(events, random.Random(SEED))


# Flips.


def report_flips(found: Flips, started: float, tell: Tell) -> None:
    last = megabyte().appends[-1].lines
    took_s = time.perf_counter() - started
    tell(
        f"damage: {found.count:,} flips of a 1 MB ledger, all detected, all located, {took_s:.0f} s"
        f" ({sum(found.by_index_only.values()):,} in the last append, by the index's position)"
    )
    assert found.wrong == [], f"seed {SEED}"
    assert set(found.by_index_only) <= {line.seq for line in last}, f"seed {SEED}"


def test_flipped_bits_anywhere_are_detected_and_located(tell: Tell) -> None:
    ledger, asked = megabyte(), os.environ.get("DAMAGE_FLIPS", "4000")
    started = time.perf_counter()
    if asked == "all":
        found = every_flip(ledger)
    else:
        found = some_flips(ledger, int(asked), random.Random(SEED))
    report_flips(found, started, tell)


@pytest.mark.nightly
def test_every_flipped_bit_is_detected_and_located(tell: Tell) -> None:
    started = time.perf_counter()
    found = every_flip(megabyte())
    report_flips(found, started, tell)
    assert found.count == 8 * len(megabyte().data)
    # Each flip of the last append needs somebody who remembers it.
    last = megabyte().appends[-1].lines
    assert sum(found.by_index_only.values()) == 8 * sum(
        len(megabyte().lines[line.seq - 1]) for line in last
    )


def test_the_shortcut_says_what_the_whole_verification_says(tell: Tell) -> None:
    ledger, rng = megabyte(), random.Random(SEED)
    erased = [event.seq for event in ledger.events if event.data is None]
    last = ledger.appends[-1].lines
    seqs = [*rng.choices(range(1, len(ledger.lines) + 1), k=20), *rng.choices(erased, k=4)]
    seqs += [line.seq for line in last]
    asked = 0
    for seq in seqs:
        flipper = Flipper(ledger, seq)
        newline = rng.randrange(8 * flipper.size - 8, 8 * flipper.size)
        for bit in {rng.randrange(8 * flipper.size), newline}:
            asked += 1
            said = whole(flipped(ledger, seq, bit), ledger.head)
            assert flipper.verdict(bit) == said, f"seed {SEED}, event {seq}, bit {bit}"
    tell(f"damage: the shortcut agrees with the whole verification on {asked} flips")


def test_a_last_append_of_one_event_is_located_by_who_remembers_it() -> None:
    """Its own line, and the newline before it, which a flip takes away from both lines."""
    ledger = _ending_with_one_event(random.Random(SEED))
    seq, before = len(ledger.lines), len(ledger.lines) - 1
    bits, newline = 8 * len(ledger.lines[-1]), 8 * len(ledger.lines[before - 1]) - 8
    first = SEED % FLIPPED_ONE_IN
    for bit in range(first, bits, FLIPPED_ONE_IN):
        assert whole(flipped(ledger, seq, bit), ledger.head) == Verdict(None, seq)
    for bit in (*range(first, newline, FLIPPED_ONE_IN), *range(newline, newline + 8)):
        said = whole(flipped(ledger, before, bit), ledger.head)
        is_newline = bit >= newline
        assert said == Verdict(None if is_newline else before, before)


def _ending_with_one_event(rng: random.Random) -> Ledger:
    """A short ledger, since each flip is a walk over all of it; one seed in six has none."""
    while True:
        small = chained(12, rng)
        for number in range(len(small.appends) - 2, 0, -1):
            if _is_single(small, number):
                return Ledger(small.data[: small.appends[number].end])


def _is_single(ledger: Ledger, number: int) -> bool:
    return len(ledger.appends[number].lines) == 1


def test_control_a_chain_that_does_not_check_bodies_is_seen_to_miss_flips(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "_data", lambda raw, end: raw[end + lines._DATA_AT : -1])
    ledger = long()
    flipper = Flipper(ledger, 7)
    in_the_body = 8 * (flipper.size - len('"]}}\n') - 5)
    assert flipper.flip(range(in_the_body, in_the_body + 4)).wrong


# Lines.


def every_change(ledger: Ledger, rng: random.Random) -> Iterable[Change]:
    """Every line deleted and doubled, every pair of neighbours swapped, and as many at random."""
    seqs = range(1, len(ledger.lines) + 1)
    other = chained(len(ledger.lines), random.Random(~SEED))
    for seq in seqs:
        yield deleted(ledger, seq)
        yield doubled(ledger, seq)
        yield cut_append(ledger, seq)
        yield truncated(ledger, seq)
        yield swapped(ledger, *rng.sample(seqs, 2))
        yield inserted(ledger, seq, b"\n")
        yield inserted(ledger, seq, b"\0" * rng.randrange(1, 900) + b"\n")
        if seq > 1:
            yield swapped(ledger, seq - 1, seq)
            yield inserted(ledger, seq, other.lines[seq - 1])
        one, behind = rng.sample(seqs, 2)
        if one != behind + 1:  # which is where it stands
            yield moved(ledger, one, behind)


def test_every_change_to_the_order_of_lines_is_located(tell: Tell) -> None:
    change_the_order(EVENTS, tell)


@pytest.mark.nightly
def test_every_change_to_the_order_of_three_thousand_lines_is_located(tell: Tell) -> None:
    change_the_order(MANY_EVENTS, tell)


def change_the_order(events: int, tell: Tell) -> None:
    ledger, rng = long(events), random.Random(SEED)
    count: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    started = time.perf_counter()
    for made in every_change(ledger, rng):
        said = made.verdict(ledger)
        count[made.what] += 1
        missed[made.what] += said.chain is None
        assert said.index == made.at, f"seed {SEED}: {made.what} at {made.at}: {said}"
        assert said.chain in (None, made.at), f"seed {SEED}: {made.what} at {made.at}: {said}"
        if rng.random() < 0.0007:
            assert whole(made.data(ledger), ledger.head) == said
    took_s = time.perf_counter() - started
    told = ", ".join(f"{number:,} {what}" for what, number in count.items())
    tell(f"damage: lines of {events:,} events {told}: all located, {took_s:.0f} s")
    # The controls: what the bare chain cannot see, and nothing else.
    last = ledger.appends[-1].lines
    assert missed.pop("truncated") == events
    assert missed == {
        "deleted": len(last),
        "doubled": len(last) - 1,
        "append cut": len(last),
        "inserted": 3 * len(last),
        "swapped": missed["swapped"],
        "moved": missed["moved"],
    }
    assert missed["swapped"] >= len(last) - 1


def test_control_the_bare_chain_misses_a_cut_between_two_appends(tell: Tell) -> None:
    ledger = long()
    ends = [append.end for append in ledger.appends[:-1]]
    for append in random.Random(SEED).sample(ledger.appends[:-1], 12):
        data = ledger.data[: append.end]
        bare = verify([data])
        assert (bare.ok, bare.problem) == (True, None)
        known = verify([data], seen=ledger.head)
        assert (known.ok, known.broken_at) == (False, append.head.seq + 1)
    inside = [end for end in ledger.starts[1:-1] if end not in set(ends)]
    for end in random.Random(SEED).sample(inside, 6):
        bare = verify([ledger.data[:end]])
        assert bare.ok
        assert "unfinished" in str(bare.problem)
        assert verify([ledger.data[:end]], seen=ledger.head).broken_at == ledger.seq_at(end)
    tell(
        f"damage: control: {len(ends):,} cuts between appends are whole ledgers to the bare chain, "
        f"{len(inside):,} inside one look like a crash; the index's position finds all"
    )


def test_control_the_bare_chain_misses_a_ledger_written_anew() -> None:
    ledger, other = long(), chained(EVENTS, random.Random(~SEED))
    assert verify([other.data]).ok
    forged = verify([other.data], seen=ledger.head)
    assert (forged.ok, forged.broken_at) == (False, EVENTS)


def test_a_foreign_first_line_is_taken_for_the_first_event() -> None:
    """The chain begins with whatever begins it; the line that was first is now the wrong one."""
    ledger, other = long(), chained(EVENTS, random.Random(~SEED))
    first = next(append for append in other.appends if append.lines[0].seq == 1)
    data = b"".join(other.lines[: first.head.seq]) + ledger.data
    assert whole(data, ledger.head) == Verdict(first.head.seq + 1, first.head.seq + 1)


def test_bytes_behind_the_last_event_are_told_and_are_no_damage() -> None:
    """Nothing that was acknowledged is touched: the next writer copies them aside and cuts them."""
    ledger = long()
    for behind in (b"\n", b"\0" * 5_000, ledger.lines[-1][:300], b"junk\nmore\n"):
        check = verify([ledger.data + behind], seen=ledger.head)
        assert check.ok
        assert "unfinished" in str(check.problem)
    again = verify([ledger.data + ledger.lines[-1]], seen=ledger.head)
    assert again.broken_at == EVENTS + 1  # a line that was whole once is no remains of a crash


# Mutated lines.


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def run_mutations(count: int, tell: Tell) -> Tried:
    trial = Trial(megabyte(), SEED)
    trial.run(2_000)  # so that what is loaded and cached once is not counted as growth
    gc.collect()
    before_mb, started = resident_mb(), time.perf_counter()
    tried = trial.run(count - 2_000)
    took_s = time.perf_counter() - started
    gc.collect()
    grown_mb = max(0.0, resident_mb() - before_mb)
    tell(
        f"damage: {tried.count:,} mutated lines, {len(tried.leaked)} foreign errors, "
        f"{len(tried.accepted)} accepted, slowest {tried.slowest_s * 1e3:.0f} ms, "
        f"{grown_mb:.0f} MB grown, {took_s:.0f} s"
    )
    assert tried.leaked == [], f"seed {SEED}"
    assert tried.accepted == [], f"seed {SEED}"
    assert tried.count == count
    assert tried.parsed > count // 100  # resealed ones, so that what lies behind is reached, too
    assert grown_mb < RSS_GROWTH_MAX_MB
    return tried


def test_ten_thousand_mutated_lines_are_refused_in_the_ledgers_own_words(tell: Tell) -> None:
    run_mutations(10_000, tell)


@pytest.mark.nightly
def test_a_million_mutated_lines_are_refused_in_the_ledgers_own_words(tell: Tell) -> None:
    assert run_mutations(1_000_000, tell).slowest_s < LINE_MAX_S


@cache
def longest_lines() -> Tried:
    trial = Trial(megabyte(), SEED)
    trial.long_lines()
    return trial.tried


@pytest.mark.nightly
def test_the_longest_lines_are_refused_in_the_ledgers_own_words(tell: Tell) -> None:
    tried = longest_lines()
    tell(f"damage: {tried.count} lines of 16 MiB, slowest {tried.slowest_s:.1f} s")
    assert (tried.leaked, tried.accepted) == ([], [])


@pytest.mark.timing
def test_the_longest_lines_are_refused_soon() -> None:
    assert longest_lines().slowest_s < LINE_MAX_S


@pytest.mark.timing
def test_bytes_without_a_newline_are_read_in_one_go() -> None:
    """Small pieces of a long line: once each, not again with every piece that follows."""
    scanner, piece = Scanner(GENESIS), b"\0" * 2_048
    started = time.perf_counter()
    for _ in range(16_384):
        assert list(scanner.feed(piece)) == []
    assert len(scanner.torn()) == 16_384 * len(piece)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("guard", ["_data", "_checked_hash"])
def test_control_a_reader_without_a_check_is_seen_to_accept(
    monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    broken = {
        "_data": lambda raw, end: raw[end + lines._DATA_AT : -1],
        "_checked_hash": lambda raw, end: raw[end + lines._HASH : end + lines._HASH + 64].decode(
            "ascii", "replace"
        ),
    }
    monkeypatch.setattr(lines, guard, broken[guard])
    assert Trial(megabyte(), SEED).run(2_000).accepted


def test_control_a_reader_that_lets_foreign_errors_out_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.suites.mutations.parse", lambda raw: int(raw[5:9]))
    assert Trial(megabyte(), SEED).run(200).leaked
