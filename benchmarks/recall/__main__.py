"""``python -m benchmarks.recall``: how well recall finds what was asked for.

Responsible for the command line and the table. Leaves the figures to ``run``. Invariant: standard
output holds the report alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.machine import commit
from benchmarks.recall import sets
from benchmarks.recall.metrics import SESSION_SCORES
from benchmarks.recall.run import Engine, Fill, Report, memory_with, run

_FIGURES = ("any@5", "all@5", "any@10", "all@10", "recall@10", "ndcg@10")


def main(words: Sequence[str] | None = None) -> int:
    """Runs what was asked for and prints the report."""
    options = _parser().parse_args(words)
    report = run(
        sets.load(options.data, options.sets.split(",")),
        _filling(options),
        about={"commit": commit(), "legs": options.legs, "session_score": options.session_score},
        grain=options.grain,
        score=SESSION_SCORES[options.session_score],
        limit=options.limit,
        out=options.out,
        say=lambda text: print(text, file=sys.stderr),
    )
    print(msgspec.json.encode(report).decode() if options.json else table(report))
    return 0


def table(report: Report) -> str:
    """The report for people: each set and category, all questions and the test part."""
    lines = [f"{'set':4} {'part':5} {'category':26}" + "".join(f"{n:>10}" for n in _FIGURES)]
    for name, parts in report.sets.items():
        for part, categories in sorted(parts.items()):
            for category, marks in categories.items():
                figures = "".join(f"{marks[figure]:>10.3f}" for figure in _FIGURES)
                lines.append(f"{name:4} {part:5} {category:26}{figures}")
    of = ", ".join(f"{name} {value:.3f}" for name, value in report.macro_of.items())
    whole = "not all sets asked" if report.macro is None else f"{report.macro:.4f}"
    return "\n".join([*lines, f"macro (test): {whole} ({of})"])


def _filling(options: argparse.Namespace) -> Fill:
    """How a haystack becomes a memory."""
    from benchmarks.recall.encoders import chosen

    embedders = chosen(options.legs, options.model, options.cache)
    return lambda turns: Engine(turns, memory_with(embedders))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the question sets")
    parser.add_argument("--sets", default="A,B,B',C,D", help="which ones, with commas between")
    parser.add_argument(
        "--legs",
        choices=("text", "static", "sentence", "full"),
        default="text",
        help="what recall searches with: words, also static vectors, also a sentence encoder",
    )
    parser.add_argument(
        "--grain",
        choices=("turn", "session"),
        default="turn",
        help="what is stored when sessions are ranked: each turn, or a session as one text",
    )
    parser.add_argument("--model", type=Path, help="folder of the sentence encoder")
    parser.add_argument("--cache", type=Path, help="folder that keeps the sentence encoder's rows")
    parser.add_argument("--session-score", choices=tuple(SESSION_SCORES), default="best")
    parser.add_argument("--limit", type=int, help="ask only the first questions of each set")
    parser.add_argument("--out", type=Path, help="folder for one line of JSON per question")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
