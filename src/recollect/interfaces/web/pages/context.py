"""Context: what a model would be shown for a question, line by line, and what was left out.

Responsible for one context, or two of different presets side by side. Leaves packing to the memory.
Invariants: looking leaves no receipt; every number on the page is one that ``context`` returned, or
the tokens of a line as its counter counts them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final

import msgspec

from recollect.errors import InvalidInput, LimitExceeded, NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import packed
from recollect.interfaces.web.draw.errors import told
from recollect.interfaces.web.draw.shares import Bar, bars
from recollect.interfaces.web.view import Call, View
from recollect.memory import Memory
from recollect.model import limits
from recollect.model.presets import Preset
from recollect.model.reasons import Omission
from recollect.model.values import INCLUDES, Context, Episode, Hit, Omitted, WhyNot
from recollect.recall.pack import count_tokens

BUDGETS: Final = (150, 300, 750, 1_500, 4_000)
_SHOWN_COUNT: Final = 8  # of what was left out for one reason
_REASONS: Final[dict[Omission, str]] = {
    "budget": "Too long for what was left of the budget",
    "repeat": "Says what something packed says",
    "source": "Evidence of something packed",
    "contradiction": "Contradicts something packed, which names it",
    "replaced": "States only what something found has replaced",
    "floor": "Not relevant enough for this preset",
}


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One packed hit: its place, its tokens and its shares."""

    place: int
    hit: Hit
    bar: Bar
    tokens: int
    tone: int
    is_only_here: bool = False  # the other preset leaves it out


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was found and not packed, with its text."""

    omitted: Omitted
    text: str
    unit: str
    tokens: int


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """What was left out for one reason: the first of them, and how many more."""

    reason: str
    title: str
    count: int
    shown: tuple[Left, ...]

    @property
    def more(self) -> int:
        """How many are not shown."""
        return self.count - len(self.shown)


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One context of one preset."""

    preset: Preset
    context: Context
    lines: tuple[packed.Line, ...]
    slices: tuple[packed.Slice, ...]
    items: tuple[Item, ...]
    left: tuple[Group, ...]


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    q: str
    preset: str
    other: str
    tokens: int | None
    id: str
    presets: tuple[str, ...]
    sides: tuple[Side, ...]
    waiting: int
    why: WhyNot | None
    problem: str | None  # why nothing could be packed
    budgets: tuple[int, ...] = BUDGETS
    usual: int  # the budget of the preset


def page(asked: Asked, memory: Memory) -> View:
    """Packs a context without a receipt."""
    presets = {preset.name: preset for preset in memory.settings.presets.list()}
    names = _named(asked, presets)
    q = asked.text("q")
    tokens = asked.maybe("tokens")
    if tokens is not None:
        tokens = max(1, min(tokens, limits.CONTEXT_MAX_TOKENS))
    sides: tuple[Side, ...] = ()
    problem, waiting, why = None, 0, None
    if q:
        try:
            sides = read(memory, q, tokens, [presets[name] for name in names])
            waiting = memory.recall(q, k=1).waiting
            why = _why(asked, memory, q, names[0], tokens)
        except (LimitExceeded, InvalidInput) as error:
            problem = told(error, with_hint=True)
    main = Main(
        q=q, preset=names[0], other=names[1] if len(names) > 1 else "", tokens=tokens,
        id=asked.text("id"), presets=tuple(presets), sides=sides, waiting=waiting, why=why,
        problem=problem, usual=presets[names[0]].tokens,
    )  # fmt: skip
    return View(
        title="Context",
        main=main,
        answer={"contexts": [side.context for side in sides], "why_not": why},
        calls=_calls(asked, q, names, tokens) if sides else (),
    )


def _named(asked: Asked, presets: dict[str, Preset]) -> list[str]:
    """The preset that is asked for, and the one beside it."""
    names = [asked.text("preset") or "task", asked.text("other")]
    found = list(dict.fromkeys(name for name in names if name))
    for name in found:
        if name not in presets:
            raise NotFound(f"the preset {name!r} does not exist", hint="choose one from the list")
    return found


def read(memory: Memory, q: str, tokens: int | None, presets: list[Preset]) -> tuple[Side, ...]:
    """A context of each preset, and which of its items the others leave out."""
    found = [memory.context(q, tokens=tokens, preset=each.name, receipt=False) for each in presets]
    sides = []
    for place, (preset, context) in enumerate(zip(presets, found, strict=True)):
        others = [set(each.ids) for other, each in enumerate(found) if other != place]
        only = set(context.ids).difference(*others) if others else set[str]()
        sides.append(side(memory, preset, context, only))
    return tuple(sides)


def side(memory: Memory, preset: Preset, context: Context, only: set[str]) -> Side:
    """One context with its lines, its bar and what was left out."""
    lines = packed.lines(context.text, len(context.hits))
    slices = packed.slices(lines, context.budget)
    drawn = bars([hit.shares for hit in context.hits], [hit.score for hit in context.hits])
    costs = {each.item: each for each in slices}
    items = tuple(
        Item(
            place=place, hit=hit, bar=bar, tokens=costs[place].tokens, tone=costs[place].tone,
            is_only_here=hit.id in only,
        )
        for place, (hit, bar) in enumerate(zip(context.hits, drawn, strict=True), 1)
    )  # fmt: skip
    return Side(
        preset=preset, context=context, lines=lines, slices=slices, items=items,
        left=_left(memory, context.omitted),
    )  # fmt: skip


def _left(memory: Memory, omitted: Iterable[Omitted]) -> tuple[Group, ...]:
    """What was left out, by its reason, in the order of the table above."""
    order = list(_REASONS)
    ordered = sorted(omitted, key=lambda each: order.index(each.reason))
    groups = []
    for reason, each in groupby(ordered, key=lambda one: one.reason):
        all_of = list(each)
        shown = tuple(_one(memory, one) for one in all_of[:_SHOWN_COUNT])
        groups.append(Group(reason=reason, title=_REASONS[reason], count=len(all_of), shown=shown))
    return tuple(groups)


def _one(memory: Memory, omitted: Omitted) -> Left:
    found = memory.get(omitted.id, include=INCLUDES)
    return Left(
        omitted=omitted,
        text=found.text,
        unit="episode" if isinstance(found, Episode) else "record",
        tokens=count_tokens(found.text),
    )


def _why(asked: Asked, memory: Memory, q: str, preset: str, tokens: int | None) -> WhyNot | None:
    """Why the record that the reader named is not packed."""
    id = asked.text("id")
    if not id:
        return None
    try:
        return memory.admin.why_not(id, q, preset=preset, tokens=tokens)
    except NotFound as error:
        raise InvalidInput(error.message, hint=error.hint) from error


def _calls(asked: Asked, q: str, names: list[str], tokens: int | None) -> tuple[Call, ...]:
    found = []
    for name in names:
        words = ["--preset", name, "--no-receipt"]
        words += ["--tokens", str(tokens)] if tokens is not None else []
        python = asked.python("context", q, tokens=tokens, preset=name, receipt=False)
        found.append(asked.call(python, asked.cli("context", q, *words)))
    found.append(asked.call(asked.python("recall", q, k=1)))
    id = asked.text("id")
    if id:
        found.append(
            asked.call(asked.python("admin.why_not", id, q, preset=names[0], tokens=tokens))
        )
    return tuple(found)
