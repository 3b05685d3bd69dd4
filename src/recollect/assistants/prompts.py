"""Memory for an assistant's prompt, or for the start of its session.

Responsible for choosing between the project's memory and the person's own, and for returning
nothing when nothing is worth saying. Leaves what one memory contributes to ``finding.briefing``.
Invariants: reading creates nothing; a memory that is not known (``places.known``) is not read; an
up-to-date memory is read without loading the code for writing, and if there is no memory, or a
prompt says too little, the code for reading is not loaded either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from recollect.config import NONE, Places, Settings
from recollect.index.words.text import STOP_WORDS, words
from recollect.model import limits
from recollect.places import known
from recollect.store.disk.layout import folder_of, is_empty
from recollect.store.seam import REAL, Seam

if TYPE_CHECKING:
    from recollect.index.reads import Reads
    from recollect.memory import Memory
    from recollect.model.values import Hit

Query: TypeAlias = "Callable[[Reads, str, str | None], list[Hit]]"  # now, and for whom
Finding: TypeAlias = "Callable[[Settings, str, str], list[Hit]]"  # in one memory, now

# Words that keep a conversation going and say nothing to search for.
_SMALL_TALK: Final = frozenset(
    """yes yeah yep yup ok okay sure right correct good great nice fine perfect thanks thank thx
    please continue go ahead proceed next done stop wait hi hello hey again
    lgtm""".split()
)


def for_prompt(
    places: Places,
    prompt: str,
    *,
    tokens: int,
    space: str = "main",
    session: str | None = None,
) -> str:
    """Memory about a prompt, packed; empty if the prompt says nothing or memory is not sure.

    What was said in ``session`` is left out, because the assistant has it already.

    A memory that is not up to date is opened, which may wait for a lock: callers set a time limit
    first.
    """
    prompt = prompt[: limits.QUESTION_MAX_CHARS]
    if not says_something(prompt):
        return ""

    def look(reads: Reads, now: str, user: str | None) -> list[Hit]:
        from recollect.finding import briefing

        return briefing.about(reads, prompt, briefing.Viewer(now, user, session))

    hits = _from_both(places, space, partial(_by_words, look))
    if not hits:
        hits = _from_both(places, space, partial(_by_meaning, prompt, session))
    return _packed(sorted(hits, key=lambda hit: -hit.relevance), tokens)


def says_something(prompt: str) -> bool:
    """True unless a prompt is a command of the assistant, or only keeps the conversation going."""
    telling = {word for word in words(prompt) if word not in STOP_WORDS | _SMALL_TALK}
    return bool(telling) and not prompt.lstrip().startswith("/")


def for_session(places: Places, *, tokens: int, space: str = "main") -> str:
    """The most reinforced and last changed records, packed."""

    def look(reads: Reads, now: str, user: str | None) -> list[Hit]:
        from recollect.finding import briefing

        return briefing.in_general(reads, briefing.Viewer(now, user))

    return _packed(_from_both(places, space, partial(_by_words, look)), tokens)


def _packed(hits: list[Hit], tokens: int) -> str:
    if not hits:
        return ""
    from recollect.finding import briefing

    return briefing.packed(hits, tokens)


def _from_both(places: Places, space: str, find: Finding, seam: Seam = REAL) -> list[Hit]:
    """The hits of the project's memory and the person's own, alternating."""
    now = seam.now()
    is_used = not places.is_one and known.is_known(places.project, space)
    mounts = [(places.project, space)] if is_used else []
    found: list[list[Hit]] = []
    for settings, name in (*mounts, (places.personal, "main")):
        found.append(find(settings, name, now))
    return list(_in_turns(found))


def _by_words(look: Query, settings: Settings, space: str, now: str) -> list[Hit]:
    """The hits of one memory; if the quick read fails on its index, opens and heals it."""

    def hits(*, glancing: bool) -> list[Hit]:
        with _reading(settings, space, glancing=glancing) as (reads, user):
            return [] if reads is None else look(reads, now, user)

    try:
        return hits(glancing=True)
    except Exception as error:
        from recollect.memory.handle.healed import asked_again
        from recollect.store.files.readers import may_heal

        if not may_heal(error):
            raise
        return asked_again(hits)(glancing=False)


def _by_meaning(
    prompt: str, session: str | None, settings: Settings, space: str, now: str
) -> list[Hit]:
    """What answers a question in other words, where the memory has static vectors."""
    if settings.embedder == NONE or _is_absent(settings, space):
        return []
    from recollect.index.words.transient import questions_in

    asked = questions_in(prompt)
    if not asked:
        return []
    with _opened(settings, space) as memory:
        if memory is None:
            return []
        from recollect.finding import briefing
        from recollect.memory.handle.handle import handle_of

        handle, viewer = handle_of(memory), briefing.Viewer(now, memory.scope.user, session)
        return briefing.near(handle.space, handle.embedders, asked, viewer)


def _in_turns(found: Iterable[list[Hit]]) -> Iterator[Hit]:
    rest = [hits for hits in found if hits]
    while rest:
        for hits in rest:
            yield hits.pop(0)
        rest = [hits for hits in rest if hits]


def _is_absent(settings: Settings, space: str) -> bool:
    """True if the place is a folder without a memory. A server is not asked."""
    return settings.folder is not None and is_empty(folder_of(settings.folder, space))


@contextmanager
def _reading(
    settings: Settings, space: str, *, glancing: bool
) -> Iterator[tuple[Reads | None, str | None]]:
    """A memory's reads and the one user a credential limits them to; None if there is no memory.

    A memory that is not up to date is opened, which heals it.
    """
    if _is_absent(settings, space):
        yield None, None
        return
    from recollect.store.files.quick_read import quick_read

    folder = None if settings.folder is None else folder_of(settings.folder, space)
    reads = quick_read(folder) if folder is not None and glancing else None
    if reads is not None:
        yield reads, None
        return
    with _opened(settings, space) as memory:
        if memory is None:
            yield None, None
            return
        from recollect.memory.handle.handle import handle_of

        with handle_of(memory).reading() as healed:
            yield healed, memory.scope.user


@contextmanager
def _opened(settings: Settings, space: str) -> Iterator[Memory | None]:
    """A memory that exists, brought up to date."""
    if _is_absent(settings, space):
        yield None
        return
    from recollect.memory import Store

    with Store.open(settings=settings) as store:
        is_there = settings.folder is not None or space in store.spaces()
        yield store.space(space, create=False) if is_there else None
