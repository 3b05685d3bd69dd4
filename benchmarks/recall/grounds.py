"""``python -m benchmarks.recall.grounds``: what the check of learned sentences lets through.

Responsible for checking LoCoMo's observations, as they are and with one fact exchanged. Leaves the
check to ``recollect.propose.grounds``. Invariant: what is exchanged is found here, by simpler rules
than those of the check, so that a fact which the check overlooks is exchanged too.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks.machine import commit
from benchmarks.recall import sets
from benchmarks.recall.sets import Turn
from recollect.propose.grounds import Grounds, Said, Verdict, unsupported
from recollect.recall.times import ALWAYS, span_of

ALTERED: Final = 5_000
ASIDE: Final = 8  # conversations from this one on are not looked at while the check is changed
_SEED: Final = 43
_TRIES: Final = 1_000_000  # some facts have no other of their kind
_MONTHS: Final = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
)
_DAYS: Final = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_COUNTS: Final = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
_PATTERNS: Final = {
    "date": (
        rf"\b(?:\d\d? )?(?:{_MONTHS})(?: \d\d?)?(?:,? \d{{4}})?\b"
        rf"|\b(?:(?:last|next|this) )?(?:{_DAYS})\b"
        r"|\b(?:last|next|this) (?:week|weekend|month|year|summer|night)\b"
        r"|\byesterday\b|\btomorrow\b"
        rf"|\b(?:a few|{_COUNTS}|\d+) (?:days|weeks|months|years) ago\b|\b(?:19|20)\d\d\b"
    ),
    "number": rf"\b\d[\d,.]*\b|\b(?:{_COUNTS})\b",
    "name": r"(?<![.!?] )(?!The\b|He\b|A\b)(?<!^)\b[A-Z][\w]+(?: [A-Z][\w]+)*\b",
}


class Fact(NamedTuple):
    """A fact of an observation, and where it stands."""

    kind: str
    text: str
    start: int


class Observed(NamedTuple):
    """One observation: a true sentence, and what it was drawn from."""

    talk: int
    text: str
    facts: tuple[Fact, ...]
    grounds: Grounds


class Marks(msgspec.Struct, frozen=True):
    """How many sentences were checked, and what share of them was stopped."""

    count: int
    stopped: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Shares by conversations: all, those that the check was written with, those kept aside."""

    commit: str
    true: dict[str, Marks]
    exchanged: dict[str, Marks]  # for one from another conversation
    exchanged_within: dict[str, Marks]  # for one from the same conversation
    by_kind: dict[str, Marks]
    within_by_kind: dict[str, Marks]
    joined: float  # of the true ones that pass: with a message around the quote
    us_per_check: float


def main(words: Sequence[str] | None = None) -> int:
    """Checks every observation and prints the report."""
    options = _parser().parse_args(words)
    observed = list(observations(options.data))
    report = run(observed, options.altered)
    print(msgspec.json.encode(report).decode() if options.json else table(report))
    if options.show:
        show(observed, options.altered, options.show)
    return 0


def run(observed: Sequence[Observed], altered: int = ALTERED) -> Report:
    """The report on observations and on those with one fact exchanged."""
    begin = time.process_time()
    true = [(one, unsupported(one.text, one.grounds)) for one in observed]
    took = time.process_time() - begin
    passed = [verdict for _, verdict in true if verdict.problem is None]
    away = checked(exchanges(observed, altered, within=False))
    within = checked(exchanges(observed, altered, within=True))
    return Report(
        commit=commit(),
        true=_by_talk([(one.talk, verdict) for one, verdict in true]),
        exchanged=_by_talk([(one.talk, verdict) for one, _, _, verdict in away]),
        exchanged_within=_by_talk([(one.talk, verdict) for one, _, _, verdict in within]),
        by_kind=_by_kind(away),
        within_by_kind=_by_kind(within),
        joined=sum(bool(verdict.joined) for verdict in passed) / max(1, len(passed)),
        us_per_check=1e6 * took / max(1, len(true)),
    )


def observations(data: Path) -> Iterator[Observed]:
    """LoCoMo's observations, with the turns that they name as quotes."""
    rows: list[dict[str, Any]] = json.loads((data / "locomo10.json").read_text("utf-8"))
    for number, row in enumerate(rows, start=1):
        turns = list(sets.locomo_turns(row["conversation"]))
        of: dict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            of[turn.session].append(turn)
        for name, said in row["observation"].items():
            session = of[name.removesuffix("_observation")]
            for text, ids in (pair for pairs in said.values() for pair in pairs):
                named = sets.turn_ids([ids] if isinstance(ids, str) else ids)
                grounds = _grounds(named, turns, session)
                speakers = {turn.speaker for turn in session}
                yield Observed(number, text, facts(text, speakers), grounds)


def _grounds(named: Sequence[str], turns: Sequence[Turn], session: Sequence[Turn]) -> Grounds:
    quoted = [turn for turn in turns if turn.ref in named]
    places = [place for place, turn in enumerate(session) if turn.ref in named] or [0]
    around = sorted(
        (min(abs(place - one) for one in places), place)
        for place, turn in enumerate(session)
        if turn.ref not in named
    )
    return Grounds(
        quotes=[_said(turn) for turn in quoted],
        around=[_said(session[place]) for _, place in around],
    )


def _said(turn: Turn) -> Said:
    return Said(turn.ref, turn.text, turn.at, turn.speaker)


