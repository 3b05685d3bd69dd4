"""The name of a page, from what a record is about.

Responsible for names that are safe on every file system and in a link. Leaves which records a page
shows to ``mirror.gather``. Invariants: no name leads out of its folder; two different entities get
the same name only if they differ in case, spaces, ``_`` and ``-`` alone.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from typing import Final

PREFIXES: Final = ("user", "project", "tool", "topic", "person", "org", "event")
UNFILED: Final = "unfiled"  # records about nothing in particular; no entity's page has this name
INDEX: Final = "index"
PROFILE: Final = "user-profile"
PREFERENCES: Final = "user-preferences"
DOCUMENT: Final = "page"  # the type of the documents that describe pages
FLAG: Final = "page_flag"  # the type of the documents that flag pages

_NAME_MAX_CHARS: Final = 100  # as the name of a document, where a letter may take several
_SEPARATED: Final = re.compile(rf"({'|'.join(PREFIXES)})[-_:/ ]+(?=.)", re.IGNORECASE | re.DOTALL)
_SPACES: Final = re.compile(r"[\s_-]+")
_PLAIN: Final = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")  # nothing to leave out, in most names


def page_of(about: str | None) -> str:
    """The name of the page for what a record is about."""
    if about is None:
        return UNFILED
    prefix, rest = _split(about)
    if prefix == "user" and not rest:
        return PROFILE
    return _fitted(prefix, rest)


def title_of(about: str) -> str:
    """What a page about this is called, if nothing else was said."""
    prefix, rest = _split(about)
    if prefix == "user":
        return f"User {rest}".strip().replace("-", " ").title()
    return " ".join(rest.split()) or about


def about_of(page: str, title: str) -> str | None:
    """What an entry of a page is about, as the page's title says it if that belongs to it."""
    if page == UNFILED:
        return None
    if page == PROFILE:
        return "user"
    titled = f"{page.partition('-')[0]}:{title}"
    return titled if page_of(titled) == page else page


def is_page_name(name: str) -> bool:
    """True if a page can have this name."""
    return name in (UNFILED, INDEX) or is_entity_page(name)


def is_entity_page(name: str) -> bool:
    """True if this can be the page of an entity or of a day."""
    prefix, _, rest = name.partition("-")
    return prefix in PREFIXES and bool(rest) and page_of(name) == name


def document_name(page: str) -> str:
    """The name of a page's document: ASCII, with every other byte as ``=xx``."""
    return "".join(
        letter if letter.isascii() else "".join(f"={byte:02x}" for byte in letter.encode())
        for letter in page
    )


def page_named(document: str) -> str:
    """The page that a document of this name describes."""
    parts = re.split(r"((?:=[0-9a-f]{2})+)", document)
    return "".join(
        bytes.fromhex(part.replace("=", "")).decode("utf-8", "replace") if part[:1] == "=" else part
        for part in parts
    )


def _split(about: str) -> tuple[str, str]:
    """The kind of entity and its name; a topic, if nothing says what it is."""
    about = about.strip()
    if about.casefold() == "user":
        return "user", ""
    found = _SEPARATED.match(about)
    return (found[1].lower(), about[found.end() :]) if found else ("topic", about)


def _fitted(prefix: str, name: str) -> str:
    """A safe name. One that leaves something out ends with a part of the digest of the whole."""
    folded = _SPACES.sub("-", unicodedata.normalize("NFKC", name.casefold())).strip("-")
    if _PLAIN.fullmatch(folded) and len(prefix) + len(folded) < _NAME_MAX_CHARS:
        return f"{prefix}-{folded}"
    kept = _SPACES.sub("-", "".join(_kept(folded))).strip("-")
    page = f"{prefix}-{kept}"
    if kept == folded and kept and len(document_name(page)) <= _NAME_MAX_CHARS:
        return page
    mark = sha256(folded.encode()).hexdigest()[:12]
    return f"{_cut(page, _NAME_MAX_CHARS - len(mark) - 1).rstrip('-.')}-{mark}"


def _cut(page: str, room: int) -> str:
    """As much of a name as fits into the name of a document."""
    for at, letter in enumerate(page):
        room -= len(document_name(letter))
        if room < 0:
            return page[:at]
    return page


def _kept(text: str) -> list[str]:
    """Letters, digits, and dots between them; anything else becomes a hyphen."""
    safe = [unicodedata.category(letter)[0] in "LMN" for letter in text]
    between = [False, *(a and b for a, b in zip(safe, safe[2:], strict=False)), False]
    return [
        letter if ok or (letter == "." and inner) else "-"
        for letter, ok, inner in zip(text, safe, between, strict=False)
    ]
