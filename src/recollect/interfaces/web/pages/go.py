"""Where a word leads: the palette, and the same without a script.

Responsible for matching a word with pages, ids, keys and texts. Leaves showing them to their pages.
Invariant: an exact id or key wins over a page, and a page over a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from recollect.errors import RecollectError
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import Record

_FOUND_MAX_COUNT: Final = 6
_TEXT_MAX_CHARS: Final = 120
_SHORTEST: Final = 2  # fewer characters match too much


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One place to go to."""

    name: str
    what: str
    href: str


def page(asked: Asked, memory: Memory, pages: Mapping[str, str]) -> View:
    """The places for a word; a plain visit goes to the first of them.

    ``pages`` are the names of pages by their paths.
    """
    word = asked.text("q")
    found = (*_named(asked, memory, word), *_pages(asked, pages, word))
    if asked.text("as") == "json" and len(word) >= _SHORTEST:
        found = (*found, *_texts(asked, memory, word))
    to = found[0].href if found else asked.url("search", q=word)
    call = asked.call(asked.python("recall", word, k=_FOUND_MAX_COUNT))
    is_data = asked.text("as") == "json"
    return View(title="Go", main=None, answer=found, calls=(call,), to=None if is_data else to)


def _named(asked: Asked, memory: Memory, word: str) -> tuple[Place, ...]:
    if len(word) < _SHORTEST:
        return ()
    try:
        found = memory.get(word)
    except RecollectError:  # it names nothing, or several
        return ()
    return (_place(asked, found.id, found.text, is_record=isinstance(found, Record)),)


def _texts(asked: Asked, memory: Memory, word: str) -> tuple[Place, ...]:
    hits = memory.recall(word, k=_FOUND_MAX_COUNT).hits
    return tuple(_place(asked, h.id, h.text, is_record=h.unit == "record") for h in hits)


def _place(asked: Asked, id: str, text: str, *, is_record: bool) -> Place:
    return Place(
        name=text[:_TEXT_MAX_CHARS],
        what="record" if is_record else "episode",
        href=asked.url("r" if is_record else "e", id),
    )


def _pages(asked: Asked, pages: Mapping[str, str], word: str) -> tuple[Place, ...]:
    wanted = word.lower()
    return tuple(
        Place(name=name, what="page", href=asked.url(*path.split("/") if path else []))
        for path, name in pages.items()
        if wanted and "{" not in path and name.lower().startswith(wanted)
    )
