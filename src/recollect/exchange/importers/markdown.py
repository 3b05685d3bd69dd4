"""Notes in Markdown: those of Basic Memory, and any folder of Markdown files.

Responsible for what a note says: observations, relations, paragraphs, items of lists and the few
forms of YAML that a frontmatter has. Leaves storing to ``memory.exchange.imports``. Invariants: a
note is found by its title, or by its place if an older note has that title; a sentence has the same
id wherever in its note it stands; a line of a frontmatter that is not understood is left out, and
stands under ``NOT_READ``, which no field is called.

Basic Memory writes ``- [category] text #tag (context)`` for an observation and
``- relation [[Title]]`` for a relation, which is one word or quoted. Any other ``[[Title]]`` is a
link. ``permalink`` in the frontmatter names the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from recollect.exchange.given import Given
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Altered,
    Entity,
    Found,
    LeftOut,
    LinkItem,
    RecordItem,
    Source,
    Trouble,
    data_of,
    moment_of,
    name_of,
    named,
    names_of,
    whole,
)
from recollect.mirror.names import PREFIXES, page_of

FORMAT: Final = "markdown"
IS_WHOLE: Final = True
_MAX_BYTES: Final = 4_194_304
_OBSERVATION: Final = re.compile(r"\[([^\]\[()\n]{1,60})\]\s+(.{1,20000})", re.DOTALL)
_NO_CATEGORY: Final = re.compile(r"\W*|[xX]|[\d:.,\s-]+")  # marks of tasks, times of transcripts
_RELATION: Final = re.compile(
    r"""(\w[\w-]{0,80}|"[^"\n]{1,80}"|'[^'\n]{1,80}')\s+"""
    r"\[\[([^\]\[\n]{1,200})\]\](?:\s*\(([^()\n]{0,200})\))?"
)
_WIKILINK: Final = re.compile(r"\[\[([^\]\[\n]{1,200})\]\]")
_BULLET: Final = re.compile(r"\s{0,40}(?:[-*+]|\d{1,4}[.)])\s+(.{0,20000})", re.DOTALL)
_HEADING: Final = re.compile(r"#{1,6}\s+(.{1,400})")
_TAG: Final = re.compile(r"(?:^|\s)#([\w/-]{1,80})")
_LAST_TAGS: Final = re.compile(r"(?:\s+#[\w/-]{1,80})+(?=(?:\s*\([^()\n]{0,200}\))?\s*$)")
_TICK: Final = re.compile(r"\[[ xX]\]\s+")


_KINDS: Final = frozenset(PREFIXES) - {"user", "event"}  # of things that have pages of their kind
_TAKEN: Final = ("title", "tags", "modified", "updated")  # these are in fields of their own


class Head(NamedTuple):
    """What the frontmatter of a note says."""

    where: str
    fields: dict[str, str | list[str]]
    not_read: int = 0  # lines

    @property
    def title(self) -> str:
        """What the note is called."""
        stem = self.where.rpartition("/")[2].rpartition(".")[0]
        return name_of(self.fields.get("title")) or name_of(stem) or self.where

    @property
    def place(self) -> str:
        """Where it is: no other note of the folder has this."""
        return name_of(self.fields.get("permalink")) or self.where.rpartition(".")[0]

    def moment(self, *fields: str) -> str | None:
        """The first of these fields that is an instant."""
        found = (moment_of(self.fields.get(field)) for field in fields)
        return next((one for one in found if one), None)


class Note(NamedTuple):
    """What all sentences of a note share."""

    format: str
    where: str
    name: str  # its title; with its place, if an older note has that title
    about: str
    tags: tuple[str, ...]
    said_at: str | None


class Names:
    """What notes are called, and to which note a link leads."""

    def __init__(self, heads: Iterable[Head]) -> None:
        self._by_place: dict[str, str] = {}
        self._found: dict[str, str] = {}
        known = sorted(
            (head.moment("created", "date") or "~", head.where, head.title, head.place)
            for head in heads
        )
        for _, where, title, place in known:
            is_other = title.casefold() in self._found
            name = name_of(f"{place} ({title})") if is_other else title
            self._by_place[where] = name or title
            self._found.setdefault(title.casefold(), name or title)
        for _, where, _, place in known:
            for other in (place, where, where.rpartition(".")[0]):
                self._found.setdefault(other.casefold(), self._by_place[where])

    def of(self, head: Head) -> str:
        """What a note is called."""
        return self._by_place.get(head.where, head.title)

    def led_to(self, target: str) -> str:
        """The name of the note that a link leads to; it may not be there yet."""
        found = re.split(r"[|#^]", target, maxsplit=1)[0].strip()
        return self._found.get(found.casefold(), found)


def recognizes(name: str, head: bytes) -> bool:
    """True for any Markdown file."""
    return name.endswith((".md", ".markdown"))


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """What all notes say."""
    return read_as(FORMAT, sources)


def read_as(format: str, sources: Sequence[Source]) -> Iterator[Found]:
    """What all notes say, under the name of a format."""
    notes = [source for source in sources if recognizes(source.name, b"")]
    names = Names(head for source in notes if (head := _parted(source)[0]) is not None)
    for source in notes:
        head, body = _parted(source)
        if head is None:
            yield Trouble(where=source.name, why="the file is too large")
            continue
        yield from _changed(head)
        name, kind = names.of(head), (name_of(head.fields.get("type")) or "").lower()
        has_kind = kind in _KINDS and not page_of(name).startswith(f"{kind}-")
        note = Note(
            format,
            source.name,
            name,
            f"{kind}: {name}" if has_kind else name,
            names_of(head.fields.get("tags") or []),
            head.moment("modified", "updated", "created", "date"),
        )
        yield _entity(note, head, body, names)
    if len(notes) < len(sources):
        yield LeftOut(what="files that are not notes", count=len(sources) - len(notes))