def facts(text: str, speakers: set[str | None]) -> tuple[Fact, ...]:
    """The facts of a sentence that do not overlap, dates first."""
    found: list[Fact] = []
    for kind, pattern in _PATTERNS.items():
        for match in re.finditer(pattern, text):
            free = all(
                match.end() <= one.start or match.start() >= one.start + len(one.text)
                for one in found
            )
            if free:
                found.append(Fact(kind, match[0], match.start()))
    opening = re.match(r"\w+", text)
    if opening and opening[0] in speakers:
        found.append(Fact("name", opening[0], 0))
    return tuple(found)


Exchange = tuple[Observed, Fact, str]
Checked = tuple[Observed, Fact, str, Verdict]


def exchanges(observed: Sequence[Observed], count: int, *, within: bool) -> Iterator[Exchange]:
    """Observations with one fact exchanged for another of its kind."""
    chance = random.Random(_SEED)
    values: dict[tuple[int, str], list[str]] = defaultdict(list)
    for one in observed:
        for fact in one.facts:
            values[one.talk, fact.kind].append(fact.text)
    talks = sorted({one.talk for one in observed})
    able = {
        kind: [one for one in observed if any(fact.kind == kind for fact in one.facts)]
        for kind in sorted({kind for _, kind in values})
    }
    return islice(_exchanges(able, values, talks, chance, within), count)


def _exchanges(
    able: dict[str, list[Observed]],
    values: dict[tuple[int, str], list[str]],
    talks: list[int],
    chance: random.Random,
    within: bool,
) -> Iterator[Exchange]:
    for _ in range(_TRIES):
        kind = chance.choice(sorted(able))  # most facts are names, so each kind has its share
        one = chance.choice(able[kind])
        fact = chance.choice([fact for fact in one.facts if fact.kind == kind])
        talk = one.talk if within else chance.choice([talk for talk in talks if talk != one.talk])
        known = set() if within else set(map(_plain, values[one.talk, kind]))
        known.add(_plain(fact.text))
        pool = [value for value in values[talk, kind] if _plain(value) not in known]
        value = chance.choice(pool) if pool else None
        if value is not None and not _holds(value, fact, one):
            after = one.text[fact.start + len(fact.text) :]
            yield one, fact, one.text[: fact.start] + value + after


def _holds(value: str, fact: Fact, one: Observed) -> bool:
    """True for a date that has the days of the one it would replace: "last month" for last week.

    Recall's own reading of dates decides, not that of the check.
    """
    at = one.grounds.quotes[0].said_at if fact.kind == "date" and one.grounds.quotes else None
    if at is None:
        return False
    old, _ = span_of(f"in {fact.text}", at, 0)
    new, _ = span_of(f"in {value}", at, 0)
    return ALWAYS not in (old, new) and new.holds(old.since or "")


def _plain(value: str) -> str:
    """A fact in one spelling, so that no fact is exchanged for itself."""
    value = value.casefold().replace(",", "").rstrip(".")
    words = _COUNTS.split("|")
    return str(words.index(value) + 2) if value in words[:11] else value


def checked(made: Iterator[Exchange]) -> list[Checked]:
    """The same with what the check says."""
    return [(one, fact, text, unsupported(text, one.grounds)) for one, fact, text in made]


def table(report: Report) -> str:
    """The report for people."""
    lines = [f"{'':34}{'count':>8}{'stopped':>10}"]
    parts = {
        "true": report.true,
        "exchanged": report.exchanged | report.by_kind,
        "exchanged within": report.exchanged_within | report.within_by_kind,
    }
    for name, marks in parts.items():
        lines += [
            f"{name:18}{part:16}{one.count:>8}{one.stopped:>10.4f}" for part, one in marks.items()
        ]
    lines.append(f"passed with a message around: {report.joined:.3f}")
    return "\n".join([*lines, f"µs per check: {report.us_per_check:.0f}"])


def show(observed: Sequence[Observed], altered: int, most: int) -> None:
    """Prints what is stopped or passes wrongly, without the conversations kept aside."""
    ours = [one for one in observed if one.talk < ASIDE]
    true = [(one, unsupported(one.text, one.grounds)) for one in ours]
    for one, verdict in [pair for pair in true if pair[1].missing][:most]:
        print("STOPPED", verdict.missing, "|", one.text, "|", one.grounds.quotes)
    for within in (False, True):
        made = checked(exchanges(ours, altered, within=within))
        for one, fact, text, _ in [found for found in made if not found[3].missing][:most]:
            print("PASSED", within, fact, "|", text, "|", one.grounds.quotes)


def _by_talk(found: Sequence[tuple[int, Verdict]]) -> dict[str, Marks]:
    parts = {"all": range(1, 99), "1-7": range(1, ASIDE), "8-10": range(ASIDE, 99)}
    return {
        name: _marks([verdict for talk, verdict in found if talk in talks])
        for name, talks in parts.items()
    }


def _by_kind(found: Sequence[Checked]) -> dict[str, Marks]:
    kinds = sorted({fact.kind for _, fact, _, _ in found})
    return {
        kind: _marks([verdict for _, fact, _, verdict in found if fact.kind == kind])
        for kind in kinds
    }


def _marks(verdicts: Sequence[Verdict]) -> Marks:
    stopped = sum(verdict.problem is not None for verdict in verdicts)
    return Marks(len(verdicts), stopped / max(1, len(verdicts)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recall.grounds", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with locomo10.json")
    parser.add_argument(
        "--altered", type=int, default=ALTERED, help="sentences to exchange a fact in"
    )
    parser.add_argument("--show", type=int, default=0, help="print so many mistakes of each sort")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
