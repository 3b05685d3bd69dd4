"""What a file and an entry of this API may be.

Responsible for names of files, tags, and advice about bodies. Leaves every other check to the
memory. Invariants: no path leads out of the folder; a body is refused only if it is empty, because
nothing counts sentences in every language.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from recollect.errors import InvalidInput
from recollect.memory.handle import fields
from recollect.mirror.names import PREFIXES, is_entity_page, page_of
from recollect.mirror.page import SUFFIX
from recollect.model import validate
from recollect.model.validate import Json

TAGS_MAX_COUNT: Final = 3
SENTENCES_MAX_COUNT: Final = 3
_TAG: Final = re.compile(r"#?([^\s#]+)")
# The end of a sentence. Each run of signs is looked at once, however long it is.
_END: Final = re.compile(
    r"(?<![.!?…])[.!?…]++[\"')\]]*+(?=\s++[^\sa-z]|\s*+$)|[。！？]++[」』”’]*+"  # noqa: RUF001
)


def page_name(path: str | os.PathLike[str], folder: Path) -> str:
    """The name of the page that a path means: a file of the folder, with or without its suffix."""
    given = os.fspath(path)
    if os.path.dirname(given) and Path(given).parent != folder:
        raise InvalidInput(f"{validate.shown(given)} is not in {folder}", hint="name a file in it")
    return validate.name(os.path.basename(given).removesuffix(SUFFIX), "path")


def entity_page(name: str) -> str:
    """A name that a file may be created with."""
    if not is_entity_page(name):
        prefix, _, rest = name.partition("-")
        known = prefix in PREFIXES and rest
        hint = (
            f"name it {page_of(name)}{SUFFIX}"
            if known
            else f"begin it with one of {', '.join(f'{one}-' for one in PREFIXES)}"
        )
        raise InvalidInput(f"{name!r} cannot be the name of a file", hint=hint)
    return name


def entry_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags of a new entry: one to three."""
    words = asked_tags(tags)
    if not 1 <= len(words) <= TAGS_MAX_COUNT:
        raise InvalidInput(f"an entry has 1 to {TAGS_MAX_COUNT} tags, not {len(words)}")
    return words


def asked_tags(tags: Iterable[str] | None) -> tuple[str, ...]:
    """Words, each with or without its ``#``."""
    words = []
    for tag in fields.tags(tags or ()):
        found = _TAG.fullmatch(tag)
        if found is None:
            raise InvalidInput(f"a tag is one word, not {tag!r}", hint="write work, or #work")
        words.append(found[1])
    return tuple(dict.fromkeys(words))


def file_tags(tags: Iterable[str]) -> list[Json]:
    """The tags of a file, of which there may be any number."""
    return list(fields.tags(tags))


def advice(body: str) -> tuple[str, ...]:
    """What could be better about a body; it is stored all the same."""
    count = len(_END.findall(body))
    if count <= SENTENCES_MAX_COUNT and "\n\n" not in body.strip():
        return ()
    return (f"an entry is easier to use with 1 to {SENTENCES_MAX_COUNT} sentences",)