def _parted(source: Source) -> tuple[Head | None, str]:
    """A note's frontmatter and the text below it; no frontmatter if the file is too large."""
    data = whole(source, _MAX_BYTES)
    if data is None:
        return None, ""
    fields, body = parted(storable(data.decode("utf-8-sig", "replace")))
    not_read = fields.pop(NOT_READ, [])
    return Head(source.name, fields, len(not_read)), body


def _entity(note: Note, head: Head, body: str, names: Names) -> Entity:
    says: dict[str, RecordItem] = {}
    links: dict[tuple[str, str], LinkItem] = {}
    for text, is_item in _blocks(body):
        relation = _RELATION.fullmatch(text) if is_item else None
        if relation is not None:
            kind, target = " ".join(relation[1].strip("\"'").split()), names.led_to(relation[2])
            said, led_to = _related(note, kind, target, relation[3]), [target]
        else:
            kind, said = "links_to", _said(note, text, is_item)
            found = [] if text.startswith("```") else _WIKILINK.findall(text)
            led_to = [names.led_to(one) for one in found]
        if said.text:
            says.setdefault(said.id, said)
        for target in led_to:
            link = _link(note, target, kind)
            if target and link.target != link.source:
                links.setdefault((link.target, kind), link)
    node = RecordItem(
        id=_id(note, note.name),
        text=note.about,
        where=note.where,
        kind="entity",
        about=note.about,
        tags=note.tags,
        data=data_of(head.fields, *_TAKEN),
        said_at=note.said_at,
    )
    return Entity(
        record=node, says=tuple(says.values()), links=tuple(links.values()), key="permalink"
    )


def _changed(head: Head) -> Iterator[Altered | LeftOut]:
    """What of a note's frontmatter is not kept as it stands."""
    tags = head.fields.get("tags", [])
    given = Given(head.where, {**head.fields, "tags": [tags] if isinstance(tags, str) else tags})
    for field in ("title", "permalink", "type"):
        given.name(field)
    for field in ("modified", "updated"):  # others stay in its data
        given.moment(field)
    given.names("tags")
    given.known(*head.fields)
    yield from given.changes()
    if head.not_read:
        yield LeftOut(what="lines of frontmatter that are not understood", count=head.not_read)


def _related(note: Note, kind: str, target: str, context: str | None) -> RecordItem:
    words = f"{note.name} {kind.replace('_', ' ')} {target}"
    return RecordItem(
        id=named(note.format, "relation", note.name, kind, target),
        text=f"{words} ({context.strip()})" if context and context.strip() else words,
        where=note.where,
        kind="relation",
        about=note.about,
        said_at=note.said_at,
    )


def _link(note: Note, target: str, kind: str) -> LinkItem:
    return LinkItem(
        source=_id(note, note.name),
        target=_id(note, target),
        kind=kind,
        may_dangle=True,
        where=note.where,
    )


def _said(note: Note, text: str, is_item: bool) -> RecordItem:
    found = _OBSERVATION.fullmatch(text) if is_item else None
    if found is not None and _NO_CATEGORY.fullmatch(found[1]):
        found = None
    kind, said = (name_of(found[1]), found[2]) if found else (None, text)
    tags = tuple(tag[1] for tag in _TAG.finditer(said))
    return RecordItem(
        id=named(note.format, "said", note.name, text),
        text=_LAST_TAGS.sub("", said).strip() if found else said.strip(),
        where=note.where,
        kind=kind,
        about=note.about,
        tags=names_of([*tags, *note.tags]),
        said_at=note.said_at,
    )


def _id(note: Note, name: str) -> str:
    return named(note.format, "note", name.casefold())


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


_FENCE: Final = "---"
_PAIR: Final = re.compile(r"([A-Za-z_][\w -]{0,60}):(?:\s+(.{0,2000}))?\s*")
_LINES_MAX_COUNT: Final = 500
NOT_READ: Final = ""


def parted(text: str) -> tuple[dict[str, str | list[str]], str]:
    """What the frontmatter says, and the text below it."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() != _FENCE:
        return {}, text
    for end in range(1, min(len(lines), _LINES_MAX_COUNT)):
        if lines[end].strip() == _FENCE:
            return _fields(lines[1:end]), "\n".join(lines[end + 1 :])
    return {}, text


def _fields(lines: list[str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    not_read: list[str] = []
    last = ""
    for line in lines:
        pair = _PAIR.fullmatch(line)
        if pair is not None:
            last = pair[1].strip().lower()
            found[last] = _value((pair[2] or "").strip())
        elif line.lstrip().startswith("- ") and last:
            known = found[last]
            some = known if isinstance(known, list) else []
            found[last] = [*some, _word(line.lstrip()[2:])]
        elif line[:1] in " \t" and last and isinstance(found[last], str):
            found[last] = f"{found[last]} {line.strip()}".strip()
        elif line.strip() and not line.lstrip().startswith("#"):
            not_read.append(line)
    return found | ({NOT_READ: not_read} if not_read else {})


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [word for part in text[1:-1].split(",") if (word := _word(part))]
    return _word(text)


def _word(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
