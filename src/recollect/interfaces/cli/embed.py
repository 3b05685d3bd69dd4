"""The verb that makes vectors.

Responsible for ``embed`` and for what it says. Leaves encoding to ``Memory``. Invariant: an
embedder that is named here is the memory's from then on.
"""

from __future__ import annotations

from recollect import compose
from recollect.config import NONE, load
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.model.values import Embedded


@verb
def embed(call: Call, embedder: o.Embedder = None) -> None:
    """Make the vectors that recall lacks; name an embedder to change it."""
    with call.memory(embedder=embedder) as memory, call.progress("Embedding") as tick:
        done = memory.embed(tick)
    if embedder is not None:
        compose.record_embedder(load(call.store, embedder=embedder), anew=True)
    call.answer({"embedded": done}, lambda _: _tell(done))


def _tell(done: tuple[Embedded, ...]) -> None:
    if not done:
        plain.say(f"The embedder of this memory is {plain.bold(NONE)}: recall goes by full text.")
        plain.next_step("pip install 'recollect[local]'", "recollect embed --embedder static")
    for each in done:
        what = f"{each.texts:,} texts in {each.pieces:,} pieces"
        plain.say(f"Embedded {what} with {plain.bold(plain.one_line(each.model))}")
        if each.missing:
            plain.say(f"  {each.missing:,} texts came meanwhile and have no vectors yet")
