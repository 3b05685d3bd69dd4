"""Lists of records: all that is believed, what is about one thing, and the keys.

Responsible for pages of records, last changed first. Leaves one record to ``record``. Invariants: a
page is as long as asked for, whatever the size of the memory; no total is counted.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.view import Call, View
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Include, Record

PAGE_COUNT: Final = 100
_KEYS_COUNT: Final = 50
_CLAIMS_MAX_COUNT: Final = 20  # records of one key that are looked at


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What a list of records shows."""

    records: tuple[Record, ...]
    where: str
    include: tuple[str, ...]
    after: int | None  # where the next page begins
    is_first: bool
    about: str | None = None
    before: tuple[Record, ...] = ()  # what is not believed any more, on the page of one thing
    includes: tuple[str, ...] = INCLUDES


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One key: the record that holds it, and what held it before."""

    record: Record
    values: tuple[Record, ...]  # those before it, newest first
    revised: int  # how often the text of the holder was revised
    is_cut: bool


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """What the page of keys shows."""

    keys: tuple[Holder, ...]
    after: int | None
    is_first: bool


def page(asked: Asked, memory: Memory) -> View:
    """Everything that is believed."""
    where = asked.text("where") or None
    include = tuple(each for each in INCLUDES if each in asked.many("include"))
    found, after = _listed(asked, memory, where, include, PAGE_COUNT)
    main = Main(
        records=tuple(found), where=where or "", include=include, after=after,
        is_first=not asked.text("after"),
    )  # fmt: skip
    calls = (_call(asked, where, include, PAGE_COUNT),)
    return View(title="Records", main=main, answer=found, calls=calls)


def about(asked: Asked, memory: Memory) -> View:
    """Everything about one thing, and what was believed about it before."""
    entity = asked.names["entity"]
    where = f"about = {quoted(entity)}"
    found, after = _listed(asked, memory, where, (), PAGE_COUNT)
    before = f"{where} and status != 'active'"
    gone = memory.list(filter=before, include=INCLUDES, limit=PAGE_COUNT)
    main = Main(
        records=tuple(found), where=where, include=(), after=after,
        is_first=not asked.text("after"), about=entity, before=tuple(gone),
    )  # fmt: skip
    return View(
        title="About",
        main=main,
        answer={"records": found, "before": gone},
        calls=(
            _call(asked, where, (), PAGE_COUNT),
            asked.call(asked.python("list", filter=before, include=list(INCLUDES))),
        ),
    )


def keys(asked: Asked, memory: Memory) -> View:
    """The keys, with what holds each and what held it before."""
    where = "key != null"
    found, after = _listed(asked, memory, where, (), _KEYS_COUNT)
    holders = tuple(_holder(memory, record) for record in found)
    main = Keys(keys=holders, after=after, is_first=not asked.text("after"))
    calls = (_call(asked, where, (), _KEYS_COUNT),)
    return View(title="Keys", main=main, answer=found, calls=calls)


def _listed(
    asked: Asked, memory: Memory, where: str | None, include: tuple[Include, ...], count: int
) -> tuple[list[Record], int | None]:
    """One page of records, and where the next begins."""
    limit = asked.number("limit", count, least=1, most=1_000)
    found = memory.list(filter=where, include=include, limit=limit + 1, after=asked.maybe("after"))
    return found[:limit], found[limit - 1].seq if len(found) > limit else None


def _holder(memory: Memory, record: Record) -> Holder:
    claims = memory.list(
        filter=f"key = {quoted(record.key or '')} and status = 'replaced'",
        include=("replaced", "archived"),
        limit=_CLAIMS_MAX_COUNT + 1,
    )
    mine = record.scope.user
    before = [each for each in claims if each.id != record.id and each.scope.user == mine]
    history = memory.history(record.id)
    return Holder(
        record=record,
        values=tuple(before[:_CLAIMS_MAX_COUNT]),
        revised=sum(1 for version in history if version.what == "revised"),
        is_cut=len(claims) > _CLAIMS_MAX_COUNT,
    )


def _call(asked: Asked, where: str | None, include: tuple[Include, ...], count: int) -> Call:
    limit = asked.number("limit", count, least=1, most=1_000)
    after = asked.maybe("after")
    words: list[object] = ["--filter", where] if where else []
    words += [part for each in include for part in ("--include", each)]
    words += ["--limit", limit]
    return asked.call(
        asked.python("list", filter=where, include=list(include), limit=limit, after=after),
        asked.cli("list", *words) if after is None else None,
    )


def quoted(value: str) -> str:
    """A text inside a filter."""
    return "'" + value.replace("'", "''") + "'"
