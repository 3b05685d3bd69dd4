"""Search: what a question finds, what each signal adds, and why something is missing.

Responsible for one recall and one question about an absence. Leaves ranking to the memory.
Invariant: every number on the page is one that ``recall`` or ``why_not`` returned.
"""

from __future__ import annotations

from typing import Final, cast, get_args

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.errors import told
from recollect.interfaces.web.draw.shares import Bar, bars
from recollect.interfaces.web.view import Call, View
from recollect.memory import Memory
from recollect.model.presets import Units
from recollect.model.values import INCLUDES, Hit, Include, Recall, WhyNot

_K: Final = 10
_K_MAX: Final = 100
EXAMPLES: Final = (
    "kind = 'fact'",
    "tags contains 'work'",
    "trust = 'person' and confidence > 0.8",
    "said_at > '2026-11-01'",
)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One hit with its bar."""

    hit: Hit
    bar: Bar
    place: int


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Why something is not among the hits."""

    why: WhyNot
    text: str
    bar: Bar | None


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    q: str
    k: int
    unit: str
    where: str
    include: tuple[str, ...]
    id: str
    recall: Recall | None
    hits: tuple[Found, ...]
    unverified: tuple[Found, ...]
    missing: Missing | None
    missing_said: str | None  # the id was not found at all
    floor: float  # from which relevance on a context takes a hit
    includes: tuple[str, ...] = INCLUDES
    units: tuple[str, ...] = get_args(Units)
    examples: tuple[str, ...] = EXAMPLES


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, as the calls take it."""

    q: str
    k: int
    unit: Units
    where: str | None
    include: tuple[Include, ...]


def page(asked: Asked, memory: Memory) -> View:
    """Asks the memory."""
    question = _question(asked)
    if not question.q:
        return View(title="Search", main=_main(asked, question), answer=None)
    found = memory.recall(
        question.q,
        k=question.k,
        unit=question.unit,
        filter=question.where,
        include=question.include,
    )
    missing, said = _missing(asked, memory, question)
    floor = memory.settings.presets.get("task").floor
    main = _main(asked, question, found, missing, said, floor)
    answer = {"recall": found, "why_not": None if missing is None else missing.why}
    return View(title="Search", main=main, answer=answer, calls=_calls(asked, question))


def _question(asked: Asked) -> Question:
    unit = asked.text("unit", "any")
    return Question(
        q=asked.text("q"),
        k=asked.number("k", _K, least=1, most=_K_MAX),
        unit=cast("Units", unit if unit in get_args(Units) else "any"),
        where=asked.text("where") or None,
        include=tuple(each for each in INCLUDES if each in asked.many("include")),
    )


def _main(
    asked: Asked,
    question: Question,
    found: Recall | None = None,
    missing: Missing | None = None,
    said: str | None = None,
    floor: float = 0.0,
) -> Main:
    hits = () if found is None else found.hits
    unverified = () if found is None else found.unverified
    drawn = bars(
        [hit.shares for hit in (*hits, *unverified)], [hit.score for hit in (*hits, *unverified)]
    )
    rows = [
        Found(hit=hit, bar=bar, place=place)
        for place, (hit, bar) in enumerate(zip((*hits, *unverified), drawn, strict=True), 1)
    ]
    return Main(
        q=question.q,
        k=question.k,
        unit=question.unit,
        where=question.where or "",
        include=question.include,
        id=asked.text("id"),
        recall=found,
        hits=tuple(rows[: len(hits)]),
        unverified=tuple(rows[len(hits) :]),
        missing=missing,
        missing_said=said,
        floor=floor,
    )


def _missing(asked: Asked, memory: Memory, question: Question) -> tuple[Missing | None, str | None]:
    """Why the id that the reader named is not there, in its own words."""
    id = asked.text("id")
    if not id:
        return None, None
    try:
        why = memory.admin.why_not(
            id,
            question.q,
            k=question.k,
            unit=question.unit,
            filter=question.where,
            include=question.include,
        )
        text = memory.get(why.id, include=INCLUDES).text
    except NotFound as error:
        return None, told(error)
    (bar,) = bars([why.shares], [why.score or 0.0])
    return Missing(why=why, text=text, bar=bar if why.shares else None), None


def _calls(asked: Asked, question: Question) -> tuple[Call, ...]:
    given = {
        "k": question.k,
        "unit": question.unit if question.unit != "any" else None,
        "filter": question.where,
        "include": list(question.include),
    }
    words = ["-k", str(question.k)]
    words += ["--unit", question.unit] if question.unit != "any" else []
    words += ["--filter", question.where] if question.where else []
    words += [part for each in question.include for part in ("--include", each)]
    found = [
        asked.call(
            asked.python("recall", question.q, **given),
            asked.cli("recall", question.q, *words, "--explain"),
        )
    ]
    id = asked.text("id")
    if id:
        found.append(
            asked.call(
                asked.python("admin.why_not", id, question.q, **given),
                asked.cli("admin", "why-not", id, question.q, *words),
            )
        )
    return tuple(found)
