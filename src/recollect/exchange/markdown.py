"""Notes in Markdown: those of Basic Memory, and any folder of Markdown files.

Responsible for what a note says: observations, relations, paragraphs and items of lists. Leaves
storing to ``memory.importing``. Invariants: a note is found by its title; a sentence has the same
id wherever in its note it stands.

Basic Memory writes ``- [category] text #tag (context)`` for an observation and
``- relation [[Title]]`` for a relation. ``permalink`` in the frontmatter names the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from recollect.exchange.frontmatter import parted
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Found,
    LinkItem,
    RecordItem,
    Source,
    Trouble,
    moment_of,
    name_of,
    named,
    names_of,
    whole,
)

FORMAT: Final = "markdown"
_MAX_BYTES: Final = 4_194_304
_OBSERVATION: Final = re.compile(r"\[([^\]\[\n]{1,60})\]\s+(.{1,20000})", re.DOTALL)
_RELATION: Final = re.compile(
    r"([\w][\w \t-]{0,80}?)\s+\[\[([^\]\[\n]{1,200})\]\](?:\s*\(.{0,200}\))?"
)
_BULLET: Final = re.compile(r"\s{0,40}(?:[-*+]|\d{1,4}[.)])\s+(.{0,20000})", re.DOTALL)
_HEADING: Final = re.compile(r"#{1,6}\s+(.{1,400})")
_TAG: Final = re.compile(r"(?:^|\s)#([\w/-]{1,80})")
_LAST_TAGS: Final = re.compile(r"(?:\s+#[\w/-]{1,80})+(?=(?:\s*\([^()\n]{0,200}\))?\s*$)")
_TICK: Final = re.compile(r"\[[ xX]\]\s+")


class Note(NamedTuple):
    """What all sentences of a note share."""

    format: str
    where: str
    title: str
    kind: str | None
    tags: tuple[str, ...]
    said_at: str | None


def recognizes(name: str, head: bytes) -> bool:
    """True for any Markdown file."""
    return name.endswith((".md", ".markdown"))


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """What all notes say."""
    return read_as(FORMAT, sources)


def read_as(format: str, sources: Sequence[Source]) -> Iterator[Found]:
    """What all notes say, under the name of a format."""
    for source in sources:
        if not recognizes(source.name, b""):
            continue
        data = whole(source, _MAX_BYTES)
        if data is None:
            yield Trouble(where=source.name, why="the file is too large")
            continue
        fields, body = parted(storable(data.decode("utf-8", "replace")))
        stem = source.name.rpartition("/")[2].rpartition(".")[0]
        dates = (fields.get(name) for name in ("modified", "updated", "created", "date"))
        note = Note(
            format,
            source.name,
            name_of(fields.get("title")) or name_of(stem) or source.name,
            name_of(fields.get("type")),
            names_of(fields.get("tags") or []),
            next((found for one in dates if (found := moment_of(one))), None),
        )
        yield from _items(note, body)


def _items(note: Note, body: str) -> Iterator[Found]:
    yield RecordItem(
        id=_id(note, note.title),
        text=f"{note.title} ({note.kind})" if note.kind else note.title,
        where=note.where,
        kind="entity",
        about=note.title,
        tags=note.tags,
        said_at=note.said_at,
    )
    for text, is_item in _blocks(body):
        relation = _RELATION.fullmatch(text) if is_item else None
        if relation is not None:
            yield from _related(note, relation[1], relation[2])
        else:
            yield _said(note, text, is_item)


def _related(note: Note, kind: str, target: str) -> Iterator[Found]:
    kind, title = " ".join(kind.split()), target.partition("|")[0].strip()
    yield RecordItem(
        id=named(note.format, "relation", note.title, kind, title),
        text=f"{note.title} {kind.replace('_', ' ')} {title}",
        where=note.where,
        kind="relation",
        about=note.title,
        said_at=note.said_at,
    )
    if title.casefold() != note.title.casefold():
        yield LinkItem(
            source=_id(note, note.title),
            target=_id(note, title),
            kind=kind,
            may_dangle=True,
            where=note.where,
        )


def _said(note: Note, text: str, is_item: bool) -> Found:
    found = _OBSERVATION.fullmatch(text) if is_item else None
    kind, said = (name_of(found[1]), found[2]) if found else (None, text)
    tags = tuple(tag[1] for tag in _TAG.finditer(said))
    return RecordItem(
        id=named(note.format, "said", note.title, text),
        text=_LAST_TAGS.sub("", said).strip() if found else said.strip(),
        where=note.where,
        kind=kind,
        about=note.title,
        tags=names_of([*tags, *note.tags]),
        said_at=note.said_at,
    )


def _id(note: Note, title: str) -> str:
    return named(note.format, "note", title.casefold())


def _blocks(body: str) -> Iterator[tuple[str, bool]]:
    """The paragraphs and the items of lists, without headings; code stays whole."""
    block: list[str] = []
    is_item = is_code = False
    for line in (*body.replace("\r\n", "\n").split("\n"), ""):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        bullet = None if is_code else _BULLET.fullmatch(line)
        ends = not is_code and (not line.strip() or bullet or _HEADING.fullmatch(line))
        if ends and (text := "\n".join(block).strip()):
            yield text, is_item
        if bullet:
            block, is_item = [_TICK.sub("", bullet[1], count=1)], True
        elif ends:
            block, is_item = [], False
        else:
            block.append(line.strip() if is_item and not is_code else line)
    if text := "\n".join(block).strip():
        yield text, is_item
