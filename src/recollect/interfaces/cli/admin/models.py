"""The verbs about models for search by meaning.

Responsible for the options, the question before a download and the answers. Leaves the list to
``places.models`` and the download to ``places.download``. Invariant: nothing is fetched without a
yes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from recollect import compose
from recollect.embedder_names import MODEL, embedders
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument
from recollect.places import models
from recollect.places.models import Model

_MB: Final = 1_000_000

Name = Annotated[str, Argument(metavar="NAME", help="A model of the list.")]


class Row(msgspec.Struct, frozen=True):
    """A model: where it is, if it is here, and which memories search with it."""

    name: str
    state: Literal["here", "with a package", "not here"]
    folder: str | None
    used_by: tuple[str, ...]  # places of memories
    about: str | None = None
    languages: str | None = None
    license: str | None = None
    size: int | None = None


@verb
def list_all(call: Call) -> None:
    """List the models for search by meaning: what is here, and what can be fetched."""
    used = _used(call)
    known = {model.name: model for model in models.LISTED}
    names = [*known, *(name for name in models.fetched() if name not in known)]
    rows = [_row(name, known.get(name), used.get(name, ())) for name in names]
    call.answer({"models": rows}, lambda _: _listed(rows))


@verb
def get(call: Call, name: Name, yes: o.Yes = False) -> None:
    """Fetch a model by its name, after a yes; an interrupted download goes on."""
    from recollect.places.download import fetch

    model = models.listed(name)
    folder = models.folder_of(name)
    is_new = folder is None
    if folder is None:
        call.note(_offer(model))
        call.confirm("Fetch it?", yes=yes, what=f"fetching {model.size / _MB:,.0f} MB")
        with call.progress(f"Fetching {name}") as tick:
            folder = fetch(model, tick)
    call.answer(
        {"name": name, "folder": str(folder), "fetched": is_new},
        lambda _: _got(name, folder, is_new=is_new),
    )


def _used(call: Call) -> dict[str, tuple[str, ...]]:
    """For each model, the memories from here that search with it."""
    found: dict[str, tuple[str, ...]] = {}
    for _, settings in call.places():
        for word in embedders(compose.searching(settings).embedder):
            if word.startswith(MODEL):
                name = word.removeprefix(MODEL)
                found[name] = (*found.get(name, ()), settings.where)
    return found


def _row(name: str, model: Model | None, used: tuple[str, ...]) -> Row:
    folder = models.folder_of(name)
    is_packaged = folder is not None and folder == models.packaged()
    state: Literal["here", "with a package", "not here"] = "not here"
    if folder is not None:
        state = "with a package" if is_packaged else "here"
    where = None if folder is None else str(folder)
    if model is None:
        return Row(name, state, where, used)
    return Row(name, state, where, used, model.about, model.languages, model.license, model.size)


def _listed(rows: list[Row]) -> None:
    for row in rows:
        plain.say(f"{plain.bold(plain.safe(row.name))}  {row.state}")
        if row.size is not None:
            plain.say(f"  {row.languages}; {row.license}; {row.size / _MB:,.0f} MB; {row.about}")
        if row.folder is not None:
            plain.say(plain.dim(f"  {plain.safe(row.folder)}"))
        for place in row.used_by:
            plain.say(f"  used by the memory in {plain.safe(place)}")
    if not any(row.used_by for row in rows):
        plain.say("", "No memory here searches with one of them.")
    here = next((row.name for row in rows if row.folder is not None and not row.used_by), None)
    missing = next((row.name for row in rows if row.folder is None), None)
    steps = [f"recollect admin embed --embedder {MODEL}{here}"] if here else []
    steps += [f"recollect admin model get {missing}"] if missing else []
    if steps:
        plain.next_step(*steps)


def _offer(model: Model) -> str:
    host = model.files[0].url.split("/")[2]
    size = f"{model.size / _MB:,.0f} MB from {host}"
    return (
        f"{model.name}: {model.languages}; {model.license}; {size}, checked against the hashes in "
        "this release. Nothing of a memory is sent."
    )


def _got(name: str, folder: Path, *, is_new: bool) -> None:
    said = "Fetched and checked" if is_new else "It is here already"
    plain.say(f"{said}: {plain.bold(plain.safe(name))}", plain.dim(f"  {plain.safe(str(folder))}"))
    if not models.has_runtime():
        plain.say("  What runs it is not installed: run `pip install 'recollect[onnx]'`")
    plain.next_step(f"recollect admin embed --embedder {MODEL}{name}")
