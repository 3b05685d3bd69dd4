"""The verb that makes vectors.

Responsible for ``embed`` and its output. Leaves encoding to ``Memory``. Invariants: an embedder
that is named here becomes the embedder of each memory; a memory without one gets the embedder that
is installed, because asking for vectors is asking for that.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from recollect import compose, embedder_names
from recollect.assistants.mounted import Mount
from recollect.config import Settings
from recollect.errors import RecollectError
from recollect.finding.vectors import legs
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.memory import Memory, Store
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Embedded

Done = tuple[Mount | None, Settings, tuple[Embedded, ...]]


@verb
def embed(call: Call, embedder: o.Embedder = None, mount: o.MountOption = None) -> None:
    """Search by meaning too: compute the vectors that are missing."""
    with call.memories(mount):  # refuses if there is no memory
        pass
    done = list(_embedded(call, embedder, mount))
    document = {"embedded": [each for _, _, parts in done for each in parts]}
    call.answer(document, lambda _: _tell(done))


def _embedded(call: Call, embedder: str | None, mount: Mount | None) -> Iterator[Done]:
    """Brings each memory up to date, the project's before the person's own."""
    for name, found in call.places(mount):
        settings = _with(found, embedder)
        is_changed = embedder is not None or settings.embedder != found.embedder
        if is_changed:
            compose.require_usable(settings)
        with Store.open(settings=settings) as store, call.progress("Embedding") as tick:
            if call.space not in store.spaces():
                continue
            if is_changed:  # first, so that who is interrupted goes on, and others help
                compose.record_embedder(store.settings, replace=True)
            parts = store.space(call.space, create=False).admin.embed(tick)
            settings = store.settings
            is_open = bool(settings.before) and not settings.embedder_is_named
            if (is_changed or is_open) and settings.folder is not None and _is_done(store):
                compose.record_embedder(settings, replace=True, done=True)
        yield name, settings, parts


def _is_done(store: Store) -> bool:
    """True if no text of any space lacks a vector."""
    handles = [handle_of(store.space(name, create=False)) for name in store.spaces()]
    return all(legs(each.space, each.embedders, makes=False)[1] is None for each in handles)


def _with(settings: Settings, embedder: str | None) -> Settings:
    """The settings with the embedder that was named, or else with one that can be used."""
    if embedder is not None:
        chosen = "+".join(embedder_names.embedders(embedder))
        return structs.replace(settings, embedder=chosen, embedder_is_named=True)
    now = compose.searching(settings)
    if now.embedder != embedder_names.NONE or settings.embedder_is_named:
        return settings
    able = compose.searching(structs.replace(settings, embedder=embedder_names.AUTO))
    return settings if able.by_words else structs.replace(settings, embedder=able.embedder)


def search_of(memory: Memory, settings: Settings) -> compose.Searching:
    """What recall searches with, as far as it is installed and vectors are made."""
    way = compose.searching(settings)
    if way.by_words:
        return way
    try:
        handle = handle_of(memory)
        found, lacking = legs(handle.space, handle.embedders, makes=False)
    except RecollectError:  # a service, or a damaged memory, which `doctor` tells about
        return way
    return structs.replace(way, by_words=not found, lacking=lacking)


def _tell(done: list[Done]) -> None:
    for mount, settings, parts in done:
        name = f"{mount}: " if mount else ""
        for each in parts:
            what = f"{each.texts:,} texts in {each.pieces:,} pieces"
            plain.say(f"{name}Embedded {what} with {plain.bold(plain.one_line(each.model))}")
            if each.missing:
                plain.say(f"  {each.missing:,} texts were added meanwhile and have no vectors yet")
        plain.say(f"{name}{plain.safe(str(compose.searching(settings)))}")
