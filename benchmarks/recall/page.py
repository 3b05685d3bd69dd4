"""``python -m benchmarks.recall.page``: the page about the quality of recall.

Responsible for the text around the figures and for the picture. Leaves measuring to ``run``.
Invariant: every figure of ours comes from a report; other figures are labelled as such.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import plots
from benchmarks.recall.contexts import WidthReport
from benchmarks.recall.fit import Without
from benchmarks.recall.run import MACRO, Report

PAGE: Final = "recall-quality.md"
PICTURE: Final = "plots/recall-quality.svg"
_LEGS: Final = ("text", "static", "full")
# The best result of a single method, over all questions, with nothing fitted.
UNTUNED: Final = {"A": 0.610, "B": 0.534, "C": 0.738, "D": 0.848, "B'": 0.919}
AIMS: Final = {"A": 0.70, "B": 0.76, "C": 0.82, "D": 0.92, "B'": 0.94}
FLOOR: Final = 0.76  # that macro has to reach
_FIGURE: Final = {**MACRO, "B'": "recall@10"}
_SET: Final = {
    "A": "LongMemEval, the sessions of all questions in one memory",
    "B": "LoCoMo, turns of a conversation, categories 1 to 4",
    "C": "BEAM-100K, turns of a long chat",
    "D": "LongMemEval-S, about 48 sessions to a question, 500 characters of each",
    "B'": "LoCoMo, whole sessions, categories 1 to 5",
}

_HOW: Final = """\
`python -m benchmarks.recall` fills a memory through `observe`, asks every question through `recall`
and compares what comes first with what the question's author named. `any@k` and `all@k` say whether
any or all of it is among the first `k`. No language model is used, neither for writing nor for
reading. One configuration is used for all sets. `text` is the engine without any embedder, `static`
with the word vectors of `recollect[local]`, `full` with a sentence encoder (all-MiniLM-L6-v2, 8
bits) in addition. Weights are fitted on other questions than these; the code refuses to read a test
question while fitting. The sets are read from a folder and are not part of the project.

**macro** is the mean of A, B, C and D. With so few questions, two points are noise."""

_MISSES: Final = """\
Recall misses a few kinds of questions, the same in every configuration.

- **Lists over many places** (A multi-session, B category 1, C event ordering and multi-session):
  "How many items of clothing do I have to pick up or return?" needs every session that mentions a
  boot or a blazer, and neither words nor an encoder place an instance near its class. Some of it
  is nearly always found (`any@10`), all of it seldom.
- **Summaries** (C summarization): the author names only some of many turns about the subject.
- **Inference** (B category 3): the answer follows from what was said, but shares no words with it.
- **Tastes** (A preference): "Can you recommend a show for tonight?" among 940 sessions of many
  people; preferences are stated in words that a request does not contain.
- **Near misses** (abstention): questions about something that was never said, close to things that
  were. Relevance does not tell them apart: see *Abstaining* in decision 0011.

