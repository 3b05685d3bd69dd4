"""How much work a pattern or a function does, counted and not timed.

Responsible for counting the characters that a backtracking matcher tests, and the calls of
functions. Leaves the claims to the tests. Invariant: the same input always gives the same count.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FrameType
from typing import Any

# No public names: the parts of ``re`` itself.
_compiler, c, parser = (
    import_module(f"re.{name}") for name in ("_compiler", "_constants", "_parser")
)


def steps_of_search(pattern: str, text: str, flags: int = 0) -> int:
    """The characters tested by finding every match of a pattern, as ``re`` does."""
    tree = parser.parse(pattern, flags)
    counting = _Counting(text, tree.state.flags | flags)
    start = 0
    while start <= len(text):
        end = next(counting.ends(list(tree), start), None)
        start = start + 1 if end is None else max(end, start + 1)
    return counting.steps


def calls_in(work: Callable[[], object], *names: str) -> Counter[str]:
    """How often functions of these names were called by ``work``."""
    found: Counter[str] = Counter()

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name in names:
            found[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


class _Counting:
    """A backtracking matcher for the syntax that the package's patterns use."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags
        self.steps = 0

    def ends(self, nodes: list[Any], at: int) -> Iterator[int]:
        """Where these nodes can end, best first."""
        if not nodes:
            yield at
            return
        (kind, what), rest = nodes[0], nodes[1:]
        if kind is c.MAX_REPEAT and len(what[2]) == 1 and _is_one(what[2][0][0]):
            yield from self._run(what, rest, at)
            return
        for middle in self._node(kind, what, at):
            yield from self.ends(rest, middle)

    def _run(self, what: Any, rest: list[Any], at: int) -> Iterator[int]:
        least, most, inner = what
        end = at
        while end - at < most and self._one(inner[0], end):
            end += 1
        for stop in range(end, at + least - 1, -1):
            self.steps += 1
            yield from self.ends(rest, stop)

    def _node(self, kind: Any, what: Any, at: int) -> Iterator[int]:
        if _is_one(kind):
            if self._one((kind, what), at):
                yield at + 1
        elif kind is c.BRANCH:
            for option in what[1]:
                yield from self.ends(list(option), at)
        elif kind is c.SUBPATTERN:
            yield from self.ends(list(what[3]), at)
        elif kind is c.MAX_REPEAT:
            yield from self._repeat(what, at)
        elif kind in (c.ASSERT, c.ASSERT_NOT):
            start = at if what[0] > 0 else at - what[1].getwidth()[0]
            found = start >= 0 and next(self.ends(list(what[1]), start), None) is not None
            if found == (kind is c.ASSERT):
                yield at
        elif kind is c.AT:
            self.steps += 1
            if self._is_at(what, at):
                yield at
        else:
            raise NotImplementedError(kind)

    def _repeat(self, what: Any, at: int, count: int = 0) -> Iterator[int]:
        least, most, inner = what
        if count < most:
            for middle in self.ends(list(inner), at):
                if middle > at:
                    yield from self._repeat(what, middle, count + 1)
        if count >= least:
            yield at

    def _is_at(self, what: Any, at: int) -> bool:
        if what is c.AT_BOUNDARY:
            return self._is_word(at - 1) != self._is_word(at)
        return at == (0 if what is c.AT_BEGINNING else len(self._text))

    def _is_word(self, at: int) -> bool:
        return 0 <= at < len(self._text) and (self._text[at].isalnum() or self._text[at] == "_")

    def _one(self, node: Any, at: int) -> bool:
        self.steps += 1
        return at < len(self._text) and _single(node, self._flags).match(self._text[at]) is not None


def _is_one(kind: Any) -> bool:
    return kind in (c.IN, c.LITERAL, c.NOT_LITERAL, c.ANY)


_KNOWN: dict[str, re.Pattern[str]] = {}


def _single(node: Any, flags: int) -> re.Pattern[str]:
    """A pattern of one character."""
    key = f"{node!r}{flags}"
    if key not in _KNOWN:
        state = parser.State()
        state.flags = flags
        tree = parser.SubPattern(state, [node])
        _KNOWN[key] = _compiler.compile(tree)
    return _KNOWN[key]
