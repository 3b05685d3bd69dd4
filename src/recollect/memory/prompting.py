"""What memory has to say at a moment of an assistant's session: to a prompt, or at its start.

Responsible for choosing among the project's memory and the person's own, and for saying nothing
when there is nothing worth saying. Leaves finding to ``memory.search``, packing to ``recall``.
Invariants: reading makes nothing; what is unverified never speaks, nor does a memory that is not
known (``memory.known``); a memory that is up to date is
read without loading what writing needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from recollect.config import MEMORY, Places, Settings
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.index.text import STOP_WORDS, query_tokens, token_list, words
from recollect.memory import known, search
from recollect.memory.candidates import Question, understood
from recollect.model import limits
from recollect.model.frames import Template
from recollect.model.values import Hit
from recollect.recall.frames import hit_of
from recollect.recall.pack import pack
from recollect.recall.rank import Wish
from recollect.store.glance import glance
from recollect.store.layout import INDEX, LEDGER, folder_of
from recollect.store.seam import REAL, Seam


class Eyes(NamedTuple):
    """When, and for whom, a memory is looked at."""

    now: str
    user: str | None


Look = Callable[[Reads, Eyes], list[Hit]]

HITS_MAX_COUNT: Final = 25
_LOOKED_AT: Final = 4  # times as many, because those that share too few words go
_TERMS_MIN_COUNT: Final = 2  # that a prompt must have, and that a hit must share with it
_NEWEST_MAX_COUNT: Final = 400  # records among which the most reinforced ones are looked for
# Words that keep a conversation going and ask nothing of a memory.
_SMALL_TALK: Final = frozenset(
    """yes yeah yep yup ok okay sure right correct good great nice fine perfect thanks thank thx
    please continue go ahead proceed next done stop wait hi hello hey again try run fix
    lgtm""".split()
)


def for_prompt(
    places: Places,
    prompt: str,
    *,
    tokens: int,
    space: str = "main",
    before_opening: Callable[[], None] | None = None,
) -> str:
    """Memory about a prompt, packed; empty if the prompt asks too little or nothing fits it.

    A memory that is not up to date is opened, which may have to wait for others;
    ``before_opening`` is called first.
    """
    telling = {word for word in words(prompt) if word not in STOP_WORDS | _SMALL_TALK}
    if len(telling) < _TERMS_MIN_COUNT or prompt.lstrip().startswith("/"):
        return ""

    def look(reads: Reads, eyes: Eyes) -> list[Hit]:
        return _about(reads, prompt, eyes)

    hits = _from_both(places, space, look, before_opening)
    return _packed(sorted(hits, key=lambda hit: -hit.relevance), tokens)


def for_session(
    places: Places,
    *,
    tokens: int,
    space: str = "main",
    before_opening: Callable[[], None] | None = None,
) -> str:
    """What was reinforced most and changed last, packed."""
    return _packed(_from_both(places, space, _in_general, before_opening), tokens)


def _packed(hits: list[Hit], tokens: int) -> str:
    return pack([], hits, Template(), tokens).text


def _about(reads: Reads, prompt: str, eyes: Eyes) -> list[Hit]:
    """What shares enough words with a prompt; by full text alone, which is there at once."""
    question = Question(prompt, understood(reads, prompt))
    terms = query_tokens(prompt, limits.QUERY_MAX_TERMS)
    found = search.trusted(reads, question, _wish("any", eyes), _LOOKED_AT * HITS_MAX_COUNT)
    least = min(_TERMS_MIN_COUNT, len(terms))
    shared = (hit for hit in found if len(set(token_list(hit.text)).intersection(terms)) >= least)
    return list(islice(shared, HITS_MAX_COUNT))


def _in_general(reads: Reads, eyes: Eyes) -> list[Hit]:
    """Records that proved of use first, the most reinforced before the others; then the newest."""
    wish = _wish("record", eyes)
    rows = search.listing(reads, wish, search.first_page(NOW), _NEWEST_MAX_COUNT)
    trusted = [row for row in rows if row.trust != "unverified"]
    ordered = sorted(trusted, key=lambda row: -row.reinforcement_count)  # stable: newest first
    return [hit_of(row) for row in ordered[:HITS_MAX_COUNT]]


def _wish(unit: str, eyes: Eyes) -> Wish:
    return Wish(
        unit=unit,
        user=eyes.user,
        where=None,
        include=frozenset(),
        at=NOW,
        now=eyes.now,
        valid_at=eyes.now,
        min_relevance=0.0,
    )


def _from_both(
    places: Places,
    space: str,
    look: Look,
    before_opening: Callable[[], None] | None,
    seam: Seam = REAL,
) -> list[Hit]:
    """The hits of the project's memory and the person's own, taking turns."""
    now = seam.now()
    speaks = not places.is_one and known.is_known(places.project, space)
    mounts = [(places.project, space)] if speaks else []
    found: list[list[Hit]] = []
    for settings, name in (*mounts, (places.me, "main")):
        with _reading(settings, name, before_opening) as opened:
            reads, user = opened
            found.append([] if reads is None else look(reads, Eyes(now, user)))
    return list(_in_turns(found))


def _in_turns(found: Iterable[list[Hit]]) -> Iterator[Hit]:
    rest = [hits for hits in found if hits]
    while rest:
        for hits in rest:
            yield hits.pop(0)
        rest = [hits for hits in rest if hits]


@contextmanager
def _reading(
    settings: Settings, space: str, before_opening: Callable[[], None] | None
) -> Iterator[tuple[Reads | None, str | None]]:
    """A memory that is there, and the one user that may be seen of it, if a credential says so.

    One that is not up to date is opened, which heals it.
    """
    folder = folder_of(Path(settings.where), space)
    is_folder = settings.where != MEMORY and "://" not in settings.where
    if is_folder and not any((folder / name).exists() for name in (LEDGER, INDEX)):
        yield None, None
        return
    reads = glance(folder) if is_folder else None
    if reads is not None:
        yield reads, None
        return
    if before_opening is not None:
        before_opening()
    from recollect.memory.face import Store

    with Store.open(settings=settings) as store:
        if not is_folder and space not in store.spaces():
            yield None, None
            return
        memory = store.space(space, create=False)
        with memory._space.reading() as healed:
            yield healed, memory._actor.user