These would help: resolving classes and pronouns at write time (which takes a model, once), a larger
encoder, and asking in several steps for second hops."""


def page(
    reports: dict[str, Report],
    widths: Sequence[WidthReport] = (),
    without: Mapping[str, Mapping[str, Without]] | None = None,
) -> str:
    """The whole page."""
    best = reports[_LEGS[-1]]
    return "\n".join(
        [
            "# Recall quality",
            "",
            "`python -m benchmarks.recall.page` wrote this page; no number was typed by hand. "
            f"Commit `{best.commit}`. {_verdict(best)}",
            "",
            f"![Found on unseen questions, compared with the best single method]({PICTURE})",
            "",
            "## How",
            "",
            _HOW,
            "",
            "## Unseen questions, one configuration",
            "",
            *_table(reports),
            "",
            *(f"- **{name}**: {what}." for name, what in _SET.items()),
            "",
            "*Alone* is the best result of BM25, static vectors, the encoder, or their fused "
            "ranks over all questions, with nothing fitted; the *aim* is this project's own "
            "target.",
            "",
            f"## Each kind of question (`{_LEGS[-1]}`)",
            "",
            *_kinds(best),
            "",
            *(_contexts(widths) if widths else ()),
            *(_without(without) if without else ()),
            "## What is missed",
            "",
            _MISSES,
            "",
        ]
    )


def picture(report: Report) -> str:
    """A bar for each set."""
    values = [_value(report, name) for name in _SET]
    notes = [
        f"{value:.3f} (alone {UNTUNED[name]:.3f})" for name, value in zip(_SET, values, strict=True)
    ]
    names = [f"{name}  {_FIGURE[name]}" for name in _SET]
    return plots.bars("Found on unseen questions, one configuration", names, values, notes)


def _verdict(report: Report) -> str:
    fifth = report.sets["B"]["test"]["5"]["any@10"]
    said = "reached" if (report.macro or 0.0) >= FLOOR else "**missed**"
    return (
        f"macro is {report.macro:.3f}; at least {FLOOR} is {said}. LoCoMo's fifth category, which "
        f"asks for things that were never said, has any@10 {fifth:.3f}."
    )


def _value(report: Report, name: str) -> float:
    return report.sets[name]["test"]["*"][_FIGURE[name]]


def _table(reports: dict[str, Report]) -> Iterator[str]:
    yield "| | " + " | ".join(f"{name} {figure}" for name, figure in _FIGURE.items()) + " | macro |"
    yield "|---" * (len(_FIGURE) + 2) + "|"
    for legs, report in reports.items():
        values = " | ".join(f"{_value(report, name):.3f}" for name in _FIGURE)
        yield f"| `{legs}` | {values} | {report.macro:.3f} |"
    for title, row in (("alone", UNTUNED), ("aim", AIMS)):
        yield f"| *{title}* | " + " | ".join(f"{row[name]:.3f}" for name in _FIGURE) + " | |"


def _contexts(widths: Sequence[WidthReport]) -> Iterator[str]:
    """How much of the evidence is inside a context of so many tokens."""
    yield "## Inside a context"
    yield ""
    yield (
        "`python -m benchmarks.recall.contexts` asks unseen questions of `context` with several "
        "budgets. *Whole* is the share of questions whose whole evidence is inside, by how many "
        "pieces of evidence a question has; of sets that rank sessions, a piece is a session. "
        "Tokens are those of the context itself."
    )
    yield ""
    places = ("1", "2", "3", "4")
    yield "| set | legs | questions | budget | used | whole | of 1 | of 2 | of 3 | of 4 and more |"
    yield "|---" * 10 + "|"
    for report in widths:
        for name, budgets in report.sets.items():
            for budget, held in budgets.items():
                each = (held.by_places.get(number) for number in places)
                shown = " | ".join("" if value is None else f"{value:.2f}" for value in each)
                yield (
                    f"| {name} | `{report.legs}` | {report.asked[name]} | {int(budget):,} "
                    f"| {held.used:,.0f} | {held.whole:.3f} | {shown} |"
                )
    yield ""


def _without(without: Mapping[str, Mapping[str, Without]]) -> Iterator[str]:
    """What each set loses if its own dev questions take no part in the fit."""
    yield "## Without one set"
    yield ""
    yield (
        "`python -m benchmarks.recall.fit --without-each` fits the weights on all sets but one. "
        "Figures of the set's dev questions, of the evidence among the candidates: with its own "
        "dev questions in the fit → without them (how many there are)."
    )
    yield ""
    names = tuple(MACRO)
    yield "| | " + " | ".join(f"{name} {MACRO[name]}" for name in names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for legs, of_sets in without.items():
        each = [of_sets[name] for name in names]
        cells = (f"{one.whole:.3f} → {one.without:.3f} ({one.questions})" for one in each)
        yield f"| `{legs}` | " + " | ".join(cells) + " |"
    yield ""


def _kinds(report: Report) -> Iterator[str]:
    shown = ("any@5", "all@5", "any@10", "all@10", "ndcg@10")
    yield "| set | kind | " + " | ".join(shown) + " |"
    yield "|---" * (len(shown) + 2) + "|"
    for name in _SET:
        for kind, marks in report.sets[name]["test"].items():
            words = "all" if kind == "*" else kind.replace("_", " ")
            yield f"| {name} | {words} | " + " | ".join(f"{marks[f]:.3f}" for f in shown) + " |"


def main(words: Sequence[str] | None = None) -> int:
    """Reads a report for each configuration and writes the page and its picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.page", description=__doc__)
    for legs in _LEGS:
        parser.add_argument(f"--{legs}", type=Path, required=True, help=f"report of --legs {legs}")
    parser.add_argument(
        "--contexts", type=Path, action="append", default=[], help="report of `contexts --json`"
    )
    parser.add_argument("--without", type=Path, help="figures of `fit --without-each`")
    parser.add_argument("--docs", type=Path, required=True, help="folder of the page")
    options = parser.parse_args(words)
    reports = {
        legs: msgspec.json.decode(getattr(options, legs).read_bytes(), type=Report)
        for legs in _LEGS
    }
    widths = [msgspec.json.decode(path.read_bytes(), type=WidthReport) for path in options.contexts]
    without = (
        msgspec.json.decode(options.without.read_bytes(), type=dict[str, dict[str, Without]])
        if options.without
        else None
    )
    (options.docs / PICTURE).parent.mkdir(parents=True, exist_ok=True)
    (options.docs / PICTURE).write_text(picture(reports[_LEGS[-1]]), "utf-8")
    (options.docs / PAGE).write_text(page(reports, widths, without), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
